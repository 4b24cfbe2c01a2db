-- The words of the turns in a pack, compressed together (ricordo.stores.sqlite.vectors has the bytes), so that an index
-- is built without reading the text. A pack that was written before has none: the first process that reads it adds them.
ALTER TABLE traces ADD COLUMN words BLOB;

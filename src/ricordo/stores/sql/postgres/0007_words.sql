-- The words of a turn's messages stand beside their vectors, so that an index is built without reading the text.
-- Rows that were written before have none: the first process that reads them adds their words.
ALTER TABLE ricordo.traces ADD COLUMN words bytea;

-- The name of an embedder takes about fifty bytes, in every row and again in its key: twelve digits of its digest say
-- the same. (A distributed table accepts immutable functions only: decode, with backslashes doubled, gives the bytes of
-- a text.) Row-level security is forced on the owner of the table too: it would see no row to change.
ALTER TABLE ricordo.traces NO FORCE ROW LEVEL SECURITY;

UPDATE ricordo.traces
SET embedder = left(encode(sha256(decode(replace(embedder, '\', '\\'), 'escape')), 'hex'), 12);

ALTER TABLE ricordo.traces FORCE ROW LEVEL SECURITY;

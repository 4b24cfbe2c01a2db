-- When owners were erased: the key, which is derived from their names, and the time; no content, and never deleted.
-- A write that was acknowledged before, and comes later from the spool of another machine, is refused.

CREATE TABLE erasures (
    owner      BLOB PRIMARY KEY,
    erased_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

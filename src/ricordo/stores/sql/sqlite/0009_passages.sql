-- A text that receipts name is kept once for its user, whatever the session: passages has it with a small number, which
-- receipts say instead of the digest, and passage_uses says up to which turn a session needs it. `sessions` counts the
-- rows of passage_uses; with the last of them the text goes. Deleting a session while it has such rows is refused.

ALTER TABLE passages RENAME TO passages_by_session;

CREATE TABLE passages (
    owner     BLOB NOT NULL REFERENCES owners (owner),
    number    INTEGER NOT NULL CHECK (number >= 1),
    digest    TEXT NOT NULL CHECK (length(digest) BETWEEN 1 AND 255),
    sessions  INTEGER NOT NULL CHECK (sessions >= 0),
    body      TEXT NOT NULL CHECK (instr(body, char(0)) = 0 AND length(CAST(body AS BLOB)) <= 16777216),
    PRIMARY KEY (owner, number),
    UNIQUE (owner, digest)
) STRICT;

CREATE TABLE passage_uses (
    owner       BLOB NOT NULL,
    session_id  TEXT NOT NULL,
    number      INTEGER NOT NULL,
    last_turn   INTEGER NOT NULL CHECK (last_turn >= 1),
    PRIMARY KEY (owner, session_id, number),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id)
) STRICT, WITHOUT ROWID;

INSERT INTO passages
SELECT owner, row_number() OVER (PARTITION BY owner ORDER BY digest), digest, count(*), min(body)
FROM passages_by_session GROUP BY owner, digest;

INSERT INTO passage_uses
SELECT old.owner, old.session_id, new.number, old.last_turn
FROM passages_by_session AS old JOIN passages AS new ON new.owner = old.owner AND new.digest = old.digest;

DROP TABLE passages_by_session;

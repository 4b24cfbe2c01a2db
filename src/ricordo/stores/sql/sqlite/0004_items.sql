-- Items that adapters of other libraries keep. An item is deleted with its owner, and with the session and the turn that
-- it names. Databases of earlier releases may have this table already, made by an adapter in exactly this shape.

CREATE TABLE IF NOT EXISTS ricordo_items (
    owner       BLOB NOT NULL REFERENCES owners (owner) ON DELETE CASCADE,
    shelf       TEXT NOT NULL,
    place       TEXT NOT NULL,
    key         TEXT NOT NULL,
    tag         TEXT NOT NULL,
    body        BLOB NOT NULL,
    vector      BLOB,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    minutes     REAL,
    session_id  TEXT,
    turn_id     TEXT,
    PRIMARY KEY (owner, shelf, place, key),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE,
    FOREIGN KEY (owner, turn_id) REFERENCES turns (owner, turn_id) ON DELETE CASCADE
) STRICT;

CREATE INDEX IF NOT EXISTS ricordo_items_by_tag ON ricordo_items (owner, shelf, tag, place, key) WHERE tag <> '';

CREATE INDEX IF NOT EXISTS ricordo_items_by_end ON ricordo_items (owner, expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX IF NOT EXISTS ricordo_items_by_session ON ricordo_items (owner, session_id) WHERE session_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS ricordo_items_by_turn ON ricordo_items (owner, turn_id) WHERE turn_id IS NOT NULL;

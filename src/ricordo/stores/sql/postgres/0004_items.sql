-- What adapters of other libraries keep. An item may name a session and a turn, and is deleted with them.
-- An earlier version made this table itself, in the same shape: then only what is missing is added.

CREATE TABLE IF NOT EXISTS ricordo.items (
    owner       uuid NOT NULL REFERENCES ricordo.owners (owner) ON DELETE CASCADE,
    shelf       text COLLATE "C" NOT NULL,
    place       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    tag         text COLLATE "C" NOT NULL,
    body        bytea NOT NULL,
    vector      bytea,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    expires_at  bigint,
    minutes     double precision,
    session_id  text COLLATE "C",
    turn_id     text COLLATE "C",
    PRIMARY KEY (owner, shelf, place, key),
    FOREIGN KEY (owner, session_id) REFERENCES ricordo.sessions (owner, session_id) ON DELETE CASCADE,
    FOREIGN KEY (owner, turn_id) REFERENCES ricordo.turns (owner, turn_id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS items_by_tag ON ricordo.items (owner, shelf, tag, place, key) WHERE tag <> '';
CREATE INDEX IF NOT EXISTS items_by_end ON ricordo.items (owner, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS items_by_session ON ricordo.items (owner, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS items_by_turn ON ricordo.items (owner, turn_id) WHERE turn_id IS NOT NULL;

ALTER TABLE ricordo.items ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.items FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS by_owner ON ricordo.items;
CREATE POLICY by_owner ON ricordo.items
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ricordo_app') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON ricordo.items TO ricordo_app;
    END IF;
END
$$;

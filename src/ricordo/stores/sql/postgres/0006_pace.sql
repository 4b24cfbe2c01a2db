-- Writes and reads in one round trip, updates in place, and a cleanup that finds its users by an index.

-- A turn is updated when its answer comes and when it finds its topic; a session with every turn. PostgreSQL updates a
-- row in place if no indexed column changes and its page has room: so pages keep room, and what changes is in no index.
ALTER TABLE ricordo.turns SET (fillfactor = 75);
ALTER TABLE ricordo.sessions SET (fillfactor = 60);
ALTER TABLE ricordo.topics SET (fillfactor = 60);
ALTER TABLE ricordo.owners SET (fillfactor = 80);

DROP INDEX ricordo.turns_open;
DROP INDEX ricordo.turns_by_topic;
DROP INDEX ricordo.sessions_by_activity;

-- The turns of a topic, found without reading those of the others; turns.topic_id says the same of a single turn.
-- No foreign key: the rows of a database that is distributed already are copied while this table is not.
CREATE TABLE ricordo.topic_turns (
    owner        uuid NOT NULL,
    session_id   text COLLATE "C" NOT NULL,
    topic_id     text COLLATE "C" NOT NULL,
    turn_number  bigint NOT NULL,
    CONSTRAINT topic_turns_pkey PRIMARY KEY (owner, session_id, topic_id, turn_number)
);

-- The day of the last activity orders sessions nearly as its microsecond does, and changes once a day.
-- The counts are those that `stats` shows. No turn of a session is older than oldest_at.
ALTER TABLE ricordo.sessions ADD COLUMN active_day bigint GENERATED ALWAYS AS (last_active_at / 86400000000) STORED;
ALTER TABLE ricordo.sessions ADD COLUMN open_count bigint NOT NULL DEFAULT 0;
ALTER TABLE ricordo.sessions ADD COLUMN receipt_count bigint NOT NULL DEFAULT 0;
ALTER TABLE ricordo.sessions ADD COLUMN oldest_at bigint NOT NULL DEFAULT -9223372036854775808;
CREATE INDEX sessions_by_day ON ricordo.sessions (owner, active_day);

-- No turn of an owner is older than oldest_at, and no session was left before idle_from: cleanup passes by the others.
-- What is there already is looked at once.
ALTER TABLE ricordo.owners ADD COLUMN oldest_at bigint NOT NULL DEFAULT -9223372036854775808;
ALTER TABLE ricordo.owners ADD COLUMN idle_from bigint NOT NULL DEFAULT -9223372036854775808;
ALTER TABLE ricordo.owners ALTER COLUMN oldest_at SET DEFAULT 9223372036854775807;
ALTER TABLE ricordo.owners ALTER COLUMN idle_from SET DEFAULT 9223372036854775807;
CREATE INDEX owners_by_oldest ON ricordo.owners (tenant_id, oldest_at);
CREATE INDEX owners_by_idle ON ricordo.owners (tenant_id, idle_from);

-- Row-level security is forced on the owner of the tables too: it would see no row to count or to copy.
ALTER TABLE ricordo.sessions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ricordo.turns NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ricordo.receipts NO FORCE ROW LEVEL SECURITY;

INSERT INTO ricordo.topic_turns (owner, session_id, topic_id, turn_number)
SELECT owner, session_id, topic_id, turn_number FROM ricordo.turns WHERE topic_id IS NOT NULL;

UPDATE ricordo.sessions AS s SET open_count = c.n
FROM (SELECT owner, session_id, count(*) AS n FROM ricordo.turns
      WHERE query IS NOT NULL AND response IS NULL GROUP BY owner, session_id) AS c
WHERE s.owner = c.owner AND s.session_id = c.session_id;

UPDATE ricordo.sessions AS s SET receipt_count = c.n
FROM (SELECT owner, session_id, count(*) AS n FROM ricordo.receipts GROUP BY owner, session_id) AS c
WHERE s.owner = c.owner AND s.session_id = c.session_id;

ALTER TABLE ricordo.sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE ricordo.turns FORCE ROW LEVEL SECURITY;
ALTER TABLE ricordo.receipts FORCE ROW LEVEL SECURITY;

ALTER TABLE ricordo.topic_turns ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.topic_turns FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.topic_turns
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

-- Statistics count rows and sums of a tenant; the one statement that asks for them names the tenant's owners.
CREATE POLICY for_statistics ON ricordo.sessions FOR SELECT
    USING (nullif(current_setting('ricordo.statistics', true), '') = 'on');
CREATE POLICY for_statistics ON ricordo.facts FOR SELECT
    USING (nullif(current_setting('ricordo.statistics', true), '') = 'on');
CREATE POLICY for_statistics ON ricordo.summaries FOR SELECT
    USING (nullif(current_setting('ricordo.statistics', true), '') = 'on');
CREATE POLICY for_statistics ON ricordo.flags FOR SELECT
    USING (nullif(current_setting('ricordo.statistics', true), '') = 'on');
CREATE POLICY for_statistics ON ricordo.documents FOR SELECT
    USING (nullif(current_setting('ricordo.statistics', true), '') = 'on');

-- Both functions run with the rights of the caller, name the owner for the current transaction, and do what the
-- statements of the same names do in a transaction of several statements: a window is one statement, and so is a turn.
CREATE FUNCTION ricordo.turns_page(mine uuid, session text, after bigint, before bigint, last bigint)
RETURNS TABLE (
    session_id text, turn_number bigint, turn_id text, agent_id text, created_at bigint, query text,
    query_tokens bigint, answered_at bigint, response text, response_tokens bigint, chunk_ids text, metadata text,
    details text, origin text, counter text, checksum text, topic_id text, block_id text, body bytea
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('ricordo.owner', mine::text, true);
    RETURN QUERY
        SELECT t.session_id, t.turn_number, t.turn_id, t.agent_id, t.created_at, t.query,
               t.query_tokens, t.answered_at, t.response, t.response_tokens, t.chunk_ids, t.metadata,
               t.details, t.origin, t.counter, t.checksum, t.topic_id, t.block_id,
               CASE WHEN t.block_id IS NOT NULL AND t.query IS NULL AND t.response IS NULL AND t.details IS NULL THEN
                   (SELECT b.body FROM ricordo.blocks AS b
                    WHERE b.owner = mine AND b.session_id = t.session_id AND b.block_id = t.block_id)
               END
        FROM ricordo.turns AS t
        WHERE t.owner = mine AND t.session_id = session AND t.turn_number > after AND t.turn_number < before
        ORDER BY t.turn_number DESC LIMIT last;
END
$$;

-- New turns of sessions whose last numbers the caller knows; returns the sessions where they are still so. One session
-- that another transaction holds must not keep the others waiting.
CREATE FUNCTION ricordo.append_turns(mine uuid, expected json, new json) RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('ricordo.owner', mine::text, true);
    IF json_array_length(expected) > 1 THEN
        PERFORM set_config('lock_timeout', '200ms', true);
    END IF;
    RETURN QUERY
        WITH taken AS (
            UPDATE ricordo.sessions AS s SET
                last_turn = s.last_turn + e.turns,
                turn_count = s.turn_count + e.turns,
                open_count = s.open_count + e.open,
                revision = s.revision + e.turns,
                last_active_at = greatest(s.last_active_at, e.active_at),
                ended_at = NULL
            FROM json_to_recordset(expected)
                AS e (session_id text, last_turn bigint, turns bigint, open bigint, active_at bigint, oldest_at bigint)
            WHERE s.owner = mine AND s.session_id = e.session_id AND s.last_turn = e.last_turn
              AND s.oldest_at <= e.oldest_at
            RETURNING s.session_id)
        INSERT INTO ricordo.turns (
            owner, session_id, turn_number, turn_id, agent_id, created_at, query, query_tokens,
            answered_at, response, response_tokens, chunk_ids, metadata, details, origin, counter, checksum)
        SELECT mine, n.session_id, n.turn_number, n.turn_id, n.agent_id, n.created_at, n.query, n.query_tokens,
               n.answered_at, n.response, n.response_tokens, n.chunk_ids, n.metadata, n.details, n.origin, n.counter,
               n.checksum
        FROM json_to_recordset(new) AS n (
            session_id text, turn_number bigint, turn_id text, agent_id text, created_at bigint, query text,
            query_tokens bigint, answered_at bigint, response text, response_tokens bigint, chunk_ids text,
            metadata text, details text, origin text, counter text, checksum text)
        WHERE n.session_id IN (SELECT taken.session_id FROM taken)
        RETURNING session_id::text;
END
$$;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ricordo_app') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON ricordo.topic_turns TO ricordo_app;
    END IF;
END
$$;

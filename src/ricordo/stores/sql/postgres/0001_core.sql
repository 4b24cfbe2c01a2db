-- Every key begins with the owner: one uuid derived from (tenant, user), so that a user's memory lies on one shard.
-- Times are microseconds since 1970 in UTC. JSON columns are text (bytes come back as they went in) and NULL when
-- there is nothing to say. Ids compare by code point, as they do in the other stores.
--
-- The constraints repeat what is checked before a write, so that a row written past those checks is refused
-- too: no blank text (trim of every Unicode white space), and outer ceilings on size: 16 MiB for a message,
-- 1 MiB for a JSON column, 64 MiB for the messages between question and answer.
--
-- Plain SQL for PostgreSQL 15 or later: it may be applied with any client, in one transaction.

DO $$
BEGIN
    IF to_regnamespace('ricordo') IS NULL THEN
        CREATE SCHEMA ricordo;
    END IF;
END
$$;

-- The role that every transaction takes on. A role is known to the whole server, so it may be there already,
-- and whoever applies this may lack the right to make one: row-level security is forced on owners of tables too.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ricordo_app') THEN
        CREATE ROLE ricordo_app NOLOGIN;
    END IF;
    IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT ricordo_app TO %I', current_user);
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN
        NULL;
    WHEN insufficient_privilege THEN
        RAISE NOTICE 'no right to make or grant the role ricordo_app; going on without it';
END
$$;

-- Which migrations were applied, and the digest of each: an edited one, or one from a newer version, is refused.
CREATE TABLE ricordo.schema_migrations (
    version     integer PRIMARY KEY,
    name        text NOT NULL,
    digest      text NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE ricordo.owners (
    owner       uuid PRIMARY KEY,
    tenant_id   text COLLATE "C" NOT NULL CHECK (length(tenant_id) BETWEEN 1 AND 255),
    user_id     text COLLATE "C" NOT NULL CHECK (length(user_id) BETWEEN 1 AND 255)
);

CREATE INDEX owners_by_tenant ON ricordo.owners (tenant_id, owner);

CREATE TABLE ricordo.sessions (
    owner           uuid NOT NULL REFERENCES ricordo.owners (owner) ON DELETE CASCADE,
    session_id      text COLLATE "C" NOT NULL CHECK (length(session_id) BETWEEN 1 AND 255),
    agent_id        text COLLATE "C" NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 255),
    created_at      bigint NOT NULL,
    last_active_at  bigint NOT NULL,
    last_turn       bigint NOT NULL DEFAULT 0 CHECK (last_turn >= 0),
    turn_count      bigint NOT NULL DEFAULT 0 CHECK (turn_count BETWEEN 0 AND last_turn),
    revision        bigint NOT NULL DEFAULT 0 CHECK (revision >= 0),
    topics_through  bigint NOT NULL DEFAULT 0 CHECK (topics_through >= 0),
    topics_revision bigint NOT NULL DEFAULT 0 CHECK (topics_revision >= 0),
    title           text CHECK (octet_length(title) <= 1048576),
    document_ids    text CHECK (document_ids IS NULL OR document_ids::json IS NOT NULL AND octet_length(document_ids) <= 1048576),
    tags            text CHECK (tags IS NULL OR tags::json IS NOT NULL AND octet_length(tags) <= 1048576),
    metadata        text CHECK (metadata IS NULL OR metadata::json IS NOT NULL AND octet_length(metadata) <= 1048576),
    ended_at        bigint,
    PRIMARY KEY (owner, session_id)
);

CREATE INDEX sessions_by_activity ON ricordo.sessions (owner, last_active_at, session_id);

CREATE TABLE ricordo.turns (
    owner            uuid NOT NULL,
    session_id       text COLLATE "C" NOT NULL,
    turn_number      bigint NOT NULL CHECK (turn_number >= 1),
    turn_id          text COLLATE "C" NOT NULL CHECK (length(turn_id) BETWEEN 1 AND 255),
    agent_id         text COLLATE "C" NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 255),
    created_at       bigint NOT NULL,
    query            text CHECK (
        octet_length(query) <= 16777216
        AND btrim(query, E'\t\n\x0B\f\r\x1C\x1D\x1E\x1F \u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') <> ''
    ),
    query_tokens     bigint NOT NULL CHECK (query_tokens >= 0),
    answered_at      bigint,
    response         text CHECK (
        octet_length(response) <= 16777216
        AND btrim(response, E'\t\n\x0B\f\r\x1C\x1D\x1E\x1F \u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') <> ''
    ),
    response_tokens  bigint NOT NULL CHECK (response_tokens >= 0),
    chunk_ids        text CHECK (chunk_ids IS NULL OR chunk_ids::json IS NOT NULL AND octet_length(chunk_ids) <= 1048576),
    metadata         text CHECK (metadata IS NULL OR metadata::json IS NOT NULL AND octet_length(metadata) <= 1048576),
    details          text CHECK (details IS NULL OR details::json IS NOT NULL AND octet_length(details) <= 67108864),
    origin           text NOT NULL CHECK (origin IN ('chat', 'import')),
    counter          text NOT NULL CHECK (length(counter) <= 255),
    checksum         text NOT NULL CHECK (length(checksum) = 16),
    topic_id         text COLLATE "C" CHECK (length(topic_id) BETWEEN 1 AND 255),
    block_id         text COLLATE "C" CHECK (length(block_id) BETWEEN 1 AND 255),
    -- The words are here, or in the archive block that is named; never nowhere.
    CHECK (query IS NOT NULL OR response IS NOT NULL OR details IS NOT NULL OR block_id IS NOT NULL),
    CHECK ((response IS NULL) = (answered_at IS NULL) OR block_id IS NOT NULL),
    PRIMARY KEY (owner, session_id, turn_number),
    UNIQUE (owner, turn_id),
    FOREIGN KEY (owner, session_id) REFERENCES ricordo.sessions (owner, session_id) ON DELETE CASCADE
);

CREATE INDEX turns_by_age ON ricordo.turns (owner, created_at);

-- Asked and not yet answered: few at any time, found without reading the others.
CREATE INDEX turns_open ON ricordo.turns (owner) WHERE query IS NOT NULL AND response IS NULL;

-- The turns of a topic, found without reading those of the others.
CREATE INDEX turns_by_topic ON ricordo.turns (owner, session_id, topic_id, turn_number) WHERE topic_id IS NOT NULL;

-- What a context held and why, beside the turn it was built for. Longer texts (system prompt, chunks,
-- summaries) are named by digest and kept once per session in passages, until the last turn that used them goes.
CREATE TABLE ricordo.receipts (
    owner        uuid NOT NULL,
    session_id   text COLLATE "C" NOT NULL,
    turn_number  bigint NOT NULL,
    body         text NOT NULL CHECK (body::jsonb IS NOT NULL AND octet_length(body) <= 67108864),
    PRIMARY KEY (owner, session_id, turn_number),
    FOREIGN KEY (owner, session_id, turn_number)
        REFERENCES ricordo.turns (owner, session_id, turn_number) ON DELETE CASCADE
);

CREATE TABLE ricordo.passages (
    owner       uuid NOT NULL,
    session_id  text COLLATE "C" NOT NULL,
    digest      text COLLATE "C" NOT NULL CHECK (length(digest) BETWEEN 1 AND 255),
    last_turn   bigint NOT NULL CHECK (last_turn >= 1),
    body        text NOT NULL CHECK (octet_length(body) <= 16777216),
    PRIMARY KEY (owner, session_id, digest),
    FOREIGN KEY (owner, session_id) REFERENCES ricordo.sessions (owner, session_id) ON DELETE CASCADE
);

-- A session's topics, with the numbers of their turns that are in working memory (hot) as a JSON list.
CREATE TABLE ricordo.topics (
    owner           uuid NOT NULL,
    session_id      text COLLATE "C" NOT NULL,
    topic_id        text COLLATE "C" NOT NULL CHECK (length(topic_id) BETWEEN 1 AND 255),
    title           text NOT NULL,
    centre          bytea NOT NULL,
    embedder        text NOT NULL,
    created_at      bigint NOT NULL,
    last_active_at  bigint NOT NULL,
    importance      double precision NOT NULL CHECK (importance BETWEEN 0 AND 1),
    access_count    bigint NOT NULL CHECK (access_count >= 0),
    message_count   bigint NOT NULL CHECK (message_count >= 0),
    archived_count  bigint NOT NULL CHECK (archived_count BETWEEN 0 AND message_count),
    restored_count  bigint NOT NULL CHECK (restored_count >= 0),
    hot             text NOT NULL CHECK (hot::json IS NOT NULL),
    tags            text NOT NULL CHECK (tags::json IS NOT NULL),
    summary         text,
    state           text NOT NULL CHECK (state IN ('working', 'archived')),
    PRIMARY KEY (owner, session_id, topic_id),
    FOREIGN KEY (owner, session_id) REFERENCES ricordo.sessions (owner, session_id) ON DELETE CASCADE
);

-- Cold turns of a topic, compressed together (docs/archive.md has the bytes).
CREATE TABLE ricordo.blocks (
    owner         uuid NOT NULL,
    session_id    text COLLATE "C" NOT NULL,
    block_id      text COLLATE "C" NOT NULL CHECK (length(block_id) BETWEEN 1 AND 255),
    topic_id      text COLLATE "C" NOT NULL CHECK (length(topic_id) BETWEEN 1 AND 255),
    turn_numbers  text NOT NULL CHECK (turn_numbers::json IS NOT NULL),
    created_at    bigint NOT NULL,
    body          bytea NOT NULL,
    PRIMARY KEY (owner, session_id, block_id),
    FOREIGN KEY (owner, session_id) REFERENCES ricordo.sessions (owner, session_id) ON DELETE CASCADE
);

-- The vectors of a turn's messages by one embedder, and the checksum of the turn they were made from.
CREATE TABLE ricordo.traces (
    owner        uuid NOT NULL,
    session_id   text COLLATE "C" NOT NULL,
    turn_number  bigint NOT NULL,
    embedder     text COLLATE "C" NOT NULL CHECK (length(embedder) BETWEEN 1 AND 255),
    checksum     text NOT NULL CHECK (length(checksum) = 16),
    body         bytea NOT NULL,
    PRIMARY KEY (owner, session_id, turn_number, embedder),
    FOREIGN KEY (owner, session_id, turn_number)
        REFERENCES ricordo.turns (owner, session_id, turn_number) ON DELETE CASCADE
);

-- Blocks are compressed already and vectors do not compress: trying again would only cost time.
ALTER TABLE ricordo.blocks ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE ricordo.traces ALTER COLUMN body SET STORAGE EXTERNAL;

-- The wall: a transaction sees and writes the rows of the one owner it has named, whatever its WHERE says.
-- After a SET LOCAL has ended a setting reads as '', hence nullif; no owner named, no row.
ALTER TABLE ricordo.owners ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.owners FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.owners
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

-- Who has a memory here may also be listed, for cleanup (one tenant) and for a backup (everyone): names, not content.
CREATE POLICY by_tenant ON ricordo.owners FOR SELECT
    USING (tenant_id = nullif(current_setting('ricordo.tenant', true), ''));
CREATE POLICY for_backup ON ricordo.owners FOR SELECT
    USING (nullif(current_setting('ricordo.backup', true), '') = 'on');

ALTER TABLE ricordo.sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.sessions
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.turns ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.turns FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.turns
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.receipts ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.receipts FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.receipts
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.passages ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.passages FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.passages
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.topics ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.topics FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.topics
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.blocks ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.blocks FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.blocks
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.traces ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.traces FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.traces
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ricordo_app') THEN
        GRANT USAGE ON SCHEMA ricordo TO ricordo_app;
        GRANT SELECT ON ricordo.schema_migrations TO ricordo_app;
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON ricordo.owners, ricordo.sessions, ricordo.turns, ricordo.receipts, ricordo.passages,
               ricordo.topics, ricordo.blocks, ricordo.traces TO ricordo_app;
    END IF;
END
$$;

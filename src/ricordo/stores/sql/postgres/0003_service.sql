-- What a service keeps besides memory. Documents hang on their owner. Keys, jobs and leases stand by themselves: a key
-- outlives its user's sessions, a job may be about a session that is gone, a lease is of the whole cluster.

CREATE TABLE ricordo.documents (
    owner        uuid NOT NULL REFERENCES ricordo.owners (owner) ON DELETE CASCADE,
    document_id  text COLLATE "C" NOT NULL CHECK (length(document_id) BETWEEN 1 AND 255),
    title        text NOT NULL CHECK (octet_length(title) <= 1048576),
    kind         text NOT NULL CHECK (kind IN ('text', 'markdown', 'pdf')),
    digest       text NOT NULL CHECK (length(digest) BETWEEN 1 AND 255),
    created_at   bigint NOT NULL,
    chunk_count  bigint NOT NULL CHECK (chunk_count >= 0),
    bytes        bigint NOT NULL CHECK (bytes >= 0),
    metadata     text CHECK (metadata IS NULL OR metadata::json IS NOT NULL AND octet_length(metadata) <= 1048576),
    PRIMARY KEY (owner, document_id)
);

CREATE INDEX documents_by_age ON ricordo.documents (owner, created_at);

CREATE TABLE ricordo.chunks (
    owner        uuid NOT NULL,
    document_id  text COLLATE "C" NOT NULL,
    position     bigint NOT NULL CHECK (position >= 0),
    chunk_id     text COLLATE "C" NOT NULL CHECK (length(chunk_id) BETWEEN 1 AND 300),
    text         text NOT NULL CHECK (text <> '' AND octet_length(text) <= 16777216),
    heading      text NOT NULL CHECK (octet_length(heading) <= 1048576),
    start_at     bigint NOT NULL CHECK (start_at >= 0),
    end_at       bigint NOT NULL CHECK (end_at >= start_at),
    page         bigint CHECK (page >= 1),
    vector       bytea,
    embedder     text NOT NULL CHECK (length(embedder) <= 255),
    PRIMARY KEY (owner, document_id, position),
    UNIQUE (owner, chunk_id),
    FOREIGN KEY (owner, document_id) REFERENCES ricordo.documents (owner, document_id) ON DELETE CASCADE
);

ALTER TABLE ricordo.chunks ALTER COLUMN vector SET STORAGE EXTERNAL;

CREATE TABLE ricordo.api_keys (
    owner         uuid NOT NULL,
    key_id        text COLLATE "C" NOT NULL CHECK (length(key_id) BETWEEN 1 AND 255),
    tenant_id     text COLLATE "C" NOT NULL CHECK (length(tenant_id) BETWEEN 1 AND 255),
    user_id       text COLLATE "C" CHECK (length(user_id) BETWEEN 1 AND 255),
    name          text NOT NULL CHECK (length(name) <= 255),
    digest        text COLLATE "C" NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    created_at    bigint NOT NULL,
    last_used_at  bigint,
    revoked_at    bigint,
    scopes        text NOT NULL CHECK (json_typeof(scopes::json) = 'array'),
    PRIMARY KEY (owner, key_id)
);

CREATE INDEX api_keys_by_digest ON ricordo.api_keys (digest);
CREATE INDEX api_keys_by_tenant ON ricordo.api_keys (tenant_id);

-- due_at is NULL once a job was given up; again_at is set when it was wished for while somebody was at it.
CREATE TABLE ricordo.jobs (
    owner         uuid NOT NULL,
    kind          text COLLATE "C" NOT NULL CHECK (length(kind) BETWEEN 1 AND 64),
    session_id    text COLLATE "C" NOT NULL CHECK (length(session_id) <= 255),
    tenant_id     text COLLATE "C" NOT NULL CHECK (length(tenant_id) BETWEEN 1 AND 255),
    user_id       text COLLATE "C" NOT NULL CHECK (length(user_id) BETWEEN 1 AND 255),
    due_at        bigint,
    attempts      bigint NOT NULL CHECK (attempts >= 0),
    leased_until  bigint,
    leased_by     text NOT NULL CHECK (length(leased_by) <= 255),
    last_error    text NOT NULL CHECK (length(last_error) <= 1000),
    again_at      bigint,
    CHECK ((leased_until IS NULL) = (leased_by = '')),
    PRIMARY KEY (owner, kind, session_id)
);

CREATE INDEX jobs_by_due ON ricordo.jobs (due_at);
CREATE INDEX jobs_by_tenant ON ricordo.jobs (tenant_id);

-- The owner is one that stands for the whole cluster.
CREATE TABLE ricordo.leases (
    owner   uuid NOT NULL,
    name    text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    holder  text COLLATE "C" NOT NULL CHECK (length(holder) BETWEEN 1 AND 255),
    until   bigint NOT NULL,
    PRIMARY KEY (owner, name)
);

ALTER TABLE ricordo.documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.documents FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.documents
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.chunks FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.chunks
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.api_keys
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

-- A request shows a secret before anybody knows whose it is. Whoever names a digest sees the one key that has it, and
-- to name it the secret must be known: so no function has to run with more rights than the application.
CREATE POLICY by_digest ON ricordo.api_keys FOR SELECT
    USING (digest = nullif(current_setting('ricordo.digest', true), ''));
-- A tenant's keys may be listed for its administrator, and all of them copied by a backup: digests, never secrets.
CREATE POLICY by_tenant ON ricordo.api_keys FOR SELECT
    USING (tenant_id = nullif(current_setting('ricordo.tenant', true), ''));
CREATE POLICY for_backup ON ricordo.api_keys FOR SELECT
    USING (nullif(current_setting('ricordo.backup', true), '') = 'on');

ALTER TABLE ricordo.jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.jobs FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.jobs
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

-- Workers look for what is due whoever's it is, and note that they are at it; what they then read is behind the wall of
-- the owner that the job names. A job says where to look and holds nothing that was said. Counting is by tenant.
CREATE POLICY for_workers ON ricordo.jobs FOR SELECT
    USING (nullif(current_setting('ricordo.worker', true), '') = 'on');
CREATE POLICY by_workers ON ricordo.jobs FOR UPDATE
    USING (nullif(current_setting('ricordo.worker', true), '') = 'on');
CREATE POLICY by_tenant ON ricordo.jobs FOR SELECT
    USING (tenant_id = nullif(current_setting('ricordo.tenant', true), ''));

ALTER TABLE ricordo.leases ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.leases FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.leases
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ricordo_app') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON ricordo.documents, ricordo.chunks, ricordo.api_keys, ricordo.jobs, ricordo.leases TO ricordo_app;
    END IF;
END
$$;

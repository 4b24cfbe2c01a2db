-- What a service keeps besides memory. Documents hang on their owner. Keys, jobs and leases stand by themselves: a key
-- outlives its user's sessions, a job may be about a session that is gone, a lease is of the whole cluster.

CREATE TABLE documents (
    owner        BLOB NOT NULL REFERENCES owners (owner) ON DELETE CASCADE,
    document_id  TEXT NOT NULL CHECK (length(document_id) BETWEEN 1 AND 255 AND instr(document_id, char(0)) = 0),
    title        TEXT NOT NULL CHECK (instr(title, char(0)) = 0 AND length(CAST(title AS BLOB)) <= 1048576),
    kind         TEXT NOT NULL CHECK (kind IN ('text', 'markdown', 'pdf')),
    digest       TEXT NOT NULL CHECK (length(digest) BETWEEN 1 AND 255),
    created_at   INTEGER NOT NULL,
    chunk_count  INTEGER NOT NULL CHECK (chunk_count >= 0),
    bytes        INTEGER NOT NULL CHECK (bytes >= 0),
    metadata     TEXT CHECK (metadata IS NULL OR json_valid(metadata) AND length(CAST(metadata AS BLOB)) <= 1048576),
    PRIMARY KEY (owner, document_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX documents_by_age ON documents (owner, created_at);

CREATE TABLE chunks (
    owner        BLOB NOT NULL,
    document_id  TEXT NOT NULL,
    position     INTEGER NOT NULL CHECK (position >= 0),
    chunk_id     TEXT NOT NULL CHECK (length(chunk_id) BETWEEN 1 AND 300 AND instr(chunk_id, char(0)) = 0),
    text         TEXT NOT NULL CHECK (text <> '' AND instr(text, char(0)) = 0 AND length(CAST(text AS BLOB)) <= 16777216),
    heading      TEXT NOT NULL CHECK (instr(heading, char(0)) = 0 AND length(CAST(heading AS BLOB)) <= 1048576),
    start_at     INTEGER NOT NULL CHECK (start_at >= 0),
    end_at       INTEGER NOT NULL CHECK (end_at >= start_at),
    page         INTEGER CHECK (page >= 1),
    vector       BLOB,
    embedder     TEXT NOT NULL CHECK (length(embedder) <= 255),
    PRIMARY KEY (owner, document_id, position),
    UNIQUE (owner, chunk_id),
    FOREIGN KEY (owner, document_id) REFERENCES documents (owner, document_id) ON DELETE CASCADE
) STRICT;

-- A digest is known to nobody who does not have the secret; it is the one thing that finds a key without an owner.
CREATE TABLE api_keys (
    owner         BLOB NOT NULL CHECK (length(owner) = 16),
    key_id        TEXT NOT NULL CHECK (length(key_id) BETWEEN 1 AND 255 AND instr(key_id, char(0)) = 0),
    tenant_id     TEXT NOT NULL CHECK (length(tenant_id) BETWEEN 1 AND 255 AND instr(tenant_id, char(0)) = 0),
    user_id       TEXT CHECK (length(user_id) BETWEEN 1 AND 255 AND instr(user_id, char(0)) = 0),
    name          TEXT NOT NULL CHECK (length(name) <= 255 AND instr(name, char(0)) = 0),
    digest        TEXT NOT NULL CHECK (length(digest) = 64 AND digest NOT GLOB '*[^0-9a-f]*'),
    created_at    INTEGER NOT NULL,
    last_used_at  INTEGER,
    revoked_at    INTEGER,
    scopes        TEXT NOT NULL CHECK (json_valid(scopes) AND json_type(scopes) = 'array'),
    PRIMARY KEY (owner, key_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX api_keys_by_digest ON api_keys (digest);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant_id);

-- due_at is NULL once a job was given up; again_at is set when it was wished for while somebody was at it.
CREATE TABLE jobs (
    owner         BLOB NOT NULL CHECK (length(owner) = 16),
    kind          TEXT NOT NULL CHECK (length(kind) BETWEEN 1 AND 64 AND instr(kind, char(0)) = 0),
    session_id    TEXT NOT NULL CHECK (length(session_id) <= 255 AND instr(session_id, char(0)) = 0),
    tenant_id     TEXT NOT NULL CHECK (length(tenant_id) BETWEEN 1 AND 255 AND instr(tenant_id, char(0)) = 0),
    user_id       TEXT NOT NULL CHECK (length(user_id) BETWEEN 1 AND 255 AND instr(user_id, char(0)) = 0),
    due_at        INTEGER,
    attempts      INTEGER NOT NULL CHECK (attempts >= 0),
    leased_until  INTEGER,
    leased_by     TEXT NOT NULL CHECK (length(leased_by) <= 255),
    last_error    TEXT NOT NULL CHECK (length(last_error) <= 1000),
    again_at      INTEGER,
    CHECK ((leased_until IS NULL) = (leased_by = '')),
    PRIMARY KEY (owner, kind, session_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_by_due ON jobs (due_at);
CREATE INDEX jobs_by_tenant ON jobs (tenant_id);

-- The owner is one that stands for the whole cluster.
CREATE TABLE leases (
    owner    BLOB NOT NULL CHECK (length(owner) = 16),
    name     TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 255 AND instr(name, char(0)) = 0),
    holder   TEXT NOT NULL CHECK (length(holder) BETWEEN 1 AND 255 AND instr(holder, char(0)) = 0),
    until    INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

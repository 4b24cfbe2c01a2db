-- Every key begins with the owner: sixteen bytes derived from (tenant, user).
-- Times are microseconds since 1970 in UTC. JSON columns are NULL when there is nothing to say.

CREATE TABLE owners (
    owner       BLOB PRIMARY KEY CHECK (length(owner) = 16),
    tenant_id   TEXT NOT NULL CHECK (length(tenant_id) BETWEEN 1 AND 255),
    user_id     TEXT NOT NULL CHECK (length(user_id) BETWEEN 1 AND 255)
) WITHOUT ROWID;

CREATE TABLE sessions (
    owner           BLOB NOT NULL REFERENCES owners (owner) ON DELETE CASCADE,
    session_id      TEXT NOT NULL CHECK (length(session_id) BETWEEN 1 AND 255),
    agent_id        TEXT NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 255),
    created_at      INTEGER NOT NULL,
    last_active_at  INTEGER NOT NULL,
    last_turn       INTEGER NOT NULL DEFAULT 0 CHECK (last_turn >= 0),
    turn_count      INTEGER NOT NULL DEFAULT 0 CHECK (turn_count >= 0),
    revision        INTEGER NOT NULL DEFAULT 0,
    title           TEXT,
    document_ids    TEXT CHECK (document_ids IS NULL OR json_valid(document_ids)),
    tags            TEXT CHECK (tags IS NULL OR json_valid(tags)),
    metadata        TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
    ended_at        INTEGER,
    PRIMARY KEY (owner, session_id)
) WITHOUT ROWID;

CREATE INDEX sessions_by_activity ON sessions (owner, last_active_at);

CREATE TABLE turns (
    owner            BLOB NOT NULL,
    session_id       TEXT NOT NULL,
    turn_number      INTEGER NOT NULL CHECK (turn_number >= 1),
    turn_id          TEXT NOT NULL CHECK (length(turn_id) BETWEEN 1 AND 255),
    agent_id         TEXT NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 255),
    created_at       INTEGER NOT NULL,
    query            TEXT CHECK (query IS NULL OR length(trim(query, char(32, 9, 10, 13))) > 0),
    query_tokens     INTEGER NOT NULL CHECK (query_tokens >= 0),
    answered_at      INTEGER,
    response         TEXT CHECK (response IS NULL OR length(trim(response, char(32, 9, 10, 13))) > 0),
    response_tokens  INTEGER NOT NULL CHECK (response_tokens >= 0),
    chunk_ids        TEXT CHECK (chunk_ids IS NULL OR json_valid(chunk_ids)),
    metadata         TEXT CHECK (metadata IS NULL OR json_valid(metadata)),
    details          TEXT CHECK (details IS NULL OR json_valid(details)),
    origin           TEXT NOT NULL CHECK (origin IN ('chat', 'import')),
    counter          TEXT NOT NULL,
    checksum         TEXT NOT NULL,
    CHECK (query IS NOT NULL OR response IS NOT NULL OR details IS NOT NULL),
    CHECK ((response IS NULL) = (answered_at IS NULL)),
    UNIQUE (owner, session_id, turn_number),
    UNIQUE (owner, turn_id),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE
);

CREATE INDEX turns_by_age ON turns (owner, created_at);

-- What a context held and why, beside the turn it was built for. Longer texts (system prompt, chunks,
-- summaries) are named by digest and kept once per session in passages, until the last turn that used them goes.
CREATE TABLE receipts (
    owner        BLOB NOT NULL,
    session_id   TEXT NOT NULL,
    turn_number  INTEGER NOT NULL,
    body         TEXT NOT NULL CHECK (json_valid(body)),
    PRIMARY KEY (owner, session_id, turn_number),
    FOREIGN KEY (owner, session_id, turn_number) REFERENCES turns (owner, session_id, turn_number) ON DELETE CASCADE
);

CREATE TABLE passages (
    owner       BLOB NOT NULL,
    session_id  TEXT NOT NULL,
    digest      TEXT NOT NULL,
    last_turn   INTEGER NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (owner, session_id, digest),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE
);

-- Every key begins with the owner: sixteen bytes derived from (tenant, user).
-- Times are microseconds since 1970 in UTC. JSON columns are NULL when there is nothing to say.
--
-- The constraints repeat what is checked before a write, so that a row written past those checks is refused
-- too: no NUL (instr … char(0)), no blank text (a visible first character, or else a trim of every Unicode white
-- space leaves something), and outer ceilings on
-- size: 16 MiB for a message, 1 MiB for a JSON column, 64 MiB for the messages between question and answer.

CREATE TABLE owners (
    owner       BLOB NOT NULL PRIMARY KEY CHECK (length(owner) = 16),
    tenant_id   TEXT NOT NULL CHECK (length(tenant_id) BETWEEN 1 AND 255 AND instr(tenant_id, char(0)) = 0),
    user_id     TEXT NOT NULL CHECK (length(user_id) BETWEEN 1 AND 255 AND instr(user_id, char(0)) = 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX owners_by_tenant ON owners (tenant_id);

CREATE TABLE sessions (
    owner           BLOB NOT NULL REFERENCES owners (owner) ON DELETE CASCADE,
    session_id      TEXT NOT NULL CHECK (length(session_id) BETWEEN 1 AND 255 AND instr(session_id, char(0)) = 0),
    agent_id        TEXT NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 255 AND instr(agent_id, char(0)) = 0),
    created_at      INTEGER NOT NULL,
    last_active_at  INTEGER NOT NULL,
    last_turn       INTEGER NOT NULL DEFAULT 0 CHECK (last_turn >= 0),
    turn_count      INTEGER NOT NULL DEFAULT 0 CHECK (turn_count BETWEEN 0 AND last_turn),
    revision        INTEGER NOT NULL DEFAULT 0 CHECK (revision >= 0),
    -- 1: no turn is dated before the one in front of it, so the first of them is the oldest. Thus no index by age has
    -- to be kept up with every write. (Somebody may give a turn an earlier date: 0, and a cleanup reads all its turns.)
    in_order        INTEGER NOT NULL DEFAULT 1 CHECK (in_order IN (0, 1)),
    topics_through  INTEGER NOT NULL DEFAULT 0 CHECK (topics_through >= 0),
    topics_revision INTEGER NOT NULL DEFAULT 0 CHECK (topics_revision >= 0),
    title           TEXT CHECK (length(CAST(title AS BLOB)) <= 1048576 AND instr(title, char(0)) = 0),
    document_ids    TEXT CHECK (document_ids IS NULL OR json_valid(document_ids) AND length(CAST(document_ids AS BLOB)) <= 1048576),
    tags            TEXT CHECK (tags IS NULL OR json_valid(tags) AND length(CAST(tags AS BLOB)) <= 1048576),
    metadata        TEXT CHECK (metadata IS NULL OR json_valid(metadata) AND length(CAST(metadata AS BLOB)) <= 1048576),
    ended_at        INTEGER,
    PRIMARY KEY (owner, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    owner            BLOB NOT NULL,
    session_id       TEXT NOT NULL,
    turn_number      INTEGER NOT NULL CHECK (turn_number >= 1),
    turn_id          TEXT NOT NULL CHECK (length(turn_id) BETWEEN 1 AND 255 AND instr(turn_id, char(0)) = 0),
    agent_id         TEXT NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 255 AND instr(agent_id, char(0)) = 0),
    created_at       INTEGER NOT NULL,
    query            TEXT CHECK (
        instr(query, char(0)) = 0
        AND length(CAST(query AS BLOB)) <= 16777216
        AND (coalesce(unicode(query), 32) BETWEEN 33 AND 126 OR trim(query, char(9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196,
                             8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288)) <> '')
    ),
    query_tokens     INTEGER NOT NULL CHECK (query_tokens >= 0),
    answered_at      INTEGER,
    response         TEXT CHECK (
        instr(response, char(0)) = 0
        AND length(CAST(response AS BLOB)) <= 16777216
        AND (coalesce(unicode(response), 32) BETWEEN 33 AND 126 OR trim(response, char(9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196,
                                8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239, 8287, 12288)) <> '')
    ),
    response_tokens  INTEGER NOT NULL CHECK (response_tokens >= 0),
    chunk_ids        TEXT CHECK (chunk_ids IS NULL OR json_valid(chunk_ids) AND length(CAST(chunk_ids AS BLOB)) <= 1048576),
    metadata         TEXT CHECK (metadata IS NULL OR json_valid(metadata) AND length(CAST(metadata AS BLOB)) <= 1048576),
    details          TEXT CHECK (details IS NULL OR json_valid(details) AND length(CAST(details AS BLOB)) <= 67108864),
    origin           TEXT NOT NULL CHECK (origin IN ('chat', 'import')),
    counter          TEXT NOT NULL CHECK (length(counter) <= 255 AND instr(counter, char(0)) = 0),
    checksum         TEXT NOT NULL CHECK (length(checksum) = 16),
    topic_id         TEXT CHECK (length(topic_id) BETWEEN 1 AND 255),
    block_id         TEXT CHECK (length(block_id) BETWEEN 1 AND 255),
    -- The words are here, or in the archive block that is named; never nowhere.
    CHECK (query IS NOT NULL OR response IS NOT NULL OR details IS NOT NULL OR block_id IS NOT NULL),
    CHECK ((response IS NULL) = (answered_at IS NULL) OR block_id IS NOT NULL),
    UNIQUE (owner, session_id, turn_number),
    UNIQUE (owner, turn_id),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE
) STRICT;

-- Asked and not yet answered: few at any time, found without reading the others.
CREATE INDEX turns_open ON turns (owner) WHERE query IS NOT NULL AND response IS NULL;

-- The turns of one topic. A turn that nobody has organised yet costs nothing here. Without the session: its id is long,
-- and a topic's says as much.
CREATE INDEX turns_by_topic ON turns (owner, topic_id, turn_number) WHERE topic_id IS NOT NULL;

-- What a context held and why, beside the turn it was built for: JSON, packed (ricordo.archive.receipts). Longer texts (system prompt, chunks,
-- summaries) are named by digest and kept once per session in passages, until the last turn that used them goes.
CREATE TABLE receipts (
    owner        BLOB NOT NULL,
    session_id   TEXT NOT NULL,
    turn_number  INTEGER NOT NULL,
    body         BLOB NOT NULL CHECK (length(body) BETWEEN 2 AND 67108864),
    PRIMARY KEY (owner, session_id, turn_number),
    FOREIGN KEY (owner, session_id, turn_number) REFERENCES turns (owner, session_id, turn_number) ON DELETE CASCADE
) STRICT;

CREATE TABLE passages (
    owner       BLOB NOT NULL,
    session_id  TEXT NOT NULL,
    digest      TEXT NOT NULL CHECK (length(digest) BETWEEN 1 AND 255),
    last_turn   INTEGER NOT NULL CHECK (last_turn >= 1),
    body        TEXT NOT NULL CHECK (instr(body, char(0)) = 0 AND length(CAST(body AS BLOB)) <= 16777216),
    PRIMARY KEY (owner, session_id, digest),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE
) STRICT;

-- A session's topics, with the numbers of their turns that are in working memory (hot) as a JSON list.
CREATE TABLE topics (
    owner           BLOB NOT NULL,
    session_id      TEXT NOT NULL,
    topic_id        TEXT NOT NULL CHECK (length(topic_id) BETWEEN 1 AND 255),
    title           TEXT NOT NULL CHECK (instr(title, char(0)) = 0),
    centre          BLOB NOT NULL,
    embedder        TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    last_active_at  INTEGER NOT NULL,
    importance      REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    access_count    INTEGER NOT NULL CHECK (access_count >= 0),
    message_count   INTEGER NOT NULL CHECK (message_count >= 0),
    archived_count  INTEGER NOT NULL CHECK (archived_count BETWEEN 0 AND message_count),
    restored_count  INTEGER NOT NULL CHECK (restored_count >= 0),
    hot             TEXT NOT NULL CHECK (json_valid(hot)),
    tags            TEXT NOT NULL CHECK (json_valid(tags)),
    summary         TEXT CHECK (instr(summary, char(0)) = 0),
    state           TEXT NOT NULL CHECK (state IN ('working', 'archived')),
    PRIMARY KEY (owner, session_id, topic_id),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE
) STRICT;

-- Cold turns of a topic, compressed together (docs/archive.md has the bytes).
CREATE TABLE blocks (
    owner         BLOB NOT NULL,
    session_id    TEXT NOT NULL,
    block_id      TEXT NOT NULL CHECK (length(block_id) BETWEEN 1 AND 255),
    topic_id      TEXT NOT NULL CHECK (length(topic_id) BETWEEN 1 AND 255),
    turn_numbers  TEXT NOT NULL CHECK (json_valid(turn_numbers)),
    created_at    INTEGER NOT NULL,
    body          BLOB NOT NULL,
    PRIMARY KEY (owner, session_id, block_id),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE
) STRICT;

-- The vectors of the messages of thirty-two turns by one embedder, with the checksum of each turn that they were made from
-- (ricordo.stores.sqlite.traces has the bytes). pack: (turn number - 1) / 32. held: how many turns there are in it.
CREATE TABLE traces (
    owner       BLOB NOT NULL,
    session_id  TEXT NOT NULL,
    pack        INTEGER NOT NULL CHECK (pack >= 0),
    embedder    TEXT NOT NULL CHECK (length(embedder) BETWEEN 1 AND 255),
    held        INTEGER NOT NULL CHECK (held BETWEEN 1 AND 32),
    body        BLOB NOT NULL CHECK (length(body) > 0),
    PRIMARY KEY (owner, session_id, pack, embedder),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

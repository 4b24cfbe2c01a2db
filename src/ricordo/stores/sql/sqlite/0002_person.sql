-- What is known of a person. Facts hang on their owner, because they outlive the sessions they were said in;
-- summaries go with their session; a flag goes with its session, or with the fact that it is about.
-- JSON columns here are never NULL.

ALTER TABLE sessions ADD COLUMN learned_through INTEGER NOT NULL DEFAULT 0 CHECK (learned_through >= 0);

-- One row per agent that has learned something: the revision of its facts.
CREATE TABLE people (
    owner     BLOB NOT NULL REFERENCES owners (owner) ON DELETE CASCADE,
    agent_id  TEXT NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 255 AND instr(agent_id, char(0)) = 0),
    revision  INTEGER NOT NULL CHECK (revision >= 1),
    PRIMARY KEY (owner, agent_id)
) STRICT, WITHOUT ROWID;

-- sources: a list of [message id, session id, quote]. A forgotten fact keeps its digest and no word.
CREATE TABLE facts (
    owner          BLOB NOT NULL,
    agent_id       TEXT NOT NULL,
    fact_id        TEXT NOT NULL CHECK (length(fact_id) BETWEEN 1 AND 255 AND instr(fact_id, char(0)) = 0),
    kind           TEXT NOT NULL CHECK (kind IN ('name', 'preference', 'difficulty', 'goal', 'place', 'date', 'relation', 'other')),
    text           TEXT NOT NULL CHECK (instr(text, char(0)) = 0 AND length(CAST(text AS BLOB)) <= 1048576),
    about          TEXT NOT NULL CHECK (instr(about, char(0)) = 0 AND length(CAST(about AS BLOB)) <= 1048576),
    digest         TEXT NOT NULL CHECK (length(digest) BETWEEN 1 AND 255),
    language       TEXT NOT NULL CHECK (length(language) <= 255),
    sources        TEXT NOT NULL CHECK (json_valid(sources) AND json_type(sources) = 'array'),
    recorded_at    INTEGER NOT NULL,
    valid_from     INTEGER NOT NULL,
    valid_to       INTEGER,
    superseded_by  TEXT CHECK (length(superseded_by) BETWEEN 1 AND 255),
    made_by        TEXT NOT NULL CHECK (length(made_by) BETWEEN 1 AND 255),
    origin         TEXT NOT NULL CHECK (origin IN ('operator', 'user_said', 'user_edit', 'assistant_said', 'import', 'tool', 'document')),
    forgotten      INTEGER NOT NULL CHECK (forgotten IN (0, 1)),
    CHECK (forgotten = 0 OR text = ''),
    PRIMARY KEY (owner, agent_id, fact_id),
    FOREIGN KEY (owner, agent_id) REFERENCES people (owner, agent_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE summaries (
    owner       BLOB NOT NULL,
    session_id  TEXT NOT NULL,
    summary_id  TEXT NOT NULL CHECK (length(summary_id) BETWEEN 1 AND 255 AND instr(summary_id, char(0)) = 0),
    agent_id    TEXT NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 255 AND instr(agent_id, char(0)) = 0),
    kind        TEXT NOT NULL CHECK (kind IN ('condensation', 'session')),
    text        TEXT NOT NULL CHECK (text <> '' AND instr(text, char(0)) = 0 AND length(CAST(text AS BLOB)) <= 16777216),
    first_turn  INTEGER NOT NULL CHECK (first_turn >= 1),
    last_turn   INTEGER NOT NULL CHECK (last_turn >= first_turn),
    topics      TEXT NOT NULL CHECK (json_valid(topics) AND json_type(topics) = 'array'),
    created_at  INTEGER NOT NULL,
    tokens      INTEGER NOT NULL CHECK (tokens >= 0),
    counter     TEXT NOT NULL CHECK (length(counter) <= 255 AND instr(counter, char(0)) = 0),
    made_by     TEXT NOT NULL CHECK (length(made_by) BETWEEN 1 AND 255),
    origin      TEXT NOT NULL CHECK (origin IN ('operator', 'user_said', 'user_edit', 'assistant_said', 'import', 'tool', 'document')),
    PRIMARY KEY (owner, session_id, kind, last_turn),
    UNIQUE (owner, summary_id),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE
) STRICT;

CREATE INDEX summaries_by_age ON summaries (owner, created_at);

-- What looks suspicious, by id and never by its text.
CREATE TABLE flags (
    owner       BLOB NOT NULL REFERENCES owners (owner) ON DELETE CASCADE,
    subject     TEXT NOT NULL CHECK (subject IN ('message', 'fact', 'summary', 'title', 'tag', 'chunk')),
    subject_id  TEXT NOT NULL CHECK (length(subject_id) BETWEEN 1 AND 511 AND instr(subject_id, char(0)) = 0),
    flag_id     TEXT NOT NULL CHECK (length(flag_id) BETWEEN 1 AND 255 AND instr(flag_id, char(0)) = 0),
    session_id  TEXT NOT NULL CHECK (length(session_id) BETWEEN 1 AND 255 AND instr(session_id, char(0)) = 0),
    rules       TEXT NOT NULL CHECK (json_valid(rules) AND json_type(rules) = 'array'),
    origin      TEXT NOT NULL CHECK (origin IN ('operator', 'user_said', 'user_edit', 'assistant_said', 'import', 'tool', 'document')),
    state       TEXT NOT NULL CHECK (state IN ('flagged', 'quarantined', 'released')),
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (owner, subject, subject_id),
    UNIQUE (owner, flag_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX flags_by_session ON flags (owner, session_id);

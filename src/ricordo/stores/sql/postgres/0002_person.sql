-- What is known of a person. Facts hang on their owner, because they outlive the sessions they were said in;
-- summaries go with their session; a flag goes with its session, or with the fact that it is about.
-- JSON columns here are never NULL.

-- Column and constraint apart: Citus refuses both in one command. The form before, with the same result, was
-- applied as 0bed0e415e61682f15bdbb3b5b48e105a2c9410b1a50a59dfe781a2bb4888718.
ALTER TABLE ricordo.sessions ADD COLUMN learned_through bigint NOT NULL DEFAULT 0;
ALTER TABLE ricordo.sessions ADD CONSTRAINT sessions_learned_through_check CHECK (learned_through >= 0);

-- One row per agent that has learned something: the revision of its facts.
CREATE TABLE ricordo.people (
    owner     uuid NOT NULL REFERENCES ricordo.owners (owner) ON DELETE CASCADE,
    agent_id  text COLLATE "C" NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 255),
    revision  bigint NOT NULL CHECK (revision >= 1),
    PRIMARY KEY (owner, agent_id)
);

-- sources: a list of [message id, session id, quote]. A forgotten fact keeps its digest and no word.
CREATE TABLE ricordo.facts (
    owner          uuid NOT NULL,
    agent_id       text COLLATE "C" NOT NULL,
    fact_id        text COLLATE "C" NOT NULL CHECK (length(fact_id) BETWEEN 1 AND 255),
    kind           text NOT NULL CHECK (kind IN ('name', 'preference', 'difficulty', 'goal', 'place', 'date', 'relation', 'other')),
    text           text NOT NULL CHECK (octet_length(text) <= 1048576),
    about          text NOT NULL CHECK (octet_length(about) <= 1048576),
    digest         text NOT NULL CHECK (length(digest) BETWEEN 1 AND 255),
    language       text NOT NULL CHECK (length(language) <= 255),
    sources        text NOT NULL CHECK (json_typeof(sources::json) = 'array'),
    recorded_at    bigint NOT NULL,
    valid_from     bigint NOT NULL,
    valid_to       bigint,
    superseded_by  text COLLATE "C" CHECK (length(superseded_by) BETWEEN 1 AND 255),
    made_by        text NOT NULL CHECK (length(made_by) BETWEEN 1 AND 255),
    origin         text NOT NULL CHECK (origin IN ('operator', 'user_said', 'user_edit', 'assistant_said', 'import', 'tool', 'document')),
    forgotten      boolean NOT NULL,
    CHECK (NOT forgotten OR text = ''),
    PRIMARY KEY (owner, agent_id, fact_id),
    FOREIGN KEY (owner, agent_id) REFERENCES ricordo.people (owner, agent_id) ON DELETE CASCADE
);

CREATE TABLE ricordo.summaries (
    owner       uuid NOT NULL,
    session_id  text COLLATE "C" NOT NULL,
    summary_id  text COLLATE "C" NOT NULL CHECK (length(summary_id) BETWEEN 1 AND 255),
    agent_id    text COLLATE "C" NOT NULL CHECK (length(agent_id) BETWEEN 1 AND 255),
    kind        text NOT NULL CHECK (kind IN ('condensation', 'session')),
    text        text NOT NULL CHECK (text <> '' AND octet_length(text) <= 16777216),
    first_turn  bigint NOT NULL CHECK (first_turn >= 1),
    last_turn   bigint NOT NULL CHECK (last_turn >= first_turn),
    topics      text NOT NULL CHECK (json_typeof(topics::json) = 'array'),
    created_at  bigint NOT NULL,
    tokens      bigint NOT NULL CHECK (tokens >= 0),
    counter     text NOT NULL CHECK (length(counter) <= 255),
    made_by     text NOT NULL CHECK (length(made_by) BETWEEN 1 AND 255),
    origin      text NOT NULL CHECK (origin IN ('operator', 'user_said', 'user_edit', 'assistant_said', 'import', 'tool', 'document')),
    PRIMARY KEY (owner, session_id, kind, last_turn),
    UNIQUE (owner, summary_id),
    FOREIGN KEY (owner, session_id) REFERENCES ricordo.sessions (owner, session_id) ON DELETE CASCADE
);

CREATE INDEX summaries_by_age ON ricordo.summaries (owner, created_at);

-- What looks suspicious, by id and never by its text.
CREATE TABLE ricordo.flags (
    owner       uuid NOT NULL REFERENCES ricordo.owners (owner) ON DELETE CASCADE,
    subject     text NOT NULL CHECK (subject IN ('message', 'fact', 'summary', 'title', 'tag', 'chunk')),
    subject_id  text COLLATE "C" NOT NULL CHECK (length(subject_id) BETWEEN 1 AND 511),
    flag_id     text COLLATE "C" NOT NULL CHECK (length(flag_id) BETWEEN 1 AND 255),
    session_id  text COLLATE "C" NOT NULL CHECK (length(session_id) BETWEEN 1 AND 255),
    rules       text NOT NULL CHECK (json_typeof(rules::json) = 'array'),
    origin      text NOT NULL CHECK (origin IN ('operator', 'user_said', 'user_edit', 'assistant_said', 'import', 'tool', 'document')),
    state       text NOT NULL CHECK (state IN ('flagged', 'quarantined', 'released')),
    created_at  bigint NOT NULL,
    PRIMARY KEY (owner, subject, subject_id),
    UNIQUE (owner, flag_id)
);

CREATE INDEX flags_by_session ON ricordo.flags (owner, session_id);

ALTER TABLE ricordo.people ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.people FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.people
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.facts ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.facts FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.facts
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.summaries ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.summaries FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.summaries
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

ALTER TABLE ricordo.flags ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.flags FORCE ROW LEVEL SECURITY;
CREATE POLICY by_owner ON ricordo.flags
    USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ricordo_app') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON ricordo.people, ricordo.facts, ricordo.summaries, ricordo.flags TO ricordo_app;
    END IF;
END
$$;

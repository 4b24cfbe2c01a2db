"""The SQL of what is derived from turns (topics, archive blocks, vectors, facts, summaries, flags), by name.

Each statement names the owner, as in `turn_statements`.
"""

from ricordo.stores.derived_rows import BLOCK_ROWS, FACT_ROWS, FLAG_ROWS, INDEXED_COLUMNS, SUMMARY_ROWS, TOPIC_ROWS
from ricordo.stores.postgres.turn_statements import OF_SESSION, of_sessions, placeholders

_VECTOR_COLUMNS = "session_id, turn_number, embedder, checksum, body, words"
_INDEXED = ", ".join(f"t.{name}" for name in INDEXED_COLUMNS.split(", "))
_FACT = ", ".join(f"f.{name}" for name in FACT_ROWS.columns.split(", "))

# -- topics ------------------------------------------------------------------------------------------------------

# The counters of a session's topics with every topic, in one snapshot: a row without a topic if there is none.
TOPICS = f"""
    SELECT s.topics_through, s.topics_revision, {", ".join(f"t.{name}" for name in TOPIC_ROWS.columns.split(", "))}
    FROM ricordo.sessions AS s
    LEFT JOIN ricordo.topics AS t ON t.owner = %(owner)s AND t.session_id = s.session_id
    WHERE s.owner = %(owner)s AND s.session_id = %(session_id)s
    ORDER BY t.created_at, t.topic_id
"""

# Changes no row if the topics were written since they were read; locks the session.
MOVE_TOPICS = f"""
    UPDATE ricordo.sessions SET
        topics_revision = topics_revision + 1,
        topics_through = coalesce(%(through)s::bigint, topics_through)
    WHERE {OF_SESSION} AND topics_revision = %(revision)s
    RETURNING topics_revision
"""

TOUCH_TOPICS = f"UPDATE ricordo.sessions SET topics_revision = topics_revision + 1 WHERE {OF_SESSION}"

PUT_TOPIC = f"""
    INSERT INTO ricordo.topics {TOPIC_ROWS.by_name("owner", "session_id")}
    ON CONFLICT (owner, session_id, topic_id) DO UPDATE SET {TOPIC_ROWS.overwritten("topic_id")}
"""

DELETE_TOPICS_BY_ID = f"DELETE FROM ricordo.topics WHERE {OF_SESSION} AND topic_id = ANY(%(topic_ids)s::text[])"

# A turn leaves the topic that it had; its number goes to the new one with ADD_TO_TOPICS.
LEAVE_TOPICS = """
    DELETE FROM ricordo.topic_turns AS x
    USING ricordo.turns AS t
    WHERE t.owner = %(owner)s AND t.session_id = %(session_id)s AND t.turn_number = ANY(%(numbers)s::bigint[])
      AND x.owner = %(owner)s AND x.session_id = %(session_id)s
      AND x.topic_id = t.topic_id AND x.turn_number = t.turn_number
"""

ASSIGN_TURNS = """
    UPDATE ricordo.turns AS t SET topic_id = assigned.topic_id
    FROM unnest(%(numbers)s::bigint[], %(topic_ids)s::text[]) AS assigned (turn_number, topic_id)
    WHERE t.owner = %(owner)s AND t.session_id = %(session_id)s AND t.turn_number = assigned.turn_number
"""

ADD_TO_TOPICS = """
    INSERT INTO ricordo.topic_turns (owner, session_id, topic_id, turn_number)
    SELECT %(owner)s, t.session_id, t.topic_id, t.turn_number FROM ricordo.turns AS t
    WHERE t.owner = %(owner)s AND t.session_id = %(session_id)s AND t.turn_number = ANY(%(numbers)s::bigint[])
      AND t.topic_id IS NOT NULL
    ON CONFLICT (owner, session_id, topic_id, turn_number) DO NOTHING
"""

UNASSIGN_TURNS = """
    UPDATE ricordo.turns AS t SET topic_id = NULL
    FROM ricordo.topic_turns AS x
    WHERE x.owner = %(owner)s AND x.session_id = %(session_id)s AND x.topic_id = ANY(%(topic_ids)s::text[])
      AND t.owner = %(owner)s AND t.session_id = %(session_id)s AND t.turn_number = x.turn_number
      AND t.topic_id = x.topic_id
"""

EMPTY_TOPICS = f"DELETE FROM ricordo.topic_turns WHERE {OF_SESSION} AND topic_id = ANY(%(topic_ids)s::text[])"

# Single turns that were deleted.
DELETE_FROM_TOPICS = """
    DELETE FROM ricordo.topic_turns AS x
    USING unnest(%(topic_ids)s::text[], %(numbers)s::bigint[]) AS gone (topic_id, turn_number)
    WHERE x.owner = %(owner)s AND x.session_id = %(session_id)s
      AND x.topic_id = gone.topic_id AND x.turn_number = gone.turn_number
"""

DELETE_TOPIC_TURNS = of_sessions("topic_turns")

TURNS_OF_TOPIC = f"""
    SELECT turn_number FROM ricordo.topic_turns
    WHERE {OF_SESSION} AND topic_id = %(topic_id)s
    ORDER BY turn_number
"""

TOPICS_WITH_TURNS = """
    SELECT topic_id FROM unnest(%(topic_ids)s::text[]) AS asked (topic_id)
    WHERE EXISTS (
        SELECT FROM ricordo.topic_turns AS t
        WHERE t.owner = %(owner)s AND t.session_id = %(session_id)s AND t.topic_id = asked.topic_id)
"""

MESSAGES_OF_TURNS = f"""
    SELECT turn_number, (query IS NOT NULL OR query_tokens > 0)::int + (answered_at IS NOT NULL)::int
    FROM ricordo.turns
    WHERE {OF_SESSION} AND turn_number = ANY(%(numbers)s::bigint[])
"""

# -- archive -----------------------------------------------------------------------------------------------------

ADD_BLOCK = f"INSERT INTO ricordo.blocks {BLOCK_ROWS.by_name('owner', 'session_id')}"

REWRITE_BLOCK = f"""
    UPDATE ricordo.blocks SET turn_numbers = %(turn_numbers)s, body = %(body)s
    WHERE {OF_SESSION} AND block_id = %(block_id)s
"""

DELETE_BLOCK = f"DELETE FROM ricordo.blocks WHERE {OF_SESSION} AND block_id = %(block_id)s"

BLOCKS = f"""
    SELECT {BLOCK_ROWS.columns} FROM ricordo.blocks
    WHERE {OF_SESSION}
      AND (%(topic_id)s::text IS NULL OR topic_id = %(topic_id)s::text)
    ORDER BY created_at, block_id
"""

BLOCKS_BY_ID = f"""
    SELECT {BLOCK_ROWS.columns} FROM ricordo.blocks
    WHERE {OF_SESSION} AND block_id = ANY(%(block_ids)s::text[])
"""

TURNS_IN_BLOCKS = f"""
    SELECT block_id, turn_id, turn_number FROM ricordo.turns
    WHERE {OF_SESSION} AND turn_number = ANY(%(numbers)s::bigint[])
      AND block_id IS NOT NULL
"""

# Drops the plain text and nothing else. Whether that is allowed is decided before.
ARCHIVE_TURNS = f"""
    UPDATE ricordo.turns SET query = NULL, response = NULL, details = NULL, block_id = %(block_id)s
    WHERE {OF_SESSION} AND turn_number = ANY(%(numbers)s::bigint[])
"""

REHYDRATE_TURN = f"""
    UPDATE ricordo.turns SET query = %(query)s, response = %(response)s, details = %(details)s
    WHERE {OF_SESSION} AND turn_number = %(turn_number)s
"""

# The plain text is in the row, and in no block.
LEAVE_BLOCK = f"""
    UPDATE ricordo.turns SET query = %(query)s, block_id = NULL
    WHERE {OF_SESSION} AND turn_number = %(turn_number)s
"""

# Before a block is deleted: turns with plain text may be packed again, the others stay marked as damaged.
DETACH_FROM_BLOCK = f"""
    UPDATE ricordo.turns SET block_id = NULL
    WHERE {OF_SESSION} AND turn_number = ANY(%(numbers)s::bigint[])
      AND block_id = %(block_id)s AND (query IS NOT NULL OR response IS NOT NULL OR details IS NOT NULL)
"""

# -- vectors -----------------------------------------------------------------------------------------------------

VECTORS = """
    SELECT session_id, turn_number, checksum, body, coalesce(words, '') FROM ricordo.traces
    WHERE owner = %(owner)s AND embedder = %(embedder)s
      AND (session_id, turn_number) > (%(session_id)s::text, %(turn_number)s)
    ORDER BY session_id, turn_number LIMIT %(limit)s
"""

SESSION_VECTORS = f"""
    SELECT session_id, turn_number, checksum, body, coalesce(words, '') FROM ricordo.traces
    WHERE {OF_SESSION} AND embedder = %(embedder)s
      AND turn_number > %(turn_number)s
    ORDER BY turn_number LIMIT %(limit)s
"""

INDEXED_TURNS = f"""
    SELECT {_INDEXED}, coalesce(v.body, ''), coalesce(v.words, '')
    FROM ricordo.turns AS t LEFT JOIN ricordo.traces AS v
        ON v.owner = %(owner)s AND v.session_id = t.session_id AND v.turn_number = t.turn_number
        AND v.embedder = %(embedder)s AND v.checksum = t.checksum
    WHERE t.owner = %(owner)s AND (t.session_id, t.turn_number) > (%(session_id)s::text, %(turn_number)s)
    ORDER BY t.session_id, t.turn_number LIMIT %(limit)s
"""

# Blocks transactions that delete, not those that write: a vector changes nothing of its session.
SHARE_SESSIONS = """
    SELECT session_id FROM ricordo.sessions
    WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[]) ORDER BY session_id FOR KEY SHARE
"""

PUT_VECTORS = f"""
    INSERT INTO ricordo.traces (owner, {_VECTOR_COLUMNS})
    SELECT %(owner)s, {placeholders(_VECTOR_COLUMNS)}
    WHERE EXISTS (
        SELECT FROM ricordo.turns
        WHERE {OF_SESSION} AND turn_number = %(turn_number)s)
    ON CONFLICT (owner, session_id, turn_number, embedder)
        DO UPDATE SET checksum = excluded.checksum, body = excluded.body, words = excluded.words
"""

DELETE_OTHER_VECTORS = "DELETE FROM ricordo.traces WHERE owner = %(owner)s AND embedder <> %(keep)s"

# -- facts -------------------------------------------------------------------------------------------------------

AGENTS = "SELECT DISTINCT agent_id FROM ricordo.facts WHERE owner = %(owner)s ORDER BY agent_id"

# The revision with every fact, in one snapshot; a row without a fact where there is none.
FACTS = f"""
    SELECT p.revision, {_FACT}
    FROM ricordo.people AS p
    LEFT JOIN ricordo.facts AS f ON f.owner = %(owner)s AND f.agent_id = p.agent_id
    WHERE p.owner = %(owner)s AND p.agent_id = %(agent_id)s
    ORDER BY f.recorded_at, f.fact_id
"""

LOCK_FACTS = """
    SELECT revision FROM ricordo.people WHERE owner = %(owner)s AND agent_id = %(agent_id)s FOR UPDATE
"""

LOCK_ALL_FACTS = "SELECT agent_id FROM ricordo.people WHERE owner = %(owner)s ORDER BY agent_id FOR UPDATE"

ALL_FACTS = f"SELECT {_FACT} FROM ricordo.facts AS f WHERE f.owner = %(owner)s"

EXISTING_TURNS = """
    SELECT turn_id FROM ricordo.turns WHERE owner = %(owner)s AND turn_id = ANY(%(turn_ids)s::text[])
"""

NEXT_FACTS_REVISION = """
    INSERT INTO ricordo.people AS p (owner, agent_id, revision) VALUES (%(owner)s, %(agent_id)s, 1)
    ON CONFLICT (owner, agent_id) DO UPDATE SET revision = p.revision + 1
    RETURNING revision
"""

PUT_FACT = f"""
    INSERT INTO ricordo.facts {FACT_ROWS.by_name()}
    ON CONFLICT (owner, agent_id, fact_id) DO UPDATE SET {FACT_ROWS.overwritten("agent_id", "fact_id")}
"""

DELETE_FACTS = """
    DELETE FROM ricordo.facts AS f
    USING unnest(%(agent_ids)s::text[], %(fact_ids)s::text[]) AS gone (agent_id, fact_id)
    WHERE f.owner = %(owner)s AND f.agent_id = gone.agent_id AND f.fact_id = gone.fact_id
"""

LEARNED_THROUGH = f"SELECT learned_through FROM ricordo.sessions WHERE {OF_SESSION}"

MOVE_LEARNED = f"""
    UPDATE ricordo.sessions SET learned_through = greatest(learned_through, least(%(through)s, last_turn))
    WHERE {OF_SESSION}
"""

# -- summaries ---------------------------------------------------------------------------------------------------

SUMMARIES = f"""
    SELECT {SUMMARY_ROWS.columns} FROM ricordo.summaries
    WHERE owner = %(owner)s
      AND (%(session_id)s::text IS NULL OR session_id = %(session_id)s::text)
      AND (%(agent_id)s::text IS NULL OR agent_id = %(agent_id)s::text)
      AND (%(kind)s::text IS NULL OR kind = %(kind)s::text)
    ORDER BY created_at DESC, last_turn DESC, summary_id DESC LIMIT %(limit)s
"""

ADD_SUMMARY = f"INSERT INTO ricordo.summaries {SUMMARY_ROWS.by_name()} ON CONFLICT DO NOTHING"

DELETE_SUMMARIES = of_sessions("summaries")

DELETE_SUMMARIES_BY_ID = """
    DELETE FROM ricordo.summaries WHERE owner = %(owner)s AND summary_id = ANY(%(summary_ids)s::text[])
"""

# -- flags -------------------------------------------------------------------------------------------------------

FLAGS = f"""
    SELECT {FLAG_ROWS.columns} FROM ricordo.flags
    WHERE owner = %(owner)s AND (%(state)s::text IS NULL OR state = %(state)s::text)
    ORDER BY created_at DESC, flag_id DESC LIMIT %(limit)s
"""

ADD_FLAG = f"INSERT INTO ricordo.flags {FLAG_ROWS.by_name()} ON CONFLICT DO NOTHING"

SET_FLAG = f"""
    UPDATE ricordo.flags SET state = %(state)s WHERE owner = %(owner)s AND flag_id = %(flag_id)s
    RETURNING {FLAG_ROWS.columns}
"""

DELETE_FLAGS_ON_FACTS = """
    DELETE FROM ricordo.flags
    WHERE owner = %(owner)s AND subject = 'fact' AND subject_id = ANY(%(fact_ids)s::text[])
"""

DELETE_FLAGS_BY_SUMMARY = """
    DELETE FROM ricordo.flags
    WHERE owner = %(owner)s AND subject = 'summary' AND subject_id = ANY(%(summary_ids)s::text[])
"""

DELETE_FLAGS_ON_SUMMARIES = """
    DELETE FROM ricordo.flags
    WHERE owner = %(owner)s AND subject = 'summary' AND subject_id IN (
        SELECT summary_id FROM ricordo.summaries
        WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[]))
"""

# A fact that stays keeps its flag: it would leave quarantine otherwise.
DELETE_FLAGS = """
    DELETE FROM ricordo.flags
    WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])
      AND NOT (subject = 'fact' AND subject_id IN (SELECT fact_id FROM ricordo.facts WHERE owner = %(owner)s))
"""

"""Every statement about topics, blocks and traces, by name. Each one names the owner, as in `statements`."""

from ricordo.stores.derived_rows import BLOCK_COLUMNS, TOPIC_COLUMNS
from ricordo.stores.postgres.statements import values_of

_TRACE_COLUMNS = "session_id, turn_number, embedder, checksum, body"


def _overwritten(columns: str, *, key: str) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in columns.split(", ") if name != key)


# -- topics ------------------------------------------------------------------------------------------------------

# How far the shelf has come, and the topics on it, as they are at one moment: a row without a topic if there is none.
SHELF = f"""
    SELECT s.topics_through, s.topics_revision, {", ".join(f"t.{name}" for name in TOPIC_COLUMNS.split(", "))}
    FROM ricordo.sessions AS s
    LEFT JOIN ricordo.topics AS t ON t.owner = %(owner)s AND t.session_id = s.session_id
    WHERE s.owner = %(owner)s AND s.session_id = %(session_id)s
    ORDER BY t.created_at, t.topic_id
"""

# Nobody else has written the shelf since it was read, or this changes no row; and it holds the session.
MOVE_SHELF = """
    UPDATE ricordo.sessions SET
        topics_revision = topics_revision + 1,
        topics_through = coalesce(%(through)s::bigint, topics_through)
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND topics_revision = %(revision)s
    RETURNING topics_revision
"""

TOUCH_SHELF = """
    UPDATE ricordo.sessions SET topics_revision = topics_revision + 1
    WHERE owner = %(owner)s AND session_id = %(session_id)s
"""

PUT_TOPIC = f"""
    INSERT INTO ricordo.topics (owner, session_id, {TOPIC_COLUMNS})
    VALUES (%(owner)s, %(session_id)s, {values_of(TOPIC_COLUMNS)})
    ON CONFLICT (owner, session_id, topic_id) DO UPDATE SET {_overwritten(TOPIC_COLUMNS, key="topic_id")}
"""

REMOVE_TOPICS = """
    DELETE FROM ricordo.topics
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND topic_id = ANY(%(topic_ids)s::text[])
"""

ASSIGN_TURNS = """
    UPDATE ricordo.turns AS t SET topic_id = assigned.topic_id
    FROM unnest(%(numbers)s::bigint[], %(topic_ids)s::text[]) AS assigned (turn_number, topic_id)
    WHERE t.owner = %(owner)s AND t.session_id = %(session_id)s AND t.turn_number = assigned.turn_number
"""

UNASSIGN_TURNS = """
    UPDATE ricordo.turns SET topic_id = NULL
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND topic_id = ANY(%(topic_ids)s::text[])
"""

TURNS_OF_TOPIC = """
    SELECT turn_number FROM ricordo.turns
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND topic_id = %(topic_id)s
    ORDER BY turn_number
"""

TOPICS_WITH_TURNS = """
    SELECT topic_id FROM unnest(%(topic_ids)s::text[]) AS asked (topic_id)
    WHERE EXISTS (
        SELECT FROM ricordo.turns AS t
        WHERE t.owner = %(owner)s AND t.session_id = %(session_id)s AND t.topic_id = asked.topic_id)
"""

# -- archive -----------------------------------------------------------------------------------------------------

KEEP_BLOCK = f"""
    INSERT INTO ricordo.blocks (owner, session_id, {BLOCK_COLUMNS})
    VALUES (%(owner)s, %(session_id)s, {values_of(BLOCK_COLUMNS)})
"""

REWRITE_BLOCK = """
    UPDATE ricordo.blocks SET turn_numbers = %(turn_numbers)s, body = %(body)s
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND block_id = %(block_id)s
"""

REMOVE_BLOCK = """
    DELETE FROM ricordo.blocks
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND block_id = %(block_id)s
"""

BLOCKS = f"""
    SELECT {BLOCK_COLUMNS} FROM ricordo.blocks
    WHERE owner = %(owner)s AND session_id = %(session_id)s
      AND (%(topic_id)s::text IS NULL OR topic_id = %(topic_id)s::text)
    ORDER BY created_at, block_id
"""

BLOCKS_BY_ID = f"""
    SELECT {BLOCK_COLUMNS} FROM ricordo.blocks
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND block_id = ANY(%(block_ids)s::text[])
"""

TURNS_IN_BLOCKS = """
    SELECT block_id, turn_id, turn_number FROM ricordo.turns
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND turn_number = ANY(%(numbers)s::bigint[])
      AND block_id IS NOT NULL
"""

# The words go, everything else of the row stays. Whether they may is decided before.
ARCHIVE_TURNS = """
    UPDATE ricordo.turns SET query = NULL, response = NULL, details = NULL, block_id = %(block_id)s
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND turn_number = ANY(%(numbers)s::bigint[])
"""

REHYDRATE_TURN = """
    UPDATE ricordo.turns SET query = %(query)s, response = %(response)s, details = %(details)s
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND turn_number = %(turn_number)s
"""

# The words are here, and in no block.
LEAVE_BLOCK = """
    UPDATE ricordo.turns SET query = %(query)s, block_id = NULL
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND turn_number = %(turn_number)s
"""

# The block goes: what is plain may be packed again, what is not stays marked as damaged.
LOSE_BLOCK = """
    UPDATE ricordo.turns SET block_id = NULL
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND turn_number = ANY(%(numbers)s::bigint[])
      AND block_id = %(block_id)s AND (query IS NOT NULL OR response IS NOT NULL OR details IS NOT NULL)
"""

# -- traces ------------------------------------------------------------------------------------------------------

MARKS = """
    SELECT session_id, revision, last_turn, turn_count FROM ricordo.sessions WHERE owner = %(owner)s
"""

TRACES = f"""
    SELECT {_TRACE_COLUMNS} FROM ricordo.traces
    WHERE owner = %(owner)s AND embedder = %(embedder)s
      AND (session_id, turn_number) > (%(session_id)s::text, %(turn_number)s)
    ORDER BY session_id, turn_number LIMIT %(limit)s
"""

TRACES_OF_SESSION = f"""
    SELECT {_TRACE_COLUMNS} FROM ricordo.traces
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND embedder = %(embedder)s
      AND turn_number > %(turn_number)s
    ORDER BY turn_number LIMIT %(limit)s
"""

# Held against those who forget, not against those who write: a trace changes nothing of its session.
HOLD_SESSIONS = """
    SELECT session_id FROM ricordo.sessions
    WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[]) ORDER BY session_id FOR KEY SHARE
"""

KEEP_TRACE = f"""
    INSERT INTO ricordo.traces (owner, {_TRACE_COLUMNS})
    SELECT %(owner)s, {values_of(_TRACE_COLUMNS)}
    WHERE EXISTS (
        SELECT FROM ricordo.turns
        WHERE owner = %(owner)s AND session_id = %(session_id)s AND turn_number = %(turn_number)s)
    ON CONFLICT (owner, session_id, turn_number, embedder)
        DO UPDATE SET checksum = excluded.checksum, body = excluded.body
"""

REMOVE_OTHER_TRACES = "DELETE FROM ricordo.traces WHERE owner = %(owner)s AND embedder <> %(keep)s"

# -- forgetting --------------------------------------------------------------------------------------------------

DELETE_TRACES = """
    DELETE FROM ricordo.traces WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])
"""

DELETE_TOPICS = """
    DELETE FROM ricordo.topics WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])
"""

DELETE_BLOCKS = """
    DELETE FROM ricordo.blocks WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])
"""

ERASE_TRACES = "DELETE FROM ricordo.traces WHERE owner = %(owner)s"
ERASE_TOPICS = "DELETE FROM ricordo.topics WHERE owner = %(owner)s"
ERASE_BLOCKS = "DELETE FROM ricordo.blocks WHERE owner = %(owner)s"

"""The statements about topics, archive blocks and the vectors of turns, by name. Each one names the owner first."""

from ricordo.stores.derived_rows import BLOCK_COLUMNS, TOPIC_COLUMNS
from ricordo.stores.sqlite.turn_statements import ARCHIVED, COUNTED
from ricordo.stores.turn_rows import TURN_COLUMNS

# ── topics and archive ───────────────────────────────────────────────────────────────────────────────

SHELF = "SELECT topics_through, topics_revision FROM sessions WHERE owner = ? AND session_id = ?"

TOPICS = f"""
SELECT {TOPIC_COLUMNS} FROM topics WHERE owner = ? AND session_id = ? ORDER BY created_at, topic_id
"""

# If the shelf was written since it was read, this changes no row.
MOVE_SHELF = """
UPDATE sessions
SET topics_revision = topics_revision + 1, topics_through = coalesce(?, topics_through)
WHERE owner = ? AND session_id = ? AND topics_revision = ?
"""

TOUCH_SHELF = "UPDATE sessions SET topics_revision = topics_revision + 1 WHERE owner = ? AND session_id = ?"

# In its place, not as a new row at the end of the table: every turn changes its topic.
PUT_TOPIC = f"""
INSERT INTO topics (owner, session_id, {TOPIC_COLUMNS}) VALUES (?, ?{", ?" * 15})
ON CONFLICT (owner, session_id, topic_id) DO UPDATE
SET {", ".join(f"{name} = excluded.{name}" for name in TOPIC_COLUMNS.split(", ")[1:])}
"""

DROP_TOPIC = "DELETE FROM topics WHERE owner = ? AND session_id = ? AND topic_id = ?"

TOPIC = f"SELECT {TOPIC_COLUMNS} FROM topics WHERE owner = ? AND session_id = ? AND topic_id = ?"

ASSIGN_TURN = "UPDATE turns SET topic_id = ? WHERE owner = ? AND session_id = ? AND turn_number = ?"

UNASSIGN_TURNS = "UPDATE turns SET topic_id = NULL WHERE owner = ? AND session_id = ? AND topic_id = ?"

TURNS_OF_TOPIC = """
SELECT turn_number FROM turns WHERE owner = ? AND session_id = ? AND topic_id = ? ORDER BY turn_number
"""

ANY_TURN_OF_TOPIC = "SELECT 1 FROM turns WHERE owner = ? AND session_id = ? AND topic_id = ? LIMIT 1"

COUNT_TOPIC = f"""
SELECT total({COUNTED}), total(({COUNTED}) * {ARCHIVED})
FROM turns WHERE owner = ? AND session_id = ? AND topic_id = ?
"""

TURNS_NUMBERED = f"""
SELECT {TURN_COLUMNS} FROM turns
WHERE owner = ? AND session_id = ? AND turn_number IN (SELECT value FROM json_each(?))
ORDER BY turn_number
"""

ADD_BLOCK = f"""
INSERT INTO blocks (owner, session_id, {BLOCK_COLUMNS}) VALUES (?, ?{", ?" * 5})
"""

SET_BLOCK = "UPDATE blocks SET turn_numbers = ?, body = ? WHERE owner = ? AND session_id = ? AND block_id = ?"

DROP_BLOCK = "DELETE FROM blocks WHERE owner = ? AND session_id = ? AND block_id = ?"

BLOCKS = f"""
SELECT {BLOCK_COLUMNS} FROM blocks
WHERE owner = :owner AND session_id = :session_id AND (:topic_id IS NULL OR topic_id = :topic_id)
ORDER BY created_at, block_id
"""

BLOCK = f"SELECT {BLOCK_COLUMNS} FROM blocks WHERE owner = ? AND session_id = ? AND block_id = ?"

BLOCK_BODIES = """
SELECT block_id, body FROM blocks
WHERE owner = ? AND session_id = ? AND block_id IN (SELECT value FROM json_each(?))
"""

# Which turns are still in a block, found by the numbers that it names.
TURNS_IN_BLOCK = """
SELECT turn_id, turn_number FROM turns
WHERE owner = ? AND session_id = ? AND turn_number IN (SELECT value FROM json_each(?)) AND block_id = ?
"""

# The words go, everything else of the row stays. Whether they may is decided before.
ARCHIVE_TURNS = """
UPDATE turns SET query = NULL, response = NULL, details = NULL, block_id = ?
WHERE owner = ? AND session_id = ? AND turn_number IN (SELECT value FROM json_each(?))
"""

REHYDRATE_TURN = """
UPDATE turns SET query = ?, response = ?, details = ?
WHERE owner = ? AND session_id = ? AND turn_number = ?
"""

# The words are here and in no block.
LEAVE_BLOCK = """
UPDATE turns SET query = ?, block_id = NULL WHERE owner = ? AND session_id = ? AND turn_number = ?
"""

# The block is lost: what is plain may be packed again, what is not stays marked as damaged.
LOSE_BLOCK = """
UPDATE turns SET block_id = NULL
WHERE owner = ? AND session_id = ? AND turn_number IN (SELECT value FROM json_each(?)) AND block_id = ?
  AND (query IS NOT NULL OR response IS NOT NULL OR details IS NOT NULL)
"""

# ── vectors ──────────────────────────────────────────────────────────────────────────────────────────

TRACES = """
SELECT session_id, pack, body FROM traces WHERE owner = ? AND embedder = ? ORDER BY session_id, pack
"""

TRACES_OF_SESSION = """
SELECT session_id, pack, body FROM traces
WHERE owner = ? AND embedder = ? AND session_id = ? ORDER BY pack
"""

NUMBERS_THERE = """
SELECT turn_number FROM turns
WHERE owner = ? AND session_id = ? AND turn_number IN (SELECT value FROM json_each(?))
"""

TRACE_PACK = "SELECT body FROM traces WHERE owner = ? AND session_id = ? AND pack = ? AND embedder = ?"

TRACE_PACKS = """
SELECT pack, embedder, body FROM traces
WHERE owner = ? AND session_id = ? AND pack IN (SELECT value FROM json_each(?))
"""

PUT_TRACE_PACK = """
INSERT OR REPLACE INTO traces (owner, session_id, pack, embedder, held, body) VALUES (?, ?, ?, ?, ?, ?)
"""

DROP_TRACE_PACK = "DELETE FROM traces WHERE owner = ? AND session_id = ? AND pack = ? AND embedder = ?"

DROP_OTHER_TRACES = "DELETE FROM traces WHERE owner = ? AND embedder IS NOT ? RETURNING held"

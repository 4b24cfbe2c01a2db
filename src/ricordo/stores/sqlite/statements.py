"""Every statement of the SQLite store, by name. Each one that touches a user's data names the owner first."""

from ricordo.stores.derived_rows import BLOCK_COLUMNS, TOPIC_COLUMNS
from ricordo.stores.turn_rows import SESSION_COLUMNS, TURN_COLUMNS

# ── reading ──────────────────────────────────────────────────────────────────────────────────────────

TURN_BY_ID = f"SELECT {TURN_COLUMNS} FROM turns WHERE owner = ? AND turn_id = ?"

TURNS_BY_ID = f"""
SELECT {TURN_COLUMNS} FROM turns WHERE owner = ? AND turn_id IN (SELECT value FROM json_each(?))
"""

TURN_BY_NUMBER = f"SELECT {TURN_COLUMNS} FROM turns WHERE owner = ? AND session_id = ? AND turn_number = ?"

TURNS_NUMBERED = f"""
SELECT {TURN_COLUMNS} FROM turns
WHERE owner = ? AND session_id = ? AND turn_number IN (SELECT value FROM json_each(?))
ORDER BY turn_number
"""

# Newest first, so that the limit stops the walk; LIMIT -1 is no limit.
TURNS = f"""
SELECT {TURN_COLUMNS} FROM turns
WHERE owner = ? AND session_id = ? AND turn_number > ? AND turn_number < ?
ORDER BY turn_number DESC LIMIT ?
"""

TURN_NUMBERS = "SELECT turn_number FROM turns WHERE owner = ? AND session_id = ?"

SESSION = f"SELECT {SESSION_COLUMNS} FROM sessions WHERE owner = ? AND session_id = ?"

LAST_TURN_OF_SESSION = "SELECT last_turn FROM sessions WHERE owner = ? AND session_id = ?"

SESSIONS = f"""
SELECT {SESSION_COLUMNS} FROM sessions
WHERE owner = :owner AND (last_active_at, session_id) < (:active, :session_id)
  AND (:agent_id IS NULL OR agent_id = :agent_id)
ORDER BY last_active_at DESC, session_id DESC LIMIT :limit
"""

OWNERS = """
SELECT owner, user_id FROM owners
WHERE tenant_id = ? AND owner > ?
  AND (EXISTS (SELECT 1 FROM sessions WHERE sessions.owner = owners.owner)
       OR EXISTS (SELECT 1 FROM facts WHERE facts.owner = owners.owner))
ORDER BY owner LIMIT ?
"""

# In a file that serves, an owner may have documents and nothing else.
OWNERS_SERVED = OWNERS.replace(
    "))\nORDER", ")\n       OR EXISTS (SELECT 1 FROM documents WHERE documents.owner = owners.owner))\nORDER"
)

RECEIPTS = """
SELECT turn_number, body FROM receipts
WHERE owner = :owner AND session_id = :session_id AND (:turn_number IS NULL OR turn_number = :turn_number)
ORDER BY turn_number DESC LIMIT :limit
"""

# Whatever text in the receipt's body is the digest of a passage names that passage.
PASSAGES_NAMED_BY = """
SELECT digest, body FROM passages
WHERE owner = ? AND session_id = ?
  AND digest IN (SELECT atom FROM json_tree(?) WHERE type = 'text')
"""

STATS = """
WITH mine AS (SELECT owner FROM owners WHERE tenant_id = :tenant_id)
SELECT
    (SELECT count(DISTINCT owner) FROM sessions WHERE owner IN mine),
    (SELECT count(*) FROM sessions WHERE owner IN mine),
    (SELECT count(*) FROM turns WHERE owner IN mine),
    (SELECT count(*) FROM turns WHERE owner IN mine AND query IS NOT NULL AND response IS NULL),
    (SELECT count(*) FROM receipts WHERE owner IN mine)
"""

# ── writing ──────────────────────────────────────────────────────────────────────────────────────────

# The counter row is the only source of turn numbers. It is read and raised inside one write transaction, so nobody
# comes between; two plain statements are quicker than one with RETURNING.
COUNT_TURN = """
UPDATE sessions
SET last_turn = last_turn + 1, turn_count = turn_count + 1, revision = revision + 1,
    in_order = in_order AND ? >= last_active_at, last_active_at = max(last_active_at, ?), ended_at = NULL
WHERE owner = ? AND session_id = ?
"""

COUNT_TURN_AFTER = f"{COUNT_TURN.rstrip()} AND last_turn = ?"

ADD_OWNER = "INSERT INTO owners (owner, tenant_id, user_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

ADD_SESSION = f"""
INSERT INTO sessions (owner, {SESSION_COLUMNS}) VALUES (?{", ?" * 12})
"""

# The session of a first turn, which counts it already; nothing happens to one that is there.
OPEN_SESSION = """
INSERT INTO sessions (owner, session_id, agent_id, created_at, last_active_at, last_turn, turn_count, revision)
VALUES (?, ?, ?, ?, ?, 1, 1, 1) ON CONFLICT DO NOTHING
"""

ADD_TURN = f"""
INSERT INTO turns (owner, {TURN_COLUMNS}) VALUES (?{", ?" * 18})
"""

# What an answer or a step may change; identity, number, question and date never do.
CHANGE_TURN = """
UPDATE turns
SET answered_at = ?, response = ?, response_tokens = ?, chunk_ids = ?, metadata = ?, details = ?, checksum = ?
WHERE owner = ? AND session_id = ? AND turn_number = ?
"""

TOUCH_SESSION = """
UPDATE sessions
SET revision = revision + 1, last_active_at = max(last_active_at, ?), ended_at = NULL
WHERE owner = ? AND session_id = ?
"""

SET_SESSION = """
UPDATE sessions
SET agent_id = ?, created_at = ?, last_active_at = ?, last_turn = ?, turn_count = ?, revision = ?,
    title = ?, document_ids = ?, tags = ?, metadata = ?, ended_at = ?
WHERE owner = ? AND session_id = ?
"""

OUT_OF_ORDER = "UPDATE sessions SET in_order = 0 WHERE owner = ? AND session_id = ?"

FIND_ORDER = """
UPDATE sessions SET in_order = NOT EXISTS (
    SELECT 1 FROM (
        SELECT created_at < lag(created_at) OVER (ORDER BY turn_number) AS earlier
        FROM turns WHERE owner = :owner AND session_id = :session_id
    ) WHERE earlier
)
WHERE owner = :owner AND session_id = :session_id
"""

WRONGLY_IN_ORDER = """
SELECT DISTINCT user_id, session_id FROM (
    SELECT owner, session_id, created_at < lag(created_at) OVER (PARTITION BY owner, session_id ORDER BY turn_number)
    AS earlier FROM turns
) JOIN sessions USING (owner, session_id) JOIN owners USING (owner)
WHERE earlier AND in_order
"""

KEEP_RECEIPT = """
INSERT INTO receipts (owner, session_id, turn_number, body) VALUES (?, ?, ?, ?)
ON CONFLICT (owner, session_id, turn_number) DO UPDATE SET body = excluded.body
"""

KEEP_PASSAGE = """
INSERT INTO passages (owner, session_id, digest, last_turn, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (owner, session_id, digest) DO UPDATE SET last_turn = max(last_turn, excluded.last_turn)
"""

# ── forgetting ───────────────────────────────────────────────────────────────────────────────────────

DROP_RECEIPTS = "DELETE FROM receipts WHERE owner = ? AND session_id = ?"
DROP_PASSAGES = "DELETE FROM passages WHERE owner = ? AND session_id = ?"
DROP_TRACES = "DELETE FROM traces WHERE owner = ? AND session_id = ?"
DROP_TOPICS = "DELETE FROM topics WHERE owner = ? AND session_id = ?"
DROP_BLOCKS = "DELETE FROM blocks WHERE owner = ? AND session_id = ?"
DROP_TURNS = "DELETE FROM turns WHERE owner = ? AND session_id = ?"
DROP_SESSION = "DELETE FROM sessions WHERE owner = ? AND session_id = ?"

CLEAR_SESSION = """
UPDATE sessions
SET last_turn = 0, turn_count = 0, revision = revision + 1, topics_through = 0, topics_revision = topics_revision + 1,
    learned_through = 0, in_order = 1
WHERE owner = ? AND session_id = ?
"""

IDLE_SESSIONS = """
SELECT session_id, turn_count FROM sessions
WHERE owner = ? AND last_active_at < ?
ORDER BY last_active_at LIMIT ?
"""

# How many messages of a turn its topic counts; of an archived question the row keeps the tokens alone.
# (typeof, because SQLite 3.40 takes `IS NULL` for false in the RETURNING of a DELETE.)
_COUNTED = "(typeof(query) <> 'null' OR query_tokens > 0) + (typeof(answered_at) <> 'null')"
_ARCHIVED = "(typeof(query) = 'null' AND typeof(response) = 'null' AND typeof(details) = 'null')"

# What a removed turn leaves behind for its session, topic and block to be told.
_GONE = f"session_id, turn_number, topic_id, block_id, {_ARCHIVED}, {_COUNTED}"

DROP_OLDEST_TURNS = f"""
DELETE FROM turns WHERE rowid IN (
    SELECT rowid FROM turns WHERE owner = ? AND session_id = ? ORDER BY turn_number LIMIT ?
)
RETURNING {_GONE}
"""

# In a session whose turns are in the order of their dates, the first one tells whether any is too old. Sessions that
# are idle go whole and are not looked at.
AGED_SESSIONS = """
SELECT session_id, in_order FROM sessions AS mine
WHERE owner = :owner AND last_active_at >= :idle_before AND CASE in_order
    WHEN 1 THEN (
        SELECT created_at FROM turns
        WHERE owner = :owner AND session_id = mine.session_id ORDER BY turn_number LIMIT 1
    ) < :turns_before
    ELSE EXISTS (
        SELECT 1 FROM turns WHERE owner = :owner AND session_id = mine.session_id AND created_at < :turns_before
    ) END
LIMIT :room
"""

FIRST_TURNS = """
SELECT turn_number, created_at FROM turns WHERE owner = ? AND session_id = ? ORDER BY turn_number LIMIT ?
"""

AGED_TURNS = """
SELECT turn_number, created_at FROM turns
WHERE owner = ? AND session_id = ? AND created_at < ? ORDER BY turn_number LIMIT ?
"""

DROP_AGED_TURNS = f"""
DELETE FROM turns
WHERE owner = ? AND session_id = ? AND turn_number IN (SELECT value FROM json_each(?)) AND created_at < ?
RETURNING {_GONE}
"""

DROP_NUMBERED_TURNS = f"""
DELETE FROM turns
WHERE owner = ? AND session_id = ? AND turn_number IN (SELECT value FROM json_each(?))
RETURNING {_GONE}
"""

LESSEN_SESSION = """
UPDATE sessions SET turn_count = turn_count - ?, revision = revision + 1
WHERE owner = ? AND session_id = ?
RETURNING turn_count
"""

# A passage serves the turns up to its last one; when all of those are gone, so is the passage.
DROP_UNUSED_PASSAGES = """
DELETE FROM passages
WHERE owner = :owner AND session_id = :session_id AND last_turn < coalesce(
    (SELECT min(turn_number) FROM turns WHERE owner = :owner AND session_id = :session_id), 9223372036854775807
)
"""

ERASE = {
    "blocks": "DELETE FROM blocks WHERE owner = ?",
    "topics": "DELETE FROM topics WHERE owner = ?",
    "receipts": "DELETE FROM receipts WHERE owner = ?",
    "passages": "DELETE FROM passages WHERE owner = ?",
    "turns": "DELETE FROM turns WHERE owner = ?",
    "sessions": "DELETE FROM sessions WHERE owner = ?",
    "owners": "DELETE FROM owners WHERE owner = ?",
}

# ── topics and archive ───────────────────────────────────────────────────────────────────────────────

SHELF = "SELECT topics_through, topics_revision FROM sessions WHERE owner = ? AND session_id = ?"

TOPICS = f"""
SELECT {TOPIC_COLUMNS} FROM topics WHERE owner = ? AND session_id = ? ORDER BY created_at, topic_id
"""

# Nobody else has written the shelf since it was read, or this changes no row.
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
SELECT total({_COUNTED}), total(({_COUNTED}) * {_ARCHIVED})
FROM turns WHERE owner = ? AND session_id = ? AND topic_id = ?
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

# ── traces ───────────────────────────────────────────────────────────────────────────────────────────

MARKS = "SELECT session_id, revision, last_turn, turn_count FROM sessions WHERE owner = ?"

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

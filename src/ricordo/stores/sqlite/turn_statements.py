"""The statements about owners, sessions, turns and receipts, by name. Each one on user data names the owner first."""

from collections.abc import Sequence
from functools import cache

from ricordo.stores.turn_rows import ENDLESS, SESSION_ROWS, TURN_COLUMNS

# The turns of a session with these numbers, which are a JSON list.
NUMBERED = "owner = ? AND session_id = ? AND turn_number IN (SELECT value FROM json_each(?))"

# ── reading ──────────────────────────────────────────────────────────────────────────────────────────

TURN_BY_ID = f"SELECT {TURN_COLUMNS} FROM turns WHERE owner = ? AND turn_id = ?"

TURNS_BY_ID = f"""
SELECT {TURN_COLUMNS} FROM turns WHERE owner = ? AND turn_id IN (SELECT value FROM json_each(?))
"""

TURN_BY_NUMBER = f"SELECT {TURN_COLUMNS} FROM turns WHERE owner = ? AND session_id = ? AND turn_number = ?"

# Newest first, so that the limit stops the walk; LIMIT -1 is no limit.
TURNS = f"""
SELECT {TURN_COLUMNS} FROM turns
WHERE owner = ? AND session_id = ? AND turn_number > ? AND turn_number < ?
ORDER BY turn_number DESC LIMIT ?
"""

TURN_NUMBERS = "SELECT turn_number FROM turns WHERE owner = ? AND session_id = ?"

SESSION = f"SELECT {SESSION_ROWS.columns} FROM sessions WHERE owner = ? AND session_id = ?"

LAST_TURN_OF_SESSION = "SELECT last_turn FROM sessions WHERE owner = ? AND session_id = ?"

SESSIONS = f"""
SELECT {SESSION_ROWS.columns} FROM sessions
WHERE owner = :owner AND (last_active_at, session_id) < (:active, :session_id)
  AND (:agent_id IS NULL OR agent_id = :agent_id)
  AND (:tag IS NULL OR tags IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
ORDER BY last_active_at DESC, session_id DESC LIMIT :limit
"""

MARKS = "SELECT session_id, revision, last_turn, turn_count FROM sessions WHERE owner = ?"


def owners_in(tables: Sequence[str]) -> str:
    """A page of the owners of a tenant who have a row in one of the tables."""
    any_row = " OR ".join(f"EXISTS (SELECT 1 FROM {name} WHERE {name}.owner = owners.owner)" for name in tables)
    return f"SELECT owner, user_id FROM owners WHERE tenant_id = ? AND owner > ? AND ({any_row}) ORDER BY owner LIMIT ?"


RECEIPTS = """
SELECT turn_number, body FROM receipts
WHERE owner = :owner AND session_id = :session_id AND (:turn_number IS NULL OR turn_number = :turn_number)
ORDER BY turn_number DESC LIMIT :limit
"""

DIGESTS = "SELECT number, digest FROM passages WHERE owner = ? AND number IN (SELECT value FROM json_each(?))"

# Whatever text in the receipt's body is the digest of a passage of its session names that passage.
PASSAGES_NAMED_BY = """
SELECT digest, body FROM passages JOIN passage_uses USING (owner, number)
WHERE owner = ? AND session_id = ?
  AND digest IN (SELECT atom FROM json_tree(?) WHERE type = 'text')
"""

WRONGLY_COUNTED = """
SELECT user_id, count(*) FROM passages JOIN owners USING (owner) LEFT JOIN (
    SELECT owner, number, count(*) AS counted FROM passage_uses GROUP BY owner, number
) USING (owner, number)
WHERE sessions <> coalesce(counted, 0) GROUP BY user_id
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

# The counter row is the only source of turn numbers. It is read and raised inside one write transaction, so no
# other writer comes between; two plain statements are quicker than one with RETURNING.
COUNT_TURN = """
UPDATE sessions
SET last_turn = last_turn + 1, turn_count = turn_count + 1, revision = revision + 1,
    in_order = in_order AND ? >= last_active_at, last_active_at = max(last_active_at, ?), ended_at = NULL
WHERE owner = ? AND session_id = ?
"""

COUNT_TURN_AFTER = f"{COUNT_TURN.rstrip()} AND last_turn = ?"

# Several turns at once: whether they are in order among themselves, their earliest date, and their last word.
COUNT_TURNS_AFTER = """
UPDATE sessions
SET last_turn = last_turn + ?, turn_count = turn_count + ?, revision = revision + ?,
    in_order = in_order AND ? AND ? >= last_active_at, last_active_at = max(last_active_at, ?), ended_at = NULL
WHERE owner = ? AND session_id = ? AND last_turn = ?
"""

ADD_OWNER = "INSERT INTO owners (owner, tenant_id, user_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

ADD_SESSION = f"INSERT INTO sessions {SESSION_ROWS.by_place()}"

# The session of a first turn, which counts it already; nothing happens to one that is there.
OPEN_SESSION = """
INSERT INTO sessions (owner, session_id, agent_id, created_at, last_active_at, last_turn, turn_count, revision)
VALUES (?, ?, ?, ?, ?, 1, 1, 1) ON CONFLICT DO NOTHING
"""

ADD_TURN = f"""
INSERT INTO turns (owner, {TURN_COLUMNS}) VALUES (?{", ?" * 18})
"""

MOST_ROWS = 64


@cache
def add_turns(count: int) -> str:
    """ADD_TURN for several turns."""
    head, _, row = ADD_TURN.rstrip().partition(" VALUES ")
    return f"{head} VALUES {', '.join([row] * count)}"


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

NUMBERS = "SELECT digest, number FROM passages WHERE owner = ? AND digest IN (SELECT value FROM json_each(?))"

ADD_PASSAGE = """
INSERT INTO passages (owner, number, digest, sessions, body)
SELECT :owner, coalesce(max(number), 0) + 1, :digest, 0, :body FROM passages WHERE owner = :owner
RETURNING number
"""

USE_PASSAGES = """
UPDATE passage_uses SET last_turn = max(last_turn, ?)
WHERE owner = ? AND session_id = ? AND number IN (SELECT value FROM json_each(?))
"""

ADD_USE = "INSERT INTO passage_uses (last_turn, owner, session_id, number) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"

COUNT_USE = "UPDATE passages SET sessions = sessions + 1 WHERE owner = ? AND number = ?"

# ── forgetting ───────────────────────────────────────────────────────────────────────────────────────

DROP_RECEIPTS = "DELETE FROM receipts WHERE owner = ? AND session_id = ?"
DROP_USES = "DELETE FROM passage_uses WHERE owner = ? AND session_id = ? RETURNING number"
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

# Users with an idle session; all users with a session if turns may have expired, because no index has their times.
DUE_OWNERS = f"""
SELECT user_id FROM owners
WHERE tenant_id = ?1
  AND EXISTS (SELECT 1 FROM sessions
              WHERE sessions.owner = owners.owner AND (?2 > -{ENDLESS} OR sessions.last_active_at < ?3))
"""

IDLE_SESSIONS = """
SELECT session_id, turn_count FROM sessions
WHERE owner = ? AND last_active_at < ?
ORDER BY last_active_at LIMIT ?
"""

# How many messages of a turn its topic counts; of an archived question the row keeps the tokens alone.
# (typeof, because SQLite 3.40 takes `IS NULL` for false in the RETURNING of a DELETE.)
COUNTED = "(typeof(query) <> 'null' OR query_tokens > 0) + (typeof(answered_at) <> 'null')"
ARCHIVED = "(typeof(query) = 'null' AND typeof(response) = 'null' AND typeof(details) = 'null')"

# What session, topic and block need to know of a deleted turn.
_GONE = f"session_id, turn_number, topic_id, block_id, {ARCHIVED}, {COUNTED}"

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

DROP_AGED_TURNS = f"DELETE FROM turns WHERE {NUMBERED} AND created_at < ? RETURNING {_GONE}"

DROP_NUMBERED_TURNS = f"DELETE FROM turns WHERE {NUMBERED} RETURNING {_GONE}"

LESSEN_SESSION = """
UPDATE sessions SET turn_count = turn_count - ?, revision = revision + 1
WHERE owner = ? AND session_id = ?
RETURNING turn_count
"""

# A passage serves the turns up to its last one; when all of those are gone, the session needs it no more.
DROP_OLD_USES = """
DELETE FROM passage_uses
WHERE owner = :owner AND session_id = :session_id AND last_turn < coalesce(
    (SELECT min(turn_number) FROM turns WHERE owner = :owner AND session_id = :session_id), 9223372036854775807
)
RETURNING number
"""

UNCOUNT_USES = """
UPDATE passages SET sessions = max(sessions - 1, 0)
WHERE owner = ? AND number IN (SELECT value FROM json_each(?))
"""

DROP_UNUSED_PASSAGES = """
DELETE FROM passages WHERE owner = ? AND number IN (SELECT value FROM json_each(?)) AND sessions = 0
"""

"""Every statement of the SQLite store, by name. Each one that touches a user's data names the owner first."""

from ricordo.stores.rows import SESSION_COLUMNS, TURN_COLUMNS

# ── reading ──────────────────────────────────────────────────────────────────────────────────────────

TURN_BY_ID = f"SELECT {TURN_COLUMNS} FROM turns WHERE owner = ? AND turn_id = ?"

TURN_BY_NUMBER = f"SELECT {TURN_COLUMNS} FROM turns WHERE owner = ? AND session_id = ? AND turn_number = ?"

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
  AND EXISTS (SELECT 1 FROM sessions WHERE sessions.owner = owners.owner)
ORDER BY owner LIMIT ?
"""

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
    last_active_at = max(last_active_at, ?), ended_at = NULL
WHERE owner = ? AND session_id = ?
"""

ADD_OWNER = "INSERT INTO owners (owner, tenant_id, user_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

ADD_SESSION = f"""
INSERT INTO sessions (owner, {SESSION_COLUMNS}) VALUES (?{", ?" * 12})
"""

ADD_TURN = f"""
INSERT INTO turns (owner, {TURN_COLUMNS}) VALUES (?{", ?" * 16})
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
DROP_TURNS = "DELETE FROM turns WHERE owner = ? AND session_id = ?"
DROP_SESSION = "DELETE FROM sessions WHERE owner = ? AND session_id = ?"

CLEAR_SESSION = """
UPDATE sessions SET last_turn = 0, turn_count = 0, revision = revision + 1
WHERE owner = ? AND session_id = ?
"""

IDLE_SESSIONS = """
SELECT session_id, turn_count FROM sessions
WHERE owner = ? AND last_active_at < ?
ORDER BY last_active_at LIMIT ?
"""

DROP_OLDEST_TURNS = """
DELETE FROM turns WHERE rowid IN (
    SELECT rowid FROM turns WHERE owner = ? AND session_id = ? ORDER BY turn_number LIMIT ?
)
"""

DROP_AGED_TURNS = """
DELETE FROM turns WHERE rowid IN (
    SELECT rowid FROM turns WHERE owner = ? AND created_at < ? ORDER BY created_at LIMIT ?
)
RETURNING session_id
"""

LESSEN_SESSION = """
UPDATE sessions SET turn_count = turn_count - ?, revision = revision + 1
WHERE owner = ? AND session_id = ?
RETURNING turn_count
"""

# A passage serves the turns up to its last one; when all of those are gone, so is the passage.
DROP_UNUSED_PASSAGES = """
DELETE FROM passages
WHERE owner = :owner AND session_id = :session_id AND last_turn < (
    SELECT min(turn_number) FROM turns WHERE owner = :owner AND session_id = :session_id
)
"""

ANYTHING_EXPIRED = """
SELECT EXISTS (SELECT 1 FROM sessions WHERE owner = :owner AND last_active_at < :idle_before)
    OR EXISTS (SELECT 1 FROM turns WHERE owner = :owner AND created_at < :turns_before)
"""

ERASE = {
    "receipts": "DELETE FROM receipts WHERE owner = ?",
    "passages": "DELETE FROM passages WHERE owner = ?",
    "turns": "DELETE FROM turns WHERE owner = ?",
    "sessions": "DELETE FROM sessions WHERE owner = ?",
    "owners": "DELETE FROM owners WHERE owner = ?",
}

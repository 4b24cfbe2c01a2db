"""Every statement of the SQLite store about what is known of a person, by name. Each names the owner first."""

from ricordo.stores.derived_rows import FACT_COLUMNS, FLAG_COLUMNS, SUMMARY_COLUMNS

# ── facts ────────────────────────────────────────────────────────────────────────────────────────────

AGENTS = "SELECT DISTINCT agent_id FROM facts WHERE owner = ? ORDER BY agent_id"

REVISION = "SELECT revision FROM people WHERE owner = ? AND agent_id = ?"

FACTS = f"SELECT {FACT_COLUMNS} FROM facts WHERE owner = ? AND agent_id = ? ORDER BY recorded_at, fact_id"

ALL_FACTS = f"SELECT {FACT_COLUMNS} FROM facts WHERE owner = ?"

TURNS_THERE = "SELECT turn_id FROM turns WHERE owner = ? AND turn_id IN (SELECT value FROM json_each(?))"

SESSIONS_THERE = "SELECT session_id FROM sessions WHERE owner = ? AND session_id IN (SELECT value FROM json_each(?))"

MOVE_PEOPLE = """
INSERT INTO people (owner, agent_id, revision) VALUES (?, ?, 1)
ON CONFLICT (owner, agent_id) DO UPDATE SET revision = revision + 1
"""

SET_PEOPLE = "INSERT INTO people (owner, agent_id, revision) VALUES (?, ?, ?)"

PUT_FACT = f"INSERT OR REPLACE INTO facts (owner, {FACT_COLUMNS}) VALUES (?{', ?' * 15})"

DROP_FACT = "DELETE FROM facts WHERE owner = ? AND agent_id = ? AND fact_id = ?"

LEARNED_THROUGH = "SELECT learned_through FROM sessions WHERE owner = ? AND session_id = ?"

MOVE_LEARNED = """
UPDATE sessions SET learned_through = max(learned_through, min(?, last_turn))
WHERE owner = ? AND session_id = ?
"""

# ── summaries ────────────────────────────────────────────────────────────────────────────────────────

SUMMARIES = f"""
SELECT {SUMMARY_COLUMNS} FROM summaries
WHERE owner = :owner AND (:session_id IS NULL OR session_id = :session_id)
  AND (:agent_id IS NULL OR agent_id = :agent_id) AND (:kind IS NULL OR kind = :kind)
ORDER BY created_at DESC, last_turn DESC, summary_id DESC LIMIT :limit
"""

SUMMARIES_OF_SESSION = f"""
SELECT {SUMMARY_COLUMNS} FROM summaries
WHERE owner = :owner AND session_id = :session_id
  AND (:agent_id IS NULL OR agent_id = :agent_id) AND (:kind IS NULL OR kind = :kind)
ORDER BY created_at DESC, last_turn DESC, summary_id DESC LIMIT :limit
"""

ADD_SUMMARY = f"INSERT INTO summaries (owner, {SUMMARY_COLUMNS}) VALUES (?{', ?' * 13}) ON CONFLICT DO NOTHING"

DROP_SUMMARY = "DELETE FROM summaries WHERE owner = ? AND summary_id = ?"

DROP_SUMMARIES = "DELETE FROM summaries WHERE owner = ? AND session_id = ?"

# ── flags ────────────────────────────────────────────────────────────────────────────────────────────

FLAGS = f"""
SELECT {FLAG_COLUMNS} FROM flags
WHERE owner = :owner AND (:state IS NULL OR state = :state)
ORDER BY created_at DESC, flag_id DESC LIMIT :limit
"""

ADD_FLAG = f"INSERT INTO flags (owner, {FLAG_COLUMNS}) VALUES (?{', ?' * 8}) ON CONFLICT DO NOTHING"

SET_FLAG = f"UPDATE flags SET state = ? WHERE owner = ? AND flag_id = ? RETURNING {FLAG_COLUMNS}"

DROP_FLAG = "DELETE FROM flags WHERE owner = ? AND subject = ? AND subject_id = ?"

DROP_FLAGS_ON_SUMMARIES = """
DELETE FROM flags
WHERE owner = :owner AND subject = 'summary'
  AND subject_id IN (SELECT summary_id FROM summaries WHERE owner = :owner AND session_id = :session_id)
"""

# A fact that stays keeps its flag, or it would come out of quarantine.
DROP_FLAGS = """
DELETE FROM flags
WHERE owner = :owner AND session_id = :session_id
  AND NOT (subject = 'fact' AND subject_id IN (SELECT fact_id FROM facts WHERE owner = :owner))
"""

# ── counting and erasing ─────────────────────────────────────────────────────────────────────────────

STATS = """
WITH mine AS (SELECT owner FROM owners WHERE tenant_id = :tenant_id)
SELECT
    (SELECT count(*) FROM facts WHERE owner IN mine),
    (SELECT count(*) FROM summaries WHERE owner IN mine),
    (SELECT count(*) FROM flags WHERE owner IN mine)
"""

ERASE = {
    "facts": "DELETE FROM facts WHERE owner = ?",
    "people": "DELETE FROM people WHERE owner = ?",
    "summaries": "DELETE FROM summaries WHERE owner = ?",
    "flags": "DELETE FROM flags WHERE owner = ?",
}

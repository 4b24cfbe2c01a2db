"""Every statement of the PostgreSQL store about what is known of a person, by name. Each names the owner."""

from ricordo.stores.derived_rows import FACT_COLUMNS, FLAG_COLUMNS, SUMMARY_COLUMNS
from ricordo.stores.postgres.statements import values_of

_FACT = ", ".join(f"f.{name}" for name in FACT_COLUMNS.split(", "))
_SET_FACT = ", ".join(f"{name} = excluded.{name}" for name in FACT_COLUMNS.split(", ")[2:])

# -- facts -------------------------------------------------------------------------------------------------------

AGENTS = "SELECT DISTINCT agent_id FROM ricordo.facts WHERE owner = %(owner)s ORDER BY agent_id"

# The revision with every fact, so that both are of one moment; a row without a fact where there is none.
PEOPLE = f"""
    SELECT p.revision, {_FACT}
    FROM ricordo.people AS p
    LEFT JOIN ricordo.facts AS f ON f.owner = %(owner)s AND f.agent_id = p.agent_id
    WHERE p.owner = %(owner)s AND p.agent_id = %(agent_id)s
    ORDER BY f.recorded_at, f.fact_id
"""

LOCK_PEOPLE = """
    SELECT revision FROM ricordo.people WHERE owner = %(owner)s AND agent_id = %(agent_id)s FOR UPDATE
"""

LOCK_ALL_PEOPLE = "SELECT agent_id FROM ricordo.people WHERE owner = %(owner)s ORDER BY agent_id FOR UPDATE"

# Whoever would forget an owner that has become empty waits until a new fact is in.
HOLD_OWNER = "SELECT owner FROM ricordo.owners WHERE owner = %(owner)s FOR KEY SHARE"

ALL_FACTS = f"SELECT {_FACT} FROM ricordo.facts AS f WHERE f.owner = %(owner)s"

TURNS_THERE = """
    SELECT turn_id FROM ricordo.turns WHERE owner = %(owner)s AND turn_id = ANY(%(turn_ids)s::text[])
"""

MOVE_PEOPLE = """
    INSERT INTO ricordo.people AS p (owner, agent_id, revision) VALUES (%(owner)s, %(agent_id)s, 1)
    ON CONFLICT (owner, agent_id) DO UPDATE SET revision = p.revision + 1
    RETURNING revision
"""

PUT_FACT = f"""
    INSERT INTO ricordo.facts (owner, {FACT_COLUMNS}) VALUES (%(owner)s, {values_of(FACT_COLUMNS)})
    ON CONFLICT (owner, agent_id, fact_id) DO UPDATE SET {_SET_FACT}
"""

REMOVE_FACTS = """
    DELETE FROM ricordo.facts AS f
    USING unnest(%(agent_ids)s::text[], %(fact_ids)s::text[]) AS gone (agent_id, fact_id)
    WHERE f.owner = %(owner)s AND f.agent_id = gone.agent_id AND f.fact_id = gone.fact_id
"""

LEARNED_THROUGH = """
    SELECT learned_through FROM ricordo.sessions WHERE owner = %(owner)s AND session_id = %(session_id)s
"""

MOVE_LEARNED = """
    UPDATE ricordo.sessions SET learned_through = greatest(learned_through, least(%(through)s, last_turn))
    WHERE owner = %(owner)s AND session_id = %(session_id)s
"""

# -- summaries ---------------------------------------------------------------------------------------------------

SUMMARIES = f"""
    SELECT {SUMMARY_COLUMNS} FROM ricordo.summaries
    WHERE owner = %(owner)s
      AND (%(session_id)s::text IS NULL OR session_id = %(session_id)s::text)
      AND (%(agent_id)s::text IS NULL OR agent_id = %(agent_id)s::text)
      AND (%(kind)s::text IS NULL OR kind = %(kind)s::text)
    ORDER BY created_at DESC, last_turn DESC, summary_id DESC LIMIT %(limit)s
"""

ADD_SUMMARY = f"""
    INSERT INTO ricordo.summaries (owner, {SUMMARY_COLUMNS}) VALUES (%(owner)s, {values_of(SUMMARY_COLUMNS)})
    ON CONFLICT DO NOTHING
"""

DELETE_SUMMARIES = """
    DELETE FROM ricordo.summaries WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])
"""

REMOVE_SUMMARIES = """
    DELETE FROM ricordo.summaries WHERE owner = %(owner)s AND summary_id = ANY(%(summary_ids)s::text[])
"""

# -- flags -------------------------------------------------------------------------------------------------------

FLAGS = f"""
    SELECT {FLAG_COLUMNS} FROM ricordo.flags
    WHERE owner = %(owner)s AND (%(state)s::text IS NULL OR state = %(state)s::text)
    ORDER BY created_at DESC, flag_id DESC LIMIT %(limit)s
"""

ADD_FLAG = f"""
    INSERT INTO ricordo.flags (owner, {FLAG_COLUMNS}) VALUES (%(owner)s, {values_of(FLAG_COLUMNS)})
    ON CONFLICT DO NOTHING
"""

SET_FLAG = f"""
    UPDATE ricordo.flags SET state = %(state)s WHERE owner = %(owner)s AND flag_id = %(flag_id)s
    RETURNING {FLAG_COLUMNS}
"""

DELETE_FLAGS_ON_FACTS = """
    DELETE FROM ricordo.flags
    WHERE owner = %(owner)s AND subject = 'fact' AND subject_id = ANY(%(fact_ids)s::text[])
"""

REMOVE_FLAGS_ON_SUMMARIES = """
    DELETE FROM ricordo.flags
    WHERE owner = %(owner)s AND subject = 'summary' AND subject_id = ANY(%(summary_ids)s::text[])
"""

DELETE_FLAGS_ON_SUMMARIES = """
    DELETE FROM ricordo.flags
    WHERE owner = %(owner)s AND subject = 'summary' AND subject_id IN (
        SELECT summary_id FROM ricordo.summaries
        WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[]))
"""

# A fact that stays keeps its flag, or it would come out of quarantine.
DELETE_FLAGS = """
    DELETE FROM ricordo.flags
    WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])
      AND NOT (subject = 'fact' AND subject_id IN (SELECT fact_id FROM ricordo.facts WHERE owner = %(owner)s))
"""

# -- erasing -----------------------------------------------------------------------------------------------------

ERASE_FACTS = "DELETE FROM ricordo.facts WHERE owner = %(owner)s"
ERASE_PEOPLE = "DELETE FROM ricordo.people WHERE owner = %(owner)s"
ERASE_SUMMARIES = "DELETE FROM ricordo.summaries WHERE owner = %(owner)s"
ERASE_FLAGS = "DELETE FROM ricordo.flags WHERE owner = %(owner)s"

"""The SQL of turns and sessions, by name.

Each statement names the owner, although row-level security hides the rows of other owners: the condition routes the
statement to one shard, and is a second protection.
"""

from ricordo.stores.turn_rows import SESSION_ROWS, TURN_COLUMNS

OF_SESSION = "owner = %(owner)s AND session_id = %(session_id)s"


def placeholders(columns: str) -> str:
    """A parameter for each column, by its name."""
    return ", ".join(f"%({name})s" for name in columns.split(", "))


def _set(columns: str) -> str:
    return ", ".join(f"{name} = %({name})s" for name in columns.split(", "))


def of_sessions(table: str) -> str:
    """The statement that deletes the rows of sessions."""
    return f"DELETE FROM ricordo.{table} WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])"


# A turn's columns and, for an archived turn, the bytes of its block: row and block are read in one snapshot and one
# round trip, and a turn with plain text costs no lookup.
_TURN_AND_BODY = f"""{TURN_COLUMNS},
        CASE WHEN t.block_id IS NOT NULL AND t.query IS NULL AND t.response IS NULL AND t.details IS NULL THEN
            (SELECT b.body FROM ricordo.blocks AS b
             WHERE b.owner = %(owner)s AND b.session_id = t.session_id AND b.block_id = t.block_id)
        END"""

_TURNS = f"SELECT {_TURN_AND_BODY} FROM ricordo.turns AS t WHERE"

_NUMBERS = {"turn_number", "created_at", "query_tokens", "answered_at", "response_tokens"}
_TURN_TYPES = ", ".join(f"{name} {'bigint' if name in _NUMBERS else 'text'}" for name in TURN_COLUMNS.split(", "))

# -- writing a turn ----------------------------------------------------------------------------------------------

# Locks the session's row until the commit, and adds a session that is new; a rollback gives the number back. With
# `taken` 0 it only locks.
TOUCH_SESSION = """
    INSERT INTO ricordo.sessions AS s
        (owner, tenant_id, session_id, agent_id, created_at, last_active_at, last_turn, turn_count, revision,
         oldest_at, open_count, receipt_count)
    VALUES
        (%(owner)s, %(tenant_id)s, %(session_id)s, %(agent_id)s, %(created_at)s,
         greatest(%(created_at)s, %(active_at)s), %(taken)s, %(taken)s, 1, %(created_at)s, %(open)s, %(receipts)s)
    ON CONFLICT (owner, session_id) DO UPDATE SET
        last_turn = s.last_turn + %(taken)s,
        turn_count = s.turn_count + %(taken)s,
        open_count = s.open_count + %(open)s,
        receipt_count = s.receipt_count + %(receipts)s,
        oldest_at = least(s.oldest_at, %(created_at)s),
        revision = s.revision + 1,
        last_active_at = greatest(s.last_active_at, %(active_at)s),
        ended_at = NULL
    WHERE s.owner = %(owner)s
    RETURNING last_turn
"""

# After TOUCH_SESSION with `taken` 0, once it is known that the message opens a turn.
TAKE_NUMBER = f"""
    UPDATE ricordo.sessions SET
        last_turn = last_turn + 1,
        turn_count = turn_count + 1,
        open_count = open_count + %(open)s,
        last_active_at = greatest(last_active_at, %(created_at)s)
    WHERE {OF_SESSION}
"""

# For a turn that already exists; the counts grow or shrink.
TOUCH_KNOWN_SESSION = f"""
    UPDATE ricordo.sessions SET
        open_count = open_count + %(open)s,
        receipt_count = receipt_count + %(receipts)s,
        revision = revision + 1,
        last_active_at = greatest(last_active_at, %(active_at)s),
        ended_at = NULL
    WHERE {OF_SESSION}
"""

CLOSE_TURN = f"UPDATE ricordo.sessions SET open_count = open_count - 1 WHERE {OF_SESSION}"

INSERT_TURN = f"""
    INSERT INTO ricordo.turns (owner, {TURN_COLUMNS}) VALUES (%(owner)s, {placeholders(TURN_COLUMNS)})
"""

# The same for several turns of one owner that are committed together.
NEXT_NUMBERS = """
    UPDATE ricordo.sessions AS s SET
        last_turn = s.last_turn + taken.turns,
        turn_count = s.turn_count + taken.turns,
        open_count = s.open_count + taken.open,
        receipt_count = s.receipt_count + taken.receipts,
        revision = s.revision + taken.turns,
        last_active_at = greatest(s.last_active_at, taken.active_at),
        ended_at = NULL
    FROM json_to_recordset(%(expected)s::json)
        AS taken (session_id text, turns bigint, open bigint, receipts bigint, active_at bigint, oldest_at bigint)
    WHERE s.owner = %(owner)s AND s.session_id = taken.session_id AND s.oldest_at <= taken.oldest_at
    RETURNING s.session_id, s.last_turn
"""

# For sessions whose last number is known: the turns of those where that is still so, in one round trip.
APPEND_TURNS = "SELECT ricordo.append_turns(%(owner)s, %(expected)s::json, %(rows)s::json)"

INSERT_TURNS = f"""
    INSERT INTO ricordo.turns (owner, {TURN_COLUMNS})
    SELECT %(owner)s, {TURN_COLUMNS} FROM json_to_recordset(%(rows)s::json) AS new ({_TURN_TYPES})
"""

REWRITE_TURN = f"""
    UPDATE ricordo.turns
    SET {_set("answered_at, response, response_tokens, chunk_ids, metadata, details, checksum")}
    WHERE {OF_SESSION} AND turn_number = %(turn_number)s
"""

PUT_RECEIPT = """
    INSERT INTO ricordo.receipts (owner, session_id, turn_number, body)
    VALUES (%(owner)s, %(session_id)s, %(turn_number)s, %(body)s)
    ON CONFLICT (owner, session_id, turn_number) DO UPDATE SET body = excluded.body
"""

PUT_PASSAGE = """
    INSERT INTO ricordo.passages AS p (owner, session_id, digest, last_turn, body)
    VALUES (%(owner)s, %(session_id)s, %(digest)s, %(turn_number)s, %(body)s)
    ON CONFLICT (owner, session_id, digest) DO UPDATE SET last_turn = greatest(p.last_turn, excluded.last_turn)
"""

# -- importing a session -----------------------------------------------------------------------------------------

INSERT_SESSION = f"""
    INSERT INTO ricordo.sessions {SESSION_ROWS.by_name("owner", "tenant_id", "oldest_at")}
    ON CONFLICT (owner, session_id) DO UPDATE SET oldest_at = least(sessions.oldest_at, excluded.oldest_at)
    WHERE sessions.owner = %(owner)s
"""

REWRITE_SESSION = f"""
    UPDATE ricordo.sessions
    SET {_set("last_active_at, last_turn, turn_count, revision, title, document_ids, tags, metadata, ended_at")}
    WHERE {OF_SESSION}
"""

TURN_NUMBERS = f"SELECT turn_number FROM ricordo.turns WHERE {OF_SESSION}"

TURNS_BY_NUMBER = f"{_TURNS} {OF_SESSION} AND turn_number = ANY(%(numbers)s::bigint[])"

TURNS_BY_TOPIC = f"""
    {_TURNS} {OF_SESSION}
      AND turn_number = ANY(ARRAY(
          SELECT x.turn_number FROM ricordo.topic_turns AS x
          WHERE x.owner = %(owner)s AND x.session_id = %(session_id)s AND x.topic_id = %(topic_id)s))
"""

TURNS_BY_ID = f"{_TURNS} owner = %(owner)s AND turn_id = ANY(%(turn_ids)s::text[])"

# -- reading -----------------------------------------------------------------------------------------------------

TURN_BY_ID = f"{_TURNS} owner = %(owner)s AND turn_id = %(turn_id)s"

NEWEST_TURN = f"{_TURNS} {OF_SESSION} ORDER BY turn_number DESC LIMIT 1"

# Newest first, so that LIMIT keeps the newest; the store reverses them.
TURNS = f"""
    {_TURNS} {OF_SESSION}
      AND turn_number > %(after)s AND turn_number < %(before)s
    ORDER BY turn_number DESC LIMIT %(last)s
"""

# TURNS by a function that names the owner for its own transaction: one statement instead of four.
TURNS_PAGE = """
    SELECT * FROM ricordo.turns_page(%(owner)s, %(session_id)s, %(after)s, %(before)s, %(last)s)
"""

SESSION = f"SELECT {SESSION_ROWS.columns} FROM ricordo.sessions WHERE {OF_SESSION}"

_SESSIONS = f"""
    SELECT {SESSION_ROWS.columns} FROM ricordo.sessions
    WHERE owner = %(owner)s AND (%(agent_id)s::text IS NULL OR agent_id = %(agent_id)s::text)
      AND (%(tag)s::text IS NULL OR tags IS NOT NULL AND tags::jsonb ? %(tag)s::text)
"""
_BY_ACTIVITY = "ORDER BY active_day DESC, last_active_at DESC, session_id DESC LIMIT %(limit)s"

SESSIONS = f"{_SESSIONS} {_BY_ACTIVITY}"

SESSIONS_BEFORE = f"""
    {_SESSIONS}
      AND active_day <= %(before_active_at)s / 86400000000
      AND (last_active_at, session_id) < (%(before_active_at)s, %(before_id)s::text)
    {_BY_ACTIVITY}
"""

SESSION_MARKS = """
    SELECT session_id, revision, last_turn, turn_count FROM ricordo.sessions WHERE owner = %(owner)s
"""

RECEIPTS = f"""
    SELECT turn_number, body FROM ricordo.receipts
    WHERE {OF_SESSION}
      AND (%(turn_number)s::bigint IS NULL OR turn_number = %(turn_number)s::bigint)
    ORDER BY turn_number DESC LIMIT %(limit)s
"""

PASSAGES = f"SELECT digest, body FROM ricordo.passages WHERE {OF_SESSION} AND digest = ANY(%(digests)s::text[])"

# -- row locks until the commit ----------------------------------------------------------------------------------

LOCK_SESSION = f"SELECT {SESSION_ROWS.columns} FROM ricordo.sessions WHERE {OF_SESSION} FOR UPDATE"

LOCK_LAST_TURN = f"SELECT last_turn FROM ricordo.sessions WHERE {OF_SESSION} FOR UPDATE"

LOCK_SESSION_OF_TURN = """
    SELECT session_id FROM ricordo.sessions
    WHERE owner = %(owner)s
      AND session_id = (SELECT session_id FROM ricordo.turns WHERE owner = %(owner)s AND turn_id = %(turn_id)s)
    FOR UPDATE
"""

HAS_RECEIPT = """
    SELECT r.turn_number FROM ricordo.turns AS t JOIN ricordo.receipts AS r
        ON r.owner = %(owner)s AND r.session_id = t.session_id AND r.turn_number = t.turn_number
    WHERE t.owner = %(owner)s AND t.turn_id = %(turn_id)s
"""

LOCK_SESSIONS = """
    SELECT session_id FROM ricordo.sessions
    WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[]) ORDER BY session_id FOR UPDATE
"""

LOCK_IDLE_SESSIONS = """
    SELECT session_id, turn_count FROM ricordo.sessions
    WHERE owner = %(owner)s AND active_day <= %(idle_before)s / 86400000000 AND last_active_at < %(idle_before)s
    ORDER BY last_active_at, session_id LIMIT %(batch)s FOR UPDATE
"""

# -- deleting ----------------------------------------------------------------------------------------------------
# Cascades would do the same with one lookup per turn; a statement per table is one pass per table.

CONTENT_OF_SESSIONS = {
    table: of_sessions(table)
    for table in ("receipts", "passages", "traces", "topic_turns", "topics", "blocks", "summaries", "turns")
}

DELETE_SESSIONS = of_sessions("sessions")

EMPTY_SESSION = f"""
    UPDATE ricordo.sessions SET
        last_turn = 0,
        turn_count = 0,
        open_count = 0,
        receipt_count = 0,
        revision = revision + 1,
        topics_through = 0,
        topics_revision = topics_revision + 1,
        learned_through = 0
    WHERE {OF_SESSION}
"""

EXPIRED_TURNS = """
    SELECT session_id, turn_number FROM ricordo.turns
    WHERE owner = %(owner)s AND created_at < %(turns_before)s ORDER BY created_at LIMIT %(batch)s
"""

# What the session, topic and block of a deleted turn need in order to be updated.
_DELETED = """t.session_id, t.turn_number, t.turn_id, t.topic_id, t.block_id,
        t.query IS NULL AND t.response IS NULL AND t.details IS NULL,
        t.query IS NOT NULL OR t.query_tokens > 0, t.answered_at IS NOT NULL"""

# The time is checked again: a session may have been cleared, and its numbers reused, before it was locked.
DELETE_EXPIRED_TURNS = f"""
    DELETE FROM ricordo.turns AS t
    USING unnest(%(session_ids)s::text[], %(numbers)s::bigint[]) AS expired (session_id, turn_number)
    WHERE t.owner = %(owner)s AND t.session_id = expired.session_id AND t.turn_number = expired.turn_number
      AND t.created_at < %(turns_before)s
    RETURNING {_DELETED}
"""

DELETE_NUMBERED_TURNS = f"""
    DELETE FROM ricordo.turns AS t
    WHERE t.owner = %(owner)s AND t.session_id = %(session_id)s AND t.turn_number = ANY(%(numbers)s::bigint[])
    RETURNING {_DELETED}
"""

ANYTHING_EXPIRED = """
    SELECT EXISTS (SELECT FROM ricordo.turns WHERE owner = %(owner)s AND created_at < %(turns_before)s)
        OR EXISTS (SELECT FROM ricordo.sessions
                   WHERE owner = %(owner)s AND active_day <= %(idle_before)s / 86400000000
                     AND last_active_at < %(idle_before)s)
"""

# After turns were imported, deleted, archived or brought back; the session is locked.
COUNT_SESSION = f"""
    UPDATE ricordo.sessions SET
        open_count = (SELECT count(*) FROM ricordo.turns
                      WHERE {OF_SESSION}
                        AND query IS NOT NULL AND response IS NULL),
        receipt_count = (SELECT count(*) FROM ricordo.receipts
                         WHERE {OF_SESSION})
    WHERE {OF_SESSION}
"""

SHRINK_SESSION = f"""
    UPDATE ricordo.sessions SET turn_count = turn_count - %(gone)s, revision = revision + 1
    WHERE {OF_SESSION}
"""

DELETE_EMPTIED_SESSIONS = """
    DELETE FROM ricordo.sessions
    WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[]) AND turn_count = 0
    RETURNING session_id
"""

# Passages whose last turn is deleted and whose digest no other receipt contains.
DELETE_UNUSED_PASSAGES = """
    DELETE FROM ricordo.passages AS p
    WHERE p.owner = %(owner)s AND p.session_id = ANY(%(session_ids)s::text[])
      AND NOT EXISTS (
          SELECT FROM ricordo.turns AS t
          WHERE t.owner = %(owner)s AND t.session_id = p.session_id AND t.turn_number = p.last_turn)
      AND NOT EXISTS (
          SELECT FROM ricordo.receipts AS r, jsonb_path_query(r.body::jsonb, 'strict $.**') AS said
          WHERE r.owner = %(owner)s AND r.session_id = p.session_id AND said = to_jsonb(p.digest))
"""

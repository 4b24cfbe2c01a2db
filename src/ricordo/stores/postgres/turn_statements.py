"""The SQL of turns, sessions and owners, by name.

Each statement names the owner, although row-level security would hide other owners' rows anyway: the predicate routes
a statement to one shard, and is a second protection. Only the two listings of owners have no owner to name.
"""

from ricordo.stores.turn_rows import SESSION_COLUMNS, TURN_COLUMNS


def placeholders(columns: str) -> str:
    """A parameter for each column, by its name."""
    return ", ".join(f"%({name})s" for name in columns.split(", "))


# A turn's columns and, for an archived turn, the bytes of its block: row and block are read in one snapshot and one
# round trip, and a turn with plain text costs no lookup.
_TURN_AND_BODY = f"""{TURN_COLUMNS},
        CASE WHEN t.block_id IS NOT NULL AND t.query IS NULL AND t.response IS NULL AND t.details IS NULL THEN
            (SELECT b.body FROM ricordo.blocks AS b
             WHERE b.owner = %(owner)s AND b.session_id = t.session_id AND b.block_id = t.block_id)
        END"""


# -- writing a turn ----------------------------------------------------------------------------------------------

ADD_OWNER = """
    INSERT INTO ricordo.owners (owner, tenant_id, user_id) VALUES (%(owner)s, %(tenant_id)s, %(user_id)s)
    ON CONFLICT (owner) DO NOTHING
"""

# Locks the session's row until the commit; a rollback gives the number back.
NEXT_NUMBER = """
    UPDATE ricordo.sessions SET
        last_turn = last_turn + 1,
        turn_count = turn_count + 1,
        revision = revision + 1,
        last_active_at = greatest(last_active_at, %(active_at)s),
        ended_at = NULL
    WHERE owner = %(owner)s AND session_id = %(session_id)s
    RETURNING last_turn
"""

# The same for a session that may be new; with `taken` 0 it only locks the session.
TOUCH_SESSION = """
    INSERT INTO ricordo.sessions AS s
        (owner, session_id, agent_id, created_at, last_active_at, last_turn, turn_count, revision)
    VALUES
        (%(owner)s, %(session_id)s, %(agent_id)s, %(created_at)s, greatest(%(created_at)s, %(active_at)s),
         %(taken)s, %(taken)s, 1)
    ON CONFLICT (owner, session_id) DO UPDATE SET
        last_turn = s.last_turn + %(taken)s,
        turn_count = s.turn_count + %(taken)s,
        revision = s.revision + 1,
        last_active_at = greatest(s.last_active_at, %(active_at)s),
        ended_at = NULL
    WHERE s.owner = %(owner)s
    RETURNING last_turn
"""

# After TOUCH_SESSION with `taken` 0, once it is known that the message opens a turn.
TAKE_NUMBER = """
    UPDATE ricordo.sessions SET
        last_turn = last_turn + 1,
        turn_count = turn_count + 1,
        last_active_at = greatest(last_active_at, %(created_at)s)
    WHERE owner = %(owner)s AND session_id = %(session_id)s
"""

# For a turn that already exists.
TOUCH_KNOWN_SESSION = """
    UPDATE ricordo.sessions SET
        revision = revision + 1,
        last_active_at = greatest(last_active_at, %(active_at)s),
        ended_at = NULL
    WHERE owner = %(owner)s AND session_id = %(session_id)s
"""

INSERT_TURN = f"""
    INSERT INTO ricordo.turns (owner, {TURN_COLUMNS}) VALUES (%(owner)s, {placeholders(TURN_COLUMNS)})
"""

REWRITE_TURN = """
    UPDATE ricordo.turns SET
        answered_at = %(answered_at)s,
        response = %(response)s,
        response_tokens = %(response_tokens)s,
        chunk_ids = %(chunk_ids)s,
        metadata = %(metadata)s,
        details = %(details)s,
        checksum = %(checksum)s
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND turn_number = %(turn_number)s
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
    INSERT INTO ricordo.sessions (owner, {SESSION_COLUMNS}) VALUES (%(owner)s, {placeholders(SESSION_COLUMNS)})
    ON CONFLICT (owner, session_id) DO NOTHING
"""

REWRITE_SESSION = """
    UPDATE ricordo.sessions SET
        last_active_at = %(last_active_at)s,
        last_turn = %(last_turn)s,
        turn_count = %(turn_count)s,
        revision = %(revision)s,
        title = %(title)s,
        document_ids = %(document_ids)s,
        tags = %(tags)s,
        metadata = %(metadata)s,
        ended_at = %(ended_at)s
    WHERE owner = %(owner)s AND session_id = %(session_id)s
"""

TURN_NUMBERS = """
    SELECT turn_number FROM ricordo.turns WHERE owner = %(owner)s AND session_id = %(session_id)s
"""

TURNS_BY_NUMBER = f"""
    SELECT {_TURN_AND_BODY}
    FROM ricordo.turns AS t
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND turn_number = ANY(%(numbers)s::bigint[])
"""

TURNS_BY_TOPIC = f"""
    SELECT {_TURN_AND_BODY}
    FROM ricordo.turns AS t
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND topic_id = %(topic_id)s
"""

TURNS_BY_ID = f"""
    SELECT {_TURN_AND_BODY}
    FROM ricordo.turns AS t WHERE owner = %(owner)s AND turn_id = ANY(%(turn_ids)s::text[])
"""

# -- reading -----------------------------------------------------------------------------------------------------

TURN_BY_ID = f"""
    SELECT {_TURN_AND_BODY}
    FROM ricordo.turns AS t WHERE owner = %(owner)s AND turn_id = %(turn_id)s
"""

NEWEST_TURN = f"""
    SELECT {_TURN_AND_BODY}
    FROM ricordo.turns AS t
    WHERE owner = %(owner)s AND session_id = %(session_id)s ORDER BY turn_number DESC LIMIT 1
"""

# Newest first, so that LIMIT keeps the newest; the store reverses them.
TURNS = f"""
    SELECT {_TURN_AND_BODY}
    FROM ricordo.turns AS t
    WHERE owner = %(owner)s AND session_id = %(session_id)s
      AND turn_number > %(after)s AND turn_number < %(before)s
    ORDER BY turn_number DESC LIMIT %(last)s
"""

SESSION = f"""
    SELECT {SESSION_COLUMNS} FROM ricordo.sessions WHERE owner = %(owner)s AND session_id = %(session_id)s
"""

SESSIONS = f"""
    SELECT {SESSION_COLUMNS} FROM ricordo.sessions
    WHERE owner = %(owner)s AND (%(agent_id)s::text IS NULL OR agent_id = %(agent_id)s::text)
      AND (%(tag)s::text IS NULL OR tags IS NOT NULL AND tags::jsonb ? %(tag)s::text)
    ORDER BY last_active_at DESC, session_id DESC LIMIT %(limit)s
"""

SESSIONS_BEFORE = f"""
    SELECT {SESSION_COLUMNS} FROM ricordo.sessions
    WHERE owner = %(owner)s AND (%(agent_id)s::text IS NULL OR agent_id = %(agent_id)s::text)
      AND (%(tag)s::text IS NULL OR tags IS NOT NULL AND tags::jsonb ? %(tag)s::text)
      AND (last_active_at, session_id) < (%(before_active_at)s, %(before_id)s::text)
    ORDER BY last_active_at DESC, session_id DESC LIMIT %(limit)s
"""

SESSION_MARKS = """
    SELECT session_id, revision, last_turn, turn_count FROM ricordo.sessions WHERE owner = %(owner)s
"""

RECEIPTS = """
    SELECT turn_number, body FROM ricordo.receipts
    WHERE owner = %(owner)s AND session_id = %(session_id)s
      AND (%(turn_number)s::bigint IS NULL OR turn_number = %(turn_number)s::bigint)
    ORDER BY turn_number DESC LIMIT %(limit)s
"""

PASSAGES = """
    SELECT digest, body FROM ricordo.passages
    WHERE owner = %(owner)s AND session_id = %(session_id)s AND digest = ANY(%(digests)s::text[])
"""

COUNTS = """
    SELECT
        (SELECT count(*) FROM ricordo.sessions WHERE owner = %(owner)s),
        (SELECT count(*) FROM ricordo.turns WHERE owner = %(owner)s),
        (SELECT count(*) FROM ricordo.turns
         WHERE owner = %(owner)s AND query IS NOT NULL AND response IS NULL),
        (SELECT count(*) FROM ricordo.receipts WHERE owner = %(owner)s),
        (SELECT count(*) FROM ricordo.facts WHERE owner = %(owner)s),
        (SELECT count(*) FROM ricordo.summaries WHERE owner = %(owner)s),
        (SELECT count(*) FROM ricordo.flags WHERE owner = %(owner)s),
        (SELECT count(*) FROM ricordo.documents WHERE owner = %(owner)s)
"""

# -- row locks until the commit ----------------------------------------------------------------------------------

LOCK_SESSION = f"""
    SELECT {SESSION_COLUMNS} FROM ricordo.sessions
    WHERE owner = %(owner)s AND session_id = %(session_id)s FOR UPDATE
"""

LOCK_LAST_TURN = """
    SELECT last_turn FROM ricordo.sessions
    WHERE owner = %(owner)s AND session_id = %(session_id)s FOR UPDATE
"""

LOCK_SESSION_OF_TURN = """
    SELECT session_id FROM ricordo.sessions
    WHERE owner = %(owner)s
      AND session_id = (SELECT session_id FROM ricordo.turns WHERE owner = %(owner)s AND turn_id = %(turn_id)s)
    FOR UPDATE
"""

LOCK_SESSIONS = """
    SELECT session_id FROM ricordo.sessions
    WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[]) ORDER BY session_id FOR UPDATE
"""

LOCK_ALL_SESSIONS = """
    SELECT session_id FROM ricordo.sessions WHERE owner = %(owner)s ORDER BY session_id FOR UPDATE
"""

LOCK_IDLE_SESSIONS = """
    SELECT session_id, turn_count FROM ricordo.sessions
    WHERE owner = %(owner)s AND last_active_at < %(idle_before)s
    ORDER BY last_active_at, session_id LIMIT %(batch)s FOR UPDATE
"""

LOCK_OWNER = """
    SELECT owner FROM ricordo.owners WHERE owner = %(owner)s FOR UPDATE
"""

# -- deleting ----------------------------------------------------------------------------------------------------
# Cascades would do the same with one lookup per turn; a statement per table is one pass per table.

DELETE_RECEIPTS = """
    DELETE FROM ricordo.receipts WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])
"""

DELETE_PASSAGES = """
    DELETE FROM ricordo.passages WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])
"""

DELETE_TURNS = """
    DELETE FROM ricordo.turns WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])
"""

DELETE_SESSIONS = """
    DELETE FROM ricordo.sessions WHERE owner = %(owner)s AND session_id = ANY(%(session_ids)s::text[])
"""

EMPTY_SESSION = """
    UPDATE ricordo.sessions SET
        last_turn = 0,
        turn_count = 0,
        revision = revision + 1,
        topics_through = 0,
        topics_revision = topics_revision + 1,
        learned_through = 0
    WHERE owner = %(owner)s AND session_id = %(session_id)s
"""

# Under LOCK_OWNER no transaction can add a session, a fact, a document or an item in between.
DELETE_IDLE_OWNER = """
    DELETE FROM ricordo.owners WHERE owner = %(owner)s
      AND NOT EXISTS (SELECT FROM ricordo.sessions WHERE owner = %(owner)s)
      AND NOT EXISTS (SELECT FROM ricordo.facts WHERE owner = %(owner)s)
      AND NOT EXISTS (SELECT FROM ricordo.documents WHERE owner = %(owner)s)
      AND NOT EXISTS (SELECT FROM ricordo.items WHERE owner = %(owner)s)
"""

EXPIRED_TURNS = """
    SELECT session_id, turn_number FROM ricordo.turns
    WHERE owner = %(owner)s AND created_at < %(turns_before)s ORDER BY created_at LIMIT %(batch)s
"""

# An erasure is exclusive, writes from spools share: what is checked stays true until the commit.
SHARE_ERASURES = "SELECT pg_advisory_xact_lock_shared(%(lock)s)"
LOCK_ERASURES = "SELECT pg_advisory_xact_lock(%(lock)s)"

ERASED_AT = "SELECT erased_at FROM ricordo.erasures WHERE owner = %(owner)s"

# The later of the clocks of server and program: a write that the program acknowledged before is refused.
NOTE_ERASURE = """
    INSERT INTO ricordo.erasures AS e (owner, erased_at)
    VALUES (%(owner)s, greatest(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
    ON CONFLICT (owner) DO UPDATE SET erased_at = greatest(e.erased_at, excluded.erased_at)
    WHERE e.owner = %(owner)s
"""

ALL_ERASURES = "SELECT owner, erased_at FROM ricordo.erasures"

# What the session, topic and block of a deleted turn need in order to be updated.
_DELETED = """t.session_id, t.turn_number, t.turn_id, t.topic_id, t.block_id,
        t.query IS NULL AND t.response IS NULL AND t.details IS NULL,
        t.query IS NOT NULL OR t.query_tokens > 0, t.answered_at IS NOT NULL"""

# The time is checked again: a session may have been cleared, and its numbers reused, before it was locked.
DELETE_EXPIRED_TURNS = f"""
    DELETE FROM ricordo.turns AS t
    USING unnest(%(session_ids)s::text[], %(numbers)s::bigint[]) AS doomed (session_id, turn_number)
    WHERE t.owner = %(owner)s AND t.session_id = doomed.session_id AND t.turn_number = doomed.turn_number
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
        OR EXISTS (SELECT FROM ricordo.sessions WHERE owner = %(owner)s AND last_active_at < %(idle_before)s)
"""

SHRINK_SESSION = """
    UPDATE ricordo.sessions SET turn_count = turn_count - %(gone)s, revision = revision + 1
    WHERE owner = %(owner)s AND session_id = %(session_id)s
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

ERASE_RECEIPTS = "DELETE FROM ricordo.receipts WHERE owner = %(owner)s"
ERASE_PASSAGES = "DELETE FROM ricordo.passages WHERE owner = %(owner)s"
ERASE_TURNS = "DELETE FROM ricordo.turns WHERE owner = %(owner)s"
ERASE_SESSIONS = "DELETE FROM ricordo.sessions WHERE owner = %(owner)s"
ERASE_OWNER = "DELETE FROM ricordo.owners WHERE owner = %(owner)s"

# -- listing owners ----------------------------------------------------------------------------------------------

OWNERS_OF_TENANT = """
    SELECT owner, user_id FROM ricordo.owners
    WHERE tenant_id = %(tenant_id)s AND owner > %(after)s ORDER BY owner LIMIT %(limit)s
"""

ALL_OWNERS = """
    SELECT tenant_id, user_id FROM ricordo.owners ORDER BY tenant_id, user_id
"""

"""The SQL of owners, by name: their rows, the times by which a cleanup finds them, their erasure, and statistics.

Each statement names the owner, as in `turn_statements`, except lists of owners and counts of a whole tenant.
"""

# Before a new session, or a turn that is older than all others of its session: a cleanup finds owners by these times.
LOWER_OWNER = """
    UPDATE ricordo.owners AS o SET
        oldest_at = least(o.oldest_at, %(created_at)s), idle_from = least(o.idle_from, %(active_at)s)
    WHERE o.owner = %(owner)s
      AND NOT EXISTS (
          SELECT FROM ricordo.sessions AS s
          WHERE s.owner = %(owner)s AND s.session_id = %(session_id)s AND s.oldest_at <= %(created_at)s)
"""

ADD_OWNER = """
    INSERT INTO ricordo.owners (owner, tenant_id, user_id) VALUES (%(owner)s, %(tenant_id)s, %(user_id)s)
    ON CONFLICT (owner) DO NOTHING
"""

LOCK_ALL_SESSIONS = """
    SELECT session_id FROM ricordo.sessions WHERE owner = %(owner)s ORDER BY session_id FOR UPDATE
"""

# A transaction that would delete an idle owner waits until the new session or fact is committed.
SHARE_OWNER = "SELECT owner FROM ricordo.owners WHERE owner = %(owner)s FOR KEY SHARE"

LOCK_OWNER = """
    SELECT owner FROM ricordo.owners WHERE owner = %(owner)s FOR UPDATE
"""

# Under LOCK_OWNER no transaction can add a session, a fact, a document or an item in between.
DELETE_IDLE_OWNER = """
    DELETE FROM ricordo.owners WHERE owner = %(owner)s
      AND NOT EXISTS (SELECT FROM ricordo.sessions WHERE owner = %(owner)s)
      AND NOT EXISTS (SELECT FROM ricordo.facts WHERE owner = %(owner)s)
      AND NOT EXISTS (SELECT FROM ricordo.documents WHERE owner = %(owner)s)
      AND NOT EXISTS (SELECT FROM ricordo.items WHERE owner = %(owner)s)
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

# All rows of an owner, a table at a time.
ERASE = {
    table: f"DELETE FROM ricordo.{table} WHERE owner = %(owner)s"
    for table in (
        *("items", "chunks", "documents", "jobs", "api_keys", "facts", "people", "summaries", "flags", "traces"),
        *("topic_turns", "topics", "blocks", "receipts", "passages", "turns", "sessions", "owners"),
    )
}

# After a cleanup: the oldest turn tells when the next cleanup has to visit the owner.
OLDEST_TURN = "SELECT coalesce(min(created_at), %(endless)s) FROM ricordo.turns WHERE owner = %(owner)s"

RAISE_SESSIONS = """
    UPDATE ricordo.sessions SET oldest_at = %(oldest_at)s WHERE owner = %(owner)s AND oldest_at < %(oldest_at)s
"""

RAISE_OWNER = """
    UPDATE ricordo.owners SET
        oldest_at = %(oldest_at)s,
        idle_from = (SELECT coalesce(min(last_active_at), %(endless)s) FROM ricordo.sessions WHERE owner = %(owner)s)
    WHERE owner = %(owner)s
"""

OWNERS_OF_TENANT = """
    SELECT owner, user_id FROM ricordo.owners
    WHERE tenant_id = %(tenant_id)s AND owner > %(after)s ORDER BY owner LIMIT %(limit)s
"""

# Owners that may have something past its time, found by two indexes over time.
DUE_OWNERS = """
    SELECT owner, user_id FROM ricordo.owners WHERE tenant_id = %(tenant_id)s AND oldest_at < %(turns_before)s
    UNION
    SELECT owner, user_id FROM ricordo.owners WHERE tenant_id = %(tenant_id)s AND idle_from < %(idle_before)s
"""

# The whole tenant at once; a session holds the counts of its turns.
STATISTICS = """
    SELECT count(DISTINCT owner), count(*), coalesce(sum(turn_count), 0)::bigint,
           coalesce(sum(open_count), 0)::bigint, coalesce(sum(receipt_count), 0)::bigint
    FROM ricordo.sessions WHERE tenant_id = %(tenant_id)s
"""

COUNT_OF_TENANT = """
    SELECT count(*) FROM ricordo.owners AS o JOIN ricordo.{table} AS x ON x.owner = o.owner
    WHERE o.tenant_id = %(tenant_id)s
"""

ALL_OWNERS = """
    SELECT tenant_id, user_id FROM ricordo.owners ORDER BY tenant_id, user_id
"""

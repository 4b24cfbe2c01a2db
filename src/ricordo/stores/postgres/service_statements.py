"""The SQL of documents, API keys, jobs and leases, by name; that of items is in `ricordo.stores.items`.

Statements that cannot name an owner are at the end, each restricted by settings of its own: one digest, one tenant,
the workers.
"""

from ricordo.stores.derived_rows import CHUNK_COLUMNS, DOCUMENT_COLUMNS, JOB_COLUMNS, KEY_COLUMNS
from ricordo.stores.postgres.turn_statements import placeholders

_SET_JOB = ", ".join(f"{name} = excluded.{name}" for name in JOB_COLUMNS.split(", ")[2:])

# -- documents ---------------------------------------------------------------------------------------------------

DOCUMENT = f"""
    SELECT {DOCUMENT_COLUMNS} FROM ricordo.documents WHERE owner = %(owner)s AND document_id = %(document_id)s
"""

DOCUMENTS = f"""
    SELECT {DOCUMENT_COLUMNS} FROM ricordo.documents
    WHERE owner = %(owner)s AND (created_at, document_id) < (%(created_at)s, %(document_id)s::text)
    ORDER BY created_at DESC, document_id DESC LIMIT %(limit)s
"""

ADD_DOCUMENT = f"""
    INSERT INTO ricordo.documents (owner, {DOCUMENT_COLUMNS}) VALUES (%(owner)s, {placeholders(DOCUMENT_COLUMNS)})
"""

DELETE_DOCUMENT = "DELETE FROM ricordo.documents WHERE owner = %(owner)s AND document_id = %(document_id)s"

ADD_CHUNK = f"""
    INSERT INTO ricordo.chunks (owner, {CHUNK_COLUMNS}) VALUES (%(owner)s, {placeholders(CHUNK_COLUMNS)})
"""

CHUNKS = f"""
    SELECT {CHUNK_COLUMNS} FROM ricordo.chunks
    WHERE owner = %(owner)s AND (%(document_ids)s::text[] IS NULL OR document_id = ANY(%(document_ids)s::text[]))
    ORDER BY document_id, position
"""

CHUNK = f"SELECT {CHUNK_COLUMNS} FROM ricordo.chunks WHERE owner = %(owner)s AND chunk_id = %(chunk_id)s"

EXISTING_CHUNKS = """
    SELECT chunk_id FROM ricordo.chunks WHERE owner = %(owner)s AND chunk_id = ANY(%(chunk_ids)s::text[])
"""

DELETE_CHUNKS = "DELETE FROM ricordo.chunks WHERE owner = %(owner)s AND document_id = %(document_id)s"

SET_VECTORS = """
    UPDATE ricordo.chunks AS c SET vector = made.vector, embedder = %(embedder)s
    FROM unnest(%(chunk_ids)s::text[], %(vectors)s::bytea[]) AS made (chunk_id, vector)
    WHERE c.owner = %(owner)s AND c.chunk_id = made.chunk_id
"""

# -- keys --------------------------------------------------------------------------------------------------------

ADD_KEY = f"""
    INSERT INTO ricordo.api_keys (owner, {KEY_COLUMNS}) VALUES (%(owner)s, {placeholders(KEY_COLUMNS)})
"""

REVOKE_KEY = """
    UPDATE ricordo.api_keys SET revoked_at = %(now)s
    WHERE owner = %(owner)s AND key_id = %(key_id)s AND revoked_at IS NULL
"""

KEY_USED = """
    UPDATE ricordo.api_keys SET last_used_at = greatest(last_used_at, %(now)s)
    WHERE owner = %(owner)s AND key_id = %(key_id)s AND digest = %(digest)s
"""

# -- jobs and leases ---------------------------------------------------------------------------------------------

# An erasure of the owner waits until the job is committed, and deletes it; writers of the session do not wait.
SHARE_SESSION = """
    SELECT session_id FROM ricordo.sessions
    WHERE owner = %(owner)s AND session_id = %(session_id)s FOR KEY SHARE
"""

LOCK_JOB = f"""
    SELECT {JOB_COLUMNS} FROM ricordo.jobs
    WHERE owner = %(owner)s AND kind = %(kind)s AND session_id = %(session_id)s FOR UPDATE
"""

JOBS = f"SELECT {JOB_COLUMNS} FROM ricordo.jobs WHERE owner = %(owner)s ORDER BY kind, session_id"

ADD_JOB = f"INSERT INTO ricordo.jobs (owner, {JOB_COLUMNS}) VALUES (%(owner)s, {placeholders(JOB_COLUMNS)})"

SET_JOB = f"""
    {ADD_JOB}
    ON CONFLICT (owner, kind, session_id) DO UPDATE SET {_SET_JOB}
"""

DELETE_JOB = """
    DELETE FROM ricordo.jobs WHERE owner = %(owner)s AND kind = %(kind)s AND session_id = %(session_id)s
"""

LEASE = """
    INSERT INTO ricordo.leases AS l (owner, name, holder, until)
    VALUES (%(owner)s, %(name)s, %(holder)s, %(until)s)
    ON CONFLICT (owner, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE l.owner = %(owner)s AND (l.until <= %(now)s OR l.holder = %(holder)s)
    RETURNING holder
"""

END_LEASE = """
    DELETE FROM ricordo.leases WHERE owner = %(owner)s AND name = %(name)s AND holder = %(holder)s RETURNING holder
"""

ERASE_CHUNKS = "DELETE FROM ricordo.chunks WHERE owner = %(owner)s"
ERASE_DOCUMENTS = "DELETE FROM ricordo.documents WHERE owner = %(owner)s"
ERASE_JOBS = "DELETE FROM ricordo.jobs WHERE owner = %(owner)s"
ERASE_KEYS = "DELETE FROM ricordo.api_keys WHERE owner = %(owner)s"
ERASE_ITEMS = "DELETE FROM ricordo.items WHERE owner = %(owner)s"

# -- without an owner --------------------------------------------------------------------------------------------

KEY_BY_DIGEST = f"SELECT {KEY_COLUMNS} FROM ricordo.api_keys WHERE digest = %(digest)s"

KEYS_OF_TENANT = f"""
    SELECT {KEY_COLUMNS} FROM ricordo.api_keys WHERE tenant_id = %(tenant_id)s ORDER BY created_at, key_id
"""

ALL_KEYS = f"SELECT {KEY_COLUMNS} FROM ricordo.api_keys ORDER BY tenant_id, key_id"

JOBS_OF_TENANT = f"SELECT {JOB_COLUMNS} FROM ricordo.jobs WHERE tenant_id = %(tenant_id)s"

# Skips rows that another worker is taking at this moment.
TAKE_JOBS = f"""
    UPDATE ricordo.jobs AS j SET
        attempts = j.attempts + 1,
        leased_by = %(worker)s,
        leased_until = %(until)s
    FROM (
        SELECT owner AS due_owner, kind AS due_kind, session_id AS due_session FROM ricordo.jobs
        WHERE due_at <= %(now)s AND (leased_until IS NULL OR leased_until <= %(now)s)
          AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s::text[]))
        ORDER BY due_at, owner, kind, session_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE j.owner = due_owner AND j.kind = due_kind AND j.session_id = due_session
    RETURNING {JOB_COLUMNS}
"""

WITHOUT_OWNER = ("KEY_BY_DIGEST", "KEYS_OF_TENANT", "ALL_KEYS", "JOBS_OF_TENANT", "TAKE_JOBS")

"""Every statement of the SQLite store about documents, keys, jobs and leases, by name.

Those that cannot name an owner are at the end: a key is found by its digest, a tenant's keys and jobs by the tenant,
and workers take what is due of any owner.
"""

from ricordo.stores.derived_rows import CHUNK_COLUMNS, DOCUMENT_COLUMNS, JOB_COLUMNS, KEY_COLUMNS

# ── documents ────────────────────────────────────────────────────────────────────────────────────────

DOCUMENT = f"SELECT {DOCUMENT_COLUMNS} FROM documents WHERE owner = ? AND document_id = ?"

DOCUMENTS = f"""
SELECT {DOCUMENT_COLUMNS} FROM documents
WHERE owner = ? AND (created_at, document_id) < (?, ?)
ORDER BY created_at DESC, document_id DESC LIMIT ?
"""

ADD_DOCUMENT = f"INSERT INTO documents (owner, {DOCUMENT_COLUMNS}) VALUES (?{', ?' * 8})"

DROP_DOCUMENT = "DELETE FROM documents WHERE owner = ? AND document_id = ?"

ADD_CHUNK = f"INSERT INTO chunks (owner, {CHUNK_COLUMNS}) VALUES (?{', ?' * 10})"

ALL_CHUNKS = f"SELECT {CHUNK_COLUMNS} FROM chunks WHERE owner = ? ORDER BY document_id, position"

CHUNKS = f"""
SELECT {CHUNK_COLUMNS} FROM chunks
WHERE owner = ? AND document_id IN (SELECT value FROM json_each(?)) ORDER BY document_id, position
"""

CHUNK = f"SELECT {CHUNK_COLUMNS} FROM chunks WHERE owner = ? AND chunk_id = ?"

CHUNKS_KNOWN = "SELECT chunk_id FROM chunks WHERE owner = ? AND chunk_id IN (SELECT value FROM json_each(?))"

DROP_CHUNKS = "DELETE FROM chunks WHERE owner = ? AND document_id = ?"

SET_VECTOR = "UPDATE chunks SET vector = ?, embedder = ? WHERE owner = ? AND chunk_id = ?"

# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────

ADD_KEY = f"INSERT INTO api_keys (owner, {KEY_COLUMNS}) VALUES (?{', ?' * 9})"

REVOKE_KEY = "UPDATE api_keys SET revoked_at = ? WHERE owner = ? AND key_id = ? AND revoked_at IS NULL"

KEY_USED = """
UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, :now), :now)
WHERE owner = :owner AND key_id = :key_id AND digest = :digest
"""

# ── jobs and leases ──────────────────────────────────────────────────────────────────────────────────

JOB = f"SELECT {JOB_COLUMNS} FROM jobs WHERE owner = ? AND kind = ? AND session_id = ?"

JOBS = f"SELECT {JOB_COLUMNS} FROM jobs WHERE owner = ? ORDER BY kind, session_id"

PUT_JOB = f"INSERT OR REPLACE INTO jobs (owner, {JOB_COLUMNS}) VALUES (?{', ?' * 10})"

DROP_JOB = "DELETE FROM jobs WHERE owner = ? AND kind = ? AND session_id = ?"

LEASE = """
INSERT INTO leases (owner, name, holder, until) VALUES (:owner, :name, :holder, :until)
ON CONFLICT (owner, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE owner = :owner AND (until <= :now OR holder = :holder)
"""

END_LEASE = "DELETE FROM leases WHERE owner = ? AND name = ? AND holder = ?"

ERASE = {
    "chunks": "DELETE FROM chunks WHERE owner = ?",
    "documents": "DELETE FROM documents WHERE owner = ?",
    "jobs": "DELETE FROM jobs WHERE owner = ?",
    "keys": "DELETE FROM api_keys WHERE owner = ?",
}

# ── without an owner ─────────────────────────────────────────────────────────────────────────────────

KEY_BY_DIGEST = f"SELECT {KEY_COLUMNS} FROM api_keys WHERE digest = ?"

KEYS_OF_TENANT = f"SELECT {KEY_COLUMNS} FROM api_keys WHERE tenant_id = ? ORDER BY created_at, key_id"

JOBS_OF_TENANT = f"SELECT {JOB_COLUMNS} FROM jobs WHERE tenant_id = ?"

_DUE = """due_at <= :now AND (leased_until IS NULL OR leased_until <= :now)
  AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))"""

ANYTHING_DUE = f"SELECT 1 FROM jobs WHERE {_DUE} LIMIT 1"

TAKE_JOBS = f"""
UPDATE jobs SET attempts = attempts + 1, leased_by = :worker, leased_until = :until
WHERE (owner, kind, session_id) IN (
    SELECT owner, kind, session_id FROM jobs WHERE {_DUE} ORDER BY due_at, owner, kind, session_id LIMIT :limit
)
RETURNING {JOB_COLUMNS}
"""

STATS = "SELECT count(*) FROM documents WHERE owner IN (SELECT owner FROM owners WHERE tenant_id = :tenant_id)"

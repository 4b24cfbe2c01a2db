"""Documents, API keys, jobs and leases of the SQLite store: each method is one read or one write operation.

What may be written, and what happens to a job, is decided in `ricordo.stores.write_rules`.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from ricordo.records.service import ApiKey, Document, Job, JobStats, StoredChunk
from ricordo.records.turns import Owner
from ricordo.stores import write_rules
from ricordo.stores.derived_rows import CHUNK_ROWS, DOCUMENT_ROWS, JOB_ROWS, KEY_ROWS
from ricordo.stores.sqlite import documents_keys_jobs as sql
from ricordo.stores.sqlite import turn_statements
from ricordo.stores.sqlite.connections import OnDemandTables, SqlitePart, writing
from ricordo.stores.sqlite.database import WriteConnection
from ricordo.stores.turn_rows import ENDLESS, micros

# ── documents ────────────────────────────────────────────────────────────────────────────────────────

DOCUMENT = f"SELECT {DOCUMENT_ROWS.columns} FROM documents WHERE owner = ? AND document_id = ?"

DOCUMENTS = f"""
SELECT {DOCUMENT_ROWS.columns} FROM documents
WHERE owner = ? AND (created_at, document_id) < (?, ?)
ORDER BY created_at DESC, document_id DESC LIMIT ?
"""

ADD_DOCUMENT = f"INSERT INTO documents {DOCUMENT_ROWS.by_place()}"

DROP_DOCUMENT = "DELETE FROM documents WHERE owner = ? AND document_id = ?"

ADD_CHUNK = f"INSERT INTO chunks {CHUNK_ROWS.by_place()}"

ALL_CHUNKS = f"SELECT {CHUNK_ROWS.columns} FROM chunks WHERE owner = ? ORDER BY document_id, position"

CHUNKS = f"""
SELECT {CHUNK_ROWS.columns} FROM chunks
WHERE owner = ? AND document_id IN (SELECT value FROM json_each(?)) ORDER BY document_id, position
"""

CHUNK = f"SELECT {CHUNK_ROWS.columns} FROM chunks WHERE owner = ? AND chunk_id = ?"

CHUNKS_KNOWN = "SELECT chunk_id FROM chunks WHERE owner = ? AND chunk_id IN (SELECT value FROM json_each(?))"

DROP_CHUNKS = "DELETE FROM chunks WHERE owner = ? AND document_id = ?"

SET_VECTOR = "UPDATE chunks SET vector = ?, embedder = ? WHERE owner = ? AND chunk_id = ?"

# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────

ADD_KEY = f"INSERT INTO api_keys {KEY_ROWS.by_place()}"

REVOKE_KEY = "UPDATE api_keys SET revoked_at = ? WHERE owner = ? AND key_id = ? AND revoked_at IS NULL"

KEY_USED = """
UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, :now), :now)
WHERE owner = :owner AND key_id = :key_id AND digest = :digest
"""

# ── jobs and leases ──────────────────────────────────────────────────────────────────────────────────

JOB = f"SELECT {JOB_ROWS.columns} FROM jobs WHERE owner = ? AND kind = ? AND session_id = ?"

JOBS = f"SELECT {JOB_ROWS.columns} FROM jobs WHERE owner = ? ORDER BY kind, session_id"

PUT_JOB = f"INSERT OR REPLACE INTO jobs {JOB_ROWS.by_place()}"

DROP_JOB = "DELETE FROM jobs WHERE owner = ? AND kind = ? AND session_id = ?"

LEASE = """
INSERT INTO leases (owner, name, holder, until) VALUES (:owner, :name, :holder, :until)
ON CONFLICT (owner, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE owner = :owner AND (until <= :now OR holder = :holder)
"""

END_LEASE = "DELETE FROM leases WHERE owner = ? AND name = ? AND holder = ?"

# ── without an owner ─────────────────────────────────────────────────────────────────────────────────

KEY_BY_DIGEST = f"SELECT {KEY_ROWS.columns} FROM api_keys WHERE digest = ?"

KEYS_OF_TENANT = f"SELECT {KEY_ROWS.columns} FROM api_keys WHERE tenant_id = ? ORDER BY created_at, key_id"

JOBS_OF_TENANT = f"SELECT {JOB_ROWS.columns} FROM jobs WHERE tenant_id = ?"

_DUE = """due_at <= :now AND (leased_until IS NULL OR leased_until <= :now)
  AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))"""

ANYTHING_DUE = f"SELECT 1 FROM jobs WHERE {_DUE} LIMIT 1"

TAKE_JOBS = f"""
UPDATE jobs SET attempts = attempts + 1, leased_by = :worker, leased_until = :until
WHERE (owner, kind, session_id) IN (
    SELECT owner, kind, session_id FROM jobs WHERE {_DUE} ORDER BY due_at, owner, kind, session_id LIMIT :limit
)
RETURNING {JOB_ROWS.columns}
"""

STATS = "SELECT count(*) FROM documents WHERE owner IN (SELECT owner FROM owners WHERE tenant_id = :tenant_id)"


class SqliteDocuments(SqlitePart[OnDemandTables]):
    """Documents and their chunks."""

    @writing
    def put(self, writer: WriteConnection, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
        write_rules.check_document(document, chunks)
        key = owner.key.bytes
        rows = writer.execute(sql.DOCUMENT, (key, document.id)).fetchall()
        if write_rules.is_known(DOCUMENT_ROWS.first(rows), document):
            return False
        ids = json.dumps([chunk.id for chunk in chunks])
        write_rules.check_chunk_ids(name for (name,) in writer.execute(sql.CHUNKS_KNOWN, (key, ids)))
        writer.execute(turn_statements.ADD_OWNER, (key, owner.tenant_id, owner.user_id))
        writer.execute(sql.ADD_DOCUMENT, (key, *DOCUMENT_ROWS.write(document)))
        writer.executemany(sql.ADD_CHUNK, [(key, *CHUNK_ROWS.write(chunk)) for chunk in chunks])
        return True

    def page(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        place = (ENDLESS, "") if before is None else (micros(before.created_at), before.id)
        rows = self._database.rows(sql.DOCUMENTS, (owner.key.bytes, *place, max(0, min(limit, ENDLESS))))
        return [DOCUMENT_ROWS.read(row) for row in rows]

    def get(self, owner: Owner, document_id: str) -> Document | None:
        return DOCUMENT_ROWS.first(self._database.rows(sql.DOCUMENT, (owner.key.bytes, document_id)))

    def chunks(self, owner: Owner, document_ids: Sequence[str] | None = None) -> Sequence[StoredChunk]:
        if document_ids is None:
            rows = self._database.rows(sql.ALL_CHUNKS, (owner.key.bytes,))
        else:
            rows = self._database.rows(sql.CHUNKS, (owner.key.bytes, json.dumps(list(document_ids))))
        return [CHUNK_ROWS.read(row) for row in rows]

    def chunk(self, owner: Owner, chunk_id: str) -> StoredChunk | None:
        return CHUNK_ROWS.first(self._database.rows(sql.CHUNK, (owner.key.bytes, chunk_id)))

    @writing
    def delete(self, writer: WriteConnection, owner: Owner, document_id: str) -> bool:
        place = (owner.key.bytes, document_id)
        writer.execute(sql.DROP_CHUNKS, place)
        return writer.execute(sql.DROP_DOCUMENT, place).rowcount == 1

    def set_vectors(self, owner: Owner, embedder: str, vectors: Mapping[str, bytes]) -> int:
        rows = [(vector, embedder, owner.key.bytes, chunk_id) for chunk_id, vector in vectors.items()]
        if not rows:
            return 0
        return self._database.write(lambda writer: writer.executemany(sql.SET_VECTOR, rows).rowcount)


class SqliteKeys(SqlitePart[OnDemandTables]):
    """API keys."""

    @writing
    def put(self, writer: WriteConnection, key: ApiKey) -> None:
        known = writer.execute(sql.KEYS_OF_TENANT, (key.tenant_id,)).fetchall()
        known += writer.execute(sql.KEY_BY_DIGEST, (key.digest,)).fetchall()
        write_rules.check_key(key, map(KEY_ROWS.read, known))
        writer.execute(sql.ADD_KEY, (write_rules.key_owner(key).key.bytes, *KEY_ROWS.write(key)))

    def by_digest(self, digest: str) -> ApiKey | None:
        return KEY_ROWS.first(self._database.rows(sql.KEY_BY_DIGEST, (digest,)))

    def page(self, tenant_id: str) -> Sequence[ApiKey]:
        return [KEY_ROWS.read(row) for row in self._database.rows(sql.KEYS_OF_TENANT, (tenant_id,))]

    def revoke(self, tenant_id: str, key_id: str, now: datetime) -> ApiKey | None:
        found = next((key for key in self.page(tenant_id) if key.id == key_id), None)
        if found is None or found.revoked_at:
            return found
        place = (micros(now), write_rules.key_owner(found).key.bytes, key_id)
        self._database.write(lambda writer: writer.execute(sql.REVOKE_KEY, place))
        return self.by_digest(found.digest)

    def used(self, key: ApiKey, now: datetime) -> None:
        place = {
            "owner": write_rules.key_owner(key).key.bytes,
            "key_id": key.id,
            "digest": key.digest,
            "now": micros(now),
        }
        self._database.write(lambda writer: writer.execute(sql.KEY_USED, place))


class SqliteJobs(SqlitePart[OnDemandTables], write_rules.LeasedJobs):
    """The job queue, and leases."""

    @writing
    def enqueue(
        self,
        writer: WriteConnection,
        owner: Owner,
        kind: str,
        session_id: str,
        due_at: datetime,
        *,
        postpone: bool = False,
    ) -> bool:
        wish = write_rules.new_job(owner, kind, session_id, due_at)
        there = (owner.key.bytes, session_id)
        if session_id and not writer.execute(turn_statements.LAST_TURN_OF_SESSION, there).fetchall():
            return False
        stored = _job(writer, wish)
        wished = write_rules.enqueued(stored, wish, postpone=postpone)
        if wished != stored:
            _put_job(writer, wished)
        return True

    def take(
        self, worker: str, now: datetime, lease: timedelta, *, limit: int = 1, kinds: Sequence[str] | None = None
    ) -> Sequence[Job]:
        values = {
            "worker": worker,
            "now": micros(now),
            "until": micros(now + lease),
            "limit": max(0, limit),
            "kinds": None if kinds is None else json.dumps(list(kinds)),
        }
        if not self._database.rows(sql.ANYTHING_DUE, values):  # polling must not keep writers waiting
            return []
        rows = self._database.write(lambda writer: writer.execute(sql.TAKE_JOBS, values).fetchall())
        return write_rules.in_order([JOB_ROWS.read(row) for row in rows])

    def page(self, owner: Owner) -> Sequence[Job]:
        return [JOB_ROWS.read(row) for row in self._database.rows(sql.JOBS, (owner.key.bytes,))]

    def stats(self, tenant_id: str, now: datetime) -> JobStats:
        return write_rules.counted(map(JOB_ROWS.read, self._database.rows(sql.JOBS_OF_TENANT, (tenant_id,))), now)

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        values = {
            "owner": write_rules.CLUSTER.key.bytes,
            "name": name,
            "holder": holder,
            "now": micros(now),
            "until": micros(until),
        }
        return self._database.write(lambda writer: writer.execute(sql.LEASE, values).rowcount) == 1

    def end_lease(self, name: str, holder: str) -> bool:
        place = (write_rules.CLUSTER.key.bytes, name, holder)
        return self._database.write(lambda writer: writer.execute(sql.END_LEASE, place).rowcount) == 1

    def restore(self, jobs: Sequence[Job]) -> None:
        """Write jobs as they were elsewhere: for a backup."""
        if jobs:
            rows = [(job.owner.key.bytes, *JOB_ROWS.write(job)) for job in jobs]
            self._database.write(lambda writer: writer.executemany(sql.PUT_JOB, rows))

    @writing
    def change(self, writer: WriteConnection, job: Job, change: Callable[[Job], Job | None]) -> bool:
        """Write the next state of a job, if the worker still has its lease."""
        stored = _job(writer, job)
        if stored is None or not write_rules.holds(stored, job):
            return False
        after = change(stored)
        if after is None:
            writer.execute(sql.DROP_JOB, _place(job))
        else:
            _put_job(writer, after)
        return True


def _place(job: Job) -> tuple[bytes, str, str]:
    return job.owner.key.bytes, job.kind, job.session_id


def _job(connection: sqlite3.Connection, job: Job) -> Job | None:
    return JOB_ROWS.first(connection.execute(sql.JOB, _place(job)).fetchall())


def _put_job(writer: sqlite3.Connection, job: Job) -> None:
    writer.execute(sql.PUT_JOB, (job.owner.key.bytes, *JOB_ROWS.write(job)))

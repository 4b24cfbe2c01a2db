"""Documents, API keys, jobs and leases: their statements by name; each method is one read or one script.

`ricordo.stores.write_rules` decides what may be stored and what the next state of a job is. Looking up a key by its
digest and leasing jobs have row-level security settings of their own; everything else names an owner. The statements of
adapter items are in `ricordo.stores.items`.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ricordo.records.service import ApiKey, Document, Job, JobStats, StoredChunk
from ricordo.records.turns import Owner
from ricordo.stores import write_rules
from ricordo.stores.derived_rows import CHUNK_ROWS, DOCUMENT_ROWS, JOB_ROWS, KEY_ROWS
from ricordo.stores.postgres.people import add_owner, delete_idle_owner, first_row, lock_owner
from ricordo.stores.postgres.transaction import LONG_TIMEOUT, PostgresPart, Row, Transaction, as_bigint, script
from ricordo.stores.postgres.turn_statements import OF_SESSION
from ricordo.stores.turn_rows import ENDLESS, micros

Values = dict[str, Any]

# -- documents ---------------------------------------------------------------------------------------------------

DOCUMENT = f"""
    SELECT {DOCUMENT_ROWS.columns} FROM ricordo.documents WHERE owner = %(owner)s AND document_id = %(document_id)s
"""

DOCUMENTS = f"""
    SELECT {DOCUMENT_ROWS.columns} FROM ricordo.documents
    WHERE owner = %(owner)s AND (created_at, document_id) < (%(created_at)s, %(document_id)s::text)
    ORDER BY created_at DESC, document_id DESC LIMIT %(limit)s
"""

ADD_DOCUMENT = f"INSERT INTO ricordo.documents {DOCUMENT_ROWS.by_name()}"

DELETE_DOCUMENT = "DELETE FROM ricordo.documents WHERE owner = %(owner)s AND document_id = %(document_id)s"

ADD_CHUNK = f"INSERT INTO ricordo.chunks {CHUNK_ROWS.by_name()}"

CHUNKS = f"""
    SELECT {CHUNK_ROWS.columns} FROM ricordo.chunks
    WHERE owner = %(owner)s AND (%(document_ids)s::text[] IS NULL OR document_id = ANY(%(document_ids)s::text[]))
    ORDER BY document_id, position
"""

CHUNK = f"SELECT {CHUNK_ROWS.columns} FROM ricordo.chunks WHERE owner = %(owner)s AND chunk_id = %(chunk_id)s"

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

ADD_KEY = f"INSERT INTO ricordo.api_keys {KEY_ROWS.by_name()}"

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
SHARE_SESSION = f"SELECT session_id FROM ricordo.sessions WHERE {OF_SESSION} FOR KEY SHARE"

LOCK_JOB = f"""
    SELECT {JOB_ROWS.columns} FROM ricordo.jobs
    WHERE owner = %(owner)s AND kind = %(kind)s AND session_id = %(session_id)s FOR UPDATE
"""

JOBS = f"SELECT {JOB_ROWS.columns} FROM ricordo.jobs WHERE owner = %(owner)s ORDER BY kind, session_id"

ADD_JOB = f"INSERT INTO ricordo.jobs {JOB_ROWS.by_name()}"

SET_JOB = f"""
    {ADD_JOB}
    ON CONFLICT (owner, kind, session_id) DO UPDATE SET {JOB_ROWS.overwritten("kind", "session_id")}
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

# -- without an owner --------------------------------------------------------------------------------------------

KEY_BY_DIGEST = f"SELECT {KEY_ROWS.columns} FROM ricordo.api_keys WHERE digest = %(digest)s"

KEYS_OF_TENANT = f"""
    SELECT {KEY_ROWS.columns} FROM ricordo.api_keys WHERE tenant_id = %(tenant_id)s ORDER BY created_at, key_id
"""

ALL_KEYS = f"SELECT {KEY_ROWS.columns} FROM ricordo.api_keys ORDER BY tenant_id, key_id"

JOBS_OF_TENANT = f"SELECT {JOB_ROWS.columns} FROM ricordo.jobs WHERE tenant_id = %(tenant_id)s"

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
    RETURNING {JOB_ROWS.columns}
"""

WITHOUT_OWNER = ("KEY_BY_DIGEST", "KEYS_OF_TENANT", "ALL_KEYS", "JOBS_OF_TENANT", "TAKE_JOBS")


class PostgresDocuments(PostgresPart):
    """`DocumentStore` on PostgreSQL."""

    @script(timeout=LONG_TIMEOUT)
    def put(self, transaction: Transaction, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
        write_rules.check_document(document, chunks)
        row = {"owner": owner.key, **DOCUMENT_ROWS.named(document)}
        ids = {"owner": owner.key, "chunk_ids": [chunk.id for chunk in chunks]}
        taken = transaction.send(EXISTING_CHUNKS, ids)
        # Read after the chunks, so that no chunk is returned without its document.
        stored = transaction.send(DOCUMENT, row)
        found = stored.fetchone()
        if write_rules.is_known(DOCUMENT_ROWS.read(found) if found else None, document):
            transaction.rollback()
            return False
        write_rules.check_chunk_ids(chunk_id for (chunk_id,) in taken)
        owner_row = add_owner(transaction, owner)
        transaction.send(ADD_DOCUMENT, row)  # fails if another writer was faster; then the script runs again
        transaction.send_many(ADD_CHUNK, [{"owner": owner.key, **CHUNK_ROWS.named(chunk)} for chunk in chunks])
        first_row(owner_row)
        return True

    def page(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        place: Values = {"created_at": ENDLESS, "document_id": ""}
        if before is not None:
            place = {"created_at": micros(before.created_at), "document_id": before.id}
        rows = self._transactions.read(owner, DOCUMENTS, **place, limit=as_bigint(limit))
        return [DOCUMENT_ROWS.read(row) for row in rows]

    def get(self, owner: Owner, document_id: str) -> Document | None:
        return DOCUMENT_ROWS.first(self._transactions.read(owner, DOCUMENT, document_id=document_id))

    def chunks(self, owner: Owner, document_ids: Sequence[str] | None = None) -> Sequence[StoredChunk]:
        wanted = None if document_ids is None else list(document_ids)
        return [CHUNK_ROWS.read(row) for row in self._transactions.read(owner, CHUNKS, document_ids=wanted)]

    def chunk(self, owner: Owner, chunk_id: str) -> StoredChunk | None:
        return CHUNK_ROWS.first(self._transactions.read(owner, CHUNK, chunk_id=chunk_id))

    @script()
    def delete(self, transaction: Transaction, owner: Owner, document_id: str) -> bool:
        place = {"owner": owner.key, "document_id": document_id}
        if not lock_owner(transaction, owner):
            return False
        transaction.send(DELETE_CHUNKS, place)
        gone = transaction.send(DELETE_DOCUMENT, place)
        delete_idle_owner(transaction, owner)
        return transaction.count(gone) == 1

    def set_vectors(self, owner: Owner, embedder: str, vectors: Mapping[str, bytes]) -> int:
        values = {
            "owner": owner.key,
            "embedder": embedder,
            "chunk_ids": list(vectors),
            "vectors": list(vectors.values()),
        }
        return self._transactions.run_long(owner, lambda tx: tx.send(SET_VECTORS, values)).rowcount if vectors else 0


class PostgresKeys(PostgresPart):
    """`KeyStore` on PostgreSQL."""

    def put(self, key: ApiKey) -> None:
        owner = write_rules.key_owner(key)
        row = {"owner": owner.key, **KEY_ROWS.named(key)}
        security = self._transactions.security

        def put(transaction: Transaction) -> None:
            mine = transaction.send(KEYS_OF_TENANT, row)
            transaction.configure(security.for_digest(key.digest))
            same = transaction.send(KEY_BY_DIGEST, row)
            write_rules.check_key(key, map(KEY_ROWS.read, [*mine, *same]))
            transaction.configure(security.for_owner(owner.key))
            transaction.send(ADD_KEY, row)

        self._transactions.runner.run(security.for_tenant(key.tenant_id), put)

    def by_digest(self, digest: str) -> ApiKey | None:
        settings = self._transactions.security.for_digest(digest)
        return KEY_ROWS.first(self._transactions.read_with(settings, KEY_BY_DIGEST, digest=digest))

    def page(self, tenant_id: str) -> Sequence[ApiKey]:
        settings = self._transactions.security.for_tenant(tenant_id)
        rows = self._transactions.read_with(settings, KEYS_OF_TENANT, tenant_id=tenant_id)
        return [KEY_ROWS.read(row) for row in rows]

    def revoke(self, tenant_id: str, key_id: str, now: datetime) -> ApiKey | None:
        found = next((key for key in self.page(tenant_id) if key.id == key_id), None)
        if found is None or found.revoked_at:
            return found
        owner = write_rules.key_owner(found)
        values = {"owner": owner.key, "key_id": key_id, "now": micros(now)}
        self._transactions.run(owner, lambda tx: tx.send(REVOKE_KEY, values), repeatable=True)
        return self.by_digest(found.digest)

    def used(self, key: ApiKey, now: datetime) -> None:
        owner = write_rules.key_owner(key)
        values = {"owner": owner.key, "key_id": key.id, "digest": key.digest, "now": micros(now)}
        self._transactions.run(owner, lambda tx: tx.send(KEY_USED, values), repeatable=True)

    def every(self) -> list[ApiKey]:
        """The keys of all tenants, for a backup."""
        settings = self._transactions.security.for_backup()
        return [KEY_ROWS.read(row) for row in self._transactions.read_with(settings, ALL_KEYS)]


class PostgresJobs(PostgresPart, write_rules.LeasedJobs):
    """`JobStore` on PostgreSQL."""

    @script(repeatable=True)
    def enqueue(
        self,
        transaction: Transaction,
        owner: Owner,
        kind: str,
        session_id: str,
        due_at: datetime,
        *,
        postpone: bool = False,
    ) -> bool:
        wish = write_rules.new_job(owner, kind, session_id, due_at)
        place = _place(wish)
        session = transaction.send(SHARE_SESSION, place) if session_id else None
        stored = _locked(transaction, wish)
        if session is not None and session.fetchone() is None:
            transaction.rollback()
            return False
        wished = write_rules.enqueued(stored, wish, postpone=postpone)
        if stored is None:
            transaction.send(ADD_JOB, _job_row(wished))  # fails if another was faster; then the script runs again
        elif wished != stored:
            transaction.send(SET_JOB, _job_row(wished))
        return True

    def take(
        self, worker: str, now: datetime, lease: timedelta, *, limit: int = 1, kinds: Sequence[str] | None = None
    ) -> Sequence[Job]:
        values = {
            "worker": worker,
            "now": micros(now),
            "until": micros(now + lease),
            "limit": max(0, limit),
            "kinds": None if kinds is None else list(kinds),
        }
        settings = self._transactions.security.for_workers()
        rows = self._transactions.runner.run(settings, lambda tx: tx.send(TAKE_JOBS, values)).fetchall()
        return write_rules.in_order([JOB_ROWS.read(row) for row in rows])

    def change(self, job: Job, change: Callable[[Job], Job | None], /) -> bool:
        return self._transactions.run(job.owner, lambda tx: _change_job(tx, job, change))

    def page(self, owner: Owner) -> Sequence[Job]:
        return [JOB_ROWS.read(row) for row in self._transactions.read(owner, JOBS)]

    def stats(self, tenant_id: str, now: datetime) -> JobStats:
        settings = self._transactions.security.for_tenant(tenant_id)
        rows = self._transactions.read_with(settings, JOBS_OF_TENANT, tenant_id=tenant_id)
        return write_rules.counted(map(JOB_ROWS.read, rows), now)

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        values = {"name": name, "holder": holder, "now": micros(now), "until": micros(until)}
        return bool(self._transactions.read(write_rules.CLUSTER, LEASE, **values))

    def end_lease(self, name: str, holder: str) -> bool:
        return bool(self._transactions.read(write_rules.CLUSTER, END_LEASE, name=name, holder=holder))


def _change_job(transaction: Transaction, job: Job, change: Callable[[Job], Job | None]) -> bool:
    """Write the next state of a job, if the worker still has its lease."""
    stored = _locked(transaction, job)
    if stored is None or not write_rules.holds(stored, job):
        transaction.rollback()
        return False
    after = change(stored)
    if after is None:
        transaction.send(DELETE_JOB, _place(job))
    else:
        transaction.send(SET_JOB, _job_row(after))
    return True


def _locked(transaction: Transaction, job: Job) -> Job | None:
    row: Row | None = transaction.send(LOCK_JOB, _place(job)).fetchone()
    return JOB_ROWS.read(row) if row else None


def _place(job: Job) -> Values:
    return {"owner": job.owner.key, "kind": job.kind, "session_id": job.session_id}


def _job_row(job: Job) -> Values:
    return {"owner": job.owner.key, **JOB_ROWS.named(job)}

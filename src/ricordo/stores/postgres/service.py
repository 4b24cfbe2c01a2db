"""The store's documents, API keys, jobs and leases: each method is one read or one script.

What may be kept and what becomes of a job is decided in `ricordo.stores.write_rules`. A key that is
looked for by its digest and jobs that are taken for anybody have walls of their own; the rest is behind an owner's.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ricordo.records.service import ApiKey, Document, Job, JobStats, StoredChunk
from ricordo.records.turns import Owner
from ricordo.stores import write_rules
from ricordo.stores.derived_rows import (
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    JOB_COLUMNS,
    KEY_COLUMNS,
    chunk_to_row,
    document_to_row,
    job_to_row,
    key_to_row,
    row_to_chunk,
    row_to_document,
    row_to_job,
    row_to_key,
)
from ricordo.stores.postgres import person_operations, statements
from ricordo.stores.postgres import service_statements as sql
from ricordo.stores.postgres.row_security import LONG, Walled
from ricordo.stores.postgres.transaction import Row, Transaction
from ricordo.stores.turn_rows import ENDLESS, micros

Values = dict[str, Any]


class PostgresDocuments(Walled):
    """Documents and their chunks."""

    def put_document(self, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
        write_rules.check_document(document, chunks)
        return self._run(owner, lambda tx: _put_document(tx, owner, document, chunks), patience=LONG)

    def documents(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        place: Values = {"created_at": ENDLESS, "document_id": ""}
        if before is not None:
            place = {"created_at": micros(before.created_at), "document_id": before.id}
        rows = self._read(owner, sql.DOCUMENTS, **place, limit=max(0, min(limit, ENDLESS)))
        return [row_to_document(row) for row in rows]

    def document(self, owner: Owner, document_id: str) -> Document | None:
        rows = self._read(owner, sql.DOCUMENT, document_id=document_id)
        return row_to_document(rows[0]) if rows else None

    def chunks(self, owner: Owner, document_ids: Sequence[str] | None = None) -> Sequence[StoredChunk]:
        wanted = None if document_ids is None else list(document_ids)
        return [row_to_chunk(row) for row in self._read(owner, sql.CHUNKS, document_ids=wanted)]

    def chunk(self, owner: Owner, chunk_id: str) -> StoredChunk | None:
        rows = self._read(owner, sql.CHUNK, chunk_id=chunk_id)
        return row_to_chunk(rows[0]) if rows else None

    def delete_document(self, owner: Owner, document_id: str) -> bool:
        place = {"owner": owner.key, "document_id": document_id}

        def delete(transaction: Transaction) -> bool:
            transaction.send(sql.DELETE_CHUNKS, place)
            gone = transaction.send(sql.DELETE_DOCUMENT, place)
            person_operations.forget_idle_owner(transaction, owner)
            return transaction.count(gone) == 1

        return self._run(owner, delete)

    def set_chunk_vectors(self, owner: Owner, embedder: str, vectors: Mapping[str, bytes]) -> int:
        values = {
            "owner": owner.key,
            "embedder": embedder,
            "chunk_ids": list(vectors),
            "vectors": list(vectors.values()),
        }
        return self._patiently(owner, lambda tx: tx.send(sql.SET_VECTORS, values)).rowcount if vectors else 0


class PostgresKeys(Walled):
    """API keys."""

    def put_key(self, key: ApiKey) -> None:
        owner = write_rules.keeper_of(key)
        row = {"owner": owner.key, **_named(KEY_COLUMNS, key_to_row(key))}

        def put(transaction: Transaction) -> None:
            mine = transaction.send(sql.KEYS_OF_TENANT, row)
            transaction.within(self._wall.around_digest(key.digest))
            same = transaction.send(sql.KEY_BY_DIGEST, row)
            write_rules.check_key(key, map(row_to_key, [*mine, *same]))
            transaction.within(self._wall.around_owner(owner.key))
            transaction.send(sql.ADD_KEY, row)

        self._runner.run(self._wall.around_tenant(key.tenant_id), put)

    def key_by_digest(self, digest: str) -> ApiKey | None:
        rows = self._ask(self._wall.around_digest(digest), sql.KEY_BY_DIGEST, digest=digest)
        return row_to_key(rows[0]) if rows else None

    def keys(self, tenant_id: str) -> Sequence[ApiKey]:
        rows = self._ask(self._wall.around_tenant(tenant_id), sql.KEYS_OF_TENANT, tenant_id=tenant_id)
        return [row_to_key(row) for row in rows]

    def revoke_key(self, tenant_id: str, key_id: str, now: datetime) -> ApiKey | None:
        found = next((key for key in self.keys(tenant_id) if key.id == key_id), None)
        if found is None or found.revoked_at:
            return found
        owner = write_rules.keeper_of(found)
        values = {"owner": owner.key, "key_id": key_id, "now": micros(now)}
        self._run(owner, lambda tx: tx.send(sql.REVOKE_KEY, values), repeatable=True)
        return self.key_by_digest(found.digest)

    def key_used(self, key: ApiKey, now: datetime) -> None:
        owner = write_rules.keeper_of(key)
        values = {"owner": owner.key, "key_id": key.id, "digest": key.digest, "now": micros(now)}
        self._run(owner, lambda tx: tx.send(sql.KEY_USED, values), repeatable=True)

    def _all_keys(self) -> list[ApiKey]:
        return [row_to_key(row) for row in self._ask(self._wall.around_names(), sql.ALL_KEYS)]


class PostgresJobs(Walled):
    """Work that waits, and leases."""

    def enqueue(self, owner: Owner, kind: str, session_id: str, due_at: datetime, *, postpone: bool = False) -> bool:
        wish = write_rules.a_wish(owner, kind, session_id, due_at)
        return self._run(owner, lambda tx: _enqueue(tx, wish, postpone=postpone), repeatable=True)

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
        rows = self._runner.run(self._wall.around_workers(), lambda tx: tx.send(sql.TAKE_JOBS, values)).fetchall()
        return write_rules.in_order([row_to_job(row) for row in rows])

    def finish(self, job: Job) -> bool:
        return self._run(job.owner, lambda tx: _change_job(tx, job, write_rules.finished))

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        return self._run(
            job.owner, lambda tx: _change_job(tx, job, lambda stored: write_rules.failed(stored, error, retry_at))
        )

    def hand_back(self, job: Job) -> bool:
        return self._run(job.owner, lambda tx: _change_job(tx, job, write_rules.handed_back))

    def extend(self, job: Job, until: datetime) -> Job | None:
        held = self._run(job.owner, lambda tx: _change_job(tx, job, lambda stored: write_rules.extended(stored, until)))
        return write_rules.extended(job, until) if held else None

    def jobs(self, owner: Owner) -> Sequence[Job]:
        return [row_to_job(row) for row in self._read(owner, sql.JOBS)]

    def jobs_stats(self, tenant_id: str, now: datetime) -> JobStats:
        rows = self._ask(self._wall.around_tenant(tenant_id), sql.JOBS_OF_TENANT, tenant_id=tenant_id)
        return write_rules.counted(map(row_to_job, rows), now)

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        values = {"name": name, "holder": holder, "now": micros(now), "until": micros(until)}
        return bool(self._read(write_rules.CLUSTER, sql.LEASE, **values))

    def end_lease(self, name: str, holder: str) -> bool:
        return bool(self._read(write_rules.CLUSTER, sql.END_LEASE, name=name, holder=holder))


def _put_document(transaction: Transaction, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
    row = {"owner": owner.key, **_named(DOCUMENT_COLUMNS, document_to_row(document))}
    ids = {"owner": owner.key, "chunk_ids": [chunk.id for chunk in chunks]}
    taken = transaction.send(sql.CHUNKS_KNOWN, ids)
    # After the chunks: one that somebody commits in between is seen with its document, never without.
    stored = transaction.send(sql.DOCUMENT, row)
    found = stored.fetchone()
    if write_rules.is_known(row_to_document(found) if found else None, document):
        transaction.abandon()
        return False
    write_rules.check_chunk_ids(chunk_id for (chunk_id,) in taken)
    transaction.send(
        statements.KEEP_OWNER, {"owner": owner.key, "tenant_id": owner.tenant_id, "user_id": owner.user_id}
    )
    transaction.send(sql.ADD_DOCUMENT, row)  # whoever was faster makes this fail, and we look again
    transaction.send_many(
        sql.ADD_CHUNK, [{"owner": owner.key, **_named(CHUNK_COLUMNS, chunk_to_row(chunk))} for chunk in chunks]
    )
    return True


def _enqueue(transaction: Transaction, wish: Job, *, postpone: bool) -> bool:
    place = _place(wish)
    there = transaction.send(sql.SESSION_STAYS, place) if wish.session_id else None
    stored = _locked(transaction, wish)
    if there is not None and there.fetchone() is None:
        transaction.abandon()
        return False
    wished = write_rules.wished(stored, wish, postpone=postpone)
    if stored is None:
        transaction.send(sql.ADD_JOB, _job_row(wished))  # whoever was faster makes this fail, and we look again
    elif wished != stored:
        transaction.send(sql.SET_JOB, _job_row(wished))
    return True


def _change_job(transaction: Transaction, job: Job, change: Callable[[Job], Job | None]) -> bool:
    """Write what becomes of a job, if it is still the worker's."""
    stored = _locked(transaction, job)
    if stored is None or not write_rules.holds(stored, job):
        transaction.abandon()
        return False
    after = change(stored)
    if after is None:
        transaction.send(sql.DELETE_JOB, _place(job))
    else:
        transaction.send(sql.SET_JOB, _job_row(after))
    return True


def _locked(transaction: Transaction, job: Job) -> Job | None:
    row: Row | None = transaction.send(sql.LOCK_JOB, _place(job)).fetchone()
    return row_to_job(row) if row else None


def _place(job: Job) -> Values:
    return {"owner": job.owner.key, "kind": job.kind, "session_id": job.session_id}


def _job_row(job: Job) -> Values:
    return {"owner": job.owner.key, **_named(JOB_COLUMNS, job_to_row(job))}


def _named(columns: str, row: tuple[Any, ...]) -> Values:
    return dict(zip(columns.split(", "), row, strict=True))

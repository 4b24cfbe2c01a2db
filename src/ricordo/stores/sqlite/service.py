"""The SQLite store's documents, API keys, jobs and leases: each method is one read or one write operation.

What may be kept is decided in `ricordo.stores.write_rules`, what becomes of a job in `ricordo.stores.write_rules`.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from ricordo.records.service import ApiKey, Document, Job, JobStats, StoredChunk
from ricordo.records.turns import Owner
from ricordo.stores import write_rules
from ricordo.stores.derived_rows import (
    chunk_to_row,
    document_to_row,
    job_to_row,
    key_to_row,
    row_to_chunk,
    row_to_document,
    row_to_job,
    row_to_key,
)
from ricordo.stores.sqlite import service_statements as sql
from ricordo.stores.sqlite import statements
from ricordo.stores.sqlite.connections import Lending
from ricordo.stores.sqlite.database import make_serve, serves
from ricordo.stores.turn_rows import ENDLESS, micros

# Reads and writes of what a service keeps, in tables that are made when the first of it is written.

T = TypeVar("T")


class Serving(Lending):
    """The connections of an open store, for what a service keeps."""

    _serves = False  # tables that were seen stay

    def _serve(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run the operation in a write transaction that finds its tables."""

        def served(writer: sqlite3.Connection) -> T:
            if not self._serves:
                make_serve(writer)
            return operation(writer)

        result = self._connections.write(served)
        self._serves = True
        return result

    def _found(self, statement: str, values: Any) -> list[Any]:
        """The rows of a statement."""
        with self._reading() as reader:
            self._serves = self._serves or serves(reader)
            return reader.execute(statement, values).fetchall() if self._serves else []


class SqliteDocuments(Serving):
    """Documents and their chunks."""

    def put_document(self, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
        write_rules.check_document(document, chunks)
        key = owner.key.bytes

        def put(writer: sqlite3.Connection) -> bool:
            rows = writer.execute(sql.DOCUMENT, (key, document.id)).fetchall()
            if write_rules.is_known(row_to_document(rows[0]) if rows else None, document):
                return False
            ids = json.dumps([chunk.id for chunk in chunks])
            write_rules.check_chunk_ids(name for (name,) in writer.execute(sql.CHUNKS_KNOWN, (key, ids)))
            writer.execute(statements.ADD_OWNER, (key, owner.tenant_id, owner.user_id))
            writer.execute(sql.ADD_DOCUMENT, (key, *document_to_row(document)))
            writer.executemany(sql.ADD_CHUNK, [(key, *chunk_to_row(chunk)) for chunk in chunks])
            return True

        return self._serve(put)

    def documents(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        place = (ENDLESS, "") if before is None else (micros(before.created_at), before.id)
        rows = self._found(sql.DOCUMENTS, (owner.key.bytes, *place, max(0, min(limit, ENDLESS))))
        return [row_to_document(row) for row in rows]

    def document(self, owner: Owner, document_id: str) -> Document | None:
        rows = self._found(sql.DOCUMENT, (owner.key.bytes, document_id))
        return row_to_document(rows[0]) if rows else None

    def chunks(self, owner: Owner, document_ids: Sequence[str] | None = None) -> Sequence[StoredChunk]:
        if document_ids is None:
            rows = self._found(sql.ALL_CHUNKS, (owner.key.bytes,))
        else:
            rows = self._found(sql.CHUNKS, (owner.key.bytes, json.dumps(list(document_ids))))
        return [row_to_chunk(row) for row in rows]

    def chunk(self, owner: Owner, chunk_id: str) -> StoredChunk | None:
        rows = self._found(sql.CHUNK, (owner.key.bytes, chunk_id))
        return row_to_chunk(rows[0]) if rows else None

    def delete_document(self, owner: Owner, document_id: str) -> bool:
        place = (owner.key.bytes, document_id)

        def delete(writer: sqlite3.Connection) -> bool:
            writer.execute(sql.DROP_CHUNKS, place)
            return writer.execute(sql.DROP_DOCUMENT, place).rowcount == 1

        return self._serve(delete)

    def set_chunk_vectors(self, owner: Owner, embedder: str, vectors: Mapping[str, bytes]) -> int:
        rows = [(vector, embedder, owner.key.bytes, chunk_id) for chunk_id, vector in vectors.items()]
        if not rows:
            return 0
        return self._serve(lambda writer: writer.executemany(sql.SET_VECTOR, rows).rowcount)


class SqliteKeys(Serving):
    """API keys."""

    def put_key(self, key: ApiKey) -> None:
        def put(writer: sqlite3.Connection) -> None:
            known = writer.execute(sql.KEYS_OF_TENANT, (key.tenant_id,)).fetchall()
            known += writer.execute(sql.KEY_BY_DIGEST, (key.digest,)).fetchall()
            write_rules.check_key(key, map(row_to_key, known))
            writer.execute(sql.ADD_KEY, (write_rules.keeper_of(key).key.bytes, *key_to_row(key)))

        self._serve(put)

    def key_by_digest(self, digest: str) -> ApiKey | None:
        rows = self._found(sql.KEY_BY_DIGEST, (digest,))
        return row_to_key(rows[0]) if rows else None

    def keys(self, tenant_id: str) -> Sequence[ApiKey]:
        return [row_to_key(row) for row in self._found(sql.KEYS_OF_TENANT, (tenant_id,))]

    def revoke_key(self, tenant_id: str, key_id: str, now: datetime) -> ApiKey | None:
        found = next((key for key in self.keys(tenant_id) if key.id == key_id), None)
        if found is None or found.revoked_at:
            return found
        place = (micros(now), write_rules.keeper_of(found).key.bytes, key_id)
        self._serve(lambda writer: writer.execute(sql.REVOKE_KEY, place))
        return self.key_by_digest(found.digest)

    def key_used(self, key: ApiKey, now: datetime) -> None:
        place = {
            "owner": write_rules.keeper_of(key).key.bytes,
            "key_id": key.id,
            "digest": key.digest,
            "now": micros(now),
        }
        self._serve(lambda writer: writer.execute(sql.KEY_USED, place))


class SqliteJobs(Serving):
    """Work that waits, and leases."""

    def enqueue(self, owner: Owner, kind: str, session_id: str, due_at: datetime, *, postpone: bool = False) -> bool:
        wish = write_rules.a_wish(owner, kind, session_id, due_at)

        def put(writer: sqlite3.Connection) -> bool:
            there = (owner.key.bytes, session_id)
            if session_id and not writer.execute(statements.LAST_TURN_OF_SESSION, there).fetchall():
                return False
            stored = _job(writer, wish)
            wished = write_rules.wished(stored, wish, postpone=postpone)
            if wished != stored:
                _put_job(writer, wished)
            return True

        return self._serve(put)

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
        if not self._found(sql.ANYTHING_DUE, values):  # whoever asks every second does not keep writers waiting
            return []
        rows = self._serve(lambda writer: writer.execute(sql.TAKE_JOBS, values).fetchall())
        return write_rules.in_order([row_to_job(row) for row in rows])

    def finish(self, job: Job) -> bool:
        return self._change_job(job, write_rules.finished)

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        return self._change_job(job, lambda stored: write_rules.failed(stored, error, retry_at))

    def hand_back(self, job: Job) -> bool:
        return self._change_job(job, write_rules.handed_back)

    def extend(self, job: Job, until: datetime) -> Job | None:
        held = self._change_job(job, lambda stored: write_rules.extended(stored, until))
        return write_rules.extended(job, until) if held else None

    def jobs(self, owner: Owner) -> Sequence[Job]:
        return [row_to_job(row) for row in self._found(sql.JOBS, (owner.key.bytes,))]

    def jobs_stats(self, tenant_id: str, now: datetime) -> JobStats:
        return write_rules.counted(map(row_to_job, self._found(sql.JOBS_OF_TENANT, (tenant_id,))), now)

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        values = {
            "owner": write_rules.CLUSTER.key.bytes,
            "name": name,
            "holder": holder,
            "now": micros(now),
            "until": micros(until),
        }
        return self._serve(lambda writer: writer.execute(sql.LEASE, values).rowcount) == 1

    def end_lease(self, name: str, holder: str) -> bool:
        place = (write_rules.CLUSTER.key.bytes, name, holder)
        return self._serve(lambda writer: writer.execute(sql.END_LEASE, place).rowcount) == 1

    def restore_jobs(self, jobs: Sequence[Job]) -> None:
        """Write jobs as they were elsewhere: a backup's way in."""
        if jobs:
            rows = [(job.owner.key.bytes, *job_to_row(job)) for job in jobs]
            self._serve(lambda writer: writer.executemany(sql.PUT_JOB, rows))

    def _change_job(self, job: Job, change: Callable[[Job], Job | None]) -> bool:
        def put(writer: sqlite3.Connection) -> bool:
            stored = _job(writer, job)
            if stored is None or not write_rules.holds(stored, job):
                return False
            after = change(stored)
            if after is None:
                writer.execute(sql.DROP_JOB, _place(job))
            else:
                _put_job(writer, after)
            return True

        return self._serve(put)


def _place(job: Job) -> tuple[bytes, str, str]:
    return job.owner.key.bytes, job.kind, job.session_id


def _job(connection: sqlite3.Connection, job: Job) -> Job | None:
    rows = connection.execute(sql.JOB, _place(job)).fetchall()
    return row_to_job(rows[0]) if rows else None


def _put_job(writer: sqlite3.Connection, job: Job) -> None:
    writer.execute(sql.PUT_JOB, (job.owner.key.bytes, *job_to_row(job)))

"""Documents, chunks, API keys and jobs as database rows and back: what both SQL stores share."""

import json
from typing import Any

from ricordo.errors import DamageError
from ricordo.records import Owner, canonical
from ricordo.service import ApiKey, Document, Job, StoredChunk
from ricordo.stores.rows import micros, moment

DOCUMENT_COLUMNS = "document_id, title, kind, digest, created_at, chunk_count, bytes, metadata"
CHUNK_COLUMNS = "document_id, position, chunk_id, text, heading, start_at, end_at, page, vector, embedder"
KEY_COLUMNS = "key_id, tenant_id, user_id, name, digest, created_at, last_used_at, revoked_at, scopes"
JOB_COLUMNS = "kind, session_id, tenant_id, user_id, due_at, attempts, leased_until, leased_by, last_error, again_at"


def document_to_row(document: Document) -> tuple[Any, ...]:
    """Values for DOCUMENT_COLUMNS."""
    return (
        document.id,
        document.title,
        document.kind,
        document.digest,
        micros(document.created_at),
        document.chunk_count,
        document.bytes,
        canonical(document.metadata) if document.metadata else None,
    )


def row_to_document(row: Any) -> Document:
    """The document behind one row of DOCUMENT_COLUMNS."""
    document_id, title, kind, digest, created, chunk_count, size, metadata = row
    try:
        return Document(
            document_id, title, kind, digest, moment(created), chunk_count, size,
            json.loads(metadata) if metadata else {},
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"document {document_id!r} cannot be read back ({error}); delete and add it again") from error


def chunk_to_row(chunk: StoredChunk) -> tuple[Any, ...]:
    """Values for CHUNK_COLUMNS."""
    return (
        chunk.document_id,
        chunk.position,
        chunk.id,
        chunk.text,
        chunk.heading,
        chunk.start,
        chunk.end,
        chunk.page,
        chunk.vector,
        chunk.embedder,
    )


def row_to_chunk(row: Any) -> StoredChunk:
    """The chunk behind one row of CHUNK_COLUMNS."""
    document_id, position, chunk_id, text, heading, start, end, page, vector, embedder = row
    body = None if vector is None else bytes(vector)
    return StoredChunk(chunk_id, document_id, position, text, heading, start, end, page, body, embedder)


def key_to_row(key: ApiKey) -> tuple[Any, ...]:
    """Values for KEY_COLUMNS."""
    return (
        key.id,
        key.tenant_id,
        key.user_id,
        key.name,
        key.digest,
        micros(key.created_at),
        None if key.last_used_at is None else micros(key.last_used_at),
        None if key.revoked_at is None else micros(key.revoked_at),
        canonical(key.scopes),
    )


def row_to_key(row: Any) -> ApiKey:
    """The key behind one row of KEY_COLUMNS."""
    key_id, tenant_id, user_id, name, digest, created, used, revoked, scopes = row
    try:
        return ApiKey(
            key_id, tenant_id, user_id, name, digest, moment(created),
            None if used is None else moment(used), None if revoked is None else moment(revoked),
            tuple(json.loads(scopes)),
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"API key {key_id!r} cannot be read back ({error}); make a new one") from error


def job_to_row(job: Job) -> tuple[Any, ...]:
    """Values for JOB_COLUMNS."""
    return (
        job.kind,
        job.session_id,
        job.owner.tenant_id,
        job.owner.user_id,
        None if job.due_at is None else micros(job.due_at),
        job.attempts,
        None if job.leased_until is None else micros(job.leased_until),
        job.leased_by,
        job.last_error,
        None if job.again_at is None else micros(job.again_at),
    )


def row_to_job(row: Any) -> Job:
    """The job behind one row of JOB_COLUMNS."""
    kind, session_id, tenant_id, user_id, due, attempts, until, leased_by, last_error, again = row
    return Job(
        Owner(tenant_id, user_id), kind, session_id, None if due is None else moment(due), attempts,
        None if until is None else moment(until), leased_by, last_error, None if again is None else moment(again),
    )  # fmt: skip

"""What may be kept as a document or a key: the decisions every store shares, without a database."""

from collections.abc import Iterable, Sequence

from ricordo.errors import ConflictError, ValidationError
from ricordo.records import RESERVED, Owner
from ricordo.service import ApiKey, Document, StoredChunk


def check_document(document: Document, chunks: Sequence[StoredChunk]) -> None:
    """Refuse chunks that are not those of the document."""
    if len(chunks) != document.chunk_count:
        raise ValidationError(
            "chunk_count", f"document {document.id!r} says {document.chunk_count} chunks, {len(chunks)} came"
        )
    for chunk in chunks:
        if chunk.document_id != document.id:
            raise ValidationError("document_id", f"chunk {chunk.id!r} is of document {chunk.document_id!r}")
    for what in ([chunk.id for chunk in chunks], [chunk.position for chunk in chunks]):
        if len(set(what)) != len(what):
            raise ValidationError("chunks", f"document {document.id!r} has two chunks of one id or position")


def is_known(stored: Document | None, document: Document) -> bool:
    """Whether the same document is there; ConflictError if another one has its id."""
    if stored is None:
        return False
    if stored.digest != document.digest:
        raise ConflictError(
            f"document id {document.id!r} is taken by other content; delete that document first, or use a new id"
        )
    return True


def check_chunk_ids(taken: Iterable[str]) -> None:
    """Refuse chunks whose ids other documents use."""
    for chunk_id in taken:
        raise ConflictError(f"chunk id {chunk_id!r} is taken by another document; give every chunk an id of its own")


def keeper_of(key: ApiKey) -> Owner:
    """Whose a key is: its user's, or the tenant's own."""
    return Owner(key.tenant_id, f"{RESERVED}tenant" if key.user_id is None else key.user_id)


def check_key(key: ApiKey, others: Iterable[ApiKey]) -> None:
    """Refuse a key whose id or digest is taken."""
    for other in others:
        if other.id == key.id or other.digest == key.digest:
            raise ConflictError(f"API key {key.id!r} is there already, or its secret is; make a new one")

"""The documents of a tenant: add them, cut them into chunks, and find chunks for a question.

A user reads their own documents and those of the tenant's library. Chunks are found by words at once. Their vectors
are made in batches with the first question after a document was added, and stored with the chunks.
"""

import hashlib
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ricordo.documents.chunks import Kind, Piece, as_chunk, chunk
from ricordo.documents.pdf import read_pdf
from ricordo.documents.retrieval import PieceIndex
from ricordo.engine.protocols import Clock
from ricordo.errors import NotFoundError, RicordoError, ValidationError
from ricordo.limits import Limits, check_id, check_text
from ricordo.recall.embedders.protocol import Embedder
from ricordo.recall.quantization import Vectors
from ricordo.records.lru import LRU
from ricordo.records.prompt import Asked
from ricordo.records.service import Document, StoredChunk
from ricordo.records.turns import Chunk, Owner, library_of
from ricordo.settings import Settings
from ricordo.stores.service_protocols import DocumentStore

INDEXES = 64  # indexes kept in memory; the least recently used one is evicted
EMBED_BATCH = 64


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that was found, with its document and its score."""

    chunk: Chunk
    score: float | None = None
    document_id: str | None = None
    title: str | None = None


class LibraryParts(Protocol):
    """The parts that a library uses; a `Memory` has them."""

    @property
    def settings(self) -> Settings:
        """The tenant and the limits."""
        ...

    @property
    def clock(self) -> Clock:
        """The time a document is added."""
        ...

    @property
    def embedder(self) -> Embedder:
        """Embeds chunks and questions; may be loaded on first use."""
        ...


class DocumentQuery(Protocol):
    """Whose documents are searched, and which of them; a `ChatRequest` is one."""

    @property
    def user_id(self) -> str:
        """The user who asks."""
        ...

    @property
    def document_ids(self) -> Sequence[str] | None:
        """The documents to search; None for all that the user may read."""
        ...


@dataclass(frozen=True, slots=True)
class _ReadableIndex:
    """The index over one set of readable documents, with titles by document id and document ids by chunk id."""

    index: PieceIndex
    titles: dict[str, str]
    documents: dict[str, str]


class Library:
    """The documents of a tenant and of its users. Thread-safe."""

    def __init__(self, parts: LibraryParts, documents: DocumentStore) -> None:
        self._parts = parts
        self._documents = documents
        self._indexes: LRU[tuple[str, ...], _ReadableIndex] = LRU(INDEXES)  # by embedder and document digests
        self._lock = threading.Lock()

    def add(
        self, owner: Owner, title: str, content: str | bytes, kind: Kind = "markdown", document_id: str | None = None
    ) -> tuple[Document, bool]:
        """Store a document; returns it and whether it is new. Adding the same content again changes nothing."""
        limits = self._parts.settings.limits
        check_text("title", title, limits)
        if kind == "pdf":
            if not isinstance(content, bytes):
                raise ValidationError("content", "a PDF is bytes")
            pages = read_pdf(content, title).replace("\0", "")
            size, digest = len(content), hashlib.sha256(content).hexdigest()
            name = check_id("id", document_id or f"doc-{digest[:12]}")
            pieces = chunk(pages, kind, name, title)
        else:
            text = check_text("text", _text(content), Limits(text_bytes=sys.maxsize), may_be_blank=True)
            size, digest = len(text.encode()), hashlib.sha256(text.encode()).hexdigest()
            name = check_id("id", document_id or f"doc-{digest[:12]}")
            pieces = chunk(text, kind, name, title)
        if not pieces:
            raise ValidationError("content", f"{title!r} holds no text")
        document = Document(name, title, kind, digest, self._parts.clock.now(), len(pieces), size)
        new = self._documents.put(owner, document, [_stored(piece, name) for piece in pieces])
        return (document if new else self._documents.get(owner, name) or document), new

    def readable(self, owner: Owner) -> tuple[Owner, ...]:
        """The owners whose documents a user may read: the user and the tenant's library."""
        return (owner, library_of(owner.tenant_id))

    def document(self, owner: Owner, document_id: str) -> tuple[Document, Owner]:
        """One document that a user may read, and its owner."""
        for holder in self.readable(owner):
            if found := self._documents.get(holder, document_id):
                return found, holder
        raise NotFoundError("there is no such document for this user")

    def documents(self, owner: Owner, limit: int = 200, before: Document | None = None) -> list[tuple[Document, Owner]]:
        """The documents a user may read, newest first, ties by id; `before` is the last one of the previous page."""
        found = [
            (each, holder)
            for holder in self.readable(owner)
            for each in self._documents.page(holder, limit=limit, before=before)
        ]
        return sorted(found, key=lambda pair: (pair[0].created_at, pair[0].id), reverse=True)[:limit]

    def chunk(self, owner: Owner, chunk_id: str) -> tuple[StoredChunk, Document, Owner]:
        """One chunk with its document and its owner."""
        for holder in self.readable(owner):
            if found := self._documents.chunk(holder, chunk_id):
                document = self._documents.get(holder, found.document_id)
                if document:
                    return found, document, holder
        raise NotFoundError("there is no such chunk for this user")

    def find(self, request: DocumentQuery, asked: Asked, limit: int) -> Sequence[Passage]:
        """The chunks that a reference cites, then the best matches for the question."""
        owner = Owner(self._parts.settings.tenant_id, request.user_id)
        readable = self._index(owner)
        wanted = set(request.document_ids or ())
        vector = self._question_vector(asked.question) if len(readable.index) else None
        found = readable.index.rank(asked.question, question_vector=vector, limit=4 * limit if wanted else limit)
        cited = [chunk_id for reference in asked.references for chunk_id in reference.chunk_ids]
        ranked = [(each.piece, each.score) for each in found]
        named = {piece.id: piece for piece in readable.index.pieces} if cited else {}
        first = [(named[each], 1.0) for each in dict.fromkeys(cited) if each in named]
        known = {piece.id for piece, _ in first}
        passages = [
            Passage(as_chunk(piece), score, readable.documents[piece.id], readable.titles[readable.documents[piece.id]])
            for piece, score in [*first, *(pair for pair in ranked if pair[0].id not in known)]
            if not wanted or readable.documents[piece.id] in wanted
        ]
        return passages[:limit]

    def _index(self, owner: Owner) -> _ReadableIndex:
        """The index over what a user may read, rebuilt when a document was added or removed.

        Users who read the same documents share one index.
        """
        owners = self.readable(owner)
        listed = [(each, holder) for holder in owners for each in self._documents.page(holder, limit=10_000)]
        embedder = self._parts.embedder.name
        key = (embedder, *(f"{holder.key}/{each.id}/{each.digest}" for each, holder in listed))
        with self._lock:
            if known := self._indexes.get(key):
                return known
        chunks = [(each, holder) for holder in owners for each in self._documents.chunks(holder)]
        pieces = [_piece(each) for each, _ in chunks]
        built = _ReadableIndex(
            PieceIndex(pieces, self._vectors(chunks, embedder)),
            {each.id: each.title for each, _ in listed},
            {each.id: each.document_id for each, _ in chunks},
        )
        with self._lock:
            self._indexes.put(key, built)
        return built

    def _vectors(self, chunks: Sequence[tuple[StoredChunk, Owner]], embedder: str) -> Vectors | None:
        """A vector for each chunk; missing ones are embedded and stored. None if the embedder fails."""
        missing = [(each, holder) for each, holder in chunks if each.vector is None or each.embedder != embedder]
        made: dict[str, bytes] = {}
        for start in range(0, len(missing), EMBED_BATCH):
            batch = missing[start : start + EMBED_BATCH]
            try:
                vectors = self._parts.embedder.embed_passages([f"{each.heading}\n{each.text}" for each, _ in batch])
            except RicordoError:  # search by words alone until the embedder works again
                return None
            fresh = {each.id: row.astype(np.float16).tobytes() for (each, _), row in zip(batch, vectors, strict=True)}
            made |= fresh
            for holder in {holder for _, holder in batch}:
                own = {each.id: fresh[each.id] for each, its in batch if its == holder}
                self._documents.set_vectors(holder, embedder, own)
        rows = [made.get(each.id) or each.vector or b"" for each, _ in chunks]
        if not rows:
            return None
        return np.stack([np.frombuffer(row, dtype=np.float16).astype(np.float32) for row in rows])

    def _question_vector(self, question: str) -> Vectors | None:
        try:
            return self._parts.embedder.embed_query(question)
        except RicordoError:
            return None


def _text(content: str | bytes) -> str:
    if isinstance(content, str):
        return content
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValidationError("content", "the file is not UTF-8 text; save it as UTF-8") from error


def _stored(piece: Piece, document_id: str) -> StoredChunk:
    return StoredChunk(
        piece.id, document_id, piece.position, piece.text, piece.heading, piece.start, piece.end, piece.page
    )


def _piece(stored: StoredChunk) -> Piece:
    return Piece(stored.id, stored.position, stored.text, stored.heading, stored.start, stored.end, stored.page)

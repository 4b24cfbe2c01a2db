"""Documents that a chat may quote: added, cut into chunks, found by a question.

A user reads their own documents and those of the tenant's library. Words are found at once; vectors are made with the
first question after a document came, a bounded number at a time, and kept with the chunks.
"""

import hashlib
import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ricordo.chat.events import Offered
from ricordo.chat.response import ChatRequest
from ricordo.documents.chunks import Kind, Piece, as_chunk, chunk
from ricordo.documents.pdf import read_pdf
from ricordo.documents.retrieval import PieceIndex
from ricordo.errors import NotFoundError, RicordoError, ValidationError
from ricordo.limits import Limits, check_id, check_text
from ricordo.memory import Memory
from ricordo.prompt.context import Asked
from ricordo.recall.quantization import Vectors
from ricordo.records.service import Document, StoredChunk
from ricordo.records.turns import Chunk, Owner, library_of
from ricordo.stores.protocols import Store

INDEXES = 64  # sets of documents whose index is kept in memory; the one that was asked longest ago goes first
EMBEDDED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that was found, with where it comes from and how well it fits."""

    chunk: Chunk
    score: float | None = None
    document_id: str | None = None
    title: str | None = None

    def offered(self) -> Offered:
        """As it is shown beside an answer."""
        return Offered(self.chunk.id, self.chunk.text, self.score, self.document_id, self.title)


class Passages(Protocol):
    """Whatever finds passages for a question: our library, or the application's own search."""

    def find(self, request: ChatRequest, asked: Asked, limit: int) -> Sequence[Passage]:
        """At most `limit` passages, best first."""
        ...


@dataclass(frozen=True, slots=True)
class _Shelf:
    """Chunks ready to be searched."""

    index: PieceIndex
    titles: dict[str, str]
    documents: dict[str, str]


class Library:
    """The documents of a tenant and of its users. Thread-safe."""

    def __init__(self, memory: Memory, store: Store) -> None:
        self._memory = memory
        self._store = store
        self._shelves: OrderedDict[tuple[str, ...], _Shelf] = OrderedDict()  # by what stands on them
        self._lock = threading.Lock()

    def add(
        self, owner: Owner, title: str, content: str | bytes, kind: Kind = "markdown", document_id: str | None = None
    ) -> tuple[Document, bool]:
        """Keep a document; it comes back with whether it is new. The same content again changes nothing."""
        limits = self._memory.settings.limits
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
        document = Document(name, title, kind, digest, self._memory.clock.now(), len(pieces), size)
        new = self._store.documents.put(owner, document, [_stored(piece, name) for piece in pieces])
        return (document if new else self._store.documents.get(owner, name) or document), new

    def readable(self, owner: Owner) -> tuple[Owner, ...]:
        """Whose documents a user reads: their own, and the tenant's library."""
        return (owner, library_of(owner.tenant_id))

    def document(self, owner: Owner, document_id: str) -> tuple[Document, Owner]:
        """One document that a user may read, and whose it is."""
        for shelf in self.readable(owner):
            if found := self._store.documents.get(shelf, document_id):
                return found, shelf
        raise NotFoundError("there is no such document for this user")

    def documents(self, owner: Owner, limit: int = 200, before: Document | None = None) -> list[tuple[Document, Owner]]:
        """What a user may read, newest first, ties by id; `before` is the last one of the page before."""
        found = [
            (each, shelf)
            for shelf in self.readable(owner)
            for each in self._store.documents.page(shelf, limit=limit, before=before)
        ]
        return sorted(found, key=lambda pair: (pair[0].created_at, pair[0].id), reverse=True)[:limit]

    def chunk(self, owner: Owner, chunk_id: str) -> tuple[StoredChunk, Document, Owner]:
        """One chunk with its document."""
        for shelf in self.readable(owner):
            if found := self._store.documents.chunk(shelf, chunk_id):
                document = self._store.documents.get(shelf, found.document_id)
                if document:
                    return found, document, shelf
        raise NotFoundError("there is no such chunk for this user")

    def find(self, request: ChatRequest, asked: Asked, limit: int) -> Sequence[Passage]:
        """The chunks that a reference cites, then those that speak to the question."""
        owner = Owner(self._memory.settings.tenant_id, request.user_id)
        shelf = self._shelf(owner)
        wanted = set(request.document_ids or ())
        vector = self._question_vector(asked.question) if len(shelf.index) else None
        found = shelf.index.rank(asked.question, question_vector=vector, limit=4 * limit if wanted else limit)
        cited = [chunk_id for reference in asked.references for chunk_id in reference.chunk_ids]
        ranked = [(each.piece, each.score) for each in found]
        named = {piece.id: piece for piece in shelf.index.pieces} if cited else {}
        first = [(named[each], 1.0) for each in dict.fromkeys(cited) if each in named]
        known = {piece.id for piece, _ in first}
        passages = [
            Passage(as_chunk(piece), score, shelf.documents[piece.id], shelf.titles[shelf.documents[piece.id]])
            for piece, score in [*first, *(pair for pair in ranked if pair[0].id not in known)]
            if not wanted or shelf.documents[piece.id] in wanted
        ]
        return passages[:limit]

    def _shelf(self, owner: Owner) -> _Shelf:
        """What a user may read, indexed; made anew when a document came or went.

        All who read the same documents share one: a library is indexed once, however many ask it.
        """
        owners = self.readable(owner)
        listed = [(each, whose) for whose in owners for each in self._store.documents.page(whose, limit=10_000)]
        embedder = self._memory.embedder.name
        mark = (embedder, *(f"{whose.key}/{each.id}/{each.digest}" for each, whose in listed))
        with self._lock:
            if known := self._shelves.get(mark):
                self._shelves.move_to_end(mark)
                return known
        chunks = [(each, whose) for whose in owners for each in self._store.documents.chunks(whose)]
        pieces = [_piece(each) for each, _ in chunks]
        shelf = _Shelf(
            PieceIndex(pieces, self._vectors(chunks, embedder)),
            {each.id: each.title for each, _ in listed},
            {each.id: each.document_id for each, _ in chunks},
        )
        with self._lock:
            self._shelves[mark] = shelf
            while len(self._shelves) > INDEXES:
                self._shelves.popitem(last=False)
        return shelf

    def _vectors(self, chunks: Sequence[tuple[StoredChunk, Owner]], embedder: str) -> Vectors | None:
        """A vector for each chunk, made and kept where there is none by this embedder; None without an embedder."""
        missing = [(each, whose) for each, whose in chunks if each.vector is None or each.embedder != embedder]
        made: dict[str, bytes] = {}
        for start in range(0, len(missing), EMBEDDED_AT_ONCE):
            batch = missing[start : start + EMBEDDED_AT_ONCE]
            try:
                vectors = self._memory.embedder.embed_passages([f"{each.heading}\n{each.text}" for each, _ in batch])
            except RicordoError:  # words alone answer until the embedder is back
                return None
            fresh = {each.id: row.astype(np.float16).tobytes() for (each, _), row in zip(batch, vectors, strict=True)}
            made |= fresh
            for whose in {whose for _, whose in batch}:
                own = {each.id: fresh[each.id] for each, its in batch if its == whose}
                self._store.documents.set_vectors(whose, embedder, own)
        rows = [made.get(each.id) or each.vector or b"" for each, _ in chunks]
        if not rows:
            return None
        return np.stack([np.frombuffer(row, dtype=np.float16).astype(np.float32) for row in rows])

    def _question_vector(self, question: str) -> Vectors | None:
        try:
            return self._memory.embedder.embed_query(question)
        except RicordoError:
            return None


def _text(content: str | bytes) -> str:
    if isinstance(content, str):
        return content
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValidationError("content", "the file is no UTF-8 text; save it as UTF-8") from error


def _stored(piece: Piece, document_id: str) -> StoredChunk:
    return StoredChunk(
        piece.id, document_id, piece.position, piece.text, piece.heading, piece.start, piece.end, piece.page
    )


def _piece(stored: StoredChunk) -> Piece:
    return Piece(stored.id, stored.position, stored.text, stored.heading, stored.start, stored.end, stored.page)

"""The documents of a tenant: add them, cut them into chunks, and find chunks for a question.

A user reads their own documents and those of the tenant's library. Chunks are found by words at once. Their vectors
are made in batches with the first question after a document was added, and stored with the chunks.
"""

import hashlib
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ricordo.documents.chunks import PATH, Kind, Piece, chunk, read_pdf
from ricordo.engine import Clock
from ricordo.engine.core import LRU
from ricordo.errors import NotFoundError, RicordoError, ValidationError
from ricordo.limits import Limits, check_id, check_text
from ricordo.recall.embedders import Embedder
from ricordo.recall.evidence import hashed, question_words, snowball_stems
from ricordo.recall.quantization import Vectors
from ricordo.records.service import Document, StoredChunk
from ricordo.records.turns import Asked, Chunk, Owner, library_of
from ricordo.settings import Settings
from ricordo.stores.service_protocols import DocumentStore

# BM25 parameters k1 and b.
_K1, _B = 1.2, 0.6
_HEADING = 0.8  # term frequency of a word that is only in the heading
_SMOOTHING_PIECES = 20  # added to the number of pieces, to smooth IDF for small sets
_MEANING = 0.5  # share of the score, if there are vectors
_SPREAD = 2.0  # standard deviations below the mean at which a cosine counts 0


@dataclass(frozen=True, slots=True)
class RetrievedPiece:
    """A piece with its score from 0 to 1 and the reasons in words."""

    piece: Piece
    score: float
    reasons: tuple[str, ...]


class PieceIndex:
    """An immutable index over the words and vectors of some pieces.

    `vectors` has one row per piece: of unit length, or zeros if the piece has none yet.
    """

    def __init__(self, pieces: Sequence[Piece], vectors: Vectors | None = None) -> None:
        if vectors is not None and len(vectors) != len(pieces):
            raise ValueError(f"{len(pieces)} pieces need as many vectors, not {len(vectors)}")
        self.pieces = tuple(pieces)
        self._vectors = vectors
        said: dict[int, dict[int, float]] = {}
        lengths = np.ones(len(self.pieces), dtype=np.float32)
        for row, piece in enumerate(self.pieces):
            words = [hashed(stem) for stem in snowball_stems(piece.text)]
            lengths[row] = max(1, len(words))
            for word in words:
                holders = said.setdefault(word, {})
                holders[row] = holders.get(row, 0.0) + 1.0
            # The heading is stemmed separately, because the language is guessed from the text.
            for word in {hashed(stem) for stem in snowball_stems(piece.heading)} - set(words):
                said.setdefault(word, {})[row] = _HEADING
        self._postings = {word: _posting(holders) for word, holders in said.items()}
        self._norm = _K1 * (1 - _B + _B * lengths / (float(lengths.mean()) if len(lengths) else 1.0))

    def __len__(self) -> int:
        return len(self.pieces)

    def rank(
        self, question: str, *, question_vector: Vectors | None = None, limit: int = 8
    ) -> tuple[RetrievedPiece, ...]:
        """The best pieces for a question, best first; pieces without a match are left out."""
        if not self.pieces or limit < 1:
            return ()
        words, matches = self._by_words(question)
        meaning = self._by_meaning(question_vector)
        scores = words
        if meaning is not None:
            # A piece without a vector gets its word score.
            scaled = np.where(np.isnan(meaning), words, _scaled(meaning))
            scores = ((1 - _MEANING) * words + _MEANING * scaled).astype(np.float32)
        order = sorted(np.flatnonzero(scores > 0), key=lambda row: (-float(scores[row]), int(row)))
        return tuple(
            RetrievedPiece(self.pieces[row], round(float(scores[row]), 6), _reasons(int(row), matches, meaning))
            for row in order[:limit]
        )

    def _by_words(self, question: str) -> tuple[Vectors, dict[str, NDArray[np.int64]]]:
        """BM25 as a share of the score of a piece that contains every word of the question."""
        total = np.zeros(len(self.pieces), dtype=np.float32)
        matches: dict[str, NDArray[np.int64]] = {}
        asked = 0.0
        for word, variants in question_words(question):
            rows, times = self._holders(variants)
            worth = _idf(len(self.pieces) + _SMOOTHING_PIECES, len(rows))
            asked += worth
            if len(rows):
                matches[word] = rows
                total[rows] += np.float32(worth * (_K1 + 1)) * times / (times + self._norm[rows])
        return (np.minimum(total / np.float32(asked), np.float32(1)) if asked > 0 else total), matches

    def _holders(self, variants: Sequence[int]) -> tuple[NDArray[np.int64], Vectors]:
        found = [self._postings[word] for word in variants if word in self._postings]
        if len(found) == 1:
            return found[0]
        merged: dict[int, float] = {}
        for rows, times in found:
            for row, count in zip(rows.tolist(), times.tolist(), strict=True):
                merged[row] = max(merged.get(row, 0.0), count)
        return _posting(merged)

    def _by_meaning(self, question_vector: Vectors | None) -> Vectors | None:
        """The cosine with each piece, NaN for a piece without vector; None without vectors."""
        if self._vectors is None or question_vector is None or not np.any(question_vector):
            return None
        near: Vectors = self._vectors @ question_vector
        return np.where(self._vectors.any(axis=1), near, np.float32(np.nan))


def rank(
    question: str,
    pieces: Sequence[Piece],
    *,
    vectors: Vectors | None = None,
    question_vector: Vectors | None = None,
    limit: int = 8,
) -> tuple[RetrievedPiece, ...]:
    """Like `PieceIndex(pieces, vectors).rank(…)`, for a set that is searched once."""
    return PieceIndex(pieces, vectors).rank(question, question_vector=question_vector, limit=limit)


def _posting(holders: Mapping[int, float]) -> tuple[NDArray[np.int64], Vectors]:
    return np.array(list(holders), dtype=np.int64), np.array(list(holders.values()), dtype=np.float32)


def _idf(count: int, holders: int) -> float:
    return float(np.log(1 + (count - holders + 0.5) / (holders + 0.5)))


def _scaled(meaning: Vectors) -> Vectors:
    """Cosines scaled from well below the mean (0) to the best (1); fewer than three pieces keep their cosine."""
    known = meaning[~np.isnan(meaning)]
    if not len(known):
        return np.zeros_like(meaning)
    top = float(known.max())
    low = float(known.mean()) - _SPREAD * float(known.std())
    if len(known) < 3 or top - low < 1e-6:
        return np.clip(meaning, 0, 1)
    # The best piece gets no more than its own cosine.
    worth = min(1.0, max(0.0, top) * 1.5)
    scaled: Vectors = (np.clip((meaning - low) / (top - low), 0, 1) * worth).astype(np.float32)
    return scaled


def _reasons(row: int, matches: Mapping[str, NDArray[np.int64]], near: Vectors | None) -> tuple[str, ...]:
    said = [word for word, rows in matches.items() if row in rows]
    reasons = [f"words: {', '.join(said)}"] if said else []
    if near is not None and not np.isnan(near[row]):
        reasons.append(f"meaning: {float(near[row]):.2f}")
    return tuple(reasons)


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
    """What a library needs; a `Memory` has it."""

    @property
    def settings(self) -> Settings:
        """The tenant and the limits."""
        ...

    @property
    def clock(self) -> Clock:
        """The source of the time at which a document is added."""
        ...

    @property
    def embedder(self) -> Embedder:
        """Embeds chunks and questions; may be loaded on first use."""
        ...


class DocumentQuery(Protocol):
    """The user who asks, and the documents to search; a `ChatRequest` is one."""

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
            text, data = read_pdf(content, title).replace("\0", ""), content
        else:
            text = check_text("text", _text(content), Limits(text_bytes=sys.maxsize), may_be_blank=True)
            data = text.encode()
        size, digest = len(data), hashlib.sha256(data).hexdigest()
        name = check_id("id", document_id or f"doc-{digest[:12]}")
        pieces = chunk(text, kind, name, title)
        if not pieces:
            raise ValidationError("content", f"{title!r} holds no text", code="file_empty")
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
        found = readable.index.rank(
            asked.question, question_vector=vector, limit=len(readable.index) if wanted else limit
        )
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
        problem = "the file is not UTF-8 text; save it as UTF-8"
        raise ValidationError("content", problem, code="file_encoding") from error


def _stored(piece: Piece, document_id: str) -> StoredChunk:
    return StoredChunk(
        piece.id, document_id, piece.position, piece.text, piece.heading, piece.start, piece.end, piece.page
    )


def _piece(stored: StoredChunk) -> Piece:
    return Piece(stored.id, stored.position, stored.text, stored.heading, stored.start, stored.end, stored.page)


def as_chunk(piece: Piece) -> Chunk:
    """The piece as a prompt shows it, with the part of its heading path that its text does not repeat."""
    names = piece.heading.split(PATH) if piece.heading else []
    first_line = piece.text.partition("\n")[0].strip("#* \t\r")
    above = names[: names.index(first_line)] if first_line in names else names
    return Chunk(piece.id, f"# {PATH.join(above)}\n\n{piece.text}" if above else piece.text)

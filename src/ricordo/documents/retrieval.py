"""Rank the pieces of documents for a question, by words, words of the heading, and vectors.

A `PieceIndex` is built once for a set of pieces and searched many times. Words are scored by BM25 over Italian and
English stems, vectors by cosine; both are scaled and added. Without vectors the words decide alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ricordo.documents.chunks import Piece
from ricordo.recall.quantization import Vectors
from ricordo.recall.terms import hashed, question_words, stems
from ricordo.records.turns import Chunk

# BM25 parameters k1 and b.
_K1, _B = 1.2, 0.6
_HEADING = 0.8  # term frequency of a word that is only in the heading
_SMOOTHING_PIECES = 20  # added to the number of pieces, to smooth IDF for small sets
_MEANING = 0.5  # share of the score, if there are vectors
_SPREAD = 2.0  # standard deviations below the mean at which a cosine counts 0


class Retriever(Protocol):
    """Finds chunks for a question: a `PieceIndex`, or the application's own search."""

    def retrieve(self, question: str, limit: int) -> Sequence[Chunk]:
        """At most `limit` chunks, best first; empty if none matches."""
        ...


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
            words = [hashed(stem) for stem in stems(piece.text)]
            lengths[row] = max(1, len(words))
            for word in words:
                holders = said.setdefault(word, {})
                holders[row] = holders.get(row, 0.0) + 1.0
            # The heading is stemmed separately, because the language is guessed from the text.
            for word in {hashed(stem) for stem in stems(piece.heading)} - set(words):
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
    """The IDF of a word."""
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
    # The best is worth no more than its own cosine allows.
    worth = min(1.0, max(0.0, top) * 1.5)
    scaled: Vectors = (np.clip((meaning - low) / (top - low), 0, 1) * worth).astype(np.float32)
    return scaled


def _reasons(row: int, matches: Mapping[str, NDArray[np.int64]], near: Vectors | None) -> tuple[str, ...]:
    said = [word for word, rows in matches.items() if row in rows]
    reasons = [f"words: {', '.join(said)}"] if said else []
    if near is not None and not np.isnan(near[row]):
        reasons.append(f"meaning: {float(near[row]):.2f}")
    return tuple(reasons)

"""The embedder for tests: every word is a fixed random direction, a text is the sum of its words.

Texts that share words are near, others are not; nothing is loaded, and the answers never change,
so tests can say by hand which of two texts must be nearer.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from ricordo.embedders.port import Vectors, unit_rows


class DeterministicEmbedder:
    """A bag of words in `dimensions` directions; for tests and examples, not for recall."""

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        return f"deterministic-{self._dimensions}@1"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for i, text in enumerate(texts):
            for word in text.casefold().split():
                rows[i] += self._direction(word)
        return unit_rows(rows)

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self.embed_passages([text])[0]
        return row

    def _direction(self, word: str) -> Vectors:
        """One sign a dimension, from the word's hash: the same on every machine and numpy."""
        hashed = hashlib.shake_128(word.encode("utf-8", "replace")).digest(self._dimensions)
        bits = np.frombuffer(hashed, dtype=np.uint8) & 1
        signs: Vectors = bits.astype(np.float32) * 2 - 1
        return signs

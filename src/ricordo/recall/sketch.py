"""A first look at many vectors: one bit a dimension, to choose the few that deserve an exact comparison.

A bit says on which side of the owner's average a dimension lies; comparing bits costs a tenth of comparing vectors.
Dimensions go in segments of 128, each weighed by how much of the question lies in it, because an embedder may join
several models in one vector. Used only above a size where the exact scan would be felt.
"""

import numpy as np
from numpy.typing import NDArray

from ricordo.recall.vectors import Codes, Vectors, comparable

_SEGMENT = 128
_SAMPLE = 4096
_CHUNK = 4096


class Sketch:
    """The bits of the rows that had a vector when it was made; `covered` says which."""

    def __init__(self, codes: Codes, known: NDArray[np.bool_]) -> None:
        self.covered = known.copy()
        rows = np.flatnonzero(known)
        sample = codes.values[rows[:: max(1, len(rows) // _SAMPLE)]].astype(np.float32)
        self._middle = np.rint(sample.mean(axis=0)).astype(np.int8)
        self._spread: Vectors = sample.std(axis=0)
        words = -(-codes.values.shape[1] // _SEGMENT) * (_SEGMENT // 64)
        # One array a word of 64 bits, so that a comparison runs over memory in order.
        self._bits = np.zeros((words, len(codes)), dtype=np.uint64)
        for start in range(0, len(codes), _CHUNK):
            above = codes.values[start : start + _CHUNK] > self._middle
            self._bits[:, start : start + _CHUNK] = _packed(above, words).T

    def likeness(self, query: Vectors) -> Vectors:
        """How alike each row's bits are to the question's; only the order means anything."""
        query = comparable(query)
        asked = _packed(query[None, :] > 0, len(self._bits))[0]
        total = np.zeros(self._bits.shape[1], dtype=np.float32)
        for start in range(0, len(self._bits), 2):
            dimensions = slice(start * 64, start * 64 + _SEGMENT)
            weight = np.linalg.norm(query[dimensions]) * np.linalg.norm(self._spread[dimensions])
            apart = np.bitwise_count(self._bits[start] ^ asked[start])
            apart += np.bitwise_count(self._bits[start + 1] ^ asked[start + 1])
            total -= np.float32(weight) * apart
        return total


def _packed(above: NDArray[np.bool_], words: int) -> NDArray[np.uint64]:
    packed = np.zeros((len(above), words * 8), dtype=np.uint8)
    bits = np.packbits(above, axis=1)
    packed[:, : bits.shape[1]] = bits
    return packed.view(np.uint64)

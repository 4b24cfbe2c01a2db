"""Turning long vectors, so that every dimension says about as much as every other.

Vectors go in, vectors of the same lengths and the same scalar products come out. Embedders put much of what they say
into a few dimensions, and rounding to few bits would spoil those; after the turn (signs that are fixed for ever, then
a Hadamard matrix on each 128 dimensions) the numbers of a block lie like a bell curve, whatever the embedder.
"""

from functools import cache
from hashlib import shake_128

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
BLOCK = 128


def turned(vectors: Vectors) -> Vectors:
    """Each row turned; dimensions beyond the last whole block stay as they are."""
    rows, whole = len(vectors), vectors.shape[1] // BLOCK * BLOCK
    out = vectors.copy()
    signed = vectors[:, :whole] * _signs(whole)
    out[:, :whole] = (signed.reshape(rows, -1, BLOCK) @ _hadamard()).reshape(rows, whole)
    return out


def turned_back(vectors: Vectors) -> Vectors:
    """The inverse of `turned`."""
    rows, whole = len(vectors), vectors.shape[1] // BLOCK * BLOCK
    out = vectors.copy()
    out[:, :whole] = (vectors[:, :whole].reshape(rows, -1, BLOCK) @ _hadamard()).reshape(rows, whole) * _signs(whole)
    return out


@cache
def _hadamard() -> Vectors:
    """Its own inverse: symmetric and orthogonal."""
    matrix = np.ones((1, 1), dtype=np.float32)
    while len(matrix) < BLOCK:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return np.asarray(matrix / np.float32(np.sqrt(BLOCK)), dtype=np.float32)


@cache
def _signs(dimensions: int) -> Vectors:
    """Part of the stored format: other signs would read stored vectors as noise."""
    bits = np.unpackbits(np.frombuffer(shake_128(b"recall").digest(dimensions // 8), dtype=np.uint8))
    return bits.astype(np.float32) * 2 - 1

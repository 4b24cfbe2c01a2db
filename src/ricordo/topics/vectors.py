"""Centres as arrays and as the bytes a topic stores: little-endian float32, of unit length."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


def vector_of(centre: bytes) -> Vector:
    """A stored centre as an array."""
    return np.frombuffer(centre, dtype="<f4").astype(np.float32, copy=False)


def bytes_of(vector: Vector) -> bytes:
    """A vector as a topic stores it."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def unit(vector: Vector) -> Vector:
    """The vector at length one; a vector without direction stays as it is."""
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length > 0 else vector, dtype=np.float32)

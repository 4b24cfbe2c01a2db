"""Centres as arrays and as the bytes a topic stores: a scale and eight bits a dimension.

Eight bits and not fewer, because a centre is rounded again with every message that moves it, and errors would add up;
like this a centre that was moved a hundred times still points where exact numbers would, within a thousandth.

    centre = scale (float32, little-endian) · one signed byte per dimension
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
_SCALE = 4
_HIGHEST = 127


def vector_of(centre: bytes) -> Vector:
    """A stored centre as an array."""
    return matrix_of([centre])[0]


def matrix_of(centres: Sequence[bytes]) -> NDArray[np.float32]:
    """Stored centres of one size as the rows of an array."""
    raw = np.frombuffer(b"".join(centres), dtype=np.uint8).reshape(len(centres), -1)
    scales = raw[:, :_SCALE].copy().view("<f4").astype(np.float32)
    return np.asarray(raw[:, _SCALE:].view(np.int8) * scales, dtype=np.float32)


def bytes_of(vector: Vector) -> bytes:
    """A vector as a topic stores it; its length is kept."""
    highest = float(np.abs(vector).max(initial=0.0))
    steps = np.rint(vector * (_HIGHEST / highest)) if highest > 0 else np.zeros(len(vector))
    counted = float(np.linalg.norm(steps))
    scale = float(np.linalg.norm(vector)) / counted if counted else 0.0
    return np.array(scale, dtype="<f4").tobytes() + steps.astype(np.int8).tobytes()


def centre_size(dimensions: int) -> int:
    """How many bytes a centre of so many dimensions takes."""
    return _SCALE + dimensions


def unit(vector: Vector) -> Vector:
    """The vector at length one; a vector without direction stays as it is."""
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length > 0 else vector, dtype=np.float32)

"""Centres of topics, as arrays and as the bytes that a topic stores: six bits a dimension.

A centre is a running mean of the vectors of its topic's messages. Vectors are rotated before they are rounded, so that
no dimension stands out.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ricordo.recall.quantization import rotated, unrotated

Vector = NDArray[np.float32]
_HEAD = 6
_BITS = 6
_HIGHEST = 2 ** (_BITS - 1) - 1
_SPARE = 8 - _BITS
_CENTRE_MEMORY = 16  # messages: older ones lose weight, so that the centre follows its topic


@lru_cache(maxsize=1024)
def vector_of(centre: bytes) -> Vector:
    """A stored centre as a read-only array; cached, because every message is compared with all centres."""
    dimensions = dimensions_of(centre)
    bits = np.unpackbits(np.frombuffer(centre, dtype=np.uint8, offset=_HEAD))[: dimensions * _BITS]
    upper = np.packbits(bits.reshape(dimensions, _BITS), axis=1).reshape(dimensions)
    scale = np.frombuffer(centre, dtype="<f4", count=1)[0]
    vector: Vector = unrotated(((upper.view(np.int8) >> _SPARE) * np.float32(scale))[None, :])[0]
    vector.flags.writeable = False
    return vector


def matrix_of(centres: Sequence[bytes]) -> NDArray[np.float32]:
    """Stored centres of the same dimensions as the rows of an array."""
    return np.stack([vector_of(centre) for centre in centres])


def dimensions_of(centre: bytes) -> int:
    """How many dimensions a stored centre has."""
    return int.from_bytes(centre[4:_HEAD], "little")


def bytes_of(vector: Vector) -> bytes:
    """A vector as a topic stores it; its length is kept."""
    even = rotated(np.asarray(vector, dtype=np.float32)[None, :])[0]
    highest = float(np.abs(even).max(initial=0.0))
    steps = np.rint(even * (_HIGHEST / highest)) if highest > 0 else np.zeros_like(even)
    counted = float(np.linalg.norm(steps))
    scale = np.array(float(np.linalg.norm(even)) / counted if counted else 0.0, dtype="<f4")
    upper = (steps.astype(np.int8) << _SPARE).view(np.uint8)
    bits = np.unpackbits(upper[:, None], axis=1)[:, :_BITS]
    return scale.tobytes() + len(vector).to_bytes(2, "little") + np.packbits(bits).tobytes()


def unit(vector: Vector) -> Vector:
    """The vector at length one; a vector without direction stays as it is."""
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length > 0 else vector, dtype=np.float32)


def first_centre(vector: Vector) -> bytes:
    """The centre of a topic that has one message."""
    return bytes_of(unit(vector))


def moved_centre(centre: bytes, message_count: int, vector: Vector) -> bytes:
    """The centre after one more message."""
    weight = min(max(message_count, 0), _CENTRE_MEMORY)
    return bytes_of(unit(vector_of(centre) * np.float32(weight) + vector))

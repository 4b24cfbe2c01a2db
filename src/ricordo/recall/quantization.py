"""Quantization of vectors: two or four bits a dimension on disk, eight in memory, one for a first-stage search.

Long vectors (512 dimensions and more) are rotated and rounded to two bits: over many dimensions the errors cancel out,
if no dimension stands out. Queries are rotated as well. Shorter vectors keep four bits, and sixteen neighbouring
dimensions share one scale. Two bits cost a few thousandths of recall (docs/recall.md). Comparisons always use the
stored values, so that an index built from a store and one filled while writing agree exactly. The centre of a topic has
six bits a dimension.

    blob = scale (float32, little-endian) · one byte of scale per block · the dimensions, low bits of a byte first
    a block is 128 dimensions of two bits, or 16 dimensions of four bits
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import shake_128

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
BLOCK = 128


def _finite(rows: Vectors) -> Vectors:
    """The rows with zeros for what is not finite; `nan_to_num` alone takes longer than the check."""
    return rows if np.isfinite(rows).all() else np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)


def unit_rows(rows: Vectors) -> Vectors:
    """The rows scaled to unit length; zero rows stay zero instead of becoming NaN."""
    # In double precision, because the square of a large single-precision float overflows.
    finite = _finite(rows).astype(np.float64)
    lengths = np.linalg.norm(finite, axis=-1, keepdims=True)
    unit = np.divide(finite, lengths, out=np.zeros_like(finite), where=lengths > 1e-12)
    single: Vectors = unit.astype(np.float32)
    return single


def rotated(vectors: Vectors) -> Vectors:
    """Each row rotated by random signs and a Hadamard matrix; dimensions beyond the last whole block stay."""
    rows, whole = len(vectors), vectors.shape[1] // BLOCK * BLOCK
    out = vectors.copy()
    signed = vectors[:, :whole] * _signs(whole)
    out[:, :whole] = (signed.reshape(rows, -1, BLOCK) @ _hadamard()).reshape(rows, whole)
    return out


def unrotated(vectors: Vectors) -> Vectors:
    """The inverse of `rotated`."""
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
    """The random signs; part of the stored format, so they must never change."""
    bits = np.unpackbits(np.frombuffer(shake_128(b"recall").digest(dimensions // 8), dtype=np.uint8))
    return bits.astype(np.float32) * 2 - 1


_LONG = 512  # dimensions from which two bits are enough
_BLOCK = 16
_LEVELS = 7  # codes of four bits run from -7 to 7
_CHUNK = 1024  # rows decoded at once: small enough for the processor's cache

# The optimal four levels for a standard normal distribution: ±0.453 within 0.982, ±1.510 beyond it.
_EDGE = 0.9816
_NUMBERS = np.array([-1.510, -0.453, 0.453, 1.510], dtype=np.float32)
_VALUES = np.rint(np.arange(256)[:, None] / 255 * (_NUMBERS * 127 / 1.510)).astype(np.int8)  # share, code
# Four values at once, as the bytes of one number: share x 256 + the byte with their codes, low bits first.
_QUADS = np.ascontiguousarray(_VALUES[:, np.arange(256)[:, None] >> np.arange(0, 8, 2) & 3]).view(np.uint32).ravel()


@dataclass(frozen=True, slots=True)
class QuantizedVectors:
    """Vectors as they are compared: `values[i] * scales[i]` is vector i, rotated if it is long.

    The scale of a zero vector is zero.
    """

    values: NDArray[np.int8]
    scales: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[np.int64]) -> "QuantizedVectors":
        """Some of the vectors; all of them without copying."""
        return self if len(rows) == len(self) else QuantizedVectors(self.values[rows], self.scales[rows])

    def floats(self) -> Vectors:
        """The vectors as floats, in the space of the embedder."""
        scaled = self.values.astype(np.float32) * self.scales[:, None]
        return unrotated(scaled) if _is_long(scaled.shape[1]) else scaled


def blob_size(dimensions: int) -> int:
    """How many bytes a stored vector of so many dimensions takes."""
    if _is_long(dimensions):
        return 4 + -(-dimensions // BLOCK) + -(-dimensions // 4)
    blocks = -(-dimensions // _BLOCK)
    return 4 + blocks + blocks * _BLOCK // 2


def vectors_to_blobs(vectors: Vectors) -> list[bytes]:
    """Each row as its stored bytes; what is not finite counts as zero."""
    finite = _finite(vectors).astype(np.float32, copy=False)
    scales, stored, _ = _encoded(finite)
    whole = np.concatenate([scales.astype("<f4")[:, None].view(np.uint8), stored], axis=1)
    return [row.tobytes() for row in whole]


def as_stored(vectors: Vectors) -> Vectors:
    """Each row as it would be read back."""
    scales, _, values = _encoded(_finite(vectors).astype(np.float32, copy=False))
    return QuantizedVectors(values, scales).floats()


def vectors_from_blobs(blobs: Sequence[bytes], dimensions: int) -> QuantizedVectors:
    """The stored vectors ready to be compared; ValueError for a blob of another size, which is of another model."""
    size = blob_size(dimensions)
    if any(len(blob) != size for blob in blobs):
        raise ValueError(f"a stored vector of {dimensions} dimensions has {size} bytes: embed these messages again")
    values, scales = np.empty((len(blobs), dimensions), dtype=np.int8), np.empty(len(blobs), dtype=np.float32)
    read_vectors(blobs, dimensions, values, scales)
    return QuantizedVectors(values, scales)


def read_vectors(
    blobs: Sequence[bytes], dimensions: int, values: NDArray[np.int8], scales: NDArray[np.float32]
) -> None:
    """Write the stored vectors, one or several in each blob, into arrays as they are compared."""
    unpacked = _decode_two_bits if _is_long(dimensions) else _decode_four_bits
    size, at = blob_size(dimensions), 0
    for start in range(0, len(blobs), _CHUNK):
        raw = np.frombuffer(b"".join(blobs[start : start + _CHUNK]), dtype=np.uint8).reshape(-1, size)
        values[at : at + len(raw)] = unpacked(raw[:, 4:], dimensions)
        scales[at : at + len(raw)] = raw[:, :4].copy().view("<f4")[:, 0]
        at += len(raw)


def rotated_query(query: Vectors) -> Vectors:
    """A query vector, rotated if stored vectors of its length are."""
    return rotated(query[None, :])[0] if _is_long(len(query)) else query


def similarities(codes: QuantizedVectors, query: Vectors) -> Vectors:
    """The scalar product of every vector with the query, exact for the stored values.

    Eight-bit rows are widened a few at a time, so that they stay in the processor's cache.
    """
    asked = rotated_query(query)
    out = np.empty(len(codes), dtype=np.float32)
    step = max(64, 262_144 // max(1, len(asked)))
    buffer = np.empty((step, len(asked)), dtype=np.float32)
    for start in range(0, len(codes), step):
        rows = codes.values[start : start + step]
        widened = buffer[: len(rows)]
        np.copyto(widened, rows)
        np.dot(widened, asked, out=out[start : start + step])
    out *= codes.scales
    return out


def _is_long(dimensions: int) -> bool:
    return dimensions >= _LONG


def _encoded(vectors: Vectors) -> tuple[Vectors, NDArray[np.uint8], NDArray[np.int8]]:
    """Scales and stored bytes of vectors, and what is read back from these bytes."""
    return (_encode_two_bits if _is_long(vectors.shape[1]) else _encode_four_bits)(vectors)


def _encode_two_bits(vectors: Vectors) -> tuple[Vectors, NDArray[np.uint8], NDArray[np.int8]]:
    """The same for long vectors.

    The scales of the blocks and of the whole are chosen so that the scalar product of a decoded vector with its
    original is exact, which keeps similarities unbiased.
    """
    rows, dimensions = vectors.shape
    even = rotated(vectors)
    starts = np.arange(0, dimensions, BLOCK)
    widths = np.diff(np.append(starts, dimensions))
    squares = np.add.reduceat(even**2, starts, axis=1)
    edges = np.repeat(_EDGE * np.sqrt(squares / widths), widths, axis=1)
    codes = np.where(even < 0, np.where(even < -edges, 0, 1), np.where(even > edges, 3, 2)).astype(np.uint8)
    met = np.add.reduceat(even * _NUMBERS[codes], starts, axis=1)
    wanted = np.divide(squares, met, out=np.zeros_like(met), where=met > 0)
    highest = wanted.max(axis=1, initial=0, keepdims=True)
    shares = np.rint(255 * np.divide(wanted, highest, out=np.zeros_like(wanted), where=highest > 0))
    padded = np.zeros((rows, -(-dimensions // 4) * 4), dtype=np.uint8)
    padded[:, :dimensions] = codes
    quads = padded[:, 0::4] | padded[:, 1::4] << 2 | padded[:, 2::4] << 4 | padded[:, 3::4] << 6
    stored = np.concatenate([shares.astype(np.uint8), quads], axis=1)
    values = _decode_two_bits(stored, dimensions)
    whole = np.einsum("ij,ij->i", values.astype(np.float32), even)
    square = squares.sum(axis=1)
    return np.divide(square, whole, out=np.zeros_like(square), where=whole > 0), stored, values


def _decode_two_bits(stored: NDArray[np.uint8], dimensions: int) -> NDArray[np.int8]:
    """Shares and two-bit codes as eight-bit values: the number behind the code x share, between -127 and 127."""
    blocks = -(-dimensions // BLOCK)
    packed = stored[:, blocks:]
    shares = np.repeat(stored[:, :blocks].astype(np.uint16) << 8, BLOCK // 4, axis=1)[:, : packed.shape[1]]
    return _QUADS.take(shares | packed, mode="clip").view(np.int8)[:, :dimensions]


def _encode_four_bits(vectors: Vectors) -> tuple[Vectors, NDArray[np.uint8], NDArray[np.int8]]:
    """The same for short vectors."""
    rows, dimensions = vectors.shape
    blocks = -(-dimensions // _BLOCK)
    padded = np.zeros((rows, blocks * _BLOCK), dtype=np.float32)
    padded[:, :dimensions] = vectors
    split = padded.reshape(rows, blocks, _BLOCK)
    tops = np.abs(split).max(axis=2)
    highest = tops.max(axis=1, initial=0, keepdims=True)
    # Rounded up: a block's largest value must never be cut off.
    shares = np.ceil(255 * np.divide(tops, highest, out=np.zeros_like(tops), where=highest > 0)).clip(0, 255)
    steps = (shares * highest / 255 / _LEVELS)[:, :, None]
    codes = np.rint(np.divide(split, steps, out=np.zeros_like(split), where=steps > 0)).clip(-_LEVELS, _LEVELS)
    halves = (codes + 8).astype(np.uint8).reshape(rows, -1)
    stored = np.concatenate([shares.astype(np.uint8), halves[:, 0::2] | (halves[:, 1::2] << 4)], axis=1)
    # The scale gives the decoded vector the length of the original, so that similarities stay cosines.
    values = _decode_four_bits(stored, dimensions)
    lengths = np.linalg.norm(values.astype(np.float32), axis=1)
    originals = np.linalg.norm(padded, axis=1)
    return np.divide(originals, lengths, out=np.zeros_like(originals), where=lengths > 0), stored, values


def _decode_four_bits(stored: NDArray[np.uint8], dimensions: int) -> NDArray[np.int8]:
    """Shares and half-bytes as eight-bit values: code x share / 16, which lies between -112 and 112."""
    blocks = -(-dimensions // _BLOCK)
    packed = stored[:, blocks:]
    wide = np.empty((len(stored), blocks * _BLOCK), dtype=np.int16)
    wide[:, 0::2] = packed & 0x0F
    wide[:, 1::2] = packed >> 4
    wide -= 8
    shaped = wide.reshape(len(stored), blocks, _BLOCK)
    shaped *= stored[:, :blocks, None]
    wide += 8
    wide >>= 4
    return wide[:, :dimensions].astype(np.int8)


_SEGMENT = 128
_SAMPLE = 4096
_BINARY_CHUNK = 4096


class BinaryVectors:
    """One bit a dimension, for a fast first-stage search; `covered` are the rows with a vector when it was built."""

    def __init__(self, codes: QuantizedVectors, known: NDArray[np.bool_]) -> None:
        self.covered = known.copy()
        rows = np.flatnonzero(known)
        sample = codes.values[rows[:: max(1, len(rows) // _SAMPLE)]].astype(np.float32)
        self._mean = np.rint(sample.mean(axis=0)).astype(np.int8)
        self._spread: Vectors = sample.std(axis=0)
        words = -(-codes.values.shape[1] // _SEGMENT) * (_SEGMENT // 64)
        # One array per 64-bit word, so that a comparison reads memory in order.
        self._bits = np.zeros((words, len(codes)), dtype=np.uint64)
        for start in range(0, len(codes), _BINARY_CHUNK):
            above = codes.values[start : start + _BINARY_CHUNK] > self._mean
            self._bits[:, start : start + _BINARY_CHUNK] = _packed(above, words).T

    def scores(self, query: Vectors) -> Vectors:
        """A score for each row, by the Hamming distance to the query; only the order is meaningful."""
        query = rotated_query(query)
        asked = _packed(query[None, :] > 0, len(self._bits))[0]
        total = np.zeros(self._bits.shape[1], dtype=np.float32)
        for start in range(0, len(self._bits), 2):
            dimensions = slice(start * 64, start * 64 + _SEGMENT)
            weight = np.linalg.norm(query[dimensions]) * np.linalg.norm(self._spread[dimensions])
            distance = np.bitwise_count(self._bits[start] ^ asked[start])
            distance += np.bitwise_count(self._bits[start + 1] ^ asked[start + 1])
            total -= np.float32(weight) * distance
        return total


def _packed(above: NDArray[np.bool_], words: int) -> NDArray[np.uint64]:
    packed = np.zeros((len(above), words * 8), dtype=np.uint8)
    bits = np.packbits(above, axis=1)
    packed[:, : bits.shape[1]] = bits
    return packed.view(np.uint64)


# The centre of a topic: scale (float32), dimensions (two bytes), six bits a dimension.
_HEAD = 6
SIZE_AT = slice(4, _HEAD)
_BITS = 6
_HIGHEST = 2 ** (_BITS - 1) - 1
_SPARE = 8 - _BITS


@lru_cache(maxsize=4096)
def vector_of(centre: bytes) -> Vectors:
    """A stored centre as a read-only array; cached, because every message is compared with all centres."""
    dimensions = dimensions_of(centre)
    bits = np.unpackbits(np.frombuffer(centre, dtype=np.uint8, offset=_HEAD))[: dimensions * _BITS]
    upper = np.packbits(bits.reshape(dimensions, _BITS), axis=1).reshape(dimensions)
    scale = np.frombuffer(centre, dtype="<f4", count=1)[0]
    vector: Vectors = unrotated(((upper.view(np.int8) >> _SPARE) * np.float32(scale))[None, :])[0]
    vector.flags.writeable = False
    return vector


@lru_cache(maxsize=16)
def matrix_of(centres: tuple[bytes, ...]) -> NDArray[np.float32]:
    """Stored centres of the same dimensions as the rows of an array."""
    return np.stack([vector_of(centre) for centre in centres])


def dimensions_of(centre: bytes) -> int:
    """How many dimensions a stored centre has."""
    return int.from_bytes(centre[SIZE_AT], "little")


def bytes_of(vector: Vectors) -> bytes:
    """A vector as a topic stores it; its length is kept."""
    even = rotated(np.asarray(vector, dtype=np.float32)[None, :])[0]
    highest = float(np.abs(even).max(initial=0.0))
    steps = np.rint(even * (_HIGHEST / highest)) if highest > 0 else np.zeros_like(even)
    counted = float(np.linalg.norm(steps))
    scale = np.array(float(np.linalg.norm(even)) / counted if counted else 0.0, dtype="<f4")
    upper = (steps.astype(np.int8) << _SPARE).view(np.uint8)
    bits = np.unpackbits(upper[:, None], axis=1)[:, :_BITS]
    return scale.tobytes() + len(vector).to_bytes(2, "little") + np.packbits(bits).tobytes()

"""Where the line between joining and opening lies, for each embedder: a name goes in, its scale comes out.

Embedders spread their cosines differently: two unrelated sentences may score 0.8 with one and 0.1 with another. So a
scale keeps what was measured on consecutive messages, and every weight of the decision counts in its spread; only these
two numbers differ from one embedder to the next, and they need no labels to be measured.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ricordo.recall.quantization import turned, turned_back

DEFAULT_THRESHOLD = 0.7

# Above the mean cosine of consecutive messages by so many spreads, a typical question still belongs to the talk;
# and by so many, it belongs to a topic that was left. Calibrated once for all embedders (docs/topics.md).
_JOIN_AT = 0.67
_RETURN_AT = 1.8


@dataclass(frozen=True, slots=True)
class Scale:
    """How an embedder's cosines lie: mean and spread between consecutive messages, and the two lines drawn there.

    `trust` is how many cosines of a session weigh as much as `mean`: a session may be unlike what was measured.
    `give` is by how many spreads at most a chat with an assistant may lower its own line.
    """

    mean: float
    spread: float
    threshold: float
    return_threshold: float
    trust: int = 10
    give: float = 0.0

    def __post_init__(self) -> None:
        if not self.spread > 0:
            raise ValueError("spread must be above 0: give messages that differ")

    def at(self, threshold: float) -> "Scale":
        """This scale with its joining line set by hand; the line for coming back moves along."""
        moved = threshold - self.threshold
        return replace(
            self, mean=self.mean + moved, threshold=threshold, return_threshold=self.return_threshold + moved
        )


def scale(mean: float, spread: float) -> Scale:
    """The scale of an embedder with this mean and spread between consecutive messages."""
    return Scale(mean, spread, mean + _JOIN_AT * spread, mean + _RETURN_AT * spread)


# By name without the identity of the weights: a new export of the same model keeps its line.
_MEASURED: dict[str, Scale] = {
    "arctic-s-int8+use-multilingual-v3": scale(0.548, 0.099),
    "arctic-s-int8": scale(0.825, 0.047),
    "use-multilingual-v3": scale(0.272, 0.167),
    "light-256": scale(0.129, 0.140),
}

# An embedder nobody measured: its line lies at 0.7 until the session's own cosines have moved it, which they do soon.
_UNKNOWN = replace(scale(DEFAULT_THRESHOLD - _JOIN_AT * 0.1, 0.1), trust=2, give=math.inf)


def scale_for(embedder: str) -> Scale:
    """The scale of the embedder of that name; the default for one that was never measured."""
    return _MEASURED.get("+".join(part.partition("@")[0] for part in embedder.split("+")), _UNKNOWN)


def known_embedders() -> tuple[str, ...]:
    """The names that have a measured scale."""
    return tuple(_MEASURED)


def measure(conversations: Iterable[Sequence[Sequence[float]] | np.ndarray]) -> Scale:
    """A scale from conversations without labels: each one the unit vectors of its messages, in order."""
    cosines: list[float] = []
    for vectors in conversations:
        rows = np.asarray(vectors, dtype=np.float32)
        if len(rows) > 1:
            cosines.extend(np.einsum("ij,ij->i", rows[1:], rows[:-1]).tolist())
    if len(cosines) < 2:
        raise ValueError("a scale needs at least two pairs of consecutive messages")
    return scale(float(np.mean(cosines)), float(np.std(cosines)))


# Centres as arrays and as the bytes a topic stores: six bits a dimension.

Vector = NDArray[np.float32]
_HEAD = 6
_BITS = 6
_HIGHEST = 2 ** (_BITS - 1) - 1
_SPARE = 8 - _BITS


@lru_cache(maxsize=1024)
def vector_of(centre: bytes) -> Vector:
    """A stored centre as an array, not to be written into: the last ones stay at hand, as every message meets them."""
    dimensions = dimensions_of(centre)
    bits = np.unpackbits(np.frombuffer(centre, dtype=np.uint8, offset=_HEAD))[: dimensions * _BITS]
    upper = np.packbits(bits.reshape(dimensions, _BITS), axis=1).reshape(dimensions)
    scale = np.frombuffer(centre, dtype="<f4", count=1)[0]
    vector: Vector = turned_back(((upper.view(np.int8) >> _SPARE) * np.float32(scale))[None, :])[0]
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
    even = turned(np.asarray(vector, dtype=np.float32)[None, :])[0]
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

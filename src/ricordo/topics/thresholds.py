"""The similarity thresholds of topics, for each embedder: a name goes in, its scale comes out.

Embedders spread their cosines differently: two unrelated sentences may score 0.8 with one and 0.1 with another. So a
scale holds the mean and the spread (standard deviation) measured between consecutive messages, and all thresholds and
weights are expressed in spreads. Measuring a new embedder needs no labels.
"""

import json
import math
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ricordo.recall.quantization import bytes_of, vector_of

# Mean and spread of the cosines of a turn with a question, an answer and a turn of another subject in its session,
# without `common` and `within`.
Chance = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class SubjectWeights:
    """How much each observation counts for staying, for returning, and for small talk."""

    stay: Mapping[str, float]
    back: Mapping[str, float]
    small: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SubjectScale:
    """What whole turns are judged by; `manner` is a direction and an offset a sign.

    `common` is what all vectors share. `within` are the directions in which turns of one topic differ most.
    `by_words`: the embedder sees words, not meaning.
    """

    chance: Chance
    weights: SubjectWeights
    common: "Vector"
    within: "Vector"
    manner: Mapping[str, tuple["Vector", float]]
    by_words: bool = False

    def moved(self, by: float) -> "SubjectScale":
        """This scale with a threshold set by hand, so much above the measured one."""
        return replace(self, chance=tuple((mean + by, spread) for mean, spread in self.chance))


_FITTED = json.loads(files("ricordo.topics").joinpath("weights.json").read_text(encoding="utf-8"))


def _subjects(embedder: str) -> SubjectScale:
    """The scale with what training/topics fits: weights by meaning or by words, and the manner for each embedder."""
    kind = "words" if embedder.startswith("light") else "meaning"
    manner = {name: (_decoded(row), offset) for name, (row, offset) in _FITTED["manner"].get(embedder, {}).items()}
    chance = tuple((mean, spread) for mean, spread in _FITTED["chance"][embedder])
    common = _decoded(_FITTED["common"][embedder])
    within = _decoded(_FITTED["within"][embedder]).reshape(-1, common.size)
    return SubjectScale(chance, SubjectWeights(**_FITTED[kind]), common, within, manner, kind == "words")


def _decoded(row: str) -> "Vector":
    return np.frombuffer(b64decode(row), dtype="<f2").astype(np.float32)


DEFAULT_THRESHOLD = 0.7

# Spreads above the mean cosine of consecutive messages: from the first on a typical question stays in the active topic,
# from the second on it returns to another one. Calibrated once for all embedders (docs/topics.md).
_JOIN_AT = 0.67
_RETURN_AT = 1.8


@dataclass(frozen=True, slots=True)
class Scale:
    """Mean and spread of an embedder's cosines between consecutive messages, the two thresholds, and what is chance.

    `trust` is how many cosines of a session weigh as much as `mean`, because a session may differ from what was
    measured. `give` is the most spreads by which a chat with an assistant may lower its own threshold. `subjects` is
    what whole turns are judged by; an embedder that was never measured has none.
    """

    mean: float
    spread: float
    threshold: float
    return_threshold: float
    trust: int = 10
    give: float = 0.0
    subjects: SubjectScale | None = None

    def __post_init__(self) -> None:
        if not self.spread > 0:
            raise ValueError("spread must be above 0: give messages that differ")

    def at(self, threshold: float) -> "Scale":
        """This scale with another threshold; the return threshold moves by the same amount."""
        moved = threshold - self.threshold
        return replace(
            self,
            mean=self.mean + moved,
            threshold=threshold,
            return_threshold=self.return_threshold + moved,
            subjects=self.subjects and self.subjects.moved(moved),
        )


def scale(mean: float, spread: float) -> Scale:
    """The scale of an embedder with this mean and spread between consecutive messages."""
    return Scale(mean, spread, mean + _JOIN_AT * spread, mean + _RETURN_AT * spread)


# By name without the version of the weights: a new export of the same model keeps its thresholds.
_MEASURED: dict[str, Scale] = {
    name: replace(scale(mean, spread), subjects=_subjects(name))
    for name, mean, spread in (
        ("arctic-s-int8+use-multilingual-v3", 0.548, 0.099),
        ("arctic-s-int8", 0.825, 0.047),
        ("use-multilingual-v3", 0.272, 0.167),
        ("light-256", 0.129, 0.140),
    )
}

# An embedder that was not measured starts at 0.7; the session's own cosines soon move the threshold.
_UNKNOWN = replace(scale(DEFAULT_THRESHOLD - _JOIN_AT * 0.1, 0.1), trust=2, give=math.inf)


@cache
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


Vector = NDArray[np.float32]
_CENTRE_MEMORY = 16  # messages: older ones lose weight, so that the centre follows its topic


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

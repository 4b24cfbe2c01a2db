"""How fast one owner's messages are ranked: a number of synthetic messages goes in, milliseconds come out.

Words are as unevenly common as real ones, over 30,000 stems, and vectors share a common part, as real ones do. What
is timed is everything but the embedder: the time expressions, the lookup of words, the vectors, the fusion.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from ricordo.recall.evidence import hashed, snowball_stem
from ricordo.recall.index import OwnerIndex, Row
from ricordo.recall.quantization import Vectors, unit_rows, vectors_to_blobs
from ricordo.recall.ranking import RecallQuestion, rank

_VOCABULARY = 30_000
_MEAN_WORDS = 15
# The commonest meaningful word stands in about one message of eight, as in real talk.
_COMMONNESS = 1 / np.arange(12, 12 + _VOCABULARY)
_COMMONNESS /= _COMMONNESS.sum()
_START = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Speed:
    """Milliseconds to rank (by the clock, and of processor time), to build from blobs, to add one message and rank."""

    messages: int
    dimensions: int
    p50_ms: float
    p99_ms: float
    cpu_p50_ms: float
    build_ms: float
    add_and_find_p50_ms: float


def measure_speed(messages: int, dimensions: int, *, questions: int = 50, seed: int = 7) -> Speed:
    """Build an index of synthetic messages, ask it questions, and time both."""
    chance = np.random.default_rng(seed)
    rows = _synthetic_rows(messages, dimensions, chance)
    start = time.perf_counter()
    index = OwnerIndex(dimensions, rows)
    build_ms = _since(start)
    asked = [_question(dimensions, chance) for _ in range(questions)]
    rank(index, asked[0])
    ranked: list[float] = []
    worked: list[float] = []
    for question in asked:
        start, busy = time.perf_counter(), time.process_time()
        rank(index, question, limit=20)
        ranked.append(_since(start))
        worked.append((time.process_time() - busy) * 1000)
    added: list[float] = []
    extra = _synthetic_rows(questions, dimensions, chance, start=messages)
    for row, question in zip(extra, asked, strict=True):
        start = time.perf_counter()
        index.add([row])
        rank(index, question, limit=20)
        added.append(_since(start))
    return Speed(
        messages,
        dimensions,
        float(np.percentile(ranked, 50)),
        float(np.percentile(ranked, 99)),
        float(np.percentile(worked, 50)),
        build_ms,
        float(np.percentile(added, 50)),
    )


def _since(start: float) -> float:
    return (time.perf_counter() - start) * 1000


def _synthetic_rows(count: int, dimensions: int, chance: np.random.Generator, start: int = 0) -> list[Row]:
    names = np.array([hashed(snowball_stem(_word(number), "en")) for number in range(_VOCABULARY)], dtype=np.uint32)
    lengths = chance.poisson(_MEAN_WORDS, count) + 1
    words = names[chance.choice(_VOCABULARY, int(lengths.sum()), p=_COMMONNESS)]
    ends = np.cumsum(lengths)
    blobs: list[bytes] = []
    for first in range(0, count, 4096):
        blobs += vectors_to_blobs(_synthetic_vectors(min(4096, count - first), dimensions, chance))
    return [
        Row(
            message_id=f"m{start + i}",
            session_id=f"s{(start + i) // 200}",
            turn_number=start + i,
            position=0,
            created_at=_START + timedelta(minutes=10 * (start + i)),
            role="user" if i % 2 == 0 else "assistant",
            terms=words[ends[i] - lengths[i] : ends[i]],
            vector=blobs[i],
        )
        for i in range(count)
    ]


def _synthetic_vectors(count: int, dimensions: int, chance: np.random.Generator) -> Vectors:
    vectors = chance.standard_normal((count, dimensions)).astype(np.float32) + np.float32(1)
    return unit_rows(vectors)


def _question(dimensions: int, chance: np.random.Generator) -> RecallQuestion:
    numbers = chance.choice(_VOCABULARY, 6, p=_COMMONNESS)
    text = "when did I " + " ".join(_word(int(number)) for number in numbers)
    return RecallQuestion(text, _START + timedelta(days=800), _synthetic_vectors(1, dimensions, chance)[0])


def _word(number: int) -> str:
    """A word of consonants and vowels that no stemmer shortens and no stop list knows."""
    letters = ""
    for _ in range(3):
        number, consonant = divmod(number, 16)
        number, vowel = divmod(number, 2)
        letters += "bcdfghjklmnprtvz"[consonant] + "uo"[vowel]
    return letters + "k"

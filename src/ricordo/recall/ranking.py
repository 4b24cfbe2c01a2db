"""Ranking the messages of an owner for a question: evidence is collected, weighed, added, and explained.

A question (text, vector, now), filters and an index go in; messages with score and reasons come out, best first.
Each kind of evidence is a number between 0 and 1 for every message. The weights were chosen by leave-one-out
cross-validation over conversations (docs/recall.md).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ricordo.languages.dates import Period, periods
from ricordo.recall.evidence import (
    MeaningEvidence,
    WordEvidence,
    answer_evidence,
    assistant_evidence,
    kind_evidence,
    meaning_evidence,
    speaker_evidence,
    substance_evidence,
    time_evidence,
    topic_evidence,
    word_evidence,
)
from ricordo.recall.index import highest

if TYPE_CHECKING:
    from ricordo.recall.index import OwnerIndex
    from ricordo.recall.quantization import Vectors


@dataclass(frozen=True, slots=True)
class RecallQuestion:
    """The text, time and vector of a question; `topics` may give the similarity of each topic (0 to 1)."""

    text: str
    now: datetime
    vector: "Vectors | None" = None
    topics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filters:
    """What a hit must satisfy; None matches everything. `after` is included, `before` is not.

    A message has the tags of its session and those of its topic; `topic_tags` has the latter. `session_tag` is a tag
    of the session alone. `without` are the ids of messages to leave out.
    """

    session_id: str | None = None
    agent_id: str | None = None
    topic_id: str | None = None
    role: str | None = None
    after: datetime | None = None
    before: datetime | None = None
    tags: frozenset[str] = frozenset()
    topic_tags: Mapping[str, frozenset[str]] = field(default_factory=dict)
    session_tag: str | None = None
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EvidenceWeights:
    """The weight of each kind of evidence. Words and meaning decide; the others break near ties.

    Where words know little of a question, they give up to the share `yielding` of their weight to meaning. The last
    three count against a message: it only asks, it is a page, the assistant said it.
    """

    words: float = 0.4
    meaning: float = 0.6
    yielding: float = 1.0
    time: float = 0.35
    speaker: float = 0.09
    kind: float = 0.15
    topic: float = 0.05
    substance: float = 0.1
    answer: float = 0.375
    asks: float = -0.1
    length: float = -0.25
    assistant: float = -0.08

    @property
    def total(self) -> float:
        """The score that counts as 1; what an answer or a kind adds may reach beyond it, and is cut."""
        return self.words + self.meaning + self.time + self.speaker + self.topic + self.substance


class RankedMessage(NamedTuple):
    """A message that was found, with its score (0 to 1) and the reasons.

    The score is relative to the other messages. Two measures are absolute: `said` is the share of the question's words
    in its turn (0 to 1), `cosine` the similarity by the embedder; None if unknown.
    """

    message_id: str
    score: float
    reasons: tuple[str, ...]
    said: float = 0.0
    cosine: float | None = None


DEFAULT_WEIGHTS = EvidenceWeights()
_TOLD = ("time", "speaker", "kind", "topic")  # what stands in the reasons, besides words and meaning
# An embedder that compares letters knows little that words do not.
_LETTERS = EvidenceWeights(words=0.9, meaning=0.1, yielding=0.2, kind=0.3)


def weights_for(embedder: str) -> EvidenceWeights:
    """The weights of evidence when messages are compared by an embedder of this name."""
    return _LETTERS if embedder.startswith("light-") else DEFAULT_WEIGHTS


def rank(
    index: "OwnerIndex",
    question: RecallQuestion,
    *,
    filters: Filters | None = None,
    limit: int = 10,
    weights: EvidenceWeights = DEFAULT_WEIGHTS,
    accept: Callable[[RankedMessage], bool] = lambda _: True,
) -> list[RankedMessage]:
    """The best `limit` messages that pass the filters, best first; ties go to the newer, then to the id.

    A message without word or meaning evidence is not a hit. No text raises an error. Of these messages only those that
    pass `accept` come back; it sees them before their reasons are known.
    """
    with index.lock:
        scored = _scored(index, question, filters or Filters(), weights)
        if scored is None:
            return []
        scores, evidence = scored
        rows, led = _best(index, scores, limit)
        # Something is always nearest: a score is trusted less where only meaning speaks.
        sure = (1 - evidence.given_up(weights) * weights.words / (weights.words + weights.meaning)) / weights.total
        numbers = np.minimum.accumulate(scores[rows] * sure).clip(0, 1).tolist()
        covered = evidence.words.coverage(index, rows)
        ids, cosines = [index.message_ids[row] for row in rows], index.cosines(rows, question.vector)
        each_row = zip(ids, numbers, [()] * len(rows), covered, cosines, strict=True)
        taken = {row: each for row, each in zip(rows, map(RankedMessage._make, each_row), strict=True) if accept(each)}
        reasons = evidence.reasons(index, list(taken))
        return [
            RankedMessage(each.message_id, each.score, (*why, _THROUGH) if row in led else why, each.said, each.cosine)
            for (row, each), why in zip(taken.items(), reasons, strict=True)
        ]


def rank_all(index: "OwnerIndex", question: RecallQuestion, weights: EvidenceWeights = DEFAULT_WEIGHTS) -> list[str]:
    """The ids of all messages that `rank` would find, in its order, without the reasons: for measurements."""
    with index.lock:
        scored = _scored(index, question, Filters(), weights)
        return [index.message_ids[row] for row in _best(index, scored[0], len(index))[0]] if scored else []


def _scored(
    index: "OwnerIndex", question: RecallQuestion, filters: Filters, weights: EvidenceWeights
) -> tuple["Vectors", "_Evidence"] | None:
    """The score of every row, minus infinity for rows that are not hits; None when no row can be one."""
    allowed = _allowed(index, filters)
    if not question.text.strip() or not allowed.any():
        return None
    evidence = _gather(index, question, allowed)
    scores, found = evidence.weighed(weights), allowed & evidence.found
    return scores if found.all() else np.where(found, scores, -np.inf), evidence


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The evidence for each message, one array per kind."""

    words: WordEvidence
    meaning: MeaningEvidence | None
    others: Mapping[str, "Vectors | NDArray[np.bool_] | None"]  # by the names of their weights
    periods: tuple[Period, ...]
    found: NDArray[np.bool_]

    def given_up(self, weights: EvidenceWeights) -> float:
        """The share of the words' weight that goes to meaning."""
        return weights.yielding * (1 - self.words.certainty) if self.meaning is not None else 0.0

    def weighed(self, weights: EvidenceWeights) -> "Vectors":
        given_up = self.given_up(weights)
        if self.meaning is None:
            total = np.float32(weights.words + weights.meaning) * self.words.share
        else:
            total = np.float32(weights.words * (1 - given_up)) * self.words.share
            total += np.float32(weights.meaning + weights.words * given_up) * self.meaning.share
        for name, kind in self.others.items():
            if kind is not None:
                share = 1 - given_up if name == "substance" else 1.0  # short messages live on borrowed words
                total += np.float32(getattr(weights, name) * share) * kind
        return total.astype(np.float32, copy=False)

    def reasons(self, index: "OwnerIndex", rows: Sequence[int]) -> Iterator[tuple[str, ...]]:
        """Why each of some rows was found."""
        meant = None if self.meaning is None else self.meaning.share
        kinds = (meant, *(self.others[name] for name in _TOLD))
        told = [[0.0] * len(rows) if kind is None else kind[rows].tolist() for kind in kinds]
        embedded = index.has_vector[rows].tolist()
        named = f"time: {', '.join(period.text for period in self.periods)}"
        for row, known, (said, near), meaning, time, speaker, kind, topic in zip(
            rows, embedded, self.words.said_by(index, rows), *told, strict=True
        ):
            found = [f"words: {', '.join(said)}"] if said else []
            if near:  # what only its neighbours say
                found.append(f"words nearby: {', '.join(near)}")
            if meaning >= 0.5 and known:
                found.append(f"meaning: {meaning:.2f}")
                if not said:
                    found.append("asked in other words")
            if time >= 0.25:
                found.append(named)
            if speaker:
                found.append(f"speaker: {index.speakers.name(row) or index.roles.name(row)}")
            if kind:
                found.append("kind: a thing of the kind that the question names")
            if topic:
                found.append(f"topic: {index.topics.name(row)}")
            yield tuple(found or ["meaning: weak"])


def _gather(index: "OwnerIndex", question: RecallQuestion, allowed: NDArray[np.bool_]) -> _Evidence:
    words = word_evidence(index, question.text, allowed)
    meaning = meaning_evidence(index, question.vector, words.share, allowed)
    named = periods(question.text, question.now)
    kind = kind_evidence(index, question.text)
    found = (words.share > 0) | (index.has_vector if meaning else kind is not None and kind > 0)
    return _Evidence(
        words=words,
        meaning=meaning,
        others={
            "time": time_evidence(index, named),
            "speaker": speaker_evidence(index, question.text),
            "kind": kind,
            "topic": topic_evidence(index, question.topics),
            "answer": answer_evidence(index, meaning),
            "substance": substance_evidence(index, meaning),
            "asks": index.only_asks,
            "length": index.links.pages,
            "assistant": assistant_evidence(index, question.text),
        },
        periods=named,
        found=found,
    )


def _allowed(index: "OwnerIndex", filters: Filters) -> NDArray[np.bool_]:
    allowed = np.ones(len(index), dtype=np.bool_)
    for wanted, book in (
        (filters.session_id, index.sessions),
        (filters.agent_id, index.agents),
        (filters.topic_id, index.topics),
        (filters.role, index.roles),
    ):
        if wanted is not None:
            allowed &= book.among([wanted])
    if filters.session_tag is not None:
        allowed &= index.sessions.among(index.sessions_with(filters.session_tag))
    if filters.without:
        allowed[index.rows_of(filters.without)] = False
    if filters.after is not None:
        allowed &= index.times >= filters.after.timestamp()
    if filters.before is not None:
        allowed &= index.times < filters.before.timestamp()
    if filters.tags:
        allowed &= np.fromiter((filters.tags <= tags for tags in _tags(index, filters)), np.bool_, count=len(index))
    return allowed


def _tags(index: "OwnerIndex", filters: Filters) -> Iterator[frozenset[str]]:
    """The tags of each row: its session's, and its topic's where that has any."""
    if not filters.topic_tags:
        yield from index.tags
        return
    # Messages without a topic have the code -1, which is the empty set at the end.
    of_topic = [*(filters.topic_tags.get(name, frozenset()) for name in index.topics.names), frozenset[str]()]
    for own, topic in zip(index.tags, index.topics.codes.tolist(), strict=True):
        yield own | of_topic[topic]


# The second look: what the first hits lead to.
_FIRST, _LEADING = 10, 20  # places that the first look decides; places whose messages lead to others
_CLOSE = 0.1  # below the best, at which a message leads to others e times less
_LED_FIRST, _LED, _SAME_SPEAKER = 0.02, 0.15, 0.03  # what that adds among the first ones, what others lack
_CLEARLY = 0.25  # share of it that is worth a reason
_THROUGH = "found through another message"


def _best(index: "OwnerIndex", scores: "Vectors", limit: int) -> tuple[list[int], set[int]]:
    """The rows of the highest finite scores, in a total order, and those that other messages led to.

    After a second look: the first ten keep their places before the rest; of the rest, short messages of the sessions
    that the first ones are from stand before others.
    """
    rows = _at_least(scores, max(limit, _LEADING), _LED + _SAME_SPEAKER)
    if limit < 1 or not len(rows):
        return [], set()
    told = scores[rows]
    ordered = np.sort(told[_at_least(told, _LEADING)])[::-1]
    first, leading = (told >= ordered[:places][-1] for places in (_FIRST, _LEADING))
    leads = np.zeros_like(told)
    leads[leading] = np.exp((told[leading] - ordered[0]) / _CLOSE)
    sessions, speakers = index.sessions.codes[rows], index.speakers.codes[rows]
    strength = np.bincount(sessions, leads)
    through = (strength[sessions] - leads) / strength.max() * index.links.nearness[rows]
    same = np.zeros(len(index.speakers.names) + 1, dtype=np.bool_)  # the last place is that of no speaker
    same[speakers[told == ordered[0]]] = True
    same = same[speakers]
    told += np.where(first, _LED_FIRST * through, _LED * (through - 1)) + _SAME_SPEAKER * (same - 1.0 * ~first)
    kept = _at_least(told, limit)
    led = (~first & (through >= _CLEARLY))[kept]
    best = rows[kept]
    numbers, names = best.tolist(), index.message_ids
    order = sorted(
        zip(
            (-told[kept]).tolist(), (-index.times[best]).tolist(), [names[row] for row in numbers], numbers, strict=True
        )
    )
    return [row for *_, row in order[:limit]], set(compress(numbers, led.tolist()))


def _at_least(scores: "Vectors", places: int, less: float = 0.0) -> NDArray[np.int64]:
    """The places of the highest finite scores, ties with the last one included, and those at most `less` below it."""
    bar = np.float32(highest(scores, places)) - less
    return np.flatnonzero(scores >= bar if bar > -np.inf else scores > -np.inf)


MIN_COVERAGE = 0.25  # of the question's words, a rare one counting more

# Cosines that most relevant messages reach and hardly any other does.
_COSINE_THRESHOLDS = {
    "arctic-s-int8+use-multilingual-v3": 0.255,
    "arctic-s-int8": 0.64,
    "use-multilingual-v3": 0.3,
    "light-256": 0.3,
}
_UNMEASURED = 0.6


@lru_cache(maxsize=64)
def cosine_threshold(embedder: str) -> float:
    """The cosine from which on a message is relevant by meaning alone, for an embedder, whatever its version."""
    return _COSINE_THRESHOLDS.get("+".join(part.partition("@")[0] for part in embedder.split("+")), _UNMEASURED)


def is_relevant(hit: RankedMessage, embedder: str) -> bool:
    """Whether a message is worth room in a prompt: enough words of the question, or similar enough in meaning."""
    return hit.said >= MIN_COVERAGE or (hit.cosine is not None and hit.cosine >= cosine_threshold(embedder))

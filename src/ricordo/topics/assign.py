"""Assigning a message to a topic: it stays in the active one, returns to an older one, or opens a new one.

The message, the last messages of the active topic and the centres of the other topics go in; a decision with its
reason comes out. Besides similarity, features of the conversation count: an answer to a question stays, an unrelated
question leaves, a follow-up stays whatever its words.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from typing import Literal

import numpy as np

from ricordo.followups.reference import ReferenceCue, main_kind
from ricordo.languages.registry import AnyLanguage
from ricordo.recall.evidence import snowball_stems
from ricordo.recall.quantization import dimensions_of, matrix_of, vector_of
from ricordo.records.derived import Topic
from ricordo.records.turns import Role
from ricordo.topics.thresholds import Scale, Vector

FollowUpKind = Literal["no", "talk", "past"]

_OPENING = AnyLanguage(r"\W*(?:<topics.openings>)\b")  # at the very beginning: use match
_CLOSING = AnyLanguage(r"\b(?:<topics.closings>)\b")
REFERRING = AnyLanguage(r"\b(?:<topics.referring>)\b")
# A conjunction at the very beginning, or a word that adds to what was said: use search.
_CONTINUING = AnyLanguage(r"\A\W*(?:<topics.joining>)\b(?!')|\b(?:<topics.adding>)\b")

# A pronoun carries a short question; in a longer message it mostly points inside the message itself.
_SHORT_WORDS = 8


def follow_up_kind(text: str, references: Sequence[ReferenceCue]) -> FollowUpKind:
    """Whether the message continues the talk, points into the past, or stands by itself."""
    kind = main_kind(tuple(references))
    if kind in ("back", "statement"):
        return "past"
    if kind is None or (kind == "pronoun" and len(text.split()) > _SHORT_WORDS):
        return "no"
    return "talk"


RECENT_MESSAGES = 4
_TYPICAL_WORDS = 8
_MOST_WORDS = 16
_TITLES_READ = 5
_CONTENT_CHARACTERS = 400  # the beginning says what a message is about, and a long answer must not cost more
_WORD = re.compile(r"\w+")

Reason = Literal["first", "follow-up", "close", "returns", "new", "small talk"]


@dataclass(frozen=True, slots=True)
class AssignWeights:
    """How much each feature counts against staying, in spreads of the embedder's cosines.

    Calibrated once on labelled dialogues, for all embedders together; docs/topics.md says how, and what each is worth.
    The cosine with the message just before and the highest one with the recent messages share one spread.
    """

    previous_share: float = 0.36
    asks: float = 1.93
    answers: float = -1.77
    length: float = 1.17
    closed: float = 0.96
    opens: float = 1.83
    leans: float = -0.32
    overlap: float = -0.85
    young: float = -1.37
    title: float = -1.0
    put_to_assistant: float = -0.75
    continues: float = -1.0
    manner: float = 2.0


WEIGHTS = AssignWeights()


@dataclass(frozen=True, slots=True)
class TopicMessage:
    """A message to assign: its text, its unit vector, and its role."""

    text: str
    vector: Vector
    role: Role = "user"


@dataclass(frozen=True, slots=True)
class Closeness:
    """The mean cosine of consecutive messages of one session so far; changed by copy."""

    total: float = 0.0
    count: int = 0

    def after(self, before: Vector, message: Vector) -> "Closeness":
        """This closeness with one more pair of consecutive messages."""
        return Closeness(self.total + float(before @ message), self.count + 1)

    def shift(self, scale: Scale) -> float:
        """How far this session's cosines lie from the scale's mean; near 0 while the session is short."""
        return (self.total - self.count * scale.mean) / (scale.trust + self.count)


@dataclass(frozen=True, slots=True)
class TalkState:
    """The active topic, its last messages (oldest first), and the closeness of the session."""

    topic_id: str
    recent: tuple[TopicMessage, ...]
    message_count: int
    closeness: Closeness = Closeness()


@dataclass(frozen=True, slots=True)
class Decision:
    """The topic of a message; `topic_id` is None for a new topic.

    `similarity` is the adjusted similarity to the topic compared last; it is compared with `threshold`.
    """

    topic_id: str | None
    reason: Reason
    similarity: float = 0.0
    threshold: float = 0.0

    @property
    def margin(self) -> float:
        """Similarity minus threshold."""
        return self.similarity - self.threshold


def decide(
    message: TopicMessage,
    talk: TalkState | None,
    topics: Sequence[Topic],
    scale: Scale,
    *,
    follow_up: FollowUpKind = "no",
) -> Decision:
    """Stay in the active topic, return to one of `topics`, or open a new one.

    A follow-up of kind "talk" stays in the active topic whatever its words; one of kind "past" goes to the most similar
    topic and never opens one.

    `topics` may hold working and archived topics, and the active one; only centres as long as the message's vector are
    compared, so that topics of another embedder are ignored until they are embedded again.
    """
    active = talk if talk is not None and talk.recent else None
    if active is not None and follow_up == "talk":
        return Decision(active.topic_id, "follow-up")
    others = [topic for topic in topics if topic.id != active.topic_id] if active else topics
    if active is not None and follow_up == "past":
        named = _named_topics(message, active, topics)
        if named and (back := _best_return(message, named, scale)):
            return back if back.margin >= 0 else replace(back, reason="follow-up")
    like = similarity(message, active, scale) if active else 0.0
    stay = Decision(active.topic_id, "close", like, scale.threshold) if active else None
    back = _best_return(message, others, scale)
    if active and active.recent[-1].role == "assistant" and stay and back and min(stay.margin, back.margin) >= 0:
        # Both pass. Conversation features were counted for staying only, so if the words name the other topic, both
        # are compared by the same measure.
        two = [topic for topic in topics if topic.id in (stay.topic_id, back.topic_id)]
        here = _best_return(message, [topic for topic in two if topic.id == stay.topic_id], scale)
        if here and back.similarity > here.similarity and _named_topics(message, active, two):
            return back
    choices = [choice for choice in (stay, back) if choice]
    best = max(choices, key=lambda choice: choice.margin, default=None)
    if best is None:
        return Decision(None, "first")
    if best.margin >= 0:
        return best
    if follow_up == "past":  # it refers to one of these topics: take the most similar
        return replace(best, reason="follow-up")
    if active and active.recent[-1].role == "assistant":
        # It leaves the active topic; a topic that its words name needs only the threshold for staying.
        back = _best_return(message, _named_topics(message, active, _within_reach(message, topics, scale)), scale)
        if back and back.similarity >= scale.threshold:
            return replace(back, threshold=scale.threshold)
    return replace(choices[0], topic_id=None, reason="new")


def _named_topics(message: TopicMessage, talk: TalkState, topics: Sequence[Topic]) -> list[Topic]:
    """The other topics that share more words with the message than the active one does."""
    content = _content(message.text)
    shared = {topic.id: len(content & _content(" ".join((topic.title, *topic.tags)))) for topic in topics}
    here = len(content & set().union(*(_content(said.text) for said in talk.recent)))
    least = max(here, shared.pop(talk.topic_id, 0))
    return [topic for topic in topics if shared.get(topic.id, 0) > least]


def _within_reach(message: TopicMessage, topics: Sequence[Topic], scale: Scale) -> list[Topic]:
    """The topics that could pass the threshold for staying with the help of their title; reading titles is slow."""
    least = scale.threshold + scale.spread * WEIGHTS.title
    comparable, centres = _comparable(message, topics)
    near = compress(comparable, centres @ message.vector >= least - 0.001)
    return [topic for topic in near if vector_of(topic.centre) @ message.vector >= least]


def _comparable(message: TopicMessage, topics: Sequence[Topic]) -> tuple[Sequence[Topic], Vector]:
    """The topics whose centres are as long as the message's vector, and these centres."""
    rows, centres = _rows(tuple([topic.centre for topic in topics]), message.vector.size)
    return (topics if len(rows) == len(topics) else [topics[row] for row in rows]), centres


@lru_cache(maxsize=16)
def _rows(centres: tuple[bytes, ...], size: int) -> tuple[Sequence[int], Vector]:
    rows = [row for row, centre in enumerate(centres) if dimensions_of(centre) == size]
    return rows, matrix_of(tuple([centres[row] for row in rows])) if rows else np.zeros((0, size), np.float32)


def similarity(message: TopicMessage, talk: TalkState, scale: Scale, weights: AssignWeights = WEIGHTS) -> float:
    """Similarity of the message to the active topic: its cosines with the recent messages, adjusted by the features.

    Compare it with `scale.threshold`: a question of typical length without other features is judged by cosine alone.
    """
    recent = talk.recent[-RECENT_MESSAGES:]
    cosines = np.stack([said.vector for said in recent]) @ message.vector
    closest = float(cosines.max())
    cosine = weights.previous_share * float(cosines[-1]) + (1 - weights.previous_share) * closest
    before = recent[-1].text
    shift = talk.closeness.shift(scale)
    if recent[-1].role == "assistant":
        # Every message to an assistant is a request, so a question mark means nothing. And many changes of topic must
        # not lower the threshold of the session: it only rises.
        asks = weights.put_to_assistant + weights.continues * bool(_CONTINUING.search(message.text))
        shift = max(shift, -scale.give * scale.spread)
    else:
        asks = weights.asks * (("?" in message.text) - 1)
        direction, offset = scale.subjects.manner["opens"] if scale.subjects else (message.vector[:0], 0.0)
        if direction.size == message.vector.size:  # what its vector alone says: it opens a subject
            asks += weights.manner * min(max(float(direction @ message.vector) + offset, -1.0), 1.0)
    content = _content(message.text)
    known: set[str] = set().union(*(_content(said.text) for said in recent))
    words = min(sum(1 for _ in _WORD.finditer(message.text)), _MOST_WORDS)
    leaving = (
        asks
        + weights.answers * before.rstrip().endswith("?")
        + weights.length * (math.log1p(words) - math.log1p(_TYPICAL_WORDS))
        + weights.closed * bool(_CLOSING.search(before))
        + weights.opens * bool(_OPENING.match(message.text))
        + weights.leans * bool(REFERRING.search(message.text))
        + weights.overlap * (len(content & known) / max(len(content), 1))
        + weights.young * (talk.message_count == 1)
    )
    # The shift of the session is subtracted here, so that the threshold stays one number.
    return cosine - shift - scale.spread * leaving


def _best_return(message: TopicMessage, topics: Sequence[Topic], scale: Scale) -> Decision | None:
    """The most similar of the other topics: cosine with its centre, raised by words shared with its title."""
    comparable, centres = _comparable(message, topics)
    if not comparable:
        return None
    scores = centres @ message.vector
    content = _content(message.text)
    helped = -scale.spread * WEIGHTS.title
    reachable = np.flatnonzero(scores + helped >= scale.return_threshold)
    # Reading titles is slow: only those of the nearest topics are read.
    for row in reachable[np.argsort(-scores[reachable], kind="stable")[:_TITLES_READ]] if content else ():
        named = _content(" ".join((comparable[row].title, *comparable[row].tags)))
        scores[row] += helped * len(content & named) / max(min(len(content), len(named)), 1)
    best = int(scores.argmax())
    return Decision(comparable[best].id, "returns", float(scores[best]), scale.return_threshold)


def _content(text: str) -> frozenset[str]:
    return _stems_of(text[:_CONTENT_CHARACTERS])


@lru_cache(maxsize=4_096)  # each message is compared with several after it
def _stems_of(text: str) -> frozenset[str]:
    return frozenset(snowball_stems(text))

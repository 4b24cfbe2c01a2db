"""Assigning a turn to a topic by its subject: question, answer and known topics go in, a decision comes out.

Four kinds of choice compete: stay in the active topic, return to another one, open a new one, or belong to none (small
talk). Each is scored by a weighted sum of observations: cosines against chance, rare words in common, and the form of
the question. A new topic scores 0; it is opened only if nothing else scores higher. docs/topics.md tells how the
weights were fitted.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ricordo.followups.parse import parse
from ricordo.followups.reference import Kind, main_kind
from ricordo.languages.base import Language
from ricordo.languages.registry import AnyLanguage, all_words, languages
from ricordo.languages.text import fold, guess_language_of
from ricordo.recall.evidence import snowball_stem, tokens
from ricordo.recall.quantization import dimensions_of, matrix_of
from ricordo.records.derived import Topic
from ricordo.topics.assign import REFERRING, Decision, FollowUpKind, TopicMessage, follow_up_kind
from ricordo.topics.thresholds import SubjectScale, Vector

_WORD = re.compile(r"[^\W\d_]+")
_REPEATED = re.compile(r"(.)\1{2,}")
_REPLY = AnyLanguage(r"\b(?:<topics.replies>)\b")
_SHORTEST_TYPO = 5
_READ = 400  # characters


@dataclass(frozen=True, slots=True)
class SmallTalk:
    """The words of a message: all, polite ones, those with content; `reply` if it answers a greeting or thanks."""

    words: int
    polite_words: int
    content_words: int
    reply: bool


@lru_cache(maxsize=1024)
def small_talk_of(text: str) -> SmallTalk:
    """How much of a message is small talk."""
    words = _WORD.findall(fold(text[:_READ]))
    polite = [word for word in words if is_polite(word)]
    empty = empty_words(languages())
    content = sum(word not in empty and not is_polite(word) for word in words)
    return SmallTalk(len(words), len(polite), content, bool(_REPLY.search(text[:_READ])))


@lru_cache(maxsize=8192)
def is_polite(word: str) -> bool:
    """Whether a folded word greets, thanks, praises or takes leave, also misspelt."""
    known = all_words("topics.polite_words")
    short = _REPEATED.sub(r"\1", word)
    if word in known or short in known:
        return True
    return len(short) >= _SHORTEST_TYPO and any(_one_edit(short, each) for each in known)


def _one_edit(word: str, other: str) -> bool:
    """Whether one letter was changed, added, left out, or swapped with the next one."""
    if abs(len(word) - len(other)) > 1 or len(other) < _SHORTEST_TYPO:
        return False
    at = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    rest, same = word[at:], other[at:]
    swapped = rest[:2] == same[1::-1] and rest[2:] == same[2:]
    return swapped or rest[1:] == same or rest == same[1:] or rest[1:] == same[1:]


@cache
def empty_words(known: tuple[Language, ...]) -> frozenset[str]:
    """Words that name no subject: grammar, common verbs, small talk, and nouns and adjectives that wait for one."""
    fields = (
        "vocabulary.stop_words vocabulary.small_talk followups.function_words followups.verbs followups.relational "
        "followups.modifiers"
    )
    return frozenset().union(*(all_words(field) for field in fields.split()))


T = TypeVar("T")
FloatArray = NDArray[np.float64]
FIRST_TURNS, RECENT_TURNS = 1, 4  # of each topic that a turn is compared with: the first ones and the last ones
_CONTENT_CHARACTERS = 400  # the beginning says what a text is about, and a long answer must not cost more
_PREFIX = 5  # letters that related words share: "volcano", "volcanic"
_GROWN = 4  # turns: from here on the size of a topic says no more
_FAR = 2.5  # spreads: a larger lead over the other topics says no more
_DEFINITION = AnyLanguage(r"\W*(?:<questions.kinds:definition>|<topics.definitions>)\b")  # over folded text: use match
_JOINING = AnyLanguage(r"\W*(?:<topics.joining>)\b(?!')")
_RESUMING = AnyLanguage(r"\b(?:<topics.resuming>)\b")
_DEFINITE = AnyLanguage(r"\b(?:<topics.definite>)(?=\s|\b)")
_PROPER_NAME = re.compile(r"(?<=[^\W\d_A-Z,] )[A-Z][\w']+")
_STRONG: tuple[Kind, ...] = ("continuation", "ordinal", "comparison")


@dataclass(frozen=True)
class TopicTurn:
    """A question and its answer, if there is one."""

    question: TopicMessage
    answer: TopicMessage | None = None

    @property
    def messages(self) -> tuple[TopicMessage, ...]:
        """The question, and the answer where there is one."""
        return (self.question, self.answer) if self.answer else (self.question,)

    @cached_property
    def vector(self) -> Vector:
        """The direction of the whole turn."""
        if self.answer is None:
            return self.question.vector
        both = self.question.vector + self.answer.vector
        direction: Vector = both / (np.linalg.norm(both) or np.float32(1))
        return direction

    @cached_property
    def asked(self) -> frozenset[str]:
        """The subject words of the question."""
        return subject_words(self.question.text)

    @cached_property
    def told(self) -> frozenset[str]:
        """The subject words of the answer."""
        return subject_words(self.answer.text) if self.answer else frozenset()

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """The beginnings of its subject words, which related words share."""
        return frozenset(word[:_PREFIX] for word in self.asked | self.told if len(word) >= _PREFIX)


@dataclass(frozen=True, slots=True)
class KnownTopic:
    """A topic that a turn may belong to, with the turns of it that were read, oldest first."""

    topic: Topic
    turns: tuple[TopicTurn, ...] = ()


def turns_compared(turns: Sequence[T]) -> list[T]:
    """The first and the last turns of a topic: the ones that a new turn is compared with."""
    return [*turns[:FIRST_TURNS], *turns[max(FIRST_TURNS, len(turns) - RECENT_TURNS) :]]


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """What the wording of a question says, whatever its subject."""

    kind: FollowUpKind
    main: Kind | None
    words: int
    subject_words: int
    asks: bool
    exclaims: bool
    defines: bool
    joins: bool
    refers: bool
    resumes: bool
    definite: bool
    names: int

    @property
    def binds(self) -> bool:
        """Whether it can open no topic; a question without a verb that names something ("Capital of Peru?") can."""
        lacks = self.main != "ellipsis" or self.joins or self.subject_words == 0
        return self.kind == "past" or (self.kind == "talk" and lacks)

    @property
    def complete(self) -> bool:
        """Whether it names a subject and nothing in its wording points at the talk so far."""
        return self.kind == "no" and self.subject_words > 1 and not (self.joins or self.refers)

    @property
    def observations(self) -> dict[str, float]:
        """What the form says about staying or coming back, as numbers."""
        return {
            "follows": self.kind == "talk",
            "past": self.kind == "past",
            "points": self.main in ("pronoun", "ellipsis"),
            "no_word": self.subject_words == 0,
            "one_word": self.subject_words == 1,
            "two_words": self.subject_words == 2,
            "joins": self.joins,
            "refers": self.refers,
            "resumes": self.resumes,
            "definite": self.definite,
            "defines": self.defines,
            "names": min(self.names, 2),
            "asks": self.asks,
            "exclaims": self.exclaims,
            "length": min(self.words, 15) / 8,
        }


@lru_cache(maxsize=4096)
def subject_words(text: str) -> frozenset[str]:
    """The stems of the words that can name a subject."""
    found = tokens(text[:_CONTENT_CHARACTERS])
    language = guess_language_of(found)
    empty = empty_words(languages())
    return frozenset(
        snowball_stem(word, language) for word in found if word not in empty and (len(word) > 2 or word.isdigit())
    )


@lru_cache(maxsize=512)
def form_of(text: str) -> QuestionForm:
    """The form of a question."""
    cues = parse(text)
    folded = fold(text)
    return QuestionForm(
        kind=follow_up_kind(text, cues),
        main=main_kind(tuple(cues)),
        words=small_talk_of(text).words,
        subject_words=small_talk_of(text).content_words,
        asks="?" in text,
        exclaims="!" in text,
        defines=bool(_DEFINITION.match(folded)),
        joins=bool(_JOINING.match(text)),
        refers=bool(REFERRING.search(text)),
        resumes=bool(_RESUMING.search(text)),
        definite=bool(_DEFINITE.search(text)),
        names=len(_PROPER_NAME.findall(text)),
    )


# Observations of the talk around a turn, not of what the turn shares with a topic.
_ALIKE = 0.5  # one common word in two long answers is less
_SHARED = 0.2  # below it, to an embedder that sees words alone, a question has nothing in common with a topic
_SURROUNDINGS = frozenset({"bias", "many", "alone", "young", "unanswered", "new_words"})


def decide_turn(turn: TopicTurn, active_id: str | None, known: Sequence[KnownTopic], scale: SubjectScale) -> Decision:
    """The topic of a turn: the active one, another one, a new one, or none.

    A follow-up never opens a topic. One that can only continue the talk stays, whatever its words; one with a pronoun
    or an ellipsis stays unless another topic scores higher.
    """
    form, talk = form_of(turn.question.text), small_talk_of(turn.question.text)
    known = [each for each in known if dimensions_of(each.topic.centre) == turn.question.vector.size]
    active = any(each.topic.id == active_id for each in known)
    follows = form.kind if active or form.kind == "past" else "no"
    if follows == "talk" and form.main in _STRONG:
        return Decision(active_id, "follow-up")
    manner = manner_of(turn.question.vector, scale)
    small = total(scale.weights.small, small_observations(turn, talk, form, first=not known) | manner)
    if not known:
        return Decision(None, "small talk", small) if small > 0 else Decision(None, "first")
    scores = score(turn, form, manner, active_id, known, scale)
    at = int(scores.argmax())
    most, best = float(scores[at]), known[at].topic.id
    if small > max(most, 0.0) and follows != "past":
        return Decision(None, "small talk", small)
    if most < 0 and (follows == "no" or not form.binds):
        return Decision(None, "new", most)
    if most < 0 and active:  # it points at what was said, but at no topic that its words tell
        return Decision(active_id, "follow-up", most)
    return Decision(best, "follow-up" if most < 0 else "close" if best == active_id else "returns", most)


def manner_of(question: Vector, scale: SubjectScale) -> dict[str, float]:
    """The signs that the vector of a question shows, from -1 to 1; 0 for a vector of another length."""
    return {
        name: max(-1.0, min(1.0, float(direction @ question) + offset)) if direction.size == question.size else 0.0
        for name, (direction, offset) in scale.manner.items()
    }


def score(
    turn: TopicTurn,
    form: QuestionForm,
    manner: dict[str, float],
    active_id: str | None,
    known: Sequence[KnownTopic],
    scale: SubjectScale,
) -> FloatArray:
    """How well a turn fits each topic; a new one scores 0."""
    seen = observe(turn, known, scale)
    shape = form.observations | manner
    weights = scale.weights
    weighted = {name: weights.back.get(name, 0.0) * column for name, column in seen.items()}
    back = sum(weighted.values(), np.zeros(len(known)))
    form_back = total(weights.back, shape)
    # The form of a question speaks for a return only to a topic of which its content speaks, too.
    alike = sum((weighted[name] for name in seen.keys() - _SURROUNDINGS), np.zeros(len(known)))
    back += np.where(alike > _ALIKE, form_back, min(form_back, 0.0))
    for row, each in enumerate(known):
        if each.topic.id == active_id:
            own = {name: float(column[row]) for name, column in seen.items()}
            back[row] = total(weights.stay, own | shape)
            if scale.by_words and form.complete:
                evidence = total(weights.stay, {name: own[name] for name in own.keys() - _SURROUNDINGS})
                back[row] = back[row] if evidence >= _SHARED else min(back[row], -_SHARED)
    return back


def apart(scale: SubjectScale, vectors: Vector) -> Vector:
    """Rows without what all vectors share and what varies within a topic, at length one."""
    left = vectors - scale.common
    left -= left @ scale.within.T @ scale.within
    left /= np.linalg.norm(left, axis=1, keepdims=True) + 1e-9
    return left


def cosines_apart(scale: SubjectScale, rows: Vector, directions: Vector) -> FloatArray:
    """The cosines of rows of length one, without the same, with directions that `apart` made."""
    shared = np.vstack([scale.common, scale.within])
    products = rows @ np.vstack([directions, shared]).T
    count = len(directions)
    offset = shared @ scale.common
    length = 1 - 2 * products[:, count] + offset[0] - ((products[:, count + 1 :] - offset[1:]) ** 2).sum(axis=1)
    lengths = np.sqrt(np.maximum(length, 0.01))[:, None]
    found: FloatArray = (products[:, :count] - directions @ scale.common) / lengths
    return found


def observe(turn: TopicTurn, known: Sequence[KnownTopic], scale: SubjectScale) -> dict[str, FloatArray]:
    """What is seen of a turn in each topic: a column for each observation, a row for each topic."""
    answer, (question_chance, answer_chance, turn_chance) = turn.answer, scale.chance
    mean, spread = turn_chance if answer else question_chance
    read = [turns_compared(each.turns) for each in known]
    # Centres and turns, with the question, the whole turn, and the answer.
    if scale.common.size != turn.vector.size:
        none = np.zeros((1, turn.vector.size), np.float32)
        scale = replace(scale, common=none[0], within=none)
    directions = apart(scale, np.stack([turn.question.vector, turn.vector, (answer or turn.question).vector]))
    turns = [each.vector for own in read for each in own]
    cosines = cosines_apart(scale, np.stack(turns), directions) if turns else np.empty((0, 3))
    count = np.array([max((each.topic.message_count + 1) // 2, 1) for each in known])
    centres = cosines_apart(scale, matrix_of(tuple(each.topic.centre for each in known)), directions)
    nearest, last = np.empty_like(centres), np.empty_like(centres)
    at = 0
    for row, own in enumerate(read):
        mine = cosines[at : at + len(own)] if own else centres[row : row + 1]
        nearest[row], last[row] = mine.max(axis=0), mine[-1]
        at += len(own)
    seen: dict[str, FloatArray] = {
        "bias": np.ones(len(known)),
        "many": np.full(len(known), math.log(len(known))),
        "alone": np.full(len(known), float(len(known) == 1)),
        "young": np.log(np.minimum(count, _GROWN) / _GROWN),  # topics of one or two turns are rare
        "unanswered": np.full(len(known), float(answer is None)),
        "question_centre": (centres[:, 0] - question_chance[0]) / question_chance[1],
        "question_nearest": (nearest[:, 0] - question_chance[0]) / question_chance[1],
        "turn_centre": (centres[:, 1] - mean) / spread,
        "turn_nearest": (nearest[:, 1] - mean) / spread,
        "answer_centre": (centres[:, 2] - answer_chance[0]) / answer_chance[1] * bool(answer),
        "answer_nearest": (nearest[:, 2] - answer_chance[0]) / answer_chance[1] * bool(answer),
    }
    # How much better the question and the last turn together predict the answer than the question alone.
    alone = float(directions[0] @ directions[2])
    together = (alone + last[:, 2]) / np.sqrt(np.maximum(2 + 2 * last[:, 0], 0.1))
    seen["answer_gain"] = (together - alone) / answer_chance[1] * bool(answer)
    for name in ("question_nearest", "turn_centre", "turn_nearest", "answer_nearest"):
        seen[name + "_lead"] = _lead(seen[name])
    return seen | _words_shared(turn, known)


def _lead(values: FloatArray) -> FloatArray:
    """How far each value lies above the highest of the others; 0 where there is no other."""
    order = np.sort(values)
    others = np.where(values >= order[-1], order[-2:][0], order[-1])
    clipped: FloatArray = np.clip(values - others, -_FAR, _FAR)
    return clipped


def _words_shared(turn: TopicTurn, known: Sequence[KnownTopic]) -> dict[str, FloatArray]:
    """The words that a turn shares with each topic; a word counts by the inverse of the topics that have it."""
    asked, told = turn.asked, turn.told
    new = asked | told
    questions, answers = [], []
    for each in known:
        named = subject_words(" ".join((each.topic.title, *each.topic.tags, each.topic.summary or "")))
        questions.append((new & named).union(*(new & t.asked for t in each.turns)))
        answers.append(frozenset().union(*(new & t.told for t in each.turns)))
    both = [a | b for a, b in zip(questions, answers, strict=True)]
    rare = {word: 1 / max(sum(word in own for own in both), 1) for word in new}
    scale = 1 / math.sqrt(max(len(told), 1))
    columns = []
    for each, own, q, a in zip(known, both, questions, answers, strict=True):
        alike = frozenset().union(*(turn.prefixes & t.prefixes for t in each.turns))
        columns.append(
            (
                min(sum(rare[w] for w in asked & q), 2.0),
                min(sum(rare[w] for w in (asked & a) - q), 2.0),
                sum(rare[w] for w in told & q) * scale,
                sum(rare[w] for w in (told & a) - q) * scale,
                sum(rare[w] for w in asked & own) / max(len(asked), 1),
                float(min(len(asked - own), 4)),
                float(min(len(alike - {w[:_PREFIX] for w in own}), 2)),
            )
        )
    names = ("asked_asked", "asked_told", "told_asked", "told_told", "asked_part", "new_words", "related")
    return dict(zip(names, np.array(columns).T, strict=True))


def small_observations(turn: TopicTurn, talk: SmallTalk, form: QuestionForm, *, first: bool) -> dict[str, float]:
    """What speaks for small talk, in the message and in its answer."""
    answer = turn.answer.text if turn.answer else ""
    reply = small_talk_of(answer).reply
    return {
        "bias": 1.0,
        "polite": talk.polite_words > 0,
        "empty": talk.content_words == 0,
        "only_polite": talk.content_words == 0 and talk.polite_words > 0,
        "content": min(talk.content_words, 5),
        "asks": form.asks,
        "defines": form.defines,
        "reply": reply,
        "answer_length": (min(len(answer.split()), 20) if answer else 8) / 8,
        "exclaims": answer.rstrip().endswith("!"),
        "first": first,
        "first_reply": first and reply,
    }


def total(weights: Mapping[str, float], seen: Mapping[str, float]) -> float:
    """The weighted sum of observations."""
    return float(sum(weights[name] * seen[name] for name in weights.keys() & seen.keys()))

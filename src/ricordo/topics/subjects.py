"""Assigning a turn to a topic by its subject: question, answer and known topics go in, a decision comes out.

Four kinds of choice compete: stay in the active topic, return to another one, open a new one, or belong to none (small
talk). Each is scored by a weighted sum of observations: cosines against chance, rare words in common, and the form of
the question. A new topic scores 0; it is opened only if nothing else scores higher. docs/topics.md tells how the
weights were fitted.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np

from ricordo.followups.parse import parse
from ricordo.followups.reference import Kind, main_kind
from ricordo.languages.base import Language
from ricordo.languages.registry import AnyLanguage, all_words, languages
from ricordo.languages.text import fold, guess_language_of
from ricordo.recall.evidence import stem, tokens
from ricordo.records.topics import Topic
from ricordo.topics.assign import REFERRING, Decision, FollowUpKind, Reason, TopicMessage, follow_up_kind
from ricordo.topics.thresholds import SubjectScale, Vector, dimensions_of, matrix_of, unit

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


RECENT_TURNS = 3
_CONTENT_CHARACTERS = 400  # the beginning says what a text is about, and a long answer must not cost more
_DEFINITION = AnyLanguage(r"\W*(?:<questions.kinds:definition>|<topics.definitions>)\b")  # over folded text: use match
_JOINING = AnyLanguage(r"\W*(?:<topics.joining>)\b(?!')")
_PROPER_NAME = re.compile(r"(?<=[^\W\d_A-Z,] )[A-Z][\w']+")
_STRONG: tuple[Kind, ...] = ("continuation", "ordinal", "comparison")
Observations = Mapping[str, float]


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
        return unit(self.question.vector + self.answer.vector) if self.answer else self.question.vector

    @cached_property
    def words(self) -> frozenset[str]:
        """The subject words of both messages."""
        return frozenset().union(*(subject_words(message.text) for message in self.messages))


@dataclass(frozen=True, slots=True)
class KnownTopic:
    """A topic that a turn may belong to, with the turns of it that were read, oldest first."""

    topic: Topic
    turns: tuple[TopicTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """What the wording of a question says, whatever its subject."""

    kind: FollowUpKind
    main: Kind | None
    words: int
    subject_words: int
    asks: bool
    defines: bool
    joins: bool
    refers: bool
    names: int


@lru_cache(maxsize=4096)
def subject_words(text: str) -> frozenset[str]:
    """The stems of the words that can name a subject."""
    found = tokens(text[:_CONTENT_CHARACTERS])
    language = guess_language_of(found)
    empty = empty_words(languages())
    return frozenset(stem(word, language) for word in found if word not in empty and (len(word) > 2 or word.isdigit()))


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
        defines=bool(_DEFINITION.match(folded)),
        joins=bool(_JOINING.match(text)),
        refers=bool(REFERRING.search(text)),
        names=len(_PROPER_NAME.findall(text)),
    )


def decide_turn(turn: TopicTurn, active_id: str | None, known: Sequence[KnownTopic], scale: SubjectScale) -> Decision:
    """The topic of a turn: the active one, another one, a new one, or none.

    A follow-up never opens a topic. One that can only continue the talk stays, whatever its words; one with a pronoun
    or an ellipsis stays unless its words name another topic.
    """
    form, talk = form_of(turn.question.text), small_talk_of(turn.question.text)
    size = turn.question.vector.size
    known = [each for each in known if dimensions_of(each.topic.centre) == size]
    weights, first = scale.weights, not known
    follows = form.kind
    if active_id is None or all(each.topic.id != active_id for each in known):
        follows = "no" if form.kind == "talk" else form.kind
    if follows == "talk" and form.main in _STRONG:
        return Decision(active_id, "follow-up")
    small = _total(weights.small, _small_observations(turn, talk, form, first=first))
    best: str | None = None
    reason: Reason = "first" if first else "new"
    most = 0.0
    named = False
    for each, seen in _topic_observations(turn, known, scale):
        here = each.topic.id == active_id
        score = (
            _total(weights.stay, seen | _form_observations(form, seen))
            if here
            else _total(weights.back, seen | {"past": form.kind == "past"})
        )
        if follows == "talk":  # only rare words of another topic lead away from the active one
            named = named or (not here and seen["shared"] >= 1)
            score = score if here or seen["shared"] >= 1 else -math.inf
        if score > most or (best is None and follows != "no"):
            best, reason, most = each.topic.id, "close" if here else "returns", score
    if small > max(most, 0.0) and follows != "past":
        return Decision(None, "small talk", small)
    if follows == "talk" and not named:
        return Decision(active_id, "follow-up", most)
    if follows == "past" and most < 0 and any(each.topic.id == active_id for each in known):
        return Decision(active_id, "follow-up", most)  # it points back, but at no topic that its words tell
    return Decision(best, "follow-up" if most < 0 else reason, most)


def _topic_observations(
    turn: TopicTurn, known: Sequence[KnownTopic], scale: SubjectScale
) -> list[tuple[KnownTopic, dict[str, float]]]:
    """Each topic with what is seen of the turn in it."""
    chance = scale.chance
    question, answer, whole = turn.question.vector, turn.answer, turn.vector
    mean, spread = chance.turn if answer else chance.question
    asked = subject_words(turn.question.text)
    told = subject_words(answer.text) if answer else frozenset()
    words = [_words_of(each) for each in known]
    topics_with = {word: sum(word in each for each in words) for word in asked | told}
    if not known:
        return []
    centres = matrix_of([each.topic.centre for each in known])
    # One product for all topics: with the question, the whole turn, and the answer.
    directions = np.stack([question, whole, answer.vector if answer else question])
    cosines: list[list[float]] = (centres @ directions.T).tolist()
    found: list[tuple[KnownTopic, dict[str, float]]] = []
    for each, own, centre, (to_question, to_turn, to_answer) in zip(known, words, centres, cosines, strict=True):
        turns = each.turns[-RECENT_TURNS:]
        # The centre of many turns is nearer to everything than a single turn is.
        count = max((each.topic.message_count + 1) // 2, 1)
        growth = math.sqrt(count / (1 + (count - 1) * chance.turn[0]))
        recent = np.stack([t.vector for t in turns]) if turns else centre[None, :]
        shared = sum(1 / topics_with[word] for word in asked & own)
        seen = {
            "bias": 1.0,
            "turn_centre": (to_turn / growth - mean) / spread,
            "turn_recent": (float((recent @ whole).max()) - mean) / spread,
            "question_centre": chance.of_question(to_question / growth),
            "shared": min(shared, 2.0),
            "shared_part": shared / max(len(asked), 1),
            "new_words": float(min(len(asked - own), 4)),
            "answer_centre": 0.0,
            "answer_gain": 0.0,
            "answer_shared": 0.0,
        }
        if answer:
            with_talk = unit(question + recent[-1])
            seen["answer_centre"] = chance.of_answer(to_answer / growth)
            seen["answer_gain"] = float((with_talk - question) @ answer.vector) / chance.answer[1]
            seen["answer_shared"] = sum(1 / topics_with[w] for w in told & own) / math.sqrt(max(len(told), 1))
        found.append((each, seen))
    for index, (_, seen) in enumerate(found):
        others = [other["turn_centre"] for at, (_, other) in enumerate(found) if at != index]
        seen["turn_lead"] = min(seen["turn_centre"] - max(others), 1.0) if others else 0.5
    return found


def _words_of(known: KnownTopic) -> frozenset[str]:
    title = subject_words(" ".join((known.topic.title, *known.topic.tags, known.topic.summary or "")))
    return title.union(*(turn.words for turn in known.turns))


def _form_observations(form: QuestionForm, seen: Observations) -> dict[str, float]:
    """What the form of a question says about staying."""
    return {
        "follows": form.kind == "talk",
        "points": form.main in ("pronoun", "ellipsis"),
        "no_word": form.subject_words == 0,
        "one_word": form.subject_words == 1,
        "two_words": form.subject_words == 2,
        "joins": form.joins,
        "refers": form.refers,
        "defines": form.defines,
        "names": min(form.names, 2),
        "asks": form.asks,
        "length": min(form.words, 15) / 8,
    }


def _small_observations(turn: TopicTurn, talk: SmallTalk, form: QuestionForm, *, first: bool) -> dict[str, float]:
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


def _total(weights: Observations, seen: Observations) -> float:
    return sum(weight * seen[name] for name, weight in weights.items())

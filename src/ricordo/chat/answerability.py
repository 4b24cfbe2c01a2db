"""Which past messages answer a question, and whether any does.

Pure: a question and messages go in, scored messages come out. A first model ranks them by meaning, words, speaker and
date, and by whether something of the wanted type (a name, an age, a time) stands near those words. Two more tell from
the best of them whether the question is answered at all: whether the talk knows its subject, and whether it holds the
detail that is asked for. All are logistic models with weights fitted on labelled talk (docs/answering.md).
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ricordo.chat.question import FIRST_PERSON, asks_for_answers, folded
from ricordo.languages.registry import AnyLanguage, all_words, codes, language, languages
from ricordo.languages.text import guess_language
from ricordo.recall.evidence import snowball_stem, snowball_stems, tokens

if TYPE_CHECKING:
    from ricordo.chat.past import MemoryPassage

_WANTED = {
    kind: AnyLanguage(rf"\b(?:<dialogue.wanted:{kind}>)\b", flags=0)
    for kind in (
        "age", "surname", "name", "colour", "code", "amount", "number", "time", "place", "person", "reason",
    )
}  # fmt: skip
ANSWER_TYPES = (*_WANTED, "")
# Quotes without anything of these types answer no question for it.
MUST_HOLD = frozenset(("age", "surname", "colour", "amount", "number", "time"))
_HELD = {
    "number": AnyLanguage(r"\d.*|(?:<dialogue.held:number>)", flags=0),
    "time": AnyLanguage(r"\d.*|(?:<dialogue.held:time>)", flags=0),
    "colour": AnyLanguage(r"(?:<dialogue.held:colour>)", flags=0),
    "code": AnyLanguage(r"\d{3,}.*", flags=0),
}
_AFTER_AGE = AnyLanguage(r"(?:<dialogue.held:age>)", flags=0)  # the word behind a number that may be an age
_CALENDAR = AnyLanguage(r"(?:<dialogue.held:calendar>)", flags=0)  # written with a capital letter, but no name
_SELF_NAMED = AnyLanguage(r"\b(?:<dialogue.self_named>)\s*$", flags=0)
_OWN_NAME = AnyLanguage(r"\b(?:<dialogue.own_name>)\b", flags=0)
_ADVICE = AnyLanguage(r"\b(?:<dialogue.advice>)\b", flags=0)
_CHANGED = AnyLanguage(r"\b(?:<dialogue.changed>)\b", flags=0)
_WORD = re.compile(r"[^\W_]+(?:[.,:]\d+)*")
_SENTENCE_START = re.compile(r"[.!?…:\"“«(]\s*$")
_NAMING = frozenset(("surname", "name", "person"))
_SHORTEST_BEGINNING = 4
_SYNONYM = 0.7
_ALIKE = 0.75
_AROUND, _BEFORE = 0.6, 0.45  # weight of a word in the other message of the turn, and in the turn before
_SMOOTHING = 6
RELATED_FROM, ANSWERED_FROM = 0.3, 0.5  # measured: docs/answering.md
_NOWHERE = 99  # words between the question's words and an answer where one of them is missing


@dataclass(frozen=True, slots=True)
class MemoryQuestion:
    """A question as it is compared with passages: stems of its content words, wanted type, wanted speaker."""

    terms: tuple[frozenset[str], ...]
    alike: tuple[frozenset[str], ...]
    wanted: str
    speaker: str
    text: str

    @property
    def for_advice(self) -> bool:
        """Whether it asks for what the assistant said or advised."""
        return self.speaker == "assistant" or _ADVICE.search(self.text) is not None

    @property
    def own_name(self) -> bool:
        """Whether it asks how the user is called."""
        return _OWN_NAME.search(self.text) is not None or (self.wanted == "name" and not self.terms)


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A passage with the probability that it holds the answer, and the share of the question that it covers."""

    passage: "MemoryPassage"
    probability: float
    coverage: float
    answers: bool = False  # something of the wanted type stands in it


@dataclass(frozen=True, slots=True)
class Findings:
    """The scored passages, best first; how probably they know the subject, and how probably they hold the detail."""

    passages: tuple[ScoredMemory, ...]
    related: float = 0.0
    answered: float = 0.0

    @property
    def is_answer(self) -> bool:
        """Whether the best passage answers the question."""
        return self.related >= RELATED_FROM and self.answered >= ANSWERED_FROM


def memory_question(question: str) -> MemoryQuestion:
    """Read a question."""
    plain = folded(question)
    skipped = all_words("dialogue.past_words") | all_words("questions.asking_words")
    small = language(guess_language(question)).vocabulary.stop_words
    terms, alike = [], []
    for word in dict.fromkeys(tokens(question)):
        if word in small or word in skipped:
            continue
        terms.append(_forms(word))
        alike.append(_synonyms(word))
    wanted = next((kind for kind, pattern in _WANTED.items() if pattern.search(plain)), "")
    speaker = "assistant" if asks_for_answers(question) else "user"
    return MemoryQuestion(tuple(terms), tuple(alike), wanted, speaker, plain)


@lru_cache(maxsize=4_096)
def _synonyms(word: str) -> frozenset[str]:
    return frozenset(
        snowball_stem(other, each.code)
        for each in languages()
        for group in each.dialogue.synonyms
        if word in group
        for other in group
        if other != word
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a passage in order, with the stems of each."""

    text: str
    spans: tuple[tuple[int, int], ...]
    plain: tuple[str, ...]
    stems: tuple[frozenset[str], ...]

    @staticmethod
    @lru_cache(maxsize=2_048)
    def of(text: str) -> "_Words":
        """Read a passage."""
        spans = tuple(each.span() for each in _WORD.finditer(text))
        plain = tuple(folded(text[start:end]) for start, end in spans)
        return _Words(text, spans, plain, tuple(map(_forms, plain)))

    def is_name(self, at: int, asked: frozenset[str]) -> bool:
        """Whether a word is written like a name: a capital letter that no sentence start or calendar explains."""
        start, end = self.spans[at]
        if not self.text[start].isupper() or end - start < 2 or self.plain[at] in asked:
            return False
        if _CALENDAR.fullmatch(self.plain[at]):
            return False
        opens = start == 0 or _SENTENCE_START.search(self.text[:start]) is not None
        return not opens or self._next_is_capital(at) or self.text[end : end + 1] == ","

    def _next_is_capital(self, at: int) -> bool:
        if at + 1 >= len(self.spans):
            return False
        start = self.spans[at + 1][0]
        return self.text[start].isupper() and start - self.spans[at][1] <= 1

    def holding(self, asked: MemoryQuestion) -> list[int]:
        """The places of words that may be the answer, by its wanted type."""
        kind = asked.wanted
        if kind in _NAMING or kind == "place":
            said = frozenset(tokens(asked.text))
            found = [at for at in range(len(self.plain)) if self.is_name(at, said)]
            if kind == "surname":
                return [at for at in found if self._next_is_capital(at)]
            if kind == "place":
                return found
            own = [at for at in found if _SELF_NAMED.search(folded(self.text[: self.spans[at][0]]))]
            return own if asked.own_name else [at for at in found if at not in own]
        if kind == "age":
            return [at for at in self._matching("number") if self._may_be_age(at)]
        return self._matching("number" if kind == "amount" else kind)

    def _matching(self, kind: str) -> list[int]:
        pattern = _HELD.get(kind)
        return [] if pattern is None else [at for at, word in enumerate(self.plain) if pattern.fullmatch(word)]

    def _may_be_age(self, at: int) -> bool:
        if len(self.plain[at]) > 2 and self.plain[at].isdigit():
            return False
        follows = at + 1 < len(self.spans) and self.spans[at + 1][0] - self.spans[at][1] <= 1
        return not follows or _AFTER_AGE.fullmatch(self.plain[at + 1]) is not None

    def distance(self, asked: MemoryQuestion, answers: Sequence[int]) -> int:
        """The words between a possible answer and the nearest word of the question, or of the user's self."""
        if not answers:
            return _NOWHERE
        heard = [
            at
            for at, said in enumerate(self.stems)
            if any(_heard(term, like, said) for term, like in zip(asked.terms, asked.alike, strict=True))
        ]
        if not heard:
            if not FIRST_PERSON.search(asked.text):
                return 20
            heard = [at for at, word in enumerate(self.plain) if FIRST_PERSON.fullmatch(word)]
        return min((abs(one - other) for one in answers for other in heard), default=_NOWHERE)


def features(asked: MemoryQuestion, passages: Sequence["MemoryPassage"]) -> list[tuple[float, ...]]:
    """What is known of each passage, as numbers; `_RANKING` weighs them."""
    own = [_stems(each.text) for each in passages]
    around = [_stems(each.around) for each in passages]
    turns: dict[tuple[str, int], set[str]] = {}
    for passage, said in zip(passages, own, strict=True):
        turns.setdefault((passage.session_id, passage.turn_number), set()).update(said)
    advice = _ADVICE.search(asked.text) is not None
    worths = _worths(asked, own)
    total = sum(worths) or 1.0
    cosines = [each.cosine for each in passages]
    mean = sum(cosines) / max(1, len(cosines))
    spread = math.sqrt(sum((each - mean) ** 2 for each in cosines) / max(1, len(cosines))) + 0.02
    order = sorted({(each.said_at) for each in passages})
    rank = {moment: at / max(1, len(order) - 1) for at, moment in enumerate(order)}
    kind = asked.wanted
    typed = kind not in ("", "reason")
    rows: list[tuple[float, ...]] = []
    for at, passage in enumerate(passages):
        pairs = list(zip(asked.terms, asked.alike, strict=True))
        heard = [_heard(term, like, own[at]) for term, like in pairs]
        near = [
            max(said, _AROUND * _heard(term, like, around[at])) for said, (term, like) in zip(heard, pairs, strict=True)
        ]
        before = turns.get((passage.session_id, passage.turn_number - 1), set())
        wide = [max(said, _BEFORE * _heard(term, like, before)) for said, (term, like) in zip(near, pairs, strict=True)]
        words = _Words.of(passage.text)
        answers = words.holding(asked) if typed else []
        gap = words.distance(asked, answers) if typed else _NOWHERE
        held, missing = bool(answers), typed and not answers
        rows.append(
            (
                1.0,
                (passage.cosine - mean) / spread,
                passage.cosine - max(cosines),
                sum(w * h for w, h in zip(worths, heard, strict=True)) / total,
                sum(w * h for w, h in zip(worths, near, strict=True)) / total,
                sum(w * h for w, h in zip(worths, wide, strict=True)) / total,
                float(held),
                float(missing),
                1 / (1 + gap) if held else 0.0,
                float(held and gap <= 3),
                float(held and gap > 8),
                float(missing and kind in _NAMING),
                float(held and gap <= 3 and kind in _NAMING),
                float(missing and kind == "age"),
                float(held and kind == "age"),
                float(missing and kind in ("colour", "code", "surname")),
                float(missing and kind in ("amount", "number")),
                float(missing and kind == "time"),
                float(missing and kind == "place"),
                float(asked.own_name and held),
                float(asked.own_name and not held),
                min(heard, default=0.5),
                sum(each == 0 for each in wide) / max(1, len(wide)),
                float(not any(heard)),
                float(not asked.terms),
                float(passage.role == asked.speaker),
                float(asked.speaker == "assistant" == passage.role),
                float(asked.speaker == "user" and passage.role == "assistant"),
                float(advice and passage.role == "assistant"),
                float(passage.text.rstrip().endswith("?")),
                float(len(own[at]) < 3),
                rank[passage.said_at],
                float(_CHANGED.search(folded(passage.text)) is not None),
                min(1.0, len(own[at]) / 20),
                float(kind == ""),
                float(kind == "reason"),
            )
        )
    return rows


def question_features(
    asked: MemoryQuestion,
    passages: Sequence["MemoryPassage"],
    rows: Sequence[tuple[float, ...]],
    logits: Sequence[float],
) -> tuple[float, ...]:
    """What is known of a question and its best passage, as numbers; `_RELATED` and `_ANSWERED` weigh them."""
    order = sorted(range(len(logits)), key=lambda at: -logits[at])
    best = logits[order[0]]
    lead = min(4.0, best - logits[order[1]]) if len(order) > 1 else 4.0
    total = math.log(sum(math.exp(each) for each in logits))
    kinds = (float(asked.wanted == kind) for kind in ANSWER_TYPES)
    top = rows[order[0]]
    close = max(passage.cosine for passage in passages)
    length = min(1.0, len(asked.text.split()) / 12)
    return (1.0, best, lead, total, close, top[1], *top[3:], *kinds, length)


def _worths(asked: MemoryQuestion, own: Sequence[Collection[str]]) -> list[float]:
    count = len(own) + _SMOOTHING
    worths = []
    for term, like in zip(asked.terms, asked.alike, strict=True):
        saying = sum(1 for said in own if _heard(term, like, said) > 0)
        worths.append(math.log(1 + (count - saying + 0.5) / (saying + 0.5)))
    return worths


def _heard(term: frozenset[str], like: frozenset[str], said: Collection[str]) -> float:
    if not term.isdisjoint(said):
        return 1.0
    if any(_alike(one, other) for one in term for other in said):
        return _ALIKE
    return _SYNONYM if not like.isdisjoint(said) else 0.0


def is_heard(term: frozenset[str], word: str) -> bool:
    """Whether a word is a form of a question's word."""
    return _heard(term, frozenset(), _forms(word)) > 0


def _alike(one: str, other: str) -> bool:
    if one[:_SHORTEST_BEGINNING] != other[:_SHORTEST_BEGINNING] or min(len(one), len(other)) < _SHORTEST_BEGINNING:
        return False
    return abs(len(one) - len(other)) <= 4 and (one.startswith(other) or other.startswith(one))


@lru_cache(maxsize=32_768)
def _forms(word: str) -> frozenset[str]:
    """The stems of a word in every language."""
    return frozenset(snowball_stem(word, code) for code in codes())


@lru_cache(maxsize=2_048)
def _stems(text: str) -> frozenset[str]:
    """The stems of a message; messages are asked about again and again."""
    return frozenset(snowball_stems(text, guess_language(text)))


def score_memory(asked: MemoryQuestion, passages: Sequence["MemoryPassage"]) -> Findings:
    """Every passage with its probability, best first, and whether the best one answers."""
    if not passages:
        return Findings(())
    rows = features(asked, passages)
    logits = [_weighed(_RANKING, row) for row in rows]
    best = question_features(asked, passages, rows, logits)
    found = [
        ScoredMemory(passage, _probability(logit), row[4], answers=row[6] > 0)
        for passage, row, logit in zip(passages, rows, logits, strict=True)
    ]
    ordered = tuple(sorted(found, key=lambda each: -each.probability))
    return Findings(ordered, _probability(_weighed(_RELATED, best)), _probability(_weighed(_ANSWERED, best)))


def _weighed(weights: Sequence[float], row: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, row, strict=True))


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


# Fitted on labelled talk: training/answers/train.py.
_RANKING = (
    -4.53, 1.48, 1.98, -0.80, 2.55, -1.73, 0.36, -0.51, 0.71, -0.01, 0.09, -1.14, 0.24, -2.17, 0.79, -0.29, -0.92,
    -0.91, -0.10, 6.65, 1.63, 0.10, -0.85, 0.04, -0.24, 1.71, 0.47, 1.24, 1.26, -2.11, -0.50, 0.80, 0.29, 1.54,
    0.21, 0.23,
)  # fmt: skip
_RELATED = (
    2.32, 0.26, 0.20, 0.10, 15.11, 0.47, 0.37, 0.36, 0.59, 0.05, -0.13, -0.96, -0.01, -0.40, -0.09, 0.12, 4.00,
    1.22, -0.10, -0.34, -1.37, 0.16, 0.37, 0.03, -0.01, -1.14, -0.63, 0.16, 0.37, -0.52, -0.23, 0.22, -0.38, -0.20,
    -0.09, -0.12, 0.78, -0.02, -0.22, 1.40, 0.0, 0.83, 0.44, -0.21, -0.54, -0.28, -0.27, 0.58, 0.15, -0.22, -0.02,
    -2.03,
)  # fmt: skip
_ANSWERED = (
    0.13, 0.08, 0.07, -0.02, 2.53, 0.15, -0.01, 0.0, -0.06, 0.06, -0.61, 0.52, 0.18, -0.15, -1.42, -0.16, -0.90,
    -0.24, -0.29, -1.63, 1.81, 1.26, 1.49, 3.42, 1.01, -0.35, 0.34, 1.37, -0.06, 0.43, 0.06, 1.31, 0.88, 0.65, 0.36,
    -0.13, -0.46, 0.11, 0.98, -0.38, -2.62, -1.31, -0.46, 0.84, -0.79, 0.28, 0.38, 0.17, 0.97, 0.98, 0.11, 1.29,
)  # fmt: skip

"""Score passages of memory for a question: which of them holds the answer, and whether any does.

Pure. Recall's own score says what a message is about; here its words, the type of answer that is wanted, its speaker
and its date are weighed with it. The weights were fitted on labelled talk (docs/answering.md).
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ricordo.chat.reader.acts import asks_for_answers, folded
from ricordo.languages.detect import guess_language
from ricordo.languages.registry import AnyLanguage, all_words, codes, language, languages
from ricordo.recall.evidence import stem, stems, tokens

if TYPE_CHECKING:
    from ricordo.chat.reader.past import MemoryPassage

_WANTED = {
    kind: AnyLanguage(rf"\b(?:<dialogue.wanted:{kind}>)\b", flags=0)
    for kind in ("number", "time", "place", "person", "name", "reason")
}
_HELD = {
    "number": AnyLanguage(r"\d|\b(?:<dialogue.held:number>)\b", flags=0),
    "time": AnyLanguage(r"\d|\b(?:<dialogue.held:time>)\b", flags=0),
    "reason": AnyLanguage(r"\b(?:<dialogue.held:reason>)\b|[:;]", flags=0),
}
_CHANGED = AnyLanguage(r"\b(?:<dialogue.changed>)\b", flags=0)
_NAME = re.compile(r"(?<![.!?…:\"“«]\s)(?<!^)\b[A-Z][\w'&-]*[a-z]\w*|\b[A-Z]{2,}\b")
_SHORTEST_BEGINNING = 4
_SYNONYM = 0.7
_ALIKE = 0.75
_AROUND = 0.6
_SMOOTHING = 6


@dataclass(frozen=True, slots=True)
class MemoryQuestion:
    """A question as it is compared with passages: stems of its content words, wanted type, wanted speaker."""

    terms: tuple[frozenset[str], ...]
    alike: tuple[frozenset[str], ...]
    wanted: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A passage with the probability that it holds the answer, and the share of the question that it covers."""

    passage: "MemoryPassage"
    probability: float
    coverage: float


def memory_question(question: str) -> MemoryQuestion:
    """Read a question."""
    plain = folded(question)
    skipped = all_words("dialogue.past_words") | all_words("questions.asking_words")
    small = language(guess_language(question)).vocabulary.stop_words
    terms, alike = [], []
    for word in dict.fromkeys(tokens(question)):
        if word in small or word in skipped:
            continue
        terms.append(frozenset(stem(word, code) for code in codes()))
        alike.append(_synonyms(word))
    wanted = next((kind for kind, pattern in _WANTED.items() if pattern.search(plain)), "")
    speaker = "assistant" if asks_for_answers(question) else "user"
    return MemoryQuestion(tuple(terms), tuple(alike), wanted, speaker, plain)


@lru_cache(maxsize=4_096)
def _synonyms(word: str) -> frozenset[str]:
    return frozenset(
        stem(other, each.code)
        for each in languages()
        for group in each.dialogue.synonyms
        if word in group
        for other in group
        if other != word
    )


def holds(wanted: str, text: str, asked: str) -> bool:
    """Whether a text holds something of the wanted type that the question does not hold itself."""
    if wanted in ("person", "name", "place"):
        named = {folded(name) for name in _NAME.findall(text)}
        return any(name not in asked for name in named)
    return wanted not in _HELD or _HELD[wanted].search(folded(text)) is not None


def features(asked: MemoryQuestion, passages: Sequence["MemoryPassage"]) -> list[tuple[float, ...]]:
    """What is known of each passage, as numbers; `_WEIGHTS` weighs them."""
    own = [frozenset(stems(each.text, guess_language(each.text))) for each in passages]
    around = [frozenset(stems(each.around, guess_language(each.around))) for each in passages]
    worths = _worths(asked, own)
    total = sum(worths) or 1.0
    best = max((each.score for each in passages), default=0.0) or 1.0
    order = sorted({each.said_at for each in passages})
    rank = {moment: at / max(1, len(order) - 1) for at, moment in enumerate(order)}
    rows: list[tuple[float, ...]] = []
    for at, passage in enumerate(passages):
        heard = [_heard(term, like, own[at]) for term, like in zip(asked.terms, asked.alike, strict=True)]
        near = [
            max(said, _AROUND * _heard(term, like, around[at]))
            for said, term, like in zip(heard, asked.terms, asked.alike, strict=True)
        ]
        cov = sum(w * h for w, h in zip(worths, heard, strict=True)) / total
        wide = sum(w * h for w, h in zip(worths, near, strict=True)) / total
        held = holds(asked.wanted, passage.text, asked.text) if asked.wanted else False
        rows.append(
            (
                1.0,
                passage.score,
                passage.score / best,
                float(passage.score == best),
                cov,
                wide,
                float(bool(asked.wanted) and held),
                float(bool(asked.wanted) and not held),
                float(passage.role == asked.speaker),
                float(asked.speaker == "assistant" and passage.role == "assistant"),
                float(passage.text.rstrip().endswith("?")),
                float(len(own[at]) < 3),
                rank[passage.said_at],
                float(_CHANGED.search(folded(passage.text)) is not None),
                float(not asked.terms),
                min(1.0, len(own[at]) / 20),
                float(asked.wanted in ("person", "name") and not held),
            )
        )
    return rows


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


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _SHORTEST_BEGINNING and len(long) - len(short) <= 4 and long.startswith(short)


def score_memory(asked: MemoryQuestion, passages: Sequence["MemoryPassage"]) -> list[ScoredMemory]:
    """Every passage with its probability, best first."""
    rows = features(asked, passages)
    found = [
        ScoredMemory(passage, 1 / (1 + math.exp(-sum(w * x for w, x in zip(_WEIGHTS, row, strict=True)))), row[5])
        for passage, row in zip(passages, rows, strict=True)
    ]
    return sorted(found, key=lambda each: -each.probability)


_WEIGHTS = (
    -6.06, 0.16, 3.97, 1.06, -0.54, 1.38, 0.2, -1.64, 0.02, 0.78, -1.64, -1.28, 0.88, 0.25, 0.94, -0.21, -0.51,
)  # fmt: skip

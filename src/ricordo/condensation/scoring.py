"""Which sentences of a talk are worth quoting: a number for each, made of four parts that can be explained.

Centrality: how much of what comes back in the talk it says; what comes back everywhere (a name in every greeting) tells
nothing. Evidence: how much it names for its length, what is named once more than what is named always. Position: what
opens a message says what it is about. Speaker: what the user tells weighs more, a question asked back less. One pass to
count, one to score; nothing is compared with everything.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ricordo.condensation.evidence import Evidence

_CENTRALITY, _EVIDENCE, _OPENING, _USER = 1.0, 0.5, 0.1, 0.1
_ASKED_BACK = -0.5
_FEW = 5.0  # a sentence of fewer telling words is held back, however central they are
_EVERYWHERE = 0.05  # words in more than this share of the sentences tell nothing
_FROM = 40  # sentences; in a short talk everything comes back everywhere
_WORDS_OF_ONE_THING = 12.0  # evidence is dense at one thing in a dozen words


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its speaker, its place in its message, its telling words, and what it names."""

    text: str
    speaker: str
    role: str
    opening: bool
    words: frozenset[str]
    named: tuple[Evidence, ...] = ()

    @property
    def tells(self) -> bool:
        """Whether it says more than a greeting does."""
        return bool(self.named) or len(self.words) > 1


def scores(candidates: Sequence[Sentence]) -> list[float]:
    """A score for each sentence, in the same order."""
    counts = Counter(term for sentence in candidates for term in sentence.words)
    most = max(counts.values(), default=1)
    common = max(_EVERYWHERE * len(candidates), 2.0) if len(candidates) >= _FROM else math.inf
    top = math.log1p(min(most, common))
    weight = {term: math.log1p(count) / top if count <= common else 0.0 for term, count in counts.items()}
    named = Counter(evidence.text for sentence in candidates for evidence in sentence.named)
    return [_score(sentence, weight, named) for sentence in candidates]


def _score(sentence: Sentence, weight: dict[str, float], named: Counter[str]) -> float:
    length = sentence.text.count(" ") + 1
    # Sorted, because the order in which floats are added shows in the last digits.
    score = _CENTRALITY * sum([weight[term] for term in sorted(sentence.words)]) / (len(sentence.words) + _FEW)
    told = sum((0.2 if each.weak else 1.0) / math.sqrt(named[each.text]) for each in sentence.named)
    score += _EVIDENCE * min(told * _WORDS_OF_ONE_THING / max(length, _WORDS_OF_ONE_THING), 2.0)
    score += _OPENING * sentence.opening + _USER * (sentence.role == "user")
    if sentence.role == "assistant" and sentence.text.endswith("?"):
        score += _ASKED_BACK
    return score


def in_turn(order: Sequence[float], parts: int = 8) -> Iterable[int]:
    """Positions, best first, each stretch of the talk in turn, so that no part of it goes unheard."""
    size = max(math.ceil(len(order) / parts), 1)
    stretches = [
        iter(sorted(range(start, min(start + size, len(order))), key=lambda at: (-order[at], at)))
        for start in range(0, len(order), size)
    ]
    while stretches:
        still = []
        for stretch in stretches:
            position = next(stretch, None)
            if position is not None:
                yield position
                still.append(stretch)
        stretches = still

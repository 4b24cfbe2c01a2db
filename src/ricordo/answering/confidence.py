"""How far the offered material supports an answer: a number from 0 to 1 made of three observations.

It is no probability that the answer is true, and it does not read the answer's mind: it says how much of the question
the material speaks of, how clearly one chunk stands out, and how many of the citations were real. Each can only raise
it; without material it is 0, and an answer that nothing was found stays below a quarter.
"""

from dataclasses import dataclass

COVERAGE, MARGIN, CITATIONS = 0.7, 0.1, 0.2
_NOTHING_FOUND = 0.25


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was observed: all shares lie between 0 and 1.

    `coverage` of the question's words by the chunks that were kept; `margin` by which the best chunk leads the next;
    `cited` and `removed` count the citations that were real and those that were taken out.
    """

    offered: int
    coverage: float = 0.0
    margin: float = 0.0
    cited: int = 0
    removed: int = 0


def confidence(evidence: Evidence, *, found: bool = True) -> float:
    """0.7 × coverage + 0.1 × margin + 0.2 × share of real citations; a quarter of that when nothing was found."""
    if evidence.offered < 1:
        return 0.0
    citations = evidence.cited + evidence.removed
    real = evidence.cited / citations if citations else 0.0
    total = COVERAGE * _unit(evidence.coverage) + MARGIN * _unit(evidence.margin) + CITATIONS * real
    return round(total * (1.0 if found else _NOTHING_FOUND), 3)


def margin(scores: list[float] | tuple[float, ...]) -> float:
    """By how much the best of some scores leads the next, as a share of the best; 1 for a single one."""
    first, *rest = sorted((max(0.0, score) for score in scores), reverse=True) or [0.0]
    if first <= 0:
        return 0.0
    return 1 - rest[0] / first if rest else 1.0


def _unit(number: float) -> float:
    return min(1.0, max(0.0, number))

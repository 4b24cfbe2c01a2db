"""How well each passage answers: how much of the question it speaks of, and whether it is put like an answer to it.

A definition names its subject and says what it is; a reason says "because"; a quantity has a number. Such signs only
order passages that speak of the question: they never make up for words that are missing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.answering.asking import Kind
from ricordo.answering.evidence import Weighed
from ricordo.answering.passages import Passage
from ricordo.recall.words import fold, stems

_IN_CONTEXT = 0.85  # a word of the heading or of the announcing line, beside one said by the passage itself
_NEARBY = 0.5  # a word said by the passage before or after it
_IN_CHUNK = 0.3
_FIT = 0.25  # what a passage gains that is put like an answer
_SUBJECT_FIRST = 0.15
_RANK = 0.15  # what the first chunk has over the last
_FOLLOWED = 0.15  # a passage of a chunk that a follow-up points into
_SIGNS: dict[Kind, re.Pattern[str]] = {
    "definition": re.compile(
        r"\b(?:e|sono|is|are|si chiama(?:no)?|si dice|si definisce|indica|means|refers to|known as|called|detto"
        r"|detta|vale a dire|that is)\b"
    ),
    "reason": re.compile(
        r"\b(?:perche|poiche|siccome|per questo|a causa|dovut\w+|cosi che|dato che|visto che|ragione|quindi|percio"
        r"|quando|because|since|due to|so that|so|therefore|reason|as a result|when)\b"
    ),
    "quantity": re.compile(
        r"\d|\b(?:un[oa]?|due|tre|quattro|cinque|sei|sette|otto|nove|dieci|venti|trenta|cento|mezz[oa]|pochi|poche|two|three"
        r"|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|sixty|ninety|hundred|half)\b"
    ),
    "time": re.compile(
        r"\d|\b(?:quando|se|prima|dopo|durante|finche|appena|when|if|before|after|during|until|beyond)\b"
    ),
    "place": re.compile(
        r"\b(?:nel|nello|nella|nei|negli|nelle|in|dal|dallo|dalla|dall|dentro|sotto|inside|at|within)\b"
    ),
    "comparison": re.compile(
        r"\b(?:mentre|invece|diversamente|un'altra cosa|soltanto|piu|meno|contrario|inverso|while|whereas|instead"
        r"|unlike|than|but|only|opposite)\b"
    ),
    "procedure": re.compile(
        r"^(?:\*\*)?\w+(?:are|ere|ire)\b|\b(?:si|bisogna|occorre|per|va|vanno|basta|should|first|then|must|when)\b"
    ),
    "person": re.compile(r"(?!)"),
}


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage, the share of the question that it speaks of with its surroundings, and its score among the others."""

    passage: Passage
    coverage: float
    score: float


def score(
    offered: Sequence[Passage], weighed: Weighed, kind: Kind, *, followed: frozenset[str] = frozenset()
) -> tuple[Scored, ...]:
    """Every passage with its score, in the order of the material."""
    own = [weighed.heard(set(each.own_stems)) for each in offered]
    around = [weighed.heard(set(each.context_stems)) for each in offered]
    whole = _by_chunk(offered, own)
    last = max((each.rank for each in offered), default=0)
    found = []
    for at, passage in enumerate(offered):
        near = _neighbours(offered, own, at)
        heard = tuple(
            max(said, _IN_CONTEXT * context, _NEARBY * beside, _IN_CHUNK * chunk)
            for said, context, beside, chunk in zip(own[at], around[at], near, whole[passage.chunk_id], strict=True)
        )
        coverage = weighed.share(heard)
        gain = _RANK * (1 - passage.rank / (last + 1))
        if coverage > 0:
            gain += _fit(passage, weighed, kind, any(own[at]))
        if passage.chunk_id in followed:
            gain += _FOLLOWED
        found.append(Scored(passage, coverage, coverage + gain))
    return tuple(found)


def _by_chunk(offered: Sequence[Passage], own: Sequence[tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    whole: dict[str, tuple[float, ...]] = {}
    for passage, heard in zip(offered, own, strict=True):
        before = whole.get(passage.chunk_id, (0.0,) * len(heard))
        whole[passage.chunk_id] = tuple(map(max, before, heard))
    return whole


def _neighbours(offered: Sequence[Passage], own: Sequence[tuple[float, ...]], at: int) -> tuple[float, ...]:
    beside = [
        own[near]
        for near in (at - 1, at + 1)
        if 0 <= near < len(offered) and offered[near].chunk_id == offered[at].chunk_id
    ]
    return tuple(map(max, *beside)) if len(beside) > 1 else beside[0] if beside else (0.0,) * len(own[at])


def _fit(passage: Passage, weighed: Weighed, kind: Kind, speaks: bool) -> float:
    folded = fold(passage.text.replace("’", "'"))
    sign = _SIGNS.get(kind)
    if kind == "list":
        return _FIT if passage.group is not None else 0.0
    if kind == "definition":
        return _defines(passage, weighed, folded)
    if kind == "procedure" and passage.group is not None:
        return _FIT
    return _FIT if sign is not None and speaks and sign.search(folded) else 0.0


def _defines(passage: Passage, weighed: Weighed, folded: str) -> float:
    """Most for "X is …" with X at the beginning, less for a sentence that only begins with X or only says "is"."""
    sign = _SIGNS["definition"].search(folded)
    head = folded[: sign.start()] if sign is not None else " ".join(folded.split()[:4])
    first = any(weighed.heard(set(stems(head, passage.language))))
    if first and sign is not None and len(head.split()) <= 6:
        return _FIT + _SUBJECT_FIRST
    return _SUBJECT_FIRST if first else 0.0

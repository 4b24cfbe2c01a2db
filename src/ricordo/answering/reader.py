"""The answerer that needs no model: it reads the offered chunks and answers with their own sentences, each cited.

A question and chunks go in; numbered points come out, best first, or the sentence that the material holds no answer.
Nothing is ever said that the material does not say, and the same question on the same chunks gets the same answer.
"""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from ricordo.answering.asking import asked_words, kind_of_question
from ricordo.answering.confidence import Evidence, confidence, margin
from ricordo.answering.evidence import weigh
from ricordo.answering.passages import one_line, passages
from ricordo.answering.phrases import phrases_for
from ricordo.answering.scoring import Scored, score
from ricordo.answering.selecting import select
from ricordo.followups.resolution import Resolved
from ricordo.records import Chunk

FOUND_FROM = 0.4  # of the question's worth that the best passage must speak of (measured: docs/answering.md)
_FOLLOWING_FROM = 0.2  # for a follow-up into a cited chunk: the talk has said what it is about
_STREAMED = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Point:
    """One numbered point of an answer: a sentence or two of the material, and the chunk that holds them."""

    text: str
    chunk_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered. `chunk_ids` are cited, in order of mention; `found` is False when nothing answers."""

    text: str
    chunk_ids: tuple[str, ...]
    confidence: float
    found: bool
    points: tuple[Point, ...] = ()


def read(
    question: str, standalone: str, chunks: Sequence[Chunk], language: str, *, references: Sequence[Resolved] = ()
) -> Answer:
    """Answer from the chunks, which come best first.

    `standalone` is the question with what the talk adds to it ("" if it is complete); `references` are what it points
    at: what they have said already is not said again, and the chunks that they cite are read first.
    """
    complete = standalone.strip() or question
    offered = passages(chunks)
    words = asked_words(complete)
    weighed = weigh(words, [{*each.own_stems, *each.context_stems} for each in offered])
    kind = kind_of_question(question)
    cited = frozenset(name for reference in references for name in reference.chunk_ids)
    said = one_line(" ".join(reference.text for reference in references))
    scored = score(offered, weighed, kind, followed=cited)
    kept = _enough(scored, followed=cited)
    chosen = select(kept, kind, said=said)
    coverage = max((each.coverage for each in scored), default=0.0)
    if not chosen:
        support = confidence(Evidence(len(chunks), coverage), found=False)
        return Answer(phrases_for(language).absent, (), support, found=False)
    points = tuple(Point(each.said, each.chunk_id) for each in chosen)
    names = tuple(dict.fromkeys(point.chunk_id for point in points))
    evidence = Evidence(len(chunks), coverage, margin(_best_by_chunk(scored)), cited=len(points))
    return Answer(_written(points, language), names, confidence(evidence), found=True, points=points)


def stream(
    question: str, standalone: str, chunks: Sequence[Chunk], language: str, *, references: Sequence[Resolved] = ()
) -> Generator[str, None, Answer]:
    """Like `read`, word by word as a model would; the pieces make up the text, the generator returns the whole."""
    answer = read(question, standalone, chunks, language, references=references)
    yield from _STREAMED.findall(answer.text)
    return answer


def _enough(scored: Sequence[Scored], *, followed: frozenset[str]) -> tuple[Scored, ...]:
    """All passages if one of them speaks of enough of the question, else none."""
    best = max((each.coverage for each in scored), default=0.0)
    follows = max((each.coverage for each in scored if each.passage.chunk_id in followed), default=0.0)
    return tuple(scored) if best >= FOUND_FROM or follows >= _FOLLOWING_FROM else ()


def _best_by_chunk(scored: Sequence[Scored]) -> list[float]:
    best: dict[str, float] = {}
    for each in scored:
        best[each.passage.chunk_id] = max(best.get(each.passage.chunk_id, 0.0), each.score)
    return list(best.values())


def _written(points: Sequence[Point], language: str) -> str:
    lines = [f"{number}. {point.text} [{point.chunk_id}]" for number, point in enumerate(points, start=1)]
    return "\n".join([phrases_for(language).opening, "", *lines])

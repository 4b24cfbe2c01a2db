"""The answerer that needs no model: it reads the offered chunks and answers with their own sentences, each cited.

A question and chunks go in; numbered points come out, best first, or the sentence that the material holds no answer.
Nothing is ever said that the material does not say, and the same question on the same chunks gets the same answer.
"""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from ricordo.answering.asking import Kind, asked_words, kind_of_question
from ricordo.answering.confidence import Evidence, confidence, margin
from ricordo.answering.evidence import weigh
from ricordo.answering.following import Following, about_items, follow, going_on
from ricordo.answering.passages import Passage, passages
from ricordo.answering.phrases import phrases_for
from ricordo.answering.scoring import Scored, score
from ricordo.answering.selecting import select
from ricordo.followups.resolution import Resolved
from ricordo.records import Chunk

FOUND_FROM = 0.4  # of the question's worth that the best passage must speak of (measured: docs/answering.md)
_FOLLOWED_FROM = 0.2
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
    question: str,
    standalone: str,
    chunks: Sequence[Chunk],
    language: str,
    *,
    references: Sequence[Resolved] = (),
    said: Sequence[str] = (),
) -> Answer:
    """Answer from the chunks, which come best first.

    `standalone` is the question with what the talk adds to it ("" if it is complete); `references` are what it points
    at, whose chunks should be among those offered; `said` are earlier answers, which "go on" does not repeat.
    """
    offered = passages(chunks)
    following = follow(references, said)
    words = following.words(asked_words(standalone.strip() or question))
    weighed = weigh(words, [{*each.own_stems, *each.context_stems} for each in offered])
    kind = kind_of_question(question)
    scored = score(offered, weighed, kind, followed=following.chunk_ids)
    coverage = max((each.coverage for each in scored), default=0.0)
    chosen = _chosen(scored, kind, following) if coverage >= FOUND_FROM or following.chunk_ids else ()
    if not chosen:
        phrases = phrases_for(language)
        support = confidence(Evidence(len(chunks), coverage), found=False)
        return Answer(phrases.no_more if following.goes_on else phrases.absent, (), support, found=False)
    points = tuple(Point(each.said, each.chunk_id) for each in chosen)
    names = tuple(dict.fromkeys(point.chunk_id for point in points))
    evidence = Evidence(len(chunks), coverage, margin(_best_by_chunk(scored)), cited=len(points))
    return Answer(_written(points, language), names, confidence(evidence), found=True, points=points)


def stream(
    question: str,
    standalone: str,
    chunks: Sequence[Chunk],
    language: str,
    *,
    references: Sequence[Resolved] = (),
    said: Sequence[str] = (),
) -> Generator[str, None, Answer]:
    """Like `read`, word by word as a model would; the pieces make up the text, the generator returns the whole."""
    answer = read(question, standalone, chunks, language, references=references, said=said)
    yield from _STREAMED.findall(answer.text)
    return answer


def _chosen(scored: Sequence[Scored], kind: Kind, following: Following) -> tuple[Passage, ...]:
    if following.goes_on:
        return going_on(scored, following)
    named = about_items(scored, following.items)
    if named:
        return named
    # Into a cited chunk it is enough to speak of something: the talk has said what the question is about.
    least = min((FOUND_FROM, *(_FOLLOWED_FROM for each in scored if each.passage.chunk_id in following.chunk_ids)))
    return select(scored, kind) if any(each.coverage >= least for each in scored) else ()


def _best_by_chunk(scored: Sequence[Scored]) -> list[float]:
    best: dict[str, float] = {}
    for each in scored:
        best[each.passage.chunk_id] = max(best.get(each.passage.chunk_id, 0.0), each.score)
    return list(best.values())


def _written(points: Sequence[Point], language: str) -> str:
    lines = [f"{number}. {point.text} [{point.chunk_id}]" for number, point in enumerate(points, start=1)]
    return "\n".join([phrases_for(language).opening, "", *lines])

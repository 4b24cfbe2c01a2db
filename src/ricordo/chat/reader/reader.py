"""The answerer that needs no model: it reads the offered chunks and answers with their own sentences, each cited.

A question and chunks go in; numbered points come out, best first, or the sentence that the material holds no answer.
Nothing is ever said that the material does not say, and the same question on the same chunks gets the same answer.
"""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from ricordo.chat.reader.passages import ReaderPassage, one_line, passages
from ricordo.chat.reader.question import QuestionKind, SubjectWord, kind_of_question, subject_words
from ricordo.chat.reader.scores import (
    AnswerSupport,
    ScoredPassage,
    confidence,
    margin,
    score_passages,
    weigh_question,
)
from ricordo.followups.resolve import Resolved
from ricordo.languages.registry import language as language_by_code
from ricordo.records.turns import Chunk

# Which passages make the answer, and in which order: best first, nothing twice; a list is given whole and in order.

_MOST: dict[QuestionKind, int] = {
    "definition": 3,
    "quantity": 3,
    "place": 2,
    "person": 2,
    "time": 3,
    "list": 4,
    "open": 4,
}
_MOST_OTHERWISE = 4
_MOST_POINTS = 12
_NEAR_THE_BEST = 0.7
_SPEAKS = 0.5  # of what the best passage covers: a fitting form alone makes no answer
_SAME = 0.6  # shared stems of two passages that say the same
_LISTED: frozenset[QuestionKind] = frozenset(("list", "procedure", "explanation", "open"))
_LIST_LAG = 0.75  # a list this near the best passage is preferred to it


def select_passages(scored: Sequence[ScoredPassage], kind: QuestionKind) -> tuple[ReaderPassage, ...]:
    """The passages to say, in the order to say them."""
    fresh = [each for each in scored if each.coverage > 0]
    if not fresh:
        return ()
    ordered = sorted(fresh, key=lambda each: (-each.score, each.passage.rank, each.passage.order))
    listed = _whole_list(fresh, ordered[0], kind)
    if listed:
        return listed
    line = _NEAR_THE_BEST * ordered[0].score
    least = _SPEAKS * ordered[0].coverage
    kept: list[ReaderPassage] = []
    for each in ordered:
        if each.coverage < least:
            continue
        if each.score < line or len(kept) == _MOST.get(kind, _MOST_OTHERWISE):
            break
        if not any(_repeats(each.passage, other) for other in kept):
            kept.append(each.passage)
    return tuple(kept)


def _whole_list(fresh: Sequence[ScoredPassage], best: ScoredPassage, kind: QuestionKind) -> tuple[ReaderPassage, ...]:
    """The list whose points answer best, if the question wants one and it is nearly as good as the best passage."""
    if kind not in _LISTED:
        return ()
    groups: dict[tuple[str, int], list[ScoredPassage]] = {}
    for each in fresh:
        if each.passage.group is not None:
            groups.setdefault((each.passage.chunk_id, each.passage.group), []).append(each)
    whole = [points for points in groups.values() if len(points) > 1]
    if not whole:
        return ()
    # What a list is about stands in all of its points or above them: the average says it, not one lucky point.
    points = max(whole, key=lambda each: sum(point.score for point in each) / len(each))
    average = sum(point.score for point in points) / len(points)
    wanted = kind in ("list", "procedure")
    if average < (_LIST_LAG if wanted else 1.0) * best.score:
        return ()
    chosen: list[ReaderPassage] = []
    for point in sorted(points, key=lambda each: each.passage.order)[:_MOST_POINTS]:
        if all(point.passage.text != other.text for other in chosen):
            chosen.append(point.passage)
    return tuple(chosen)


def _repeats(one: ReaderPassage, other: ReaderPassage) -> bool:
    if one.text in other.said or other.text in one.said:
        return True
    mine, theirs = set(one.own_stems), set(other.own_stems)
    return bool(mine) and len(mine & theirs) >= _SAME * len(mine | theirs)


# Reading on: what a follow-up points at, seen by the reader, and the passages that answer it.

_MOST_FOLLOWED = 4
_MOST_WORDS = 16
_ITEM_WORD = 0.5  # what a word of the item is worth beside one of the question
# Of the question and the item that another passage must speak of, in the same document and in another.
_RELATED, _FAR = 0.05, 0.4
_MOST_RELATED = 2


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What a follow-up builds on: items it names, chunks they cite, what was said, whether it only says "go on"."""

    items: tuple[str, ...] = ()
    chunk_ids: frozenset[str] = frozenset()
    said: str = ""
    goes_on: bool = False

    def words(self, asked: Sequence[SubjectWord]) -> tuple[SubjectWord, ...]:
        """The question's words, and after them those of the items, which are worth less."""
        known = {each for word in asked for each in word.stems}
        added = [
            replace(word, worth=_ITEM_WORD * word.worth)
            for item in self.items
            for word in subject_words(item)
            if not word.stems & known
        ]
        return (*asked, *added[:_MOST_WORDS])


def follow_up_of(references: Sequence[Resolved], said: Sequence[str] = ()) -> FollowUp:
    """What references mean for reading; `said` are earlier answers, which "go on" does not repeat."""
    goes_on = any(reference.kind == "continuation" for reference in references)
    items = () if goes_on else tuple(one_line(each.item.text) for each in references if each.item is not None)
    texts = [*said, *(reference.text for reference in references)] if goes_on else []
    cited = frozenset(name for reference in references for name in reference.chunk_ids)
    return FollowUp(items, cited, "\n".join(one_line(text) for text in texts), goes_on)


def item_passages(scored: Sequence[ScoredPassage], items: Sequence[str]) -> tuple[ReaderPassage, ...]:
    """The named items as the material has them, then what else it says of them; empty if it does not have them."""
    named = [each for each in scored if any(_same(each.passage.text, item) for item in items)]
    if not named:
        return ()
    documents = {_document(each.passage) for each in named}
    lists = {(each.passage.chunk_id, each.passage.group) for each in named if each.passage.group is not None}
    # The list's other points are what was not asked for, and the subject of the whole talk is said everywhere: what
    # counts are the words of the item itself.
    others = [
        each.passage
        for each in scored
        if each not in named
        and (each.passage.chunk_id, each.passage.group) not in lists
        and not any(each.passage.text in other.passage.said for other in named)
    ]
    weighed = weigh_question(
        [word for item in items for word in subject_words(item)], [each.own_stems for each in others]
    )
    near = {each.order: weighed.share(weighed.heard(each.own_stems)) for each in others}
    related = [
        each
        for each in sorted(others, key=lambda each: (-near[each.order], each.order))
        if near[each.order] >= (_RELATED if _document(each) in documents else _FAR)
    ]
    texts = {each.text: each for each in [*(each.passage for each in named), *related[:_MOST_RELATED]]}
    return tuple(texts.values())


def continuation_passages(scored: Sequence[ScoredPassage], following: FollowUp) -> tuple[ReaderPassage, ...]:
    """What stands after what was said in the chunks that were cited, then before it, then the best of the others."""
    last = max((each.passage.order for each in scored if each.passage.text in following.said), default=-1)
    fresh = [each for each in scored if each.passage.text not in following.said]
    here = [each for each in fresh if each.passage.chunk_id in following.chunk_ids]
    elsewhere = [each for each in fresh if each not in here and each.coverage >= _FAR]
    here.sort(key=lambda each: (each.passage.order < last, each.passage.order))
    elsewhere.sort(key=lambda each: (-each.score, each.passage.order))
    texts = {each.passage.text: each.passage for each in [*here, *elsewhere][:_MOST_FOLLOWED]}
    return tuple(texts.values())


def _document(passage: ReaderPassage) -> str:
    """The document of a passage: our ids begin with it; of an application's own ids each is its own."""
    return passage.chunk_id.partition("#")[0]


def _same(text: str, item: str) -> bool:
    """Whether a passage is an item of an answer; the item may hold two sentences of which it is one."""
    return text in item or item in text


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
    following = follow_up_of(references, said)
    words = following.words(subject_words(standalone.strip() or question))
    weighed = weigh_question(words, [{*each.own_stems, *each.context_stems} for each in offered])
    kind = kind_of_question(question)
    scored = score_passages(offered, weighed, kind, followed=following.chunk_ids)
    coverage = max((each.coverage for each in scored), default=0.0)
    chosen = _chosen(scored, kind, following) if coverage >= FOUND_FROM or following.chunk_ids else ()
    if not chosen:
        phrases = language_by_code(language).reader
        support = confidence(AnswerSupport(len(chunks), coverage), found=False)
        return Answer(phrases.no_more if following.goes_on else phrases.absent, (), support, found=False)
    points = tuple(Point(each.said, each.chunk_id) for each in chosen)
    names = tuple(dict.fromkeys(point.chunk_id for point in points))
    evidence = AnswerSupport(len(chunks), coverage, margin(_best_by_chunk(scored)), cited=len(points))
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


def _chosen(scored: Sequence[ScoredPassage], kind: QuestionKind, following: FollowUp) -> tuple[ReaderPassage, ...]:
    if following.goes_on:
        return continuation_passages(scored, following)
    named = item_passages(scored, following.items)
    if named:
        return named
    # Into a cited chunk it is enough to speak of something: the talk has said what the question is about.
    least = min((FOUND_FROM, *(_FOLLOWED_FROM for each in scored if each.passage.chunk_id in following.chunk_ids)))
    return select_passages(scored, kind) if any(each.coverage >= least for each in scored) else ()


def _best_by_chunk(scored: Sequence[ScoredPassage]) -> list[float]:
    best: dict[str, float] = {}
    for each in scored:
        best[each.passage.chunk_id] = max(best.get(each.passage.chunk_id, 0.0), each.score)
    return list(best.values())


def _written(points: Sequence[Point], language: str) -> str:
    lines = [f"{number}. {point.text} [{point.chunk_id}]" for number, point in enumerate(points, start=1)]
    return "\n".join([language_by_code(language).reader.opening, "", *lines])

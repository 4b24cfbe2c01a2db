"""The reader of the material: answers with sentences of the offered chunks, each cited. It needs no model.

A question and chunks go in; numbered points come out, best first, or the sentence that the material has no answer.
Points are quoted from the material, and the same input gives the same answer.
"""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ricordo.chat.passages import (
    AnswerSupport,
    ReaderPassage,
    ScoredPassage,
    WeightedQuestion,
    confidence,
    margin,
    one_line,
    passages,
    score_passages,
    weigh_question,
)
from ricordo.chat.question import QuestionKind, SubjectWord, kind_of_question, subject_words
from ricordo.languages.registry import language as language_by_code

if TYPE_CHECKING:
    from ricordo.followups.reference import Resolved
    from ricordo.records.turns import Chunk

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
_SPEAKS = 0.5  # least coverage, relative to the best passage
_SAME = 0.6  # least share of common stems of two equal passages
_LISTED: frozenset[QuestionKind] = frozenset(("list", "procedure", "explanation", "open"))
_LIST_LAG = 0.75  # a list with this share of the best score is preferred


def select_passages(scored: Sequence[ScoredPassage], kind: QuestionKind) -> tuple[ReaderPassage, ...]:
    """The passages to quote, in order: best first without repetition, or one list complete and in its own order."""
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
    """The best list, if the question asks for one and it scores nearly as well as the best passage."""
    if kind not in _LISTED:
        return _introduced_list(fresh, best)
    groups: dict[tuple[str, int], list[ScoredPassage]] = {}
    for each in fresh:
        if each.passage.group is not None:
            groups.setdefault((each.passage.chunk_id, each.passage.group), []).append(each)
    whole = [points for points in groups.values() if len(points) > 1]
    if not whole:
        return ()
    # The average of all items, so that one matching item does not decide.
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


def _introduced_list(fresh: Sequence[ScoredPassage], best: ScoredPassage) -> tuple[ReaderPassage, ...]:
    """The whole list of the best passage with its introduction, if only that speaks of what is asked for."""
    mine = best.passage
    group = [each for each in fresh if (each.passage.chunk_id, each.passage.group) == (mine.chunk_id, mine.group)]
    if mine.group is None or not mine.lead or len(group) < 2 or any(each.coverage != best.coverage for each in group):
        return ()
    items = [each.passage for each in sorted(group, key=lambda each: each.passage.order)[:_MOST_POINTS]]
    return (replace(items[0], before=mine.lead), *items[1:])


def _both_sides(
    chosen: tuple[ReaderPassage, ...], scored: Sequence[ScoredPassage], weighed: WeightedQuestion
) -> tuple[ReaderPassage, ...]:
    """The passages of a comparison, and one for the words of the question that they do not hold."""

    def held(passage: ReaderPassage) -> set[int]:
        return {at for at, share in enumerate(weighed.heard(set(passage.own_stems))) if share}

    told = set().union(*map(held, chosen))
    rest = [each for each in scored if chosen and held(each.passage) - told]
    best = max(rest, key=lambda each: (len(held(each.passage) - told), each.score), default=None)
    return (*chosen, best.passage) if best else chosen


def _repeats(one: ReaderPassage, other: ReaderPassage) -> bool:
    if one.text in other.said or other.text in one.said:
        return True
    mine, theirs = set(one.own_stems), set(other.own_stems)
    return bool(mine) and len(mine & theirs) >= _SAME * len(mine | theirs)


_MOST_FOLLOWED = 4
_MOST_WORDS = 16
_ITEM_WORD = 0.5  # weight of a word of the item
# Least coverage of a related passage: in the same document, and in another.
_RELATED, _FAR = 0.05, 0.4
_MOST_RELATED = 2


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What a follow-up refers to: items, their cited chunks, the text said before, whether it only says "go on"."""

    items: tuple[str, ...] = ()
    chunk_ids: frozenset[str] = frozenset()
    said: str = ""
    goes_on: bool = False

    def words(self, asked: Sequence[SubjectWord]) -> tuple[SubjectWord, ...]:
        """The subject words of the question, then those of the items with a lower weight."""
        known = {each for word in asked for each in word.stems}
        added = [
            replace(word, worth=_ITEM_WORD * word.worth)
            for item in self.items
            for word in subject_words(item)
            if not word.stems & known
        ]
        return (*asked, *added[:_MOST_WORDS])


def follow_up_of(references: Sequence["Resolved"], said: Sequence[str] = ()) -> FollowUp:
    """What the references mean for the reader; `said` are earlier answers, which "go on" does not repeat."""
    goes_on = any(reference.kind == "continuation" for reference in references)
    items = () if goes_on else tuple(one_line(each.item.text) for each in references if each.item is not None)
    texts = [*said, *(reference.text for reference in references)] if goes_on else []
    cited = frozenset(name for reference in references for name in reference.chunk_ids)
    return FollowUp(items, cited, "\n".join(one_line(text) for text in texts), goes_on)


def item_passages(scored: Sequence[ScoredPassage], items: Sequence[str]) -> tuple[ReaderPassage, ...]:
    """The referenced items as the material has them, then related passages; empty if it lacks the items."""
    named = [each for each in scored if any(_same(each.passage.text, item) for item in items)]
    if not named:
        return ()
    documents = {_document(each.passage) for each in named}
    lists = {(each.passage.chunk_id, each.passage.group) for each in named if each.passage.group is not None}
    # Other items of the list were not asked for, and the subject of the conversation is everywhere:
    # only the words of the item count.
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
    """What follows the quoted text in the cited chunks, then what precedes it, then the best of the rest."""
    last = max((each.passage.order for each in scored if each.passage.text in following.said), default=-1)
    fresh = [each for each in scored if each.passage.text not in following.said]
    here = [each for each in fresh if each.passage.chunk_id in following.chunk_ids]
    elsewhere = [each for each in fresh if each not in here and each.coverage >= _FAR]
    here.sort(key=lambda each: (each.passage.order < last, each.passage.order))
    elsewhere.sort(key=lambda each: (-each.score, each.passage.order))
    texts = {each.passage.text: each.passage for each in [*here, *elsewhere][:_MOST_FOLLOWED]}
    return tuple(texts.values())


def _document(passage: ReaderPassage) -> str:
    """The document of a passage, by its chunk id; an application's own chunk id is its own document."""
    return passage.chunk_id.partition("#")[0]


def _same(text: str, item: str) -> bool:
    """Whether a passage is an item of an answer; an item may contain two sentences."""
    return text in item or item in text


_WHOLE_TERM = 0.5  # least coverage of the best passage where a term is to be defined: "the rule of nines"
FOUND_FROM = 0.4  # least coverage of the best passage (measured: docs/answering.md)
_FOLLOWED_FROM = 0.2
_STREAMED = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Point:
    """One numbered point: a quote and the id of its chunk."""

    text: str
    chunk_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. `chunk_ids` are cited, in order; `found` is False if the material has no answer."""

    text: str
    chunk_ids: tuple[str, ...]
    confidence: float
    found: bool
    points: tuple[Point, ...] = ()


def read(
    question: str,
    standalone: str,
    chunks: Sequence["Chunk"],
    language: str,
    *,
    references: Sequence["Resolved"] = (),
    said: Sequence[str] = (),
) -> Answer:
    """Answer from the chunks, which come best first.

    `standalone` is the standalone question ("" if the question is complete). `references` are what it refers to; their
    chunks should be offered. `said` are earlier answers, which "go on" does not repeat.
    """
    offered = passages(chunks)
    following = follow_up_of(references, said)
    words = following.words(subject_words(standalone.strip() or question))
    weighed = weigh_question(words, [{*each.own_stems, *each.context_stems} for each in offered])
    kind = kind_of_question(question)
    scored = score_passages(offered, weighed, kind, followed=following.chunk_ids)
    if kind == "open" and any(each.kind == "ellipsis" for each in references):
        # "and in children?": what is said beside the new subject was told before
        new = weigh_question(subject_words(question), [each.own_stems for each in offered])
        if new.words:
            here = {name.partition("#")[0] for name in following.chunk_ids}
            scored = tuple(
                each
                for each in scored
                if any(new.heard(set(each.passage.own_stems))) and (not here or _document(each.passage) in here)
            )
    coverage = max((each.coverage for each in scored), default=0.0)
    least = _WHOLE_TERM if kind == "definition" else FOUND_FROM
    chosen = _chosen(scored, kind, following) if coverage >= least or following.chunk_ids else ()
    if kind == "comparison":
        chosen = _both_sides(chosen, scored, weighed)
    if not chosen:
        phrases = language_by_code(language).reader
        support = confidence(AnswerSupport(len(chunks), coverage), found=False)
        return Answer(phrases.no_more if following.goes_on else phrases.absent, (), support, found=False)
    points = tuple(Point(each.said, each.chunk_id) for each in chosen)
    names = tuple(dict.fromkeys(point.chunk_id for point in points))
    evidence = AnswerSupport(len(chunks), coverage, margin(_best_by_chunk(scored)), cited=len(points))
    return Answer(_written(points, language), names, confidence(evidence), found=True, points=points)


def outline(chunks: Sequence["Chunk"], language: str) -> Answer:
    """The main points of one document: the first sentence of each chunk, or else its first list item, in order."""
    first: dict[str, ReaderPassage] = {}
    for each in sorted(passages(chunks), key=lambda each: (each.rank, each.group is not None, each.order)):
        first.setdefault(each.chunk_id, each)
    points = tuple(Point(each.said, each.chunk_id) for each in first.values())
    names = tuple(point.chunk_id for point in points)
    evidence = AnswerSupport(len(chunks), 1.0, 1.0, cited=len(points))
    return Answer(_written(points, language), names, confidence(evidence), found=bool(points), points=points)


def stream(
    question: str,
    standalone: str,
    chunks: Sequence["Chunk"],
    language: str,
    *,
    references: Sequence["Resolved"] = (),
    said: Sequence[str] = (),
) -> Generator[str, None, Answer]:
    """Like `read`, but yields the text word by word and returns the answer."""
    answer = read(question, standalone, chunks, language, references=references, said=said)
    yield from words_of(answer.text)
    return answer


def words_of(text: str) -> list[str]:
    """The pieces in which an answer is streamed."""
    return _STREAMED.findall(text)


def _chosen(scored: Sequence[ScoredPassage], kind: QuestionKind, following: FollowUp) -> tuple[ReaderPassage, ...]:
    if following.goes_on:
        return continuation_passages(scored, following)
    named = item_passages(scored, following.items)
    if named:
        return named
    # A cited chunk needs less coverage, because the conversation has named the subject.
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

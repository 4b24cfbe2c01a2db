"""Passages of the offered chunks, and how well each answers a question.

Chunks are split into sentences, list items and table rows, in order. Headings and lines that introduce a list are the
context of passages; code and citation marks are left out. A score says how much of the question a passage covers and
whether it reads like an answer: a definition says what its subject is, a reason says "because", a quantity has a
number. Such signs only order passages that cover the question; they never replace missing words.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ricordo.chat.citations import check
from ricordo.chat.question import MemoryQuestion, QuestionKind, SubjectWord, subject_words
from ricordo.documents.blocks import TextBlock, blocks, lines_of, path_after, points
from ricordo.languages.registry import AnyLanguage
from ricordo.languages.text import fold, guess_language, sentences
from ricordo.recall.evidence import snowball_stems

if TYPE_CHECKING:
    from ricordo.records.turns import Chunk

_MARKER = re.compile(r"(?:[-*+•▪◦–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ \t]+")
_RULE = re.compile(r"[\s|:\-]+")
_LEANS = AnyLanguage(r"(?:<questions.leaning>)\b")
_LONGEST_POINT = 60  # words; a longer list item is split into sentences
_LONGEST_PAIR = 70


@dataclass(frozen=True, slots=True)
class ReaderPassage:
    """One quotable passage. `group` is its list; `before` is the sentence it depends on, if any."""

    text: str
    chunk_id: str
    rank: int
    order: int
    language: str
    context: str
    group: int | None = None
    before: str = ""
    lead: str = ""  # the line that introduces its list

    @property
    def said(self) -> str:
        """The text to quote, with the sentence before if it is needed."""
        return f"{self.before} {self.text}" if self.before else self.text

    @property
    def own_stems(self) -> list[str]:
        """The stems of the quoted text."""
        return snowball_stems(self.said, self.language)

    @property
    def context_stems(self) -> list[str]:
        """The stems of the headings and of the introducing line."""
        return snowball_stems(self.context, self.language)


def passages(chunks: Sequence["Chunk"]) -> tuple[ReaderPassage, ...]:
    """All passages, chunk by chunk in the given order; a repeated chunk counts once."""
    found: list[ReaderPassage] = []
    seen: set[str] = set()
    for rank, chunk in enumerate(chunks):
        if chunk.id not in seen:
            seen.add(chunk.id)
            found.extend(_read(chunk, rank, len(found)))
    return tuple(found)


def _read(chunk: "Chunk", rank: int, first: int) -> Iterator[ReaderPassage]:
    text = chunk.text
    language = guess_language(text)
    path: tuple[tuple[int, str], ...] = ()
    introduced = ""
    order = first
    for block in blocks(text, markdown=True):
        if block.kind == "heading":
            path = path_after(path, block)
            introduced = ""
            continue
        if block.kind == "code":
            continue
        context = " ".join([*(title for _, title in path), introduced])
        before = ""
        listed = block.kind != "paragraph"
        for start, end in _spans(text, block):
            said = one_line(text[start:end])
            if not any(character.isalnum() for character in said):
                continue
            preceding = before if not listed and _LEANS.match(said) and _short(before, said) else ""
            group = block.start if listed else None
            if not (block.kind == "paragraph" and end == block.end and said.endswith(":")):
                yield ReaderPassage(said, chunk.id, rank, order, language, context, group, preceding, introduced)
                order += 1
            before = said
        introduced = before if block.kind == "paragraph" and before.endswith(":") else ""


def _short(before: str, said: str) -> bool:
    return bool(before) and len(before.split()) + len(said.split()) <= _LONGEST_PAIR


def _spans(text: str, block: TextBlock) -> Iterator[tuple[int, int]]:
    if block.kind == "table":
        rows = [span for span in lines_of(text, block.start, block.end) if not _RULE.fullmatch(text[slice(*span)])]
        for start, end in rows[1:] or rows:
            yield start, end
    elif block.kind == "list":
        for start, end in points(text, block):
            marker = _MARKER.match(text, start, end)
            begin = marker.end() if marker is not None else start
            if len(text[begin:end].split()) <= _LONGEST_POINT:
                yield begin, end
            else:
                yield from sentences(text, begin, end)
    else:
        yield from sentences(text, block.start, block.end)


def one_line(text: str) -> str:
    """A passage on one line, without table borders and citation marks."""
    return " ".join(without_citations(text).split()).strip("| ")


_SMOOTHING_PASSAGES = 20  # added to the number of passages, to smooth IDF: they were retrieved by these words
_SHORTEST_BEGINNING = 5
_LONGEST_ENDING = 4
_ALIKE = 0.75  # weight of a stem with the same prefix


@dataclass(frozen=True, slots=True)
class WeightedQuestion:
    """A question's subject words, their weights in some material, and the stems that match each."""

    words: tuple[SubjectWord, ...]
    worths: tuple[float, ...]
    matches: tuple[Mapping[str, float], ...]

    @property
    def asked(self) -> float:
        """The sum of all weights."""
        return sum(self.worths)

    def heard(self, said: Collection[str]) -> tuple[float, ...]:
        """How well each word is matched, from 0 to 1."""
        return tuple(_best(matches, said) for matches in self.matches)

    def share(self, heard: Sequence[float]) -> float:
        """The matched weight as a share of all; 0 for a question without a subject."""
        total = self.asked
        return min(1.0, sum(w * h for w, h in zip(self.worths, heard, strict=True)) / total) if total > 0 else 0.0


def weigh_question(words: Sequence[SubjectWord], material: Sequence[Collection[str]]) -> WeightedQuestion:
    """Weigh each subject word by its IDF among passages, given as stems."""
    holders = Counter(each for said in material for each in set(said))
    matches = tuple(_matching(word, holders) for word in words)
    count = len(material) + _SMOOTHING_PASSAGES
    worths = []
    for word, found in zip(words, matches, strict=True):
        saying = sum(1 for said in material if any(each in said for each in found)) if found else 0
        if word.beside and not found:
            worths.append(0.0)
            continue
        worths.append(word.worth * math.log(1 + (count - saying + 0.5) / (saying + 0.5)))
    return WeightedQuestion(tuple(words), tuple(worths), matches)


def coverage(question: str, texts: Iterable[str]) -> float:
    """The share of a question's subject that some texts contain; more texts never lower it."""
    said = {each for text in texts for each in snowball_stems(text, guess_language(text))}
    every = subject_words(question)
    words = [word for word in every if not word.beside] or every
    # Weights do not depend on the texts here, so that more texts never lower the share.
    total = sum(word.worth for word in words)
    heard = sum(word.worth * _best(_matching(word, said), said) for word in words)
    return min(1.0, heard / total) if total > 0 else 0.0


def _best(matches: Mapping[str, float], said: Collection[str]) -> float:
    return max((likeness for each, likeness in matches.items() if each in said), default=0.0)


def _matching(word: SubjectWord, vocabulary: Iterable[str]) -> dict[str, float]:
    found = {}
    for each in vocabulary:
        if each in word.stems:
            found[each] = 1.0
        elif any(_alike(each, own) for own in word.stems):
            found[each] = _ALIKE
    return found


def _alike(one: str, other: str) -> bool:
    """Whether two stems share a prefix and differ in a short ending: ustion-, ustionat-."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _SHORTEST_BEGINNING and len(long) - len(short) <= _LONGEST_ENDING and long.startswith(short)


_IN_CONTEXT = 0.85  # a word in the heading or the introducing line
_NEARBY = 0.5  # a word in the passage before or after
_IN_CHUNK = 0.3
_FIT = 0.25  # bonus of a passage that reads like an answer
_SUBJECT_FIRST = 0.15
_RANK = 0.15  # bonus of the first chunk over the last
_FOLLOWED = 0.15  # bonus of a chunk that a follow-up refers to
_SIGNS: dict[QuestionKind, AnyLanguage] = {
    "definition": AnyLanguage(r"\b(?:<questions.answer_signs:definition>)\b", flags=0),
    "reason": AnyLanguage(r"\b(?:<questions.answer_signs:reason>)\b", flags=0),
    "quantity": AnyLanguage(r"\d|\b(?:<questions.answer_signs:quantity>)\b", flags=0),
    "time": AnyLanguage(r"\d|\b(?:<questions.answer_signs:time>)\b", flags=0),
    "place": AnyLanguage(r"\b(?:<questions.answer_signs:place>)\b", flags=0),
    "comparison": AnyLanguage(r"\b(?:<questions.answer_signs:comparison>)\b", flags=0),
    "procedure": AnyLanguage(
        r"^(?:\*\*)?(?:<questions.step_openings>)\b|\b(?:<questions.answer_signs:procedure>)\b", flags=0
    ),
}


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage, the share of the question that it covers with its context, and its score."""

    passage: "ReaderPassage"
    coverage: float
    score: float


def score_passages(
    offered: Sequence["ReaderPassage"],
    weighed: WeightedQuestion,
    kind: QuestionKind,
    *,
    followed: frozenset[str] = frozenset(),
) -> tuple[ScoredPassage, ...]:
    """Every passage with its score, in order."""
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
        found.append(ScoredPassage(passage, coverage, coverage + gain))
    return tuple(found)


def _by_chunk(offered: Sequence["ReaderPassage"], own: Sequence[tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    whole: dict[str, tuple[float, ...]] = {}
    for passage, heard in zip(offered, own, strict=True):
        before = whole.get(passage.chunk_id, (0.0,) * len(heard))
        whole[passage.chunk_id] = tuple(map(max, before, heard))
    return whole


def _neighbours(offered: Sequence["ReaderPassage"], own: Sequence[tuple[float, ...]], at: int) -> tuple[float, ...]:
    beside = [
        own[near]
        for near in (at - 1, at + 1)
        if 0 <= near < len(offered) and offered[near].chunk_id == offered[at].chunk_id
    ]
    return tuple(map(max, *beside)) if len(beside) > 1 else beside[0] if beside else (0.0,) * len(own[at])


def _fit(passage: "ReaderPassage", weighed: WeightedQuestion, kind: QuestionKind, speaks: bool) -> float:
    folded = fold(passage.text.replace("’", "'"))
    sign = _SIGNS.get(kind)
    if kind == "list":
        return _FIT if passage.group is not None else 0.0
    if kind == "definition":
        return _defines(passage, weighed, folded)
    if kind == "procedure" and passage.group is not None:
        return _FIT * (1 + (sign is not None and sign.match(folded) is not None))
    return _FIT if sign is not None and speaks and sign.search(folded) else 0.0


def _defines(passage: "ReaderPassage", weighed: WeightedQuestion, folded: str) -> float:
    """Highest for "X is …" with X first, lower for a sentence that only begins with X."""
    sign = _SIGNS["definition"].search(folded)
    head = folded[: sign.start()] if sign is not None else " ".join(folded.split()[:4])
    first = any(weighed.heard(set(snowball_stems(head, passage.language))))
    if first and sign is not None and len(head.split()) <= 6:
        return _FIT + _SUBJECT_FIRST
    return _SUBJECT_FIRST if first else 0.0


COVERAGE, MARGIN, CITATIONS = 0.7, 0.1, 0.2
_NOTHING_FOUND = 0.25


@dataclass(frozen=True, slots=True)
class AnswerSupport:
    """The observations behind a confidence; shares lie between 0 and 1.

    `coverage` is the share of the question in the kept chunks, `margin` the lead of the best chunk over the next;
    `cited` and `removed` count valid and removed citations.
    """

    offered: int
    coverage: float = 0.0
    margin: float = 0.0
    cited: int = 0
    removed: int = 0


def confidence(evidence: AnswerSupport, *, found: bool = True) -> float:
    """0.7 × coverage + 0.1 × margin + 0.2 × share of valid citations; a quarter of that if nothing was found."""
    if evidence.offered < 1:
        return 0.0
    citations = evidence.cited + evidence.removed
    real = evidence.cited / citations if citations else 0.0
    total = COVERAGE * _unit(evidence.coverage) + MARGIN * _unit(evidence.margin) + CITATIONS * real
    return round(total * (1.0 if found else _NOTHING_FOUND), 3)


def margin(scores: list[float] | tuple[float, ...]) -> float:
    """The lead of the best score over the next, as a share of the best; 1 for a single score."""
    first, *rest = sorted((max(0.0, score) for score in scores), reverse=True) or [0.0]
    if first <= 0:
        return 0.0
    return 1 - rest[0] / first if rest else 1.0


def _unit(number: float) -> float:
    return min(1.0, max(0.0, number))


def without_citations(text: str) -> str:
    """The text without anything that looks like a citation."""
    return check(text, ()).text if "[" in text else text


_LONGEST_QUOTE = 320  # characters


def best_part(text: str, asked: MemoryQuestion) -> str:
    """A short text whole; of a long one the sentence that covers the question best, with its neighbours."""
    flat = " ".join(text.split())
    if len(flat) <= _LONGEST_QUOTE:
        return flat
    parts = [" ".join(text[start:end].split()) for start, end in sentences(text)]
    wanted = {one for term in asked.terms for one in term} | {one for like in asked.alike for one in like}
    shares = [len(wanted.intersection(snowball_stems(part, guess_language(part)))) for part in parts]
    at = max(range(len(parts)), key=lambda index: (shares[index], -index)) if parts else 0
    kept = parts[at] if parts else flat
    for near in (*range(at + 1, len(parts)), *range(at - 1, -1, -1)):
        if len(kept) + len(parts[near]) >= _LONGEST_QUOTE:
            break
        kept = f"{kept} {parts[near]}" if near > at else f"{parts[near]} {kept}"
    return shortened(kept, 2 * _LONGEST_QUOTE)


def shortened(text: str, most: int) -> str:
    """A text on one line, cut at a word."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[:most].rsplit(" ", 1)[0] + "…"

"""Split the offered chunks into passages: sentences, list items and table rows, in order.

Headings and lines that introduce a list are the context of passages, not passages. Code is left out. Citation marks in
the material are removed, so that nothing in an answer looks like a false citation.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ricordo.chat.citations import without_citations
from ricordo.documents.blocks import TextBlock, blocks, lines_of, path_after, points
from ricordo.languages.detect import guess_language
from ricordo.languages.registry import AnyLanguage
from ricordo.languages.sentences import sentences
from ricordo.recall.evidence import stems

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

    @property
    def said(self) -> str:
        """The text to quote, with the sentence before if it is needed."""
        return f"{self.before} {self.text}" if self.before else self.text

    @property
    def own_stems(self) -> list[str]:
        """The stems of the quoted text."""
        return stems(self.said, self.language)

    @property
    def context_stems(self) -> list[str]:
        """The stems of the headings and of the introducing line."""
        return stems(self.context, self.language)


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
                yield ReaderPassage(said, chunk.id, rank, order, language, context, group, preceding)
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

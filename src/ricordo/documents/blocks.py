"""The blocks of a document: headings, paragraphs, lists, tables and code, as spans of its text, in order.

Markdown is parsed line by line, only as far as needed to know what must not be split and under which headings a passage
stands. Plain text and PDF text have only paragraphs and lists. Every non-blank line belongs to one block.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ricordo.languages.text import trimmed

BlockKind = Literal["heading", "paragraph", "list", "table", "code"]

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t\r\n]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*\r?\n?$")
_POINT = re.compile(r"[ \t]*(?:[-*+•▪◦–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ \t]+\S")
_INDENTED = re.compile(r"(?: {2,}|\t)\S")
_MARKUP = re.compile(r"[*_`]+|\[([^\[\]]*)\]\([^()]*\)")


@dataclass(frozen=True, slots=True)
class TextBlock:
    """`text[start:end]` without surrounding blanks; `level` and `title` are for headings only."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    title: str = ""


def blocks(text: str, *, markdown: bool) -> tuple[TextBlock, ...]:
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text)]
    found: list[TextBlock] = []
    at = 0
    while at < len(lines):
        kind, after = _next_block(text, lines, at, markdown=markdown)
        start, end = trimmed(text, lines[at][0], lines[after - 1][1])
        if start < end:
            found.append(_described(text, kind, start, end))
        at = after
    return tuple(found)


def points(text: str, block: TextBlock) -> tuple[tuple[int, int], ...]:
    """The top-level items of a list as spans; each includes its nested items."""
    # The block starts after the indentation of its first line, so that line is top-level.
    starts = [block.start] + [
        line.start()
        for line in _LINE.finditer(text, block.start, block.end)
        if line.start() > block.start and _POINT.match(line.group()) and not _INDENTED.match(line.group())
    ]
    ends = [*starts[1:], block.end]
    return tuple(trimmed(text, start, end) for start, end in zip(starts, ends, strict=True))


def path_after(path: Sequence[tuple[int, str]], heading: TextBlock) -> tuple[tuple[int, str], ...]:
    """The heading path after a heading, given the path before it."""
    kept = tuple((level, title) for level, title in path if level < heading.level)
    return (*kept, (heading.level, heading.title)) if heading.title else kept


def _next_block(text: str, lines: Sequence[tuple[int, int]], at: int, *, markdown: bool) -> tuple[BlockKind, int]:
    """The kind of block that starts at a line, and the line after it."""
    line = text[slice(*lines[at])]
    if not line.strip():
        return "paragraph", at + 1
    if markdown:
        fence = _FENCE.match(line)
        if fence is not None:
            return "code", _after_fence(text, lines, at, fence.group(1))
        if _HEADING.match(line):
            return "heading", at + 1
        if _is_row(line):
            return "table", _after_table(text, lines, at)
        if at + 1 < len(lines) and not _POINT.match(line) and _UNDERLINE.match(text[slice(*lines[at + 1])]):
            return "heading", at + 2
    if _POINT.match(line):
        return "list", _after_list(text, lines, at, markdown=markdown)
    return "paragraph", _after_paragraph(text, lines, at, markdown=markdown)


def _after_fence(text: str, lines: Sequence[tuple[int, int]], at: int, fence: str) -> int:
    for after in range(at + 1, len(lines)):
        closing = text[slice(*lines[after])].strip()
        if len(closing) >= len(fence) and set(closing) == {fence[0]}:
            return after + 1
    return len(lines)


def _after_table(text: str, lines: Sequence[tuple[int, int]], at: int) -> int:
    after = at + 1
    while after < len(lines) and _is_row(text[slice(*lines[after])]):
        after += 1
    return after


def _is_row(line: str) -> bool:
    cells = line.strip()
    return len(cells) > 1 and cells[0] == cells[-1] == "|"


def _after_list(text: str, lines: Sequence[tuple[int, int]], at: int, *, markdown: bool) -> int:
    """A list continues over single blank lines if items or indented lines follow."""
    after = at + 1
    blank = False
    while after < len(lines):
        line = text[slice(*lines[after])]
        if not line.strip():
            if blank:
                break
            blank = True
        elif _POINT.match(line) or _INDENTED.match(line):
            blank = False
        elif blank or (markdown and _opens_other(line)):
            break
        after += 1
    return after


def _after_paragraph(text: str, lines: Sequence[tuple[int, int]], at: int, *, markdown: bool) -> int:
    for after in range(at + 1, len(lines)):
        line = text[slice(*lines[after])]
        if not line.strip() or _POINT.match(line) or (markdown and _opens_other(line)):
            return after
    return len(lines)


def _opens_other(line: str) -> bool:
    return _is_row(line) or any(pattern.match(line) for pattern in (_FENCE, _HEADING))


def _described(text: str, kind: BlockKind, start: int, end: int) -> TextBlock:
    if kind != "heading":
        return TextBlock(kind, start, end)
    own = text[start:end]
    hashes = _HEADING.match(own)
    if hashes is not None:
        return TextBlock(kind, start, end, len(hashes.group(1)), _plain(_unclosed(own[hashes.end() :].strip())))
    title, _, underline = own.rpartition("\n")
    return TextBlock(kind, start, end, 1 if "=" in underline else 2, _plain(title))


def _unclosed(title: str) -> str:
    """A title without closing number signs; those of a name, as in "C#", stay."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else title


def _plain(title: str) -> str:
    """A title without markup, on one line."""
    return " ".join(_MARKUP.sub(lambda match: match.group(1) or "", title).split())


def lines_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The non-blank lines of a span, stripped."""
    for match in _LINE.finditer(text, start, end):
        span = trimmed(text, match.start(), match.end())
        if span[0] < span[1]:
            yield span

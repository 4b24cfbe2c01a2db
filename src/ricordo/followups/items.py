"""The addressable items of an answer, derived when it is stored.

An answer goes in; its list points, headings, table rows and enumerated sentences come out as a flat tuple that is
also a tree (`parent`), each with offsets such that `answer[start:end]` is its text and with the chunks cited inside.
Derived and never stored twice: the same answer always gives the same items.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ricordo.followups.languages import LANGUAGES
from ricordo.followups.marks import LIST_RANK, ItemKind, Mark, find_marks

_CITATION = re.compile(r"\[(?P<inside>[^\[\]\n]{1,200})\](?!\()")
_SOURCES = re.compile(r"^\s*(?:fonti|fonte|sources|source|cit|ref|refs|chunks?)\s*[:=]\s*", re.IGNORECASE)
_ID = re.compile(r"(?=[^\s]*[A-Za-z])(?=[^\s]*[\d\-_:.#/])[\w.:#/\-]{2,100}")
_PARAGRAPH = re.compile(r"\n[ \t]*\r?\n(?=[^\s])")
_MOST_ITEMS = 500
_LONGEST_JOINER = 8
_JOINED = re.compile(
    r"[,;]?\s+(?:" + "|".join(sorted(word for lang in LANGUAGES for word in lang.coordinators)) + r")$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Item:
    """One point of an answer: `position` counts from 1 in its own list, `parent` is an index into the same tuple."""

    position: int
    label: str
    kind: ItemKind
    level: int
    text: str
    start: int
    end: int
    chunk_ids: tuple[str, ...] = ()
    parent: int | None = None


def derive_items(answer: str, chunk_ids: Sequence[str] = ()) -> tuple[Item, ...]:
    """The items of an answer; `chunk_ids` are the ids it was given, found wherever they stand literally."""
    return _derived(answer, tuple(chunk_ids))


@lru_cache(maxsize=512)
def _derived(answer: str, chunk_ids: tuple[str, ...]) -> tuple[Item, ...]:
    """The same answers are looked at with every question of a talk, so what was derived of them is kept at hand."""
    marks = find_marks(answer, _MOST_ITEMS)
    known = _known_ids(chunk_ids)
    items: list[Item] = []
    open_marks: list[tuple[int, Mark]] = []
    # The last place given in each list: (parent, kind, rank) -> (position, number, end).
    places: dict[tuple[int | None, ItemKind, int], tuple[int, int, int]] = {}
    for at, mark in enumerate(marks):
        while open_marks and (open_marks[-1][1].rank >= mark.rank or items[open_marks[-1][0]].end <= mark.line):
            open_marks.pop()
        parent = open_marks[-1][0] if open_marks else None
        start, end = _bounds(answer, mark, marks[at + 1 :])
        position = _position(mark, places.get((parent, mark.kind, mark.rank)))
        places[parent, mark.kind, mark.rank] = (position, mark.number, end)
        text = answer[start:end]
        cited = _cited(text, known, chunk_ids)
        items.append(Item(position, mark.label, mark.kind, len(open_marks), text, start, end, cited, parent))
        open_marks.append((at, mark))
    return tuple(items)


def lists_of(items: Sequence[Item]) -> tuple[tuple[Item, ...], ...]:
    """The items gathered into the lists they belong to, in the order in which the lists begin."""
    lists: list[list[Item]] = []
    current: dict[tuple[int | None, ItemKind, int], list[Item]] = {}
    for item in items:
        key = (item.parent, item.kind, item.level)
        if item.position == 1 or key not in current:
            current[key] = []
            lists.append(current[key])
        current[key].append(item)
    return tuple(tuple(group) for group in lists)


def _bounds(answer: str, mark: Mark, following: Sequence[Mark]) -> tuple[int, int]:
    """Where the text of an item begins and ends: before the next of its rank, or at the end of its paragraph."""
    after = next((other for other in following if other.rank <= mark.rank), None)
    end = after.line if after is not None else len(answer)
    # Numbering that goes on after a loose paragraph makes the paragraph part of the item above it.
    goes_on = after is not None and mark.number and (after.kind, after.number) == (mark.kind, mark.number + 1)
    if mark.stop is not None:
        end = min(end, mark.stop)
    elif mark.rank >= LIST_RANK and not goes_on:
        # A paragraph that is not indented closes a list; a list item inside it would have closed it already.
        held = [other.line for other in following if mark.rank < other.rank and other.line < end]
        closing = next((m.start() for m in _PARAGRAPH.finditer(answer, mark.start, end) if m.end() not in held), None)
        end = end if closing is None else closing
    text = answer[mark.start : max(mark.start, end)].rstrip()
    if mark.kind == "inline" and after is not None:
        # "c) … and d) …": the word that joins the items belongs to none of them.
        joined = _JOINED.search(text, max(0, len(text) - _LONGEST_JOINER))
        text = text[: joined.start()] if joined is not None and joined.start() else text
    return mark.start, mark.start + len(text)


def _position(mark: Mark, last: tuple[int, int, int] | None) -> int:
    if last is None:
        return 1
    position, number, end = last
    near = mark.line - end <= 2
    if mark.kind in ("heading", "row"):
        return position + 1
    if mark.kind == "bullet":
        return position + 1 if near else 1
    # Markdown allows "1." for every point of one list.
    if mark.number == number + 1 or (mark.number == number and near):
        return position + 1
    return 1


def _known_ids(chunk_ids: Sequence[str]) -> re.Pattern[str] | None:
    names = sorted({name for name in chunk_ids if name.strip()}, key=len, reverse=True)
    return re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, names)) + r")(?![\w-])") if names else None


def _cited(text: str, known: re.Pattern[str] | None, chunk_ids: Sequence[str]) -> tuple[str, ...]:
    """The chunks cited in a text: known ids wherever they stand, and what looks like an id in square brackets."""
    found: list[tuple[int, str]] = []
    if known is not None:
        found.extend((match.start(), match.group()) for match in known.finditer(text))
    for match in _CITATION.finditer(text):
        inside = _SOURCES.sub("", match.group("inside"))
        named = inside != match.group("inside")
        for piece in re.split(r"[,;]", inside):
            name = piece.strip()
            if name in chunk_ids or ((named or not chunk_ids) and _ID.fullmatch(name)):
                found.append((match.start() + match.group().find(name), name))
    return tuple(dict.fromkeys(name for _, name in sorted(found)))

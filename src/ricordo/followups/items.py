"""The addressable items of an answer, derived when it is stored.

An answer goes in; its list points, headings, table rows and enumerated sentences come out as a flat tuple that is
also a tree (`parent`), each with offsets such that `answer[start:end]` is its text and with the chunks cited inside.
Derived and never stored twice: the same answer always gives the same items.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ricordo.followups.reference import Item, ItemKind
from ricordo.languages.registry import AnyLanguage, all_values

LIST_RANK = 10
_BOLD_HEADING_RANK = 7
_INLINE_RANK = 1000
_PROSE_RANK = 2000

_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(?=\S)")
_BOLD_LINE = re.compile(r"[ ]{0,3}(?:\*\*|__)(?P<title>[^*_\n]{2,100}?)(?:\*\*|__):?[ \t]*$")
_BULLET = re.compile(r"[ \t]*[-*+•–◦▪‣·][ \t]+(?=\S)")
_NUMBER = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)?(?:\((?P<a>\d{1,3})\)|(?P<b>\d{1,3})[.):])(?:\*\*|__)?[ \t]+(?=\S)"
)
_LETTER = re.compile(r"[ \t]*(?:\*\*)?(?:\((?P<a>[A-Za-z]{1,5})\)|(?P<b>[A-Za-z]{1,5})[.)])(?:\*\*)?[ \t]+(?=\S)")
_NAMED = re.compile(r"[ \t]*(?:\*\*|__)?[^\W\d_]{3,12}[ ](?P<n>\d{1,2})(?:\*\*|__)?[ ]?[:.–-][ \t]+(?=\S)")
_TABLE = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*$")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_INLINE = re.compile(r"(?:(?<=^)|(?<=[\s:;,.—–-]))\(?(?P<label>\d{1,2}|[a-z]|[ivx]{2,4})\)[ \t]+(?=\S)")
_INLINE_DOT = re.compile(r"(?:(?<=^)|(?<=[:;,.] )|(?<=: ))(?P<label>\d{1,2})\.[ \t]+(?=[^\W\d])")
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10}
_PROSE = AnyLanguage(r"(?:^|(?<=[.!?;:]\s)|(?<=\n))(?P<form><followups.sequence>)\b,?[ \t]*")


@dataclass(frozen=True, slots=True)
class Mark:
    """The beginning of one item: `line` where its marker stands, `start` where its own text begins."""

    kind: ItemKind
    rank: int
    label: str
    number: int
    line: int
    start: int
    stop: int | None = None


def find_marks(answer: str, most: int = 500) -> list[Mark]:
    """The marks of an answer, in order; no more than `most`, so that no answer can make this slow."""
    marks: list[Mark] = []
    fenced = False
    in_table = False
    offset = 0
    for text in answer.splitlines(keepends=True):
        if len(marks) >= most:
            break
        if text.isspace():
            in_table = False
        elif _FENCE.match(text):
            fenced = not fenced
        elif not fenced:
            is_row = _TABLE.match(text) is not None
            if is_row and _RULE.match(text):
                in_table = True
            elif is_row and in_table:
                marks.append(_row(text, offset))
            elif not is_row:
                in_table = False
                marks.extend(_line_marks(text, offset, marks[-1] if marks else None))
        offset += len(text)
    return marks[:most] or list(_prose_marks(answer))


def _line_marks(text: str, offset: int, previous: Mark | None) -> Iterator[Mark]:
    inline = list(_inline_marks(text, offset))
    if inline:
        yield from inline
        return
    mark = _list_mark(text, offset, previous)
    if mark is not None:
        yield mark


def _list_mark(text: str, offset: int, previous: Mark | None) -> Mark | None:
    if match := _HEADING.match(text):
        return Mark("heading", len(match.group(1)), "", 0, offset, offset + match.end())
    rank = LIST_RANK + _indent(text)
    if match := _NUMBER.match(text):
        label = match.group("a") or match.group("b")
        return Mark("number", rank, label, int(label), offset, offset + match.end())
    if match := _LETTER.match(text):
        label = (match.group("a") or match.group("b")).lower()
        kind, number = _letter(label, previous)
        if number:
            return Mark(kind, rank, label, number, offset, offset + match.end())
    if match := _BULLET.match(text):
        return Mark("bullet", rank, "", 0, offset, offset + match.end())
    if match := _NAMED.match(text):
        number = int(match.group("n"))
        follows = previous is not None and previous.number == number - 1
        if number == 1 or follows:
            lead = len(text) - len(text.lstrip())
            return Mark("number", rank, match.group("n"), number, offset, offset + lead)
    if match := _BOLD_LINE.match(text):
        return Mark("heading", _BOLD_HEADING_RANK, "", 0, offset, offset + match.start("title"))
    return None


def _letter(label: str, previous: Mark | None) -> tuple[ItemKind, int]:
    """A letter or a roman number: "i" after "h" is a letter, "i" at the start is one."""
    after_letter = previous is not None and previous.kind == "letter" and len(label) == 1
    if after_letter and previous is not None and ord(label) - ord("a") == previous.number:
        return "letter", previous.number + 1
    if label in _ROMAN:
        return "roman", _ROMAN[label]
    return ("letter", ord(label) - ord("a") + 1) if len(label) == 1 and label.isascii() else ("letter", 0)


def _row(text: str, offset: int) -> Mark:
    body = text.rstrip()
    lead = body.index("|") + 1
    lead += len(body[lead:]) - len(body[lead:].lstrip())
    stop = max(lead, len(body[: body.rindex("|")].rstrip()))
    return Mark("row", LIST_RANK, "", 0, offset, offset + lead, offset + stop)


def _inline_marks(text: str, offset: int) -> Iterator[Mark]:
    """ "1) … 2) …" in one line: at least two, counted from the first without a gap."""
    stop = offset + len(text.rstrip())
    for pattern in (_INLINE, _INLINE_DOT):
        run: list[Mark] = []
        for match in pattern.finditer(text):
            label = match.group("label")
            number = int(label) if label.isdecimal() else _ROMAN.get(label, 0)
            if len(label) == 1 and not label.isdecimal() and (not run or run[0].label == "a"):
                number = ord(label) - ord("a") + 1 if label != "i" or run else 1
            if number == len(run) + 1:
                begin = offset + match.start()
                run.append(Mark("inline", _INLINE_RANK, label, number, begin, offset + match.end(), stop))
        if len(run) >= 2:
            yield from run
            return


def _prose_marks(answer: str) -> Iterator[Mark]:
    """ "First … Second … Finally …" at the beginning of sentences."""
    run: list[Mark] = []
    for match in _PROSE.finditer(answer):
        number = all_values("followups.sequence").get(match.group("form").lower(), -1)
        if number == len(run) + 1 or (number == 0 and run):
            place = len(run) + 1
            run.append(Mark("prose", _PROSE_RANK, match.group("form"), place, match.start(), match.end()))
            if number == 0:
                break
    if len(run) >= 2:
        yield from run


def _indent(text: str) -> int:
    lead = text[: len(text) - len(text.lstrip(" \t"))]
    return len(lead.expandtabs(4))


_CITATION = re.compile(r"\[(?P<inside>[^\[\]\n]{1,200})\](?!\()")
_SOURCES = AnyLanguage(r"^\s*(?:<vocabulary.source_labels>)\s*[:=]\s*")
_ID = re.compile(r"(?=[^\s]*[A-Za-z])(?=[^\s]*[\d\-_:.#/])[\w.:#/\-]{2,100}")
_PARAGRAPH = re.compile(r"\n[ \t]*\r?\n(?=[^\s])")
_MOST_ITEMS = 500
_LONGEST_JOINER = 8
_JOINED = AnyLanguage(r"[,;]?\s+(?:<followups.coordinators>)$")


def derive_items(answer: str, chunk_ids: Sequence[str] = ()) -> tuple[Item, ...]:
    """The items of an answer; `chunk_ids` are the ids it was given, found wherever they stand literally."""
    return _derived(answer, tuple(chunk_ids))


@lru_cache(maxsize=512)
def _derived(answer: str, chunk_ids: tuple[str, ...]) -> tuple[Item, ...]:
    """Cached, because the same answers are read for every question of a conversation."""
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

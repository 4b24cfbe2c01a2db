"""Where the items of an answer begin: list markers, headings, table rows, and enumerations inside a sentence.

One pass over the lines yields `Mark`s in the order of the text; `items` turns them into a tree. A mark knows its
rank (a smaller rank contains a larger one), so headings hold lists and an indented list is held by the one above.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ricordo.followups.languages import LANGUAGES

ItemKind = Literal["number", "letter", "roman", "bullet", "heading", "row", "inline", "prose"]

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
_SEQUENCE = {form: number for language in LANGUAGES for form, number in language.sequence.items()}
_PROSE = re.compile(
    r"(?:^|(?<=[.!?;:]\s)|(?<=\n))(?P<form>"
    + "|".join(sorted((re.escape(form) for form in _SEQUENCE), key=len, reverse=True))
    + r")\b,?[ \t]*",
    re.IGNORECASE,
)


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
        number = _SEQUENCE.get(match.group("form").lower(), -1)
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

"""Sentences of running text, as spans: `text[start:end]` is the sentence.

A full stop ends a sentence unless it belongs to an abbreviation, a number, an initial or a name such as "v2.1".
Line breaks inside a paragraph are spaces: only the caller knows where paragraphs, list points and headings end.
"""

import re
from collections.abc import Iterator

from ricordo.languages.registry import all_words

Span = tuple[int, int]

# A stop, closing quotes or brackets, citations that follow it, then space: the sentence may end there.
_END = re.compile(r"(?<![.!?…])(?P<mark>[.!?…]++)(?P<close>[\"'»”’)\]*_]*+)(?=\s|$)|(?P<wide>[。！？]+)")
_WORD_BEFORE = re.compile(r"[^\s(\[\"'«“‘*_]*$")
_LONGEST_WORD = 40


def sentences(text: str, start: int = 0, end: int | None = None, *, chat: bool = False) -> tuple[Span, ...]:
    """The sentences of `text[start:end]` in order, without the blanks around them; nothing but blanks is left out.

    In a `chat` a sentence may begin with a small letter.
    """
    stop = len(text) if end is None else end
    found: list[Span] = []
    begin = start
    for at in _ends(text, start, stop, chat=chat):
        _keep(text, begin, at, found)
        begin = at
    _keep(text, begin, stop, found)
    return tuple(found)


def trimmed(text: str, start: int, end: int) -> Span:
    """The span without the blanks at its ends; empty (start = end) if there is nothing else."""
    inside = text[start:end]
    left = len(inside) - len(inside.lstrip())
    kept = len(inside.strip())
    return start + left, start + left + kept


def _keep(text: str, start: int, end: int, found: list[Span]) -> None:
    span = trimmed(text, start, end)
    if span[0] < span[1]:
        found.append(span)


def _ends(text: str, start: int, stop: int, *, chat: bool) -> Iterator[int]:
    for match in _END.finditer(text, start, stop):
        if match["wide"]:
            yield match.end()
            continue
        if match["mark"] != "." or match["close"]:
            if chat or not _goes_on(text, match.end(), stop):
                yield match.end()
            continue
        word = _word_before(text, start, match.start())
        begin = match.start() - len(word)
        numbers_a_point = word.isdigit() and (begin == start or _opens_line(text, begin))
        if numbers_a_point or _is_abbreviation(word, chat=chat):
            continue
        if chat or not _goes_on(text, match.end(), stop):
            yield match.end()


def _opens_line(text: str, at: int) -> bool:
    return text[max(0, at - 20) : at].rpartition("\n")[2].strip() == "" and "\n" in text[max(0, at - 20) : at]


def _word_before(text: str, start: int, at: int) -> str:
    found = _WORD_BEFORE.search(text[max(start, at - _LONGEST_WORD) : at])
    return found.group() if found else ""


def _is_abbreviation(word: str, *, chat: bool) -> bool:
    initial = len(word) == 1 and word.isalpha() and (chat or word.isupper())
    low = word.lower()
    return (
        initial
        or low in all_words("vocabulary.abbreviations")
        or (chat and low in all_words("vocabulary.chat_abbreviations"))
    )


def _goes_on(text: str, at: int, stop: int) -> bool:
    """Whether what follows begins with a small letter, as no sentence does outside a chat."""
    following = text[at:stop].lstrip()[:1] if stop - at < 80 else text[at : at + 80].lstrip()[:1]
    return following.islower()

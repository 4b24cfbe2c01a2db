"""The addressable items of an answer, derived when it is stored.

An answer goes in; its list points, headings, table rows and enumerated sentences come out as a flat tuple that is
also a tree (`parent`), each with offsets such that `answer[start:end]` is its text and with the chunks cited inside.
Derived and never stored twice: the same answer always gives the same items. `enumeration` reads a series in running
prose ("either A, B or C").
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from ricordo.followups.reference import Item, ItemKind
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import AnyLanguage, all_values
from ricordo.languages.text import WordSpans, is_content, split_words

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
_BEFORE_PROSE = re.compile(r"[.!?;:]\s|\n")
_PROSE = AnyLanguage(r"(?P<form><followups.sequence>)\b,?[ \t]*")


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
    for closing, pattern in ((")", _INLINE), (".", _INLINE_DOT)):
        run: list[Mark] = []
        for match in pattern.finditer(text) if text.count(closing) > 1 else ():
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
    end = 0
    for start in (0, *(before.end() for before in _BEFORE_PROSE.finditer(answer))):
        match = _PROSE.match(answer, start) if start >= end else None
        if match is None:
            continue
        end = match.end()
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


_STOPS = frozenset(".!?;:…()\n")
_ASIDES = re.compile(r"\([^()\n]{1,80}\)|/(?=\w)\w{1,2}\b")  # "(…)", "and/or"
_LONGEST_MEMBER = 9
_ANNOUNCED = 3  # members that a colon before an enumeration counts for
_READ = 1_500  # characters of an answer
_HEADLINE_WORDS = 10


@lru_cache(maxsize=256)
def enumeration(answer: str, language: FollowUpWords) -> tuple[Item, ...]:
    """The longest enumeration of an answer as items, one after a colon first; empty when there is none."""
    read = answer[:_READ]
    line = replace(split_words(_ASIDES.sub(lambda aside: " " * len(aside[0]), read)), original=read)
    best: tuple[tuple[int, int], ...] = ()
    most, first = 0, 0
    for at in range(len(line.tokens) + 1):
        if at == len(line.tokens) or (line.word(at) in _STOPS and not _inside_number(line, at)):
            announced = line.word(first - 1) == ":"
            listed = _after_colon(line, language, first, at) if announced else ()
            members = max(_members(line, language, first, at), listed, key=len)
            rank = len(members) + _ANNOUNCED * (announced and len(members) > 1)
            best, most = (members, rank) if rank > most else (best, most)
            first = at + 1
    if best and not any(is_content(language, line.word(at)) for at in range(best[-1][0], best[-1][1] + 1)):
        best = best[:-1]  # "and many more"
    return tuple(prose_item(line, place, *member) for place, member in enumerate(best, start=1))


def _inside_number(line: WordSpans, at: int) -> bool:
    """ "Apache 2.0": this stop ends nothing."""
    digits = line.word(at - 1).isdecimal() and line.word(at + 1).isdecimal()
    return digits and line.tokens[at].end == line.tokens[at + 1].start


def _after_colon(line: WordSpans, language: FollowUpWords, first: int, end: int) -> tuple[tuple[int, int], ...]:
    """Short pieces without a verb between commas, though no "and" stands before the last."""
    marks = [first - 1, *(at for at in range(first, end) if line.word(at) == ","), end]
    pieces = [(a + 1, b - 1) for a, b in pairwise(marks)]
    bare = all(a <= b < a + _LONGEST_MEMBER and not _introduced(line, language, (a, b)) for a, b in pieces)
    return tuple(pieces) if bare and len(pieces) > 2 else ()


def prose_item(line: WordSpans, place: int, first: int, last: int) -> Item:
    start, end = line.span(first, last)
    return Item(place, "", "prose", 0, line.original[start:end], start, end)


def _members(line: WordSpans, language: FollowUpWords, first: int, end: int) -> tuple[tuple[int, int], ...]:
    """The members of one sentence: pieces between commas, up to the piece after the last coordinator."""
    pieces, joined = _pieces(line, language, first, end)
    for last in range(len(pieces) - 1, 0, -1):
        if not joined[last]:
            continue
        begin = last
        while begin > 0 and (begin == last or _goes_on(joined, begin, last)):
            if not _short(pieces[begin - 1], inner=begin - 1 > 0):
                break
            begin -= 1
            if begin == 0 or _introduced(line, language, pieces[begin]):
                break
        members = [_from_left(line, language, pieces[begin])]
        for at in range(begin + 1, last + 1):
            if joined[at] == "word" and at < last:  # "dirndl and lederhosen" between commas is one member
                members[-1] = (members[-1][0], pieces[at][1])
            else:
                members.append(pieces[at])
        members[-1] = _to_right(line, language, members[-1])
        members = [_without_preposition(line, language, member) for member in members]
        if (
            len(members) > 1
            and all(a <= b for a, b in members)
            and (len(members) > 2 or _paired(line, language, members))
        ):
            return tuple(members)
    return ()


def _goes_on(joined: Sequence[str], at: int, last: int) -> bool:
    """Whether a series goes on before a piece: a comma stands there, or "and" between two commas."""
    return joined[at] != "word" or (last - at >= 2 and joined[at - 1] != "word" and joined[at + 1] != "word")


def _pieces(line: WordSpans, language: FollowUpWords, first: int, end: int) -> tuple[list[tuple[int, int]], list[str]]:
    """The pieces of a sentence, and what stands before each: nothing or a comma, a "word", or a comma and a word."""
    pieces: list[tuple[int, int]] = []
    joined: list[str] = []
    begin, by_word = first, ""
    for at in range(first, end + 1):
        coordinates = at < end and (line.word(at) in language.coordinators or line.word(at) in language.choice_words)
        if at < end and line.word(at) != "," and not coordinates:
            continue
        if begin <= at - 1:
            pieces.append((begin, at - 1))
            joined.append(by_word)
            by_word = ""
        if coordinates:
            by_word = "both" if line.word(at - 1) == "," else by_word or "word"
        begin = at + 1
    return pieces, joined


def _short(piece: tuple[int, int], *, inner: bool) -> bool:
    return not inner or piece[1] - piece[0] < _LONGEST_MEMBER


def _introduces(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    word = line.word(at)
    if line.tokens[at].capital and at > 0:
        return False
    if word in language.articles or word in language.indefinite or word in language.links or word in language.owners:
        return False
    infinitive = language.patterns["infinitive"].fullmatch(word) is not None
    return word in language.function_words or word in language.verbs or infinitive


def _introduced(line: WordSpans, language: FollowUpWords, piece: tuple[int, int]) -> bool:
    return any(
        line.word(at) in language.verbs or line.word(at) in language.auxiliaries for at in range(piece[0], piece[1] + 1)
    )


def _from_left(line: WordSpans, language: FollowUpWords, piece: tuple[int, int]) -> tuple[int, int]:
    """The first member without what introduces the series."""
    first, last = piece
    after = next((at for at in range(last + 1, len(line.tokens)) if _begins(line, language, at)), last)
    if line.tokens[last].capital and line.tokens[after].capital:
        while last > first and line.tokens[piece[1]].capital and line.tokens[last - 1].capital:
            last -= 1
        return last, piece[1]  # A series of names: "racconti di Romolo" begins with Romolo.
    for at in range(last, first - 1, -1):
        if not line.is_word(at) and line.word(at) != "-":
            return at + 1, last
        if _introduces(line, language, at):
            return at + 1, last
    return first, last


def _to_right(line: WordSpans, language: FollowUpWords, piece: tuple[int, int]) -> tuple[int, int]:
    """The last member without what is said after the series."""
    first, last = piece
    for at in range(first + 1, last + 1):
        word = line.word(at)
        if word in language.verbs or word in language.auxiliaries or word in language.relatives:
            return first, at - 1
    return first, last


def _begins(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    word = line.word(at)
    return line.is_word(at) and word not in language.coordinators and word not in language.choice_words


def _without_preposition(line: WordSpans, language: FollowUpWords, piece: tuple[int, int]) -> tuple[int, int]:
    """ "di Sciascia e di Camilleri": a repeated preposition is no part of the member."""
    first, last = piece
    bare = line.word(first) in language.prepositions and line.word(first) not in language.articles
    return (first + 1, last) if bare and first < last else piece


def _paired(line: WordSpans, language: FollowUpWords, members: list[tuple[int, int]]) -> bool:
    """Two members are a list when they look alike: both names, or both with an article."""
    articles = [line.word(first) in language.articles | language.indefinite for first, _ in members]
    names = [
        line.tokens[min(first + article, last)].capital
        for (first, last), article in zip(members, articles, strict=True)
    ]
    return (all(names) or (all(articles) and not any(names))) and all(last - first < 6 for first, last in members)


_MARKUP = re.compile(r"[*_`#|>]+|\[[^\[\]]*\]")
_HEADLINE_END = re.compile(r"\n|[:;.!?](?=\s|$)| [–—-] |, | \| ")


def headline(text: str) -> str:
    """The short name of an item: its first clause, without markup and citations."""
    plain = " ".join(_MARKUP.sub(" ", text.split("\n", 1)[0]).split()) or " ".join(_MARKUP.sub(" ", text).split())
    first = _HEADLINE_END.split(plain, maxsplit=1)[0].strip() or plain
    return " ".join(first.split()[:_HEADLINE_WORDS]).rstrip(" ,;")

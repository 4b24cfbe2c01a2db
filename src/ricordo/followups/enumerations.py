"""Enumerations in running prose ("either A, B or C"; "il lino, il cotone e la viscosa") as items of a list.

Commas and a final coordinator divide a sentence into members. The first member begins after the verb or preposition
that introduces the series, the last one ends before the next verb. Members are slices of the answer, as items are.
"""

from functools import lru_cache

from ricordo.followups.reference import Item
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans, split_words

_STOPS = frozenset(".!?;:…()\n")
_LONGEST_MEMBER = 9
_READ = 1_500  # characters of an answer


@lru_cache(maxsize=256)
def enumeration(answer: str, language: FollowUpWords) -> tuple[Item, ...]:
    """The longest enumeration of an answer as items, the first one among equals; empty when there is none."""
    line = split_words(answer[:_READ])
    best: tuple[tuple[int, int], ...] = ()
    first = 0
    for at in range(len(line.tokens) + 1):
        if at == len(line.tokens) or line.word(at) in _STOPS:
            members = _members(line, language, first, at)
            best = members if len(members) > len(best) else best
            first = at + 1
    return tuple(_item(line, place, *member) for place, member in enumerate(best, start=1))


def _item(line: WordSpans, place: int, first: int, last: int) -> Item:
    start, end = line.span(first, last)
    return Item(place, "", "prose", 0, line.original[start:end], start, end)


def _members(line: WordSpans, language: FollowUpWords, first: int, end: int) -> tuple[tuple[int, int], ...]:
    """The members of one sentence: pieces between commas, up to the piece after the last coordinator."""
    pieces, joined = _pieces(line, language, first, end)
    for last in range(len(pieces) - 1, 0, -1):
        if not joined[last]:
            continue
        begin = last
        while begin > 0 and (begin == last or not joined[begin]) and _short(pieces[begin - 1], inner=begin - 1 > 0):
            begin -= 1
            if begin == 0 or _introduced(line, language, pieces[begin]):
                break
        members = [
            _from_left(line, language, pieces[begin]),
            *pieces[begin + 1 : last],
            _to_right(line, language, pieces[last]),
        ]
        members = [_without_preposition(line, language, member) for member in members]
        if (
            last - begin >= 1
            and all(a <= b for a, b in members)
            and (last - begin >= 2 or _paired(line, language, members))
        ):
            return tuple(members)
    return ()


def _pieces(line: WordSpans, language: FollowUpWords, first: int, end: int) -> tuple[list[tuple[int, int]], list[bool]]:
    pieces: list[tuple[int, int]] = []
    joined: list[bool] = []
    begin, by_word = first, False
    for at in range(first, end + 1):
        coordinates = at < end and (line.word(at) in language.coordinators or line.word(at) in language.choice_words)
        if at < end and line.word(at) != "," and not coordinates:
            continue
        if begin <= at - 1:
            pieces.append((begin, at - 1))
            joined.append(by_word)
            by_word = False
        by_word = by_word or coordinates
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
    marks = [
        (line.tokens[first].capital, line.word(first) in language.articles | language.indefinite)
        for first, _ in members
    ]
    return marks[0] == marks[1] and any(marks[0]) and all(last - first < 6 for first, last in members)

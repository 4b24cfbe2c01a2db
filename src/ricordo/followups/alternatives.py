"""The things a past question put side by side: "the Sony or the Canon", "tra VACUUM e ANALYZE".

They are what "the two", "both" and "which one" mean when the answer held no list, and what a lone "it" cannot choose
between.
"""

from ricordo.followups.language import Language
from ricordo.followups.line import Line

_LONGEST = 8


def alternatives(line: Line, language: Language) -> tuple[str, ...]:
    """The two sides of a choice in a line, as they are written; empty when there is no choice."""
    for at in range(1, len(line.tokens) - 1):
        if not _joins(line, language, at):
            continue
        left = _side(line, language, at, -1)
        right = _side(line, language, at, 1)
        if left and right and left.lower() != right.lower():
            return left, right
    return ()


def _joins(line: Line, language: Language, at: int) -> bool:
    word = line.word(at)
    if word in language.choice_words:
        return True
    if word not in language.coordinators:
        return False
    if any(line.word(back) in language.between_words for back in range(max(0, at - _LONGEST), at)):
        return True
    # "Compare SQLite and PostgreSQL"
    compares = language.patterns["comparison"].match(line.text)
    return compares is not None and line.token_at(compares.end() - 1) < at


def _side(line: Line, language: Language, joiner: int, step: int) -> str:
    """The words on one side of the joiner, up to a verb, a question word or a mark."""
    end = joiner + step
    while abs(end - joiner) <= _LONGEST and (
        (line.is_word(end) and not _stops(line, language, end)) or _hyphen(line, end)
    ):
        end += step
    first, last = sorted((joiner + step, end - step))
    while first <= last and not language.is_content(line.word(first)):
        first += 1
    while last >= first and not language.is_content(line.word(last)):
        last -= 1
    if step > 0 and last > first and line.word(0) in language.auxiliaries and _said_of(line, language, last):
        last -= 1
    if first > last:
        return ""
    start, stop = line.span(first, last)
    return line.original[start:stop]


def _hyphen(line: Line, at: int) -> bool:
    """Whether a hyphen holds two words together ("cast-iron")."""
    if line.word(at) != "-" or not (line.is_word(at - 1) and line.is_word(at + 1)):
        return False
    return line.tokens[at - 1].end == line.tokens[at].start and line.tokens[at].end == line.tokens[at + 1].start


def _said_of(line: Line, language: Language, at: int) -> bool:
    """ "Is bread or focaccia easier?": the last word is asked of both sides and belongs to neither."""
    token = line.tokens[at]
    ends = not line.is_word(at + 1)
    return ends and not token.capital and (token.word in language.modifiers or _graded(token.word, language))


def _graded(word: str, language: Language) -> bool:
    return language.graded != "" and len(word) > 5 and word.endswith(language.graded)


def _stops(line: Line, language: Language, at: int) -> bool:
    word = line.word(at)
    if line.tokens[at].capital and at > 0:
        return False
    return (
        word in language.verbs
        or word in language.auxiliaries
        or word in language.sorting_words
        or word in language.manner_words
        or word in language.between_words
        or word in language.personal
    )

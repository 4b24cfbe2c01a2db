"""Labels said on their own: "1 e 3", "more on 2", "la a e la d", "il 4 a cosa serve?".

A bare number or letter means an item only where a list that prints or counts it is before the user's eyes, so the
labels of that list come in. Without an article nothing but a request may stand beside them; with one ("la b") the rest
of the question is free.
"""

from ricordo.followups.language import Language, Words
from ricordo.followups.line import Line
from ricordo.followups.ordinal import label_number
from ricordo.followups.reference import Pick, Reference

_JOINERS = frozenset(",&+")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")


def label_sequence(line: Line, language: Language, labels: Words) -> Reference | None:
    """The labels that a message names, if it is believed to mean items of the list that has `labels`."""
    if not labels:
        return None
    for index in range(len(line.tokens)):
        found = _sequence(line, language, labels, index)
        if found is None:
            continue
        ends, named, introduced = found
        believed = introduced if _stands_free(line, language, ends) else False
        if not believed and not _only_requested(line, language, index, ends, len(named)):
            return None
        start, end = line.span(index, ends)
        positions = tuple(dict.fromkeys(label_number(label) or 0 for label in named))
        pick = Pick(positions=positions, label=named[0] if len(named) == 1 else "")
        return Reference("ordinal", 0.85 if len(named) > 1 else 0.75, start, end, line.original[start:end], pick=pick)
    return None


def _sequence(line: Line, language: Language, labels: Words, index: int) -> tuple[int, list[str], bool] | None:
    """From `index`: article? label (joiner article? label)*; its end, the labels, and whether it may be believed."""
    named: list[str] = []
    ends, at, introduced = index, index, False
    while True:
        article = line.word(at) in language.label_articles
        at += article
        word = line.word(at)
        if word not in labels or label_number(word) is None:
            break
        follows = at + 1 < len(line.tokens) and line.is_word(at + 1)
        if word in language.function_words and not article and follows and not _joined(line, language, labels, at):
            break
        if not named:
            lone_letter = word in _LETTERS and word not in language.function_words
            introduced = article or (
                lone_letter and not language.label_article_needed and not _part_of_name(line, language, at)
            )
        named.append(word)
        ends = at
        at += 1
        while line.word(at) in _JOINERS or line.word(at) in language.coordinators:
            at += 1
        if at == ends + 1:
            break
    return (ends, named, introduced) if named else None


def _part_of_name(line: Line, language: Language, at: int) -> bool:
    """ "vitamin c", "plan b": the word before a letter makes it part of a name."""
    before = line.word(at - 1)
    return line.is_word(at - 1) and (language.is_content(before) or before not in language.function_words)


def _joined(line: Line, language: Language, labels: Words, at: int) -> bool:
    """Whether another label is joined to this one, so that "a" and "i" are labels and not words."""
    if line.word(at + 1) not in language.coordinators and line.word(at + 1) not in _JOINERS:
        return False
    after = at + 2 + (line.word(at + 2) in language.label_articles)
    return line.word(after) in labels


def _stands_free(line: Line, language: Language, ends: int) -> bool:
    """Neither "il 4 luglio" nor "la d eufonica": no noun or adjective belongs to the label."""
    following = line.word(ends + 1)
    if not line.is_word(ends + 1):
        return following not in {"-", "/", "%", "°", "€", "$"} and not (following in ".,:" and line.is_word(ends + 2))
    if following in language.prepositions:
        # "la b in inglese" is a letter of its own, "il 4 a cosa serve?" asks about an item.
        return line.word(ends + 2) in language.sorting_words or line.word(ends + 2) in language.person_words
    return not language.is_content(following)


def _only_requested(line: Line, language: Language, first: int, last: int, count: int) -> bool:
    """Whether all other words only ask for them; an unknown first word is taken for the verb before two labels."""
    others = [at for at, token in enumerate(line.tokens) if token.is_word and not first <= at <= last]
    unknown = [
        at for at in others if line.word(at) not in language.requests and line.word(at) not in language.polite_endings
    ]
    return not unknown or (count > 1 and unknown == [0] and first == 1 and language.is_content(line.word(0)))

"""The frame of a past question: what it asked, and the parts of it that a follow-up can replace.

"And in Peru?" after "What is the voting age in Austria?" replaces a part of the same kind (a place after "in"); "No, I
meant fourteen" replaces a number. The part is chosen by a few observations (preposition, kind, article, number,
spelling); where none fits, the new part is added to the old question.
"""

import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from ricordo.followups.phrases import runs
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans, split_words, stem

PartKind = Literal["name", "time", "noun", "unknown"]
LONGEST_FRAME = 20  # words
FITS = 1.2  # the least score with which a part is replaced
FITS_SENSE = 3.0  # the same where the new part may only explain the old one ("I meant the animal")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+")
_ALIKE = 0.72
_FIRST = 0.3  # what a question names first is its subject


@dataclass(frozen=True, slots=True)
class FramePart:
    """A noun phrase of a question: `start` with its article, `core` without, and what tells its kind."""

    start: int
    core: int
    end: int
    words: tuple[str, ...]
    preposition: str
    article: str
    kind: PartKind
    plural: bool
    waits: bool


def asked_sentence(query: str) -> str:
    """The sentence of a message that asks: the last with a question mark, or all of a short message."""
    sentences = [piece for piece in _SENTENCE.split(query.strip()) if piece]
    asking = [piece for piece in sentences if piece.endswith("?")]
    return asking[-1] if asking else query.strip()


def frame_words(query: str, language: FollowUpWords) -> str:
    """What a question asked, without its question words and politeness ("prune my hydrangea in autumn")."""
    sentence = asked_sentence(query)
    line = split_words(sentence)
    said = [at for at, token in enumerate(line.tokens) if token.is_word]
    while said and _frames_nothing(line, language, said[0]):
        said.pop(0)
    while said and not language.is_content(line.word(said[-1])) and line.word(said[-1]) not in language.verbs:
        said.pop()
    if not said:
        return ""
    said = said[:LONGEST_FRAME]
    start, end = line.span(said[0], said[-1])
    return sentence[start:end]


def _frames_nothing(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    word = line.word(at)
    return word in language.function_words or word in language.requests or word in language.asking_openers


def parts(line: WordSpans, language: FollowUpWords) -> tuple[FramePart, ...]:
    """The noun phrases of a line that another could replace; a name ends what stands before it ("nato Verdi")."""
    return tuple(_part(line, language, *_name_in(line, *run)) for run in runs(line, language) if run is not None)


def _name_in(line: WordSpans, first: int, last: int) -> tuple[int, int]:
    names = [at for at in range(max(first, 1), last + 1) if line.tokens[at].capital]
    return (names[0], last) if names and line.tokens[last].capital else (first, last)


def _part(line: WordSpans, language: FollowUpWords, first: int, last: int) -> FramePart:
    begin, article, preposition = first, "", ""
    while begin > 0 and line.word(begin - 1) in language.owners:
        begin -= 1
        article = "definite"
    before = line.word(begin - 1)
    if before in language.indefinite:
        begin, article = begin - 1, "indefinite"
    elif before in language.articles:
        begin, article = begin - 1, "definite"
        preposition = language.contracted.get(before, "")
    before = line.word(begin - 1)
    if not preposition and (before in language.prepositions or before in language.part_openers):
        preposition = language.contracted.get(before, before)
    words = tuple(line.word(at) for at in range(first, last + 1) if line.is_word(at))
    return FramePart(
        start=line.tokens[begin].start,
        core=line.tokens[first].start,
        end=line.tokens[last].end,
        words=words,
        preposition=preposition,
        article=article,
        kind=_kind(line, language, first, last),
        plural=words[-1].endswith("s") and not words[-1].endswith("ss"),
        waits=all(word in language.relational or word in language.modifiers for word in words),
    )


def _kind(line: WordSpans, language: FollowUpWords, first: int, last: int) -> PartKind:
    words = [line.word(at) for at in range(first, last + 1)]
    if any(word in language.time_names or _is_year(word) for word in words):
        return "time"
    if any(line.tokens[at].capital and at > 0 for at in range(first, last + 1)):
        return "name"
    return "unknown" if first == 0 and line.tokens[0].capital else "noun"


def _is_year(word: str) -> bool:
    return word.isdecimal() and len(word) == 4


def with_part(
    question: str,
    new: str,
    language: FollowUpWords,
    instead_of: str = "",
    least: float = FITS,
    *,
    opens: bool = True,
) -> str:
    """The old question with the new part in place of the one that fits best; empty where none fits.

    `opens` says that the new part opens its message, so that a capital there tells nothing.
    """
    line, piece = split_words(question), split_words(new)
    if not piece.words:
        return ""
    named = _named_part(line, split_words(instead_of), language) if instead_of else None
    if named is not None:
        return _spliced(question, *named, new)
    token = _same_class(line, piece, language)
    if token is not None:
        return _spliced(question, *token)
    (incoming, offset) = _incoming(piece, new, language)
    if incoming is None:
        return ""
    if incoming.kind == "unknown" and not opens:
        incoming = replace(incoming, kind="name")
    scored = [(_score(part, incoming) + _FIRST * (at == 0), -at, part) for at, part in enumerate(parts(line, language))]
    best = max(scored, key=lambda each: each[:2], default=None)
    if best is None or best[0] < least:
        return ""
    part = best[2]
    return _in_place(question, line, part, incoming, new, language, offset)


def _in_place(
    question: str, line: WordSpans, part: FramePart, incoming: FramePart, new: str, language: FollowUpWords, offset: int
) -> str:
    """Replace with the preposition where both have it, with the article where both have one, else the noun alone."""
    if incoming.preposition:
        if part.preposition:
            begins = part.start
            at = line.token_at_offset(part.start)
            joined = line.word(at) in language.contracted
            if not joined:
                before = line.token_at_offset(part.start) - 1
                begins = line.tokens[before].start if before >= 0 else part.start
            return _spliced(question, begins, part.end, new[offset:])
        return ""
    at = line.token_at_offset(part.start)
    joined = line.word(at) in language.contracted
    if incoming.article and part.article and not joined:
        return _spliced(question, part.start, part.end, new[offset:])
    return _spliced(question, part.core, part.end, new[incoming.core :])


def _incoming(piece: WordSpans, new: str, language: FollowUpWords) -> tuple[FramePart | None, int]:
    found = parts(piece, language)
    if not found:
        return None, 0
    first = found[0]
    first_word = piece.tokens[0].start
    whole = FramePart(
        start=first.start,
        core=first.core,
        end=len(new),
        words=tuple(word for part in found for word in part.words),
        preposition=first.preposition,
        article=first.article,
        kind="time" if any(part.kind == "time" for part in found) else first.kind,
        plural=first.plural,
        waits=first.waits,
    )
    return whole, first_word


def _score(part: FramePart, new: FramePart) -> float:
    """How well a new part fits into the place of another."""
    score = 0.0
    if {stem(word) for word in part.words} & {stem(word) for word in new.words}:
        score += 3
    elif SequenceMatcher(None, " ".join(part.words), " ".join(new.words)).ratio() >= _ALIKE:
        score += 2.5
    if new.preposition:
        score += 2 if part.preposition == new.preposition else -2
    elif part.preposition:
        score -= 0.7
    if "unknown" in (part.kind, new.kind):
        score += 0.7 if "name" in (part.kind, new.kind) else 0.3
    elif part.kind == new.kind:
        score += 0.5 if part.kind == "noun" else 2
    else:
        score -= 4 if "time" in (part.kind, new.kind) else 1.5
    if part.article == new.article:
        score += 1
    elif part.article and new.article:
        score += 0.5
    score += 0.3 * (part.plural == new.plural)
    return score - 1.5 * (part.waits and not new.waits)


def _same_class(line: WordSpans, piece: WordSpans, language: FollowUpWords) -> tuple[int, int, str] | None:
    """A number for a number, an ordinal for an ordinal, a quality for a quality: one word takes another's place."""
    content = [at for at, token in enumerate(piece.tokens) if token.is_word and not _grammar(token.word, language)]
    if len(content) != 1:
        return None
    word = piece.word(content[0])
    for same in (language.is_number, language.ordinals.__contains__, language.modifiers.__contains__):
        if not same(word):
            continue
        before = piece.word(content[0] - 1)
        places = [at for at, token in enumerate(line.tokens) if token.is_word and same(token.word)]
        alike = [at for at in places if before and line.word(at - 1) == before] or places
        if alike:
            start, end = piece.span(content[0], content[0])
            return line.tokens[alike[-1]].start, line.tokens[alike[-1]].end, piece.original[start:end]
    return None


def _grammar(word: str, language: FollowUpWords) -> bool:
    return not language.is_number(word) and word in language.function_words


def _named_part(line: WordSpans, old: WordSpans, language: FollowUpWords) -> tuple[int, int] | None:
    """Where the words that a correction takes back stand in the question."""
    wanted = {stem(word) for word in old.words if not _grammar(word, language)}
    said = [at for at, token in enumerate(line.tokens) if token.is_word and stem(token.word) in wanted]
    if not wanted or not said or not wanted <= {stem(line.word(at)) for at in said}:
        return None
    first = said[0]
    if old.word(0) in language.articles and line.word(first - 1) == old.word(0):
        first -= 1
    return line.tokens[first].start, line.tokens[said[-1]].end


def _spliced(question: str, start: int, end: int, new: str) -> str:
    return f"{question[:start]}{new.strip()}{question[end:]}"

"""Corrections: "no, I meant fourteen", "non Java, Node", "I should have said she is 92".

A correction names a new part for the last question, sometimes with the words it takes back, or adds a circumstance.
"""

import re

from ricordo.followups.ordinals import places
from ricordo.followups.reference import ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans, split_words

_LONGEST = 18
_LONGEST_BARE = 7
_MARKS = " ?!.…,;"


def correction(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """The cue of a message that corrects the last question, if it does."""
    if not line.words or len(line.words) > _LONGEST:
        return None
    clause = line.text.rstrip(_MARKS)
    for pattern in language.correction_patterns:
        if line.text.endswith("?") and "[?" not in pattern.pattern:
            continue
        match = pattern.fullmatch(clause)
        found = _cue(line, language, match) if match is not None else None
        if found is not None:
            return found
    return None


def _cue(line: WordSpans, language: FollowUpWords, match: re.Match[str]) -> ReferenceCue | None:
    groups = match.groupdict()
    if groups.get("bare") is not None:
        words = match.group("bare").split()
        acts = any(
            word in language.verbs or word in language.auxiliaries or word in language.requests for word in words
        )
        if acts or len(words) > _LONGEST_BARE or line.text.endswith("?"):
            return None
    name = next(each for each in ("new", "add", "bare") if groups.get(each) is not None)
    start, end = _span(line, match, name)
    if next(places(split_words(line.original[start:end]), language), None) is not None:
        return None  # "Not the first, the other three": items of a list.
    new = _bare_part(line, language, start, end)
    if not new or not any(language.is_content(word) or language.is_number(word) for word in match.group(name).split()):
        return None
    old = line.original[slice(*_span(line, match, "old"))] if groups.get("old") else ""
    return ReferenceCue(
        "ellipsis",
        0.8,
        start,
        end,
        line.original[start:end],
        part=new,
        instead_of=old,
        corrects=True,
        whole=name == "add",
    )


def _bare_part(line: WordSpans, language: FollowUpWords, start: int, end: int) -> str:
    """The new part without "the one" and "quella", which stand for the part that is already there."""
    first, last = line.token_at_offset(start), line.token_at_offset(end - 1)
    stands = line.word(first) in language.demonstrative and not language.is_content(line.word(first + 1))
    one = line.word(first) in language.articles and line.word(first + 1) in language.ones
    if (stands or one) and first + 1 + one <= last:
        start = line.tokens[first + 1 + one].start
    return line.original[start:end].strip()


def _span(line: WordSpans, match: re.Match[str], name: str) -> tuple[int, int]:
    begin, end = match.span(name)
    return line.span(line.token_at(begin), line.token_at(max(begin, end - 1)))

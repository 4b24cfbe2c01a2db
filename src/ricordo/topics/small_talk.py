"""Small talk: a message goes in; how many of its words are polite phrases and how many name something comes out.

Polite words are recognised with repeated letters and with one wrong, missing, added or swapped letter.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from ricordo.languages.base import Language
from ricordo.languages.registry import AnyLanguage, all_words, languages
from ricordo.languages.word_spans import fold

_WORD = re.compile(r"[^\W\d_]+")
_REPEATED = re.compile(r"(.)\1{2,}")
_REPLY = AnyLanguage(r"\b(?:<topics.replies>)\b")
_SHORTEST_TYPO = 5
_READ = 400  # characters


@dataclass(frozen=True, slots=True)
class SmallTalk:
    """The words of a message: all, polite ones, those with content; `reply` if it answers a greeting or thanks."""

    words: int
    polite_words: int
    content_words: int
    reply: bool


@lru_cache(maxsize=1024)
def small_talk_of(text: str) -> SmallTalk:
    """How much of a message is small talk."""
    words = _WORD.findall(fold(text[:_READ]))
    polite = [word for word in words if is_polite(word)]
    empty = empty_words(languages())
    content = sum(word not in empty and not is_polite(word) for word in words)
    return SmallTalk(len(words), len(polite), content, bool(_REPLY.search(text[:_READ])))


@lru_cache(maxsize=8192)
def is_polite(word: str) -> bool:
    """Whether a folded word greets, thanks, praises or takes leave, also misspelt."""
    known = all_words("topics.polite_words")
    short = _REPEATED.sub(r"\1", word)
    if word in known or short in known:
        return True
    return len(short) >= _SHORTEST_TYPO and any(_one_edit(short, each) for each in known)


def _one_edit(word: str, other: str) -> bool:
    """Whether one letter was changed, added, left out, or swapped with the next one."""
    if abs(len(word) - len(other)) > 1 or len(other) < _SHORTEST_TYPO:
        return False
    at = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    rest, same = word[at:], other[at:]
    swapped = rest[:2] == same[1::-1] and rest[2:] == same[2:]
    return swapped or rest[1:] == same or rest == same[1:] or rest[1:] == same[1:]


@cache
def empty_words(known: tuple[Language, ...]) -> frozenset[str]:
    """Words that name no subject: grammar, common verbs, small talk, and nouns and adjectives that wait for one."""
    fields = (
        "vocabulary.stop_words vocabulary.small_talk followups.function_words followups.verbs followups.relational "
        "followups.modifiers"
    )
    return frozenset().union(*(all_words(field) for field in fields.split()))

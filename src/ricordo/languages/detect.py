"""Which language a text is in, by three measures.

`guess_language` counts stop words of the folded text and always answers: terms are stored by it. `detect_language`
counts them over many texts and has a default for a tie. `language_of` weighs grammar and common words as well, and
gives the table by which follow-ups are read.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import repeat

from ricordo.languages.base import Language
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import languages
from ricordo.languages.word_spans import fold, split_words

_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]+")


def followup_languages() -> tuple[FollowUpWords, ...]:
    """The follow-up tables of all languages."""
    return tuple(each.followups for each in languages())


def language_of(
    text: str, known: Sequence[FollowUpWords] | None = None, default: FollowUpWords | None = None
) -> FollowUpWords:
    """The language whose grammar and common words a text uses most; `default`, or the first, where it uses none."""
    tables = followup_languages() if known is None else tuple(known)
    scores = _scores(text[:1000], tables)
    best = max(scores, default=0)
    if best == 0:
        return default or tables[0]
    winners = [table for table, score in zip(tables, scores, strict=True) if score == best]
    return default if default in winners else winners[0]


@lru_cache(maxsize=256)
def _scores(text: str, known: tuple[FollowUpWords, ...]) -> list[int]:
    words = split_words(text).words
    return [sum(map(each.language_weights.get, words, repeat(0))) for each in known]


def guess_language(text: str) -> str:
    """The code of the language whose own stop words a text uses most; the first language where nothing tells."""
    words = _WORD.findall(fold(text[:2_000]))
    return guess_language_of(words)


def guess_language_of(words: Sequence[str]) -> str:
    """The same for the folded words of a text."""
    known = languages()
    counts = [sum(word in own for word in words) for own in own_stop_words(known)]
    best = max(counts)
    if counts.count(best) == 1:
        return known[counts.index(best)].code
    # No stop word decides: the words of some languages, as of Italian, mostly end in one of a few letters.
    long = [word for word in words if len(word) > 3 and word.isalpha()]
    for each in known:
        letters = each.vocabulary.final_letters
        if long and letters and sum(word[-1] in letters for word in long) > 0.75 * len(long):
            return each.code
    return known[0].code


@cache
def own_stop_words(known: tuple[Language, ...]) -> tuple[frozenset[str], ...]:
    """For each language its stop words that no other language has."""
    tables = [each.vocabulary.stop_words for each in known]
    return tuple(own.difference(*(other for other in tables if other is not own)) for own in tables)


def detect_language(texts: Iterable[str], default: str = "en") -> str:
    """The language whose own stop words are used most; `default` where two are used alike, or none."""
    known = languages()
    votes: Counter[str] = Counter()
    for text in texts:
        for word in _LETTERS.findall(text[:500].lower()):
            for each, own in zip(known, own_stop_words(known), strict=True):
                votes[each.code] += word in own
        if sum(votes.values()) > 200:
            break
    (best, most), *others = votes.most_common(2) or [(default, 0)]
    return best if most and all(most > fewer for _, fewer in others) else default

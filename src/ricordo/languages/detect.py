"""Which language a text is in."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

from ricordo.languages.base import FollowUpWords
from ricordo.languages.registry import languages
from ricordo.languages.word_spans import read


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
    words = read(text).words
    return [sum(map(each.belonging.get, words, repeat(0))) for each in known]

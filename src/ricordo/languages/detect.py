"""The languages that are known, and which of them a text is in.

Add a table to `LANGUAGES` and every rule speaks it; a text that gives no sign is read with the first.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

from ricordo.languages.followups_base import Language
from ricordo.languages.followups_english import ENGLISH
from ricordo.languages.followups_italian import ITALIAN
from ricordo.languages.word_spans import read

LANGUAGES: tuple[Language, ...] = (ENGLISH, ITALIAN)


def language_of(text: str, known: Sequence[Language] = LANGUAGES, default: Language | None = None) -> Language:
    """The language whose grammar and common words the text uses most; `default` (or the first) on a tie of nothing."""
    scores = _scores(text[:1000], tuple(known))
    best = max(scores, default=0)
    if best == 0:
        return default or known[0]
    winners = [lang for lang, score in zip(known, scores, strict=True) if score == best]
    return default if default in winners else winners[0]


@lru_cache(maxsize=256)
def _scores(text: str, known: tuple[Language, ...]) -> list[int]:
    words = read(text).words
    return [sum(map(language.belonging.get, words, repeat(0))) for language in known]

"""Which past answer said it: a small word-overlap search over the turns at hand.

A rare word counts more than a common one, and a newer turn wins a tie. It is the default behind "hai detto che…";
a caller with all answers indexed passes its own search instead.
"""

import math
from collections.abc import Sequence

from ricordo.followups.binding import items_of
from ricordo.followups.focus import PastTurn
from ricordo.followups.items import Item
from ricordo.followups.language import Language, Words
from ricordo.followups.line import read, stem
from ricordo.followups.phrases import content_words

# Enough for any answer a person reads; a longer one is searched by its beginning.
_READ_CHARACTERS = 20_000


def find_in(content: str, history: Sequence[PastTurn], language: Language) -> tuple[PastTurn, ...]:
    """The turns that share words with `content`, best first; empty when none does."""
    wanted = {stem(word) for word in content_words(read(content), language)}
    said = [_stems(f"{turn.query}\n{turn.response}"[:_READ_CHARACTERS], language) for turn in history]
    weights = {
        word: math.log(1 + len(said) / hits) for word in sorted(wanted) if (hits := sum(word in s for s in said))
    }
    scored = [
        (sum(weights[word] for word in sorted(wanted & words)), at) for at, words in enumerate(said) if wanted & words
    ]
    return tuple(history[at] for _, at in sorted(scored, reverse=True))


def best_item(content: str, turn: PastTurn, language: Language) -> Item | None:
    """The item of an answer that holds most of the words, if one holds more than the prose around the items."""
    wanted = {stem(word) for word in content_words(read(content), language)}
    items = items_of(turn)
    if not wanted or not items:
        return None
    best = max(items, key=lambda item: (len(wanted & _stems(item.text, language)), item.level))
    found = len(wanted & _stems(best.text, language))
    around = len(wanted & _stems(turn.response[: items[0].start][:_READ_CHARACTERS], language))
    return best if found and found >= around else None


def _stems(text: str, language: Language) -> Words:
    return frozenset(stem(word) for word in content_words(read(text), language))

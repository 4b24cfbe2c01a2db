"""Items called by what they say instead of by their place: "quello sui farmaci", "the heat pump one".

In go words and the past turns; out come the items of the newest list that hold them. One item is an answer, several
are an ambiguity, none leaves the question to the other rules.
"""

from collections.abc import Sequence

from ricordo.followups.binding import LISTS_AT_HAND, Choice, items_of
from ricordo.followups.focus import PastTurn
from ricordo.followups.items import lists_of
from ricordo.followups.language import Language
from ricordo.followups.line import read, stems
from ricordo.followups.phrases import content_words
from ricordo.followups.standalone import headline


def named_choice(query: str, history: Sequence[PastTurn], language: Language) -> Choice | None:
    """The one item of the newest list that a question called by its whole name ("Con cosa abbino il Barolo?")."""
    said = stems(content_words(read(query), language))
    turn = _newest_list(history)
    for listed in lists_of(items_of(turn)) if turn is not None else ():
        names = [stems(content_words(read(headline(item.text)), language)) for item in listed]
        named = tuple(item for item, name in zip(listed, names, strict=True) if name and name <= said)
        if turn is not None and len(named) == 1 and len(listed) > 1:
            return Choice(turn, named, listed)
    return None


def described_items(content: str, history: Sequence[PastTurn], language: Language) -> Choice | None:
    """The items of the newest list that hold all the words of a description; None when no item does."""
    wanted = stems(content_words(read(content), language))
    turn = _newest_list(history)
    if turn is None or not wanted:
        return None
    for listed in lists_of(items_of(turn)):
        holding = tuple(i for i in listed if wanted <= stems(content_words(read(i.text), language)))
        if holding:
            return Choice(turn, holding, listed)
    return None


def _newest_list(history: Sequence[PastTurn]) -> PastTurn | None:
    return next((turn for turn in reversed(history[-LISTS_AT_HAND:]) if items_of(turn)), None)

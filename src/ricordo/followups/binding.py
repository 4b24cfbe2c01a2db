"""Which items of which list a place means.

The lists of the past answers are tried from the newest backwards; the first turn that has a list long enough decides,
and a noun ("the second exercise") prefers the lists that are about it. More than one list that fits equally well is
an ambiguity, not a guess.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ricordo.followups.focus import PastTurn
from ricordo.followups.items import Item, derive_items, lists_of
from ricordo.followups.language import Language, Words
from ricordo.followups.line import read, stem, stems
from ricordo.followups.reference import Pick

_HEAD_CHARACTERS = 60
_OPENING_CHARACTERS = 300
# A place names a list that is still before the user's eyes, not one of last week.
LISTS_AT_HAND = 12


@dataclass(frozen=True, slots=True)
class Choice:
    """Items of one list of one turn that a place may mean; `listed` is the whole list."""

    turn: PastTurn
    items: tuple[Item, ...]
    listed: tuple[Item, ...]


def items_of(turn: PastTurn) -> tuple[Item, ...]:
    """The items of a past answer, derived when the caller did not bring them."""
    return turn.items if turn.items is not None else derive_items(turn.response, turn.chunk_ids)


def with_items(turn: PastTurn) -> PastTurn:
    """The same turn with its items derived, so that they are derived once."""
    if turn.items is not None:
        return turn
    return PastTurn(turn.turn_number, turn.query, turn.response, turn.chunk_ids, items_of(turn))


def list_nouns(history: Sequence[PastTurn], language: Language) -> Words:
    """Stems of the nouns that the lists of the talk are about."""
    found: set[str] = set()
    for turn in history[-LISTS_AT_HAND:]:
        items = items_of(turn)
        if items:
            found |= _about(turn, items, language)
    return frozenset(found)


def list_labels(history: Sequence[PastTurn]) -> Words:
    """What the items of the newest lists are called: printed labels and places."""
    newest = next((turn for turn in reversed(history[-LISTS_AT_HAND:]) if len(items_of(turn)) > 1), None)
    items = items_of(newest) if newest is not None else ()
    return frozenset(name for item in items for name in (item.label, str(item.position)) if name)


def choices(pick: Pick, noun: str, history: Sequence[PastTurn], language: Language) -> tuple[Choice, ...]:
    """The choices that fit a place: none, one, or several when the place is ambiguous."""
    # A noun first looks for a list about it; only a noun that any list could bear falls back on the newest list.
    passes = (True, False) if noun in language.list_nouns else (bool(noun),)
    for about_noun in passes:
        for turn in reversed(history[-LISTS_AT_HAND:]):
            items = items_of(turn)
            if not items or (about_noun and stem(noun) not in _about(turn, items, language)):
                continue
            fitting = tuple(_fitting(turn, items, pick))
            if fitting:
                return _preferred(fitting, pick)
    return ()


def next_choice(choice: Choice, step: int) -> Choice | None:
    """The neighbour of the item last talked about, None beyond the ends of its list."""
    place = choice.listed.index(choice.items[-1]) + step
    if not 0 <= place < len(choice.listed):
        return None
    return Choice(choice.turn, (choice.listed[place],), choice.listed)


def _fitting(turn: PastTurn, items: Sequence[Item], pick: Pick) -> Iterator[Choice]:
    for listed in lists_of(items):
        chosen = _chosen(listed, pick)
        if chosen:
            yield Choice(turn, chosen, listed)


def _chosen(listed: Sequence[Item], pick: Pick) -> tuple[Item, ...]:
    if pick.every:
        return tuple(listed) if len(listed) >= 2 and pick.count in (0, len(listed)) else ()
    if pick.rest:
        known = {place - 1 if place > 0 else len(listed) + place for place in pick.positions}
        others = tuple(item for at, item in enumerate(listed) if at not in known)
        return others if known and len(others) < len(listed) and pick.count in (0, len(others)) else ()
    if pick.label:
        labelled = [item for item in listed if item.label == pick.label]
        if labelled:
            return (labelled[0],)
    places = [place - 1 if place > 0 else len(listed) + place for place in pick.positions]
    if not places or len(listed) < 2 or not all(0 <= place < len(listed) for place in places):
        return ()
    return tuple(listed[place] for place in places)


def _preferred(fitting: tuple[Choice, ...], pick: Pick) -> tuple[Choice, ...]:
    """A printed label first, then the outermost list; what is still equal stays ambiguous."""
    if len(fitting) == 1:
        return fitting
    if pick.label:
        labelled = tuple(choice for choice in fitting if choice.items[0].label == pick.label)
        fitting = labelled or fitting
    outermost = min(choice.listed[0].level for choice in fitting)
    return tuple(choice for choice in fitting if choice.listed[0].level == outermost)


def _about(turn: PastTurn, items: Sequence[Item], language: Language) -> Words:
    """Stems of what a list is about: its question, what stands before it, and how its items begin."""
    heads = " ".join(item.text[:_HEAD_CHARACTERS].split("\n", 1)[0] for item in items[:20])
    text = " ".join((turn.query[:_OPENING_CHARACTERS], turn.response[: items[0].start][:_OPENING_CHARACTERS], heads))
    return stems(word for word in read(text).words if language.is_content(word) or word in language.list_nouns)

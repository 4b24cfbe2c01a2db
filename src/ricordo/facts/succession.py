"""Which of two things was said first, also within one moment: an import by the day gives a whole day one time.

The facts about one thing go in, and what was newly said of it; all mentions of it come out, oldest first. A fact does
not keep the number of its turn: that is asked for where moments are shared. Facts outlive their turns, and forgotten
ones keep no source: what has no place of its own stays behind what it followed.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from ricordo.facts.candidate import When
from ricordo.facts.timeline import Mention
from ricordo.person import Fact

SaidAt = Callable[[str], When | None]


def nobody_knows(message_id: str) -> When | None:
    """When a message was said, for callers who cannot look it up."""
    return None


def in_order(facts: Sequence[Fact], new: Sequence[Mention], said_at: SaidAt) -> list[Mention]:
    """All that was said about one thing, oldest first; `new` comes in its own order."""
    known = [mention for fact in _as_they_followed(facts) for mention in _mentions(fact, said_at)]
    known.sort(key=lambda mention: mention.when.moment)
    sharing = Counter(mention.when.moment for mention in (*known, *new))
    placed: list[Mention] = []
    for mention in known:
        if sharing[mention.when.moment] > 1:
            mention = replace(mention, when=_place(mention, placed[-1] if placed else None, said_at))
        placed.append(mention)
    return sorted((*placed, *new), key=lambda mention: mention.when)


def _place(mention: Mention, before: Mention | None, said_at: SaidAt) -> When:
    """Where a mention stands in its moment; one whose turn is gone not before what it followed there."""
    when = mention.when
    found = said_at(mention.message_id) if mention.message_id else None
    if found and found.moment == when.moment:
        return found
    return max(when, before.when) if before and before.when.moment == when.moment else when


def _as_they_followed(facts: Sequence[Fact]) -> list[Fact]:
    """Facts as they superseded one another, also those of one moment, which lasted no time."""
    by_id = {fact.id: fact for fact in facts}

    def still_to_come(fact: Fact) -> int:
        steps, each = 0, fact
        while each.valid_to == each.valid_from and each.superseded_by in by_id and steps < len(by_id):
            steps, each = steps + 1, by_id[each.superseded_by]
        return steps

    def order(fact: Fact) -> tuple[datetime, int]:
        return fact.valid_from, -still_to_come(fact)

    return sorted(facts, key=order)


def _mentions(fact: Fact, said_at: SaidAt) -> list[Mention]:
    """Every time a fact was said. Of a single source, or of the first, the fact itself tells the moment."""
    if not fact.sources:
        return [Mention(When(fact.valid_from), "", fact, None)]
    found = [said_at(source.message_id) for source in fact.sources[1:]]
    moments = [fact.valid_from, *(when.moment if when else fact.valid_from for when in found)]
    return [
        Mention(When(max(moment, fact.valid_from), source.session_id), source.message_id, fact, None)
        for moment, source in zip(moments, fact.sources, strict=True)
    ]

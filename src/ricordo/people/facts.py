"""What is known: at a moment, most telling first; and forgetting one fact.

Facts go in; facts, or a change, come out. The same facts always come out in the same order.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from ricordo.errors import NotFoundError
from ricordo.people.dates import day_named
from ricordo.people.sameness import is_negative
from ricordo.records.people import Fact, FactChange, FactKind, KnownFacts

_GIVEN_UP = re.compile(r"non vuole più\b|no longer wants\b", re.IGNORECASE)
_FADES = timedelta(days=30)
# What a tutor must not get wrong first, then what they work on, then the rest.
_TIERS: dict[FactKind, int] = {
    "name": 0, "difficulty": 1, "goal": 1, "date": 2, "preference": 2, "other": 3, "relation": 3, "place": 3,
}  # fmt: skip


def known_at(facts: Iterable[Fact], moment: datetime) -> tuple[Fact, ...]:
    """What was known at that moment, in the order it began to be known."""
    return tuple(sorted((fact for fact in facts if fact.known_at(moment)), key=lambda fact: (fact.valid_from, fact.id)))


def key_facts(facts: Iterable[Fact], now: datetime) -> tuple[Fact, ...]:
    """What is known now, the most telling first: name, then difficulties and goals, then the rest.

    Of equals the recent and repeated come first. Days that are over and difficulties that were
    overcome tell nothing any more and are left out.
    """
    return tuple(by_weight(facts, now))


def by_weight(facts: Iterable[Fact], now: datetime) -> Iterator[Fact]:
    """The key facts one at a time: a profile takes the first few of many."""
    known = [fact for fact in facts if fact.known_at(now)]
    known.sort(key=lambda fact: (_TIERS[fact.kind], -_weight(fact, now), fact.id))
    return (fact for fact in known if not is_over(fact, now))


def is_over(fact: Fact, now: datetime) -> bool:
    """Whether a fact no longer matters: the exam is past, the difficulty overcome, the goal missed or given up.

    `now` is told in the user's time zone: the day of an exam is over when it is over for them.
    """
    if fact.kind == "difficulty":
        return is_negative(fact.kind, fact.text)
    if fact.kind == "goal" and _GIVEN_UP.match(fact.text):
        return True
    if fact.kind not in ("date", "goal") or fact.about == "date:birthday":
        return False
    day = day_named(fact.text)
    return day is not None and day < now.date()


def _weight(fact: Fact, now: datetime) -> float:
    age = max(now - fact.valid_from, timedelta(0))
    return math.log2(1 + len(fact.sources)) + float(0.5 ** (age / _FADES))


def forget(people: KnownFacts, fact_id: str) -> FactChange:
    """Forget one claim: no word of it stays, only the digest that keeps it from being learned again.

    The same claim from other times goes with it. What it had superseded does not become true again.
    """
    chosen = next((fact for fact in people.facts if fact.id == fact_id), None)
    if chosen is None:
        raise NotFoundError(
            f"there is no fact {fact_id!r} of this user for this agent; list the facts to see their ids"
        )
    gone = (fact for fact in people.facts if fact.digest == chosen.digest and not fact.forgotten)
    return FactChange(people.revision, tuple(map(_tombstone, gone)))


def _tombstone(fact: Fact) -> Fact:
    return replace(fact, text="", about="", sources=(), forgotten=True)

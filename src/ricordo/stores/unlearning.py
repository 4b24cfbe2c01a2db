"""What becomes of facts when what they came from goes, or never was: the decisions every store shares.

In: facts as they are stored, and a session that is forgotten, or a change that somebody wants written. Out: which
facts go, which are written instead. A fact goes with its last source; what it had superseded is true again, until the
next fact about the same thing, if there is one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ricordo.errors import ValidationError
from ricordo.person import Fact, FactChange
from ricordo.records import turn_id_of


@dataclass(frozen=True, slots=True)
class Unlearned:
    """Facts that go, and facts that stay with fewer sources or another successor."""

    gone: tuple[Fact, ...] = ()
    changed: tuple[Fact, ...] = ()

    @property
    def agents(self) -> tuple[str, ...]:
        """Whose facts are touched."""
        return tuple(sorted({fact.agent_id for fact in (*self.gone, *self.changed)}))


def without_session(facts: Iterable[Fact], session_id: str) -> Unlearned:
    """All facts of one owner, once nothing that was said in a session counts any more."""
    gone: dict[tuple[str, str], Fact] = {}
    staying: list[tuple[Fact, Fact]] = []
    for fact in facts:
        left = tuple(source for source in fact.sources if source.session_id != session_id)
        if fact.sources and not left:
            gone[fact.agent_id, fact.id] = fact
        else:
            staying.append((fact, fact if left == fact.sources else replace(fact, sources=left)))
    changed = [(before, _true_again(after, gone)) for before, after in staying]
    return Unlearned(tuple(gone.values()), tuple(after for before, after in changed if after is not before))


def _true_again(fact: Fact, gone: Mapping[tuple[str, str], Fact]) -> Fact:
    """The fact with the nearest successor that stays; true without end if none does."""
    after, seen = fact, set()
    while after.superseded_by and (after.agent_id, after.superseded_by) in gone and after.superseded_by not in seen:
        seen.add(after.superseded_by)
        lost = gone[after.agent_id, after.superseded_by]
        ends = lost.valid_to if lost.superseded_by else None
        after = replace(after, superseded_by=lost.superseded_by, valid_to=ends)
    if after.superseded_by in seen:  # facts that superseded each other: none of them is left
        after = replace(after, superseded_by=None, valid_to=None)
    return after


def checked(agent_id: str, change: FactChange) -> FactChange:
    """The change, if it may be written at all."""
    for fact in change.put:
        if fact.agent_id != agent_id:
            raise ValidationError("agent_id", f"fact {fact.id!r} is of agent {fact.agent_id!r}, not of {agent_id!r}")
        if fact.forgotten and (fact.text or any(source.quote for source in fact.sources)):
            raise ValidationError("text", f"fact {fact.id!r} is forgotten but has words; keep its digest alone")
    return change


def turns_named(change: FactChange) -> set[str]:
    """The turns that the sources of a change point into."""
    return {turn_id_of(source.message_id) for fact in change.put for source in fact.sources}


def still_founded(change: FactChange, stored: Iterable[Fact], turns_there: set[str]) -> tuple[Fact, ...]:
    """The facts to write, without sources that nobody had learned from before their turns went.

    Whoever looks for facts may be slower than whoever deletes: what was said in a deleted session is not learned
    a moment later. A fact that has lost all its sources so is left out; what is stored of it stays.
    """
    known = {source for fact in stored for source in fact.sources}
    written = []
    for fact in change.put:
        left = tuple(each for each in fact.sources if each in known or turn_id_of(each.message_id) in turns_there)
        if left or not fact.sources:
            written.append(fact if left == fact.sources else replace(fact, sources=left))
    return tuple(written)

"""Forgetting a fact: its words, and every summary that may tell it.

The messages it was said in stay in the history and are put away as by a quarantine, so that nothing derived later
quotes them. The summaries that cover them go, and are made anew by rules: a model's own words cannot be searched.
"""

from dataclasses import replace

from ricordo.engine.core import EVERY, Engine
from ricordo.errors import NotFoundError, StoreUnavailable
from ricordo.people.facts.learn import TRIES
from ricordo.people.session_end import sum_up
from ricordo.people.summaries.condense import condense_now
from ricordo.records.people import Fact, FactChange, KnownFacts, Source, Summary
from ricordo.records.turns import Owner, turn_id_of
from ricordo.safety.screen import screen_of


def forget_fact(engine: Engine, owner: Owner, agent_id: str, fact_id: str) -> None:
    """Forget one fact, so that no word of it stays, no summary tells it and it is not learned again."""
    dropped: list[Summary] = []
    written = False
    for _ in range(TRIES):
        people = engine.store.people.facts(owner, agent_id)
        change = forget(people, fact_id)
        gone = {fact.id for fact in change.put}
        # The sources go with the fact: what was made of them goes first, or whoever dies in between leaves it for good.
        sources = {source for fact in people.facts if fact.id in gone for source in fact.sources}
        dropped += _unsay(engine, owner, sources)
        if written := engine.store.people.put_facts(owner, agent_id, change):
            break
    _sum_up_again(engine, owner, dropped)
    if not written:
        raise StoreUnavailable(f"fact {fact_id!r} could not be forgotten: others keep writing; try again")


def _unsay(engine: Engine, owner: Owner, sources: set[Source]) -> list[Summary]:
    """Put the messages away and drop the summaries that cover them; those that went."""
    gone: dict[str, Summary] = {}
    for source in sources:
        screen_of(engine).put_away(engine, owner, source.message_id, source.session_id)
        turn = engine.store.turns.get(owner, turn_id_of(source.message_id))
        for summary in engine.store.people.summaries(owner, session_id=source.session_id, limit=EVERY):
            # Where the turn has expired, any of them may be of it.
            if turn is None or summary.first_turn <= turn.turn_number <= summary.last_turn:
                gone[summary.id] = summary
    if gone:
        engine.store.people.drop_summaries(owner, list(gone))
    return list(gone.values())


def _sum_up_again(engine: Engine, owner: Owner, dropped: list[Summary]) -> None:
    for session_id, kind in sorted({(each.session_id, each.kind) for each in dropped}):
        session = engine.store.sessions.get(owner, session_id)
        if session and kind == "session":
            sum_up(engine, owner, session)
        elif session:
            condense_now(engine, owner, session_id, None, whatever=True)


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

"""Forget a fact: erase its words and every summary that may contain it.

Its source messages stay in the history but are quarantined, so that nothing derived later quotes them. Summaries that
cover them are dropped and rebuilt without a model, because a model's paraphrase cannot be searched.
"""

from dataclasses import replace

from ricordo.engine.core import EVERY, Engine
from ricordo.errors import NotFoundError, StoreUnavailable
from ricordo.people.facts.learn import MAX_ATTEMPTS
from ricordo.people.session_end import write_session_summary
from ricordo.people.summaries.condense import condense_now
from ricordo.records.people import Fact, FactChange, KnownFacts, Source, Summary
from ricordo.records.turns import Owner, turn_id_of
from ricordo.safety.screen import screen_of


def forget_fact(engine: Engine, owner: Owner, agent_id: str, fact_id: str) -> None:
    """Forget one fact: erase it, drop the summaries that may contain it, and never learn it again."""
    dropped: list[Summary] = []
    written = False
    for _ in range(MAX_ATTEMPTS):
        people = engine.store.people.facts(owner, agent_id)
        change = forget_change(people, fact_id)
        gone = {fact.id for fact in change.put}
        # Summaries go first: after a crash in between, the fact still names its sources.
        sources = {source for fact in people.facts if fact.id in gone for source in fact.sources}
        dropped += _quarantine_sources(engine, owner, sources)
        if written := engine.store.people.put_facts(owner, agent_id, change):
            break
    _rebuild_summaries(engine, owner, dropped)
    if not written:
        raise StoreUnavailable(f"fact {fact_id!r} could not be forgotten because of concurrent writes; try again")


def _quarantine_sources(engine: Engine, owner: Owner, sources: set[Source]) -> list[Summary]:
    """Quarantine the source messages and drop the summaries that cover them; the dropped summaries."""
    gone: dict[str, Summary] = {}
    for source in sources:
        screen_of(engine).quarantine_source(engine, owner, source.message_id, source.session_id)
        turn = engine.store.turns.get(owner, turn_id_of(source.message_id))
        for summary in engine.store.people.summaries(owner, session_id=source.session_id, limit=EVERY):
            # If the turn has expired, any summary of the session may cover it.
            if turn is None or summary.first_turn <= turn.turn_number <= summary.last_turn:
                gone[summary.id] = summary
    if gone:
        engine.store.people.drop_summaries(owner, list(gone))
    return list(gone.values())


def _rebuild_summaries(engine: Engine, owner: Owner, dropped: list[Summary]) -> None:
    for session_id, kind in sorted({(each.session_id, each.kind) for each in dropped}):
        session = engine.store.sessions.get(owner, session_id)
        if session and kind == "session":
            write_session_summary(engine, owner, session)
        elif session:
            condense_now(engine, owner, session_id, None, force=True)


def forget_change(people: KnownFacts, fact_id: str) -> FactChange:
    """The change that erases a fact and keeps only its digest, so that it is not learned again.

    Facts with the same digest are erased too. A fact that it had superseded does not become current again.
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

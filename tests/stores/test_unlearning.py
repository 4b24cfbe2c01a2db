"""What becomes of facts when a session is forgotten: nothing of it stays, nothing else goes, nothing points nowhere."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from ricordo.records.derived import Fact, FactChange, Source
from ricordo.stores.write_rules import Unlearned, with_live_sources, without_session
from ricordo.testing.fakes import START, a_fact

hour = timedelta(hours=1)
names = st.sampled_from(["f1", "f2", "f3", "f4", "f5"])
places = st.lists(st.sampled_from(["lesson", "other"]), max_size=3)


@st.composite
def stored(draw: st.DrawFn) -> list[Fact]:
    """Facts of two agents, said in one session, in two, or in none, superseding each other in any way."""
    drawn = draw(st.lists(st.tuples(st.sampled_from(["tutor", "coach"]), names), unique=True, max_size=8))
    return [
        a_fact(
            name,
            agent_id=agent_id,
            sources=tuple(Source(f"t{n}:query", where, "said") for n, where in enumerate(draw(places))),
            superseded_by=draw(st.none() | names),
            valid_to=draw(st.none() | st.integers(0, 9).map(lambda n: START + n * hour)),
        )
        for agent_id, name in drawn
    ]


def after(facts: list[Fact], unlearned: Unlearned) -> dict[tuple[str, str], Fact]:
    """The facts that are left, by agent and id."""
    changed = {(fact.agent_id, fact.id): fact for fact in unlearned.changed}
    gone = {(fact.agent_id, fact.id) for fact in unlearned.gone}
    left = {(fact.agent_id, fact.id): fact for fact in facts}
    return {place: changed.get(place, fact) for place, fact in left.items() if place not in gone}


@given(facts=stored())
def test_nothing_of_the_session_stays_and_nothing_else_goes(facts: list[Fact]) -> None:
    """Exactly the facts that were said there and nowhere else go; the others lose those sources and no more."""
    left = after(facts, without_session(facts, "lesson"))
    for fact in facts:
        elsewhere = tuple(source for source in fact.sources if source.session_id == "other")
        assert ((fact.agent_id, fact.id) in left) == (not fact.sources or bool(elsewhere))
        if (fact.agent_id, fact.id) in left:
            now = left[fact.agent_id, fact.id]
            assert now.sources == elsewhere
            assert replace(now, sources=(), superseded_by=None, valid_to=None) == replace(
                fact, sources=(), superseded_by=None, valid_to=None
            )


@given(facts=stored())
def test_nobody_is_superseded_by_what_went(facts: list[Fact]) -> None:
    """A successor that went is replaced by its own, or by none; one that stays, or was never there, stays named."""
    unlearned = without_session(facts, "lesson")
    gone = {(fact.agent_id, fact.id) for fact in unlearned.gone}
    before = {(fact.agent_id, fact.id): fact for fact in facts}
    for place, fact in after(facts, unlearned).items():
        assert (fact.agent_id, fact.superseded_by) not in gone
        if (fact.agent_id, before[place].superseded_by) not in gone:
            assert (fact.superseded_by, fact.valid_to) == (before[place].superseded_by, before[place].valid_to)
        elif fact.superseded_by is None:
            assert fact.valid_to is None


@given(facts=stored())
def test_once_is_enough(facts: list[Fact]) -> None:
    """Forgetting a session again changes nothing, and only agents whose facts change are named."""
    unlearned = without_session(facts, "lesson")
    left = after(facts, unlearned)
    assert without_session(left.values(), "lesson") == Unlearned()
    for agent_id in {fact.agent_id for fact in facts} - set(unlearned.agents):
        mine = [fact for fact in facts if fact.agent_id == agent_id]
        assert [fact for fact in left.values() if fact.agent_id == agent_id] == mine


def test_what_was_true_before_is_true_again_until_the_next() -> None:
    """Rome, then Pisa, then Lucca: without Pisa, Rome was true until Lucca; without both, it still is."""
    said = {"Rome": "other", "Pisa": "lesson", "Lucca": "other"}
    ends = {"Rome": START + hour, "Pisa": START + 2 * hour, "Lucca": None}
    nexts = {"Rome": "Pisa", "Pisa": "Lucca", "Lucca": None}

    def told(**elsewhere: str) -> list[Fact]:
        return [
            a_fact(name, sources=(Source("t:query", where, "said"),), valid_to=ends[name], superseded_by=nexts[name])
            for name, where in (said | elsewhere).items()
        ]

    (rome,) = without_session(told(), "lesson").changed
    assert (rome.superseded_by, rome.valid_to) == ("Lucca", START + 2 * hour)
    (rome,) = without_session(told(Lucca="lesson"), "lesson").changed
    assert (rome.superseded_by, rome.valid_to) == (None, None)


@given(coming=stored(), known=stored(), there=st.sets(st.sampled_from(["t0", "t1", "t2"])))
def test_new_sources_need_a_turn_that_is_there(coming: list[Fact], known: list[Fact], there: set[str]) -> None:
    """What nobody had learned before its turn went is not learned; facts with nothing else are left out."""
    kept = with_live_sources(FactChange(0, tuple(coming)), known, there)
    learned = {source for fact in known for source in fact.sources}
    assert [replace(fact, sources=()) for fact in kept] == [
        replace(fact, sources=())
        for fact in coming
        if not fact.sources or any(each in learned or each.message_id[:2] in there for each in fact.sources)
    ]
    for fact in kept:
        assert all(each in learned or each.message_id[:2] in there for each in fact.sources)
    if there == {"t0", "t1", "t2"}:
        assert kept == tuple(coming)

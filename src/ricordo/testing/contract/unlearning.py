"""Forgetting what is known: what goes with a session and what outlives it, and what is left follows."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.person import Fact, FactChange
from ricordo.ports import Store
from ricordo.records import Owner, Turn
from ricordo.testing.clock import START
from ricordo.testing.contract.base import Contract, assert_sound, law
from ricordo.testing.contract.people import learn
from ricordo.testing.examples import a_fact, a_flag, a_source, a_summary, a_turn, an_owner

hour = timedelta(hours=1)

BY_WISH = {
    "clear": lambda store, owner: store.clear(owner, "lesson"),
    "delete_session": lambda store, owner: store.delete_session(owner, "lesson"),
    "forget_derived": lambda store, owner: store.forget_derived(owner, "lesson"),
}
BY_AGE: dict[str, Callable[[Store, Owner], object]] = {
    "idle": lambda store, owner: expire(store, owner, idle_before=START + hour),
    "aged": lambda store, owner: expire(store, owner, turns_before=START + hour),
}


def expire(store: Store, owner: Owner, turns_before: object = None, idle_before: object = None) -> None:
    """Let everything before a moment expire, in small batches."""
    while store.expire(owner, turns_before=turns_before, idle_before=idle_before, batch=1).more:  # type: ignore[arg-type]
        pass


def known_in_every_way(store: Store, owner: Owner) -> tuple[Turn, Turn]:
    """A turn in the lesson and a younger one elsewhere; facts of one, of the other, of both, with flags on all."""
    said = store.append(a_turn(owner, "I moved to Pisa"))
    store.append(a_turn(owner, "Go on"))
    other = store.append(a_turn(owner, "I lived in Rome", session_id="other", created_at=START + 2 * hour))
    learn(
        store,
        owner,
        a_fact("Rome", other, valid_to=START + hour, superseded_by="Pisa"),
        a_fact("Pisa", said, recorded_at=START + hour),
        a_fact("both", said, other, about="", recorded_at=START + 2 * hour),
        lesson=2,
        other=1,
    )
    learn(store, owner, a_fact("coached", said, agent_id="coach"), agent_id="coach")
    assert store.put_summary(owner, a_summary(last_turn=2, id="of the lesson"))
    assert store.put_summary(owner, a_summary("other", id="of the other"))
    for subject, subject_id in (
        ("message", a_source(said).message_id),
        ("summary", "of the lesson"),
        ("fact", "Pisa"),
        ("fact", "both"),
        ("fact", "never stored"),
    ):
        assert store.put_flag(owner, a_flag(subject_id, subject=subject, id=f"flag on {subject_id}"))
    assert store.put_flag(owner, a_flag("elsewhere", "other", id="flag elsewhere"))
    return said, other


class UnlearningContract(Contract):
    """forget_derived, and people after clear, delete_session, expire, erase; backup."""

    @pytest.mark.parametrize("how", BY_WISH)
    def test_by_wish_facts_go_with_their_last_source(self, store: Store, how: str) -> None:
        """What was said nowhere else is gone, what it had superseded is true again, other sources stay."""
        owner = an_owner()
        _, other = known_in_every_way(store, owner)
        before = store.people(owner, "tutor").revision
        BY_WISH[how](store, owner)
        people = store.people(owner, "tutor")
        assert people.facts == (
            a_fact("Rome", other),
            a_fact("both", other, about="", recorded_at=START + 2 * hour),
        )
        assert people.revision > before
        assert store.people(owner, "coach").facts == ()
        assert list(store.agents(owner)) == ["tutor"]
        assert [each.id for each in store.summaries(owner)] == ["of the other"]
        assert_sound(store, owner.tenant_id)

    def test_undoing_what_was_derived_counts_and_leaves_the_session(self, store: Store) -> None:
        """Summaries and facts are counted; turns, how far was learned, and flags on what was said stay."""
        owner = an_owner()
        said, _ = known_in_every_way(store, owner)
        assert store.forget_derived(owner, "lesson") == 3
        assert store.forget_derived(owner, "lesson") == 0
        assert store.learned_through(owner, "lesson") == 2
        assert store.turn(owner, said.id) is not None
        assert {flag.id for flag in store.flags(owner)} == {
            f"flag on {a_source(said).message_id}",
            "flag on both",
            "flag on never stored",
            "flag elsewhere",
        }

    @pytest.mark.parametrize("how", ["clear", "delete_session"])
    def test_flags_go_with_their_session_but_for_facts_that_stay(self, store: Store, how: str) -> None:
        """A fact that is left keeps its flag, or it would come out of quarantine by deleting a session."""
        owner = an_owner()
        known_in_every_way(store, owner)
        BY_WISH[how](store, owner)
        assert {flag.id for flag in store.flags(owner)} == {"flag on both", "flag elsewhere"}
        assert store.learned_through(owner, "lesson") == 0
        assert store.append(a_turn(owner)).turn_number == 1
        assert store.learned_through(owner, "lesson") == 0
        assert store.put_summary(owner, a_summary(id="of the lesson"))

    @pytest.mark.parametrize("how", BY_AGE)
    def test_facts_outlive_what_expires(self, store: Store, how: str) -> None:
        """Summaries and flags go with a session past its time; facts stay as they are, with the flags on them."""
        owner = an_owner()
        known_in_every_way(store, owner)
        before = {agent_id: store.people(owner, agent_id) for agent_id in ("tutor", "coach")}
        BY_AGE[how](store, owner)
        assert store.session(owner, "lesson") is None
        assert {agent_id: store.people(owner, agent_id) for agent_id in ("tutor", "coach")} == before
        assert [each.id for each in store.summaries(owner)] == ["of the other"]
        assert {flag.id for flag in store.flags(owner)} == {"flag on Pisa", "flag on both", "flag elsewhere"}
        assert_sound(store, owner.tenant_id)

    def test_who_has_facts_alone_is_still_somebody(self, store: Store) -> None:
        """When every session has expired the owner is listed, can learn, be told apart, and be forgotten."""
        owner = an_owner()
        known_in_every_way(store, owner)
        expire(store, owner, idle_before=START + 9 * hour)
        assert list(store.sessions(owner, limit=9)) == []
        assert list(store.owners(owner.tenant_id)) == [owner]
        stats = store.stats(owner.tenant_id)
        assert (stats.users, stats.sessions, stats.facts, stats.summaries, stats.flags) == (0, 0, 4, 0, 2)
        (rome, *_) = store.people(owner, "tutor").facts
        learn(store, owner, replace(rome, text="", sources=(), forgotten=True))
        assert store.people(owner, "tutor").facts[0].forgotten
        assert_sound(store, owner.tenant_id)
        assert store.forget_derived(owner, "lesson") == 2
        assert store.forget_derived(owner, "other") == 1
        assert [fact.id for fact in store.people(owner, "tutor").facts] == ["Rome"]
        assert store.erase(owner)["facts"] == 1
        assert list(store.owners(owner.tenant_id)) == []

    def test_whose_last_fact_goes_is_nobody(self, store: Store) -> None:
        """With the last fact of somebody without a session, the name goes too."""
        turn = store.append(a_turn(an_owner()))
        learn(store, turn.owner, a_fact("Rome", turn))
        expire(store, turn.owner, idle_before=START + hour)
        assert list(store.owners(turn.owner.tenant_id)) == [turn.owner]
        assert store.forget_derived(turn.owner, "lesson") == 1
        assert list(store.owners(turn.owner.tenant_id)) == []

    def test_deleted_turns_leave_what_was_derived(self, store: Store) -> None:
        """Single turns go as they would by age."""
        owner = an_owner()
        known_in_every_way(store, owner)
        before = store.people(owner, "tutor"), list(store.summaries(owner)), list(store.flags(owner))
        assert store.delete_turns(owner, "lesson", [1, 2]) == 2
        assert (store.people(owner, "tutor"), list(store.summaries(owner)), list(store.flags(owner))) == before
        assert_sound(store, owner.tenant_id)

    def test_a_learner_is_told_that_facts_went(self, store: Store) -> None:
        """A change made before a session was deleted is refused, if facts went with it."""
        owner = an_owner()
        _, other = known_in_every_way(store, owner)
        seen = store.people(owner, "tutor")
        store.delete_session(owner, "lesson")
        assert not store.put_facts(owner, "tutor", FactChange(seen.revision, (a_fact("new", other),)))

    @law
    @given(
        where=st.lists(st.sampled_from(["lesson", "other"]), min_size=1, max_size=6),
        links=st.lists(st.none() | st.integers(0, 5), min_size=6, max_size=6),
    )
    def test_whatever_superseded_whatever_nothing_points_at_what_is_gone(
        self, store: Store, where: list[str], links: list[int | None]
    ) -> None:
        """Facts of the deleted session go, the others stay; successors are found along the chain or cleared."""
        owner = an_owner()
        turns = {name: store.append(a_turn(owner, session_id=name)) for name in ("lesson", "other")}
        facts: list[Fact] = []
        for n, name in enumerate(where):
            link = links[n]
            after = f"f{link}" if link is not None and link < len(where) else None
            ends = START + n * hour if after else None
            facts.append(a_fact(f"f{n}", turns[name], superseded_by=after, valid_to=ends))
        learn(store, owner, *facts)
        store.delete_session(owner, "lesson")
        left = store.people(owner, "tutor").facts
        assert [fact.id for fact in left] == [fact.id for fact in facts if fact.sources[0].session_id == "other"]
        alive = {fact.id for fact in left}
        by_id = {fact.id: fact for fact in facts}
        for fact in left:
            assert fact.superseded_by in {None, *alive}
            assert (fact.superseded_by is None) == (fact.valid_to is None)
            before = by_id[fact.id]
            if before.superseded_by is None or before.superseded_by in alive:
                assert fact == before

    def test_erasing_counts_and_removes_what_is_known(self, store: Store) -> None:
        """Facts, summaries and flags are in the count; a neighbour with the same ids keeps theirs."""
        anna = an_owner()
        bruno = Owner(anna.tenant_id, "bruno")
        known_in_every_way(store, anna)
        known_in_every_way(store, bruno)
        spared = store.people(bruno, "tutor"), list(store.summaries(bruno)), list(store.flags(bruno))
        gone = store.erase(anna)
        assert (gone["facts"], gone["summaries"], gone["flags"]) == (4, 2, 6)
        assert list(store.agents(anna)) == []
        assert store.people(anna, "tutor").facts == ()
        assert list(store.summaries(anna)) == []
        assert list(store.flags(anna)) == []
        assert (store.people(bruno, "tutor"), list(store.summaries(bruno)), list(store.flags(bruno))) == spared
        assert_sound(store, anna.tenant_id)

    def test_a_backup_holds_what_is_known(self, store: Store, tmp_path: Path) -> None:
        """Also of somebody whose sessions have all expired; the copy goes on where the original stood."""
        from ricordo.stores.sqlite import SqliteStore

        anna = an_owner()
        bruno = Owner(anna.tenant_id, "bruno")
        _, other = known_in_every_way(store, anna)
        known_in_every_way(store, bruno)
        expire(store, bruno, idle_before=START + 9 * hour)
        store.backup(tmp_path / "backup.db")
        copy = SqliteStore(tmp_path / "backup.db")
        try:
            for owner in (anna, bruno):
                assert list(copy.agents(owner)) == list(store.agents(owner))
                for agent_id in store.agents(owner):
                    assert copy.people(owner, agent_id) == store.people(owner, agent_id)
                assert list(copy.summaries(owner)) == list(store.summaries(owner))
                assert list(copy.flags(owner)) == list(store.flags(owner))
            assert copy.learned_through(anna, "lesson") == 2
            learn(copy, anna, a_fact("new", other))
            assert_sound(copy, anna.tenant_id)
        finally:
            copy.close()

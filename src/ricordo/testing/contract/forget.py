"""Forgetting: clear, delete, expire and erase remove exactly what they name."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.records.derived import Fact, FactChange
from ricordo.records.turns import Owner, SessionChanges, Turn
from ricordo.stores.protocols import Store
from ricordo.testing.contract.base import Contract, assert_sound, backup_of, law
from ricordo.testing.contract.people import learn
from ricordo.testing.fakes import START, a_fact, a_flag, a_source, a_summary, a_turn, an_answer, an_owner

hour = timedelta(hours=1)


def expire_all(
    store: Store, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
) -> tuple[int, int]:
    """Batch after batch until nothing is left to do: sessions and turns gone."""
    sessions = turns = 0
    due = store.sessions.due(owner.tenant_id, turns_before=turns_before, idle_before=idle_before)
    for _ in range(1000):
        gone = store.sessions.expire(owner, turns_before=turns_before, idle_before=idle_before, batch=batch)
        sessions, turns = sessions + gone.sessions, turns + gone.turns
        if not gone.more:
            assert owner in due or not (sessions or turns), "what expires belongs to an owner that is due"
            return sessions, turns
    raise AssertionError("expire never came to an end")


class ForgetContract(Contract):
    """clear, delete_session, expire, erase."""

    def test_clearing_empties_a_session_and_keeps_it(self, store: Store) -> None:
        """How many turns went; the session stays with its fields; numbering starts again at 1."""
        owner = an_owner()
        turns = [store.turns.append(a_turn(owner, f"question {n}")) for n in range(3)]
        store.turns.append(a_turn(owner, session_id="other"))
        store.sessions.update(owner, "lesson", SessionChanges(title="kept"))
        assert store.sessions.clear(owner, "lesson") == 3
        assert store.sessions.clear(owner, "lesson") == 0
        info = store.sessions.get(owner, "lesson")
        assert info is not None
        assert (info.title, info.last_turn, info.turn_count) == ("kept", 0, 0)
        assert store.turns.get(owner, turns[0].id) is None
        assert store.turns.append(turns[0]).turn_number == 1
        assert len(store.turns.page(owner, "other")) == 1

    def test_deleting_removes_a_session_with_its_turns(self, store: Store) -> None:
        """How many turns went; the session is unknown; its id can be used anew; others stay."""
        owner = an_owner()
        for session_id in ("lesson", "lesson", "other"):
            store.turns.append(a_turn(owner, session_id=session_id))
        assert store.sessions.delete(owner, "lesson") == 2
        assert store.sessions.delete(owner, "lesson") is None
        assert store.sessions.get(owner, "lesson") is None
        assert [info.id for info in store.sessions.page(owner, limit=9)] == ["other"]
        assert store.turns.append(a_turn(owner)).turn_number == 1

    @law
    @given(
        sessions=st.lists(st.lists(st.integers(-4, 4), min_size=1, max_size=5), max_size=4),
        ttl=st.none() | st.integers(-3, 4),
        idle=st.none() | st.integers(-3, 4),
        batch=st.integers(1, 6),
    )
    def test_expiry_removes_exactly_what_is_past_its_time(
        self, store: Store, sessions: list[list[int]], ttl: int | None, idle: int | None, batch: int
    ) -> None:
        """Old turns, idle sessions and sessions left empty go, whatever the batch; nothing inside its time does."""
        owner, neighbour = an_owner(), an_owner("neighbour")
        for n, hours in enumerate(sessions):
            for each in hours:
                for person in (owner, neighbour):
                    store.turns.append(a_turn(person, f"{each}", session_id=f"s{n}", created_at=START + each * hour))
        left = {
            f"s{n}": kept
            for n, hours in enumerate(sessions)
            if (idle is None or max(hours) >= idle)
            and (kept := [(at, each) for at, each in enumerate(hours, start=1) if ttl is None or each >= ttl])
        }
        gone = expire_all(
            store,
            owner,
            turns_before=None if ttl is None else START + ttl * hour,
            idle_before=None if idle is None else START + idle * hour,
            batch=batch,
        )
        total = sum(map(len, sessions))
        assert gone == (len(sessions) - len(left), total - sum(map(len, left.values())))
        for n in range(len(sessions)):
            found = [(turn.turn_number, int(turn.query)) for turn in store.turns.page(owner, f"s{n}")]
            assert found == left.get(f"s{n}", [])
            info = store.sessions.get(owner, f"s{n}")
            assert (info.turn_count if info else None) == (len(left[f"s{n}"]) if f"s{n}" in left else None)
        assert store.stats(neighbour.tenant_id).turns == total

    def test_the_moment_itself_is_inside_its_time(self, store: Store) -> None:
        """A turn or session exactly at the bound stays; a microsecond earlier it goes."""
        owner = an_owner()
        store.turns.append(a_turn(owner, created_at=START))
        just = START + timedelta(microseconds=1)
        assert expire_all(store, owner, turns_before=START, idle_before=START, batch=9) == (0, 0)
        assert expire_all(store, owner, turns_before=just, idle_before=None, batch=9) == (1, 1)

    def test_numbers_go_on_after_expiry(self, store: Store) -> None:
        """A number that was given is not given again, even when the newest turn expired."""
        owner = an_owner()
        for hours in (5, 0, 1):
            store.turns.append(a_turn(owner, created_at=START + hours * hour))
        assert expire_all(store, owner, turns_before=START + 2 * hour, idle_before=None, batch=9) == (0, 2)
        assert store.turns.append(a_turn(owner)).turn_number == 4
        assert [turn.turn_number for turn in store.turns.page(owner, "lesson")] == [1, 4]

    def test_a_late_answer_keeps_a_session_alive(self, store: Store) -> None:
        """Idleness counts from the last thing said, not from the last question."""
        owner = an_owner()
        asked = store.turns.append(a_turn(owner, response=None))
        store.turns.answer(owner, asked.id, an_answer("late", START + 2 * hour), {}, None)
        assert expire_all(store, owner, turns_before=None, idle_before=START + hour, batch=9) == (0, 0)

    def test_an_idle_session_without_turns_goes(self, store: Store) -> None:
        """A cleared session is forgotten like any other when its time is over."""
        owner = an_owner()
        store.turns.append(a_turn(owner))
        store.sessions.clear(owner, "lesson")
        assert expire_all(store, owner, turns_before=START + hour, idle_before=None, batch=9) == (0, 0)
        assert expire_all(store, owner, turns_before=None, idle_before=START + hour, batch=9) == (1, 0)

    def test_one_batch_with_room_takes_everything(self, store: Store) -> None:
        """A batch that is large enough leaves nothing waiting and says so."""
        owner = an_owner()
        for _ in range(10):
            store.turns.append(a_turn(owner))
        gone = store.sessions.expire(owner, turns_before=None, idle_before=START + hour, batch=10_000)
        assert (gone.sessions, gone.turns, gone.more) == (1, 10, False)

    def test_erasing_leaves_nothing_of_the_owner(self, store: Store) -> None:
        """What went is counted; nothing of the owner is left; other owners are untouched."""
        anna, bruno = an_owner(), an_owner("bruno")
        turn = store.turns.append(a_turn(anna))
        store.turns.append(a_turn(anna, session_id="other", response=None))
        kept = store.turns.append(a_turn(bruno))
        gone = store.erase(anna)
        assert {what: number for what, number in gone.items() if number} == {"sessions": 2, "turns": 2}
        assert store.turns.get(anna, turn.id) is None
        assert list(store.sessions.page(anna, limit=9)) == []
        assert list(store.owners(anna.tenant_id)) == []
        assert store.turns.get(bruno, kept.id) == kept
        assert store.turns.append(turn).turn_number == 1
        assert all(note.strip() for note in store.erase_notes)


BY_WISH = {
    "clear": lambda store, owner: store.sessions.clear(owner, "lesson"),
    "delete_session": lambda store, owner: store.sessions.delete(owner, "lesson"),
    "forget_derived": lambda store, owner: store.people.forget_derived(owner, "lesson"),
}
BY_AGE: dict[str, Callable[[Store, Owner], object]] = {
    "idle": lambda store, owner: expire(store, owner, idle_before=START + hour),
    "aged": lambda store, owner: expire(store, owner, turns_before=START + hour),
}


def expire(store: Store, owner: Owner, turns_before: object = None, idle_before: object = None) -> None:
    """Let everything before a moment expire, in small batches."""
    while store.sessions.expire(owner, turns_before=turns_before, idle_before=idle_before, batch=1).more:  # type: ignore[arg-type]
        pass


def _known(store: Store, owner: Owner) -> tuple[object, ...]:
    return store.people.facts(owner, "tutor"), list(store.people.summaries(owner)), list(store.people.flags(owner))


def known_in_every_way(store: Store, owner: Owner) -> tuple[Turn, Turn]:
    """A turn in the lesson and a younger one elsewhere; facts of one, of the other, of both, with flags on all."""
    said = store.turns.append(a_turn(owner, "I moved to Pisa"))
    store.turns.append(a_turn(owner, "Go on"))
    other = store.turns.append(a_turn(owner, "I lived in Rome", session_id="other", created_at=START + 2 * hour))
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
    assert store.people.put_summary(owner, a_summary(last_turn=2, id="of the lesson"))
    assert store.people.put_summary(owner, a_summary("other", id="of the other"))
    for subject, subject_id in (
        ("message", a_source(said).message_id),
        ("summary", "of the lesson"),
        ("fact", "Pisa"),
        ("fact", "both"),
        ("fact", "never stored"),
    ):
        assert store.people.put_flag(owner, a_flag(subject_id, subject=subject, id=f"flag on {subject_id}"))
    assert store.people.put_flag(owner, a_flag("elsewhere", "other", id="flag elsewhere"))
    return said, other


class UnlearnContract(Contract):
    """forget_derived, and people after clear, delete_session, expire, erase; backup."""

    @pytest.mark.parametrize("how", BY_WISH)
    def test_by_wish_facts_go_with_their_last_source(self, store: Store, how: str) -> None:
        """What was said nowhere else is gone, what it had superseded is true again, other sources stay."""
        owner = an_owner()
        _, other = known_in_every_way(store, owner)
        before = store.people.facts(owner, "tutor").revision
        BY_WISH[how](store, owner)
        people = store.people.facts(owner, "tutor")
        assert people.facts == (
            a_fact("Rome", other),
            a_fact("both", other, about="", recorded_at=START + 2 * hour),
        )
        assert people.revision > before
        assert store.people.facts(owner, "coach").facts == ()
        assert list(store.people.agents(owner)) == ["tutor"]
        assert [each.id for each in store.people.summaries(owner)] == ["of the other"]
        assert_sound(store, owner.tenant_id)

    def test_undoing_what_was_derived_counts_and_leaves_the_session(self, store: Store) -> None:
        """Summaries and facts are counted; turns, how far was learned, and flags on what was said stay."""
        owner = an_owner()
        said, _ = known_in_every_way(store, owner)
        assert store.people.forget_derived(owner, "lesson") == 3
        assert store.people.forget_derived(owner, "lesson") == 0
        assert store.people.learned_through(owner, "lesson") == 2
        assert store.turns.get(owner, said.id) is not None
        assert {flag.id for flag in store.people.flags(owner)} == {
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
        assert {flag.id for flag in store.people.flags(owner)} == {"flag on both", "flag elsewhere"}
        assert store.people.learned_through(owner, "lesson") == 0
        assert store.turns.append(a_turn(owner)).turn_number == 1
        assert store.people.learned_through(owner, "lesson") == 0
        assert store.people.put_summary(owner, a_summary(id="of the lesson"))

    @pytest.mark.parametrize("how", BY_AGE)
    def test_facts_outlive_what_expires(self, store: Store, how: str) -> None:
        """Summaries and flags go with a session past its time; facts stay as they are, with the flags on them."""
        owner = an_owner()
        known_in_every_way(store, owner)
        before = {agent_id: store.people.facts(owner, agent_id) for agent_id in ("tutor", "coach")}
        BY_AGE[how](store, owner)
        assert store.sessions.get(owner, "lesson") is None
        assert {agent_id: store.people.facts(owner, agent_id) for agent_id in ("tutor", "coach")} == before
        assert [each.id for each in store.people.summaries(owner)] == ["of the other"]
        assert {flag.id for flag in store.people.flags(owner)} == {"flag on Pisa", "flag on both", "flag elsewhere"}
        assert_sound(store, owner.tenant_id)

    def test_an_owner_with_facts_alone_is_listed(self, store: Store) -> None:
        """When every session has expired the owner is listed, can learn, be told apart, and be forgotten."""
        owner = an_owner()
        known_in_every_way(store, owner)
        expire(store, owner, idle_before=START + 9 * hour)
        assert list(store.sessions.page(owner, limit=9)) == []
        assert list(store.owners(owner.tenant_id)) == [owner]
        stats = store.stats(owner.tenant_id)
        assert (stats.users, stats.sessions, stats.facts, stats.summaries, stats.flags) == (0, 0, 4, 0, 2)
        (rome, *_) = store.people.facts(owner, "tutor").facts
        learn(store, owner, replace(rome, text="", sources=(), forgotten=True))
        assert store.people.facts(owner, "tutor").facts[0].forgotten
        assert_sound(store, owner.tenant_id)
        assert store.people.forget_derived(owner, "lesson") == 2
        assert store.people.forget_derived(owner, "other") == 1
        assert [fact.id for fact in store.people.facts(owner, "tutor").facts] == ["Rome"]
        assert store.erase(owner)["facts"] == 1
        assert list(store.owners(owner.tenant_id)) == []

    def test_an_owner_whose_last_fact_goes_is_not_listed(self, store: Store) -> None:
        """With the last fact of an owner without a session, the name goes too."""
        turn = store.turns.append(a_turn(an_owner()))
        learn(store, turn.owner, a_fact("Rome", turn))
        expire(store, turn.owner, idle_before=START + hour)
        assert list(store.owners(turn.owner.tenant_id)) == [turn.owner]
        assert store.people.forget_derived(turn.owner, "lesson") == 1
        assert list(store.owners(turn.owner.tenant_id)) == []

    def test_deleted_turns_leave_what_was_derived(self, store: Store) -> None:
        """Single turns go as they would by age."""
        owner = an_owner()
        known_in_every_way(store, owner)
        before = _known(store, owner)
        assert store.turns.delete(owner, "lesson", [1, 2]) == 2
        assert _known(store, owner) == before
        assert_sound(store, owner.tenant_id)

    def test_a_learner_is_told_that_facts_went(self, store: Store) -> None:
        """A change made before a session was deleted is refused, if facts went with it."""
        owner = an_owner()
        _, other = known_in_every_way(store, owner)
        seen = store.people.facts(owner, "tutor")
        store.sessions.delete(owner, "lesson")
        assert not store.people.put_facts(owner, "tutor", FactChange(seen.revision, (a_fact("new", other),)))

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
        turns = {name: store.turns.append(a_turn(owner, session_id=name)) for name in ("lesson", "other")}
        facts: list[Fact] = []
        for n, name in enumerate(where):
            link = links[n]
            after = f"f{link}" if link is not None and link < len(where) else None
            ends = START + n * hour if after else None
            facts.append(a_fact(f"f{n}", turns[name], superseded_by=after, valid_to=ends))
        learn(store, owner, *facts)
        store.sessions.delete(owner, "lesson")
        left = store.people.facts(owner, "tutor").facts
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
        spared = _known(store, bruno)
        gone = store.erase(anna)
        assert (gone["facts"], gone["summaries"], gone["flags"]) == (4, 2, 6)
        assert list(store.people.agents(anna)) == []
        assert store.people.facts(anna, "tutor").facts == ()
        assert list(store.people.summaries(anna)) == []
        assert list(store.people.flags(anna)) == []
        assert _known(store, bruno) == spared
        assert_sound(store, anna.tenant_id)

    def test_a_backup_holds_what_is_known(self, store: Store, tmp_path: Path) -> None:
        """Also of an owner whose sessions have all expired; the copy goes on where the original stood."""
        anna = an_owner()
        bruno = Owner(anna.tenant_id, "bruno")
        _, other = known_in_every_way(store, anna)
        known_in_every_way(store, bruno)
        expire(store, bruno, idle_before=START + 9 * hour)
        with backup_of(store, tmp_path) as copy:
            for owner in (anna, bruno):
                assert list(copy.people.agents(owner)) == list(store.people.agents(owner))
                for agent_id in store.people.agents(owner):
                    assert copy.people.facts(owner, agent_id) == store.people.facts(owner, agent_id)
                assert list(copy.people.summaries(owner)) == list(store.people.summaries(owner))
                assert list(copy.people.flags(owner)) == list(store.people.flags(owner))
            assert copy.people.learned_through(anna, "lesson") == 2
            learn(copy, anna, a_fact("new", other))
            assert_sound(copy, anna.tenant_id)

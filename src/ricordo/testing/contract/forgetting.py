"""Forgetting: clear, delete, expire and erase remove exactly what they name."""

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ricordo.ports import Store
from ricordo.records import Owner, SessionChanges
from ricordo.testing.clock import START
from ricordo.testing.contract.base import Contract, law
from ricordo.testing.examples import a_turn, an_answer, an_owner

hour = timedelta(hours=1)


def expire_all(
    store: Store, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
) -> tuple[int, int]:
    """Batch after batch until nothing is left to do: sessions and turns gone."""
    sessions = turns = 0
    for _ in range(1000):
        gone = store.expire(owner, turns_before=turns_before, idle_before=idle_before, batch=batch)
        sessions, turns = sessions + gone.sessions, turns + gone.turns
        if not gone.more:
            return sessions, turns
    raise AssertionError("expire never came to an end")


class ForgettingContract(Contract):
    """clear, delete_session, expire, erase."""

    def test_clearing_empties_a_session_and_keeps_it(self, store: Store) -> None:
        """How many turns went; the session stays with its fields; numbering starts again at 1."""
        owner = an_owner()
        turns = [store.append(a_turn(owner, f"question {n}")) for n in range(3)]
        store.append(a_turn(owner, session_id="other"))
        store.update_session(owner, "lesson", SessionChanges(title="kept"))
        assert store.clear(owner, "lesson") == 3
        assert store.clear(owner, "lesson") == 0
        info = store.session(owner, "lesson")
        assert info is not None
        assert (info.title, info.last_turn, info.turn_count) == ("kept", 0, 0)
        assert store.turn(owner, turns[0].id) is None
        assert store.append(turns[0]).turn_number == 1
        assert len(store.turns(owner, "other")) == 1

    def test_deleting_removes_a_session_with_its_turns(self, store: Store) -> None:
        """How many turns went; the session is unknown; its id can be used anew; others stay."""
        owner = an_owner()
        for session_id in ("lesson", "lesson", "other"):
            store.append(a_turn(owner, session_id=session_id))
        assert store.delete_session(owner, "lesson") == 2
        assert store.delete_session(owner, "lesson") is None
        assert store.session(owner, "lesson") is None
        assert [info.id for info in store.sessions(owner, limit=9)] == ["other"]
        assert store.append(a_turn(owner)).turn_number == 1

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
                    store.append(a_turn(person, f"{each}", session_id=f"s{n}", created_at=START + each * hour))
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
            found = [(turn.turn_number, int(turn.query)) for turn in store.turns(owner, f"s{n}")]
            assert found == left.get(f"s{n}", [])
            info = store.session(owner, f"s{n}")
            assert (info.turn_count if info else None) == (len(left[f"s{n}"]) if f"s{n}" in left else None)
        assert store.stats(neighbour.tenant_id).turns == total

    def test_the_moment_itself_is_inside_its_time(self, store: Store) -> None:
        """A turn or session exactly at the bound stays; a microsecond earlier it goes."""
        owner = an_owner()
        store.append(a_turn(owner, created_at=START))
        just = START + timedelta(microseconds=1)
        assert expire_all(store, owner, turns_before=START, idle_before=START, batch=9) == (0, 0)
        assert expire_all(store, owner, turns_before=just, idle_before=None, batch=9) == (1, 1)

    def test_numbers_go_on_after_expiry(self, store: Store) -> None:
        """A number that was given is not given again, even when the newest turn expired."""
        owner = an_owner()
        for hours in (5, 0, 1):
            store.append(a_turn(owner, created_at=START + hours * hour))
        assert expire_all(store, owner, turns_before=START + 2 * hour, idle_before=None, batch=9) == (0, 2)
        assert store.append(a_turn(owner)).turn_number == 4
        assert [turn.turn_number for turn in store.turns(owner, "lesson")] == [1, 4]

    def test_a_late_answer_keeps_a_session_alive(self, store: Store) -> None:
        """Idleness counts from the last thing said, not from the last question."""
        owner = an_owner()
        asked = store.append(a_turn(owner, response=None))
        store.answer(owner, asked.id, an_answer("late", START + 2 * hour), {}, None)
        assert expire_all(store, owner, turns_before=None, idle_before=START + hour, batch=9) == (0, 0)

    def test_an_idle_session_without_turns_goes(self, store: Store) -> None:
        """A cleared session is forgotten like any other when its time is over."""
        owner = an_owner()
        store.append(a_turn(owner))
        store.clear(owner, "lesson")
        assert expire_all(store, owner, turns_before=START + hour, idle_before=None, batch=9) == (0, 0)
        assert expire_all(store, owner, turns_before=None, idle_before=START + hour, batch=9) == (1, 0)

    def test_one_batch_with_room_takes_everything(self, store: Store) -> None:
        """A batch that is large enough leaves nothing waiting and says so."""
        owner = an_owner()
        for _ in range(10):
            store.append(a_turn(owner))
        gone = store.expire(owner, turns_before=None, idle_before=START + hour, batch=10_000)
        assert (gone.sessions, gone.turns, gone.more) == (1, 10, False)

    def test_erasing_leaves_nothing_of_the_owner(self, store: Store) -> None:
        """What went is counted; the owner is as if they had never been; everybody else is untouched."""
        anna, bruno = an_owner(), an_owner("bruno")
        turn = store.append(a_turn(anna))
        store.append(a_turn(anna, session_id="other", response=None))
        kept = store.append(a_turn(bruno))
        gone = store.erase(anna)
        assert {what: number for what, number in gone.items() if number} == {"sessions": 2, "turns": 2}
        assert store.turn(anna, turn.id) is None
        assert list(store.sessions(anna, limit=9)) == []
        assert list(store.owners(anna.tenant_id)) == []
        assert store.turn(bruno, kept.id) == kept
        assert store.append(turn).turn_number == 1
        assert all(note.strip() for note in store.erase_notes)

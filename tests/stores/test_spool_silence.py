"""A database that falls silent without being gone: chats go on at once, and a call that is under way counts once."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spool_samples import HASTY, QUICK, Switched, spooled
from test_spool_machine import Outages

from ricordo.errors import ConflictError, StoreUnavailable
from ricordo.records.turns import SessionChanges
from ricordo.stores.memory import MemoryStore
from ricordo.stores.spool import SpooledStore
from ricordo.stores.spool.segments import Segments
from ricordo.testing.fakes import a_message, a_turn, an_answer, an_owner

ANNA = an_owner()
PATIENT = replace(HASTY, call=30.0)


@pytest.fixture
def database() -> Switched:
    """A database with a voice."""
    return Switched(MemoryStore())


@pytest.fixture
def store(database: Switched, tmp_path: Path) -> Iterator[SpooledStore]:
    """A spooled store with a session that is at hand."""
    store = spooled(lambda: database, tmp_path / "spool", PATIENT)
    store.turns.append(a_turn(ANNA, "first"))
    yield store
    database.up = True
    database.speak()
    store.close()


def queries(database: Switched) -> list[str]:
    """What the database has, in its order."""
    turns = database.store.turns.page(ANNA, "lesson")
    assert [turn.turn_number for turn in turns] == list(range(1, len(turns) + 1))
    return [turn.query for turn in turns]


@pytest.mark.parametrize("late", [False, True], ids=["not yet done", "done and not told"])
@pytest.mark.parametrize("ends", ["well", "badly"])
def test_a_write_under_way_is_acknowledged(store: SpooledStore, database: Switched, late: bool, ends: str) -> None:
    """It is on disk before its call has ended, what follows queues behind it, and however the call ends all is once."""
    database.hush(late=late)
    assert store.turns.append(a_turn(ANNA, "second", None, turn_id="t2")).turn_number == 2
    assert store.turns.answer(ANNA, "t2", an_answer("yes"), {}, None).response == "yes"
    assert store.turns.append(a_turn(ANNA, "third")).turn_number == 3
    assert store.sessions.update(ANNA, "lesson", SessionChanges(title="Fugues")) is not None
    assert [turn.query for turn in store.turns.page(ANNA, "lesson")] == ["first", "second", "third"]
    assert not store.health().spool.away
    assert store.health().spool.degraded
    assert store.health().spool.depth == 4
    assert store.sessions.notes(ANNA, "lesson")
    if ends == "badly":
        database.up = False
        database.speak()
        assert store._connection.wait_for_abandoned(10)
        database.up = True
    database.speak()
    assert store.settle(20)
    assert queries(database) == ["first", "second", "third"]
    assert [turn.response for turn in database.store.turns.page(ANNA, "lesson")][1] == "yes"
    assert store.health().spool.refused == 0


@pytest.mark.parametrize("late", [False, True])
def test_a_step_under_way_is_there_once(store: SpooledStore, database: Switched, late: bool) -> None:
    """A message without a name of its own is not doubled, though it is in the spool while its call goes on."""
    store.turns.append(a_turn(ANNA, "second", None))
    database.hush(late=late)
    said = a_message(ANNA, "tool", "42")
    store.turns.add_message(said)
    store.turns.add_message(a_message(ANNA, "assistant", "It is 42."))
    database.speak()
    assert store.settle(20)
    (turn,) = database.store.turns.page(ANNA, "lesson", last=1)
    assert [message.content for message in turn.messages] == ["second", "42", "It is 42."]


def test_one_call_that_is_slow_is_waited_for(database: Switched, tmp_path: Path) -> None:
    """While the database answers others, a call that takes long is no sign: nothing is spooled."""
    began, go = Event(), Event()

    class Slow(Switched):
        def through(self, name: str, call: Any) -> Any:
            call = super().through(name, call)

            def slow(turn: Any, **more: Any) -> Any:
                if turn.query == "slow":
                    began.set()
                    assert go.wait(30)
                return call(turn, **more)

            return slow if name == "turns.append" else call

    slow = Slow(database.store)
    store = spooled(lambda: slow, tmp_path / "spool", replace(PATIENT, fallback_after=0.2))
    store.turns.append(a_turn(ANNA, "first"))
    writer = Thread(target=lambda: store.turns.append(a_turn(ANNA, "slow")))
    writer.start()
    assert began.wait(10)
    asked = store._connection._silence.probed_at
    assert store._spool.pending.wait_for(lambda: False, 0.5) is False  # long enough for many questions
    assert store._connection._silence.probed_at > asked
    assert writer.is_alive()
    assert store.health().spool.depth == 0
    go.set()
    writer.join()
    assert queries(database) == ["first", "slow"]
    store.close()


def test_reads_are_answered_from_what_is_at_hand(store: SpooledStore, database: Switched) -> None:
    """Turns and fields that are at hand are read at once; what is not is waited for."""
    store.sessions.get(ANNA, "lesson")
    database.store.turns.append(a_turn(ANNA, "elsewhere", session_id="other"))
    (first,) = store.turns.page(ANNA, "lesson", last=5)
    database.hush()
    assert list(store.turns.page(ANNA, "lesson", last=5)) == [first]
    assert store.turns.get(ANNA, first.id) == first
    info = store.sessions.get(ANNA, "lesson")
    assert info is not None
    assert info.last_turn == 1
    assert store.health().spool.depth == 0
    found: list[Any] = []
    reader = Thread(target=lambda: found.extend(store.turns.page(ANNA, "other", last=5)))
    reader.start()
    reader.join(0.1)
    assert reader.is_alive()
    database.speak()
    reader.join()
    assert [turn.query for turn in found] == ["elsewhere"]


def test_a_number_that_is_counted_on_is_not_guessed(store: SpooledStore, database: Switched) -> None:
    """A write that counts on its number, or is the first that is seen of its session, waits for the database."""
    database.store.turns.append(a_turn(ANNA, "elsewhere", session_id="other"))
    database.hush()

    def in_a_hurry() -> Any:
        with store.without_waiting():
            return store.turns.append(a_turn(ANNA, "more", session_id="other"))

    writes: list[Callable[[], Any]] = [lambda: store.turns.append(a_turn(ANNA, "second"), expected=2), in_a_hurry]
    told: list[Any] = []
    writers = [Thread(target=lambda write=write: told.append(write())) for write in writes]  # type: ignore[misc]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(0.1)
        assert writer.is_alive()
    assert store.health().spool.depth == 0
    database.speak()
    for writer in writers:
        writer.join()
    assert [turn.turn_number for turn in told] == [2, 2]


def test_an_erasure_waits_for_what_is_under_way(store: SpooledStore, database: Switched) -> None:
    """A user is not erased while a call might bring something of them back; afterwards nothing is left."""
    patience = replace(PATIENT, drain=0.05)
    store._database.timeouts = patience
    database.hush()
    store.turns.append(a_turn(ANNA, "second"))
    with pytest.raises(StoreUnavailable, match="nothing was removed"):
        store.erase(ANNA)
    database.speak()
    assert store.settle(20)
    store.erase(ANNA)
    assert queries(database) == []


def test_without_room_the_call_is_waited_for(
    store: SpooledStore, database: Switched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the spool cannot take a write, or would refuse it, the database decides."""

    def full(*_: object) -> None:
        raise StoreUnavailable("no space left")

    monkeypatch.setattr(Segments, "append", full)
    database.hush()
    told: list[Any] = []
    writer = Thread(target=lambda: told.append(store.turns.append(a_turn(ANNA, "second"))))
    writer.start()
    writer.join(0.1)
    assert writer.is_alive()
    database.speak()
    writer.join()
    assert told[0].turn_number == 2
    assert store.health().spool.depth == 0


def test_other_words_under_the_same_id_are_refused(store: SpooledStore, database: Switched) -> None:
    """A conflict is told as one, also while nobody is answered."""
    store.turns.append(a_turn(ANNA, "second", turn_id="t2"))
    database.hush()
    told: list[Exception] = []

    def repeat() -> None:
        try:
            store.turns.append(a_turn(ANNA, "other words", turn_id="t2"))
        except ConflictError as error:
            told.append(error)

    writer = Thread(target=repeat)
    writer.start()
    writer.join(0.1)
    database.speak()
    writer.join()
    assert len(told) == 1
    assert queries(database) == ["first", "second"]
    assert store.health().spool.refused == 0


steps = st.tuples(
    st.sampled_from(["append", "ask", "answer", "message", "title"]),
    st.sampled_from(["", "hush", "hush late", "speak", "speak and fail"]),
    st.sampled_from(["user", "assistant", "tool"]),
)


@given(script=st.lists(steps, min_size=2, max_size=10))
@settings(max_examples=100, deadline=None)
def test_whatever_is_said_around_a_silence(script: list[tuple[str, str, str]]) -> None:
    """Every write is acknowledged with its right number, and the database has each once and in order in the end."""
    talk = Outages()
    talk.begin()  # type: ignore[call-arg]
    talk.append("s1", "alpha", is_open=False, receipt=False)
    for number, (do, happens, role) in enumerate(script):
        if happens.startswith("hush"):
            talk.database.hush(late=happens.endswith("late"))
        elif happens == "speak":
            talk.database.speak()
        elif happens and not talk.database.speaks.is_set():
            talk.database.up = False
            talk.database.speak()
            assert talk.store._connection.wait_for_abandoned(10)
            talk.restore()
            assert talk.store.settle(20)
        if do == "message":
            talk.add_message("s1", role, "beta")
        elif do == "title":
            talk.update("s1", f"title {number}")
        elif do == "answer":
            talk.answer(number, "yes")
        else:
            talk.append("s1", f"question {number}", is_open=do == "ask", receipt=False)
        talk.read("s1", 3)
    talk.teardown()


def test_what_is_known_is_told_again(tmp_path: Path) -> None:
    """Profile, summaries, flags and documents are as last told while the database is away, until they are forgotten."""
    database = Switched(MemoryStore())
    store = spooled(lambda: database, tmp_path / "spool", QUICK)
    asked: list[Callable[[], object]] = [
        lambda: store.people.facts(ANNA, "default"),
        lambda: store.people.summaries(ANNA, session_id="lesson", limit=1),
        lambda: store.people.flags(ANNA, state="quarantined"),
        lambda: store.documents.page(ANNA, limit=10),
        lambda: store.sessions.marks(ANNA),
    ]
    store.turns.append(a_turn(ANNA, "first"))
    before = [ask() for ask in asked]
    database.up = False
    assert [ask() for ask in asked] == before
    with pytest.raises(StoreUnavailable):
        store.people.facts(ANNA, "another")
    database.up = True
    assert store.settle(10)
    store.erase(ANNA)
    database.up = False
    for ask in asked:
        with pytest.raises(StoreUnavailable):
            ask()
    database.up = True
    store.close()

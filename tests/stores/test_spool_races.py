"""Calls that cross each other around the moment at which the database goes away: what was asked can be answered."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from spool_samples import QUICK, Switched, spooled

from ricordo.errors import ConflictError, StoreUnavailable
from ricordo.records.turns import SessionChanges
from ricordo.stores.memory import MemoryStore
from ricordo.stores.spool import SpooledStore
from ricordo.testing.fakes import a_turn, an_answer, an_owner

ANNA = an_owner()


class Crossing(Switched):
    """A database whose results can be held back on their way, and that can turn down single turns for a while."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.held: dict[str, tuple[Event, Event]] = {}
        self.not_yet: set[str] = set()

    def hold(self, name: str) -> tuple[Event, Event]:
        """Hold back the result of the next call of a method: an event says that it is done, another lets it go."""
        self.held[name] = Event(), Event()
        return self.held[name]

    def through(self, name: str, call: Any) -> Any:
        call = super().through(name, call)
        if name not in self.held and name != "turns.append":
            return call

        def crossing(*args: Any, **kwargs: Any) -> Any:
            if name == "turns.append" and args[0].id in self.not_yet:
                raise StoreUnavailable("not yet")
            result = call(*args, **kwargs)
            if name in self.held and getattr(args[0], "user_id", "") != "probe":  # not the monitor
                done, go = self.held.pop(name)
                done.set()
                assert go.wait(10)
            return result

        return crossing


@pytest.fixture
def database() -> Crossing:
    """A database that holds back what it is told to."""
    return Crossing()


@pytest.fixture
def store(database: Crossing, tmp_path: Path) -> Iterator[SpooledStore]:
    """A spooled store that waits for a call that is under way, however long it takes."""
    store = spooled(lambda: database, tmp_path / "spool", replace(QUICK, probe_after=20.0))
    yield store
    database.up = True
    database.not_yet.clear()
    store.close()


def crossed(database: Crossing, name: str, call: Callable[[], object], meanwhile: Callable[[], object]) -> None:
    """Do something between the moment a call is done and the moment its caller hears of it."""
    done, go = database.hold(name)
    caller = Thread(target=call)
    caller.start()
    assert done.wait(10)
    meanwhile()
    go.set()
    caller.join()


def answered_while_away(store: SpooledStore, database: Crossing, turn_id: str) -> None:
    """The answer of a turn is taken while the database is away, read at once, and stored in the end."""
    database.up = False
    assert store.turns.answer(ANNA, turn_id, an_answer("late"), {}, None).response == "late"
    shown = store.turns.get(ANNA, turn_id)
    assert shown is not None
    assert shown.response == "late"
    database.up = True
    database.not_yet.clear()
    assert store.settle(10)
    stored = database.store.turns.get(ANNA, turn_id)
    assert stored is not None
    assert stored.response == "late"
    assert store.health().spool.refused == 0


def test_a_write_that_passed_while_another_began_to_wait(store: SpooledStore, database: Crossing) -> None:
    """A turn that the database took while the next one already waited is read before it, and can be answered."""
    store.turns.append(a_turn(ANNA, "first"))

    def meanwhile() -> None:
        database.up = False
        assert store.turns.append(a_turn(ANNA, "third")).turn_number == 2

    crossed(database, "turns.append", lambda: store.turns.append(a_turn(ANNA, "second", None, turn_id="t2")), meanwhile)
    assert [turn.query for turn in store.turns.page(ANNA, "lesson")] == ["first", "second", "third"]
    answered_while_away(store, database, "t2")
    assert [turn.query for turn in database.store.turns.page(ANNA, "lesson")] == ["first", "second", "third"]


def test_a_change_that_passed_while_another_write_began_to_wait(store: SpooledStore, database: Crossing) -> None:
    """A title that the database took while a turn already waited is read at once."""
    store.turns.append(a_turn(ANNA, "first"))
    store.sessions.get(ANNA, "lesson")

    def meanwhile() -> None:
        database.up = False
        store.turns.append(a_turn(ANNA, "second"))

    titled = SessionChanges(title="Fugues")
    crossed(database, "sessions.update", lambda: store.sessions.update(ANNA, "lesson", titled), meanwhile)
    info = store.sessions.get(ANNA, "lesson")
    assert info is not None
    assert (info.title, info.last_turn, info.turn_count) == ("Fugues", 2, 2)


def test_results_that_overtake_each_other(store: SpooledStore, database: Crossing) -> None:
    """The earlier of two turns, heard of last, is at hand like the other, and nothing between them is missing."""
    crossed(
        database,
        "turns.append",
        lambda: store.turns.append(a_turn(ANNA, "first", None, turn_id="t1")),
        lambda: store.turns.append(a_turn(ANNA, "second")),
    )
    database.up = False
    assert [turn.query for turn in store.turns.page(ANNA, "lesson")] == ["first", "second"]
    answered_while_away(store, database, "t1")


@pytest.mark.parametrize("read", ["turns.page", "sessions.get"])
def test_a_read_that_was_overtaken_by_a_write(store: SpooledStore, database: Crossing, read: str) -> None:
    """What was read before a turn was written does not take the turn's place when it arrives after it."""
    calls: dict[str, Callable[[], object]] = {
        "turns.page": lambda: store.turns.page(ANNA, "lesson", last=3),
        "sessions.get": lambda: store.sessions.get(ANNA, "lesson"),
    }
    crossed(database, read, calls[read], lambda: store.turns.append(a_turn(ANNA, "first", None, turn_id="t1")))
    answered_while_away(store, database, "t1")


def test_a_read_that_was_overtaken_by_an_erasure(store: SpooledStore, database: Crossing) -> None:
    """What was read before a user was erased is not kept when it arrives afterwards."""
    store.turns.append(a_turn(ANNA, "a very private sentence"))
    crossed(database, "turns.page", lambda: store.turns.page(ANNA, "lesson", last=3), lambda: store.erase(ANNA))
    database.up = False
    with pytest.raises(StoreUnavailable):
        store.turns.page(ANNA, "lesson", last=3)


def test_a_short_read_after_a_question(store: SpooledStore, database: Crossing) -> None:
    """A question that is still open stays at hand though others write after it and only the newest turns are read."""
    store.turns.append(a_turn(ANNA, "open", None, turn_id="t1"))
    for n in range(40):
        store.turns.append(a_turn(ANNA, f"question {n}"))
    store.turns.page(ANNA, "lesson", last=3)
    answered_while_away(store, database, "t1")
    assert [turn.turn_number for turn in store.turns.page(ANNA, "lesson")] == list(range(1, 42))


def test_a_write_refused_in_the_middle_of_a_replay(store: SpooledStore, database: Crossing) -> None:
    """What was stored already is still there after a write of the same session could not be taken."""
    database.up = False
    store.turns.append(a_turn(ANNA, "first", None, turn_id="t1"))
    store.turns.append(a_turn(ANNA, "second", turn_id="t2"))
    database.not_yet.add("t2")
    database.up = True
    assert store._spool.pending.wait_for(lambda: store.health().spool.depth == 1, 10)
    with pytest.raises(ConflictError):
        store.turns.append(a_turn(ANNA, "other words", turn_id="t2"))
    assert [turn.query for turn in store.turns.page(ANNA, "lesson", last=5)] == ["first", "second"]
    answered_while_away(store, database, "t1")

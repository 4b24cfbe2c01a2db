"""A spool that has no room: what still reaches the database, and what returns with the database."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from spool_samples import Switched, spooled

from ricordo.errors import StoreUnavailable
from ricordo.records.turns import SessionChanges
from ricordo.stores.memory import MemoryStore
from ricordo.stores.spool import SpooledStore
from ricordo.stores.spool.segments import Segments
from ricordo.testing.fakes import a_message, a_turn, an_answer, an_owner


@pytest.fixture
def database() -> Switched:
    return Switched(MemoryStore())


@pytest.fixture
def store(database: Switched, tmp_path: Path) -> Iterator[SpooledStore]:
    store = spooled(lambda: database, tmp_path / "spool")
    yield store
    store.close()


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """From now on no record finds room."""

    def no_room(self: Segments) -> object:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Segments, "_writable", no_room)
        yield patch


def test_a_session_with_pending_writes_goes_past_a_full_spool(
    store: SpooledStore, database: Switched, request: pytest.FixtureRequest
) -> None:
    """Once the database is back, each write waits for those of its session and is stored after them, in order."""
    owner = an_owner()
    store.turns.append(a_turn(owner, "first"))
    database.up = False
    for n in range(20):
        store.turns.append(a_turn(owner, f"spooled {n}"))
        store.turns.append(a_turn(owner, f"other {n}", session_id=f"other {n}"))
    request.getfixturevalue("full_disk")
    with pytest.raises(StoreUnavailable, match="spool"):
        store.turns.append(a_turn(owner, "refused"))
    database.up = True
    store._spool.pending.wait_for(lambda: store._connection.breaker.is_closed, 20)
    assert store.turns.append(a_turn(owner, "past", response=None, turn_id="past")).turn_number == 22
    assert store.turns.answer(owner, "past", an_answer("an answer"), {}, None).response == "an answer"
    assert store.turns.add_message(a_message(owner, "user", "and more")).turn_number == 23
    assert store.sessions.update(owner, "lesson", SessionChanges(title="a title")) is not None
    assert [turn.query for turn in database.store.turns.page(owner, "lesson")] == [
        "first",
        *(f"spooled {n}" for n in range(20)),
        "past",
        "and more",
    ]


def test_a_full_spool_does_not_stop_a_chat_that_must_not_wait(
    store: SpooledStore, database: Switched, request: pytest.FixtureRequest
) -> None:
    """Also where a chat waits for nothing: an answer that is not stored would be lost."""
    owner = an_owner()
    database.up = False
    store.turns.append(a_turn(owner, "spooled"))
    request.getfixturevalue("full_disk")
    database.hush()
    database.up = True
    store._spool.pending.wait_for(lambda: store._connection.breaker.is_closed, 0.05)
    database.speak()
    store._spool.pending.wait_for(lambda: store._connection.breaker.is_closed, 20)
    with store.without_waiting():
        assert store.turns.append(a_turn(owner, "past")).turn_number == 2


def test_room_returns_while_others_wait(store: SpooledStore, database: Switched, tmp_path: Path) -> None:
    """Files are small: stored records leave the disk long before the last one is stored."""
    owner = an_owner()
    database.up = False
    for n in range(40):
        store.turns.append(a_turn(owner, "x" * 16_000, session_id=f"s{n}"))
    files = list((tmp_path / "spool").glob("*.spool"))
    assert len(files) >= 8
    assert max(path.stat().st_size for path in files) <= 128 * 1024

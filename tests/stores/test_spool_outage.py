"""What callers of a store with a spool see when its database goes away and comes back."""

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest
from spool_samples import Switched, spooled

from ricordo.errors import ConflictError, NotFoundError, SchemaError, StoreError, StoreUnavailable
from ricordo.records.service import StoredItem
from ricordo.records.turns import SessionChanges, StoredReceipt
from ricordo.stores.memory import MemoryStore
from ricordo.stores.spool import SpooledStore, spool
from ricordo.testing.contract.base import at_once
from ricordo.testing.fakes import START, a_document, a_key, a_message, a_turn, an_answer, an_owner, some_chunks

ANNA = an_owner()


@pytest.fixture
def database() -> Switched:
    """A database with a switch."""
    return Switched(MemoryStore())


@pytest.fixture
def store(database: Switched, tmp_path: Path) -> Iterator[SpooledStore]:
    """A spooled store before it."""
    store = spooled(lambda: database, tmp_path / "spool")
    yield store
    database.up = True
    store.close()


def left(folder: Path) -> list[str]:
    """The spool files of a directory."""
    return sorted(path.name for path in folder.glob("*.spool"))


def test_a_talk_goes_on_and_is_stored_later(store: SpooledStore, database: Switched, tmp_path: Path) -> None:
    """Numbers go on, everything is readable at once, and the database has all of it in order when it is back."""
    for n in (1, 2):
        store.turns.append(a_turn(ANNA, f"question {n}"))
    database.up = False
    assert store.turns.append(a_turn(ANNA, "question 3")).turn_number == 3
    asked = store.turns.append(a_turn(ANNA, "question 4", None), receipt=StoredReceipt("lesson", 0, "{}"))
    assert [turn.query for turn in store.turns.page(ANNA, "lesson")] == [f"question {n}" for n in (1, 2, 3, 4)]
    answered = store.turns.answer(ANNA, asked.id, an_answer("yes"), {"mood": 1}, None)
    assert (answered.turn_number, answered.response) == (4, "yes")
    assert store.turns.get(ANNA, asked.id) == answered
    assert store.sessions.update(ANNA, "lesson", SessionChanges(title="Fugues")) == store.sessions.get(ANNA, "lesson")
    assert [receipt.turn_number for receipt in store.turns.receipts(ANNA, "lesson", turn_number=4)] == [4]
    info = store.sessions.get(ANNA, "lesson")
    assert info is not None
    assert (info.title, info.last_turn, info.turn_count) == ("Fugues", 4, 4)
    assert store.health().spool.degraded
    assert (store.health().spool.depth, store.health().spool.refused) == (4, 0)
    assert store.health().spool.bytes > 0
    assert len(database.store.turns.page(ANNA, "lesson")) == 2
    database.up = True
    assert store.settle(10)
    assert [turn.query for turn in database.store.turns.page(ANNA, "lesson")] == [f"question {n}" for n in (1, 2, 3, 4)]
    assert database.store.turns.get(ANNA, asked.id) == answered
    assert not store.health().spool.degraded
    assert (store.health().spool.depth, store.health().spool.bytes, store.health().spool.since) == (0, 0, None)
    assert left(tmp_path / "spool") == []


def test_what_is_not_at_hand_is_said(store: SpooledStore, database: Switched) -> None:
    """A session that this process has not seen is numbered provisionally, with a note; the database decides."""
    for n in range(5):
        database.store.turns.append(a_turn(ANNA, f"before {n}"))
    assert store.sessions.notes(ANNA, "lesson") == ()
    database.up = False
    provisional = store.turns.append(a_turn(ANNA, "now"))
    assert provisional.turn_number == 1
    assert any("cannot be read now" in note for note in store.sessions.notes(ANNA, "lesson"))
    assert [turn.query for turn in store.turns.page(ANNA, "lesson", last=3)] == ["now"]
    with pytest.raises(StoreUnavailable):
        store.turns.page(ANNA, "lesson")  # all of it, which nobody here has
    database.up = True
    assert store.settle(10)
    stored = store.turns.get(ANNA, provisional.id)
    assert stored is not None
    assert stored.turn_number == 6
    assert store.sessions.notes(ANNA, "lesson") == ()


def test_a_long_session_goes_on_from_its_tail(store: SpooledStore, database: Switched) -> None:
    """Where only the last turns were seen, numbers and counts go on from the whole, and a note says what is missing."""
    for n in range(60):
        database.store.turns.append(a_turn(ANNA, f"question {n + 1}"))
    store.sessions.get(ANNA, "lesson")
    store.turns.page(ANNA, "lesson", last=3)
    database.up = False
    assert store.turns.append(a_turn(ANNA, "question 61")).turn_number == 61
    info = store.sessions.get(ANNA, "lesson")
    assert info is not None
    assert (info.last_turn, info.turn_count) == (61, 61)
    assert [turn.turn_number for turn in store.turns.page(ANNA, "lesson", last=10)] == [58, 59, 60, 61]
    assert any("only the last 3 of the earlier turns" in note for note in store.sessions.notes(ANNA, "lesson"))


def test_numbers_go_on_where_the_fields_alone_are_known(store: SpooledStore, database: Switched) -> None:
    """A session whose fields were read and whose turns were not counts on from its counter."""
    for n in range(4):
        database.store.turns.append(a_turn(ANNA, f"question {n + 1}"))
    store.sessions.get(ANNA, "lesson")
    database.up = False
    assert store.turns.append(a_turn(ANNA, "question 5")).turn_number == 5


def test_what_cannot_wait_says_so(store: SpooledStore, database: Switched) -> None:
    """Forgetting, listings, derived data and answers to unknown turns are StoreUnavailable as long as it lasts."""
    database.store.turns.append(a_turn(ANNA, "elsewhere", None, turn_id="unseen", session_id="other"))
    store.turns.append(a_turn(ANNA))
    database.up = False
    calls: list[Any] = [
        lambda: store.erase(ANNA),
        lambda: store.sessions.clear(ANNA, "lesson"),
        lambda: store.sessions.delete(ANNA, "lesson"),
        lambda: store.sessions.expire(ANNA, turns_before=None, idle_before=None, batch=10),
        lambda: store.sessions.page(ANNA, limit=3),
        lambda: store.stats(ANNA.tenant_id),
        lambda: store.topics.load(ANNA, "lesson"),
        lambda: store.sessions.marks(ANNA),
        lambda: store.turns.get(ANNA, "unseen"),
        lambda: store.sessions.get(ANNA, "other"),
        lambda: store.turns.answer(ANNA, "unseen", an_answer("yes"), {}, None),
        lambda: store.sessions.update(ANNA, "other", SessionChanges(title="x")),
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable):
            call()
    store.turns.append(a_turn(ANNA, "one more"))
    assert [info.id for info in store.sessions.cached(ANNA, limit=5)] == ["lesson"]
    assert store.health().spool.depth == 1


def test_conflicts_are_told_while_the_database_is_away(store: SpooledStore, database: Switched) -> None:
    """What can be seen to be wrong is refused at once, leaves no trace, and what follows is kept."""
    kept = store.turns.append(a_turn(ANNA, "first", turn_id="t1"))
    database.up = False
    waiting = store.turns.append(a_turn(ANNA, "second", turn_id="t2"))
    for turn_id in ("t1", "t2"):
        with pytest.raises(ConflictError):
            store.turns.append(a_turn(ANNA, "other words", turn_id=turn_id))
    with pytest.raises(ConflictError):
        store.turns.append(a_turn(ANNA, "third"), expected=7)
    assert store.turns.append(a_turn(ANNA, "third"), expected=3).turn_number == 3
    assert store.turns.append(a_turn(ANNA, "second", turn_id="t2"), expected=9) == waiting
    assert store.turns.append(a_turn(ANNA, "first", turn_id="t1")) == kept
    database.up = True
    assert store.settle(10)
    assert [turn.query for turn in database.store.turns.page(ANNA, "lesson")] == ["first", "second", "third"]
    with pytest.raises(NotFoundError):
        store.turns.answer(ANNA, "nobody asked", an_answer("yes"), {}, None)


def test_what_the_database_refuses_is_put_aside(
    store: SpooledStore, database: Switched, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A write that can never be stored blocks nothing: it is counted, logged without its words, and kept in a file."""
    database.up = False
    store.turns.append(a_turn(ANNA, "a very private sentence", turn_id="t1"))
    store.turns.append(a_turn(ANNA, "the next one"))
    database.store.turns.append(a_turn(ANNA, "other words under the same id", turn_id="t1", session_id="elsewhere"))
    with caplog.at_level(logging.DEBUG, "ricordo"):
        database.up = True
        assert store.settle(10)
    assert [turn.query for turn in database.store.turns.page(ANNA, "lesson")] == ["the next one"]
    assert store.health().spool.refused == 1
    assert "ConflictError" in store.health().spool.last_error
    (record,) = [json.loads(each) for each in store._spool.refused.records()]
    assert record["turn"]["question"]["content"] == "a very private sentence"
    assert "ConflictError" in record["cause"]
    refusal = next(each for each in caplog.records if "set aside" in each.message)
    told = vars(refusal)
    assert (told["operation"], told["tenant_id"], told["user_id"], told["session_id"]) == (
        "append",
        ANNA.tenant_id,
        "anna",
        "lesson",
    )
    assert "private" not in caplog.text
    store.close()
    again = spooled(lambda: database, tmp_path / "spool")
    assert again.health().spool.refused == 1
    again.close()


def test_changes_of_state_are_logged(store: SpooledStore, database: Switched, caplog: pytest.LogCaptureFixture) -> None:
    """Going away and coming back are one line each, with the cause and without a word of what was said."""
    with caplog.at_level(logging.INFO, "ricordo"):
        database.up = False
        store.turns.append(a_turn(ANNA, "a very private sentence"))
        database.up = True
        assert store.settle(10)
    lines = [record for record in caplog.records if vars(record).get("operation") == "spool"]
    assert [record.levelname for record in lines][:2] == ["WARNING", "INFO"]
    assert vars(lines[0])["cause"] == "switched off"
    told = next(vars(record) for record in caplog.records if vars(record).get("operation") == "append")
    assert (told["tenant_id"], told["user_id"], told["session_id"]) == (ANNA.tenant_id, "anna", "lesson")
    assert told["cause"] == "switched off"
    assert "private" not in caplog.text


def test_erasing_leaves_no_byte(store: SpooledStore, database: Switched, tmp_path: Path) -> None:
    """Spooled, refused and cached words of an erased user are gone from every file; those of others stay."""
    bruno = an_owner("bruno")
    store.turns.append(a_turn(ANNA, "seen before"))
    database.up = False
    store.turns.append(a_turn(ANNA, "a very private sentence"))
    store.turns.append(a_turn(bruno, "mine stays"))
    held = Event()
    with store._replay.sending:  # nothing is replayed yet
        store._spool.refused.add(store._spool.pending.of_owner(ANNA)[0].record, "for the test")
        held.set()
        found = b"".join(path.read_bytes() for path in (tmp_path / "spool").iterdir())
        assert found.count(b"private") == 2
        database.up = True
        while not store._connection.breaker.is_closed:
            pass
        gone = store._spool.forget(ANNA)
        found = b"".join(path.read_bytes() for path in (tmp_path / "spool").iterdir())
        assert gone == 2
        assert b"private" not in found
        assert b"mine stays" in found
    assert store.settle(10)
    assert store.erase(ANNA)["turns"] == 1
    assert list(database.store.turns.page(ANNA, "lesson")) == []
    assert [turn.query for turn in database.store.turns.page(bruno, "lesson")] == ["mine stays"]
    database.up = False
    with pytest.raises(StoreUnavailable):
        store.turns.page(ANNA, "lesson", last=3)


def test_an_erasure_reaches_the_spools_of_other_processes(database: Switched, tmp_path: Path) -> None:
    """What another process spooled before a user was erased is not brought back when it is replayed."""
    away = Switched(database.store)
    other = spooled(lambda: away, tmp_path / "spool")
    store = spooled(lambda: database, tmp_path / "spool")
    away.up = False
    other.turns.append(a_turn(ANNA, "a very private sentence"))
    store.erase(ANNA)
    away.up = True
    assert other.settle(10)
    assert list(database.store.turns.page(ANNA, "lesson")) == []
    assert other.turns.append(a_turn(ANNA, "said afterwards")).turn_number == 1
    for each in (store, other):
        each.close()


def test_two_stores_on_one_directory_leave_each_other_alone(database: Switched, tmp_path: Path) -> None:
    """A spool that is in use is not adopted; one that was left is."""
    database.up = False
    first = spooled(lambda: database, tmp_path / "spool")
    first.turns.append(a_turn(ANNA, "one"))
    second = spooled(lambda: database, tmp_path / "spool")
    assert second.health().spool.depth == 0
    second.turns.append(a_turn(ANNA, "two", session_id="other"))
    second.close()
    third = spooled(lambda: database, tmp_path / "spool")
    assert third.health().spool.depth == 1
    assert [turn.query for turn in third.turns.page(ANNA, "other", last=2)] == ["two"]
    database.up = True
    assert first.settle(10)
    assert third.settle(10)
    assert [len(database.store.turns.page(ANNA, name)) for name in ("lesson", "other")] == [1, 1]
    first.close()
    third.close()
    assert left(tmp_path / "spool") == []
    assert list((tmp_path / "spool").glob("*.lock")) == []


def test_what_another_process_leaves_is_adopted_later(
    database: Switched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that goes on looks for the spools of those that died meanwhile."""
    monkeypatch.setattr(spool, "ADOPT_INTERVAL", 0.02)
    store = spooled(lambda: database, tmp_path / "spool")
    away = Switched(database.store)
    other = spooled(lambda: away, tmp_path / "spool")
    away.up = False
    other.turns.append(a_turn(ANNA, "left behind"))
    other.close()
    while not database.store.turns.page(ANNA, "lesson"):
        sleep(0.01)
    assert store.settle(10)
    store.close()
    assert left(tmp_path / "spool") == []


def test_a_forked_child_is_told_to_open_its_own(store: SpooledStore, database: Switched) -> None:
    """Threads and files stay with the parent: the child is refused, and the parent's spool is as it was."""
    database.up = False
    store.turns.append(a_turn(ANNA, "one"))

    def in_child() -> None:
        for call in (lambda: store.turns.append(a_turn(ANNA)), lambda: store.turns.get(ANNA, "x")):
            with pytest.raises(StoreError, match="forked"):
                call()
        store.close()
        os._exit(7)

    child = get_context("fork").Process(target=in_child)
    child.start()
    child.join()
    assert child.exitcode == 7
    store.turns.append(a_turn(ANNA, "two"))
    database.up = True
    assert store.settle(10)
    assert [turn.query for turn in database.store.turns.page(ANNA, "lesson")] == ["one", "two"]


def test_a_program_starts_while_the_database_is_away(tmp_path: Path) -> None:
    """Opening does not need the database; a fault that time does not mend is told at once."""
    database = MemoryStore()
    up = Event()

    def open_store() -> MemoryStore:
        if not up.is_set():
            raise StoreUnavailable("not yet")
        return database

    store = spooled(open_store, tmp_path / "spool")
    assert store.turns.append(a_turn(ANNA)).turn_number == 1
    assert store.location == "a database that is away"
    up.set()
    assert store.settle(10)
    assert store.location == "memory:"
    assert len(database.turns.page(ANNA, "lesson")) == 1
    store.close()

    def newer() -> MemoryStore:
        raise SchemaError("the schema is newer")

    with pytest.raises(SchemaError):
        spooled(newer, tmp_path / "spool")


def test_a_full_disk_is_told_and_acknowledges_nothing(
    store: SpooledStore, database: Switched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that can go neither to the database nor to the disk is refused; when there is room, the talk goes on."""
    store.turns.append(a_turn(ANNA, "one"))
    database.up = False
    store.turns.append(a_turn(ANNA, "two"))

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(StoreUnavailable, match="No space left"):
            store.turns.append(a_turn(ANNA, "three"))
    assert [turn.query for turn in store.turns.page(ANNA, "lesson")] == ["one", "two"]
    assert store.turns.append(a_turn(ANNA, "four")).turn_number == 3
    database.up = True
    assert store.settle(10)
    assert [turn.query for turn in database.store.turns.page(ANNA, "lesson")] == ["one", "two", "four"]


def test_damage_in_a_spool_is_put_aside(database: Switched, tmp_path: Path) -> None:
    """A record whose bytes were changed on disk is kept beside and counted; those around it are stored."""
    database.up = False
    store = spooled(lambda: database, tmp_path / "spool")
    for word in ("one", "two", "three"):
        store.turns.append(a_turn(ANNA, word))
    store.close()
    (name,) = left(tmp_path / "spool")
    path = tmp_path / "spool" / name
    path.write_bytes(path.read_bytes().replace(b'"two"', b'"tvo"') + b"RSP1 and a torn tail")
    database.up = True
    store = spooled(lambda: database, tmp_path / "spool")
    assert store.settle(10)
    assert [turn.query for turn in database.store.turns.page(ANNA, "lesson")] == ["one", "three"]
    assert store.health().spool.refused == 1
    store.close()
    shutil.rmtree(tmp_path / "spool")


def test_writers_share_the_disk(store: SpooledStore, database: Switched) -> None:
    """Sixteen writers on as many sessions and on one: every turn is kept once, in its writer's order, without a gap."""
    database.up = False

    def write(writer: int) -> None:
        for n in range(8):
            store.turns.append(a_turn(ANNA, f"{writer}-{n}", session_id="all" if writer % 2 else f"s{writer}"))

    at_once([lambda writer=writer: write(writer) for writer in range(16)])  # type: ignore[misc]
    assert store.health().spool.depth == 128
    shown = [turn.query for turn in store.turns.page(ANNA, "all", last=100)]
    database.up = True
    assert store.settle(20)
    stored = database.store.turns.page(ANNA, "all")
    assert [turn.query for turn in stored] == shown
    assert [turn.turn_number for turn in stored] == list(range(1, 65))
    for writer in range(0, 16, 2):
        words = [turn.query for turn in database.store.turns.page(ANNA, f"s{writer}")]
        assert words == [f"{writer}-{n}" for n in range(8)]


def test_single_messages_wait_too(store: SpooledStore, database: Switched) -> None:
    """Messages find the places that they had when they were acknowledged."""
    store.turns.add_message(a_message(ANNA, "user", "What is a fugue?"))
    database.up = False
    store.turns.add_message(a_message(ANNA, "tool", "looked it up"))
    shown = [store.turns.add_message(a_message(ANNA, role, role)) for role in ("assistant", "assistant", "user")]  # type: ignore[arg-type]
    assert [turn.turn_number for turn in shown] == [1, 2, 3]
    database.up = True
    assert store.settle(10)
    said = [[message.content for message in turn.messages] for turn in database.store.turns.page(ANNA, "lesson")]
    assert said == [["What is a fugue?", "looked it up", "assistant"], ["assistant"], ["user"]]


def test_forgetting_waits_for_what_was_said_before(store: SpooledStore, database: Switched) -> None:
    """Clearing a session right after an outage clears what waited, too: it does not come back afterwards."""
    database.up = False
    store.turns.append(a_turn(ANNA))
    database.up = True
    while not store._connection.breaker.is_closed:
        pass
    assert store.sessions.clear(ANNA, "lesson") == 1
    assert list(database.store.turns.page(ANNA, "lesson")) == []


def test_a_closed_store_says_so(store: SpooledStore) -> None:
    """Closing is safe to repeat, and what comes afterwards is refused, not spooled."""
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.turns.append(a_turn(ANNA))


def test_parts_that_are_never_spooled_pass(tmp_path: Path) -> None:
    """Documents, keys, jobs and items are written to the database itself, and are away with it."""
    database = Switched(MemoryStore())
    store = spooled(lambda: database, tmp_path / "spool")
    put = StoredItem("", "k", b"green")
    calls: list[tuple[Callable[[], object], object]] = [
        (lambda: store.documents.put(ANNA, a_document(chunk_count=2), some_chunks()), True),
        (lambda: store.keys.put(a_key("acme")), None),
        (lambda: store.jobs.enqueue(ANNA, "facts", "", START), True),
        (lambda: store.items.write(ANNA, "c", START, lambda items: items.put(put)), None),
        (lambda: store.items.read(ANNA, "c", START, lambda items: items.get("", "k").body), b"green"),
    ]
    assert [call() for call, _ in calls] == [answer for _, answer in calls]
    assert len(database.store.jobs.page(ANNA)) == len(database.store.keys.page("acme")) == 1
    database.up = False
    for call, _ in calls:
        with pytest.raises(StoreUnavailable):
            call()
    store.close()

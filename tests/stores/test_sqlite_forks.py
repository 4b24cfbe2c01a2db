"""A process that forks with a store open: parent and children go on writing the same file, and nothing is lost."""

import multiprocessing
import os
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import ricordo
from ricordo.errors import StoreError
from ricordo.records.turns import Owner
from ricordo.stores.sqlite import SqliteStore, database
from ricordo.testing.fakes import a_block, a_turn, an_owner

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

CHILDREN, EACH = 8, 12


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


class Child:
    """A forked process that does one thing and tells what came of it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        read, write = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(read)
            try:
                outcome = work()
            except BaseException as error:
                outcome = f"{type(error).__name__}: {error}"
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(outcome, pipe)
            os._exit(0)
        os.close(write)
        self._pipe = os.fdopen(read, "rb")

    def outcome(self) -> Any:
        """What the work returned, or its error as text."""
        with self._pipe:
            found = pickle.load(self._pipe)
        assert os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1]) == 0
        return found


def write_some(store: SqliteStore, owner: Owner, count: int = EACH) -> list[int]:
    return [store.turns.append(a_turn(owner, f"from {os.getpid()}")).turn_number for _ in range(count)]


def open_and_write(path: str, owner: Owner, count: int = EACH) -> list[int]:
    store = SqliteStore(path)
    try:
        return write_some(store, owner, count)
    finally:
        store.close()


def open_memory_and_write(path: str, start: Any, numbers: Any) -> None:
    """What a worker of `multiprocessing` does: a memory of its own on the file that its parent has open."""
    start.wait()
    with ricordo.open(path, embedder="deterministic") as memory:
        session = memory.session("lesson", user_id="anna")
        numbers.put([session.add_turn(f"q {n}", f"from {os.getpid()}").turn_number for n in range(EACH)])


def test_forked_workers_and_their_parent_write_one_session(tmp_path: Path) -> None:
    """The parent keeps its memory open and goes on; eight workers open the same file: 1..N, nothing lost."""
    path = str(tmp_path / "memory.db")
    fork = multiprocessing.get_context("fork")
    start, numbers = fork.Event(), fork.Queue()
    with ricordo.open(path, embedder="deterministic") as memory:
        session = memory.session("lesson", user_id="anna")
        mine = [session.add_turn("q", "from the parent").turn_number]
        workers = []
        for _ in range(CHILDREN):
            workers.append(fork.Process(target=open_memory_and_write, args=(path, start, numbers)))
            workers[-1].start()
            mine.append(session.add_turn("q", "between two forks").turn_number)
        start.set()
        mine += [session.add_turn("q", "beside the workers").turn_number for _ in range(EACH)]
        theirs = [number for _ in workers for number in numbers.get(timeout=60)]
        for worker in workers:
            worker.join(60)
        assert [worker.exitcode for worker in workers] == [0] * CHILDREN
        total = CHILDREN * EACH + 1 + CHILDREN + EACH
        assert sorted(mine + theirs) == list(range(1, total + 1))
        assert [turn.turn_number for turn in session.history(limit=None)] == list(range(1, total + 1))
        assert memory.verify().ok


def test_a_store_that_was_open_goes_on_in_the_child(store: SqliteStore) -> None:
    """The inherited store reads and writes there; so does one opened anew; the parent sees all of it."""
    owner = an_owner()
    said = write_some(store, owner)

    def both() -> tuple[list[int], list[int], list[int]]:
        seen = [turn.turn_number for turn in store.turns.page(owner, "lesson")]
        return seen, write_some(store, owner), open_and_write(store.location, owner)

    seen, inherited, anew = Child(both).outcome()
    assert seen == said
    assert inherited + anew == list(range(EACH + 1, 3 * EACH + 1))
    assert write_some(store, owner, 1) == [3 * EACH + 1]
    assert len(store.turns.page(owner, "lesson")) == 3 * EACH + 1
    assert list(store.integrity()) == []


def test_no_connection_is_open_at_the_moment_of_the_fork(store: SqliteStore) -> None:
    """Neither the database nor its log nor the lock file comes along: what SQLite knew of the file is forgotten."""
    write_some(store, an_owner(), 1)
    store.stats("tenant")
    files = Path("/proc/self/fd")
    if not files.exists():
        pytest.skip("this system does not list open files")

    def inherited() -> list[str]:
        named = [os.readlink(each) for each in files.iterdir() if each.is_symlink()]
        return [name for name in named if name.startswith(store.location)]

    assert inherited()
    assert Child(inherited).outcome() == []


def test_forks_amid_reads_and_writes_lose_nothing(store: SqliteStore) -> None:
    """Threads read, write and archive all the time; every fork finds its moment, and every child writes its share."""
    owner, done = an_owner(), Event()
    write_some(store, owner, 4)
    kept: list[int] = []
    failures: list[BaseException] = []

    def busily(work: Callable[[], object]) -> Thread:
        def run() -> None:
            try:
                while not done.is_set():
                    work()
            except BaseException as error:
                failures.append(error)

        thread = Thread(target=run)
        thread.start()
        return thread

    def look() -> None:
        page = store.turns.page(owner, "lesson")
        assert [turn.turn_number for turn in page] == list(range(1, len(page) + 1))
        assert not [turn.damage for turn in page if turn.damage]

    def move() -> None:
        store.topics.rehydrate(owner, "lesson", [1, 2, 3, 4])
        store.topics.release(owner, "lesson", [1, 2, 3, 4])

    assert store.topics.archive(owner, "lesson", a_block(store.turns.page(owner, "lesson")))
    threads = [busily(work) for work in (look, look, move, lambda: kept.extend(write_some(store, owner, 1)))]
    try:
        children = [Child(lambda: open_and_write(store.location, owner, 3)) for _ in range(CHILDREN)]
        outcomes = [child.outcome() for child in children]
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert all(isinstance(outcome, list) for outcome in outcomes), outcomes
    numbers = [1, 2, 3, 4, *kept, *(number for outcome in outcomes for number in outcome)]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert len(store.turns.page(owner, "lesson")) == len(numbers)


@pytest.mark.parametrize("using", ["a read", "a write"])
def test_a_store_in_use_for_too_long_is_refused_in_the_child(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, using: str
) -> None:
    """Only then: the child is told why, for the inherited store and for a new one; the parent goes on unharmed."""
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    owner = an_owner()
    write_some(store, owner, 1)
    entered, leave = Event(), Event()

    def hold(_: sqlite3.Connection | None = None) -> None:
        entered.set()
        leave.wait()

    def read() -> None:
        reader = store._connections.reader()
        hold()
        store._connections.give_back(reader)

    thread = Thread(target=read if using == "a read" else lambda: store._connections.write(hold))
    thread.start()
    entered.wait()
    attempts: list[Callable[[], object]] = [
        lambda: store.turns.page(owner, "lesson"),
        lambda: store.turns.append(a_turn(owner)),
        lambda: SqliteStore(store.location),
    ]

    def refused() -> list[bool]:
        found = []
        for attempt in attempts:
            with pytest.raises(StoreError) as refusal:
                attempt()
            found.append("fork at a quiet moment" in str(refusal.value))
        return found

    child = Child(refused)
    leave.set()
    assert child.outcome() == [True, True, True]
    thread.join()
    assert write_some(store, owner, 1) == [2]
    assert Child(lambda: open_and_write(store.location, owner, 1)).outcome() == [3]


def test_a_fork_from_inside_a_read_is_refused_at_once(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever forks while copying does not wait for themselves: the child is refused, the copy becomes whole."""
    monkeypatch.setattr(database, "PATIENCE", 3600.0)
    owner = an_owner()
    write_some(store, owner, 3)
    outcomes = []

    def fork(_done: int, _total: int) -> None:
        outcomes.append(Child(lambda: open_and_write(store.location, owner)).outcome())

    store.backup(tmp_path / "copy.db", fork)
    assert "fork at a quiet moment" in outcomes[0]
    copy = SqliteStore(tmp_path / "copy.db")
    assert len(copy.turns.page(owner, "lesson")) == 3
    copy.close()
    assert write_some(store, owner, 1) == [4]


def test_a_closed_store_stays_closed_in_the_child(store: SqliteStore) -> None:
    """Forking opens nothing, and closing after a fork needs no file."""
    store.close()
    assert "is closed" in Child(lambda: store.turns.page(an_owner(), "lesson")).outcome()
    other = SqliteStore(store.location)
    assert Child(other.close).outcome() is None
    other.close()

"""One file under load and under stress: readers and writers side by side, shared commits, damage, locks."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from ricordo.errors import DamageError, ReceiptError, StoreError, StoreUnavailable
from ricordo.prompt.receipt import from_stored
from ricordo.records.service import Expired
from ricordo.records.turns import StoredReceipt, Turn
from ricordo.records.values import canonical
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.contract.base import engine
from ricordo.testing.fakes import START, a_turn, an_owner
from ricordo.turns.verify import verify


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db", wait=0.05)
    yield store
    store.close()


@pytest.fixture
def other(store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """Another program that has the file open."""
    connection = sqlite3.connect(store.location, isolation_level=None)
    yield connection
    connection.close()


def test_a_reader_is_not_blocked_by_a_writer(store: SqliteStore, other: sqlite3.Connection) -> None:
    """While somebody holds the write lock, what was committed can be read."""
    kept = store.turns.append(a_turn(an_owner()))
    other.execute("BEGIN IMMEDIATE")
    other.execute("UPDATE sessions SET title = 'half done'")
    assert list(store.turns.page(kept.owner, "lesson")) == [kept]
    info = store.sessions.get(kept.owner, "lesson")
    assert info is not None
    assert info.title is None


def test_a_writer_is_not_blocked_by_a_reader(store: SqliteStore, other: sqlite3.Connection) -> None:
    """While somebody reads, turns are written, and the reader keeps its view."""
    owner = an_owner()
    store.turns.append(a_turn(owner))
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM turns").fetchone() == (1,)
    assert store.turns.append(a_turn(owner)).turn_number == 2
    assert other.execute("SELECT count(*) FROM turns").fetchone() == (1,)


def test_a_locked_file_is_unavailable_and_works_later(store: SqliteStore, other: sqlite3.Connection) -> None:
    """A lock that is held for longer than the store waits is told apart from an error; nothing is half done."""
    owner = an_owner()
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable) as refusal:
        store.turns.append(a_turn(owner))
    assert isinstance(refusal.value.__cause__, sqlite3.OperationalError)
    assert store.location in str(refusal.value)
    other.execute("ROLLBACK")
    assert store.turns.append(a_turn(owner)).turn_number == 1


def test_writers_that_wait_share_one_commit_and_none_pays_for_another(store: SqliteStore) -> None:
    """Operations queued behind a commit go together in the next; a refused one among them is refused alone."""
    owner = an_owner()
    entered, leave = Event(), Event()

    def hold(_: sqlite3.Connection) -> None:
        entered.set()
        leave.wait()

    results: list[Turn | StoreError] = []

    def append(query: str) -> None:
        try:
            results.append(store.turns.append(a_turn(owner, query)))
        except StoreError as error:
            results.append(error)

    seen: list[str] = []
    store._connections._writer.set_trace_callback(seen.append)
    holder = Thread(target=store._connections.write, args=(hold,))
    holder.start()
    entered.wait()
    writers = [Thread(target=append, args=(query,)) for query in ("a", "b", " ", "c", "d")]
    for thread in writers:
        thread.start()
    while len(store._connections._group._waiting) < 5:
        pass
    leave.set()
    for thread in [holder, *writers]:
        thread.join()
    assert seen.count("COMMIT") == 2
    kept = [result for result in results if isinstance(result, Turn)]
    assert sorted(turn.query for turn in kept) == ["a", "b", "c", "d"]
    assert sorted(turn.turn_number for turn in kept) == [1, 2, 3, 4]
    assert len([result for result in results if isinstance(result, StoreError)]) == 1
    assert len(store.turns.page(owner, "lesson")) == 4


def test_commits_are_durable(store: SqliteStore) -> None:
    """The file is in WAL mode and every commit is flushed to disk before it returns."""
    writer = store._connections._writer
    assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert writer.execute("PRAGMA synchronous").fetchone() == (2,)
    assert writer.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_readers_cannot_write(store: SqliteStore) -> None:
    """A reading connection refuses to change anything."""
    reader = store._connections.reader()
    with pytest.raises(sqlite3.OperationalError):
        reader.execute("DELETE FROM turns")
    store._connections.give_back(reader)


def test_a_long_idle_session_goes_piece_by_piece(store: SqliteStore) -> None:
    """No batch removes more turns than asked for, so no writer waits for a whole session."""
    owner = an_owner()
    for _ in range(10):
        store.turns.append(a_turn(owner))
    later = START + timedelta(days=1)
    batches = [store.sessions.expire(owner, turns_before=None, idle_before=later, batch=4) for _ in range(3)]
    assert batches == [Expired(0, 4, more=True), Expired(0, 4, more=True), Expired(1, 2, more=False)]


def test_the_file_is_private(store: SqliteStore) -> None:
    """A new file can be read by its user alone."""
    assert stat.S_IMODE(os.stat(store.location).st_mode) == 0o600


def test_a_closed_store_says_so(store: SqliteStore) -> None:
    """Reading and writing after close name the file and the remedy."""
    owner = an_owner()
    store.close()
    for attempt in (
        lambda: store.turns.page(owner, "s"),
        lambda: store.turns.append(a_turn(owner)),
        lambda: store.sessions.clear(owner, "s"),
    ):
        with pytest.raises(StoreError, match="is closed; open it again"):
            attempt()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """The remedy is to make it."""
    with pytest.raises(StoreError, match="nowhere does not exist; make it first"):
        SqliteStore(tmp_path / "nowhere" / "memory.db")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    """A path that cannot be opened is a StoreError that names it."""
    with pytest.raises(StoreError, match=str(tmp_path)):
        SqliteStore(tmp_path)


def test_a_file_that_is_no_database_is_named_with_the_remedy(tmp_path: Path) -> None:
    """Garbage is refused on opening and left as it is."""
    path = tmp_path / "memory.db"
    path.write_bytes(b"this is not a database, only a text that is long enough" * 50)
    with pytest.raises(DamageError, match=r"memory\.db.*restore a backup"):
        SqliteStore(path)
    assert path.read_bytes().startswith(b"this is not a database")


def test_damage_to_a_page_is_found(tmp_path: Path) -> None:
    """Bytes overwritten in pages of turns show up in integrity."""
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    owner = an_owner()
    for n in range(200):
        store.turns.append(a_turn(owner, f"question {n} " * 20))
    store.close()
    content = bytearray(path.read_bytes())
    pages = len(content) // 4096
    for page in range(pages - 20, pages):  # the schema lies further in front
        content[page * 4096 : page * 4096 + 64] = b"\xa5" * 64
    path.write_bytes(content)
    damaged = SqliteStore(path)
    assert len(damaged.integrity()) > 0
    damaged.close()


def test_a_turn_that_cannot_be_read_back_is_damage(store: SqliteStore, other: sqlite3.Connection) -> None:
    """A row changed past the store raises with the place of the damage, never a bare error."""
    owner = an_owner()
    store.turns.append(a_turn(owner))
    other.execute("""UPDATE turns SET details = '{"steps": [1]}'""")
    with pytest.raises(DamageError, match="turn 1 of session 'lesson'"):
        store.turns.page(owner, "lesson")


def test_rows_that_belong_to_nothing_are_damage(store: SqliteStore, other: sqlite3.Connection) -> None:
    """A session removed past the store leaves turns that integrity reports."""
    store.turns.append(a_turn(an_owner()))
    other.execute("PRAGMA foreign_keys = OFF")
    other.execute("DELETE FROM sessions")
    assert any("sessions" in damage.problem for damage in store.integrity())


def test_rows_that_break_a_rule_of_their_table_are_damage(store: SqliteStore, other: sqlite3.Connection) -> None:
    """A row written past the constraints is reported with its table, and looking leaves the file writable."""
    owner = an_owner()
    store.turns.append(a_turn(owner))
    store.turns.append(a_turn(owner))
    other.execute("PRAGMA ignore_check_constraints = ON")
    other.execute("UPDATE turns SET query_tokens = -1")
    assert [damage.problem for damage in store.integrity()] == ["CHECK constraint failed in turns (2 times)"]
    assert store.turns.append(a_turn(owner)).turn_number == 3


@pytest.mark.parametrize("name", ["tenant_id", "user_id"])
def test_a_user_under_a_key_of_other_names_is_damage(store: SqliteStore, other: sqlite3.Connection, name: str) -> None:
    """A changed name hides all that a user has, so it is reported although no row is missing."""
    store.turns.append(a_turn(an_owner()))
    other.execute(f"UPDATE owners SET {name} = 'somebody else'")
    (damage,) = store.integrity()
    assert "'somebody else'" in damage.where
    assert "key of other names" in damage.problem


def test_a_backup_is_one_moment_while_writing_goes_on(store: SqliteStore, tmp_path: Path) -> None:
    """Turns written during the backup are not in it, and nothing is half copied."""
    owner = an_owner()
    for n in range(20):
        store.turns.append(a_turn(owner, f"question {n} " * 1000))
    store.backup(tmp_path / "copy.db", lambda _done, _total: store.turns.append(a_turn(owner)) and None)
    copy = SqliteStore(tmp_path / "copy.db")
    assert len(copy.turns.page(owner, "lesson")) == 20
    assert list(copy.integrity()) == []
    copy.close()
    assert len(store.turns.page(owner, "lesson")) > 20


def test_a_backup_that_fails_leaves_nothing(store: SqliteStore, tmp_path: Path) -> None:
    """An interrupted backup removes what it had copied."""

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    store.turns.append(a_turn(an_owner()))
    with pytest.raises(KeyboardInterrupt):
        store.backup(tmp_path / "copy.db", interrupt)
    assert sorted(file.name for file in tmp_path.iterdir() if "copy" in file.name) == []


def test_a_backup_into_a_missing_folder_names_it(store: SqliteStore, tmp_path: Path) -> None:
    """An error of the target is about the target, not about the store."""
    with pytest.raises(StoreError, match="nowhere does not exist"):
        store.backup(tmp_path / "nowhere" / "copy.db")


def test_a_damaged_receipt_is_named_and_the_others_are_read(store: SqliteStore, other: sqlite3.Connection) -> None:
    """Verify says which turn's receipt cannot be read; asking for it tells the same, and those beside it are whole."""
    owner = an_owner()
    for number in (1, 2, 3):
        body = canonical({"items": [], "question": f"question {number}", "recipe": {"messages": [], "prompt": []}})
        store.turns.append(a_turn(owner), receipt=StoredReceipt("lesson", number, body, {}))
    before = list(store.turns.receipts(owner, "lesson"))
    other.execute("UPDATE receipts SET body = substr(body, 1, length(body) - 1) WHERE turn_number = 2")
    after = list(store.turns.receipts(owner, "lesson"))
    assert [each.turn_number for each in after] == [3, 2, 1]
    assert (after[0], after[2]) == (before[0], before[2])
    with pytest.raises(ReceiptError, match="turn 2"):
        from_stored(after[1])
    found = verify(engine(store), owner.tenant_id, pause=0).damages
    assert len([each for each in found if "turn 2" in each.where and "receipt" in each.problem]) == 1


def moved(path: Path) -> None:
    """Renamed, with the files beside it."""
    for each in path.parent.glob(f"{path.name}*"):
        each.rename(each.with_name(f"elsewhere-{each.name}"))


def put_back(path: Path) -> None:
    """Under the old name again, with the files beside it."""
    for each in path.parent.glob("elsewhere-*"):
        each.rename(each.with_name(each.name.removeprefix("elsewhere-")))


def replaced(path: Path) -> None:
    """A backup is put in its place, as a restore does that forgot to stop the program."""
    SqliteStore(path.with_name("backup.db")).close()
    path.with_name("backup.db").rename(path)


GONE = {
    "moved": (moved, "moved or deleted"),
    "deleted": (Path.unlink, "moved or deleted"),
    "replaced": (replaced, "replaced"),
}


@pytest.mark.parametrize("how", GONE)
def test_a_file_that_is_another_one_is_not_written_to(store: SqliteStore, tmp_path: Path, how: str) -> None:
    """The next write says so, with the remedy, instead of vanishing; closing still works."""
    change, word = GONE[how]
    owner = an_owner()
    store.turns.append(a_turn(owner))
    change(tmp_path / "memory.db")
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=word):
            store.turns.append(a_turn(owner))
    with pytest.raises(StoreUnavailable, match=word):
        store.erase(owner)


def test_a_file_that_is_put_back_is_written_to_again(store: SqliteStore, tmp_path: Path) -> None:
    """Nothing was lost, and nothing has to be restarted."""
    owner = an_owner()
    store.turns.append(a_turn(owner))
    moved(tmp_path / "memory.db")
    with pytest.raises(StoreUnavailable):
        store.turns.append(a_turn(owner))
    put_back(tmp_path / "memory.db")
    assert store.turns.append(a_turn(owner)).turn_number == 2
    assert store.integrity() == []


def test_a_program_that_changes_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path relative to where the program was when it opened the store is still the same file."""
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("memory.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    kept = store.turns.append(a_turn(an_owner()))
    assert list(store.turns.page(kept.owner, "lesson")) == [kept]
    store.close()

"""Items in a database: older files keep theirs, tags have an index, and exclusive work is so for all processes."""

import os
import select
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import sleep

import pytest

import ricordo
from ricordo.records.service import StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.items import PART_END, SqlItems
from ricordo.stores.service_protocols import ItemTransaction
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import START, a_turn

ADA = Owner("default", "ada")

# As adapters of earlier versions made it, before there was a migration.
EARLIER = """
CREATE TABLE IF NOT EXISTS ricordo_items (
    owner       BLOB NOT NULL REFERENCES owners (owner) ON DELETE CASCADE,
    shelf       TEXT NOT NULL,
    place       TEXT NOT NULL,
    key         TEXT NOT NULL,
    tag         TEXT NOT NULL,
    body        BLOB NOT NULL,
    vector      BLOB,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    minutes     REAL,
    session_id  TEXT,
    turn_id     TEXT,
    PRIMARY KEY (owner, shelf, place, key),
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE,
    FOREIGN KEY (owner, turn_id) REFERENCES turns (owner, turn_id) ON DELETE CASCADE
) STRICT;
CREATE INDEX IF NOT EXISTS ricordo_items_by_tag ON ricordo_items (owner, shelf, tag, place, key) WHERE tag <> '';
INSERT INTO ricordo_items SELECT owner, 'c', '', 'k', '', x'00', NULL, 1, 1, NULL, NULL, 'lesson', NULL FROM owners;
"""


def test_items_of_an_earlier_version_are_kept(tmp_path: Path) -> None:
    """A table that an adapter made is taken over with its rows, and goes on as if the migration had made it."""
    path = tmp_path / "chat.db"
    with closing(SqliteStore(path)) as store:
        store.turns.append(a_turn(ADA))
    with closing(sqlite3.connect(path)) as plain:
        plain.executescript(EARLIER)
    with closing(SqliteStore(path)) as store:
        assert [item.key for _, item in store.items.page(ADA, START, limit=9)] == ["k"]
        store.items.write(ADA, "c", START, lambda items: items.put(StoredItem("", "new", b"")))
        assert [item.key for _, item in store.items.page(ADA, START, limit=9)] == ["k", "new"]
        store.sessions.delete(ADA, "lesson")
        assert [item.key for _, item in store.items.page(ADA, START, limit=9)] == ["new"]
        assert list(store.integrity()) == []
    with closing(sqlite3.connect(path)) as plain:
        assert (4,) in plain.execute("SELECT version FROM schema_migrations").fetchall()


def test_a_file_without_items_has_no_table_for_them(tmp_path: Path) -> None:
    """Looking for items makes no table; neither does erasing or copying."""
    with closing(SqliteStore(tmp_path / "chat.db")) as store:
        store.turns.append(a_turn(ADA))
        assert store.items.page(ADA, START, limit=9) == []
        assert [owner.user_id for owner in store.owners("default")] == ["ada"]
        assert store.erase(ADA)["items"] == 0
    with closing(sqlite3.connect(tmp_path / "chat.db")) as plain:
        assert plain.execute("SELECT 1 FROM sqlite_schema WHERE name = 'ricordo_items'").fetchall() == []


def test_a_tag_is_found_by_its_index(tmp_path: Path) -> None:
    """To find an item by its tag, the others at its place are not read."""
    place = f"events{PART_END}"
    with closing(SqliteStore(tmp_path / "chat.db")) as store:
        asked: list[str] = []

        def spy(items: ItemTransaction) -> list[StoredItem]:
            assert isinstance(items, SqlItems)
            execute = items._execute
            items._execute = lambda statement, values: asked.append(statement) or execute(statement, values)
            return items.find(place, tag="tag 7")

        for n in range(50):
            item = StoredItem(place, f"{n:03}", b"x", f"tag {n}")
            store.items.write(ADA, "s", START, lambda items, item=item: items.put(item))  # type: ignore[misc]
        assert [item.key for item in store.items.read(ADA, "s", START, spy)] == ["007"]
    with closing(sqlite3.connect(tmp_path / "chat.db")) as plain:
        (statement,) = asked
        names = dict.fromkeys(("owner", "collection", "prefix", "end", "tag", "now"), "")
        text = f"EXPLAIN QUERY PLAN {statement.format(items='ricordo_items')}"
        assert "tag=?" in str(plain.execute(text, names).fetchall())


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_exclusive_work_of_two_openings_does_not_overlap(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Work of two openings of one database never overlaps, from its first query on; a failure lets others in."""
    url = str(request.getfixturevalue("own_postgres_url") if kind == "postgres" else tmp_path / "chat.db")
    inside: list[int] = []

    def work(items: ItemTransaction) -> int:
        items.get("", "")
        inside.append(len(inside))
        sleep(0.002)
        assert inside.pop() == 0
        return 1

    def alone(memory: ricordo.Memory, work: Callable[[ItemTransaction], int]) -> int:
        return memory.store.items.exclusive(ADA, "x", START, work)

    with ricordo.open(url) as one, ricordo.open(url) as other, ThreadPoolExecutor(4) as threads:
        opened = [one, one, other, other] * 5
        assert sum(threads.map(lambda memory: alone(memory, work), opened)) == len(opened)
        with pytest.raises(ZeroDivisionError):
            alone(one, lambda items: 1 // 0)
        assert alone(other, work) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_waits_for_its_parent(tmp_path: Path) -> None:
    """After a fork, exclusive work of parent and child does not overlap, although the file was open before."""
    with closing(SqliteStore(tmp_path / "chat.db")) as store:
        exclusive = store.items.exclusive
        exclusive(ADA, "x", START, lambda _: None)
        ours, theirs = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.read(ours[0], 1)
                exclusive(ADA, "x", START, lambda _: os.write(theirs[1], b"c"))
            finally:
                os._exit(0)

        def work(_: ItemTransaction) -> list[object]:
            os.write(ours[1], b"p")
            return select.select([theirs[0]], [], [], 0.3)[0]

        assert exclusive(ADA, "x", START, work) == []
        assert os.read(theirs[0], 1) == b"c"
        os.waitpid(child, 0)
        for end in (*ours, *theirs):
            os.close(end)

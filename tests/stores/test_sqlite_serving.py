"""A file is small: little pages, a schema without remarks, and tables of a service only where there is one."""

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from ricordo.records.service import JobStats
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import START, a_document, a_key, a_turn, an_owner, some_chunks

OF_A_SERVICE = {"documents", "chunks", "api_keys", "jobs", "leases"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


def tables(store: SqliteStore) -> set[str]:
    connection = sqlite3.connect(store.location)
    found = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    connection.close()
    return found


def test_looking_for_what_a_service_keeps_makes_no_table(store: SqliteStore) -> None:
    """Before anything of it is written there is nothing to find, and nothing to erase or to count."""
    turn = store.turns.append(a_turn(an_owner()))
    owner, tenant_id = turn.owner, turn.owner.tenant_id
    assert (
        list(store.documents.page(owner))
        == list(store.documents.chunks(owner))
        == list(store.documents.chunks(owner, ["d"]))
        == []
    )
    assert (
        store.documents.get(owner, "d") is store.documents.chunk(owner, "c") is store.keys.by_digest("0" * 64) is None
    )
    assert list(store.keys.page(tenant_id)) == list(store.jobs.page(owner)) == []
    assert list(store.jobs.take("worker", START, timedelta(minutes=1))) == []
    assert store.jobs.stats(tenant_id, START) == JobStats(0, 0, 0)
    assert store.stats(tenant_id).documents == 0
    assert list(store.owners(tenant_id)) == [owner]
    gone = store.erase(owner)
    assert (gone["turns"], gone["documents"], gone["jobs"], gone["keys"]) == (1, 0, 0, 0)
    assert not tables(store) & OF_A_SERVICE


def test_the_first_write_makes_the_tables_for_everybody(store: SqliteStore) -> None:
    """A store that was open before finds what another one wrote, and both go on."""
    owner = an_owner()
    other = SqliteStore(Path(store.location))
    assert store.documents.get(owner, "handbook") is None
    document = a_document(chunk_count=1)
    assert other.documents.put(owner, document, some_chunks(count=1))
    assert tables(store) >= OF_A_SERVICE
    assert store.documents.get(owner, document.id) == document
    assert list(store.owners(owner.tenant_id)) == [owner]
    assert store.stats(owner.tenant_id).documents == 1
    key = a_key(owner.tenant_id)
    store.keys.put(key)
    assert other.keys.by_digest(key.digest) == key
    other.close()


def test_a_first_write_that_is_refused_makes_no_table(store: SqliteStore) -> None:
    """The tables come with the write that needs them, in one transaction."""

    def fail(_: sqlite3.Connection) -> None:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        store._service.write(fail)
    assert not tables(store) & OF_A_SERVICE
    assert store.jobs.lease("cleanup", "here", START, START)
    assert tables(store) >= OF_A_SERVICE


def test_a_file_with_larger_pages_goes_on_as_it_is(tmp_path: Path) -> None:
    """A new file has pages of two kilobytes; one that was made with others keeps them, also when it is rebuilt."""
    small = SqliteStore(tmp_path / "small.db")
    made = sqlite3.connect(tmp_path / "large.db")
    made.execute("PRAGMA page_size = 8192")
    made.execute("PRAGMA journal_mode = WAL")
    made.execute("VACUUM")
    made.close()
    large = SqliteStore(tmp_path / "large.db")
    for store, size in ((small, 2048), (large, 8192)):
        turn = store.turns.append(a_turn(an_owner()))
        store.erase(an_owner("bruno"))
        assert list(store.turns.page(turn.owner, "lesson")) == [turn]
        store.close()
        looked = sqlite3.connect(store.location)
        assert looked.execute("PRAGMA page_size").fetchone() == (size,)
        looked.close()


def test_the_schema_is_kept_without_remarks(store: SqliteStore) -> None:
    """SQLite keeps the text of every statement in the file: it is the statement alone."""
    connection = sqlite3.connect(store.location)
    kept = [text for (text,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
    connection.close()
    assert kept
    assert not [text for text in kept if "--" in text]

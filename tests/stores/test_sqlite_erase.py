"""Erasing a person leaves no byte of their words in the database, its log or its index files."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from ricordo.errors import StoreUnavailable
from ricordo.records.service import StoredChunk
from ricordo.records.turns import Message, Owner, StoredReceipt
from ricordo.stores.sqlite import SqliteStore
from ricordo.stores.sqlite.store import erase_rows
from ricordo.testing.contract.people import learn
from ricordo.testing.fakes import (
    START,
    a_document,
    a_fact,
    a_flag,
    a_key,
    a_message,
    a_summary,
    a_turn,
    an_answer,
    an_owner,
)

SECRET = "Zorzi-17-confidenza"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db", wait=0.05)
    yield store
    store.close()


def files_with_the_secret(folder: Path) -> list[str]:
    return [file.name for file in sorted(folder.iterdir()) if SECRET.encode() in file.read_bytes()]


def confide(store: SqliteStore, owner: Owner) -> None:
    """Say the secret in every way that ends on disk, move it about, and forget some of it before the end."""
    words = SECRET
    for n in range(60):
        words = f"{SECRET} {'x' * (n * 97 % 6000)}"  # short cells, long cells, overflow pages
        receipt = StoredReceipt("lesson", 0, f'{{"said": "{SECRET}", "uses": "d{n}"}}', {f"d{n}": words})
        store.turns.append(
            a_turn(owner, words, words, session_id=f"s{n % 5}", metadata={"said": SECRET}), receipt=receipt
        )
        store.turns.append(a_turn(Owner("tenant", "neighbour"), f"bystander {n} {'y' * (n * 41 % 3000)}"))
    asked = store.turns.append(a_turn(owner, words, None, session_id="open"))
    store.turns.add_message(a_message(owner, "tool", words, session_id="open", tool_call_id="c"))
    store.turns.answer(owner, asked.id, an_answer(words), {"mood": SECRET}, None)
    store.turns.append(a_turn(owner, turn_id=f"id {SECRET}", session_id=f"session {SECRET}", agent_id=SECRET))
    for n in range(12):
        said = store.turns.append(a_turn(owner, f"{words} {n}", session_id=f"s{n % 5}"))
        known = a_fact(f"{SECRET} {n}", said, text=f"{words} {n}", about=words, digest=SECRET, made_by=SECRET)
        learn(store, owner, replace(known, sources=()))
        learn(store, owner, known)
        assert store.people.put_summary(
            owner, a_summary(f"s{n % 5}", n // 5 + 1, text=f"{words} {n}", topics=(SECRET,))
        )
        assert store.people.put_flag(owner, a_flag(f"{SECRET}-{n}", f"s{n % 5}", rules=(SECRET,)))
    for n in range(12):
        passage = StoredChunk(f"{SECRET}#{n}", f"{SECRET} {n}", 0, words, SECRET, vector=SECRET.encode())
        document = a_document(f"{SECRET} {n}", 1, title=words, digest=SECRET, metadata={"said": SECRET})
        assert store.documents.put(owner, document, [passage])
        assert store.documents.set_vectors(owner, SECRET, {passage.id: words.encode()}) == 1
        store.keys.put(a_key(owner.tenant_id, f"{SECRET} {n}", user_id=owner.user_id, name=SECRET))
        assert store.jobs.enqueue(owner, f"work {n}", f"s{n % 5}", START)
    (job,) = store.jobs.take(SECRET, START, timedelta(1))
    assert store.jobs.fail(job, SECRET, START)
    assert store.documents.delete(owner, f"{SECRET} 3")
    store.sessions.clear(owner, "s1")
    store.sessions.delete(owner, "s2")
    store.sessions.expire(owner, turns_before=START, idle_before=None, batch=10)


def test_no_byte_remains_after_erasing(store: SqliteStore, tmp_path: Path) -> None:
    """Also of what was cleared, deleted, overwritten or moved before; the neighbour loses nothing."""
    owner = Owner("tenant", f"user {SECRET}")
    confide(store, owner)
    assert files_with_the_secret(tmp_path) == ["memory.db", "memory.db-wal"]
    before = store.turns.page(Owner("tenant", "neighbour"), "lesson")
    gone = store.erase(owner)
    assert gone["turns"] > 30
    assert files_with_the_secret(tmp_path) == []
    assert store.turns.page(Owner("tenant", "neighbour"), "lesson") == before
    assert list(store.integrity()) == []


def test_a_reader_in_the_way_is_named_and_erasing_again_finishes(store: SqliteStore, tmp_path: Path) -> None:
    """A long read keeps old pages alive: the data is gone, the bytes follow once the read has ended."""
    owner = an_owner()
    confide(store, owner)
    reader = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM turns").fetchall()
    with pytest.raises(StoreUnavailable, match="erase again"):
        store.erase(owner)
    assert list(store.sessions.page(owner, limit=1)) == []
    reader.close()
    assert not any(store.erase(owner).values())
    assert files_with_the_secret(tmp_path) == []


def test_an_erasure_that_was_cut_short_is_finished_on_opening(store: SqliteStore, tmp_path: Path) -> None:
    """Killed between deleting and overwriting, the next open overwrites."""
    owner = an_owner()
    confide(store, owner)
    store._connections.write(lambda writer: erase_rows(writer, owner))
    store.close()
    assert files_with_the_secret(tmp_path) == ["memory.db"]
    SqliteStore(tmp_path / "memory.db").close()
    assert files_with_the_secret(tmp_path) == []


def test_a_reader_in_the_way_does_not_keep_the_store_from_opening(store: SqliteStore, tmp_path: Path) -> None:
    """What is left of an erasure waits for the reader; the store works meanwhile, and the next open finishes."""
    owner = an_owner()
    confide(store, owner)
    reader = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM turns").fetchall()
    store._connections.write(lambda writer: erase_rows(writer, owner))
    store.close()
    meanwhile = SqliteStore(tmp_path / "memory.db", wait=0.05)
    assert meanwhile.turns.append(a_turn(owner)).turn_number == 1
    reader.close()
    meanwhile.close()
    SqliteStore(tmp_path / "memory.db").close()
    assert files_with_the_secret(tmp_path) == []


def test_a_backup_of_an_erased_store_is_clean_too(store: SqliteStore, tmp_path: Path) -> None:
    """A copy made afterwards holds no trace, and older copies are named as the operator's."""
    owner = an_owner()
    confide(store, owner)
    store.erase(owner)
    store.backup(tmp_path / "backup.db")
    assert files_with_the_secret(tmp_path) == []
    assert "backups" in store.erase_notes[0]


def test_steps_of_a_turn_are_erased_with_it(store: SqliteStore, tmp_path: Path) -> None:
    """Tool traffic lies in another column and goes all the same."""
    owner = an_owner()
    step = Message("", "tool", SECRET * 2000, START, tool_call_id="c")
    store.turns.append(replace(a_turn(owner), steps=(step,)))
    store.erase(owner)
    assert files_with_the_secret(tmp_path) == []

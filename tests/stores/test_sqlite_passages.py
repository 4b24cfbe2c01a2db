"""Texts of receipts: once for a user, gone with the last turn that needs them, and read from older files."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from tests.stores.test_archive_receipts import FORM_1

from ricordo.records.turns import Owner, StoredReceipt, passage_digest
from ricordo.records.values import canonical
from ricordo.stores.open import migrations_for
from ricordo.stores.sqlite import SqliteStore
from ricordo.stores.sqlite.database import migrate
from ricordo.stores.sqlite.turn_operations import keep_receipt
from ricordo.testing.contract.derived import kept_in_every_way
from ricordo.testing.fakes import START, a_turn, an_owner

LONG, OTHER = "A text that two sessions share. " * 8, "Beside it a text of one session. " * 8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is."""
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """A store on a new file."""
    with closing(SqliteStore(path)) as opened:
        yield opened


def naming(*texts: str) -> StoredReceipt:
    """A receipt that names these texts."""
    digests = [passage_digest(text) for text in texts]
    body = canonical({"recipe": [{"passage": digest} for digest in digests]})
    return StoredReceipt("", 0, body, dict(zip(digests, texts, strict=True)))


def texts(path: Path) -> list[tuple[str, int]]:
    """The texts in the file, with the number of sessions that need each."""
    with closing(sqlite3.connect(path)) as file:
        return sorted(file.execute("SELECT body, sessions FROM passages"))


def read(store: SqliteStore, owner: Owner, session_id: str) -> list[list[str]]:
    """The texts of every receipt of a session, newest first."""
    return [sorted(each.passages.values()) for each in store.turns.receipts(owner, session_id)]


def two_sessions(store: SqliteStore) -> Owner:
    """Both need the long text, and one of them the other, too."""
    owner = an_owner()
    store.turns.append(a_turn(owner, session_id="a"), receipt=naming(LONG, OTHER))
    store.turns.append(a_turn(owner, session_id="a"), receipt=naming(LONG))
    store.turns.append(a_turn(owner, session_id="b"), receipt=naming(LONG))
    return owner


def test_a_text_is_stored_once_for_a_user(store: SqliteStore, path: Path) -> None:
    """Sessions of a user share it; another user has a copy of their own."""
    owner = two_sessions(store)
    assert texts(path) == [(LONG, 2), (OTHER, 1)]
    assert read(store, owner, "a") == [[LONG], [LONG, OTHER]]
    store.turns.append(a_turn(Owner(owner.tenant_id, "bruno"), session_id="a"), receipt=naming(LONG))
    assert texts(path) == [(LONG, 1), (LONG, 2), (OTHER, 1)]
    assert list(store.integrity()) == []


@pytest.mark.parametrize("gone", ["deleted", "cleared", "expired"])
def test_one_of_two_sessions_goes_and_the_other_keeps_its_text(store: SqliteStore, path: Path, gone: str) -> None:
    """What only the first needed goes with it; with the second the last text goes."""
    owner = two_sessions(store)
    if gone == "expired":
        store.turns.append(a_turn(owner, session_id="b", created_at=START + timedelta(days=9)), receipt=naming(LONG))
        store.sessions.expire(owner, turns_before=None, idle_before=START + timedelta(days=1), batch=10)
    else:
        (store.sessions.delete if gone == "deleted" else store.sessions.clear)(owner, "a")
    assert texts(path) == [(LONG, 1)]
    assert read(store, owner, "b")[0] == [LONG]
    assert list(store.integrity()) == []
    store.sessions.delete(owner, "b")
    assert texts(path) == []


def test_turns_that_go_take_the_texts_that_no_later_turn_needs(store: SqliteStore, path: Path) -> None:
    """Deleting the first turn of a session leaves what its second turn and another session need."""
    owner = two_sessions(store)
    assert store.turns.delete(owner, "a", [1]) == 1
    assert texts(path) == [(LONG, 2)]
    assert store.turns.delete(owner, "a", [2]) == 1
    assert texts(path) == [(LONG, 1)]
    assert read(store, owner, "b") == [[LONG]]


def test_erasing_a_user_leaves_no_byte_of_a_shared_text(store: SqliteStore, path: Path) -> None:
    """Neither in the file nor beside it."""
    owner = two_sessions(store)
    assert store.erase(owner)["receipts"] == 3
    for file in path.parent.iterdir():
        assert LONG[:30].encode() not in file.read_bytes()


def test_a_number_is_not_mistaken_after_its_text_is_gone(store: SqliteStore, path: Path) -> None:
    """Numbers are used again; a receipt that is left never names another text by one."""
    owner = two_sessions(store)
    store.sessions.delete(owner, "a")
    store.turns.append(a_turn(owner, session_id="c"), receipt=naming("Something else entirely. " * 9))
    assert read(store, owner, "b") == [[LONG]]
    assert list(store.integrity()) == []


def test_the_question_of_the_turn_is_not_stored_again(store: SqliteStore, path: Path) -> None:
    """A receipt finds a long question in its turn, also in the archive; with a damaged block it says that it cannot."""
    owner = kept_in_every_way(store, an_owner())[0].owner
    before = len(texts(path))
    asked = a_turn(owner, LONG, session_id="s", response=None)
    store.turns.append(asked, receipt=naming(LONG, OTHER))
    assert len(texts(path)) == before + 1
    assert read(store, owner, "s") == [sorted((LONG, OTHER))]
    archived = store.turns.page(owner, "lesson", last=6)[0]
    assert archived.archived
    own = naming(archived.query)
    store._connections.write(lambda writer: keep_receipt(writer, owner, own, "lesson", 1, archived.query))
    assert len(texts(path)) == before + 1
    assert store.turns.receipts(owner, "lesson", turn_number=1)[0].passages == own.passages
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE blocks SET body = zeroblob(30)")
        file.commit()
    assert store.turns.receipts(owner, "lesson", turn_number=1)[0].body == ""


def test_damage_is_named_and_blocks_no_deletion(store: SqliteStore, path: Path) -> None:
    """A wrong count is reported, a text that is lost makes its receipts unreadable; sessions can still be deleted."""
    owner = two_sessions(store)
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE passages SET sessions = 0 WHERE body = ?", (LONG,))
        file.execute("DELETE FROM passages WHERE body = ?", (OTHER,))
        file.commit()
    assert len(store.integrity()) == 1
    assert [each.body == "" for each in store.turns.receipts(owner, "a")] == [False, True]
    assert store.sessions.delete(owner, "a") == 2
    assert store.sessions.delete(owner, "b") == 1
    assert texts(path) == []


def test_an_older_file_keeps_its_receipts(path: Path) -> None:
    """Texts that were stored once per session are shared after opening; receipts in the older form are read."""
    store = SqliteStore(path)
    owner = an_owner()
    for session_id in ("a", "b"):
        store.turns.append(a_turn(owner, session_id=session_id))
    store.close()
    key = owner.key.bytes
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        for statement in (
            "DROP TABLE passages",
            "DROP TABLE passage_uses",
            "ALTER TABLE facts DROP COLUMN confidence",
            "DELETE FROM schema_migrations WHERE version >= 9",
            "CREATE TABLE passages (owner BLOB, session_id TEXT, digest TEXT, last_turn INTEGER, body TEXT)",
        ):
            file.execute(statement)
        for session_id in ("a", "b"):
            file.execute("INSERT INTO passages VALUES (?, ?, 'question', 1, ?)", (key, session_id, LONG))
            file.execute("INSERT INTO receipts VALUES (?, ?, 1, ?)", (key, session_id, bytes.fromhex(FORM_1)))
        migrate(file, migrations_for("sqlite"))
    with closing(SqliteStore(path)) as opened:
        assert texts(path) == [(LONG, 2)]
        assert read(opened, owner, "a") == read(opened, owner, "b") == [[LONG]]
        opened.sessions.delete(owner, "a")
        assert read(opened, owner, "b") == [[LONG]]
        assert list(opened.integrity()) == []

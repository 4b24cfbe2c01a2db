"""An erasure on one machine, while another machine keeps words of the same user in its spool."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from spool_samples import Switched, spooled

from ricordo.stores.memory import MemoryStore
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.protocols import Store
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import a_message, a_turn, an_answer, an_owner
from ricordo.testing.postgres import PostgresForTests

pytest_plugins = ["ricordo.testing.postgres"]

SECRET = "the password of the vault is swordfish"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """The database that both machines use."""
    kinds: dict[str, Callable[[], Store]] = {
        "memory": MemoryStore,
        "sqlite": lambda: SqliteStore(tmp_path / "shared.db"),
        "postgres": lambda: PostgresStore(request.getfixturevalue("postgres_server").database()),
    }
    store = kinds[request.param]()
    yield store
    store.close()


def held(directory: Path) -> bytes:
    """Every byte of a spool's files."""
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_erased_words_do_not_come_back_from_another_machine(database: Store, tmp_path: Path) -> None:
    """Words that wait in a spool are dropped there once the database is back, and no byte of them stays on disk."""
    owner, elsewhere = an_owner(), Switched(database)
    there = spooled(lambda: elsewhere, tmp_path / "there")
    here = spooled(lambda: Switched(database), tmp_path / "here")
    there.turns.append(a_turn(owner, "before the outage"))
    elsewhere.up = False
    there.turns.append(a_turn(owner, SECRET, response=None, turn_id="t2"))
    there.turns.answer(owner, "t2", an_answer(SECRET), {}, None)
    there.turns.add_message(a_message(owner, "user", SECRET))
    assert SECRET.encode() in held(tmp_path / "there")

    here.erase(owner)
    elsewhere.up = True
    assert there.settle(20)
    assert list(database.sessions.page(owner, limit=9)) == []
    assert SECRET.encode() not in held(tmp_path / "there")
    assert there.health().spool is not None
    assert there.health().spool.refused == 0  # type: ignore[union-attr]
    there.close()
    here.close()


def test_words_said_after_the_erasure_are_kept(database: Store, tmp_path: Path) -> None:
    """The same user may begin anew while the outage lasts: only what was said before the erasure is dropped."""
    owner, elsewhere = an_owner(), Switched(database)
    there = spooled(lambda: elsewhere, tmp_path / "there")
    elsewhere.up = False
    there.turns.append(a_turn(owner, SECRET, session_id="old"))
    there.turns.append(a_turn(owner, SECRET))
    database.erase(owner)
    there.turns.append(a_turn(owner, "a new beginning"))
    elsewhere.up = True
    assert there.settle(20)
    assert [turn.query for turn in database.turns.page(owner, "lesson")] == ["a new beginning"]
    assert database.sessions.get(owner, "old") is None
    assert [turn.query for turn in there.turns.page(owner, "lesson")] == ["a new beginning"]
    assert SECRET.encode() not in held(tmp_path / "there")
    there.close()


def test_a_process_that_died_with_words_of_an_erased_user(database: Store, tmp_path: Path) -> None:
    """The process that takes over its files drops them, too."""
    owner, elsewhere = an_owner(), Switched(database)
    died = spooled(lambda: elsewhere, tmp_path / "there")
    elsewhere.up = False
    died.turns.append(a_turn(owner, SECRET))
    died.close()
    database.erase(owner)
    elsewhere.up = True
    after = spooled(lambda: elsewhere, tmp_path / "there")
    assert after.settle(20)
    assert list(database.sessions.page(owner, limit=9)) == []
    assert SECRET.encode() not in held(tmp_path / "there")
    after.close()


def test_the_receipt_says_what_could_not_be_reached(postgres_server: PostgresForTests) -> None:
    """Machines that cannot reach the database keep what they have until they can."""
    store = PostgresStore(postgres_server.database())
    assert "spool" in " ".join(store.erase_notes)
    store.close()

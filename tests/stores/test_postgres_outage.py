"""When the server is away, slow or ill: what callers are told, how soon, and that the store comes back by itself."""

import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

from ricordo.errors import SettingsError, StoreError, StoreUnavailable
from ricordo.records.turns import Message, Owner, Turn
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.postgres.pool import read_url
from ricordo.testing.postgres import PostgresForTests

pytest_plugins = ["ricordo.testing.postgres"]

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ANNA = Owner("acme", "anna")


def a_turn(text: str = "hello") -> Turn:
    """A turn of Anna's."""
    return Turn(str(uuid4()), ANNA, "tutor", "chat", 0, NOW, Message("", "user", text, NOW), None)


@pytest.fixture
def own_server() -> Iterator[PostgresForTests]:
    """A server that a test may stop."""
    server = PostgresForTests()
    yield server
    server.close()


def test_a_server_that_stops_and_starts(own_server: PostgresForTests) -> None:
    """While it is down every call says StoreUnavailable; once it is up the same store goes on, reads and writes."""
    store = PostgresStore(own_server.database(), timeout=10)
    try:
        together = threading.Barrier(4)

        def open_a_connection() -> None:
            together.wait()
            store.turns.append(a_turn())

        threads = [threading.Thread(target=open_a_connection) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for call in (
            lambda: store.turns.append(a_turn()),
            lambda: store.turns.page(ANNA, "chat"),
            lambda: store.erase(ANNA),
        ):
            own_server.stop()
            with pytest.raises(StoreUnavailable, match="away or busy") as caught:
                call()
            assert isinstance(caught.value.__cause__, psycopg.Error)
            own_server.start()
            assert len(store.turns.page(ANNA, "chat")) >= 4  # every idle connection is dead: none of them shows
        assert store.turns.append(a_turn()).turn_number == 5
    finally:
        store.close()


def test_connections_cut_off_while_idle_do_not_show(postgres_store: PostgresStore, postgres_url: str) -> None:
    """A connection that an administrator or a firewall cut is replaced: neither a write nor a read fails."""
    for call in (
        lambda: postgres_store.turns.append(a_turn()),
        lambda: postgres_store.turns.page(ANNA, "chat"),
        lambda: postgres_store.turns.add_message(a_turn()),
        lambda: postgres_store.sessions.clear(ANNA, "chat"),
    ):
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'ricordo'"
                " AND datname = current_database()"
            )
        call()


def test_opening_where_nobody_listens() -> None:
    """A refused connection is StoreUnavailable at once, with the place and without the password."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(StoreUnavailable) as caught:
        PostgresStore(f"postgresql://anna:hunter2@127.0.0.1:{port}/memories", timeout=5)
    assert f"postgresql://anna@127.0.0.1:{port}/memories" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_server_that_accepts_and_stays_silent() -> None:
    """A server that never answers is given up after the timeout."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = monotonic()
        with pytest.raises(StoreUnavailable):
            PostgresStore(f"postgresql://anna@127.0.0.1:{silent.getsockname()[1]}/memories?sslmode=disable", timeout=1)
        assert monotonic() - began < 30  # not for ever


def test_a_lock_that_is_not_let_go(postgres_store: PostgresStore, postgres_url: str) -> None:
    """A call that waits for somebody's lock gives up after the timeout; later it works and has not been done twice."""
    store = PostgresStore(postgres_url, timeout=2)
    try:
        with psycopg.connect(postgres_url) as holder:
            holder.execute("LOCK TABLE ricordo.sessions IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(StoreUnavailable, match="no answer within the timeout"):
                store.turns.append(a_turn())
            holder.rollback()
        assert store.turns.append(a_turn()).turn_number == 1
    finally:
        store.close()


def test_more_callers_than_connections(postgres_url: str) -> None:
    """When all connections are lent for longer than the timeout, the error says so and names the setting."""
    store = PostgresStore(postgres_url, pool_size=1, timeout=2)
    try:
        with store._pool.lease(monotonic() + 20), pytest.raises(StoreUnavailable, match="pool_size"):
            store.turns.page(ANNA, "chat")
        assert store.turns.page(ANNA, "chat") == ()
    finally:
        store.close()


def test_a_closed_store_says_so(postgres_store: PostgresStore) -> None:
    """Closing is safe to repeat; using the store afterwards is an error that is not worth retrying."""
    postgres_store.close()
    postgres_store.close()
    with pytest.raises(StoreError, match="closed") as caught:
        postgres_store.turns.append(a_turn())
    assert not isinstance(caught.value, StoreUnavailable)


def test_a_refusal_is_a_store_error_without_the_words(own_postgres_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """What the database refuses is a StoreError with the cause chained; what was said is in no message and no log."""
    with psycopg.connect(own_postgres_url) as connection:
        connection.execute("ALTER TABLE ricordo.turns ADD CONSTRAINT nothing_more CHECK (turn_number < 1)")
    store = PostgresStore(own_postgres_url)
    try:
        with caplog.at_level(logging.DEBUG), pytest.raises(StoreError, match="nothing_more") as caught:
            store.turns.append(a_turn("a very private sentence"))
        assert not isinstance(caught.value, StoreUnavailable)
        assert isinstance(caught.value.__cause__, psycopg.errors.CheckViolation)
        assert "private" not in f"{caught.value} {caught.value.__cause__} {caplog.text}"
        assert store.sessions.get(ANNA, "chat") is None
    finally:
        store.close()


def test_a_read_only_server_may_be_writable_later(own_postgres_url: str) -> None:
    """After a failover the old server may be read-only: that passes, so it is StoreUnavailable."""
    with psycopg.connect(own_postgres_url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET default_transaction_read_only = on")
    store = PostgresStore(own_postgres_url)
    try:
        with pytest.raises(StoreUnavailable, match="read-only"):
            store.turns.append(a_turn())
    finally:
        store.close()


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("postgresql://anna:hunter2@db.example.org:6432/memories", "postgresql://anna@db.example.org:6432/memories"),
        ("postgres://db.example.org/memories?user=anna&password=hunter2", "postgresql://anna@db.example.org/memories"),
        ("host=db.example.org dbname=memories password=hunter2", "postgresql://db.example.org/memories"),
        ("postgresql://anna:hunter2@one,two/memories?sslpassword=hunter2", "postgresql://anna@one,two/memories"),
    ],
)
def test_location_has_no_secrets(url: str, location: str) -> None:
    """Whatever way a password is given, the place is told without it."""
    assert read_url(url)[0] == location


def test_the_options_of_the_pool_may_stand_in_the_url(postgres_url: str) -> None:
    """pool_size, timeout, prepare_threshold and application_name; an argument counts more than the URL."""
    url = f"{postgres_url}&pool_size=2&timeout=3.5&prepare_threshold=none&application_name=shop"
    store = PostgresStore(url)
    assert (store._pool._size, store._pool._timeout, store._pool._prepare_threshold) == (2, 3.5, None)
    names = store._pool.run((), lambda tx: tx.send("SELECT current_setting('application_name')", {})).fetchall()
    store.close()
    assert names == [("shop",)]
    store = PostgresStore(url, pool_size=1, timeout=1.0)
    assert (store._pool._size, store._pool._timeout) == (1, 1.0)
    store.close()


@pytest.mark.parametrize(
    "option", ["pool_size=0", "pool_size=many", "timeout=-1", "timeout=nan", "prepare_threshold=x"]
)
def test_an_option_of_the_pool_that_is_no_number_is_refused(option: str) -> None:
    """The error names the option, and nothing else of the URL."""
    with pytest.raises(SettingsError, match=f"{option.partition('=')[0]} in the URL") as refused:
        PostgresStore(f"postgresql://anna:secret@localhost/db?{option}")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["postgresql://anna:hunter2%zz@db/memories", "postgresql://a:hunter2@db/m?nonsense=1"])
def test_a_url_that_cannot_be_read_is_not_quoted(url: str) -> None:
    """A malformed URL is refused with the expected form; neither message nor cause repeats it."""
    with pytest.raises(SettingsError, match="postgresql://user:password@host") as caught:
        PostgresStore(url)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_database_in_another_encoding_is_refused(postgres_server: PostgresForTests) -> None:
    """Text that the database could not keep is refused at the door."""
    name = f"latin_{uuid4().hex[:8]}"
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    try:
        with pytest.raises(StoreError, match="ENCODING 'UTF8'"):
            PostgresStore(urlsplit(postgres_server.url)._replace(path=f"/{name}").geturl())
    finally:
        with psycopg.connect(postgres_server.url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_missing_driver_names_the_extra(tmp_path: Path) -> None:
    """Without psycopg the store says what to install; importing ricordo itself asks for no driver."""
    program = """
import sys
sys.modules["psycopg"] = None
import ricordo
try:
    import ricordo.stores.postgres
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "SettingsError" in done.stdout
    assert "pip install 'ricordo[postgres]'" in done.stdout


WARN_AT_COMMIT = """
    CREATE FUNCTION ricordo.warn() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE WARNING 'failed to commit transaction on 10.0.0.1:5432';
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON ricordo.turns DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION ricordo.warn();
"""


def test_a_commit_that_a_worker_did_not_confirm_is_not_acknowledged(own_postgres_url: str) -> None:
    """Citus reports a worker's death during COMMIT as a warning beside success: the caller is told to try again."""
    store = PostgresStore(own_postgres_url)
    turn = a_turn()
    try:
        with psycopg.connect(own_postgres_url) as connection:
            connection.execute(WARN_AT_COMMIT)
        with pytest.raises(StoreUnavailable, match="failed to commit"):
            store.turns.append(turn)
        with psycopg.connect(own_postgres_url) as connection:
            connection.execute("DROP TRIGGER warn ON ricordo.turns")
        assert store.turns.append(turn).turn_number == 1  # written once, whether that commit was kept or not
        assert len(store.turns.page(ANNA, "chat")) == 1
    finally:
        store.close()

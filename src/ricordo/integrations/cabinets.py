"""Where a shelf stands: a table of items in a SQLite file, in PostgreSQL, or in memory.

In: an owner and a piece of work that executes statements. Out: its result, committed. Statements are written once, with
`:name` for values and `{items}` for the table; each cabinet spells them as its database wants them.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ricordo.errors import StoreError
from ricordo.records import Owner

if TYPE_CHECKING:
    from ricordo.stores.postgres.transaction import Transaction

T = TypeVar("T")
Row = tuple[Any, ...]
Execute = Callable[[str, Mapping[str, Any]], list[Row]]

SQLITE = """
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
    PRIMARY KEY (owner, shelf, place, key)
) STRICT;
CREATE INDEX IF NOT EXISTS ricordo_items_by_tag ON ricordo_items (owner, shelf, tag) WHERE tag <> '';
CREATE INDEX IF NOT EXISTS ricordo_items_by_end ON ricordo_items (owner, expires_at) WHERE expires_at IS NOT NULL;
"""

POSTGRES = """
CREATE TABLE IF NOT EXISTS ricordo.items (
    owner       uuid NOT NULL REFERENCES ricordo.owners (owner) ON DELETE CASCADE,
    shelf       text COLLATE "C" NOT NULL,
    place       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    tag         text COLLATE "C" NOT NULL,
    body        bytea NOT NULL,
    vector      bytea,
    created_at  bigint NOT NULL,
    updated_at  bigint NOT NULL,
    expires_at  bigint,
    minutes     double precision,
    PRIMARY KEY (owner, shelf, place, key)
);
CREATE INDEX IF NOT EXISTS items_by_tag ON ricordo.items (owner, shelf, tag) WHERE tag <> '';
CREATE INDEX IF NOT EXISTS items_by_end ON ricordo.items (owner, expires_at) WHERE expires_at IS NOT NULL;
ALTER TABLE ricordo.items ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.items FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS by_owner ON ricordo.items;
CREATE POLICY by_owner ON ricordo.items USING (owner = nullif(current_setting('ricordo.owner', true), '')::uuid);
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ricordo_app') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON ricordo.items TO ricordo_app;
    END IF;
END
$$;
"""


class Cabinet(Protocol):
    """A database with the table of items in it."""

    def run(self, owner: Owner, work: Callable[[Execute], T], *, writes: bool) -> T:
        """Do a piece of work in one transaction; durable when this returns."""
        ...

    def close(self) -> None:
        """Let go of files and connections. Safe to repeat."""
        ...


def cabinet_for(place: str) -> Cabinet:
    """The cabinet in the database behind a path or URL."""
    if place in ("memory:", ":memory:"):
        return InMemory()
    if place.startswith(("postgresql://", "postgres://")):
        return InPostgres(place)
    return InFile(Path(place.removeprefix("sqlite:///")))


class InFile:
    """Connections of our own to the memory's file, with its rules of writing."""

    def __init__(self, path: Path) -> None:
        from ricordo.stores.sqlite.connections import Connections

        self._connections = Connections(path, 60.0)
        self._connections.write(lambda writer: [writer.execute(each) for each in _statements(SQLITE)])

    def run(self, owner: Owner, work: Callable[[Execute], T], *, writes: bool) -> T:
        if writes:
            return self._connections.write(lambda writer: work(_sqlite(writer)))
        reader = self._connections.reader()
        try:
            return work(_sqlite(reader))
        except sqlite3.Error as error:
            raise StoreError(f"{self._connections.path} cannot be read ({error})") from error
        finally:
            self._connections.give_back(reader)

    def close(self) -> None:
        with suppress(StoreError):
            self._connections.close()


class InMemory:
    """Gone with the process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.execute("CREATE TABLE owners (owner BLOB PRIMARY KEY, tenant_id TEXT, user_id TEXT)")
        for each in _statements(SQLITE):
            self._connection.execute(each)

    def run(self, owner: Owner, work: Callable[[Execute], T], *, writes: bool) -> T:
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                result = work(_sqlite(self._connection))
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
            return result

    def close(self) -> None:
        with self._lock:
            self._connection.close()


class InPostgres:
    """A few connections of our own, each transaction behind the wall of its owner."""

    def __init__(self, url: str) -> None:
        from ricordo.stores.postgres import schema
        from ricordo.stores.postgres.pool import Pool
        from ricordo.stores.postgres.wall import raise_wall

        self._pool = Pool(url, size=4, timeout=10.0, prepare_threshold=5)
        try:
            with self._pool.lease(monotonic() + 60.0) as connection:
                standing = schema.prepare(connection)
                known = connection.execute("SELECT to_regclass('ricordo.items')").fetchone()
                if known is None or known[0] is None:
                    with connection.transaction():
                        connection.execute("SELECT pg_advisory_xact_lock(%s)", (schema._LOCK,))
                        connection.execute(POSTGRES)
                self._wall = raise_wall(standing, required=True)
        except BaseException:
            self._pool.close()
            raise

    def run(self, owner: Owner, work: Callable[[Execute], T], *, writes: bool) -> T:
        def inside(transaction: "Transaction") -> T:
            def execute(statement: str, values: Mapping[str, Any]) -> list[Row]:
                text = _spelt(statement, "ricordo.items", "ricordo.owners")
                cursor = transaction.send(re.sub(r"(?<!:):(\w+)", r"%(\1)s", text), values, binary=True)
                return cursor.fetchall() if _returns(statement) else []

            return work(execute)

        return self._pool.run(self._wall.around_owner(owner.key), inside, repeatable=True)

    def close(self) -> None:
        self._pool.close()


def _sqlite(connection: sqlite3.Connection) -> Execute:
    def execute(statement: str, values: Mapping[str, Any]) -> list[Row]:
        spelt = {**values, "owner": values["owner"].bytes}
        return connection.execute(_spelt(statement, "ricordo_items", "owners"), spelt).fetchall()

    return execute


def _spelt(statement: str, items: str, owners: str) -> str:
    return statement.replace("{items}", items).replace("{owners}", owners)


def _returns(statement: str) -> bool:
    return statement.startswith("SELECT") or "RETURNING" in statement


def _statements(text: str) -> Iterable[str]:
    return (each for each in text.split(";\n") if each.strip())

"""Where a shelf stands: a table of items in a SQLite file, in PostgreSQL, or in memory.

In: an owner and a piece of work that executes statements. Out: its result, committed. Statements are written once, with
`:name` for values and `{items}` for the table; each cabinet spells them as its database wants them, and fills in the
owner.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from os import getpid
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ricordo.errors import StoreError
from ricordo.records.turns import Owner

if TYPE_CHECKING:
    from ricordo.stores.postgres.transaction import Transaction

T = TypeVar("T")
Row = tuple[Any, ...]
Execute = Callable[[str, dict[str, Any]], list[Row]]

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
    session_id  TEXT,
    turn_id     TEXT,
    PRIMARY KEY (owner, shelf, place, key){hanging}
) STRICT;
CREATE INDEX IF NOT EXISTS ricordo_items_by_tag ON ricordo_items (owner, shelf, tag, place, key) WHERE tag <> '';
CREATE INDEX IF NOT EXISTS ricordo_items_by_end ON ricordo_items (owner, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS ricordo_items_by_session ON ricordo_items (owner, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS ricordo_items_by_turn ON ricordo_items (owner, turn_id) WHERE turn_id IS NOT NULL;
"""

# Whoever removes a session or a turn, in whatever way and process, removes what hangs on it.
HANGING = """,
    FOREIGN KEY (owner, session_id) REFERENCES sessions (owner, session_id) ON DELETE CASCADE,
    FOREIGN KEY (owner, turn_id) REFERENCES turns (owner, turn_id) ON DELETE CASCADE"""

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
    session_id  text COLLATE "C",
    turn_id     text COLLATE "C",
    PRIMARY KEY (owner, shelf, place, key),
    FOREIGN KEY (owner, session_id) REFERENCES ricordo.sessions (owner, session_id) ON DELETE CASCADE,
    FOREIGN KEY (owner, turn_id) REFERENCES ricordo.turns (owner, turn_id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS items_by_tag ON ricordo.items (owner, shelf, tag, place, key) WHERE tag <> '';
CREATE INDEX IF NOT EXISTS items_by_end ON ricordo.items (owner, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS items_by_session ON ricordo.items (owner, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS items_by_turn ON ricordo.items (owner, turn_id) WHERE turn_id IS NOT NULL;
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

_TABLE = re.compile(r"\{(\w+)\}")  # items of ours; owners, sessions and turns of the memory

ONE_VIEW = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"

PATIENCE = 60.0  # seconds for what is done alone, which may write as much as its caller likes


class Cabinet(Protocol):
    """A database with the table of items in it.

    `in_turn` tells whether its writers follow each other anyway, so that what one reads before it writes still holds.
    """

    in_turn: bool

    def run(self, owner: Owner, work: Callable[[Execute], T], *, writes: bool, once: bool = False) -> T:
        """Do a piece of work in one transaction; durable when this returns. `once`: it reads with one statement."""
        ...

    def alone(self, owner: Owner, work: Callable[[Execute], T]) -> T:
        """Do work that reads here and may write to the memory, while nobody does such work for that owner.

        That holds for all processes, from the first statement on, which sees all that was committed before.
        """
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

    in_turn = True

    def __init__(self, path: Path) -> None:
        from ricordo.stores.sqlite.connections import Connections

        self._connections = Connections(path, 60.0)
        self._order: _Order | None = None
        self._connections.write(lambda writer: [writer.execute(each) for each in _statements(HANGING)])

    def run(self, owner: Owner, work: Callable[[Execute], T], *, writes: bool, once: bool = False) -> T:
        if writes:
            return self._connections.write(lambda writer: work(_sqlite(writer, owner)))
        reader = self._connections.reader()
        try:
            if once:
                return work(_sqlite(reader, owner))
            reader.execute("BEGIN")  # one view, whatever is written meanwhile
            try:
                return work(_sqlite(reader, owner))
            finally:
                reader.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"{self._connections.path} cannot be read ({error})") from error
        finally:
            self._connections.give_back(reader)

    def alone(self, owner: Owner, work: Callable[[Execute], T]) -> T:
        order = self._order
        if order is None or order.process != getpid():  # a fork would share the lock of its parent
            order = self._order = _Order(self._connections.path)
        with order.lock, order.gate:
            return self.run(owner, work, writes=False, once=True)

    def close(self) -> None:
        with suppress(StoreError):
            self._connections.close()


class _Order:
    """One after the other, in all processes: an advisory lock on a file beside the memory's."""

    def __init__(self, path: Path) -> None:
        from ricordo.stores.sqlite.database import AdvisoryLock, translating

        self.process = getpid()
        self.lock = Lock()
        with translating(path):
            self.gate = AdvisoryLock(Path(f"{path.resolve()}-items"))


class InMemory:
    """Gone with the process. The sessions are not in this database, so nothing hangs on them by itself."""

    in_turn = True

    def __init__(self) -> None:
        self._lock = Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.execute("CREATE TABLE owners (owner BLOB PRIMARY KEY, tenant_id TEXT, user_id TEXT)")
        self._connection.execute("CREATE TABLE sessions (owner BLOB, session_id TEXT, revision INTEGER)")  # stays empty
        self._connection.execute("CREATE TABLE turns (owner BLOB, session_id TEXT, turn_number INTEGER, turn_id TEXT)")
        for each in _statements(""):
            self._connection.execute(each)

    def run(self, owner: Owner, work: Callable[[Execute], T], *, writes: bool, once: bool = False) -> T:
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                result = work(_sqlite(self._connection, owner))
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
            return result

    def alone(self, owner: Owner, work: Callable[[Execute], T]) -> T:
        return self.run(owner, work, writes=False)

    def close(self) -> None:
        with self._lock:
            self._connection.close()


class InPostgres:
    """A few connections of our own, each transaction behind the wall of its owner."""

    in_turn = False

    def __init__(self, url: str) -> None:
        from ricordo.stores.postgres import schema
        from ricordo.stores.postgres.pool import Pool
        from ricordo.stores.postgres.row_security import raise_wall

        self._pool = Pool(url, size=4, timeout=10.0, prepare_threshold=5)
        try:
            with self._pool.lease(monotonic() + 60.0) as connection:
                standing = schema.prepare(connection)
                known = connection.execute("SELECT to_regclass('ricordo.items')").fetchone()
                if known is None or known[0] is None:
                    with connection.transaction():
                        connection.execute("SELECT pg_advisory_xact_lock(%s)", (schema.MIGRATION_LOCK,))
                        connection.execute(POSTGRES)
                self._wall = raise_wall(standing, required=True)
        except BaseException:
            self._pool.close()
            raise

    def run(self, owner: Owner, work: Callable[[Execute], T], *, writes: bool, once: bool = False) -> T:
        view = () if writes or once else (ONE_VIEW,)
        wall = (*view, *self._wall.around_owner(owner.key))
        return self._pool.run(wall, lambda transaction: work(_postgres(transaction, owner)), repeatable=True)

    def alone(self, owner: Owner, work: Callable[[Execute], T]) -> T:
        number = int.from_bytes(owner.key.bytes[:8], signed=True)
        wall = (*self._wall.around_owner(owner.key), f"SELECT pg_advisory_xact_lock({number})")
        return self._pool.run(wall, lambda transaction: work(_postgres(transaction, owner)), patience=PATIENCE)

    def close(self) -> None:
        self._pool.close()


def _sqlite(connection: sqlite3.Connection, owner: Owner) -> Execute:
    key = owner.key.bytes

    def execute(statement: str, values: dict[str, Any]) -> list[Row]:
        values["owner"] = key
        return connection.execute(_for_sqlite(statement), values).fetchall()

    return execute


def _postgres(transaction: "Transaction", owner: Owner) -> Execute:
    key = owner.key

    def execute(statement: str, values: dict[str, Any]) -> list[Row]:
        values["owner"] = key
        cursor = transaction.send(_for_postgres(statement), values, binary=True)
        return cursor.fetchall() if _returns(statement) else []

    return execute


@lru_cache(maxsize=512)
def _for_sqlite(statement: str) -> str:
    return _TABLE.sub(r"\1", statement.replace("{items}", "ricordo_items"))


@lru_cache(maxsize=512)
def _for_postgres(statement: str) -> str:
    return re.sub(r"(?<!:):(\w+)", r"%(\1)s", _TABLE.sub(r"ricordo.\1", statement))


def _returns(statement: str) -> bool:
    return statement.startswith("SELECT") or "RETURNING" in statement


def _statements(hanging: str) -> Iterable[str]:
    return (each for each in SQLITE.replace("{hanging}", hanging).split(";\n") if each.strip())

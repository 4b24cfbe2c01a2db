"""The file itself: opening it, migrating its schema, and translating errors of SQLite into ours.

In: a path. Out: connections that are set up for durable writes or for reading alone. Processes queue for the
write lock at an advisory lock beside the file, because SQLite's own busy handler sleeps and starves.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import RLock
from time import monotonic, time
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from ricordo.errors import DamageError, RicordoError, SchemaError, StoreError, StoreUnavailable
from ricordo.stores.open import Migration, migrations_for, pending

try:
    import fcntl
except ImportError:  # not on Windows: the busy handler has to do
    fcntl = None  # type: ignore[assignment]

C = TypeVar("C", bound=sqlite3.Connection)

APPLICATION_ID = 0x5269636F  # "Rico" in the header: this file is ours
OLDEST_SQLITE = (3, 37, 0)  # STRICT tables
SESSIONS_REMEMBERED = 4_096
PAGE_BYTES = 2048  # every table and index takes a page, however little it holds
LOG_PAGES = 2000  # how long the log grows before it is moved into the file: 4 MB
# Migrations applied by a first write, and a table of each.
ON_DEMAND = {"service": "leases", "items": "ricordo_items", "erasures": "erasures"}
SCRUB_DUE = 1  # user_version while erased text may still lie in free pages

LEDGER = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version     INTEGER PRIMARY KEY,
    digest      TEXT NOT NULL,
    applied_at  INTEGER NOT NULL
) STRICT
"""

_AWAY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
         sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL}  # fmt: skip
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class AdvisoryLock:
    """An advisory lock on `<path>-lock`: processes pass one by one, in the order they came."""

    _file: int | None = None

    def __init__(self, path: Path) -> None:
        self.acquire: Callable[[], None] = lambda: None
        self.release = self.acquire
        if fcntl is not None:
            self._file = os.open(f"{path}-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self.acquire = partial(fcntl.flock, self._file, fcntl.LOCK_EX)  # quicker than a method of ours
            self.release = partial(fcntl.flock, self._file, fcntl.LOCK_UN)

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def close(self) -> None:
        """Let go of the lock file; it stays where it is, empty."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    __del__ = close


class WriteConnection(sqlite3.Connection):
    """The connection that writes, with what makes an append cheap.

    `fast_cursor` is one cursor for the few statements of every write, which leave no row unread: making one for each
    would be a twentieth of an append. `last_turns` holds the last turn number of sessions as this connection wrote it;
    it may be out of date, so the statement that relies on it verifies it.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fast_cursor = self.cursor()
        self.last_turns: dict[tuple[bytes, str], int] = {}

    def note_last_turn(self, session: tuple[bytes, str], number: int) -> None:
        """Remember the number of a session's newest turn."""
        if len(self.last_turns) >= SESSIONS_REMEMBERED:
            self.last_turns.clear()
        self.last_turns[session] = number


def open_writer(path: Path, wait: float) -> WriteConnection:
    """The connection for writing: every commit is on disk when it returns."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; Ricordo needs 3.37 or newer")
    connection = _connect(path, wait, "rw", WriteConnection)
    try:
        _refuse_foreign_database(connection, path)
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a new file; others keep theirs
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}").fetchall()
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = FAST").fetchall()
        connection.execute("PRAGMA cache_size = -16384")
        connection.execute("PRAGMA journal_size_limit = 67108864").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(path: Path, wait: float) -> sqlite3.Connection:
    """A connection that can only read; it sees what was committed and waits for no writer."""
    connection = _connect(path, wait, "ro", sqlite3.Connection)
    connection.execute("PRAGMA cache_size = -8192")
    return connection


def open_examiner(path: Path, wait: float) -> sqlite3.Connection:
    """A connection that writes nothing but could: SQLite loads no CHECK constraint where it can only read."""
    connection = _connect(path, wait, "rw", sqlite3.Connection)
    connection.execute("PRAGMA query_only = ON")
    return connection


def migrate(connection: sqlite3.Connection, known: tuple[Migration, ...] | None = None) -> None:
    """Apply the migrations that the file does not have yet, all of them in one transaction.

    Those on demand wait until something of theirs is written, unless they are named here.
    """

    def missing() -> list[Migration]:
        found = pending(known or migrations_for("sqlite"), _ledger(connection))
        return [migration for migration in found if known or migration.name not in ON_DEMAND]

    if _ledger(connection) and not missing():
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(LEDGER)
        for migration in missing():
            _apply(connection, migration)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def has_tables(connection: sqlite3.Connection, migration: str) -> bool:
    """Whether the file has the tables of an on-demand migration."""
    return bool(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (ON_DEMAND[migration],)).fetchall())


def make_tables(writer: sqlite3.Connection, migration: str) -> None:
    """Apply an on-demand migration, if it is not applied yet, inside the transaction that first writes to it."""
    for each in pending(migrations_for("sqlite"), _ledger(writer)):
        if each.name == migration:
            _apply(writer, each)


def translated(error: BaseException, path: Path) -> BaseException:
    """A driver's error as one of ours, with its cause; ours pass through."""
    if isinstance(error, RicordoError) or not isinstance(error, (sqlite3.Error, UnicodeError, OSError)):
        return error
    ours = _translate(error, path)
    ours.__cause__ = error
    return ours


@contextmanager
def translating(path: Path) -> Iterator[None]:
    """Errors of the driver leave this block as ours."""
    try:
        yield
    except (sqlite3.Error, UnicodeError, OSError) as error:
        raise _translate(error, path) from error


def _translate(error: Exception, path: Path) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary in _DAMAGED or "not decode to UTF-8" in str(error):
        return DamageError(
            f"{path} is damaged or not a database ({error}); restore a backup, or save what is readable "
            f"with `sqlite3 {path} .recover`"
        )
    if primary in _AWAY or isinstance(error, OSError):
        return StoreUnavailable(f"{path} cannot be used now ({error}); free space or locks and try again")
    if isinstance(error, UnicodeError):
        return StoreError(f"{path} keeps valid Unicode only ({error}); remove lone surrogates")
    return StoreError(f"{path} refused the operation ({error})")


def _connect(path: Path, wait: float, mode: str, kind: type[C]) -> C:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=wait, isolation_level=None,
        check_same_thread=False, cached_statements=256, factory=kind,
    )  # fmt: skip


def make_private(path: Path) -> None:
    """A new file is readable by its user alone: conversations are private."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except FileNotFoundError as error:
        raise StoreError(f"the folder {path.parent} does not exist; make it first") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be opened for writing ({error.strerror}); check path and rights") from error


def identity_of(path: str) -> tuple[int, ...] | None:
    """Inode and device of the file of that name; None if there is none."""
    try:
        return os.stat(path)[1:3]  # by place: this is on the path of every write
    except OSError:
        return None


def moved_file(path: str) -> str:
    """What is said of a file that is no longer the one that was opened: a write to that would be lost."""
    if identity_of(path) is None:
        return (
            f"{path} was moved or deleted while it was open, so nothing more is written; put it back with the files "
            f"that begin with its name, or close the store and open the path again to begin a new file"
        )
    return (
        f"{path} was replaced by another file while it was open, so nothing more is written; stop every program that "
        f"uses it, remove {path}-wal and {path}-shm, which belong to the old file, and start again"
    )


def _refuse_foreign_database(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if application not in (0, APPLICATION_ID) or (tables and "schema_migrations" not in tables):
        raise SchemaError(f"{path} is another program's SQLite database; name a file of its own for Ricordo")


def _ledger(connection: sqlite3.Connection) -> dict[int, str]:
    exists = "SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'"
    if not connection.execute(exists).fetchall():
        return {}
    return dict(connection.execute("SELECT version, digest FROM schema_migrations").fetchall())


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    for statement in _statements(migration.sql):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO schema_migrations VALUES (?, ?, ?)", (migration.version, migration.digest, int(time() * 1e6))
    )


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: executescript would commit in between.

    SQLite keeps their text, so it goes without the remarks, which stand on lines of their own, and without columns.
    """
    statement = ""
    for line in (" ".join(line.split()) for line in script.splitlines()):
        if line and not line.startswith("--"):
            statement += f"{line}\n"
            if sqlite3.complete_statement(statement):
                yield statement
                statement = ""


PATIENCE = 5.0  # seconds that a fork waits for reads and writes of other threads

REFUSAL = (
    "was being read or written while this process was forked; fork at a quiet moment, or start the child with spawn"
)


class Forkable(Protocol):
    """What an open store does about a fork."""

    path: Path

    def put_down(self, deadline: float) -> bool:
        """Close everything and hold all callers; False, with nothing changed, if it stays in use."""
        ...

    def take_up(self) -> None:
        """In the parent: let callers go on."""
        ...

    def begin_anew(self) -> None:
        """In the child: forget the parent's threads and let callers in."""
        ...

    def forbid(self, why: str) -> None:
        """In the child, where it could not be put down: never touch it again, not even to close it."""
        ...


_enrolled: "WeakSet[Forkable]" = WeakSet()
_inherited: set[Path] = set()
_put_down: list[Forkable] = []
_in_use: list[Forkable] = []
_guard = RLock()  # held from before a fork until after it, so that nothing is opened meanwhile


def enrol(store: Forkable) -> None:
    """Take care of a store from now on; it is opened after this and not before."""
    with _guard:
        if store.path.resolve() in _inherited:
            raise StoreError(f"{store.path} {REFUSAL}")
        _enrolled.add(store)


def dismiss(store: Forkable) -> None:
    """The store is closed."""
    with _guard:
        _enrolled.discard(store)


def _before() -> None:
    _guard.acquire()
    deadline = monotonic() + PATIENCE
    for store in list(_enrolled):
        (_put_down if store.put_down(deadline) else _in_use).append(store)


def _after_in_parent() -> None:
    for store in _put_down:
        store.take_up()
    _put_down.clear()
    _in_use.clear()
    _guard.release()


def _after_in_child() -> None:
    global _guard
    _inherited.update(store.path.resolve() for store in _in_use)
    for store in (*_put_down, *_in_use):
        if store.path.resolve() in _inherited:
            store.forbid(REFUSAL)
        else:
            store.begin_anew()
    _put_down.clear()
    _in_use.clear()
    _guard = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)

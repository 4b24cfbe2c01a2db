"""The connections of one open store: one that writes, in groups, and as many that read as there are readers.

In: operations. Out: their results. A reader is lent for one read and returned to a pool, so threads may come and go;
the writer serves a whole batch of operations with one durable commit. All connections can be closed for the moment of
a fork; the next caller opens them again.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from threading import Event, Lock, get_ident
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from ricordo.errors import StoreError, StoreUnavailable
from ricordo.stores.group_commit import GroupCommit, Joinable, Ticket
from ricordo.stores.sqlite import database
from ricordo.stores.sqlite.database import (
    AdvisoryLock,
    WriteConnection,
    has_tables,
    identity_of,
    make_private,
    make_tables,
    migrate,
    moved_file,
    open_reader,
    open_writer,
    translated,
    translating,
)

P = ParamSpec("P")
T = TypeVar("T")

_kept_from_closing: list[object] = []


class Connections:
    """Opens the file, brings its schema up to date, and lends connections until it is closed."""

    _gate: AdvisoryLock | None = None
    _writer: WriteConnection | None = None

    def __init__(self, path: Path, wait: float) -> None:
        self.path = path
        self._file = os.path.abspath(path)  # where it is, even if the program changes its directory
        self._opened: tuple[int, ...] | None = None
        self._wait = wait
        self._unusable: str | None = None
        self._idle: list[sqlite3.Connection] = []
        self.begin_anew()
        database.enrol(self)
        try:
            with self._writing, translating(path):
                make_private(path)
                self._take_up_file()
        except BaseException:
            database.dismiss(self)
            raise

    def reader(self) -> sqlite3.Connection:
        """Take a reading connection; give it back with `give_back`, in the same thread."""
        me = get_ident()
        self._lent.append(me)  # before the check: `put_down` sets `_paused` first and reads this list afterwards
        if self._paused or self._unusable:
            self._lent.remove(me)
            self._wait_for_leave()
            return self.reader()
        try:
            return self._idle.pop()
        except IndexError:
            return self._new_reader()

    def reading(self) -> "ReadConnection":
        return ReadConnection(self)

    def give_back(self, reader: sqlite3.Connection) -> None:
        """Put a reading connection back for the next read."""
        self._idle.append(reader)
        self._lent.remove(get_ident())
        if self._unusable:
            self._close_idle()

    def write(self, operation: Callable[[WriteConnection], T]) -> T:
        """Run the operation in a write transaction, perhaps with others; durable when this returns."""
        if self._unusable:
            raise StoreError(f"{self.path} {self._unusable}")
        return self._group.run(operation)

    def write_alone(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run the operation while no other write runs, outside a transaction."""
        if self._unusable:
            raise StoreError(f"{self.path} {self._unusable}")
        return self._group.run(operation, alone=True)

    def close(self) -> None:
        """Wait for the writes that are queued, then close everything."""
        if not self._unusable:
            self._group.run(self._close, alone=True)
            database.dismiss(self)

    def put_down(self, deadline: float) -> bool:
        """Close all connections and hold all callers; False, with nothing changed, if they stay in use."""
        me = get_ident()
        if me == self._served_by or me in self._lent:  # the fork comes from inside a read or a write
            return False
        self._paused = True
        if self._writing.acquire(timeout=max(0.0, deadline - monotonic())):
            while self._lent and monotonic() < deadline:
                sleep(0.0005)
            with suppress(sqlite3.Error):
                if not self._lent:
                    self._let_go()
                    return True
            self._writing.release()
        self._go_on()
        return False

    def take_up(self) -> None:
        """Let callers go on; the next one opens the file."""
        self._writing.release()
        self._go_on()

    def begin_anew(self) -> None:
        """Start with no reader, no writer and no waiting caller."""
        self._writing = Lock()
        self._served_by: int | None = None
        self._group = GroupCommit(self._serve, gathers=True)
        self._lent: list[int] = []  # the threads that have a reader now
        self._paused = False
        self._resumed = Event()

    def forbid(self, why: str) -> None:
        """Nothing here may be touched again, and nothing closed."""
        self._unusable = why
        _kept_from_closing.append((self._writer, self._idle))
        self.begin_anew()

    def _take_up_file(self) -> None:
        gate = AdvisoryLock(self.path)
        try:
            with gate:
                writer = open_writer(Path(self._file), self._wait)
                try:
                    migrate(writer)
                except BaseException:
                    writer.close()
                    raise
        except BaseException:
            gate.close()
            raise
        self._gate, self._writer, self._opened = gate, writer, identity_of(self._file)

    def _let_go(self) -> None:
        self._close_idle()
        if self._writer is not None:
            self._writer.close()
        if self._gate is not None:
            self._gate.close()
        self._writer = self._gate = None

    def _close(self) -> None:
        self._unusable = "is closed; open it again"
        self._let_go()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _new_reader(self) -> sqlite3.Connection:
        try:
            with translating(self.path):
                return open_reader(Path(self._file), self._wait)
        except BaseException:
            self._lent.remove(get_ident())
            raise

    def _wait_for_leave(self) -> None:
        if self._unusable:
            raise StoreError(f"{self.path} {self._unusable}")
        resumed = self._resumed  # in this order: an event that is taken while paused will be set
        if self._paused:
            resumed.wait()

    def _go_on(self) -> None:
        self._paused = False
        resumed, self._resumed = self._resumed, Event()
        resumed.set()

    def _serve(self, tickets: Sequence[Ticket]) -> None:
        """Serve a batch; whatever fails for all of it fails for each of its tickets."""
        with self._writing:
            self._served_by = get_ident()
            try:
                if self._unusable:  # closed while these were waiting
                    raise StoreError(f"{self.path} {self._unusable}")
                if tickets[0].alone and tickets[0].operation == self._close:
                    self._close()
                    return
                if self._writer is None:
                    self._take_up_file()
                assert self._writer is not None
                assert self._gate is not None
                if identity_of(self._file) != self._opened:
                    raise StoreUnavailable(moved_file(self._file))
                self._gate.acquire()
                try:
                    if tickets[0].alone:
                        tickets[0].result = tickets[0].operation(self._writer)
                    else:
                        self._transact(self._writer, tickets)
                finally:
                    self._gate.release()
            except Exception as error:
                for ticket in tickets:
                    ticket.error = ticket.error or translated(error, self.path)
            finally:
                self._served_by = None

    def _transact(self, writer: WriteConnection, tickets: Sequence[Ticket]) -> None:
        """One transaction for all tickets; a refused operation is undone without harm to the others."""
        execute = writer.fast_cursor.execute
        execute("BEGIN IMMEDIATE")
        try:
            if len(tickets) == 1:
                tickets[0].result = tickets[0].operation(writer)
            else:
                for ticket in self._joined(writer, tickets):
                    self._attempt(writer, ticket)
            execute("COMMIT")
        except BaseException:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            raise

    def _joined(self, writer: WriteConnection, tickets: Sequence[Ticket]) -> Sequence[Ticket]:
        """Serve new turns together; the tickets that are left, which is all of them if one turn is refused."""
        together = [ticket for ticket in tickets if isinstance(ticket.operation, Joinable)]
        if len(together) < 2:
            return tickets
        try:
            operations = [ticket.operation for ticket in together]
            for ticket, result in zip(together, operations[0].join(writer, operations), strict=True):
                ticket.result = result
        except Exception:
            if not writer.in_transaction:  # disk full and the like: SQLite has undone everything
                raise
            writer.execute("ROLLBACK")  # nothing else is in it
            writer.execute("BEGIN IMMEDIATE")
            return tickets
        return [ticket for ticket in tickets if not isinstance(ticket.operation, Joinable)]

    def _attempt(self, writer: sqlite3.Connection, ticket: Ticket) -> None:
        writer.execute("SAVEPOINT attempt")
        try:
            ticket.result = ticket.operation(writer)
        except Exception as error:
            if not writer.in_transaction:  # disk full and the like: SQLite has undone everything
                raise
            ticket.error = translated(error, self.path)
            writer.execute("ROLLBACK TO attempt")
        writer.execute("RELEASE attempt")


class ReadConnection:
    """One read: `with` gives the connection, takes it back at the end, and translates errors of SQLite into ours."""

    __slots__ = ("_connections", "_reader")

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def __enter__(self) -> sqlite3.Connection:
        self._reader = self._connections.reader()
        return self._reader

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connections.give_back(self._reader)
        if isinstance(error, (sqlite3.Error, UnicodeError)):
            raise translated(error, self._connections.path) from error


@contextmanager
def one_view(reader: sqlite3.Connection) -> Iterator[None]:
    """Everything read inside sees the same snapshot of the file."""
    reader.execute("BEGIN")
    try:
        yield
    finally:
        if reader.in_transaction:  # an error may have ended it already
            reader.execute("ROLLBACK")


class OnDemandTables:
    """Tables that the first write to them creates, by name of their migration: most memories never need them."""

    def __init__(self, connections: Connections, migration: str) -> None:
        self._connections = connections
        self._migration = migration
        self._readable = self._writable = False  # tables that were seen stay

    def write(self, operation: Callable[[WriteConnection], T]) -> T:
        """Run the operation in a write transaction that finds its tables."""

        def prepared(writer: WriteConnection) -> T:
            if not self._writable:
                make_tables(writer, self._migration)
            return operation(writer)

        result = self._connections.write(prepared)
        self._readable = self._writable = True
        return result

    def ensure(self) -> None:
        """Create the tables, if they do not exist yet."""
        if not self._writable:
            self.write(lambda _: None)

    def are_in(self, reader: sqlite3.Connection) -> bool:
        """Whether the file has the tables."""
        self._readable = self._readable or has_tables(reader, self._migration)
        return self._readable

    def rows(self, statement: str, values: Any) -> list[Any]:
        """The rows of a statement; none if there are no tables yet."""
        with self._connections.reading() as reader:
            return reader.execute(statement, values).fetchall() if self.are_in(reader) else []


class _Tables(Protocol):
    def write(self, operation: Callable[[WriteConnection], T]) -> T: ...


D = TypeVar("D", bound=_Tables)


class SqlitePart(Generic[D]):
    """A part of the store, in tables that every file has or that are created on demand."""

    def __init__(self, database: D) -> None:
        self._database = database


S = TypeVar("S", bound=SqlitePart[Any])


def writing(method: Callable[Concatenate[S, WriteConnection, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method of a part that runs in a write transaction, perhaps with others; callers leave out the connection."""

    @wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        written: T = self._database.write(lambda writer: method(self, writer, *args, **kwargs))
        return written

    return call

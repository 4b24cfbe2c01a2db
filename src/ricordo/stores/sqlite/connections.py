"""The connections of one open store: one that writes, in groups, and as many that read as there are readers.

In: operations. Out: their results. A reader is lent for the length of one read and goes back to a shelf, so
threads may come and go; the writer serves a whole batch of operations with one durable commit.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from ricordo.errors import StoreError
from ricordo.stores.group_commit import GroupCommit, Ticket
from ricordo.stores.sqlite.database import (
    Gate,
    make_private,
    migrate,
    open_reader,
    open_writer,
    translated,
    translating,
)

T = TypeVar("T")

_open: "WeakSet[Connections]" = WeakSet()
_inherited: set[Path] = set()
_kept_from_closing: list[object] = []


class Connections:
    """Opens the file, brings its schema up to date, and lends connections until it is closed."""

    def __init__(self, path: Path, wait: float) -> None:
        self.path = path
        self._wait = wait
        self._unusable: str | None = None
        self._shelf: list[sqlite3.Connection] = []
        if path.resolve() in _inherited:
            raise StoreError(f"{path} was open when this process was forked; {_FORKED}")
        with translating(path):
            make_private(path)
            self._gate = Gate(path)
            try:
                with self._gate:
                    self._writer = open_writer(path, wait)
                    migrate(self._writer)
            except BaseException:
                self._gate.close()
                raise
        self._group = GroupCommit(self._serve)
        _open.add(self)

    def reader(self) -> sqlite3.Connection:
        """Take a reading connection; give it back with `give_back`."""
        if self._unusable:
            raise StoreError(f"{self.path} {self._unusable}")
        try:
            return self._shelf.pop()
        except IndexError:
            with translating(self.path):
                return open_reader(self.path, self._wait)

    def give_back(self, reader: sqlite3.Connection) -> None:
        """Put a reading connection back for the next read."""
        self._shelf.append(reader)
        if self._unusable:
            self._clear_shelf()

    def write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run the operation in a write transaction, perhaps with others; durable when this returns."""
        if self._unusable:
            raise StoreError(f"{self.path} {self._unusable}")
        return self._group.run(operation)

    def write_alone(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run the operation with nobody else writing and no transaction begun."""
        if self._unusable:
            raise StoreError(f"{self.path} {self._unusable}")
        return self._group.run(operation, alone=True)

    def close(self) -> None:
        """Wait for the writes that are queued, then close everything."""
        if not self._unusable:
            self._group.run(self._close, alone=True)

    def _close(self, writer: sqlite3.Connection) -> None:
        self._unusable = "is closed; open it again"
        _open.discard(self)
        self._clear_shelf()
        writer.close()
        self._gate.close()

    def _clear_shelf(self) -> None:
        while self._shelf:
            self._shelf.pop().close()

    def _serve(self, tickets: Sequence[Ticket]) -> None:
        """Serve a batch; whatever fails for all of it fails for each of its tickets."""
        try:
            if self._unusable:  # closed while these were waiting
                raise StoreError(f"{self.path} {self._unusable}")
            with self._gate:
                if tickets[0].alone:
                    tickets[0].result = tickets[0].operation(self._writer)
                else:
                    self._transact(self._writer, tickets)
        except Exception as error:
            for ticket in tickets:
                ticket.error = ticket.error or translated(error, self.path)

    def _transact(self, writer: sqlite3.Connection, tickets: Sequence[Ticket]) -> None:
        """One transaction for all tickets; a refused operation is undone without harm to the others."""
        writer.execute("BEGIN IMMEDIATE")
        try:
            if len(tickets) == 1:
                tickets[0].result = tickets[0].operation(writer)
            else:
                for ticket in tickets:
                    self._attempt(writer, ticket)
            writer.execute("COMMIT")
        except BaseException:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            raise

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

    def _forbid(self) -> None:
        """In a forked child: SQLite's locks did not come along, so nothing here may be touched again."""
        self._unusable = f"was opened before this process was forked; {_FORKED}"
        _kept_from_closing.append((self._writer, self._shelf))
        _inherited.add(self.path.resolve())


_FORKED = "open it in the child only, or start the child with spawn"


def _after_fork() -> None:
    for connections in list(_open):
        connections._forbid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

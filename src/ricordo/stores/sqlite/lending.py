"""What the parts of the store have in common: connections that are lent for one read."""

import sqlite3
from types import TracebackType

from ricordo.stores.sqlite.connections import Connections
from ricordo.stores.sqlite.database import translated


class Lending:
    """The connections of an open store; `_reading` lends one and gives it back."""

    _connections: Connections

    def _reading(self) -> "Reading":
        return Reading(self._connections)


class Reading:
    """One read: `with` gives the connection; it goes back at the end, and what SQLite says is said in our words."""

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

"""Reads and writes of what a service keeps, in tables that are made when the first of it is written.

In: statements and operations on documents, keys, jobs and leases. Out: what they find, which is nothing before there is
a table. Most memories have no service around them, and thirteen empty tables and indexes are a page each.
"""

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from ricordo.stores.sqlite.database import make_serve, serves
from ricordo.stores.sqlite.lending import Lending

T = TypeVar("T")


class Serving(Lending):
    """The connections of an open store, for what a service keeps."""

    _serves = False  # tables that were seen stay

    def _serve(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run the operation in a write transaction that finds its tables."""

        def served(writer: sqlite3.Connection) -> T:
            if not self._serves:
                make_serve(writer)
            return operation(writer)

        result = self._connections.write(served)
        self._serves = True
        return result

    def _found(self, statement: str, values: Any) -> list[Any]:
        """The rows of a statement."""
        with self._reading() as reader:
            self._serves = self._serves or serves(reader)
            return reader.execute(statement, values).fetchall() if self._serves else []

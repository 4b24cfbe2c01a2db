"""Items of the SQLite store, in the table `ricordo_items`: what adapters keep. The statements are in `stores.items`.

`exclusive` needs a lock that all processes respect and that is held across writes to other parts: an advisory lock on
the file `<path>-items-lock`.
"""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from os import getpid
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from ricordo.records.service import StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.items import SqlItems
from ricordo.stores.service_protocols import ItemTransaction
from ricordo.stores.sqlite.connections import Connections, OnDemandTables, one_view
from ricordo.stores.sqlite.database import AdvisoryLock, translating

T = TypeVar("T")

_names = {"items": "ricordo_items", "owners": "owners", "sessions": "sessions", "turns": "turns"}


class SqliteItems:
    """Items of adapters. Their table is created by the first use of an adapter."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.tables = OnDemandTables(connections, "items")
        self._order: _Order | None = None

    def read(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        self.tables.ensure()
        with self._connections.reading() as reader, one_view(reader):
            return work(_items(reader, owner, collection, now))

    def write(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        def inside(writer: sqlite3.Connection) -> T:
            items = _items(writer, owner, collection, now)
            items.add_owner(owner)
            return work(items)

        return self.tables.write(inside)

    def exclusive(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        self.tables.ensure()
        order = self._order
        if order is None or order.process != getpid():  # a fork would share the lock of its parent
            order = self._order = _Order(self._connections.path)
        with order.lock, order.gate, self._connections.reading() as reader:
            return work(_items(reader, owner, collection, now))

    def page(
        self, owner: Owner, now: datetime, *, after: tuple[str, str, str] = ("", "", ""), limit: int
    ) -> list[tuple[str, StoredItem]]:
        with self._connections.reading() as reader:
            return _items(reader, owner, "", now).page(after, limit) if self.tables.are_in(reader) else []

    def sweep(self, owner: Owner, now: datetime) -> int:
        return self.tables.write(lambda writer: _items(writer, owner, "", now).sweep())

    def restore(self, owner: Owner, items: Sequence[tuple[str, StoredItem]]) -> None:
        """Write items as they were elsewhere, each in its collection: for a backup."""

        def put(transaction: ItemTransaction) -> None:
            for collection, item in items:
                transaction.on(collection).put(item)

        self.write(owner, "", datetime.now(UTC), put)


class _Order:
    """One `exclusive` after the other, in all threads and processes."""

    def __init__(self, path: Path) -> None:
        self.process = getpid()
        self.lock = Lock()
        with translating(path):
            self.gate = AdvisoryLock(Path(f"{path.resolve()}-items"))


def _items(connection: sqlite3.Connection, owner: Owner, collection: str, now: datetime) -> SqlItems:
    key = owner.key.bytes

    def execute(statement: str, values: dict[str, Any]) -> list[Any]:
        values["owner"] = key
        return connection.execute(_spelled(statement), values).fetchall()

    return SqlItems(execute, collection, now)


@lru_cache(maxsize=512)
def _spelled(statement: str) -> str:
    return statement.format(**_names)

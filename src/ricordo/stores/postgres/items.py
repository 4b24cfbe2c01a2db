"""Items of adapters: the statements of `ricordo.stores.items` in PostgreSQL's spelling, restricted to one owner.

Reads see one snapshot. Work that must not overlap between processes takes an advisory lock of its owner, which ends
with the transaction.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

from ricordo.records.service import StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.items import SqlItems
from ricordo.stores.postgres.row_security import OwnerTransactions
from ricordo.stores.postgres.transaction import Row, Transaction
from ricordo.stores.service_protocols import ItemTransaction

T = TypeVar("T")

EXCLUSIVE_TIMEOUT = 60.0  # seconds for `exclusive`, whose work may write to other parts of the store
_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TABLE = re.compile(r"\{(\w+)\}")
_PARAMETER = re.compile(r"(?<!:):(\w+)")


class PostgresItems:
    """`ItemStore` on PostgreSQL."""

    def __init__(self, transactions: OwnerTransactions) -> None:
        self._transactions = transactions

    def read(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        settings = (_SNAPSHOT, *self._transactions.security.for_owner(owner.key))
        return self._transactions.runner.run(
            settings, lambda tx: work(_items(tx, owner, collection, now)), repeatable=True
        )

    def write(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        def script(transaction: Transaction) -> T:
            items = _items(transaction, owner, collection, now)
            items.add_owner(owner)
            return work(items)

        return self._transactions.run(owner, script, repeatable=True)

    def exclusive(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        lock = int.from_bytes(owner.key.bytes[:8], signed=True)
        security = self._transactions.security
        settings = (*security.for_owner(owner.key), f"SELECT pg_advisory_xact_lock({lock})")
        return self._transactions.runner.run(
            settings, lambda tx: work(_items(tx, owner, collection, now)), timeout=EXCLUSIVE_TIMEOUT
        )

    def page(
        self, owner: Owner, now: datetime, *, after: tuple[str, str, str] = ("", "", ""), limit: int
    ) -> list[tuple[str, StoredItem]]:
        return self._transactions.run(owner, lambda tx: _items(tx, owner, "", now).page(after, limit), repeatable=True)

    def sweep(self, owner: Owner, now: datetime) -> int:
        return self._transactions.run(owner, lambda tx: _items(tx, owner, "", now).sweep(), repeatable=True)


def _items(transaction: Transaction, owner: Owner, collection: str, now: datetime) -> SqlItems:
    def execute(statement: str, values: dict[str, Any]) -> Sequence[Row]:
        values["owner"] = owner.key
        cursor = transaction.send(spelled(statement), values, binary=True)
        return cursor.fetchall() if statement.lstrip().startswith("SELECT") or "RETURNING" in statement else ()

    return SqlItems(execute, collection, now, serial=False)


@lru_cache(maxsize=512)
def spelled(statement: str) -> str:
    """A statement as PostgreSQL and its driver read it."""
    return _PARAMETER.sub(r"%(\1)s", _TABLE.sub(r"ricordo.\1", statement))

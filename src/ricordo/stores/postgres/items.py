"""Adapter items: the statements of `ricordo.stores.items` in PostgreSQL's syntax, restricted to one owner.

Reads see one snapshot. Work that must not overlap between processes takes an advisory lock until the end of its
transaction. An owner's row is added with the first item, and deleted with the last if nothing else is stored.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeVar

from ricordo.records.service import StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.items import ADD_ITEM, PUT_ITEM, REMOVE, REMOVE_UNDER, SWEEP, SqlItems
from ricordo.stores.postgres.people import add_owner, delete_idle_owner, first_row, lock_owner
from ricordo.stores.postgres.transaction import PostgresPart, Row, Transaction
from ricordo.stores.service_protocols import ItemTransaction

T = TypeVar("T")

EXCLUSIVE_TIMEOUT = 60.0  # seconds for `exclusive`, whose work may write to other parts of the store
_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TABLE = re.compile(r"\{(\w+)\}")
_PARAMETER = re.compile(r"(?<!:):(\w+)")


class PostgresItems(PostgresPart):
    """`ItemStore` on PostgreSQL."""

    def read(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        settings = (_SNAPSHOT, *self._transactions.security.for_owner(owner.key))
        return self._transactions.runner.run(
            settings, lambda tx: work(_items(tx, owner, collection, now)), repeatable=True
        )

    def write(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        return self._run(owner, collection, now, work)

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
        return self._run(owner, "", now, lambda items: items.sweep())

    def _run(self, owner: Owner, collection: str, now: datetime, work: Callable[[SqlItems], T]) -> T:
        def script(transaction: Transaction) -> T:
            statements = _Statements(transaction, owner)
            result = work(SqlItems(statements.execute, collection, now, lock=statements.lock))
            if statements.has_deleted:
                delete_idle_owner(transaction, owner)
            return result

        return self._transactions.run(owner, script, repeatable=True)


class _Statements:
    """Sends the statements of one transaction."""

    def __init__(self, transaction: Transaction, owner: Owner) -> None:
        self._transaction, self._owner = transaction, owner
        self._has_owner = self.has_deleted = False

    def execute(self, statement: str, values: dict[str, Any]) -> Sequence[Row]:
        values["owner"] = self._owner.key
        if statement in (ADD_ITEM, PUT_ITEM) and not self._has_owner:
            self._has_owner = True
            first_row(add_owner(self._transaction, self._owner))
        if statement in (REMOVE, REMOVE_UNDER, SWEEP) and not self.has_deleted:
            self.has_deleted = True
            lock_owner(self._transaction, self._owner)
        cursor = self._transaction.send(spelled(statement), values, binary=True)
        return cursor.fetchall() if statement.lstrip().startswith("SELECT") or "RETURNING" in statement else ()

    def lock(self, collection: str) -> None:
        digest = blake2b(self._owner.key.bytes + collection.encode(), digest_size=8).digest()
        self._transaction.send("SELECT pg_advisory_xact_lock(%(key)s)", {"key": int.from_bytes(digest, signed=True)})


def _items(transaction: Transaction, owner: Owner, collection: str, now: datetime) -> SqlItems:
    return SqlItems(_Statements(transaction, owner).execute, collection, now)


@lru_cache(maxsize=512)
def spelled(statement: str) -> str:
    """A statement in the syntax of PostgreSQL and its driver."""
    return _PARAMETER.sub(r"%(\1)s", _TABLE.sub(r"ricordo.\1", statement))

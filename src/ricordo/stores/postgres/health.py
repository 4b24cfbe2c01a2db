"""What the server itself can tell about our tables: how large they are, and what is wrong with them.

In: a transaction. Out: bytes, or damages. The wall counts as part of a sound database: a table whose row-level
security was switched off is reported like a broken index.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from ricordo.records.reports import Damage
from ricordo.stores.postgres.pool import Pool
from ricordo.stores.postgres.transaction import Connection, Statements, Transaction
from ricordo.stores.turn_rows import misnamed

TABLES = (
    "owners", "sessions", "turns", "receipts", "passages", "topics", "blocks", "traces",
    "people", "facts", "summaries", "flags",
    "documents", "chunks", "api_keys", "jobs", "leases",
)  # fmt: skip

SIZE = """
    SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_catalog.pg_class
    WHERE relnamespace = 'ricordo'::regnamespace AND relkind = 'r'
"""

_PAGES = """
    SELECT checksum_failures FROM pg_catalog.pg_stat_database
    WHERE datname = current_database() AND checksum_failures > 0
"""

_INDEXES = """
    SELECT c.relname FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    WHERE c.relnamespace = 'ricordo'::regnamespace AND NOT i.indisvalid
"""

_CONSTRAINTS = """
    SELECT conname FROM pg_catalog.pg_constraint
    WHERE connamespace = 'ricordo'::regnamespace AND NOT convalidated
"""

_OPEN_TABLES = """
    SELECT name FROM unnest(%(tables)s::text[]) AS name
    WHERE NOT EXISTS (
        SELECT FROM pg_catalog.pg_class
        WHERE relnamespace = 'ricordo'::regnamespace AND relname = name
          AND relrowsecurity AND relforcerowsecurity)
"""


_OWNERS = "SELECT owner, tenant_id, user_id FROM ricordo.owners"


def wrong_keys(transaction: Transaction) -> tuple[Damage, ...]:
    """Owners whose key is not that of their names; asked behind the wall around names."""
    return tuple(misnamed((key.bytes, *names) for key, *names in transaction.send(_OWNERS, {})))


def damages(transaction: Transaction) -> tuple[Damage, ...]:
    """What the catalogue and the server's own counters find wrong."""
    pages = transaction.send(_PAGES, {})
    indexes = transaction.send(_INDEXES, {})
    constraints = transaction.send(_CONSTRAINTS, {})
    tables = transaction.send(_OPEN_TABLES, {"tables": list(TABLES)})
    return (
        *(Damage("database", f"{n} pages failed their checksum since the counters began") for (n,) in pages),
        *(Damage(f"index {name}", "is not valid; run REINDEX") for (name,) in indexes),
        *(Damage(f"constraint {name}", "was never validated; run VALIDATE CONSTRAINT") for (name,) in constraints),
        *(Damage(f"table {name}", "is missing or has no forced row-level security") for (name,) in tables),
    )


# The whole database as it was at one moment, for a backup that is made while others write.

T = TypeVar("T")

PATIENCE = 600.0  # seconds for one read of a backup
_FOR_GOOD = float("inf")


class Snapshot:
    """Runs reads inside one long transaction, moving the wall for each."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run(
        self,
        wall: Statements,
        work: Callable[[Transaction], T],
        *,
        repeatable: bool = False,
        patience: float | None = None,
    ) -> T:
        """The work's result; there is nothing to commit."""
        self._connection.deadline = monotonic() + PATIENCE
        with self._connection.pipeline() as pipeline:
            transaction = Transaction(self._connection, pipeline)
            transaction.within(wall)
            return work(transaction)


@contextmanager
def snapshot(pool: Pool) -> Iterator[Snapshot]:
    """Hold the present moment until the block ends."""
    with pool.lease(monotonic() + PATIENCE) as connection:
        connection.deadline = _FOR_GOOD
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield Snapshot(connection)
        finally:
            if not connection.closed:
                connection.rollback()

"""The whole database as it was at one moment, for a backup that is made while others write.

In: a connection. Out: a runner whose pieces of work all see the same moment; they can read and nothing else.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from ricordo.stores.postgres.pool import Pool
from ricordo.stores.postgres.transaction import Connection, Statements, Transaction

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

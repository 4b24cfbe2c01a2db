"""One transaction on one connection: local settings, a script, the commit.

In: a connection, settings and a function that sends statements. Out: what the function returns, or the error that
rolled everything back. The connection closes itself when the server has not answered by a deadline.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol, TypeVar

import psycopg

from ricordo.stores.turn_rows import ENDLESS

T = TypeVar("T")
Row = tuple[Any, ...]
Cursor = psycopg.Cursor[Row]
Statements = Sequence[str]


class RetryTransaction(psycopg.OperationalError):
    """Raised by a script that found concurrent changes: roll back and run it again."""


class ServerTimeout(psycopg.OperationalError):
    """The server did not answer in time."""


CONFLICTS = (
    RetryTransaction,
    psycopg.errors.SerializationFailure,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.UniqueViolation,
    psycopg.errors.ForeignKeyViolation,
)


class Connection(psycopg.Connection[Row]):
    """A connection that waits for its server until a deadline, then closes itself and raises `ServerTimeout`."""

    deadline: float = float("inf")
    fresh: bool = True
    committing: bool = False

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Run the generator of one exchange with the server."""
        try:
            return super().wait(self._until_deadline(gen), *args, **kwargs)
        except ServerTimeout:
            self.close()
            raise

    def _until_deadline(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        try:
            ready = yield next(gen)
            while True:
                if not ready and monotonic() > self.deadline:
                    raise ServerTimeout("no answer within the timeout")
                ready = yield gen.send(ready)
        except StopIteration as done:
            result: T = done.value
            return result


class Transaction:
    """What a script works with. Statements are pipelined: a cursor is filled when it is read, or at the end."""

    def __init__(self, connection: Connection, pipeline: psycopg.Pipeline) -> None:
        self._connection = connection
        self._pipeline = pipeline
        self.rolled_back = False

    def configure(self, settings: Statements) -> None:
        """Queue statements that are never prepared, since each names another owner."""
        cursor = self._connection.cursor()
        for statement in settings:
            cursor.execute(statement, prepare=False)

    def send(self, statement: str, values: Mapping[str, Any], *, binary: bool = False) -> Cursor:
        """Queue a statement; reading its cursor waits for it and for all that was queued before.

        `binary` rows travel as they are stored: bytes would be twice as long as text.
        """
        return self._connection.execute(statement, values, binary=binary)

    def send_many(self, statement: str, values: Sequence[Mapping[str, Any]]) -> None:
        """Queue a statement once per mapping."""
        if values:
            self._connection.cursor().executemany(statement, values)

    def count(self, cursor: Cursor) -> int:
        """How many rows a statement changed; waits for it."""
        self._pipeline.sync()
        return cursor.rowcount

    def rollback(self) -> None:
        """Roll back at the end instead of committing: the script found nothing to write."""
        self.rolled_back = True


class TransactionRunner(Protocol):
    """Runs scripts, each in a transaction with its settings: the pool, or a read-only snapshot."""

    def run(
        self,
        settings: Statements,
        script: Callable[[Transaction], T],
        *,
        repeatable: bool = False,
        timeout: float | None = None,
    ) -> T:
        """The script's result, once it is committed."""
        ...


def run_transaction(connection: Connection, settings: Statements, script: Callable[[Transaction], T]) -> T:
    """BEGIN, the settings, the script, COMMIT; statements whose results are not awaited travel in one batch."""
    connection.committing = False
    try:
        with connection.pipeline() as pipeline:
            transaction = Transaction(connection, pipeline)
            transaction.configure(("BEGIN", *settings))
            try:
                result = script(transaction)
                connection.committing = not transaction.rolled_back
                connection.execute("ROLLBACK" if transaction.rolled_back else "COMMIT")
            except psycopg.Error:
                with suppress(psycopg.Error):
                    pipeline.sync()  # statements queued behind the failure fail too; unread, the driver would log them
                raise
        return result
    except BaseException:
        with suppress(psycopg.Error):
            connection.rollback()
        raise


def as_bigint(number: int) -> int:
    """A parameter for a bigint column, limited to what that holds."""
    return max(0, min(number, ENDLESS))


def named(columns: str, row: Sequence[Any]) -> dict[str, Any]:
    """Parameters: the values of a row by the names of its columns."""
    return dict(zip(columns.split(", "), row, strict=True))

"""One transaction on one connection: the wall, a piece of work, the commit.

In: a connection, the wall's statements and a function that sends statements. Out: what the function returns, or the
error that undid everything. The connection gives up on a silent server at a deadline instead of waiting for ever.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol, TypeVar

import psycopg

T = TypeVar("T")
Row = tuple[Any, ...]
Cursor = psycopg.Cursor[Row]
Statements = Sequence[str]


class Again(psycopg.OperationalError):
    """Raised by a piece of work that saw the ground move: roll back and run it once more."""


class Overdue(psycopg.OperationalError):
    """The server has not answered in time."""


MET_ANOTHER = (
    Again,
    psycopg.errors.SerializationFailure,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.UniqueViolation,
    psycopg.errors.ForeignKeyViolation,
)


class Connection(psycopg.Connection[Row]):
    """A connection that waits for its server until a deadline, then closes itself and raises `Overdue`."""

    deadline: float = float("inf")
    fresh: bool = True
    committing: bool = False

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Consume the generator of one exchange with the server."""
        try:
            return super().wait(self._in_time(gen), *args, **kwargs)
        except Overdue:
            self.close()
            raise

    def _in_time(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        try:
            ready = yield next(gen)
            while True:
                if not ready and monotonic() > self.deadline:
                    raise Overdue("no answer within the timeout")
                ready = yield gen.send(ready)
        except StopIteration as done:
            result: T = done.value
            return result


class Transaction:
    """What a piece of work has in hand. A cursor is filled when it is read, or when the work is done."""

    def __init__(self, connection: Connection, pipeline: psycopg.Pipeline) -> None:
        self._connection = connection
        self._pipeline = pipeline
        self.abandoned = False

    def within(self, wall: Statements) -> None:
        """Queue statements that are never prepared, since each names another owner."""
        cursor = self._connection.cursor()
        for statement in wall:
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

    def abandon(self) -> None:
        """Roll back at the end: the work has found that there is nothing to keep."""
        self.abandoned = True


class Runner(Protocol):
    """Runs pieces of work, each behind its wall: the pool, or a snapshot for reading alone."""

    def run(
        self,
        wall: Statements,
        work: Callable[[Transaction], T],
        *,
        repeatable: bool = False,
        patience: float | None = None,
    ) -> T:
        """The work's result, once it is committed."""
        ...


def transact(connection: Connection, wall: Statements, work: Callable[[Transaction], T]) -> T:
    """BEGIN, the wall, the work, COMMIT; what is sent without waiting for an answer travels in one go."""
    connection.committing = False
    try:
        with connection.pipeline() as pipeline:
            transaction = Transaction(connection, pipeline)
            transaction.within(("BEGIN", *wall))
            try:
                result = work(transaction)
                connection.committing = not transaction.abandoned
                connection.execute("ROLLBACK" if transaction.abandoned else "COMMIT")
            except psycopg.Error:
                with suppress(psycopg.Error):
                    pipeline.sync()  # what was queued behind the failure fails too: unread, the driver would log it
                raise
        return result
    except BaseException:
        with suppress(psycopg.Error):
            connection.rollback()
        raise

"""One transaction on one connection: local settings, a script, the commit.

In: a connection, settings and a function that sends statements. Out: what the function returns, or the error that
rolled everything back. The connection closes itself when the server has not answered by a deadline.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from time import monotonic
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar
from uuid import UUID

import psycopg

from ricordo.errors import StoreError
from ricordo.records.turns import Owner
from ricordo.stores.turn_rows import ENDLESS

if TYPE_CHECKING:
    from ricordo.stores.postgres.replica import ReadReplica

P = ParamSpec("P")
T = TypeVar("T")
Row = tuple[Any, ...]
Cursor = psycopg.Cursor[Row]
Statements = Sequence[str]


class RetryTransaction(psycopg.OperationalError):
    """Raised by a script that found concurrent changes: roll back and run it again."""


class ServerTimeout(psycopg.OperationalError):
    """The server did not answer in time."""


class CommitInDoubt(psycopg.OperationalError):
    """The server reported a commit, but a worker behind it did not confirm it."""


# Warnings of Citus with a successful COMMIT, if the worker with the rows dies during the commit.
_UNCONFIRMED = ("failed to commit transaction on ", "connection to the remote node ")

CONFLICTS = (
    RetryTransaction, psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected,
    psycopg.errors.UniqueViolation, psycopg.errors.ForeignKeyViolation,
)  # fmt: skip


class Connection(psycopg.Connection[Row]):
    """A connection that waits for its server until a deadline, then closes itself and raises `ServerTimeout`."""

    deadline: float = float("inf")
    fresh: bool = True
    committing: bool = False
    in_doubt: str = ""
    prepared: frozenset[str] = frozenset()
    rolled_back: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.add_notice_handler(self._note_doubt)

    def _note_doubt(self, notice: psycopg.errors.Diagnostic) -> None:
        message = notice.message_primary or ""
        if self.committing and message.startswith(_UNCONFIRMED):
            self.in_doubt = message

    def fetch(self, statement: str, values: Mapping[str, Any]) -> list[Row]:
        """The rows of one prepared statement; preparing it takes no extra round trip."""
        if statement in self.prepared and not self.rolled_back:
            return self.execute(statement, values, prepare=True, binary=True).fetchall()
        with self.pipeline():  # after a rollback the driver deallocates prepared statements with the next statement
            cursor = self.execute(statement, values, prepare=not self.rolled_back, binary=True)
        self.prepared = frozenset() if self.rolled_back else self.prepared | {statement}
        self.rolled_back = False
        return cursor.fetchall()

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
    """A transaction for a script. Statements are pipelined: a cursor is filled when it is read, or at the end."""

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

        `binary` is for rows with bytes, which would be twice as long as text.
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
        """Roll back at the end instead of committing, because there is nothing to write."""
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
        resolve: bool = True,
    ) -> T:
        """The script's result, once it is committed."""
        ...


def run_transaction(connection: Connection, settings: Statements, script: Callable[[Transaction], T]) -> T:
    """BEGIN, the settings, the script, COMMIT; statements whose results are not awaited travel in one batch."""
    connection.committing, connection.in_doubt = False, ""
    try:
        with connection.pipeline() as pipeline:
            transaction = Transaction(connection, pipeline)
            transaction.configure(("BEGIN", *settings))
            try:
                result = script(transaction)
                connection.committing = not transaction.rolled_back
                connection.rolled_back |= transaction.rolled_back
                connection.execute("ROLLBACK" if transaction.rolled_back else "COMMIT")
            except psycopg.Error:
                with suppress(psycopg.Error):
                    pipeline.sync()  # later statements fail too; their errors are read, or the driver would log them
                raise
        if connection.in_doubt:
            raise CommitInDoubt(connection.in_doubt)
        return result
    except BaseException:
        connection.rolled_back = True
        with suppress(psycopg.Error):
            connection.rollback()
        raise


def as_bigint(number: int) -> int:
    """A parameter for a bigint column, limited to what that holds."""
    return max(0, min(number, ENDLESS))


def named(columns: str, row: Sequence[Any]) -> dict[str, Any]:
    """Parameters: the values of a row by the names of its columns."""
    return dict(zip(columns.split(", "), row, strict=True))


ROLE = "ricordo_app"
LONG_TIMEOUT = 600.0  # seconds for scripts whose size the caller chose: imports, erasures, statistics


@dataclass(frozen=True, slots=True)
class ConnectedRole:
    """The role that connects: whether it bypasses row-level security, and whether it may become `ricordo_app`.

    On Citus it may if `ricordo_app` can log in, and an ordinary role with rights of its own need not.
    """

    name: str
    bypasses: bool
    may_assume: bool
    citus: bool = False


@dataclass(frozen=True, slots=True)
class RowSecurity:
    """The settings of a transaction; `role` is None where row-level security applies to the connecting role itself.

    The role is assumed in every transaction, unless the connections keep it (`kept`), as they do without a pooler.
    """

    role: str | None
    citus: bool = False
    kept: bool = False

    def for_owner(self, owner: UUID) -> tuple[str, ...]:
        """Only this owner's rows."""
        return self._settings("ricordo.owner", str(UUID(int=owner.int)))

    def for_tenant(self, tenant_id: str) -> tuple[str, ...]:
        """Only the names of this tenant's users, its API keys and jobs."""
        return self._settings("ricordo.tenant", tenant_id)

    def for_digest(self, digest: str) -> tuple[str, ...]:
        """Only the API key with this digest."""
        return self._settings("ricordo.digest", digest)

    def for_workers(self) -> tuple[str, ...]:
        """The jobs of all owners, to be leased."""
        return self._settings("ricordo.worker", "on")

    def for_statistics(self, tenant_id: str) -> tuple[str, ...]:
        """Rows of all owners that are counted, and the names of this tenant's users to count by."""
        # The planner expects few rows to pass a policy, and would look up every owner separately.
        hashed = ("SET LOCAL enable_nestloop = off", "SET LOCAL work_mem = '64MB'")
        return (*self.for_tenant(tenant_id), "SET LOCAL ricordo.statistics = 'on'", *hashed)

    def for_backup(self) -> tuple[str, ...]:
        """The names of all users, and all API keys."""
        return self._settings("ricordo.backup", "on")

    def _settings(self, setting: str, value: str) -> tuple[str, ...]:
        scope = f"SET LOCAL {setting} = {quoted(value)}"
        role = (f"SET LOCAL ROLE {self.role}",) if self.role and not self.kept else ()
        reach = ("SET LOCAL citus.propagate_set_commands = 'local'",) if self.citus else ()
        return (*reach, scope, *role)


def quoted(value: str) -> str:
    """A text literal that is independent of the server's settings for backslashes."""
    doubled = value.replace("'", "''").replace("\\", "\\\\")
    return f"E'{doubled}'"


def row_security_for(role: ConnectedRole, *, required: bool) -> RowSecurity:
    """Assume the application role where possible; otherwise refuse a role that bypasses row-level security."""
    if role.may_assume:
        return RowSecurity(ROLE, role.citus)
    if role.bypasses and required:
        raise StoreError(
            f"the role {role.name!r} bypasses row-level security and cannot assume {ROLE!r}, so one user's rows would "
            f"not be separated from another's; run GRANT {ROLE} TO {role.name}, connect as an ordinary role, or pass "
            "require_wall=False to continue without row-level security"
            + (f"; on distributed tables {ROLE} must be able to log in: run ricordo postgres distribute" * role.citus)
        )
    return RowSecurity(None, role.citus)


# Runs one statement that names its owner itself, and commits; for connections that keep their role.
Fetch = Callable[..., list[Row]]


class OwnerTransactions:
    """Runs the scripts of all parts of a store, each in a transaction restricted by row-level security."""

    def __init__(
        self,
        runner: TransactionRunner,
        security: RowSecurity,
        fetch: Fetch | None = None,
        replica: "ReadReplica | None" = None,
    ) -> None:
        self.runner = runner
        self.security = security
        self.fetch = fetch
        self.replica = replica

    def run(
        self,
        owner: Owner,
        script: Callable[[Transaction], T],
        *,
        repeatable: bool = False,
        timeout: float | None = None,
    ) -> T:
        """The script's result, once it is committed; it sees one owner's rows."""
        try:
            return self.runner.run(self.security.for_owner(owner.key), script, repeatable=repeatable, timeout=timeout)
        finally:
            self.note_write(owner.key)

    def note_write(self, owner: UUID) -> None:
        """Read this owner's rows from the primary, until a replica has what was written."""
        if self.replica:
            self.replica.note_write(owner)

    def run_long(self, owner: Owner, script: Callable[[Transaction], T]) -> T:
        """`run` for a script that may run twice without harm, and may take long."""
        return self.run(owner, script, repeatable=True, timeout=LONG_TIMEOUT)

    def read(self, owner: Owner, statement: str, **values: Any) -> list[Row]:
        """The rows of one statement, in one round trip."""
        return self.read_with(self.security.for_owner(owner.key), statement, owner=owner.key, **values)

    def read_lagging(self, owner: Owner, statement: str, **values: Any) -> list[Row]:
        """`read` from a replica, if there is one; it may miss what other programs wrote within its lag."""
        rows = self.replica.read(owner, statement, {"owner": owner.key, **values}) if self.replica else None
        return self.read(owner, statement, **values) if rows is None else rows

    def read_with(self, settings: Statements, statement: str, **values: Any) -> list[Row]:
        """The rows of a statement under the given settings."""
        return self.runner.run(settings, lambda tx: tx.send(statement, values, binary=True), repeatable=True).fetchall()


class PostgresPart:
    """A part of the store: its methods are reads and scripts."""

    def __init__(self, transactions: OwnerTransactions) -> None:
        self._transactions = transactions


S = TypeVar("S", bound=PostgresPart)
OwnerMethod = Callable[Concatenate[S, Owner, P], T]


def script(
    *, repeatable: bool = False, timeout: float | None = None
) -> Callable[[Callable[Concatenate[S, Transaction, Owner, P], T]], OwnerMethod[S, P, T]]:
    """A method that runs in a transaction which sees its owner's rows; callers leave out the transaction."""

    def run_by(method: Callable[Concatenate[S, Transaction, Owner, P], T]) -> OwnerMethod[S, P, T]:
        @wraps(method)
        def call(self: S, owner: Owner, /, *args: P.args, **kwargs: P.kwargs) -> T:
            def work(transaction: Transaction) -> T:
                return method(self, transaction, owner, *args, **kwargs)

            return self._transactions.run(owner, work, repeatable=repeatable, timeout=timeout)

        return call

    return run_by


long_script = script(repeatable=True, timeout=LONG_TIMEOUT)

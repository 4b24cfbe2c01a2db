"""The connection pool: a few connections, each used by one transaction at a time.

In: a script and the settings that restrict it to its owner. Out: its result, after the commit. What a script sends
before it needs a result travels in one batch with BEGIN, the settings and COMMIT, so that a read is one round trip. An
unreachable server fails the call at once; no background thread reconnects, the next call does.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from math import ceil
from threading import Lock, Semaphore
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper

from ricordo.errors import SettingsError, StoreError, StoreUnavailable
from ricordo.stores.postgres.transaction import (
    CONFLICTS,
    CommitInDoubt,
    Connection,
    Row,
    ServerTimeout,
    Statements,
    Transaction,
    run_transaction,
)

T = TypeVar("T")

ATTEMPTS = 30  # for a transaction that conflicts with others, within its timeout; in each conflict one of them commits
SNAPSHOT_TIMEOUT = 600.0  # seconds for one read of a backup
MOST_OF_AN_OPTION = 100_000
_NUMBERS: dict[str, Callable[[str], float]] = {
    "pool_size": int,
    "timeout": float,
    "prepare_threshold": int,
    "read_lag": float,
}
_OPTIONS = {*_NUMBERS, "read_url"}
_inherited: list[Connection] = []  # connections of a parent process: neither used nor closed here


class ConnectionPool:
    """At most `size` connections, opened when needed and kept for the next transaction."""

    def __init__(self, url: str, *, size: int, timeout: float, prepare_threshold: int | None) -> None:
        self.location, self._settings = read_url(url)
        self._size, self._timeout = size, timeout
        self._prepare_threshold = prepare_threshold
        self._role: str | None = None
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._slots = Semaphore(self._size)
        self._idle: deque[Connection] = deque()
        self._lock = Lock()

    def run(
        self,
        settings: Statements,
        script: Callable[[Transaction], T],
        *,
        repeatable: bool = False,
        timeout: float | None = None,
        resolve: bool = True,
    ) -> T:
        """Run the script in a transaction; run it again after a conflict, or if its idle connection was dead.

        A `repeatable` script may run again even if the connection was lost during COMMIT. `timeout` is in seconds, for
        scripts whose size the caller chose. Without `resolve` a conflict is raised at once.
        """
        work = partial(run_transaction, settings=settings, script=script)
        return self._retried(work, repeatable=repeatable, timeout=timeout, resolve=resolve)

    def fetch(self, statement: str, values: Mapping[str, Any], *, resolve: bool = True) -> list[Row]:
        """The rows of one statement that is a transaction of its own and may be repeated."""

        def work(connection: Connection) -> list[Row]:
            connection.committing, connection.in_doubt = True, ""
            rows = connection.fetch(statement, values)
            if connection.in_doubt:
                raise CommitInDoubt(connection.in_doubt)
            return rows

        return self._retried(work, repeatable=True, timeout=None, resolve=resolve)

    def adopt(self, role: str, connection: Connection) -> None:
        """Assume a role in this connection and in every later one."""
        self._role = role
        connection.execute(f"SET ROLE {role}")

    def stop_preparing(self, connection: Connection) -> None:
        """Prepare no more statements: behind a pooler each transaction may have another server process."""
        self._prepare_threshold = connection.prepare_threshold = None

    def _retried(self, work: Callable[[Connection], T], *, repeatable: bool, timeout: float | None, resolve: bool) -> T:
        deadline = monotonic() + (timeout or self._timeout)
        for attempts_left in reversed(range(ATTEMPTS)):
            with self.lease(deadline) as connection:
                try:
                    return work(connection)
                except CONFLICTS:
                    if not attempts_left or not resolve:
                        raise
                except psycopg.OperationalError as error:
                    # An idle connection may be dead although the server is reachable again.
                    if connection.fresh or not connection.closed or isinstance(error, ServerTimeout):
                        raise
                    if connection.committing and not repeatable:
                        raise
                    self._drop_idle()
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def lease(self, deadline: float) -> Iterator[Connection]:
        """A connection for the length of the block; errors of the driver are raised as `StoreError`."""
        if self._process != os.getpid():
            _inherited.extend(self._idle)
            self._start()
        if self._closed:
            raise StoreError(f"{self.location} was closed; open it again")
        slots = self._slots
        if not slots.acquire(timeout=max(0.0, deadline - monotonic())):
            raise StoreUnavailable(
                f"all {self._size} connections to {self.location} are in use; try again or raise pool_size"
            )
        try:
            connection = self._take(deadline)
            try:
                connection.deadline = deadline
                yield connection
            finally:
                self._return(connection)
        except (psycopg.Error, UnicodeError) as error:
            raise self._translated(error) from error
        finally:
            slots.release()

    def close(self) -> None:
        """Close idle connections now, and the others when they are returned."""
        self._closed = True
        if self._process == os.getpid():
            self._drop_idle()

    def _take(self, deadline: float) -> Connection:
        with self._lock:
            if self._idle:
                connection = self._idle.pop()
                connection.fresh = False
                return connection
        settings = {"connect_timeout": max(1, ceil(deadline - monotonic())), **self._settings}
        connection = Connection.connect(**settings, autocommit=True, prepare_threshold=self._prepare_threshold)
        connection.adapters.register_dumper(int, Int8Dumper)  # one type, so that a statement is prepared once
        if self._role:
            connection.execute(f"SET ROLE {self._role}")
        return connection

    def _return(self, connection: Connection) -> None:
        clean = not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        if clean and not self._closed:
            with self._lock:
                self._idle.append(connection)
        else:
            connection.close()

    def _drop_idle(self) -> None:
        with self._lock:
            dropped, self._idle = self._idle, deque()
        for connection in dropped:
            with suppress(psycopg.Error):
                connection.close()

    def _translated(self, error: Exception) -> StoreError:
        """The `StoreError` for an error of the driver: the server's first line, never the values that were sent."""
        lines = (isinstance(error, psycopg.Error) and error.diag.message_primary) or str(error)
        reason = lines.strip().partition("\n")[0]
        unavailable = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
        if isinstance(error, unavailable):
            return StoreUnavailable(f"{self.location} is away or busy ({reason}); try again later")
        if isinstance(error, UnicodeError):
            reason = "the text is not valid Unicode"
        return StoreError(f"{self.location} refused: {reason}")


def is_pooled(connection: Connection) -> bool:
    """Whether there is a pooler: the server process of a statement is not the one that the connection announced."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return row != (connection.info.backend_pid,)


class Snapshot:
    """Runs reads inside one long transaction, with new settings for each."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run(self, settings: Statements, script: Callable[[Transaction], T], **_: Any) -> T:
        """The script's result; there is nothing to commit."""
        self._connection.deadline = monotonic() + SNAPSHOT_TIMEOUT
        with self._connection.pipeline() as pipeline:
            transaction = Transaction(self._connection, pipeline)
            transaction.configure(settings)
            return script(transaction)


@contextmanager
def snapshot(pool: ConnectionPool) -> Iterator[Snapshot]:
    """The database as it is now, until the block ends: for a backup that is made while others write."""
    with pool.lease(monotonic() + SNAPSHOT_TIMEOUT) as connection:
        connection.deadline = float("inf")
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield Snapshot(connection)
        finally:
            with suppress(psycopg.Error):  # if the server is lost after the last read, the backup is complete
                connection.rollback()


def options_of(url: str) -> dict[str, Any]:
    """The options of the store among the parameters of a URL: numbers, and the URL of a replica."""
    found: dict[str, Any] = {}
    for name, _, value in (part.partition("=") for part in url.partition("?")[2].split("&")):
        try:
            if name == "prepare_threshold" and value.lower() == "none":
                found[name] = None
            elif name == "read_url":
                found[name] = unquote(value)
            elif name in _NUMBERS:
                found[name] = _NUMBERS[name](value)
                if not 0 < found[name] <= MOST_OF_AN_OPTION:
                    raise ValueError
        except ValueError:
            raise SettingsError("store", f"{name} in the URL is {value!r}; expected a number above 0") from None
    return found


def _without_options(url: str) -> str:
    base, _, query = url.partition("?")
    kept = [part for part in query.split("&") if part and part.partition("=")[0] not in _OPTIONS]
    return f"{base}?{'&'.join(kept)}" if kept else base


def read_url(url: str) -> tuple[str, dict[str, Any]]:
    """Where the database is, without secrets, and the driver's settings."""
    try:
        settings: dict[str, Any] = conninfo_to_dict(_without_options(url))
    except psycopg.Error:  # its message quotes the URL with the password
        raise SettingsError(
            "store", "the PostgreSQL URL cannot be read; expected postgresql://user:password@host:port/database"
        ) from None
    settings.setdefault("application_name", "ricordo")
    if "," in settings.get("host", ""):  # a primary and its replicas: the one that takes writes
        settings.setdefault("target_session_attrs", "read-write")
    user, host = quote(settings.get("user", ""), safe=""), quote(settings.get("host", ""), safe=",")
    port = f":{settings['port']}" if str(settings.get("port", "")).strip(",") else ""
    name = quote(settings.get("dbname", ""), safe="")
    return f"postgresql://{user}{'@' if user else ''}{host}{port}/{name}", settings

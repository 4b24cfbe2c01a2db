"""Reads that tolerate a lag, from a replica: the parameters `read_url` and `read_lag` of a URL.

In: the pool of the primary and the URL of a replica. Out: rows of the replica, or None if the primary must be read. The
replica is used while it has everything that was committed `read_lag` seconds ago: a check asks the primary for the
position of its log, and waits until the replica has reached it. Owners that this program wrote since then are read from
the primary, so that a program always finds its own writes. Checks run in a thread, and no call waits for one.
"""

from collections.abc import Mapping
from dataclasses import replace
from threading import Thread
from time import monotonic, sleep
from typing import Any
from uuid import UUID

from ricordo.errors import StoreError
from ricordo.records.turns import Owner
from ricordo.stores.postgres.pool import ConnectionPool
from ricordo.stores.postgres.transaction import Row, RowSecurity

READ_LAG = 2.0  # seconds
RETRY = 5.0  # seconds before a replica that is away is asked again
NOTED_OWNERS = 10_000
_CHECKS = 20  # of the replica, within one lag

# The replica must be one of this database: the same cluster, and the same name in it.
_PLACE = "(SELECT system_identifier FROM pg_catalog.pg_control_system()), current_database()"
_WRITTEN = f"SELECT pg_catalog.pg_current_wal_lsn()::text, {_PLACE}"
_REPLAYED = f"SELECT pg_catalog.pg_last_wal_replay_lsn() >= %(written)s::pg_lsn, {_PLACE}"


class ReadReplica:
    """A replica of the primary, and its state: `ok`, `behind` or `away`."""

    def __init__(
        self, primary: ConnectionPool, replica: ConnectionPool, security: RowSecurity, *, lag: float, timeout: float
    ) -> None:
        self._primary = primary
        self._pool = replica
        self._security = replace(security, kept=False)  # the replica may have a pooler even if the primary has none
        self._lag, self._timeout = lag, timeout
        self._state = "away"
        self._fresh_until = 0.0
        self._next = 0.0
        self._written: dict[UUID, float] = {}

    def state(self) -> str:
        """The result of the last check; starts a new one if it is due."""
        if monotonic() >= self._next:
            self._next = monotonic() + max(self._lag, self._timeout)
            Thread(target=self.check, daemon=True).start()
        return self._state

    def note_write(self, owner: UUID) -> None:
        """Note that this program wrote data of an owner, which the replica may not have yet."""
        now = monotonic()
        if len(self._written) >= NOTED_OWNERS:
            self._written = {key: at for key, at in list(self._written.items()) if at > now - self._lag}
        self._written[owner] = now

    def read(self, owner: Owner, statement: str, values: Mapping[str, Any]) -> list[Row] | None:
        """The rows of a statement; None if the replica is away, too far behind, or lacks a write of this program."""
        self.state()
        now = monotonic()
        if now >= self._fresh_until or self._written.get(owner.key, -self._lag) > now - self._lag:
            return None
        settings = self._security.for_owner(owner.key)
        try:
            return self._pool.run(
                settings, lambda tx: tx.send(statement, values, binary=True), repeatable=True
            ).fetchall()
        except StoreError:
            self._forget("away")
            return None

    def check(self) -> None:
        """Ask the primary for its log position, and the replica until it has reached it or the lag is over."""
        asked = monotonic()
        try:
            ((written, *place),) = self._primary.run((), lambda tx: tx.send(_WRITTEN, {}), repeatable=True).fetchall()
        except StoreError:  # then it is unknown what the replica lacks
            self._next = monotonic() + RETRY
            return
        try:
            while monotonic() < asked + self._lag:
                rows = self._pool.run((), lambda tx: tx.send(_REPLAYED, {"written": written}), repeatable=True)
                ((replayed, *there),) = rows.fetchall()
                if replayed is None or there != place:  # another database, or one that was promoted
                    self._forget("away")
                    return
                if replayed:
                    self._state, self._fresh_until, self._next = "ok", asked + self._lag, asked + self._lag / 2
                    return
                sleep(self._lag / _CHECKS)
            self._state, self._next = "behind", 0.0
        except StoreError:
            self._forget("away")

    def close(self) -> None:
        self._pool.close()

    def _forget(self, state: str) -> None:
        self._state, self._fresh_until, self._next = state, 0.0, monotonic() + RETRY

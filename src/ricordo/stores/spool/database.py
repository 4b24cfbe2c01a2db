"""What the parts of a spooled store share: the connection, the spool, the caches, and calls that combine them.

In: a call of a part. Out: the database's answer, or a cached one while the database is away. A call that must not
overtake spooled writes waits until these are stored.
"""

import logging
import os
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from typing import TypeVar

from ricordo.errors import StoreError, StoreUnavailable
from ricordo.records.service import SpoolState
from ricordo.records.turns import Owner, SessionInfo, log_details
from ricordo.stores.protocols import Store
from ricordo.stores.spool.cache import LastKnownValues, RecentTurns
from ricordo.stores.spool.circuit_breaker import CircuitBreaker, SpoolTimeouts
from ricordo.stores.spool.connection import CallAbandoned, StoreConnection, no_fallback
from ricordo.stores.spool.pending_writes import CallInProgress
from ricordo.stores.spool.spool import Spool
from ricordo.stores.spool.writes import Scope, Write

T = TypeVar("T")
log = logging.getLogger("ricordo")


class SpooledDatabase:
    """The database behind a spool."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        open_probe: Callable[[], Store] | None,
        spool: Spool,
        recent: RecentTurns,
        timeouts: SpoolTimeouts,
        location: str,
    ) -> None:
        self.connection = StoreConnection(open_store, open_probe, timeouts, self.breaker_changed)
        self.spool, self.recent, self.timeouts = spool, recent, timeouts
        self.last_known = LastKnownValues()
        self.process, self.closed = os.getpid(), False
        self._location = location
        self._away_since: datetime | None = None
        self._last_error = ""

    @property
    def location(self) -> str:
        """Where the data is; a fixed text until the store could be opened."""
        return self.connection.store.location if self.connection.store else self._location

    @property
    def state(self) -> SpoolState:
        """Whether the database is away, since when, and how much is spooled."""
        away, depth = not self.connection.breaker.is_closed, self.spool.pending.depth
        return SpoolState(
            degraded=away or depth > 0, away=away, since=self._away_since if away or depth else None, depth=depth,
            bytes=self.spool.segments.size, refused=self.spool.refusals,
            last_error=self.spool.last_refusal or self._last_error,
        )  # fmt: skip

    def check_open(self) -> None:
        """StoreError if the store was closed, or opened before a fork."""
        if self.closed:
            raise StoreError(f"{self.location} was closed; open it again")
        if self.process != os.getpid():
            raise StoreError(f"{self.location} was opened before this process was forked; open it again in the child")

    def call(self, work: Callable[[Store], T], has_fallback: Callable[[], bool] = no_fallback) -> T:
        """The database's answer, or StoreUnavailable within a bounded time."""
        return self.connection.call(work, has_fallback)

    def call_or_last(self, owner: Owner, question: Hashable, work: Callable[[Store], T], empty: T | None = None) -> T:
        """The database's answer; while it is away, the last answer to the same `question`.

        In `without_waiting`, a value that was never read is `empty`, and the chat continues without it.
        """
        since = self.last_known.version
        try:
            answer = self.call(work, lambda: bool(self.last_known.get(owner, question)))
        except StoreUnavailable:
            for last in self.last_known.get(owner, question):
                return last  # type: ignore[no-any-return]
            if empty is not None and not self.connection.waits:
                return empty
            raise
        self.last_known.note(owner, question, answer, since=since)
        return answer

    def call_after_spool(self, work: Callable[[Store], T], owner: Owner, session_id: str | None = None) -> T:
        """The answer of a call that may take long and must not overtake spooled writes."""
        self.wait_until_stored(owner, session_id)
        return self.connection.call_here(work)

    def wait_until_stored(self, owner: Owner, session_id: str | None = None) -> None:
        """Wait until no write of the owner, or of the session, is pending; StoreUnavailable if that takes too long."""
        pending = self.spool.pending

        def all_stored() -> bool:
            return not (pending.has_any_of(owner) if session_id is None else pending.has((owner, session_id)))

        if all_stored():
            return
        if self.connection.waits:
            pending.wait_for(lambda: all_stored() or not self.connection.breaker.is_closed, self.timeouts.drain)
        if not all_stored():
            raise StoreUnavailable("spooled writes are pending, which this call must not overtake; try again later")

    def wait_past_spool(self, scope: Scope) -> bool:
        """Wait, also in a chat, until no write of a session is pending, because the spool has no room for more."""
        if not self.connection.breaker.is_closed:
            return False
        return self.spool.pending.wait_for_session(
            scope, lambda: not self.connection.breaker.is_closed, self.timeouts.drain
        )

    def cached_fields(self, scope: Scope) -> SessionInfo | None:
        """A session's fields without the database, pending writes included."""
        with self.spool.pending.lock(scope):
            if self.spool.pending.has(scope):
                return self.spool.provisional.session(scope)
        cached = self.recent.get(*scope)
        return cached.described() if cached else None

    def forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Drop what is cached of a session, or of an owner."""
        self.recent.forget(owner, session_id)
        self.last_known.forget(owner)

    def write_failed(self, write: Write, error: StoreUnavailable, *, sent: bool) -> None:
        """Log a write that is spooled: as a warning if it was in progress when the database went away."""
        self._last_error = str(error)
        log.log(
            logging.WARNING if sent else logging.DEBUG,
            "the database is away, a write is spooled: %s",
            error,
            extra={**log_details(write.operation, *write.scope), "cause": str(error)},
        )

    def breaker_changed(self, breaker: CircuitBreaker) -> None:
        """Log that the database went away or is back, and wake waiting threads."""
        depth = self.spool.pending.depth
        details = {"operation": "spool", "depth": depth, "cause": breaker.cause}
        if breaker.is_closed:
            log.info("the database answers again; %d spooled writes are pending", depth, extra=details)
        else:
            self._last_error = breaker.cause
            if self._away_since is None or not depth:
                self._away_since = datetime.now(UTC)
            log.warning("the database is away: %s", breaker.cause, extra=details)
        self.spool.pending.wake()


def call_left_by(error: StoreUnavailable) -> CallInProgress | None:
    """The call that is still in progress after an error."""
    return CallInProgress(error.call) if isinstance(error, CallAbandoned) else None

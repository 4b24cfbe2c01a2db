"""Sending spooled writes to the database: the oldest first, one at a time, each until it is stored or refused.

In: a spool and a connection that may fail at any moment. Out: an empty spool. A write whose own call was abandoned is
not sent before that call has ended: so the same write is never sent twice at once, and not at all if it succeeded.
"""

import logging
from threading import Lock, Thread

from ricordo.errors import StoreUnavailable
from ricordo.records.turns import SessionInfo, Turn
from ricordo.stores.spool.connection import CallAbandoned, StoreConnection
from ricordo.stores.spool.pending_writes import CallInProgress, PendingWrite
from ricordo.stores.spool.spool import Spool

log = logging.getLogger("ricordo")

ADOPT_INTERVAL = 5.0  # idle seconds between searches for files of processes that died
RETRY_INTERVAL = 1.0  # seconds before a refused write is set aside again, as on a full disk
CALL_CHECK = 0.05  # seconds to wait for a call in progress, before the breaker is checked again


class Replay:
    """A thread that empties the queue while the breaker is closed."""

    def __init__(self, spool: Spool, connection: StoreConnection) -> None:
        self._spool, self._pending, self._connection = spool, spool.pending, connection
        self._stopped = False
        self.sending = Lock()  # held while a write is sent; an erasure takes it, so that none is
        self._thread = Thread(target=self._run, name="ricordo-replay", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the current write and stop."""
        self._stopped = True
        self._pending.wake()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            if not self._pending.wait_for(lambda: self._stopped or self._ready(), ADOPT_INTERVAL):
                self._adopt()
                continue
            if self._stopped:
                return
            while self._ready() and not self._stopped:
                first = self._pending.first()
                if first is None or (first.call and first.call.pending(CALL_CHECK)):
                    continue
                with self.sending:
                    self._send_first()

    def _adopt(self) -> None:
        """Take over the files of processes that died meanwhile."""
        try:
            self._spool.adopt()
        except OSError as error:
            log.error("spool files of other processes cannot be read: %s", error, extra={"operation": "adopt"})

    def _ready(self) -> bool:
        return self._pending.depth > 0 and self._connection.breaker.is_closed

    def _send_first(self) -> None:
        pending = self._pending.first()
        if pending is None or (pending.call and pending.call.pending()):
            return
        if self._spool.was_erased(pending):
            self._spool.forget(pending.scope[0])
            return
        done = pending.call.result if pending.call else None
        if isinstance(done, Turn | SessionInfo):
            self._spool.stored(pending, done)
            return
        write, maybe_stored = pending.record.write, pending.maybe_stored
        pending.sent, pending.call = True, None
        try:
            result = self._connection.call(lambda store: write.apply(store, maybe_stored=maybe_stored))
        except CallAbandoned as abandoned:
            pending.call = CallInProgress(abandoned.call)
        except StoreUnavailable:
            return  # it stays the first
        except Exception as error:
            if not self._stopped:  # a store that was closed meanwhile refuses nothing for good
                self._set_aside(pending, error)
        else:
            self._spool.stored(pending, result)

    def _set_aside(self, pending: PendingWrite, cause: Exception) -> None:
        try:
            self._spool.set_aside(pending, cause)
        except OSError as error:
            log.error("a refused write cannot be set aside: %s", error, extra={"operation": "replay"})
            self._pending.wait_for(lambda: self._stopped, RETRY_INTERVAL)

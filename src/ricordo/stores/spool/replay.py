"""Giving the database what waited for it: the oldest first, one after the other, each until it is stored or refused.

In: a spool and a line that may break at any moment. Out: a spool in which nothing is left but what came since. A write
whose own call was left under way is not sent before that call has ended: nobody else is still writing the same, and
if it was done after all there is nothing to send.
"""

import logging
from threading import Lock, Thread

from ricordo.errors import StoreUnavailable
from ricordo.records.turns import SessionInfo, Turn
from ricordo.stores.spool.connection import Left, StoreConnection
from ricordo.stores.spool.pending_writes import UnderWay, Waiting
from ricordo.stores.spool.spool import Spool

log = logging.getLogger("ricordo")

ROUND = 5.0  # seconds of quiet after which spools that others have left are looked for
PAUSE = 1.0  # seconds before trying again to put a refused write aside, as on a full disk
MOMENT = 0.05  # seconds for a call that is under way, before looking whether the line still holds


class Replay:
    """A thread that empties the backlog while the line holds."""

    def __init__(self, spool: Spool, line: StoreConnection) -> None:
        self._spool, self._backlog, self._line = spool, spool.backlog, line
        self._stopped = False
        self.sending = Lock()  # held while an entry is on its way; taken by whoever must know that none is
        self._thread = Thread(target=self._run, name="ricordo-replay", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the entry at hand and begin no other."""
        self._stopped = True
        self._backlog.wake()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            if not self._backlog.wait_for(lambda: self._stopped or self._ready(), ROUND):
                self._adopt()
                continue
            if self._stopped:
                return
            while self._ready() and not self._stopped:
                first = self._backlog.first()
                if first is None or (first.under_way and first.under_way.pending(MOMENT)):
                    continue
                with self.sending:
                    self._send_first()

    def _adopt(self) -> None:
        """A process that died since has left what only others can store."""
        try:
            self._spool.adopt()
        except OSError as error:
            log.error("spool files left by others cannot be read: %s", error, extra={"operation": "adopt"})

    def _ready(self) -> bool:
        return self._backlog.depth > 0 and self._line.breaker.passes

    def _send_first(self) -> None:
        waiting = self._backlog.first()
        if waiting is None or (waiting.under_way and waiting.under_way.pending()):
            return
        if self._spool.was_erased(waiting):
            self._spool.forget(waiting.scope[0])
            return
        done = waiting.under_way.result if waiting.under_way else None
        if isinstance(done, Turn | SessionInfo):
            self._spool.stored(waiting, done)
            return
        write, unsure = waiting.entry.write, waiting.unsure
        waiting.sent, waiting.under_way = True, None
        try:
            result = self._line.call(lambda store: write.apply(store, unsure=unsure))
        except Left as left:
            waiting.under_way = UnderWay(left.call)
        except StoreUnavailable:
            return  # it stays the first one
        except Exception as error:
            if not self._stopped:  # a store that was closed meanwhile refuses nothing for good
                self._put_aside(waiting, error)
        else:
            self._spool.stored(waiting, result)

    def _put_aside(self, waiting: Waiting, cause: Exception) -> None:
        try:
            self._spool.put_aside(waiting, cause)
        except OSError as error:
            log.error("a refused write cannot be put aside: %s", error, extra={"operation": "replay"})
            self._backlog.wait_for(lambda: self._stopped, PAUSE)

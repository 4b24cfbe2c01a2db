"""The line to the database: calls go through while it answers, and are let go as soon as it does not.

In: pieces of work for the store behind the line. Out: their result, or StoreUnavailable within a bounded time, however
silent the database is. Calls run in threads of the line's own, so that a caller can leave one that hangs; a watch asks
the database a simple question all the time, on a connection of its own if one is given, and while it is away alone.
Who can do without the database need not wait until it is known to be away: `Silent` is told as soon as it is doubted.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock, Thread
from time import monotonic
from typing import TypeVar

from ricordo.errors import StoreError, StoreUnavailable
from ricordo.records.turns import Owner
from ricordo.stores.protocols import Store
from ricordo.stores.spool.circuit_breaker import TICK, Breaker, SilenceTimer, SpoolTimeouts, in_a_hurry

T = TypeVar("T")

THREADS = 64
STEP = 0.01  # seconds between looks at whether a call that was left has ended
_NOBODY = Owner("ricordo", "nobody")


class Left(StoreUnavailable):
    """The caller was let go. `call` goes on by itself, and tells one day how it ended."""

    def __init__(self, message: str, call: "Future[object]") -> None:
        super().__init__(message)
        self.call = call


class Silent(Left):
    """Nobody is answered just now, and the caller said that it can go on without. Nothing has failed yet."""


def never() -> bool:
    """A caller that needs the database."""
    return False


def _always() -> bool:
    return True


class StoreConnection:
    """Opens the store when it can be opened, and knows whether it answers."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        open_probe: Callable[[], Store] | None,
        pace: SpoolTimeouts,
        changed: Callable[[Breaker], None],
    ) -> None:
        self._open_store, self._open_probe = open_store, open_probe
        self._pace, self._changed = pace, changed
        self._store: Store | None = None
        self._probe: Store | None = None
        self._breaker = Breaker("open", monotonic(), cause="not opened yet")
        self._lock = Lock()
        self._process = os.getpid()
        self._wake, self._closing = Event(), Event()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ricordo-line")
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="ricordo-probe")
        self._question: Future[float] | None = None
        self._hearing = SilenceTimer()
        self._heard = 0.0  # when the database last answered anything
        self._rings: set[Event] = set()  # of callers who have waited for a while
        self._left: set[Future[object]] = set()  # calls whose callers have gone
        self._watch = Thread(target=self._watching, name="ricordo-watch", daemon=True)

    @property
    def breaker(self) -> Breaker:
        """The state of the line."""
        return self._breaker

    @property
    def store(self) -> Store | None:
        """The store, once it could be opened."""
        return self._store

    def start(self) -> None:
        """Open the store; a database that is away is waited for a moment, and from then on beside the calls."""
        opening = self._asking.submit(self._open)
        try:
            opening.result(self._pace.opening)
        except StoreUnavailable as error:
            self._failed(str(error), asked=True)
        except TimeoutError:
            self._failed("no answer yet", asked=True)
        else:
            self._breaker = Breaker()
        self._wake.set()
        self._watch.start()

    @property
    def in_doubt(self) -> bool:
        """Whether nobody is answered just now, though the database is not known to be away."""
        return self._breaker.passes and self._question is not None and self._hearing.doubts(self._pace)

    def call(self, work: Callable[[Store], T], spares: Callable[[], bool] = never) -> T:
        """The result of the work, or StoreUnavailable as soon as the database is seen to be away.

        A caller that `spares` the database, because it can go on without, hears `Silent` as soon as that is in doubt.
        """
        store = self._usable()
        try:
            future = self._threads.submit(self._do, work, store)
        except RuntimeError as error:  # no thread starts after the end of the program has begun
            raise StoreError("the store was closed; open it again") from error
        return self._told(future, _always if in_a_hurry() else spares)

    def stay(self, left: Silent) -> object:
        """The result of a call that was left too soon."""
        return self._told(left.call, never)

    def _told(self, future: "Future[T]", spares: Callable[[], bool]) -> T:
        try:
            return self._result(future, spares)
        except Left:  # whether the database is away is for the watch to say: it may only be slow with this one
            raise
        except StoreUnavailable as error:
            self._failed(str(error))
            raise

    def _do(self, work: Callable[[Store], T], store: Store) -> T:
        try:
            result = work(store)
        except StoreUnavailable:
            raise
        except Exception:
            self._heard = monotonic()
            raise
        self._heard = monotonic()
        return result

    def direct(self, work: Callable[[Store], T]) -> T:
        """The result of work that may take long, done in the caller's thread."""
        store = self._usable()
        try:
            return work(store)
        except StoreUnavailable as error:
            self._failed(str(error))
            raise

    def await_left(self, timeout: float) -> bool:
        """Wait until no call is under way that its caller has left: then nothing happens behind our back."""
        deadline = monotonic() + timeout
        while any(not future.done() for future in self._left.copy()):
            if monotonic() > deadline or self._closing.wait(STEP):
                return False
        return True

    def close(self) -> None:
        """Stop watching and close the store."""
        self._closing.set()
        self._wake.set()
        if self._watch.is_alive():
            self._watch.join()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._asking.shutdown(wait=False, cancel_futures=True)
        for store in (self._probe, self._store):
            if store is not None:
                store.close()

    def _usable(self) -> Store:
        if self._process != os.getpid():
            raise StoreError("the store was opened before this process was forked; open it again in the child")
        store, breaker = self._store, self._breaker
        if store is None or not breaker.passes:
            raise StoreUnavailable(f"the database is away ({breaker.cause}); try again later")
        return store

    def _result(self, future: "Future[T]", spares: Callable[[], bool]) -> T:
        began = monotonic()
        if not self.in_doubt:
            try:
                return future.result(self._pace.suspicion)
            except TimeoutError:
                if future.done():
                    return future.result()
        ring = Event()
        self._rings.add(ring)
        future.add_done_callback(lambda _: ring.set())
        self._wake.set()
        try:
            while True:
                ring.clear()
                if future.done():
                    return future.result()
                left = began + self._pace.longest - monotonic()
                if not self._breaker.passes or left <= 0:
                    break
                if self.in_doubt and spares():
                    self._leave(future)
                    raise Silent("the database does not answer just now; try again later", future)  # type: ignore[arg-type]
                ring.wait(left)
        finally:
            self._rings.discard(ring)
        if not future.cancel():
            self._leave(future)
        cause = self._breaker.cause or "too slow"
        raise Left(f"the database does not answer ({cause}); try again later", future)  # type: ignore[arg-type]

    def _leave(self, future: "Future[T]") -> None:
        self._left.add(future)  # type: ignore[arg-type]
        future.add_done_callback(self._left.discard)

    def _ring(self) -> None:
        """Have everybody who waits look again."""
        for ring in self._rings.copy():
            ring.set()

    # The watch

    def _watching(self) -> None:
        while not self._closing.is_set():
            self._wake.wait(self._until_next())
            self._wake.clear()
            if self._closing.is_set():
                return
            try:
                self._look()
            except RuntimeError:  # no thread starts after the end of the program has begun
                return

    def _until_next(self) -> float:
        if not self._breaker.passes:
            return self._pace.interval if self._question else max(0.001, self._breaker.probe_at - monotonic())
        if self._question:
            return TICK
        return self._pace.suspicion if self._rings else self._pace.interval

    def _look(self) -> None:
        """Ask if it is time to, and take silence for an answer, unless the database answers somebody else."""
        now, question = monotonic(), self._question
        if question is None:
            if self._is_time(now):
                self._hearing = self._hearing.ask(now)
                self._question = self._asking.submit(self._ask)
                self._question.add_done_callback(lambda _: self._wake.set())
        elif question.done():
            self._question = None
            self._judge(question)
        elif self._breaker.passes:
            self._hearing = self._hearing.look(now, self._heard)
            if self._hearing.is_silent(self._pace):
                self._failed(f"no answer within {round(self._pace.silence * 1000)} ms", asked=True)
            elif self._hearing.doubts(self._pace):
                self._ring()

    def _is_time(self, now: float) -> bool:
        if not self._breaker.passes:
            return self._breaker.probe_due(now)
        if self._rings and now >= self._heard + self._pace.suspicion:
            return True
        return now >= self._hearing.asked + self._pace.interval

    def _judge(self, question: "Future[float]") -> None:
        try:
            took = question.result()
        except Exception as error:  # also a schema that is not ours, found when the database came back
            self._hearing = self._hearing.stop()
            self._failed(str(error) or type(error).__name__, asked=True)
            return
        self._heard = monotonic()
        # Once it was away, the answer to a question of before says nothing about what it usually takes.
        self._hearing = self._hearing.answer(took) if self._breaker.passes else self._hearing.stop()
        with self._lock:
            before, self._breaker = self._breaker, self._breaker.answered(monotonic())
        self._tell(before)

    def _ask(self) -> float:
        """Ask, and tell how long the answer took."""
        self._open()
        if self._probe is None and self._open_probe is not None:
            self._probe = self._open_probe()
            self._close_late(self._probe)
        began = monotonic()
        (self._probe or self._store).session(_NOBODY, "ping")  # type: ignore[union-attr]
        return monotonic() - began

    def _open(self) -> None:
        if self._store is None:
            self._store = self._open_store()
            self._close_late(self._store)

    def _close_late(self, store: Store) -> None:
        """Close what was opened while the line was being closed: whoever closed it may not have seen it yet."""
        if self._closing.is_set():
            store.close()

    def _failed(self, cause: str, *, asked: bool = False) -> None:
        """Open the breaker. Only the watch's own questions lengthen the pause: many calls may fail together."""
        with self._lock:
            before = self._breaker
            if self._closing.is_set() or not (asked or before.passes):
                return
            self._breaker = before.failed(
                monotonic(), cause, first_pause=self._pace.first_pause, longest_pause=self._pace.longest_pause
            )
        self._tell(before)
        self._ring()
        self._wake.set()

    def _tell(self, before: Breaker) -> None:
        if before.passes != self._breaker.passes:
            self._changed(self._breaker)

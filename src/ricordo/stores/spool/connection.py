"""Calls to the database within a bounded time.

In: functions that call the store. Out: their result, or StoreUnavailable. Calls run in pool threads, so that a caller
can abandon a call that hangs. A monitor thread probes the database at intervals, on a connection of its own if there is
one, and opens the circuit breaker when nothing is answered. A caller with a fallback does not wait so long: it gets
`NotAnswered` as soon as the database is in doubt.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock, Thread, local
from time import monotonic
from typing import TypeVar

from ricordo.errors import StoreError, StoreUnavailable
from ricordo.records.turns import Owner
from ricordo.stores.protocols import Store
from ricordo.stores.spool.circuit_breaker import CHECK_INTERVAL, CircuitBreaker, SilenceTimer, SpoolTimeouts

T = TypeVar("T")

THREADS = 64
POLL_INTERVAL = 0.01  # seconds between checks whether abandoned calls have ended
_PROBE_OWNER = Owner("ricordo", "probe")


class CallAbandoned(StoreUnavailable):
    """The caller stopped waiting. `call` continues in its thread, and its result can be read later."""

    def __init__(self, message: str, call: "Future[object]") -> None:
        super().__init__(message)
        self.call = call


class NotAnswered(CallAbandoned):
    """No call is answered at the moment, and this caller has a fallback. The call has not failed yet."""


def no_fallback() -> bool:
    """The `has_fallback` of a caller without a fallback."""
    return False


def _has_fallback() -> bool:
    return True


class _ThreadSettings(local):
    """Settings for the calls of one thread."""

    waits = True


class StoreConnection:
    """Opens the store as soon as it can, and monitors whether it answers."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        open_probe: Callable[[], Store] | None,
        timeouts: SpoolTimeouts,
        on_change: Callable[[CircuitBreaker], None],
    ) -> None:
        self._open_store, self._open_probe = open_store, open_probe
        self._timeouts, self._on_change = timeouts, on_change
        self._store: Store | None = None
        self._probe_store: Store | None = None
        self._breaker = CircuitBreaker("open", monotonic(), cause="not opened yet")
        self._lock = Lock()
        self._process = os.getpid()
        self._thread = _ThreadSettings()
        self._wake, self._closing = Event(), Event()
        self._callers = ThreadPoolExecutor(THREADS, thread_name_prefix="ricordo-call")
        self._prober = ThreadPoolExecutor(1, thread_name_prefix="ricordo-probe")
        self._probe: Future[float] | None = None
        self._silence = SilenceTimer()
        self._last_answer = 0.0
        self._waiters: set[Event] = set()  # of callers that have waited for a while
        self._abandoned: set[Future[object]] = set()
        self._monitor = Thread(target=self._watch, name="ricordo-monitor", daemon=True)

    @property
    def breaker(self) -> CircuitBreaker:
        """Whether calls pass."""
        return self._breaker

    @property
    def store(self) -> Store | None:
        """The store, once it could be opened."""
        return self._store

    @property
    def waits(self) -> bool:
        """False within `without_waiting` in this thread."""
        return self._thread.waits

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Let the calls of this thread fail as soon as the database is in doubt."""
        before, self._thread.waits = self._thread.waits, False
        try:
            yield
        finally:
            self._thread.waits = before

    def start(self) -> None:
        """Open the store. If that takes too long it goes on in the background, with the breaker open."""
        opening = self._prober.submit(self._open)
        try:
            opening.result(self._timeouts.connect)
        except StoreUnavailable as error:
            self._failed(str(error), probed=True)
        except TimeoutError:
            self._failed("no answer yet", probed=True)
        else:
            self._breaker = CircuitBreaker()
        self._wake.set()
        self._monitor.start()

    @property
    def in_doubt(self) -> bool:
        """Whether no call is answered at the moment, though the breaker is still closed."""
        return self._breaker.is_closed and self._probe is not None and self._silence.in_doubt(self._timeouts)

    def call(self, work: Callable[[Store], T], has_fallback: Callable[[], bool] = no_fallback) -> T:
        """The result of the work, or StoreUnavailable as soon as the database is known to be away.

        A caller that has a fallback gets `NotAnswered` as soon as the database is in doubt.
        """
        store = self._usable()
        try:
            future = self._callers.submit(self._run, work, store)
        except RuntimeError as error:  # the interpreter is shutting down
            raise StoreError("the store was closed; open it again") from error
        return self._await(future, has_fallback if self.waits else _has_fallback)

    def resume(self, unanswered: NotAnswered) -> object:
        """Wait for the result of an abandoned call."""
        return self._await(unanswered.call, no_fallback)

    def call_here(self, work: Callable[[Store], T]) -> T:
        """The result of work that may take long, run in the caller's thread."""
        store = self._usable()
        try:
            return work(store)
        except StoreUnavailable as error:
            self._failed(str(error))
            raise

    def wait_for_abandoned(self, timeout: float) -> bool:
        """Wait until all abandoned calls have ended: from then on none can write."""
        deadline = monotonic() + timeout
        while any(not future.done() for future in self._abandoned.copy()):
            if monotonic() > deadline or self._closing.wait(POLL_INTERVAL):
                return False
        return True

    def close(self) -> None:
        """Stop the monitor and close the store."""
        self._closing.set()
        self._wake.set()
        if self._monitor.is_alive():
            self._monitor.join()
        self._callers.shutdown(wait=False, cancel_futures=True)
        self._prober.shutdown(wait=False, cancel_futures=True)
        for store in (self._probe_store, self._store):
            if store is not None:
                store.close()

    def _run(self, work: Callable[[Store], T], store: Store) -> T:
        try:
            result = work(store)
        except StoreUnavailable:
            raise
        except Exception:
            self._last_answer = monotonic()
            raise
        self._last_answer = monotonic()
        return result

    def _usable(self) -> Store:
        if self._process != os.getpid():
            raise StoreError("the store was opened before this process was forked; open it again in the child")
        store, breaker = self._store, self._breaker
        if store is None or not breaker.is_closed:
            raise StoreUnavailable(f"the database is away ({breaker.cause}); try again later")
        return store

    def _await(self, future: "Future[T]", has_fallback: Callable[[], bool]) -> T:
        try:
            return self._result(future, has_fallback)
        except CallAbandoned:  # the database may only be slow with this call: the monitor decides
            raise
        except StoreUnavailable as error:
            self._failed(str(error))
            raise

    def _result(self, future: "Future[T]", has_fallback: Callable[[], bool]) -> T:
        started = monotonic()
        if not self.in_doubt:
            try:
                return future.result(self._timeouts.probe_after)
            except TimeoutError:
                if future.done():
                    return future.result()
        changed = Event()
        self._waiters.add(changed)
        future.add_done_callback(lambda _: changed.set())
        self._wake.set()
        try:
            while True:
                changed.clear()
                if future.done():
                    return future.result()
                left = started + self._timeouts.call - monotonic()
                if not self._breaker.is_closed or left <= 0:
                    break
                if self.in_doubt and has_fallback():
                    self._abandon(future)
                    message = "the database does not answer just now; try again later"
                    raise NotAnswered(message, future)  # type: ignore[arg-type]
                changed.wait(left)
        finally:
            self._waiters.discard(changed)
        if not future.cancel():
            self._abandon(future)
        cause = self._breaker.cause or "too slow"
        raise CallAbandoned(f"the database does not answer ({cause}); try again later", future)  # type: ignore[arg-type]

    def _abandon(self, future: "Future[T]") -> None:
        self._abandoned.add(future)  # type: ignore[arg-type]
        future.add_done_callback(self._abandoned.discard)

    def _notify_waiters(self) -> None:
        for changed in self._waiters.copy():
            changed.set()

    def _watch(self) -> None:
        """The monitor thread: send a probe when one is due, and judge the answer or the silence."""
        while not self._closing.is_set():
            self._wake.wait(self._until_next_check())
            self._wake.clear()
            if self._closing.is_set():
                return
            try:
                self._check()
            except RuntimeError:  # the interpreter is shutting down
                return

    def _until_next_check(self) -> float:
        if not self._breaker.is_closed:
            return self._timeouts.probe_interval if self._probe else max(0.001, self._breaker.probe_at - monotonic())
        if self._probe:
            return CHECK_INTERVAL
        return self._timeouts.probe_after if self._waiters else self._timeouts.probe_interval

    def _check(self) -> None:
        now, probe = monotonic(), self._probe
        if probe is None:
            if self._probe_due(now):
                self._silence = self._silence.start(now)
                self._probe = self._prober.submit(self._send_probe)
                self._probe.add_done_callback(lambda _: self._wake.set())
        elif probe.done():
            self._probe = None
            self._judge(probe)
        elif self._breaker.is_closed:
            self._silence = self._silence.check(now, self._last_answer)
            if self._silence.is_silent(self._timeouts):
                self._failed(f"no answer within {round(self._timeouts.open_after * 1000)} ms", probed=True)
            elif self._silence.in_doubt(self._timeouts):
                self._notify_waiters()

    def _probe_due(self, now: float) -> bool:
        if not self._breaker.is_closed:
            return self._breaker.probe_due(now)
        if self._waiters and now >= self._last_answer + self._timeouts.probe_after:
            return True
        return now >= self._silence.probed_at + self._timeouts.probe_interval

    def _judge(self, probe: "Future[float]") -> None:
        try:
            took = probe.result()
        except Exception as error:  # also a schema of another version, found when the database is back
            self._silence = self._silence.stop()
            self._failed(str(error) or type(error).__name__, probed=True)
            return
        self._last_answer = monotonic()
        # A probe sent before the outage says nothing about the usual response time.
        self._silence = self._silence.answered(took) if self._breaker.is_closed else self._silence.stop()
        with self._lock:
            before, self._breaker = self._breaker, self._breaker.answered(monotonic())
        self._report(before)

    def _send_probe(self) -> float:
        """Read a session that does not exist; returns how long that took."""
        self._open()
        if self._probe_store is None and self._open_probe is not None:
            self._probe_store = self._open_probe()
            self._close_if_closing(self._probe_store)
        store = self._probe_store or self._store
        assert store is not None, "opened above"
        started = monotonic()
        store.sessions.get(_PROBE_OWNER, "ping")
        return monotonic() - started

    def _open(self) -> None:
        if self._store is None:
            self._store = self._open_store()
            self._close_if_closing(self._store)

    def _close_if_closing(self, store: Store) -> None:
        """Close a store that was opened while `close` was running and may not have seen it."""
        if self._closing.is_set():
            store.close()

    def _failed(self, cause: str, *, probed: bool = False) -> None:
        """Open the breaker. Only failed probes lengthen the pause: many calls may fail together."""
        with self._lock:
            before = self._breaker
            if self._closing.is_set() or not (probed or before.is_closed):
                return
            self._breaker = before.failed(
                monotonic(), cause, first_pause=self._timeouts.first_pause, longest_pause=self._timeouts.longest_pause
            )
        self._report(before)
        self._notify_waiters()
        self._wake.set()

    def _report(self, before: CircuitBreaker) -> None:
        if before.is_closed != self._breaker.is_closed:
            self._on_change(self._breaker)

"""The line to the database: calls go through while it answers, and are let go as soon as it does not.

In: pieces of work for the store behind the line. Out: their result, or StoreUnavailable within a bounded time, however
silent the database is. Calls run in threads of the line's own, so that a caller can leave one that hangs; a watch asks
the database a simple question all the time, on a connection of its own if one is given, and while it is away alone.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock, Thread
from time import monotonic
from typing import TypeVar

from ricordo.errors import StoreError, StoreUnavailable
from ricordo.ports import Store
from ricordo.records import Owner
from ricordo.spool.breaker import Breaker
from ricordo.spool.pace import Pace

T = TypeVar("T")

THREADS = 64
STEP = 0.01  # seconds between looks at whether the database is away, for a call that takes long
_NOBODY = Owner("ricordo", "nobody")


class Line:
    """Opens the store when it can be opened, and knows whether it answers."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        open_probe: Callable[[], Store] | None,
        pace: Pace,
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
        self._question: Future[None] | None = None
        self._heard = 0.0  # when the database last answered anything
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
        self._watch.start()

    def call(self, work: Callable[[Store], T]) -> T:
        """The result of the work, or StoreUnavailable as soon as the database is seen to be away."""
        store = self._usable()
        began = monotonic()
        try:
            future = self._threads.submit(work, store)
        except RuntimeError as error:  # no thread starts after the end of the program has begun
            raise StoreError("the store was closed; open it again") from error
        try:
            result = self._result(future, began)
        except StoreUnavailable as error:
            self._failed(str(error))
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

    def _result(self, future: "Future[T]", began: float) -> T:
        try:
            return future.result(self._pace.suspicion)
        except TimeoutError:
            if future.done():
                return future.result()
        self._wake.set()
        while not future.done():
            if not self._breaker.passes or monotonic() > began + self._pace.longest:
                break
            try:
                return future.result(STEP)
            except TimeoutError:
                continue
        if future.done():
            return future.result()
        if not future.cancel():
            self._left.add(future)  # type: ignore[arg-type]
            future.add_done_callback(self._left.discard)
        raise StoreUnavailable(f"the database does not answer ({self._breaker.cause or 'too slow'}); try again later")

    # The watch

    def _watching(self) -> None:
        while not self._closing.is_set():
            self._wake.wait(self._until_next())
            self._wake.clear()
            if self._closing.is_set():
                return
            answered = self._question is not None and self._question.done()
            if self._breaker.passes or answered or self._breaker.probe_due(monotonic()):
                try:
                    self._look()
                except RuntimeError:  # no thread starts after the end of the program has begun
                    return
                self._closing.wait(STEP)  # many slow calls ask for a look at once; one serves them all

    def _until_next(self) -> float:
        if self._breaker.passes:
            return self._pace.interval
        return max(0.001, self._breaker.probe_at - monotonic())

    def _look(self) -> None:
        """Ask, and take silence for an answer, unless the database has answered somebody else meanwhile."""
        began = monotonic()
        if self._question is None:
            self._question = self._asking.submit(self._ask)
        question = self._question
        try:
            question.result(self._pace.silence)
        except TimeoutError:
            if not question.done():
                if self._heard < began:
                    self._failed(f"no answer within {round(self._pace.silence * 1000)} ms", asked=True)
                question.add_done_callback(lambda _: self._wake.set())
                return
            self._failed("no answer in time", asked=True)
        except Exception as error:  # also a schema that is not ours, found when the database came back
            self._failed(str(error) or type(error).__name__, asked=True)
        else:
            with self._lock:
                before, self._breaker = self._breaker, self._breaker.answered(monotonic())
            self._tell(before)
        self._question = None

    def _ask(self) -> None:
        self._open()
        if self._probe is None and self._open_probe is not None:
            self._probe = self._open_probe()
        (self._probe or self._store).session(_NOBODY, "ping")  # type: ignore[union-attr]

    def _open(self) -> None:
        if self._store is None:
            store = self._open_store()
            if self._closing.is_set():
                store.close()
            else:
                self._store = store

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
        self._wake.set()

    def _tell(self, before: Breaker) -> None:
        if before.passes != self._breaker.passes:
            self._changed(self._breaker)

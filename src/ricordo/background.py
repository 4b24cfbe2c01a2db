"""Work beside the chat: one thread that does small slices while nobody is waiting.

In: a function that does a slice and says whether there is more. The thread starts with the first call for work, rests
whenever the foreground is busy, and never keeps a program from ending. What it does can always be done again from what
is stored, so stopping in the middle loses nothing.
"""

import atexit
import logging
import threading
from collections.abc import Callable
from time import monotonic

log = logging.getLogger("ricordo")

QUIET = 0.25  # seconds without foreground work before a slice is begun
STARVED = 5.0  # seconds after which a slice is done all the same


class Background:
    """Runs `work` in slices until it says that nothing is left."""

    def __init__(self, work: Callable[[], bool], *, quiet: float = QUIET, starved: float = STARVED) -> None:
        self._work = work
        self._quiet = quiet
        self._starved = starved
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._due = False
        self._busy = False
        self._closing = False
        self._touched = 0.0
        self.failure: str | None = None

    def touch(self) -> None:
        """Say that the foreground is at work: slices wait."""
        self._touched = monotonic()

    def call(self) -> None:
        """Say that there is work."""
        self.touch()
        if self._due:
            return
        with self._changed:
            if self._closing:
                return
            self._due = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ricordo-background", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            self._changed.notify_all()

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do; False if `timeout` seconds were not enough."""
        self._touched = 0.0
        with self._changed:
            return self._changed.wait_for(lambda: not (self._due or self._busy) or self._thread is None, timeout)

    def close(self) -> None:
        """Finish the slice at hand and stop. Safe to repeat."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            thread, self._thread = self._thread, None
        if thread and thread is not threading.current_thread():
            thread.join()
            atexit.unregister(self.close)

    def _run(self) -> None:
        while self._wait_for_quiet():
            try:
                more = self._work()
                self.failure = None
            except Exception as error:
                more = False
                self.failure = f"{type(error).__name__}: {error}"
                log.exception("background work failed", extra={"operation": "background"})
            with self._changed:
                self._busy = False
                self._due = self._due or more
                self._changed.notify_all()

    def _wait_for_quiet(self) -> bool:
        """Sleep until there is work and a good moment for it; False when it is time to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._due or self._closing)
            latest = monotonic() + self._starved
            while not self._closing:
                rest = min(self._touched + self._quiet, latest) - monotonic()
                if rest <= 0:
                    break
                self._changed.wait(rest)
            self._due, self._busy = False, not self._closing
            return not self._closing

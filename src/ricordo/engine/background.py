"""Work beside the chat: one thread in the process that does small slices while nobody is waiting.

In: a function that does a slice and says whether there is more. The thread starts with the first call for work, serves
every memory of the process in turn, rests whenever a memory's foreground is busy, ends when there has been nothing to
do for a while, and never keeps a program from ending. What it does can always be done again from what is stored, so
stopping in the middle loses nothing.
"""

import atexit
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True)
class WorkerPace:
    """How eager the work is, in seconds.

    `quiet` without foreground work before a slice is begun; after `starved` a slice is done all the same. A failed
    slice is tried again after `pause`, each time twice as long, at most `longest_pause`. `patience` is how long closing
    waits for the slice at hand.
    """

    quiet: float = 0.25
    starved: float = 5.0
    pause: float = 1.0
    longest_pause: float = 60.0
    patience: float = 10.0


class Worker:
    """The thread behind all that is done beside chats: whoever may begin first is served first."""

    def __init__(self, idle: float = 5.0) -> None:
        self._idle = idle
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget thread and work; a process that was forked has neither."""
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None
        self.waiting: dict[Background, float] = {}  # who has work, and since when
        self._ending = False

    def add(self, due: "Background") -> None:
        """Take work in; the caller holds `changed`."""
        if self._ending:
            return
        self.waiting.setdefault(due, monotonic())
        if self.thread is None:
            self.thread = threading.Thread(target=self._run, name="ricordo-background", daemon=True)
            self.thread.start()
        self.changed.notify_all()

    def end(self, patience: float = 10.0) -> None:
        """The program ends: finish the slice at hand and begin no other."""
        with self.changed:
            self._ending = True
            self.waiting.clear()
            self.changed.notify_all()
            thread = self.thread
        if thread and thread is not threading.current_thread():
            thread.join(patience)

    def _run(self) -> None:
        while chosen := self._next():
            chosen.do_slice()

    def _next(self) -> "Background | None":
        """Sleep until somebody's good moment; None when there has been no work for a while."""
        with self.changed:
            while self.changed.wait_for(lambda: bool(self.waiting) or self._ending, self._idle):
                if self._ending:
                    break
                moment, chosen = min(
                    ((each.good_moment(since), each) for each, since in self.waiting.items()),
                    key=lambda pair: pair[0],
                )
                rest = moment - monotonic()
                if rest <= 0:
                    del self.waiting[chosen]
                    chosen.busy = True
                    return chosen
                self.changed.wait(rest)
            self.thread = None
            return None


def lasting_worker() -> Worker:
    """A worker that ends with the program, and begins anew in a process that was forked."""
    worker = Worker()
    atexit.register(worker.end)
    os.register_at_fork(after_in_child=worker.begin_anew)
    return worker


_worker = lasting_worker()


class Background:
    """Runs `work` in slices until it says that nothing is left. `failure` says why the last slice failed, if it did."""

    def __init__(self, work: Callable[[], bool], pace: WorkerPace | None = None, worker: Worker = _worker) -> None:
        self._work = work
        self._pace = pace or WorkerPace()
        self._worker = worker
        self._closed = False
        self._hurried = 0
        self._failures = 0
        self._failed_slices = 0
        self._touched = 0.0
        self.busy = False
        self.failure: str | None = None

    def touch(self) -> None:
        """Say that the foreground is at work: slices wait."""
        self._touched = monotonic()

    def call(self) -> None:
        """Say that there is work."""
        self._touched = monotonic()
        if self not in self._worker.waiting:
            with self._worker.changed:
                if not self._closed:
                    self._worker.add(self)

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do; False if `timeout` seconds were not enough or a slice failed."""
        changed = self._worker.changed
        with changed:
            before = self._failed_slices
            self._hurried += 1
            changed.notify_all()
            try:
                changed.wait_for(lambda: not self._unfinished or self._failed_slices > before, timeout)
                return not self._unfinished
            finally:
                self._hurried = max(self._hurried - 1, 0)

    def close(self) -> None:
        """Finish the slice at hand and begin no other. Safe to repeat."""
        changed = self._worker.changed
        with changed:
            self._closed = True
            self._worker.waiting.pop(self, None)
            changed.notify_all()
            if self._worker.thread is not threading.current_thread():
                changed.wait_for(lambda: not self.busy, self._pace.patience)

    def good_moment(self, since: float) -> float:
        """When the next slice may begin, for work that has waited since then."""
        if self._hurried:
            return 0.0  # somebody waits: before everybody else
        quiet = min(self._touched + self._pace.quiet, since + self._pace.starved)
        if not self._failures:
            return quiet
        pause = min(self._pace.pause * 2.0 ** min(self._failures - 1, 32), self._pace.longest_pause)
        return max(quiet, since + pause)

    def do_slice(self) -> None:
        """One slice, in the worker's thread."""
        try:
            more, failure = self._work(), None
        except Exception as error:
            more, failure = True, f"{type(error).__name__}: {error}"
        with self._worker.changed:
            self.failure = failure
            self._failures = self._failures + 1 if failure else 0
            if failure:
                self._failed_slices += 1
                self._hurried = 0  # whoever settles is told, and does not hammer on what is broken
            self.busy = False
            if more and not self._closed:
                self._worker.add(self)
            self._worker.changed.notify_all()

    @property
    def _unfinished(self) -> bool:
        return self.busy or self in self._worker.waiting

"""The queue of work after a turn, in this process: a session is added, its handler runs in small slices.

There is one lane for each kind of work. A lane has one daemon thread that serves every memory of the process; a lane
whose handler may wait for a model does not hold up the other. The session that was added last is served first; one
with work left, or whose handler failed, goes to the back. Handlers work from what is stored, so stopping at any
moment loses nothing.
"""

import atexit
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from ricordo.records.turns import Owner

SessionKey = tuple[Owner, str]
Details = frozenset[str]
# A handler does one slice for a session and returns what is left to do as details for the next slice; None if nothing.
Handler = Callable[[Owner, str, Details], Details | None]

# Sessions that wait in one lane, less than 1 KB each. The one that has waited longest is evicted: its next turn adds
# it again, and a server has it in its jobs table as well.
MOST_WAITING = 50_000
NO_DETAILS: Details = frozenset()
END = "end"  # the detail of a session that is to be ended once it is idle


@dataclass(frozen=True, slots=True)
class WorkerPace:
    """How eager the work is, in seconds.

    A slice begins after `quiet` seconds without foreground work, or after `starved` seconds in any case. A failed
    slice is tried again after `pause`, doubled each time, at most `longest_pause`. `patience` is how long closing
    waits for the current slice.
    """

    quiet: float = 0.25
    starved: float = 5.0
    pause: float = 1.0
    longest_pause: float = 60.0
    patience: float = 10.0


class WorkerThread:
    """One daemon thread that runs the slices of all memories of the process, the longest due first.

    It starts with the first work and ends after `idle` seconds without any.
    """

    def __init__(self, idle: float = 5.0) -> None:
        self._idle = idle
        self.reset()

    def reset(self) -> None:
        """Forget thread and work; a forked process has neither."""
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None
        self.waiting: dict[Lane, float] = {}  # lanes with work, and since when
        self._ending = False

    def add(self, lane: "Lane") -> None:
        """Take a lane with work; the caller holds `changed`."""
        if self._ending:
            return
        self.waiting.setdefault(lane, monotonic())
        if self.thread is None:
            self.thread = threading.Thread(target=self._run, name="ricordo-worker", daemon=True)
            self.thread.start()
        self.changed.notify_all()

    def end(self, patience: float = 10.0) -> None:
        """The program ends: finish the current slice and begin no other."""
        with self.changed:
            self._ending = True
            self.waiting.clear()
            self.changed.notify_all()
            thread = self.thread
        if thread and thread is not threading.current_thread():
            thread.join(patience)

    def _run(self) -> None:
        while chosen := self._next():
            chosen.run_slice()

    def _next(self) -> "Lane | None":
        """Wait until a lane may run; None after `idle` seconds without work."""
        with self.changed:
            while self.changed.wait_for(lambda: bool(self.waiting) or self._ending, self._idle):
                if self._ending:
                    break
                moment, chosen = min(
                    ((each.start_time(since), each) for each, since in self.waiting.items()),
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


def process_thread() -> WorkerThread:
    """A worker thread that ends with the program and starts afresh in a forked process."""
    thread = WorkerThread()
    atexit.register(thread.end)
    os.register_at_fork(after_in_child=thread.reset)
    return thread


_THREADS = {"index": process_thread(), "people": process_thread()}


class Lane:
    """Runs `work` in slices until it says that nothing is left. `failure` says why the last slice failed, if it did."""

    def __init__(self, work: Callable[[], bool], thread: WorkerThread, pace: WorkerPace | None = None) -> None:
        self._work = work
        self._pace = pace or WorkerPace()
        self._thread = thread
        self._closed = False
        self._waited_for = 0
        self._failures = 0
        self._failed_slices = 0
        self._touched = 0.0
        self.busy = False
        self.failure: str | None = None

    def touch(self) -> None:
        """Foreground work is going on: slices wait."""
        self._touched = monotonic()

    def call(self) -> None:
        """There is work."""
        self._touched = monotonic()
        if self not in self._thread.waiting:
            with self._thread.changed:
                if not self._closed:
                    self._thread.add(self)

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do; False after `timeout` seconds, or when a slice failed."""
        changed = self._thread.changed
        with changed:
            before = self._failed_slices
            self._waited_for += 1
            changed.notify_all()
            try:
                changed.wait_for(lambda: not self._unfinished or self._failed_slices > before, timeout)
                return not self._unfinished
            finally:
                self._waited_for = max(self._waited_for - 1, 0)

    def close(self) -> None:
        """Finish the current slice and begin no other. Safe to repeat."""
        changed = self._thread.changed
        with changed:
            self._closed = True
            self._thread.waiting.pop(self, None)
            changed.notify_all()
            if self._thread.thread is not threading.current_thread():
                changed.wait_for(lambda: not self.busy, self._pace.patience)

    def start_time(self, since: float) -> float:
        """When the next slice may begin, for work that has waited since then."""
        if self._waited_for:
            return 0.0  # a caller of `settle` waits: before all others
        quiet = min(self._touched + self._pace.quiet, since + self._pace.starved)
        if not self._failures:
            return quiet
        pause = min(self._pace.pause * 2.0 ** min(self._failures - 1, 32), self._pace.longest_pause)
        return max(quiet, since + pause)

    def run_slice(self) -> None:
        """One slice, in the worker thread."""
        try:
            more, failure = self._work(), None
        except Exception as error:
            more, failure = True, f"{type(error).__name__}: {error}"
        with self._thread.changed:
            self.failure = failure
            self._failures = self._failures + 1 if failure else 0
            if failure:
                self._failed_slices += 1
                self._waited_for = 0  # callers of `settle` are told, and do not hammer on what is broken
            self.busy = False
            if more and not self._closed:
                self._thread.add(self)
            self._thread.changed.notify_all()

    @property
    def _unfinished(self) -> bool:
        return self.busy or self in self._thread.waiting


class SessionLane:
    """The sessions of one memory that wait for one kind of work. Thread-safe."""

    def __init__(self, kind: str, handler: Handler, most: int = MOST_WAITING) -> None:
        self._handler = handler
        self._most = most
        self._lock = threading.Lock()
        self.sessions: OrderedDict[SessionKey, Details] = OrderedDict()  # the last one is served first
        self.lane = Lane(self._slice, _THREADS[kind])

    def add(self, owner: Owner, session_id: str, details: Details = NO_DETAILS) -> None:
        """Serve this session next; details add up until its work is done."""
        key = owner, session_id
        with self._lock:
            known = self.sessions.get(key, NO_DETAILS)
            self.sessions[key] = known | details if details else known
            self.sessions.move_to_end(key)
            while len(self.sessions) > self._most:
                self.sessions.popitem(last=False)
        self.lane.call()

    def drop(self, owner: Owner) -> None:
        """Drop the sessions of an owner."""
        with self._lock:
            for key in [key for key in self.sessions if key[0] == owner]:
                del self.sessions[key]

    def _slice(self) -> bool:
        """One slice for the session that was added last; whether any session is left."""
        with self._lock:
            if not self.sessions:
                return False
            key, details = self.sessions.popitem()
        rest: Details | None = details
        try:
            rest = self._handler(*key, details)
        finally:  # what is left, or failed, goes to the back
            with self._lock:
                if rest is not None and key not in self.sessions:
                    self.sessions[key] = rest
                    self.sessions.move_to_end(key, last=False)
                left = bool(self.sessions)
        return left


class WorkQueue:
    """The work after a turn of one memory: `index` (vectors, topics) and `people` (facts, titles, summaries)."""

    def __init__(self, *, index: Handler, people: Handler, most: int = MOST_WAITING) -> None:
        self.index = SessionLane("index", index, most)
        self.people = SessionLane("people", people, most)

    def touch(self) -> None:
        """A context is being built: slices wait."""
        self.index.lane.touch()
        self.people.lane.touch()

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do; False if it takes longer or a slice failed."""
        begun = monotonic()
        if not self.index.lane.settle(timeout):
            return False
        return self.people.lane.settle(None if timeout is None else max(0.0, timeout - (monotonic() - begun)))

    def drop(self, owner: Owner) -> None:
        """Drop the work that waits for an owner."""
        self.index.drop(owner)
        self.people.drop(owner)

    def close(self) -> None:
        """Finish the current slices and begin no other."""
        self.index.lane.close()
        self.people.lane.close()

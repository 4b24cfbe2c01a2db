"""The queue of work after a turn: in this process, and for a server also as jobs in the database.

In the process, a session is added to a lane, and the handler of the lane runs in small slices. There are two lanes:
`index` and `people`. Each has one daemon thread for all memories of the process, so that a handler that waits for a
model does not delay the other lane. The session that was added last is served first; one with work left, or whose
handler failed, goes to the back. Handlers work from what is stored, so stopping at any moment loses nothing.

A server also writes two jobs into the jobs table for each session with a new turn: to catch up soon, and to end the
session once it is idle. Any process takes due jobs under a lease and renews the lease while it works. A failed job is
tried again after growing pauses. So the jobs of a process that died are done by another one.
"""

import atexit
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep
from typing import TYPE_CHECKING, Self

from ricordo.errors import NotFoundError, RicordoError, StoreError
from ricordo.records.turns import Owner
from ricordo.records.values import record
from ricordo.settings import ProfileSettings
from ricordo.stores.protocols import Store

if TYPE_CHECKING:
    from ricordo.records.service import Job

log = logging.getLogger("ricordo.server")

SessionKey = tuple[Owner, str]
Details = frozenset[str]
# A handler does one slice for a session and returns what is left to do as details for the next slice; None if nothing.
Handler = Callable[[Owner, str, Details], Details | None]

# Sessions that wait in one lane, less than 1 KB each. The one that has waited longest is evicted: its next turn adds
# it again, and a server has it in its jobs table as well.
MOST_WAITING = 50_000
NO_DETAILS: Details = frozenset()
END = "end"  # detail of a session, and kind of a job: end the session if it is idle

CATCH_UP = "catch-up"
CATCH_UP_AFTER = timedelta(minutes=1)
LEASE = timedelta(minutes=5)
ATTEMPTS = 8
FIRST_PAUSE = timedelta(seconds=30)
MOST_NOTED = 50_000  # sessions whose jobs are not in the table yet, because the database is away


@record
class WorkerPace:
    """When slices run, in seconds.

    A slice begins after `quiet` seconds without foreground work, at the latest after `starved` seconds. Between its
    steps it waits until there was no foreground work for `step` seconds, at most twice `quiet` in all. A failed slice
    is tried again after `pause`, doubled each time up to `longest_pause`. `patience` is how long closing waits for the
    current slice.
    """

    quiet: float = 0.25
    step: float = 0.05
    starved: float = 5.0
    pause: float = 1.0
    longest_pause: float = 60.0
    patience: float = 10.0


class WorkerThread:
    """One daemon thread that runs the slices of all memories of the process, the longest due first.

    It starts when there is work and ends after `idle` seconds without work.
    """

    def __init__(self, idle: float = 5.0) -> None:
        self._idle = idle
        self.reset()

    def reset(self) -> None:
        """Forget thread and work, because a forked process has neither."""
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None
        self.waiting: dict[Lane, float] = {}  # lanes with work, and since when
        self._ending = False

    def add(self, lane: "Lane") -> None:
        """Add a lane with work; the caller has the lock of `changed`."""
        if self._ending:
            return
        self.waiting.setdefault(lane, monotonic())
        if self.thread is None:
            self.thread = threading.Thread(target=self._run, name="ricordo-worker", daemon=True)
            self.thread.start()
        self.changed.notify_all()

    def end(self, patience: float = 10.0) -> None:
        """Finish the current slice and begin no other, because the program ends."""
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
        """Wait until a lane may run. None after `idle` seconds without work, at the end, and after `reset`."""
        with (changed := self.changed):
            while changed.wait_for(
                lambda: bool(self.waiting) or self._ending or self.changed is not changed, self._idle
            ):
                if self._ending or self.changed is not changed:
                    break
                moment, chosen = min(
                    ((each.start_time(since), each) for each, since in self.waiting.items()), key=lambda pair: pair[0]
                )
                rest = moment - monotonic()
                if rest <= 0:
                    del self.waiting[chosen]
                    chosen.busy = True
                    return chosen
                changed.wait(rest)
            if self.changed is changed:
                self.thread = None
            return None


def process_thread() -> WorkerThread:
    """A worker thread that ends with the program and starts afresh in a forked process."""
    thread = WorkerThread()
    atexit.register(thread.end)
    os.register_at_fork(after_in_child=thread.reset)
    return thread


_THREADS = {"index": process_thread(), "people": process_thread()}
_serving = threading.local()


def give_way() -> None:
    """Let foreground work go first. Called between the steps of a slice, without a lock; does nothing elsewhere."""
    lane: Lane | None = getattr(_serving, "lane", None)
    if lane is not None:
        lane.give_way()


class Lane:
    """Runs `work` in slices until it returns False. `failure` is the error of the last slice, if it failed."""

    def __init__(self, work: Callable[[], bool], thread: WorkerThread, pace: WorkerPace | None = None) -> None:
        self._work = work
        self._pace = pace or WorkerPace()
        self._thread = thread
        self._closed = False
        self._waited_for = 0
        self._failures = 0
        self._failed_slices = 0
        self._touched = 0.0
        self._waited = 0.0  # by the current slice, for foreground work
        self.busy = False
        self.failure: str | None = None

    def touch(self) -> None:
        """Note foreground work, for which slices wait."""
        self._touched = monotonic()

    def call(self) -> None:
        """Note that there is work to do."""
        self._touched = monotonic()
        if self not in self._thread.waiting:
            with self._thread.changed:
                if not self._closed:
                    self._thread.add(self)

    def settle(self, timeout: float | None = None, is_done: Callable[[], bool] | None = None) -> bool:
        """Wait until no work is left, or `is_done` returns True; False after `timeout` or a failed slice."""
        is_done = is_done or (lambda: not self._unfinished)
        changed = self._thread.changed
        with changed:
            if timeout is not None and timeout <= 0:
                return is_done()  # a question only: no slice is started for it
            before = self._failed_slices
            self._waited_for += 1
            changed.notify_all()
            try:
                changed.wait_for(lambda: is_done() or self._failed_slices > before, timeout)
                return is_done()
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
            return 0.0  # at once, because a caller of `settle` waits
        quiet = min(self._touched + self._pace.quiet, since + self._pace.starved)
        if not self._failures:
            return quiet
        pause = min(self._pace.pause * 2.0 ** min(self._failures - 1, 32), self._pace.longest_pause)
        return max(quiet, since + pause)

    def give_way(self) -> None:
        """Wait while foreground work goes on, unless a caller waits for this slice or it has waited long enough."""
        while not self._waited_for and not self._closed and self._waited < 2 * self._pace.quiet:
            if self._touched + self._pace.step <= monotonic():
                return
            sleep(0.01)
            self._waited += 0.01

    def run_slice(self) -> None:
        """Run one slice, in the worker thread."""
        self._waited = 0.0
        _serving.lane = self
        try:
            more, failure = self._work(), None
        except Exception as error:
            more, failure = True, f"{type(error).__name__}: {error}"
        with self._thread.changed:
            self.failure = failure
            self._failures = self._failures + 1 if failure else 0
            if failure:
                self._failed_slices += 1
                self._waited_for = 0  # callers of `settle` return, so that the pause after a failure applies
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
        self._served: Owner | None = None
        self.lane = Lane(self._slice, _THREADS[kind])

    def add(self, owner: Owner, session_id: str, details: Details = NO_DETAILS) -> None:
        """Serve this session next. Details of several calls are joined until its work is done."""
        key = owner, session_id
        with self._lock:
            sessions = self.sessions
            if details or not sessions or next(reversed(sessions)) != key:  # else it is the next one already
                sessions[key] = sessions.get(key, NO_DETAILS) | details
                sessions.move_to_end(key)
                while len(sessions) > self._most:
                    sessions.popitem(last=False)
        self.lane.call()

    def drop(self, owner: Owner) -> None:
        """Drop the sessions of an owner."""
        with self._lock:
            for key in [key for key in self.sessions if key[0] == owner]:
                del self.sessions[key]

    def settle(self, owner: Owner, timeout: float) -> bool:
        """Wait until the sessions of an owner have no work left; False after `timeout` or a failed slice."""
        return self._is_done(owner) or self.lane.settle(timeout, lambda: self._is_done(owner))

    def _is_done(self, owner: Owner) -> bool:
        with self._lock:
            return self._served != owner and not any(key[0] == owner for key in self.sessions)

    def _slice(self) -> bool:
        """Run one slice for the session that was added last; True if any session is left."""
        with self._lock:
            if not self.sessions:
                return False
            key, details = self.sessions.popitem()
            self._served = key[0]
        rest: Details | None = details
        try:
            rest = self._handler(*key, details)
        finally:  # what is left, or failed, goes to the back
            with self._lock:
                if rest is not None and key not in self.sessions:
                    self.sessions[key] = rest
                    self.sessions.move_to_end(key, last=False)
                self._served = None
                left = bool(self.sessions)
        return left


class WorkQueue:
    """The work after a turn of one memory: `index` (vectors, topics) and `people` (facts, titles, summaries)."""

    def __init__(self, *, index: Handler, people: Handler, most: int = MOST_WAITING) -> None:
        self.index = SessionLane("index", index, most)
        self.people = SessionLane("people", people, most)

    def touch(self) -> None:
        """Note foreground work, such as a context that is composed; slices wait for it."""
        self.index.lane.touch()
        self.people.lane.touch()

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until no work is left; False after `timeout` or a failed slice."""
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


class JobQueue:
    """Writes, takes and runs jobs for one process. Thread-safe."""

    def __init__(self, store: Store, profile: ProfileSettings, worker: str) -> None:
        self._store, self._profile, self._worker = store, profile, worker
        self._noted: dict[tuple[Owner, str], datetime] = {}
        self._lock = threading.Lock()

    def note(self, owner: Owner, session_id: str) -> None:
        """Note a session with a new turn, so that its jobs are written with the next flush."""
        with self._lock:
            self._noted[owner, session_id] = now()
            while len(self._noted) > MOST_NOTED:
                del self._noted[next(iter(self._noted))]

    def flush(self) -> None:
        """Write the jobs of the noted sessions; those that cannot be written stay for the next flush."""
        with self._lock:
            noted, self._noted = self._noted, {}
        try:
            while noted:
                (owner, session_id), at = next(iter(noted.items()))
                self._store.jobs.enqueue(owner, CATCH_UP, session_id, at + CATCH_UP_AFTER, postpone=True)
                if self._profile.remember_person == "on":
                    self._store.jobs.enqueue(owner, END, session_id, at + self._profile.session_end_idle, postpone=True)
                del noted[owner, session_id]
        except StoreError:
            with self._lock:
                self._noted = noted | self._noted
            raise

    def take(self) -> "Job | None":
        """A job that is due, leased to this process."""
        return next(iter(self._store.jobs.take(self._worker, now(), LEASE, kinds=(CATCH_UP, END))), None)

    def run(self, job: "Job", work: "Callable[[Job], None]") -> Exception | None:
        """Run a job and finish it. If it fails, it is tried again later, at most `ATTEMPTS` times in all.

        Returns the error. That the session was deleted meanwhile is no error.
        """
        failure: Exception | None = None
        with RenewedLease(self._store, job, LEASE) as renewed_lease:
            try:
                work(job)
            except NotFoundError:
                pass
            except Exception as error:
                failure = error
        if failure is None:
            self._store.jobs.finish(renewed_lease.job)
            return None
        retry = None if job.attempts >= ATTEMPTS else now() + FIRST_PAUSE * 2 ** min(job.attempts, 8)
        # Errors of other libraries may quote a message: only their type is stored.
        cause = str(failure) if isinstance(failure, RicordoError) else type(failure).__name__
        self._store.jobs.fail(renewed_lease.job, cause[:500], retry)
        return failure

    def hand_back(self, job: "Job") -> None:
        """Release a job at once for another worker; the attempt does not count."""
        self._store.jobs.hand_back(job)


class RenewedLease:
    """Renews the lease of a job while it runs; `job` is the job with its current lease.

    If the process dies, the lease ends and another process can take the job.
    """

    def __init__(self, store: Store, job: "Job", lease: timedelta) -> None:
        self._store, self._lease = store, lease
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="ricordo-lease", daemon=True)
        self.job = job

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _renew(self) -> None:
        while not self._over.wait(self._lease.total_seconds() / 3):
            try:
                renewed = self._store.jobs.extend(self.job, now() + self._lease)
            except StoreError as error:  # there is time for another try before the lease ends
                log.warning("a lease could not be renewed: %s", error, extra={"operation": self.job.kind})
                continue
            if renewed is None:
                return  # another process has taken the job, or it was deleted
            self.job = renewed


def now() -> datetime:
    """The current moment."""
    return datetime.now(UTC)

"""The work after a turn as jobs in the database of a server, so that a process that dies leaves nothing undone.

A turn is noted in memory and written into the jobs table with the next flush: catch up soon, and end the session once
it is idle. Any process takes a job that is due under a lease, renews the lease while it works, and finishes the job,
or has it tried again later with growing pauses.
"""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Self

from ricordo.errors import NotFoundError, RicordoError, StoreError
from ricordo.records.service import Job
from ricordo.records.turns import Owner
from ricordo.settings import ProfileSettings
from ricordo.stores.protocols import Store

log = logging.getLogger("ricordo.server")

CATCH_UP, END = "catch-up", "end"
CATCH_UP_AFTER = timedelta(minutes=1)
LEASE = timedelta(minutes=5)
ATTEMPTS = 8
FIRST_PAUSE = timedelta(seconds=30)
MOST_NOTED = 50_000  # sessions that wait to be written into the table while the database is away


class JobQueue:
    """Notes, takes and runs the jobs of one process. Thread-safe."""

    def __init__(self, store: Store, profile: ProfileSettings, worker: str) -> None:
        self._store, self._profile, self._worker = store, profile, worker
        self._noted: dict[tuple[Owner, str], datetime] = {}
        self._lock = threading.Lock()

    def note(self, owner: Owner, session_id: str) -> None:
        """A turn was written: have its session looked at later, in case this process does not get to it."""
        with self._lock:
            self._noted[owner, session_id] = now()
            while len(self._noted) > MOST_NOTED:
                del self._noted[next(iter(self._noted))]

    def flush(self) -> None:
        """Write what was noted into the jobs table; what cannot be written stays for the next flush."""
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

    def take(self) -> Job | None:
        """A job that is due, leased to this process."""
        return next(iter(self._store.jobs.take(self._worker, now(), LEASE, kinds=(CATCH_UP, END))), None)

    def run(self, job: Job, work: Callable[[Job], None]) -> Exception | None:
        """Run a job and finish it, or have it tried again later; after so many attempts it is given up.

        Returns the failure. A session that was deleted meanwhile is none.
        """
        failure: Exception | None = None
        with RenewedLease(self._store, job, LEASE) as held:
            try:
                work(job)
            except NotFoundError:
                pass
            except Exception as error:
                failure = error
        if failure is None:
            self._store.jobs.finish(held.job)
            return None
        retry = None if job.attempts >= ATTEMPTS else now() + FIRST_PAUSE * 2 ** min(job.attempts, 8)
        # An error that is not ours may hold words of a message: only its type is stored.
        cause = str(failure) if isinstance(failure, RicordoError) else type(failure).__name__
        self._store.jobs.fail(held.job, cause[:500], retry)
        return failure

    def hand_back(self, job: Job) -> None:
        """Give a job back at once; the attempt does not count."""
        self._store.jobs.hand_back(job)


class RenewedLease:
    """Renews the lease of a job while it runs; `job` is the job with its current lease.

    A process that dies renews nothing, and the job comes free when its lease ends.
    """

    def __init__(self, store: Store, job: Job, lease: timedelta) -> None:
        self._store, self._lease = store, lease
        self._over = Event()
        self._thread = Thread(target=self._renew, name="ricordo-lease", daemon=True)
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
                return  # another process has it, or it is gone
            self.job = renewed


def now() -> datetime:
    """The current moment."""
    return datetime.now(UTC)

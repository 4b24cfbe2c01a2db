"""Holding a job for as long as it takes: its lease is kept from running out while somebody is at it.

In: a job that was taken. Out: the same job with a lease that goes on, until it is let go. A process that dies renews
nothing, and the job comes free when its lease ends.
"""

import logging
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Self

from ricordo.errors import StoreError
from ricordo.records.service import Job
from ricordo.stores.protocols import Store

log = logging.getLogger("ricordo.server")


class Holding:
    """A context in which a job stays ours; `job` is what to finish it by."""

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
                renewed = self._store.jobs.extend(self.job, datetime.now(UTC) + self._lease)
            except StoreError as error:  # there is time for another try before the lease ends
                log.warning("a lease could not be renewed: %s", error, extra={"operation": self.job.kind})
                continue
            if renewed is None:
                return  # somebody else has it by now, or it is gone
            self.job = renewed

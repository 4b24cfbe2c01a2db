"""Renew the lease of a job while it runs.

In: a job that was taken. Out: the same job with a lease that is renewed until the context ends. A process that dies
renews nothing, so that another process can take the job when the lease expires.
"""

import logging
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import Self

from ricordo.errors import StoreError
from ricordo.records.service import Job
from ricordo.stores.protocols import WholeStore

log = logging.getLogger("ricordo.server")


class Holding:
    """A context that holds the lease of a job; finish or fail the job with `job`, which has the latest lease."""

    def __init__(self, store: WholeStore, job: Job, lease: timedelta) -> None:
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
                renewed = self._store.extend(self.job, datetime.now(UTC) + self._lease)
            except StoreError as error:  # another attempt follows before the lease expires
                log.warning("a lease could not be renewed: %s", error, extra={"operation": self.job.kind})
                continue
            if renewed is None:
                return  # the lease was lost, or the job was deleted
            self.job = renewed

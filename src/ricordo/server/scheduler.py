"""Background work of a server: run due jobs, end idle sessions, clean up expired data.

One thread in each process. Work that must run once per cluster is guarded by a lease. The job queue is in the database,
so that another process finishes the jobs of one that died.
"""

import logging
import threading
from uuid import uuid4

from ricordo.errors import RicordoError
from ricordo.server.service import Service
from ricordo.worker.jobs import now

log = logging.getLogger("ricordo.server")

TICK = 2.0  # seconds between two rounds
AT_ONCE = 8  # jobs in one round


class Scheduler:
    """Runs the work that is due, until it is closed."""

    def __init__(self, service: Service, tick: float = TICK) -> None:
        self._service = service
        self._tick = tick
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ricordo-scheduler", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Finish the current job and start no other."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def _run(self) -> None:
        while not self._closing.wait(self._tick):
            for operation, step in (
                ("wishes", self._service.jobs.flush),
                ("cleanup", self.cleanup),
                ("jobs", self.take_up),
                ("keys", self._service.note_keys),
            ):
                if self._closing.is_set():
                    return
                try:
                    step()
                except RicordoError as error:  # logged, and retried with the next tick
                    self._service.metrics.failures.labels(operation).inc()
                    log.warning("scheduled work failed: %s", error, extra={"operation": operation})
                except Exception as error:
                    self._service.metrics.failures.labels(operation).inc()
                    log.error("scheduled work failed: %s", type(error).__name__, extra={"operation": operation})

    def cleanup(self) -> None:
        """Remove expired data, once per cleanup interval and cluster."""
        service = self._service
        retention = service.settings.retention
        if retention.turn_ttl is None and retention.session_idle is None:
            return
        for tenant in service.tenants():
            moment = now()
            # The lease is not released: the next cleanup is due when it expires. Each run uses a new holder name,
            # because the holder of a lease may renew it at any time.
            name, holder = f"cleanup:{tenant}", f"{service.name}:{uuid4().hex}"
            if service.store.jobs.lease(name, holder, moment, moment + retention.cleanup_interval):
                result = service.memory(tenant).cleanup()
                service.metrics.cleanups.inc()
                service.metrics.cleaned_turns.inc(result.turns_deleted)
                if result.errors:
                    service.store.jobs.end_lease(name, holder)

    def take_up(self) -> None:
        """Run due jobs one at a time: a lease that waits behind another job could expire."""
        for _ in range(AT_ONCE):
            job = self._service.jobs.take()
            if job is None:
                return
            if self._closing.is_set():
                self._service.jobs.hand_back(job)
                return
            self._service.run_job(job)

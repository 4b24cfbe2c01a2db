"""What happens by the clock: idle sessions end, what is past its time goes, what was left undone is taken up.

One thread in each process. Work that is only to be done once per cluster is done by whoever holds its lease; the queue
of work beside the chat lies in the database, so that a process that dies leaves nothing undone.
"""

import logging
import threading
from uuid import uuid4

from ricordo.errors import RicordoError
from ricordo.server.service import Service, now

log = logging.getLogger("ricordo.server")

TICK = 2.0  # seconds between looks at the clock
AT_ONCE = 8  # pieces of work between two looks


class Scheduler:
    """Runs what is due, until it is closed."""

    def __init__(self, service: Service, tick: float = TICK) -> None:
        self._service = service
        self._tick = tick
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ricordo-scheduler", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Finish what is at hand and begin nothing else."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def _run(self) -> None:
        while not self._closing.wait(self._tick):
            for operation, step in (
                ("wishes", self._service.keep_wishes),
                ("cleanup", self.cleanup),
                ("jobs", self.take_up),
                ("keys", self._service.note_keys),
            ):
                if self._closing.is_set():
                    return
                try:
                    step()
                except RicordoError as error:  # logged, and tried again with the next tick
                    self._service.metrics.failures.labels(operation).inc()
                    log.warning("scheduled work failed: %s", error, extra={"operation": operation})
                except Exception as error:
                    self._service.metrics.failures.labels(operation).inc()
                    log.error("scheduled work failed: %s", type(error).__name__, extra={"operation": operation})

    def cleanup(self) -> None:
        """Remove what is past its time, every six hours, once per cluster."""
        service = self._service
        retention = service.settings.retention
        if retention.turn_ttl is None and retention.session_idle is None:
            return
        for tenant in service.tenants():
            moment = now()
            # The lease is not given back: while it lasts the next cleanup is not due. Each run holds it under a name
            # of its own, because whoever holds a lease may renew it at any time.
            name, holder = f"cleanup:{tenant}", f"{service.name}:{uuid4().hex}"
            if service.store.jobs.lease(name, holder, moment, moment + retention.cleanup_interval):
                result = service.memory(tenant).cleanup()
                service.metrics.cleanups.inc()
                service.metrics.cleaned_turns.inc(result.turns_deleted)
                if result.errors:
                    service.store.jobs.end_lease(name, holder)

    def take_up(self) -> None:
        """Take up work beside the chat that some process left undone, one piece at a time: a lease waits for nobody."""
        for _ in range(AT_ONCE):
            job = self._service.take_job()
            if job is None:
                return
            if self._closing.is_set():
                self._service.store.jobs.hand_back(job)
                return
            self._service.do(job)

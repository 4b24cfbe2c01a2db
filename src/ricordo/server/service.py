"""The state of a running server: one store, a memory and a chat for each tenant, the running answers.

The memories of all tenants share the store and the background jobs; a tenant's memory is created by its first request.
Closing finishes the running answers and leaves the remaining jobs in the queue.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo.chat.pipeline import Chat
from ricordo.documents.library import Library
from ricordo.engine.protocols import LLM
from ricordo.errors import StoreError
from ricordo.memory import Memory
from ricordo.records.service import Job
from ricordo.records.turns import Owner
from ricordo.server.credentials import ApiKeys, AuthError, Caller, JwtVerifier, is_api_key
from ricordo.server.metrics import CountingStore, DailySeries, Metrics
from ricordo.server.options import ServerOptions
from ricordo.server.problems import error_body
from ricordo.server.streams import AnswerRegistry
from ricordo.settings import Settings
from ricordo.stores.protocols import Store
from ricordo.worker.jobs import END, JobQueue, now

MOST_TENANTS = 256  # memories in this process; the least recently used one is evicted
MOST_SERVED = 50_000  # tenants that are cleaned up; the least recently used one is evicted


class Service:
    """What the routes use. Thread-safe."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        options: ServerOptions,
        *,
        llm: LLM | None = None,
    ) -> None:
        self.metrics = Metrics()
        self.store = store = CountingStore(store, self.metrics)
        self.settings = settings
        self.options = options
        self._llm = llm
        self._jwt = JwtVerifier(options)
        self._tenants: OrderedDict[str, tuple[Memory, Library, Chat]] = OrderedDict()
        self._served: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(options.concurrent_chats, thread_name_prefix="ricordo-chat")
        self.answers = AnswerRegistry(self._executor, error_body, options.concurrent_chats)
        self.api_keys = ApiKeys(store)
        self._series = DailySeries(store)
        self._forgetting: list[Callable[[Owner], None]] = []
        self.name = f"{os.uname().nodename}:{os.getpid()}"
        self.jobs = JobQueue(store, settings.profile, self.name)

    def caller(self, credential: str | None) -> Caller:
        """The caller that a credential belongs to, or AuthError."""
        if not self.options.auth and not (credential and is_api_key(credential)):
            return Caller(self.settings.tenant_id)  # clients may send any key: it is not checked
        if not credential:
            raise AuthError("send an API key or a token: Authorization: Bearer …", 401)
        if not is_api_key(credential):
            return self._jwt.verify(credential)
        key = self.api_keys.find(credential)
        if key is None:
            raise AuthError("the API key is unknown or was revoked", 401)
        return Caller(key.tenant_id, key.user_id, frozenset(key.scopes), "key", key.id)

    def memory(self, tenant_id: str) -> Memory:
        """The memory of a tenant."""
        return self._of(tenant_id)[0]

    def library(self, tenant_id: str) -> Library:
        """The documents of a tenant."""
        return self._of(tenant_id)[1]

    def chat(self, tenant_id: str) -> Chat:
        """The chat of a tenant."""
        return self._of(tenant_id)[2]

    def tenants(self) -> list[str]:
        """The tenants served since the start (the latest `MOST_SERVED`), and the tenant of the settings."""
        with self._lock:
            return list(dict.fromkeys([self.settings.tenant_id, *self._served]))

    def _of(self, tenant_id: str) -> tuple[Memory, Library, Chat]:
        with self._lock:
            if tenant_id not in self._tenants:
                while len(self._tenants) >= MOST_TENANTS:
                    self._tenants.popitem(last=False)  # requests and jobs that use it continue
                memory = Memory(self.store, replace(self.settings, tenant_id=tenant_id), llm=self._llm)
                library = Library(memory, self.store.documents)
                self._tenants[tenant_id] = (memory, library, Chat(memory, passages=library))
            self._tenants.move_to_end(tenant_id)
            self._served[tenant_id] = None
            self._served.move_to_end(tenant_id)
            while len(self._served) > MOST_SERVED:
                self._served.popitem(last=False)
            return self._tenants[tenant_id]

    def on_forget(self, listener: Callable[[Owner], None]) -> None:
        """Call `listener` whenever data of an owner is deleted."""
        self._forgetting.append(listener)

    def forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Drop what this process caches of an owner, or of one of their sessions."""
        self.answers.forget(owner, session_id)
        for listener in self._forgetting:
            listener(owner)

    def series(self, tenant_id: str, user_id: str | None, days: int) -> dict[str, Any]:
        """The daily counts."""
        return self._series.days(tenant_id, user_id, days, now())

    def spawn(self, work: Callable[[], None]) -> None:
        """Run a function on a chat thread; it may outlive its request."""
        self._executor.submit(work)

    def note_keys(self) -> None:
        """Store when API keys were last used."""
        self.api_keys.record_uses(now())

    def run_job(self, job: Job) -> None:
        """Run a job that was taken; a failure is counted, and the job is tried again later."""
        if self.jobs.run(job, self._work) is not None:
            self.metrics.failures.labels(job.kind).inc()

    def _work(self, job: Job) -> None:
        memory = self.memory(job.owner.tenant_id)
        if job.kind == END:
            memory.end_if_idle(job.session_id, user_id=job.owner.user_id)
        else:
            memory.catch_up(job.session_id, user_id=job.owner.user_id)

    def measure(self) -> None:
        """Update the gauges."""
        state = self.store.health().spool
        self.metrics.degraded.set(bool(self.not_kept_since or (state and state.degraded)))
        self.metrics.spool_depth.set(state.depth if state else 0)
        self.metrics.running.set(self.answers.running)
        self.metrics.kept_bytes.set(self.answers.size)
        with suppress(StoreError):
            waiting = [self.store.jobs.stats(tenant, now()) for tenant in self.tenants()]
            for name in ("pending", "leased", "failed"):
                self.metrics.jobs.labels(name).set(sum(getattr(each, name) for each in waiting))

    @property
    def degraded(self) -> tuple[str, ...]:
        """What is unavailable now, one sentence each."""
        state = self.store.health().spool
        return (
            (f"the database is away since {state.since}: {state.depth} writes wait on disk",)
            if state and state.degraded
            else ()
        )

    @property
    def not_kept_since(self) -> datetime | None:
        """Since when no turn could be written, not even to the spool; None while writes work."""
        return self.store.failing_since

    def close(self) -> None:
        """Finish the running answers, then the work after their turns, and close the store."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            tenants, self._tenants = list(self._tenants.values()), OrderedDict()
        for memory, _, _ in tenants:
            memory.rest()
        with suppress(StoreError):
            self.jobs.flush()
            self.note_keys()
        self.store.close()

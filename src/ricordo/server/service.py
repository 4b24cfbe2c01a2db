"""Everything that a running server holds: one store, a memory and a chat for each tenant, the answers under way.

Memories of several tenants share the store and the work beside the chat; a tenant's memory is made with its first
request. Closing finishes what is at hand and gives the rest back.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ricordo.chat.library import Library
from ricordo.chat.pipeline import Chat
from ricordo.errors import RicordoError, StoreError
from ricordo.memory import Memory
from ricordo.ports import LLM, WholeStore
from ricordo.records import Owner
from ricordo.server.caller import Caller, NotAllowed
from ricordo.server.keys import digest_of, looks_like_key
from ricordo.server.metrics import Metrics
from ricordo.server.options import ServerOptions
from ricordo.server.streams import Answers
from ricordo.server.tokens import Tokens
from ricordo.service import Job
from ricordo.settings import Settings

CATCH_UP, END = "catch-up", "end"
CATCH_UP_AFTER = timedelta(minutes=1)
LEASE = timedelta(minutes=5)
ATTEMPTS = 8


class Service:
    """What the routes work with. Thread-safe."""

    def __init__(
        self,
        store: WholeStore,
        settings: Settings,
        options: ServerOptions,
        *,
        llm: LLM | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.options = options
        self.metrics = Metrics()
        self._llm = llm
        self._tokens = Tokens(options)
        self._tenants: OrderedDict[str, tuple[Memory, Library, Chat]] = OrderedDict()
        self._wished: dict[tuple[Owner, str], datetime] = {}
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(options.threads, thread_name_prefix="ricordo-chat")
        self.answers = Answers(self._executor, _told)
        self.name = f"{os.uname().nodename}:{os.getpid()}"

    def caller(self, credential: str | None) -> Caller:
        """Who shows this credential, or NotAllowed."""
        if not self.options.auth and not (credential and looks_like_key(credential)):
            return Caller(self.settings.tenant_id)  # many clients insist on sending a key; here none is needed
        if not credential:
            raise NotAllowed("send an API key or a token: Authorization: Bearer …", 401)
        if not looks_like_key(credential):
            return self._tokens.caller(credential)
        key = self.store.key_by_digest(digest_of(credential))
        if key is None or key.revoked_at is not None:
            raise NotAllowed("the API key is unknown or was revoked", 401)
        return Caller(key.tenant_id, key.user_id, frozenset(key.scopes), "key")

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
        """The tenants that were served since the start, and the one of the settings."""
        with self._lock:
            return list(dict.fromkeys([self.settings.tenant_id, *self._tenants]))

    def _of(self, tenant_id: str) -> tuple[Memory, Library, Chat]:
        with self._lock:
            if tenant_id not in self._tenants:
                memory = Memory(self.store, replace(self.settings, tenant_id=tenant_id), llm=self._llm)
                library = Library(memory, self.store)
                self._tenants[tenant_id] = (memory, library, Chat(memory, passages=library))
            self._tenants.move_to_end(tenant_id)
            return self._tenants[tenant_id]

    # Work that lies in the database

    def wish(self, owner: Owner, session_id: str) -> None:
        """Something was said: look at the session later, should nobody in this process have done so by then."""
        with self._lock:
            self._wished[owner, session_id] = now()

    def keep_wishes(self) -> None:
        """Write wishes into the queue: catch up soon, and end the session when it has been idle."""
        with self._lock:
            wished, self._wished = self._wished, {}
        idle = self.settings.profile.session_end_idle
        for (owner, session_id), said_at in wished.items():
            self.store.enqueue(owner, CATCH_UP, session_id, said_at + CATCH_UP_AFTER, postpone=True)
            if self.settings.profile.remember_person == "on":
                self.store.enqueue(owner, END, session_id, said_at + idle, postpone=True)

    def take_jobs(self) -> Sequence[Job]:
        """Work that is due, for this process alone until its lease ends."""
        return self.store.take(self.name, now(), LEASE, limit=8, kinds=(CATCH_UP, END))

    def do(self, job: Job) -> None:
        """Do a piece of work; what fails is tried again later, and given up after a while."""
        try:
            memory = self.memory(job.owner.tenant_id)
            if job.kind == END:
                memory.end_if_idle(job.session_id, user_id=job.owner.user_id)
            else:
                memory.catch_up(job.session_id, user_id=job.owner.user_id)
            self.store.finish(job)
        except RicordoError as error:
            self.metrics.failures.labels(job.kind).inc()
            pause = timedelta(seconds=30 * 2 ** min(job.attempts, 8))
            retry = None if job.attempts >= ATTEMPTS else now() + pause
            self.store.fail(job, str(error)[:500], retry)

    def measure(self) -> None:
        """Bring the gauges up to date."""
        state = getattr(self.store, "state", None)
        self.metrics.degraded.set(bool(state and state.degraded))
        self.metrics.spool_depth.set(state.depth if state else 0)
        self.metrics.running.set(self.answers.running)

    @property
    def degraded(self) -> tuple[str, ...]:
        """What the service does without just now."""
        state = getattr(self.store, "state", None)
        return (
            (f"the database is away since {state.since}: {state.depth} writes wait on disk",)
            if state and state.degraded
            else ()
        )

    def close(self) -> None:
        """Finish the answers at hand, then the work beside the chat, and let go of the store."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            tenants, self._tenants = list(self._tenants.values()), OrderedDict()
        for memory, _, _ in tenants:
            memory.rest()
        with suppress(StoreError):
            self.keep_wishes()
        self.store.close()


def now() -> datetime:
    """The current moment."""
    return datetime.now(UTC)


def _told(error: Exception) -> dict[str, Any]:
    """A failure as the last event of a stream."""
    detail = str(error) if isinstance(error, RicordoError) else "something failed; the log has the cause"
    return {"type": "about:blank", "title": type(error).__name__, "status": 500, "detail": detail}

"""Everything that a running server holds: one store, a memory and a chat for each tenant, the answers under way.

Memories of several tenants share the store and the work beside the chat; a tenant's memory is made with its first
request. Closing finishes what is at hand and gives the rest back.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ricordo.chat.pipeline import Chat
from ricordo.documents.library import Library
from ricordo.engine.protocols import LLM
from ricordo.errors import NotFoundError, RicordoError, StoreError
from ricordo.memory import Memory
from ricordo.records.service import Job
from ricordo.records.turns import Owner
from ricordo.server.caller import Caller, NotAllowed
from ricordo.server.credentials import Keyring, Tokens, looks_like_key
from ricordo.server.daily_counts import Series
from ricordo.server.job_lease import Holding
from ricordo.server.metrics import CountedStore, Metrics
from ricordo.server.options import ServerOptions
from ricordo.server.problems import told_of
from ricordo.server.streams import Answers
from ricordo.settings import Settings
from ricordo.stores.protocols import Store

CATCH_UP, END = "catch-up", "end"
CATCH_UP_AFTER = timedelta(minutes=1)
LEASE = timedelta(minutes=5)
ATTEMPTS = 8
MOST_TENANTS = 256  # memories in this process; the one that was asked longest ago goes, and is made anew when asked
MOST_SERVED = 50_000  # tenants known by name; one that is let go is cleaned up again once it is served again
MOST_WISHED = 50_000  # sessions to be written into the queue, while it cannot be written to


class Service:
    """What the routes work with. Thread-safe."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        options: ServerOptions,
        *,
        llm: LLM | None = None,
    ) -> None:
        self.metrics = Metrics()
        self.store = store = CountedStore(store, self.metrics)
        self.settings = settings
        self.options = options
        self._llm = llm
        self._tokens = Tokens(options)
        self._tenants: OrderedDict[str, tuple[Memory, Library, Chat]] = OrderedDict()
        self._served: OrderedDict[str, None] = OrderedDict()
        self._wished: dict[tuple[Owner, str], datetime] = {}
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(options.concurrent_chats, thread_name_prefix="ricordo-chat")
        self.answers = Answers(self._executor, told_of, options.concurrent_chats)
        self.keyring = Keyring(store)
        self._series = Series(store)
        self._forgetting: list[Callable[[Owner], None]] = []
        self.name = f"{os.uname().nodename}:{os.getpid()}"

    def caller(self, credential: str | None) -> Caller:
        """Who shows this credential, or NotAllowed."""
        if not self.options.auth and not (credential and looks_like_key(credential)):
            return Caller(self.settings.tenant_id)  # many clients insist on sending a key; here none is needed
        if not credential:
            raise NotAllowed("send an API key or a token: Authorization: Bearer …", 401)
        if not looks_like_key(credential):
            return self._tokens.caller(credential)
        key = self.keyring.find(credential)
        if key is None:
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
        """The tenants that were served since the start, if they are not too many, and the one of the settings."""
        with self._lock:
            return list(dict.fromkeys([self.settings.tenant_id, *self._served]))

    def _of(self, tenant_id: str) -> tuple[Memory, Library, Chat]:
        with self._lock:
            if tenant_id not in self._tenants:
                while len(self._tenants) >= MOST_TENANTS:
                    self._tenants.popitem(last=False)  # whoever uses it goes on, and so does its work beside the chat
                memory = Memory(self.store, replace(self.settings, tenant_id=tenant_id), llm=self._llm)
                library = Library(memory, self.store)
                self._tenants[tenant_id] = (memory, library, Chat(memory, passages=library))
            self._tenants.move_to_end(tenant_id)
            self._served[tenant_id] = None
            self._served.move_to_end(tenant_id)
            while len(self._served) > MOST_SERVED:
                self._served.popitem(last=False)
            return self._tenants[tenant_id]

    def on_forget(self, listener: Callable[[Owner], None]) -> None:
        """Have somebody told whenever an owner has something forgotten."""
        self._forgetting.append(listener)

    def forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Let go of what this process holds of an owner, or of one of their sessions."""
        self.answers.forget(owner, session_id)
        for listener in self._forgetting:
            listener(owner)

    def series(self, tenant_id: str, user_id: str | None, days: int) -> dict[str, Any]:
        """What came day by day."""
        return self._series.days(tenant_id, user_id, days, now())

    def spawn(self, work: Callable[[], None]) -> None:
        """Have a thread of the chats do something that goes on when its request is over."""
        self._executor.submit(work)

    def note_keys(self) -> None:
        """Write down when keys were last used."""
        self.keyring.note_uses(now())

    # Work that lies in the database

    def wish(self, owner: Owner, session_id: str) -> None:
        """Something was said: look at the session later, should nobody in this process have done so by then."""
        with self._lock:
            self._wished[owner, session_id] = now()
            while len(self._wished) > MOST_WISHED:
                del self._wished[next(iter(self._wished))]

    def keep_wishes(self) -> None:
        """Write wishes into the queue: catch up soon, and end the session when it has been idle."""
        with self._lock:
            wished, self._wished = self._wished, {}
        idle = self.settings.profile.session_end_idle
        try:
            while wished:
                (owner, session_id), said_at = next(iter(wished.items()))
                self.store.jobs.enqueue(owner, CATCH_UP, session_id, said_at + CATCH_UP_AFTER, postpone=True)
                if self.settings.profile.remember_person == "on":
                    self.store.jobs.enqueue(owner, END, session_id, said_at + idle, postpone=True)
                del wished[owner, session_id]
        except StoreError:  # those that are left are written with the next tick
            with self._lock:
                self._wished = wished | self._wished
            raise

    def take_job(self) -> Job | None:
        """A piece of work that is due, for this process alone until its lease ends."""
        return next(iter(self.store.jobs.take(self.name, now(), LEASE, kinds=(CATCH_UP, END))), None)

    def do(self, job: Job) -> None:
        """Do a piece of work; what fails is tried again later, and given up after a while."""
        failure: Exception | None = None
        with Holding(self.store, job, LEASE) as held:
            try:
                memory = self.memory(job.owner.tenant_id)
                if job.kind == END:
                    memory.end_if_idle(job.session_id, user_id=job.owner.user_id)
                else:
                    memory.catch_up(job.session_id, user_id=job.owner.user_id)
            except NotFoundError:  # the session was deleted meanwhile
                pass
            except Exception as error:
                failure = error
        if failure is None:
            self.store.jobs.finish(held.job)
            return
        self.metrics.failures.labels(job.kind).inc()
        pause = timedelta(seconds=30 * 2 ** min(job.attempts, 8))
        retry = None if job.attempts >= ATTEMPTS else now() + pause
        # What is no error of ours may hold words that were said: of that only the kind is kept.
        cause = str(failure) if isinstance(failure, RicordoError) else type(failure).__name__
        self.store.jobs.fail(held.job, cause[:500], retry)

    def measure(self) -> None:
        """Bring the gauges up to date."""
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
        """What the service does without just now."""
        state = self.store.health().spool
        return (
            (f"the database is away since {state.since}: {state.depth} writes wait on disk",)
            if state and state.degraded
            else ()
        )

    @property
    def not_kept_since(self) -> datetime | None:
        """Since when nothing that is said could be written, not even on a disk of its own; None while it can."""
        return self.store.failing_since

    def close(self) -> None:
        """Finish the answers at hand, then the work beside the chat, and let go of the store."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            tenants, self._tenants = list(self._tenants.values()), OrderedDict()
        for memory, _, _ in tenants:
            memory.rest()
        with suppress(StoreError):
            self.keep_wishes()
            self.note_keys()
        self.store.close()


def now() -> datetime:
    """The current moment."""
    return datetime.now(UTC)

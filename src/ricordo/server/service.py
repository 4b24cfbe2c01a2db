"""The state of a running server: one store, a memory and a chat for each tenant, the running answers.

The memories of all tenants share the store and the background jobs; a tenant's memory is created by its first request.
Closing finishes the running answers and leaves the remaining jobs in the queue. `RequestUser` is the dependency of the
routes: the caller, and the user whose data the request is about.
"""

import logging
import os
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Header, HTTPException, Query, Request

from ricordo.chat.answerers import Answerer, Model
from ricordo.chat.pipeline import Chat
from ricordo.chat.response import ChatRequest, Done, Event, Started
from ricordo.documents.library import Library
from ricordo.engine import LLM, TokenCounter
from ricordo.engine.core import LRU, choose_llms
from ricordo.engine.tokens import counter_for
from ricordo.errors import NotFoundError, StoreError, ValidationError
from ricordo.languages.registry import languages
from ricordo.limits import PROJECT_LENGTH, check_id
from ricordo.memory import Memory
from ricordo.records.service import Job
from ricordo.records.turns import Owner, SessionInfo
from ricordo.server.credentials import ApiKeys, AuthError, Caller, JwtVerifier, bearer_token, is_api_key, required_scope
from ricordo.server.key_cache import KeyCache
from ricordo.server.metrics import CountingStore, DailySeries, Metrics
from ricordo.server.options import ServerOptions
from ricordo.server.problems import ObjectNotFound, error_body
from ricordo.server.streams import AnswerRegistry, AnswerStream
from ricordo.session import Session
from ricordo.settings import Settings
from ricordo.stores.memory import MemoryStore
from ricordo.stores.protocols import Store
from ricordo.worker import END, JobQueue, now

log = logging.getLogger("ricordo.server")

ANY_MODEL = ("ricordo", "any")  # names for the default model
WARM_SECONDS = 10.0
MOST_TENANTS = 256  # memories in this process; the least recently used one is evicted
MOST_SERVED = 50_000  # tenants that the scheduler cleans up; the least recently used one is evicted


class Service:
    """What the routes use. Thread-safe."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        options: ServerOptions,
        *,
        llm: LLM | None = None,
        key_cache: KeyCache | None = None,
    ) -> None:
        self.metrics = Metrics()
        self.store = store = CountingStore(store, self.metrics)
        self.settings = settings
        self.options = options
        self.models: tuple[LLM, ...] = (llm,) if llm else choose_llms(settings.llm, counting=self._counter)
        self._jwt = JwtVerifier(options)
        self._tenants: LRU[str, tuple[Memory, Library, Chat]] = LRU(MOST_TENANTS)
        self._served: LRU[str, None] = LRU(MOST_SERVED)
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(options.concurrent_chats, thread_name_prefix="ricordo-chat")
        self.answers = AnswerRegistry(self._executor, error_body, options.concurrent_chats)
        self.api_keys = ApiKeys(store, on_disk=key_cache)
        self._series = DailySeries(store)
        self._forgetting: list[Callable[[Owner], None]] = []
        self.name = f"{os.uname().nodename}:{os.getpid()}"
        self.jobs = JobQueue(store, settings.profile, self.name)

    def caller(self, credential: str | None) -> Caller:
        """The caller of a credential, or AuthError."""
        if not self.options.auth and not (credential and is_api_key(credential)):
            return Caller(self.settings.tenant_id)  # without authentication no key is checked
        if not credential:
            raise AuthError("send an API key or a token: Authorization: Bearer …", 401)
        if not is_api_key(credential):
            return self._jwt.verify(credential)
        key = self.api_keys.find(credential)
        if key is None:
            raise AuthError("the API key is unknown or was revoked", 401)
        return Caller(key.tenant_id, key.user_id, frozenset(key.scopes), "key", key.id)

    def memory(self, tenant_id: str) -> Memory:
        return self._of(tenant_id)[0]

    def library(self, tenant_id: str) -> Library:
        """The documents of a tenant."""
        return self._of(tenant_id)[1]

    def chat(self, tenant_id: str) -> Chat:
        return self._of(tenant_id)[2]

    @property
    def model_names(self) -> list[str]:
        """The names that answer here, the default first; without a model that of the reader."""
        return [llm.name for llm in self.models] or [self.chat(self.settings.tenant_id).answerer.name]

    def answerer(self, tenant_id: str, model: str) -> Answerer:
        """The answerer with this name; ObjectNotFound lists the names."""
        chat, names = self.chat(tenant_id), self.model_names
        if model in ANY_MODEL or model == names[0]:
            return chat.answerer
        for llm in self.models[1:]:
            if llm.name == model:
                return Model(llm, fallback=self.settings.model_fallback == "reader")
        raise ObjectNotFound("model", f"the model {model!r} is not known; known are: {', '.join(names)}")

    def _counter(self, model: str) -> TokenCounter:
        return counter_for(model, self.settings.locale.code)

    def tenants(self) -> list[str]:
        """The tenants served since the start (the latest `MOST_SERVED`), and the tenant of the settings."""
        with self._lock:
            return list(dict.fromkeys([self.settings.tenant_id, *self._served]))

    def _of(self, tenant_id: str) -> tuple[Memory, Library, Chat]:
        with self._lock:
            self._served.put(tenant_id, None)
            known = self._tenants.get(tenant_id)
            if known is None:
                settings = replace(self.settings, tenant_id=tenant_id)
                memory = Memory(self.store, settings, llm=next(iter(self.models), None))
                library = Library(memory, self.store.documents)
                known = memory, library, Chat(memory, passages=library)
                self._tenants.put(tenant_id, known)  # requests and jobs that use the evicted one continue
            return known

    def warm(self) -> None:
        """Load what the first answer needs, so that it is as fast as the next; waits `WARM_SECONDS` at most."""
        chat = self.chat(self.settings.tenant_id)

        def work() -> None:
            try:
                chat.warm()
            except Exception as error:  # the first request will handle it
                log.warning(
                    "the chat could not be loaded in advance: %s", type(error).__name__, extra={"operation": "start"}
                )

        wait([self._executor.submit(work)], WARM_SECONDS)

    def on_forget(self, listener: Callable[[Owner], None]) -> None:
        """Call `listener` whenever data of an owner is deleted."""
        self._forgetting.append(listener)

    def forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Drop what this process caches of an owner, or of one of their sessions."""
        self.answers.forget(owner, session_id)
        for listener in self._forgetting:
            listener(owner)

    def series(self, tenant_id: str, user_id: str | None, days: int) -> dict[str, Any]:
        return self._series.days(tenant_id, user_id, days, now())

    def spawn(self, work: Callable[[], None]) -> None:
        """Run a function on a chat thread; it may outlive its request."""
        self._executor.submit(work)

    def note_keys(self) -> None:
        """Store when API keys were last used, and on disk which are valid."""
        self.api_keys.save()
        self.api_keys.record_uses(now())

    def run_job(self, job: Job) -> None:
        """Run a leased job; a failed one is counted, and tried again later."""
        if self.jobs.run(job, self._work) is not None:
            self.metrics.failures.labels(job.kind).inc()

    def _work(self, job: Job) -> None:
        memory = self.memory(job.owner.tenant_id)
        if job.kind == END:
            memory.end_if_idle(job.session_id, user_id=job.owner.user_id)
        else:
            memory.catch_up(job.session_id, user_id=job.owner.user_id)

    def measure(self) -> None:
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
        """One sentence for each part that is unavailable now."""
        state = self.store.health().spool
        return (
            (f"the database is away since {state.since}: {state.depth} writes wait on disk",)
            if state and state.degraded
            else ()
        )

    @property
    def not_kept_since(self) -> datetime | None:
        """The time since which no turn could be written, not even to the spool; None while writes succeed."""
        return self.store.failing_since

    def close(self) -> None:
        """Finish the running answers, then the work after their turns, and close the store."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            tenants, self._tenants = self._tenants, LRU(MOST_TENANTS)
        for memory, _, _ in tenants.values():
            memory.rest()
        with suppress(StoreError):
            self.jobs.flush()
            self.note_keys()
        self.store.close()


def get_service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def get_caller(
    request: Request,
    service: Annotated[Service, Depends(get_service)],
    authorization: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Caller:
    """The caller of the request's credential."""
    caller = service.caller(bearer_token(authorization))
    request.scope["state"]["caller"] = caller
    return caller


def path_id(what: str, given: str) -> str:
    """An id from the URL; NotFoundError if no such id can exist."""
    try:
        return check_id(what, given)
    except ValidationError as error:
        raise NotFoundError(f"there is no such {what} for this user") from error


def utf8_header(name: str, value: str | None) -> str | None:
    """The value of a header that holds a name, read as UTF-8; the framework reads headers as Latin-1."""
    try:
        return None if value is None else value.encode("latin-1").decode()
    except UnicodeError as error:
        raise HTTPException(400, f"{name}: send it as UTF-8") from error


CallerDep = Annotated[Caller, Depends(get_caller)]
ServiceDep = Annotated[Service, Depends(get_service)]


class RequestUser:
    """The user of a request, with the tenant's memory and chat."""

    def __init__(
        self,
        request: Request,
        service: ServiceDep,
        caller: CallerDep,
        user_id: Annotated[
            str | None,
            Query(min_length=1, max_length=255, description="The user, where the credential is not bound to one"),
        ] = None,
        x_ricordo_user: Annotated[str | None, Header(include_in_schema=False)] = None,
    ) -> None:
        caller.require_scope(
            required_scope(request.method, request.scope["path"])
        )  # not request.url: it holds the Host header
        self._state = request.scope["state"]
        self.caller = caller
        self.service = service
        self._user_id = user_id if user_id is not None else utf8_header("X-Ricordo-User", x_ricordo_user)

    @property
    def memory(self) -> Memory:
        return self.service.memory(self.caller.tenant_id)

    @property
    def chat(self) -> Chat:
        return self.service.chat(self.caller.tenant_id)

    @property
    def id(self) -> str:
        return self.caller.resolve_user(self._user_id)

    @property
    def owner(self) -> Owner:
        """Tenant and user together."""
        owner = Owner(self.caller.tenant_id, self.id)
        self._state["owner"] = owner
        return owner

    @property
    def explicit_id(self) -> str | None:
        """The user that the credential or the request names; None if neither does."""
        return self.id if self.caller.user_id is not None or self._user_id is not None else None

    def override(self, user_id: str | None) -> "RequestUser":
        """The same request for the user that its body or path names, if any."""
        if user_id is not None:
            self._user_id = user_id
        return self

    def session_info(self, session_id: str) -> SessionInfo:
        """The record of a session of this user, or NotFoundError."""
        found = self.memory.store.sessions.get(self.owner, path_id("session", session_id))
        if found is None:
            raise NotFoundError("there is no such session for this user")
        return found

    def session(self, session_id: str) -> Session:
        """A session of this user, or NotFoundError."""
        info = self.session_info(session_id)
        return self.memory.session(info.id, user_id=self.id, agent_id=info.agent_id)

    def count_answer(self, done: Done) -> None:
        """Count an answer of the chat, and note its session for the background work."""
        known = done.response.metadata
        self.service.jobs.note(self.owner, done.response.session_id)
        if "timings_ms" in known:
            stored = known.get("turn_number") is not None
            self.service.metrics.record_answer(known["timings_ms"], known["tokens"]["prompt"], stored=stored)


UserDep = Annotated[RequestUser, Depends()]
Limit = Annotated[int, Query(ge=1, le=200)]
Project = Annotated[str | None, Query(min_length=1, max_length=PROJECT_LENGTH, description="Only this project")]


Said = Sequence[tuple[str, str]]


def begin(
    user: RequestUser, chat_request: ChatRequest, digest: str, model: str | None = None, temporary: Said | None = None
) -> AnswerStream:
    """Start the answer to a question, or join the running one; `model` names what answers.

    `temporary` are the earlier turns of a chat of which nothing is kept.
    """
    chat = user.chat
    if model is not None:
        chat = copy(chat)
        chat.answerer = user.service.answerer(user.caller.tenant_id, model)

    def work(stop: Callable[[], bool]) -> Generator[Event, None, None]:
        if temporary is not None:
            yield from _respond_temporarily(chat, user, replace(chat_request, stop=stop), temporary)
            return
        for event in chat.respond(replace(chat_request, stop=stop)):
            if isinstance(event, Done):
                user.count_answer(event)
                event = _without_causes(event)
            yield event

    return user.service.answers.begin(user.owner, chat_request.turn_id or "", work, digest)


def _respond_temporarily(
    chat: Chat, user: RequestUser, asked: ChatRequest, history: Said
) -> Generator[Event, None, None]:
    """Answer with an in-memory store that is dropped afterwards; only the documents are the user's."""
    memory, library = user.memory, user.service.library(user.caller.tenant_id)
    parts: dict[str, Any] = {"clock": memory.clock, "counter": memory.counter, "embedder": memory.embedder}
    with Memory(MemoryStore(), memory.settings, llm=memory.llm, **parts) as scratch:
        session = scratch.session(user_id=asked.user_id, agent_id=asked.agent_id)
        for query, response in history:
            session.add_turn(query, response)
        session.create()
        here = Chat(scratch, answerer=chat.answerer, passages=library)
        for event in here.respond(replace(asked, session_id=session.id)):
            if isinstance(event, Started):
                event = replace(event, session_id="")
            elif isinstance(event, Done):
                known = {**event.response.metadata, "turn_number": None, "temporary": True}
                event = _without_causes(Done(replace(event.response, session_id="", metadata=known)))
            yield event


def _without_causes(done: Done) -> Done:
    """The last event without the cause of a model's failure, which may name hosts and belongs in the log."""
    known = done.response.metadata
    failed = tuple(each.reader.notes["model_failed"] for each in languages())
    notes = [next((each for each in failed if note.startswith(each)), note) for note in known.get("degraded", ())]
    return replace(done, response=replace(done.response, metadata={**known, "degraded": notes}))

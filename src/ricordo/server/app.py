"""The server: the FastAPI application around one `Service`, its scheduler, and `run`, which serves it with uvicorn.

In: the location of the data, the settings, the options. `run` returns after a signal to stop, once the running answers
are finished. PostgreSQL may be unavailable, even at the start.
"""

import asyncio
import ctypes
import gc
import logging
import os
import platform
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvicorn
from anyio import to_thread
from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from starlette.middleware.cors import CORSMiddleware
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

import ricordo
from ricordo.engine import LLM
from ricordo.errors import RicordoError
from ricordo.limits import check_id
from ricordo.mcp.http import mount_mcp, sdk_installed
from ricordo.memory import check_parts
from ricordo.server.connection_limits import ConnectionLimits, handle_accept_failures, limited_protocol
from ricordo.server.idempotency import IdempotencyMiddleware
from ricordo.server.key_cache import KeyCache
from ricordo.server.logging import configure_logging, remove_handler
from ricordo.server.middleware import ETagMiddleware, GuardMiddleware, HeadMiddleware
from ricordo.server.openai_objects import OpenAIError
from ricordo.server.options import ServerOptions, check_port, chosen_spool
from ricordo.server.problems import MEDIA_TYPE, add_exception_handlers
from ricordo.server.routes import chat, documents, openai, openai_responses, sessions, tenant
from ricordo.server.service import Service
from ricordo.server.tenant_schemas import Problem
from ricordo.settings import Settings
from ricordo.stores.open import spool_directory, store_for
from ricordo.stores.protocols import Store
from ricordo.worker import now

log = logging.getLogger("ricordo.server")

DESCRIPTION = "Conversational memory: keeps every turn, understands follow-ups, knows a person, explains every prompt."
PAGE_FOLDER = Path(__file__).parent.parent / "web"
TICK = 2.0  # seconds between two rounds of the scheduler
AT_ONCE = 8  # jobs in one round
# Collect garbage less often than by default: under load each collection stops all threads. A larger threshold would
# cost memory, because one object in a cycle can hold all passages of a prompt.
GC_THRESHOLDS = (10_000, 20, 100)
MALLOC_ARENAS = 2  # shared by all threads
_M_ARENA_MAX = -8  # parameter of glibc's mallopt
BACKLOG = 256  # connections that wait to be accepted
SHUTDOWN_SECONDS = 25  # that running requests may take after the signal to stop
_ERRORS = {
    400: "The request cannot be read",
    401: "There is no valid credential",
    403: "The credential does not allow this",
    404: "It does not exist for this user",
    405: "The address does not take this method",
    409: "It conflicts with what is stored",
    413: "The body is too large",
    421: "The Host header names another machine, which is refused without authentication",
    422: "The input is not valid",
    429: "The rate limit is exceeded",
    500: "An internal error occurred",
    502: "The model did not answer",
    503: "The database is unavailable, or too many chats are running",
}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": words, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, words in _ERRORS.items()
}
_OPENAI_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": OpenAIError, "description": words} for status, words in _ERRORS.items()
}


def create_app(service: Service) -> FastAPI:
    """The whole application. It closes the service on shutdown."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = service.options.threads
        scheduler = Scheduler(service)
        scheduler.start()
        try:
            yield
        finally:
            await to_thread.run_sync(scheduler.close)
            await to_thread.run_sync(service.close)

    app = FastAPI(
        title="Ricordo",
        version=ricordo.__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # it would load scripts from another site
        redoc_url=None,
    )
    app.state.service = service
    add_exception_handlers(app)
    _add_routes(app)
    _mount_page(app)
    if sdk_installed():
        mount_mcp(app, service)
    _complete_openapi(app)
    _add_middleware(app, service)
    return app


def _add_routes(app: FastAPI) -> None:
    for router in (chat.router, sessions.router, tenant.router, documents.router, chat.ui_router):
        app.include_router(router, responses=_PROBLEMS)
    for router in (openai.router, openai_responses.router):
        app.include_router(router, responses=_OPENAI_ERRORS)


def _add_middleware(app: FastAPI, service: Service) -> None:
    """Add the middleware; the last one added is the first that a request passes."""
    app.add_middleware(IdempotencyMiddleware, service=service)
    app.add_middleware(ETagMiddleware)
    app.add_middleware(HeadMiddleware)
    if service.options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.options.cors_origins),
            allow_methods=["GET", "HEAD", "POST", "PATCH", "DELETE"],
            allow_headers=[
                "Authorization",
                "Content-Type",
                "Idempotency-Key",
                "If-None-Match",
                "Last-Event-ID",
                "X-Request-Id",
                "X-Ricordo-Agent",
                "X-Ricordo-Session",
                "X-Ricordo-User",
            ],
            expose_headers=["ETag", "Retry-After", "X-Request-Id", "X-Ricordo-Degraded", "X-Ricordo-Session"],
        )
    app.add_middleware(GuardMiddleware, service=service)


def _complete_openapi(app: FastAPI) -> None:
    """Add the real error responses and credentials to the OpenAPI document."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = generate()
            components = document.setdefault("components", {})
            schemas = components.setdefault("schemas", {})
            schemas["Problem"] = Problem.model_json_schema()
            schemas.pop("HTTPValidationError", None)
            schemas.pop("ValidationError", None)
            components["securitySchemes"] = {
                "credential": {"type": "http", "scheme": "bearer", "description": "An API key (rk_…) or a JWT"}
            }
            document["security"] = [{"credential": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


class ImmutableFiles(StaticFiles):
    """Static files whose names change with their content, so that a browser may cache them for ever."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file with the header that lets it be cached."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def has_page() -> bool:
    """Whether this installation includes the web page."""
    return (PAGE_FOLDER / "index.html").exists()


def _mount_page(app: FastAPI) -> None:
    """Serve the web page at `/`, if it was built."""
    index = PAGE_FOLDER / "index.html"
    if not index.exists():
        return

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(index, headers={"Cache-Control": "no-cache"})

    app.mount("/assets", ImmutableFiles(directory=PAGE_FOLDER / "assets"), name="assets")


class Scheduler:
    """Runs due jobs, ends idle sessions and cleans up expired data, on one thread of each process, until it is closed.

    Work that must run once per cluster is guarded by a lease. The job queue is in the database, so that another process
    finishes the jobs of one that died.
    """

    def __init__(self, service: Service, tick: float = TICK) -> None:
        self._service = service
        self._tick = tick
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ricordo-scheduler", daemon=True)

    def start(self) -> None:
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
                ("jobs", self.run_jobs),
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
        for tenant_id in service.tenants():
            moment = now()
            # The lease is not released: the next cleanup is due when it expires. Each run uses a new holder name,
            # because the holder of a lease may renew it at any time.
            name, holder = f"cleanup:{tenant_id}", f"{service.name}:{uuid4().hex}"
            if service.store.jobs.lease(name, holder, moment, moment + retention.cleanup_interval):
                result = service.memory(tenant_id).cleanup()
                service.metrics.cleanups.inc()
                service.metrics.cleaned_turns.inc(result.turns_deleted)
                if result.errors:
                    service.store.jobs.end_lease(name, holder)

    def run_jobs(self) -> None:
        """Run due jobs. Each is leased only when it can run, because a lease that waits could expire."""
        for _ in range(AT_ONCE):
            job = self._service.jobs.take()
            if job is None:
                return
            if self._closing.is_set():
                self._service.jobs.hand_back(job)
                return
            self._service.run_job(job)


def run(
    url: str,
    settings: Settings,
    options: ServerOptions,
    *,
    llm: LLM | None = None,
    started: Callable[[int], None] | None = None,
) -> None:
    """Serve until a signal to stop; `started` is called with the port once the server is listening."""
    _check_settings(settings)
    check_port(options.host, options.port)
    handler = configure_logging(options.log_level)
    try:
        spool = spool_directory(url, chosen_spool(url, options, settings))
        keys = KeyCache(spool, url) if spool and options.key_cache else None
        service = Service(open_store(url, options, settings), settings, options, llm=llm, key_cache=keys)
        service.warm()
        server = Server(uvicorn_config(service), started)
        _tune_gc()
        limit_malloc_arenas()
        server.run()
    finally:
        remove_handler(handler)


def _check_settings(settings: Settings) -> None:
    """Raise now the errors that the first request would raise."""
    from ricordo.engine.core import choose_llms

    check_id("tenant_id", settings.tenant_id)
    check_parts(settings)
    choose_llms(settings.llm)


def _tune_gc() -> None:
    """Collect garbage rarely, and exclude the objects that live as long as the server."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def limit_malloc_arenas() -> None:
    """Limit the malloc arenas of glibc: with one for each thread, freed memory is rarely reused.

    Does nothing with another C library, or if MALLOC_ARENA_MAX is set.
    """
    if "MALLOC_ARENA_MAX" not in os.environ and platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, MALLOC_ARENAS)


def open_store(url: str, options: ServerOptions, settings: Settings | None = None) -> Store:
    """The store of a path or URL; on PostgreSQL one that keeps working during an outage, unless that is `off`."""
    return store_for(url, chosen_spool(url, options, settings), settings.read_url if settings else "")


def uvicorn_config(service: Service) -> uvicorn.Config:
    """The configuration of uvicorn: our log instead of its own, and time for running requests."""
    options = service.options
    return uvicorn.Config(
        create_app(service),
        host=options.host,
        port=options.port,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        limit_concurrency=None,
        http=limited_protocol(ConnectionLimits(options)),
        ws="none",
        backlog=BACKLOG,
        h11_max_incomplete_event_size=64 * 1024,
    )


class Server(uvicorn.Server):
    """A uvicorn server that reports its port once it is listening."""

    def __init__(self, config: uvicorn.Config, started: Callable[[int], None] | None = None) -> None:
        super().__init__(config)
        self._on_started = started

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Start to listen."""
        handle_accept_failures(asyncio.get_running_loop())
        await super().startup(sockets)  # type: ignore[arg-type]
        if self._on_started and self.servers:
            self._on_started(self.servers[0].sockets[0].getsockname()[1])

"""The application: routes, guards and the page, around one `Service`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

import ricordo
from ricordo.mcp import http
from ricordo.server import page
from ricordo.server.etag import Headed, Tagged
from ricordo.server.idempotency import Repeats
from ricordo.server.middleware import Guard
from ricordo.server.problems import MEDIA_TYPE, add_problems
from ricordo.server.routes import chat, documents, openai, people, service, sessions, vercel
from ricordo.server.scheduler import Scheduler
from ricordo.server.schemas.chat import Problem
from ricordo.server.schemas.service import OpenAIError
from ricordo.server.service import Service

DESCRIPTION = "Conversational memory: keeps every turn, understands follow-ups, knows a person, explains every prompt."
_REFUSALS = {
    400: "The request cannot be read",
    401: "No valid credential",
    403: "The credential does not reach this far",
    404: "There is no such thing for this user",
    405: "Not this method",
    409: "In conflict with what is there",
    413: "Too large",
    421: "Not by this name, where everybody on this machine is let in",
    422: "The input was refused",
    429: "Too many requests",
    500: "Something failed that should not",
    502: "The model did not answer",
    503: "The database is away, or too many chats at once",
}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": words, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, words in _REFUSALS.items()
}
_OPENAI: dict[int | str, dict[str, Any]] = {
    status: {"model": OpenAIError, "description": words} for status, words in _REFUSALS.items()
}
_ROUTERS = (
    chat.router,
    sessions.sessions_router,
    sessions.contexts_router,
    sessions.topics_router,
    people.people_router,
    documents.documents_router,
    people.search_router,
    documents.imports_router,
    service.service_router,
    service.keys_router,
    vercel.router,
)


def create_app(service: Service) -> FastAPI:
    """The whole application. It closes the service when it ends."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
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
        lifespan=running,
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.service = service
    add_problems(app)
    for router in _ROUTERS:
        app.include_router(router, responses=_PROBLEMS)
    app.include_router(openai.router, responses=_OPENAI)
    page.mount(app)
    if http.has_kit():
        http.mount(app, service)
    _describe(app)
    app.add_middleware(Repeats, service=service)
    app.add_middleware(Tagged)
    app.add_middleware(Headed)
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
    app.add_middleware(Guard, service=service)
    return app


def _describe(app: FastAPI) -> None:
    """Have the OpenAPI document show problems and credentials as they are."""
    made = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = made()
            parts = document.setdefault("components", {})
            shapes = parts.setdefault("schemas", {})
            shapes["Problem"] = Problem.model_json_schema()
            shapes.pop("HTTPValidationError", None)
            shapes.pop("ValidationError", None)
            parts["securitySchemes"] = {
                "credential": {"type": "http", "scheme": "bearer", "description": "An API key (rk_…) or a JWT"}
            }
            document["security"] = [{"credential": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]

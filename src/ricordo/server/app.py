"""The FastAPI application around one `Service`: routes, middleware, the MCP endpoint and the web page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from starlette.middleware.cors import CORSMiddleware
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

import ricordo
from ricordo.mcp.http import mount_mcp, sdk_installed
from ricordo.server.idempotency import IdempotencyMiddleware
from ricordo.server.middleware import ETagMiddleware, GuardMiddleware, HeadMiddleware
from ricordo.server.problems import MEDIA_TYPE, add_exception_handlers
from ricordo.server.routes import chat, documents, openai, people, service, sessions, vercel
from ricordo.server.scheduler import Scheduler
from ricordo.server.schemas.service import OpenAIError, Problem
from ricordo.server.service import Service

DESCRIPTION = "Conversational memory: keeps every turn, understands follow-ups, knows a person, explains every prompt."
PAGE_FOLDER = Path(__file__).parent.parent / "web"
_ERRORS = {
    400: "The request cannot be read",
    401: "There is no valid credential",
    403: "The credential does not allow this",
    404: "It does not exist for this user",
    405: "The address does not take this method",
    409: "It conflicts with what is stored",
    413: "The body is too large",
    421: "The Host header names another machine (without authentication)",
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
    for module in (chat, sessions, people, documents, service, vercel):
        app.include_router(module.router, responses=_PROBLEMS)
    app.include_router(openai.router, responses=_OPENAI_ERRORS)


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
    """Describe problems and credentials in the OpenAPI document as they are."""
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


def _mount_page(app: FastAPI) -> None:
    """Serve the web page at `/`, if it was built."""
    index = PAGE_FOLDER / "index.html"
    if not index.exists():
        return

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(index, headers={"Cache-Control": "no-cache"})

    app.mount("/assets", ImmutableFiles(directory=PAGE_FOLDER / "assets"), name="assets")

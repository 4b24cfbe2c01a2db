"""The same tools on the HTTP server, at `/mcp` (streamable HTTP), with the server's own keys and tokens.

Every request shows its credential and stands alone: no protocol session is held, so that any process may answer and a
session cannot be taken over. Only POST is taken, because this server has nothing to say unasked. The kit of the
protocol takes a second to load, so it comes with the first request that is let in; most servers never need it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from anyio.abc import TaskGroup, TaskStatus
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ricordo.errors import RicordoError
from ricordo.server.dependencies import credential_of
from ricordo.server.problems import from_error, problem
from ricordo.server.service import Service

PATH = "/mcp"


def has_kit() -> bool:
    """Whether the kit is installed, in the version that we know: told by its files, without loading it."""
    kit = find_spec("mcp")
    places = kit.submodule_search_locations if kit else None
    return any((Path(place) / "server" / "mcpserver").is_dir() for place in places or ())


def mount(app: FastAPI, service: Service, path: str = PATH) -> "McpTools":
    """Serve the tools at `path`; call it before the application starts. They are `app.state.mcp` as well."""
    tools = McpTools(service, path)
    app.router.routes.append(Route(path, CredentialCheck(tools, service, path), include_in_schema=False))
    outer = app.router.lifespan_context

    @asynccontextmanager
    async def running(app: Any) -> AsyncIterator[Any]:
        async with outer(app) as state, tools.running():
            yield state

    app.router.lifespan_context = running
    app.state.mcp = tools
    return tools


class McpTools:
    """Answers requests with tools; loads them with the first one, while others go on."""

    def __init__(self, service: Service, path: str) -> None:
        self._service, self._path = service, path
        self._answer: ASGIApp | None = None
        self._loading = anyio.Lock()
        self._tasks: TaskGroup | None = None

    @property
    def loaded(self) -> bool:
        """Whether anybody has asked yet."""
        return self._answer is not None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The time in which requests are answered: what runs beside them ends with it."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._loading:
            if self._answer is None:
                assert self._tasks is not None, "requests come after the application has started"
                self._answer = await self._tasks.start(self._run)
        await self._answer(scope, receive, send)

    async def _run(self, *, task_status: TaskStatus[ASGIApp]) -> None:
        """Load the tools and keep their manager running, in one task from its beginning to its end."""
        manager = await run_in_threadpool(self._load)
        async with manager.run():
            task_status.started(manager.handle_request)
            await anyio.sleep_forever()

    def _load(self) -> Any:
        from ricordo.mcp.http_tools import manager_of

        return manager_of(self._service, self._path)


class CredentialCheck:
    """Lets in who has a credential, from a page that may call; what comes later is about them."""

    def __init__(self, app: ASGIApp, service: Service, path: str) -> None:
        self._app = app
        self._service = service
        self.path = path  # what the log calls the route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        headers = Headers(scope=scope)
        if scope["method"] != "POST":
            refused = problem(405, "Not this method", "messages of the protocol are sent with POST")
            refused.headers["Allow"] = "POST"
            await refused(scope, receive, send)
            return
        if not self._from_here(headers):
            await problem(403, "Not allowed", "pages of this origin may not call; see cors_origins")(
                scope, receive, send
            )
            return
        try:
            caller = await run_in_threadpool(self._service.caller, credential_of(headers.get("authorization")))
        except RicordoError as error:
            await from_error(error)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)

    def _from_here(self, headers: Headers) -> bool:
        """Whether a browser sends this from a page of ours or of a site that is let in; others send no origin."""
        origin = headers.get("origin")
        if origin is None or origin in self._service.options.cors_origins:
            return True
        return urlsplit(origin).netloc == headers.get("host")

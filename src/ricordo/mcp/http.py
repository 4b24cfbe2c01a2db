"""The MCP endpoint of the HTTP server: streamable HTTP at `/mcp`, with the server's own API keys and tokens.

Every request carries its credential and no protocol session is kept, so that any process can answer and no session can
be hijacked. Only POST is accepted, because the server sends no messages of its own. The MCP SDK takes a second to
import, so the first authorized request imports it; most servers never need it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import anyio
from anyio.abc import TaskGroup, TaskStatus
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ricordo.errors import RicordoError
from ricordo.limits import check_id
from ricordo.mcp.memories import McpUser
from ricordo.records.turns import DEFAULT_AGENT
from ricordo.server.credentials import AuthError, Caller, bearer_token
from ricordo.server.problems import error_response, problem_response
from ricordo.server.service import Service, utf8_header

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

MCP_PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def sdk_installed() -> bool:
    """Whether a supported version of the MCP SDK is installed, found by its files without importing it."""
    sdk = find_spec("mcp")
    places = sdk.submodule_search_locations if sdk else None
    return any((Path(place) / "server" / "mcpserver").is_dir() for place in places or ())


def mount_mcp(app: FastAPI, service: Service, path: str = MCP_PATH) -> "McpEndpoint":
    """Serve the tools at `path`; call it before the application starts. The endpoint is also `app.state.mcp`."""
    endpoint = McpEndpoint(service, path)
    app.router.routes.append(Route(path, McpGuard(endpoint, service, path), include_in_schema=False))
    outer = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[Any]:
        async with outer(app) as state, endpoint.running():
            yield state

    app.router.lifespan_context = lifespan
    app.state.mcp = endpoint
    return endpoint


class McpEndpoint:
    """Answers requests with the tools, which the first request loads in a thread."""

    def __init__(self, service: Service, path: str) -> None:
        self._service, self._path = service, path
        self._app: ASGIApp | None = None
        self._loading = anyio.Lock()
        self._tasks: TaskGroup | None = None

    @property
    def loaded(self) -> bool:
        """Whether the tools are loaded."""
        return self._app is not None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the background tasks of the endpoint."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._loading:
            if self._app is None:
                assert self._tasks is not None, "the application must have started"
                self._app = await self._tasks.start(self._run)
        await self._app(scope, receive, send)

    async def _run(self, *, task_status: TaskStatus[ASGIApp]) -> None:
        """Load the tools and run their session manager, within one task from start to end."""
        manager = await run_in_threadpool(session_manager, self._service, self._path)
        async with manager.run():
            task_status.started(manager.handle_request)
            await anyio.sleep_forever()


class McpGuard:
    """Checks method, origin and credential of a request before the tools see it."""

    def __init__(self, app: ASGIApp, service: Service, path: str) -> None:
        self._app = app
        self._service = service
        self.path = path  # the name of the route in the log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        headers = Headers(scope=scope)
        if scope["method"] != "POST":
            response = problem_response(405, "send messages of the protocol with POST")
            response.headers["Allow"] = "POST"
            await response(scope, receive, send)
            return
        if not self._is_allowed_origin(headers):
            response = problem_response(403, "pages of this origin may not call; add it to cors_origins")
            await response(scope, receive, send)
            return
        try:
            caller = await run_in_threadpool(self._service.caller, bearer_token(headers.get("authorization")))
        except RicordoError as error:
            await error_response(error)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)

    def _is_allowed_origin(self, headers: Headers) -> bool:
        """Whether the request has no Origin header (no browser), the server's own, or one of `cors_origins`."""
        origin = headers.get("origin")
        if origin is None or origin in self._service.options.cors_origins:
            return True
        try:
            return urlsplit(origin).netloc == headers.get("host")
        except ValueError:  # such as http://[
            return False


class ServerMcpUser(McpUser):
    """A user of the HTTP server, which also has running answers, cached responses and API keys."""

    def __init__(self, service: Service, tenant_id: str, user_id: str, agent_id: str) -> None:
        super().__init__(service.memory(tenant_id), user_id, agent_id)
        self._service = service

    def on_message(self, session_id: str) -> None:
        """Schedule the jobs of the session, in case this process does not finish them itself."""
        self._service.jobs.note(self.owner, session_id)

    def on_delete(self, session_id: str | None = None) -> None:
        """Drop what this process caches of the session, or of the user."""
        self._service.forget(self.owner, session_id)
        if session_id is None:
            self._service.api_keys.clear_cache()


def session_manager(service: Service, path: str) -> "StreamableHTTPSessionManager":
    """The SDK's session manager, which answers requests with the tools once it runs. Imports the SDK."""
    from mcp.server.transport_security import TransportSecuritySettings

    from ricordo.mcp.server import make_server

    def find_user(ctx: "Context[Any, Any]", scope: str) -> McpUser:
        request = cast(Request, ctx.request_context.request)
        return user_for(service, request.scope, scope)

    server = make_server(find_user, "all" if service.options.mcp_tools == "all" else "core")
    server.streamable_http_app(  # it creates the session manager; the application itself is not used
        streamable_http_path=path,
        stateless_http=True,
        json_response=True,
        max_request_body_size=service.options.body_bytes,
        transport_security=TransportSecuritySettings(  # without authentication, against DNS rebinding
            enable_dns_rebinding_protection=not service.options.auth,
            allowed_hosts=[*LOOPBACK, *(f"{host}:*" for host in LOOPBACK)],
            allowed_origins=[
                *(f"http://{host}{port}" for host in LOOPBACK for port in ("", ":*")),
                *service.options.cors_origins,
            ],
        ),
    )
    return server.session_manager


def user_for(service: Service, scope: Scope, required_scope: str) -> McpUser:
    """The user of a request: the credential's, or with a credential of the whole tenant the one in a header."""
    caller: Caller = scope["state"]["caller"]
    caller.require_scope(required_scope)
    headers = Headers(scope=scope)
    user_id = utf8_header("X-Ricordo-User", headers.get("x-ricordo-user")) or QueryParams(scope["query_string"]).get(
        "user_id"
    )
    if caller.user_id is None and caller.authenticated and not user_id:
        raise AuthError("this credential is of a whole tenant: name the user in the header X-Ricordo-User")
    agent = check_id("X-Ricordo-Agent", utf8_header("X-Ricordo-Agent", headers.get("x-ricordo-agent")) or DEFAULT_AGENT)
    user = ServerMcpUser(service, caller.tenant_id, caller.resolve_user(user_id or None), agent)
    scope["state"]["owner"] = user.owner  # a cached response is dropped when its owner's data is deleted
    return user

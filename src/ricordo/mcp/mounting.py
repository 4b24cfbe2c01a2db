"""The same tools on the HTTP server, at `/mcp` (streamable HTTP), with the server's own keys and tokens.

Every request shows its credential and stands alone: no protocol session is held, so that any process may answer and a
session cannot be taken over. Only POST is taken, because this server has nothing to say unasked.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from fastapi import FastAPI
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ricordo.errors import RicordoError
from ricordo.limits import check_id
from ricordo.mcp.person import Person
from ricordo.mcp.serving import make_server
from ricordo.memory import DEFAULT_AGENT
from ricordo.server.asking import credential_of
from ricordo.server.caller import Caller, NotAllowed
from ricordo.server.problems import from_error, problem
from ricordo.server.service import Service

PATH = "/mcp"
CALLER = "caller"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class ServedPerson(Person):
    """A person of a service, which holds answers and keys beside the memory."""

    def __init__(self, service: Service, tenant_id: str, user_id: str, agent_id: str) -> None:
        super().__init__(service.memory(tenant_id), user_id, agent_id)
        self._service = service

    def said(self, session_id: str) -> None:
        """Have the session looked at later, should nobody in this process have done so by then."""
        self._service.wish(self.owner, session_id)

    def forgets(self, session_id: str | None = None) -> None:
        """Let go of what this process holds of it."""
        self._service.forget(self.owner, session_id)
        if session_id is None:
            self._service.keyring.forget()


def mount(app: FastAPI, service: Service, path: str = PATH) -> "MCPServer[Any]":
    """Serve the tools at `path`; call it before the application starts. The server is `app.state.mcp` as well."""

    def find(ctx: Context[Any, Any], scope: str) -> Person:
        request = cast(Request, ctx.request_context.request)  # the one that brought this very call
        return person_of(service, request.scope, scope)

    server = make_server(find)
    server.streamable_http_app(  # makes the session manager, which is what is served
        streamable_http_path=path,
        stateless_http=True,
        json_response=True,
        max_request_body_size=service.options.body_bytes,
        transport_security=_security(service),
    )
    manager = server.session_manager
    app.router.routes.append(Route(path, Gate(manager.handle_request, service, path), include_in_schema=False))
    outer = app.router.lifespan_context

    @asynccontextmanager
    async def running(app: Any) -> AsyncIterator[Any]:
        async with outer(app) as state, manager.run():
            yield state

    app.router.lifespan_context = running
    app.state.mcp = server
    return server


def person_of(service: Service, scope: Scope, needed: str) -> Person:
    """Whose memory a request is about: the credential's user; or, with one of a whole tenant, the one in a header."""
    caller: Caller = scope["state"][CALLER]
    caller.must(needed)
    headers = Headers(scope=scope)
    named = headers.get("x-ricordo-user") or QueryParams(scope["query_string"]).get("user_id")
    if caller.user_id is None and caller.authenticated and not named:
        raise NotAllowed("this credential is of a whole tenant: name the user in the header X-Ricordo-User")
    agent = check_id("X-Ricordo-Agent", headers.get("x-ricordo-agent") or DEFAULT_AGENT)
    person = ServedPerson(service, caller.tenant_id, caller.user(named or None), agent)
    scope["state"]["owner"] = person.owner  # an answer that is kept for a second sending is let go of with its owner
    return person


class Gate:
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
        scope.setdefault("state", {})[CALLER] = caller
        await self._app(scope, receive, send)

    def _from_here(self, headers: Headers) -> bool:
        """Whether a browser sends this from a page of ours or of a site that is let in; others send no origin."""
        origin = headers.get("origin")
        if origin is None or origin in self._service.options.cors_origins:
            return True
        return urlsplit(origin).netloc == headers.get("host")


def _security(service: Service) -> TransportSecuritySettings:
    """Where everybody is let in, only names of this machine may be used: another name that leads here is an attack."""
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=not service.options.auth,
        allowed_hosts=[*LOOPBACK, *(f"{host}:*" for host in LOOPBACK)],
        allowed_origins=[
            *(f"http://{host}{port}" for host in LOOPBACK for port in ("", ":*")),
            *service.options.cors_origins,
        ],
    )

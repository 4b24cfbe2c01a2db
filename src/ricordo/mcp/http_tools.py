"""The tools as the HTTP server offers them: who calls is found from each request, by the server's own credentials.

In: a service. Out: the manager of the protocol's transport, ready to be run. This is the part that needs the kit of the
protocol, which takes a second to load; `mounting` brings it in with the first request.
"""

from typing import Any, cast

from mcp.server.mcpserver import Context
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.types import Scope

from ricordo.limits import check_id
from ricordo.mcp.caller import McpUser
from ricordo.mcp.server import make_server
from ricordo.memory import DEFAULT_AGENT
from ricordo.server.caller import Caller, NotAllowed
from ricordo.server.service import Service

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class ServedPerson(McpUser):
    """A person of a service, which holds answers and keys beside the memory."""

    def __init__(self, service: Service, tenant_id: str, user_id: str, agent_id: str) -> None:
        super().__init__(service.memory(tenant_id), user_id, agent_id)
        self._service = service

    def said(self, session_id: str) -> None:
        """Have the session looked at later, should nobody in this process have done so by then."""
        self._service.jobs.note(self.owner, session_id)

    def forgets(self, session_id: str | None = None) -> None:
        """Let go of what this process holds of it."""
        self._service.forget(self.owner, session_id)
        if session_id is None:
            self._service.keyring.forget()


def manager_of(service: Service, path: str) -> StreamableHTTPSessionManager:
    """What answers requests with tools, once it runs."""

    def find(ctx: Context[Any, Any], scope: str) -> McpUser:
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
    return server.session_manager


def person_of(service: Service, scope: Scope, needed: str) -> McpUser:
    """Whose memory a request is about: the credential's user; or, with one of a whole tenant, the one in a header."""
    caller: Caller = scope["state"]["caller"]
    caller.must(needed)
    headers = Headers(scope=scope)
    named = headers.get("x-ricordo-user") or QueryParams(scope["query_string"]).get("user_id")
    if caller.user_id is None and caller.authenticated and not named:
        raise NotAllowed("this credential is of a whole tenant: name the user in the header X-Ricordo-User")
    agent = check_id("X-Ricordo-Agent", headers.get("x-ricordo-agent") or DEFAULT_AGENT)
    person = ServedPerson(service, caller.tenant_id, caller.user(named or None), agent)
    scope["state"]["owner"] = person.owner  # an answer that is kept for a second sending is let go of with its owner
    return person


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

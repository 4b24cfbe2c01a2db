"""What stands before every request: an id, limits on size and rate, security headers, a log line, counters.

Plain ASGI, so that streams pass through untouched. Whatever fails behind it is told as a problem and logged by its kind
alone. Nothing here ever logs a body, a query string or a credential.
"""

import hashlib
import logging
import re
from collections import OrderedDict
from math import ceil
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from ricordo.server.logging import failure_of
from ricordo.server.options import is_loopback
from ricordo.server.problems import from_error, problem
from ricordo.server.rate_limit import Rates
from ricordo.server.service import Service

log = logging.getLogger("ricordo.server")

CSP = (
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": CSP,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_UPLOADS = ("/documents", "/import")
_FREE = ("/health", "/metrics", "/assets", "/favicon")
_REFUSALS = 60  # credentials of one address that may be refused in a minute before new ones have to wait
_DIGITS = 12
_GONE = 499  # in the log: the caller went away before it had said everything
MOST_WELCOME = 10_000
_REQUEST_ID = re.compile(r"[\w.\-]{1,64}")


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("?",))[0])


def _credential(scope: Scope, headers: Headers) -> str:
    """Who is counted: a credential, as a digest, or else an address."""
    who = headers.get("authorization") or _address(scope)
    return hashlib.sha256(who.encode()).hexdigest()[:16]


class Guard:
    """The first thing a request meets."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._requests = Rates(service.options.requests_per_minute)
        self._refused = Rates(_REFUSALS)
        self._welcome: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = perf_counter()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status, began = 500, False

        async def sending(message: Message) -> None:
            nonlocal status, began
            if message["type"] == "http.response.start":
                status, began = message["status"], True
                self._learn(scope, headers, status)
                added = MutableHeaders(scope=message)
                self._add_headers(added, request_id, scope["path"])
                self._let_read(added, headers.get("origin"))
            await send(message)

        with bound_contextvars(request_id=request_id):
            try:
                refusal = self._refusal(scope, headers)
                answer = refusal or self._app
                await answer(scope, self._bounded(scope, receive), sending)
            except HTTPException as error:
                await problem(error.status_code, "Too large", error.detail, Request(scope))(scope, receive, sending)
            except ClientDisconnect:
                status = _GONE
            except Exception as error:
                log.error("a request failed", extra={"operation": scope["method"], **failure_of(error)})
                if began:
                    raise  # half an answer cannot become a problem; the connection is closed
                await from_error(error, Request(scope))(scope, receive, sending)
            finally:
                self._note(scope, request_id, status, perf_counter() - begun)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        path, request = scope["path"], Request(scope)
        length = headers.get("content-length", "0")
        if len(length) > _DIGITS or (length.isdigit() and int(length) > self._most(path)):
            return problem(413, "Too large", f"at most {self._most(path)} bytes are taken here", request)
        if not self._service.options.auth and (refused := self._from_elsewhere(scope, headers)):
            why = "without authentication only this machine and its pages are let in; name other sites in cors_origins"
            return problem(refused, "Not allowed", why, request)
        if path.startswith(_FREE):
            return None
        key = _credential(scope, headers)
        if key not in self._welcome and not self._refused.may(_address(scope)):
            wait = self._refused.wait(_address(scope))
            return _later("too many credentials were refused; wait a minute", wait, request)
        if not self._requests.count(key):
            most = self._service.options.requests_per_minute
            return _later(f"at most {most} requests a minute; wait a little", self._requests.wait(key), request)
        return None

    def _from_elsewhere(self, scope: Scope, headers: Headers) -> int | None:
        """The status for a browser that a page sends here, by a name of its own that leads here or from its own site.

        Where no credential is asked for, nothing else keeps such a page from reading what is remembered.
        """
        origins, origin = self._service.options.cors_origins, headers.get("origin")
        names = {str((scope.get("server") or ("",))[0]), *(_name(each) for each in origins)}
        for status, called in ((421, "//" + headers["host"] if "host" in headers else None), (403, origin)):
            name = None if called is None else _name(called)
            if called is not None and called not in origins and name not in names and not is_loopback(name or ""):
                return status
        return None

    def _let_read(self, headers: MutableHeaders, origin: str | None) -> None:
        """Have pages of named sites read also what is refused here, before anything else is asked."""
        if origin in self._service.options.cors_origins:
            headers.setdefault("Access-Control-Allow-Origin", origin or "")
            headers.setdefault("Access-Control-Expose-Headers", "Retry-After, X-Request-Id")
            headers.add_vary_header("Origin")

    def _learn(self, scope: Scope, headers: Headers, status: int) -> None:
        """Remember credentials that were good: whoever guesses from the same address must not shut them out."""
        if status == 401:
            self._refused.count(_address(scope))
        elif status < 400 and "authorization" in headers:
            key = _credential(scope, headers)
            self._welcome[key] = None
            self._welcome.move_to_end(key)
            while len(self._welcome) > MOST_WELCOME:
                self._welcome.popitem(last=False)

    def _most(self, path: str) -> int:
        options = self._service.options
        return options.upload_bytes if path.startswith(_UPLOADS) else options.body_bytes

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The body, as far as it keeps its bound; a length that was not told is counted."""
        most, read = self._most(scope["path"]), 0

        async def receiving() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise TooLarge(most)
            return message

        return receiving

    def _add_headers(self, headers: MutableHeaders, request_id: str, path: str) -> None:
        headers["X-Request-Id"] = request_id
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        if not path.startswith("/assets/"):
            headers.setdefault("Cache-Control", "no-cache" if path == "/" else "private, no-cache")
        if self._service.degraded:
            headers["X-Ricordo-Degraded"] = "1"

    def _note(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        route: Any = scope.get("route")
        name = getattr(route, "path", None) or "unknown"
        self._service.metrics.requests.labels(name, str(status)).inc()
        self._service.metrics.request_seconds.labels(name).observe(seconds)
        caller = scope["state"].get("caller")
        details = {
            "operation": f"{scope['method']} {name}",
            "request_id": request_id,
            "status": status,
            "milliseconds": round(seconds * 1_000, 1),
            "tenant_id": caller.tenant_id if caller else None,
            "session_id": str(scope.get("path_params", {}).get("session_id", ""))[:255] or None,
        }
        log.info("request", extra=details)


def _name(address: str) -> str | None:
    """The host that an address names."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _later(why: str, seconds: float, request: Request) -> Response:
    refused = problem(429, "Too many requests", why, request)
    refused.headers["Retry-After"] = str(max(1, ceil(seconds)))
    return refused


class TooLarge(HTTPException):
    """A body that goes on beyond its bound."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"at most {most} bytes are taken here")

"""Middleware as plain ASGI, so that streams pass through untouched: a guard before every request, ETags, and HEAD.

The guard gives each request an id, checks its size and rate, adds security headers, answers exceptions with problems,
and writes a log line and metrics. It never logs a body, a query string or a credential.
"""

import hashlib
import logging
import re
from math import ceil
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from ricordo.errors import RicordoError
from ricordo.server.credentials import AuthError
from ricordo.server.logging import failure_fields
from ricordo.server.options import is_loopback
from ricordo.server.problems import error_response, problem_response
from ricordo.server.rate_limit import RequestLimits
from ricordo.server.service import Service

log = logging.getLogger("ricordo.server")

CSP = (
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": CSP,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_UPLOAD_PATHS = ("/documents", "/import")
_UNLIMITED_PATHS = ("/health", "/metrics", "/assets", "/favicon")
_MAX_LENGTH_DIGITS = 12
_CLIENT_CLOSED_REQUEST = 499  # in the log: the client disconnected before the end of its request
_REQUEST_ID = re.compile(r"[\w.\-]{1,64}")


class GuardMiddleware:
    """The outermost middleware: what every request passes first."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._limits = RequestLimits(service.options.requests_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_at = perf_counter()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status, response_started = 500, False

        async def send_with_headers(message: Message) -> None:
            nonlocal status, response_started
            if message["type"] == "http.response.start":
                status, response_started = message["status"], True
                self._limits.record(scope, headers, status)
                added = MutableHeaders(scope=message)
                self._add_headers(added, request_id, scope["path"])
                self._add_cors(added, headers.get("origin"))
            await send(message)

        with bound_contextvars(request_id=request_id):
            try:
                app = await self._reject(scope, headers) or self._app
                await app(scope, self._limit_body(scope, receive), send_with_headers)
            except HTTPException as error:
                response = problem_response(error.status_code, error.detail, Request(scope))
                await response(scope, receive, send_with_headers)
            except ClientDisconnect:
                status = _CLIENT_CLOSED_REQUEST
            except Exception as error:
                log.error("a request failed", extra={"operation": scope["method"], **failure_fields(error)})
                if response_started:
                    raise  # a started response cannot become a problem; the connection is closed
                await error_response(error, Request(scope))(scope, receive, send_with_headers)
            finally:
                self._record(scope, request_id, status, perf_counter() - started_at)

    async def _reject(self, scope: Scope, headers: Headers) -> Response | None:
        """The response for a request that does not reach the application."""
        path, request = scope["path"], Request(scope)
        length, limit = headers.get("content-length", "0"), self._max_bytes(path)
        if len(length) > _MAX_LENGTH_DIGITS or (length.isdigit() and int(length) > limit):
            return problem_response(413, f"at most {limit} bytes are accepted here", request)
        if not self._service.options.auth and (status := self._foreign_site_status(scope, headers)):
            detail = "without authentication only this machine and its pages may call; add other sites to cors_origins"
            return problem_response(status, detail, request)
        if path.startswith(_UNLIMITED_PATHS):
            return None
        exceeded = self._limits.check(scope, headers)
        if not exceeded and (credential := self._limits.unknown_credential(scope, headers)):
            exceeded = None if await self._is_valid(credential) else self._limits.refusal(scope)
        if exceeded:
            detail, seconds = exceeded
            response = problem_response(429, detail, request)
            response.headers["Retry-After"] = str(max(1, ceil(seconds)))
            return response
        return None

    async def _is_valid(self, credential: str) -> bool:
        """Whether a credential belongs to a caller; True if that cannot be told, which the routes answer."""
        try:
            await run_in_threadpool(self._service.caller, credential)
        except AuthError:
            return False
        except RicordoError:
            pass
        return True

    def _foreign_site_status(self, scope: Scope, headers: Headers) -> int | None:
        """421 for a Host header of another name (DNS rebinding), 403 for a page of another origin, None if allowed.

        Without authentication nothing else stops such a page from reading what is stored here.
        """
        origins, origin = self._service.options.cors_origins, headers.get("origin")
        allowed = {str((scope.get("server") or ("",))[0]), *(_host_name(each) for each in origins)}
        for status, url in ((421, "//" + headers["host"] if "host" in headers else None), (403, origin)):
            name = None if url is None else _host_name(url)
            if url is not None and url not in origins and name not in allowed and not is_loopback(name or ""):
                return status
        return None

    def _add_cors(self, headers: MutableHeaders, origin: str | None) -> None:
        """Let pages of allowed origins read the guard's own responses, which do not pass the CORS middleware."""
        if origin in self._service.options.cors_origins:
            headers.setdefault("Access-Control-Allow-Origin", origin or "")
            headers.setdefault("Access-Control-Expose-Headers", "Retry-After, X-Request-Id")
            headers.add_vary_header("Origin")

    def _max_bytes(self, path: str) -> int:
        options = self._service.options
        return options.upload_bytes if path.startswith(_UPLOAD_PATHS) else options.body_bytes

    def _limit_body(self, scope: Scope, receive: Receive) -> Receive:
        """Count the bytes of the body, because a request may have no Content-Length."""
        limit, received = self._max_bytes(scope["path"]), 0

        async def receive_counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise HTTPException(413, f"at most {limit} bytes are accepted here")
            return message

        return receive_counted

    def _add_headers(self, headers: MutableHeaders, request_id: str, path: str) -> None:
        headers["X-Request-Id"] = request_id
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)
        if not path.startswith("/assets/"):
            headers.setdefault("Cache-Control", "no-cache" if path == "/" else "private, no-cache")
        if self._service.degraded:
            headers["X-Ricordo-Degraded"] = "1"

    def _record(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        """Write the metrics and the log line of a request."""
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


def _host_name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


class ETagMiddleware:
    """Adds an ETag to JSON responses of GET, and answers 304 Not Modified if the client has the same one.

    Only whole JSON responses are buffered; streams and files pass through.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = b""
        known = Headers(scope=scope).get("if-none-match", "")

        async def send_tagged(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                content_type = Headers(raw=message["headers"]).get("content-type", "")
                if message["status"] == 200 and content_type.startswith("application/json"):
                    start = message
                    return
            elif start is not None and message["type"] == "http.response.body":
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
                headers = MutableHeaders(scope=start)
                headers["ETag"] = tag
                if known.strip() == "*" or tag in {each.strip().removeprefix("W/") for each in known.split(",")}:
                    start["status"] = 304
                    body = b""
                    del headers["content-length"]
                    del headers["content-type"]
                await send(start)
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self._app(scope, receive, send_tagged)


class HeadMiddleware:
    """Answers HEAD as GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        ended = False

        async def send_without_body(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                await send(message)
            elif not ended:
                ended = True
                await send({"type": "http.response.body", "body": b""})

        await self._app({**scope, "method": "GET"}, receive, send_without_body)

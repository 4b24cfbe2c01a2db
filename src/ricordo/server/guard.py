"""What stands before every request: an id, limits on size and rate, security headers, a log line, counters, ETags.

Plain ASGI, so that streams pass through untouched. Nothing here ever logs a body, a query string or a credential.
"""

import hashlib
import logging
import re
from time import perf_counter
from typing import Any
from uuid import uuid4

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.server.problems import problem
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
_REQUEST_ID = re.compile(r"[\w.\-]{1,64}")


class Guard:
    """The first thing a request meets."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._rate = RateLimitItemPerMinute(service.options.requests_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = perf_counter()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._add_headers(MutableHeaders(scope=message), request_id, scope["path"])
            await send(message)

        try:
            refusal = self._refusal(scope, headers)
            if refusal is not None:
                await refusal(scope, receive, sending)
            else:
                await self._app(scope, self._bounded(scope, receive), sending)
        except TooLarge as error:
            status = 413
            await problem(413, "Too large", str(error))(scope, receive, sending)
        finally:
            self._note(scope, request_id, status, perf_counter() - begun)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        path = scope["path"]
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._most(path):
            return problem(413, "Too large", f"at most {self._most(path)} bytes are taken here")
        if path.startswith(_FREE):
            return None
        who = headers.get("authorization") or (scope.get("client") or ("?",))[0]
        key = hashlib.sha256(who.encode()).hexdigest()[:16]
        if not self._limiter.hit(self._rate, key):
            most = self._service.options.requests_per_minute
            return problem(429, "Too many requests", f"at most {most} requests a minute; wait a little")
        return None

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
                raise TooLarge(f"at most {most} bytes are taken here")
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
            "session_id": scope.get("path_params", {}).get("session_id"),
        }
        log.info("request", extra=details)


class TooLarge(Exception):  # noqa: N818 - a refusal
    """A body that goes on beyond its bound."""


class Tagged:
    """Gives reads an ETag, and answers 304 where the reader has it already."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = b""
        known = Headers(scope=scope).get("if-none-match", "")

        async def sending(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                kind = Headers(raw=message["headers"]).get("content-type", "")
                if message["status"] == 200 and kind.startswith("application/json"):
                    start = message
                    return
            elif start is not None and message["type"] == "http.response.body":
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
                headers = MutableHeaders(scope=start)
                headers["ETag"] = tag
                if tag in {each.strip().removeprefix("W/") for each in known.split(",")}:
                    start["status"] = 304
                    body = b""
                    del headers["content-length"]
                    del headers["content-type"]
                await send(start)
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self._app(scope, receive, sending)

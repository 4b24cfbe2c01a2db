"""Middleware as plain ASGI, so that streams pass through untouched: a guard before every request, ETags, and HEAD.

The guard gives each request an id, checks its size and rate, adds security headers, answers exceptions with problems,
and writes a log line and metrics. It never logs a body, a query string or a credential. Rates are counted in a sliding
window of one minute for each client: the digest of its credential, or else its address.
"""

import hashlib
import logging
import re
from collections import deque
from collections.abc import Callable
from itertools import accumulate
from math import ceil
from time import monotonic, perf_counter
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

from ricordo.engine.core import LRU
from ricordo.errors import RicordoError
from ricordo.server.credentials import AuthError, bearer_token, is_api_key
from ricordo.server.logging import failure_fields
from ricordo.server.options import is_loopback
from ricordo.server.problems import error_response, problem_response
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
MAX_DEPTH = 128  # levels of values inside values in a JSON body
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
_NO_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")
_REQUEST_ID = re.compile(r"[\w.\-]{1,64}")
WINDOW_SECONDS = 60.0
MAX_CLIENTS = 10_000
MAX_VALID_CREDENTIALS = 10_000
MAX_UNAUTHORIZED = 60  # 401 responses to one address in a minute, before unknown credentials are verified first


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
                await app(scope, self._limit_body(scope, receive, headers), send_with_headers)
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
        """The response that refuses a request; None if it may reach the application."""
        path, request = scope["path"], Request(scope)
        if "transfer-encoding" in headers and "content-length" in headers:  # a proxy may read another body than we do
            response = problem_response(400, "send either Content-Length or Transfer-Encoding, not both", request)
            response.headers["Connection"] = "close"
            return response
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
        """Whether a credential is valid; True if that cannot be checked now, because the routes answer that case."""
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

    def _limit_body(self, scope: Scope, receive: Receive, headers: Headers) -> Receive:
        """Count the bytes of the body, because a request may have no Content-Length; and limit the nesting of JSON."""
        limit, received = self._max_bytes(scope["path"]), 0
        is_form = headers.get("content-type", "").startswith("multipart/")
        parts: list[bytes] | None = None if is_form or scope["path"].startswith(_UPLOAD_PATHS) else []

        async def receive_counted() -> Message:
            nonlocal received, parts
            message = await receive()
            body = message.get("body", b"")
            received += len(body)
            if received > limit:
                raise HTTPException(413, f"at most {limit} bytes are accepted here")
            if parts is not None and message["type"] == "http.request":
                parts.append(body)
                if not message.get("more_body"):
                    whole, parts = b"".join(parts), None
                    if _is_nested_deeper(whole, MAX_DEPTH):
                        raise HTTPException(400, f"the body is nested too deeply; at most {MAX_DEPTH} levels")
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


def _is_nested_deeper(body: bytes, most: int) -> bool:
    """Whether JSON is nested deeper than allowed; without parsing it, which is slow for deep nesting."""
    if body.count(b"[") + body.count(b"{") <= most:
        return False
    brackets = _STRING.sub(b"", body).translate(None, _NO_BRACKETS)
    return max(accumulate(1 if each in b"[{" else -1 for each in brackets), default=0) > most


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


class RateLimiter:
    """Counts the events of the last minute by key. For one event loop; not thread-safe.

    The number of keys is bounded: credentials and addresses change for ever. The least recently seen is evicted.
    """

    def __init__(self, limit: int, clock: Callable[[], float] = monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._times: LRU[str, deque[float]] = LRU(MAX_CLIENTS)

    def __len__(self) -> int:
        return len(self._times)

    def allows(self, key: str) -> bool:
        """Whether another event is within the limit now."""
        times = self._times.peek(key)
        if not times:
            return True
        window_start = self._clock() - WINDOW_SECONDS
        while times and times[0] <= window_start:
            times.popleft()
        return len(times) < self._limit

    def hit(self, key: str) -> bool:
        """Count an event if it is within the limit, and return whether it is."""
        if not self.allows(key):
            return False
        now = self._clock()
        times = self._times.peek(key) or deque()
        times.append(now)
        self._times.put(key, times)
        while self._is_expired(oldest := next(iter(self._times)), now - WINDOW_SECONDS):
            self._times.pop(oldest)
        return True

    def retry_after(self, key: str) -> float:
        """Seconds until the oldest event of the window has passed."""
        times = self._times.peek(key)
        return max(0.0, times[0] + WINDOW_SECONDS - self._clock()) if times else 0.0

    def _is_expired(self, key: str, window_start: float) -> bool:
        times = self._times.peek(key)
        return not times or times[-1] <= window_start


class RequestLimits:
    """The limits that every request is checked against.

    After many refused credentials from an address, an unknown credential from it is verified first. A valid one is
    never refused because of others from the same address, which may be a proxy.
    """

    def __init__(self, requests_per_minute: int) -> None:
        self._per_minute = requests_per_minute
        self._requests = RateLimiter(requests_per_minute)
        self._unauthorized = RateLimiter(MAX_UNAUTHORIZED)
        self._valid: LRU[str, None] = LRU(MAX_VALID_CREDENTIALS)

    def check(self, scope: Scope, headers: Headers) -> tuple[str, float] | None:
        """None if the request is within the limit; else what is exceeded, and the seconds to wait."""
        key = _client_key(scope, headers)
        if not self._requests.hit(key):
            return f"at most {self._per_minute} requests a minute; wait a little", self._requests.retry_after(key)
        return None

    def unknown_credential(self, scope: Scope, headers: Headers) -> str | None:
        """The credential to verify first, because it is unknown and its address had many refused; else None."""
        if _client_key(scope, headers) in self._valid or self._unauthorized.allows(_address(scope)):
            return None
        return bearer_token(headers.get("authorization"))

    def refusal(self, scope: Scope) -> tuple[str, float]:
        """The error for an invalid credential of an address that sent many refused ones, and the seconds to wait."""
        return "too many credentials were refused; wait a minute", self._unauthorized.retry_after(_address(scope))

    def record(self, scope: Scope, headers: Headers, status: int) -> None:
        """Note by the response which credentials are valid, and which addresses send invalid ones."""
        if bearer_token(headers.get("authorization")) is None:
            return
        if status == 401:
            self._unauthorized.hit(_address(scope))
        elif status < 400:
            self._valid.put(_client_key(scope, headers), None)


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("?",))[0])


def _client_key(scope: Scope, headers: Headers) -> str:
    """The digest of a request's credential, or else of its address.

    The signature of a token is left out, because one signature can be encoded in several ways.
    """
    credential = bearer_token(headers.get("authorization"))
    if credential and not is_api_key(credential):
        credential = credential.rpartition(".")[0] or credential
    return hashlib.sha256((credential or _address(scope)).encode()).hexdigest()[:16]

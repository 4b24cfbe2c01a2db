"""The HTTP client of models and embedders: posts JSON, and returns an open reply or raises `HttpError`.

It needs the standard library alone. Timeouts, size limits and retries are the same for every caller. Redirects are not
followed, because they would carry the key to another server; proxies of the environment are used, except for localhost.
"""

import http.client
import json
import logging
import random
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from ricordo.errors import ValidationError

log = logging.getLogger("ricordo.engine.http")

T = TypeVar("T")

MAX_LINE = 1 << 20  # bytes
MAX_BODY = 1 << 25
MAX_ERROR_BODY = 1 << 16
RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_LOCALHOST = frozenset({"localhost", "127.0.0.1", "::1"})


class HttpError(OSError):
    """A request failed. The message never contains a key or anything that was sent."""


class ConnectError(HttpError):
    """The server could not be reached, so the request was not sent."""


class ReadTimeout(HttpError):  # noqa: N818 - the usual name
    """The server accepted the request and sent nothing within the read timeout."""


class ReplyTooLarge(HttpError):  # noqa: N818 - a state of the reply
    """The reply exceeds the size limit or the total timeout."""


class BrokenReply(HttpError):  # noqa: N818 - a state of the reply
    """The reply ended early or could not be parsed."""


class StatusError(HttpError):
    """The server answered with a status other than 2xx; `body` is the beginning of what it sent."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status
        self.headers = headers
        self.body = body


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """Timeouts in seconds, and retries.

    `connect` limits the time to connect, `read` the time without data, `total` the time to read a whole body. The delay
    between attempts doubles from `backoff`, up to `max_wait`; a server that asks for a longer delay is not retried.
    """

    connect: float = 10.0
    read: float = 120.0
    total: float = 600.0
    attempts: int = 4
    backoff: float = 0.5
    max_wait: float = 60.0
    retry_read_timeouts: bool = False

    def __post_init__(self) -> None:
        if min(self.connect, self.read, self.total) <= 0 or self.attempts < 1:
            raise ValidationError("request policy", "connect, read, total and attempts must be above zero")
        if min(self.backoff, self.max_wait) < 0:
            raise ValidationError("request policy", "backoff and max_wait must not be negative")

    def retries(self, error: HttpError) -> bool:
        """Whether the same request may succeed when it is sent again."""
        if isinstance(error, StatusError):
            return error.status in RETRIED_STATUSES
        return not isinstance(error, ReplyTooLarge) and (self.retry_read_timeouts or not isinstance(error, ReadTimeout))

    def delay(self, attempt: int, *, jitter: float, retry_after: float | None = None) -> float | None:
        """Seconds between attempt number `attempt` (from 1) and the next; None when there is no next attempt.

        `jitter` lies between 0 and 1 and selects a point in the upper half of the doubled delay.
        """
        if attempt >= self.attempts or (retry_after is not None and retry_after > self.max_wait):
            return None
        doubled: float = min(self.backoff * 2.0 ** min(attempt - 1, 30), self.max_wait)
        spread = doubled * (0.5 + jitter / 2)
        return spread if retry_after is None else retry_after + spread * 0.1


DEFAULT_POLICY = RequestPolicy()


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The delay in seconds that the headers ask for; None when they have none or it cannot be parsed."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = lowered.get(name, "")
        if value.isascii() and value.replace(".", "", 1).isdigit():
            return float(value) * unit
    try:
        moment = parsedate_to_datetime(lowered.get("retry-after", ""))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((moment - now).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True)
class Address:
    """A base URL and the path below it; ValueError says what is wrong without repeating the URL."""

    url: str
    path: str

    def __post_init__(self) -> None:
        parts = self._parts
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("is not a URL: give one such as https://host/v1")
        if parts.username or parts.password:
            raise ValueError("contains a password: give the key separately")

    @property
    def is_secure(self) -> bool:
        """Whether the connection uses TLS."""
        return self._parts.scheme == "https"

    @property
    def host(self) -> str:
        return self._parts.hostname or ""

    @property
    def port(self) -> int:
        return self._parts.port or (443 if self.is_secure else 80)

    @property
    def target(self) -> str:
        """The request target: path and query."""
        query = f"?{self._parts.query}" if self._parts.query else ""
        return f"{self._parts.path.rstrip('/')}{self.path}{query}"

    @property
    def shown(self) -> str:
        """The base URL for error messages and logs: without the query, which may hold a key."""
        return f"{self._parts.scheme}://{self._parts.netloc}{self._parts.path}"

    @property
    def _parts(self) -> SplitResult:
        try:
            parts = urlsplit(self.url)
            parts.port  # noqa: B018 - raises for a port that is not a number
        except ValueError:
            raise ValueError("is not a URL: give one such as https://host/v1") from None
        return parts


class Reply:
    """A reply whose body is not read yet. Closing it closes the connection."""

    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, total: float
    ) -> None:
        self._connection = connection
        self._response = response
        self._total = total
        self.status = response.status
        self.headers = dict(response.headers.items())
        self.content_type = response.headers.get_content_type()

    def read(self, timeout: float | None = None) -> bytes:
        """The whole body, within `timeout` seconds, or within the policy's total."""
        deadline = time.monotonic() + (self._total if timeout is None else timeout)
        pieces: list[bytes] = []
        size = 0
        with _http_errors():
            while piece := self._response.read1(1 << 16):
                pieces.append(piece)
                size += len(piece)
                if size > MAX_BODY or time.monotonic() > deadline:
                    raise ReplyTooLarge("the body does not end")
            if (self._response.length or 0) > 0:  # shorter than its Content-Length
                raise http.client.IncompleteRead(b"", self._response.length)
        return b"".join(pieces)

    def lines(self) -> Iterator[bytes]:
        """The lines of the body as they arrive."""
        while line := self._line():
            yield line

    def _line(self) -> bytes:
        with _http_errors():
            line = self._response.readline(MAX_LINE + 1)
        if len(line) > MAX_LINE:
            raise ReplyTooLarge("a line does not end")
        return line

    def close(self) -> None:
        """Close the connection, whether the body was read or not."""
        self._response.close()
        self._connection.close()

    def __enter__(self) -> "Reply":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class JsonClient:
    """Posts JSON to one address and retries. Every request has its own connection, so threads can share a client."""

    def __init__(
        self,
        address: Address,
        *,
        name: str,
        key: str | None = None,
        policy: RequestPolicy = DEFAULT_POLICY,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._address = address
        self._name = name
        self._key = key
        self._policy = policy
        self._sleep = sleep
        self._jitter = jitter

    def post(self, body: object, read: Callable[[Reply], T], *, accept: str = "application/json") -> T:
        """Post, and return the result of `read`, which closes the reply or returns it for the caller to close."""
        data = json.dumps(body).encode("utf-8", "replace")
        attempt = 0
        while True:
            attempt += 1
            try:
                return read(self._send(data, accept))
            except HttpError as error:
                asked = retry_after(error.headers, datetime.now(UTC)) if isinstance(error, StatusError) else None
                pause = self._policy.delay(attempt, jitter=self._jitter(), retry_after=asked)
                if pause is None or not self._policy.retries(error):
                    raise
                log.info("%s: %s; retrying in %.1f s", self._name, error, pause)
            self._sleep(pause)

    def _send(self, data: bytes, accept: str) -> Reply:
        """Send one request and wait for the head of the reply; StatusError unless the status is 2xx."""
        headers = {"Content-Type": "application/json", "Accept": accept, "User-Agent": "ricordo", "Connection": "close"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        connection, target = _connection(self._address, self._policy.connect)
        try:
            try:
                connection.connect()
            except (OSError, http.client.HTTPException) as cause:
                raise ConnectError(str(cause) or type(cause).__name__) from cause
            connection.sock.settimeout(self._policy.read)
            with _http_errors():
                connection.request("POST", target, data, headers)
                reply = Reply(connection, connection.getresponse(), self._policy.total)
            if not 200 <= reply.status < 300:
                raise StatusError(reply.status, reply.headers, self._error_body(reply))
        except BaseException:
            connection.close()
            raise
        return reply

    def _error_body(self, reply: Reply) -> bytes:
        with reply:
            try:
                return reply.read(self._policy.read)[:MAX_ERROR_BODY]
            except HttpError:
                return b""


def read_body(reply: Reply) -> bytes:
    with reply:
        return reply.read()


def read_json(reply: Reply) -> Any:
    """Read and close a reply; BrokenReply unless the body is JSON."""
    try:
        return json.loads(read_body(reply))
    except (ValueError, RecursionError) as cause:
        raise BrokenReply("the body is not JSON") from cause


@contextmanager
def _http_errors() -> Iterator[None]:
    """Raise what the standard library raises as `HttpError`."""
    try:
        yield
    except HttpError:
        raise
    except TimeoutError as cause:
        raise ReadTimeout("no data within the read timeout") from cause
    except (OSError, http.client.HTTPException, ValueError) as cause:
        raise BrokenReply(type(cause).__name__) from cause


def _connection(address: Address, timeout: float) -> tuple[http.client.HTTPConnection, str]:
    """A connection that is not open yet, and the request target to send on it."""
    kind = http.client.HTTPSConnection if address.is_secure else http.client.HTTPConnection
    proxy = _proxy(address)
    if proxy is None:
        return kind(address.host, address.port, timeout=timeout), address.target
    through = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    connection = kind(through.hostname or "", through.port or 80, timeout=timeout)
    if address.is_secure:
        connection.set_tunnel(address.host, address.port)
        return connection, address.target
    return connection, f"http://{address.host}:{address.port}{address.target}"


def _proxy(address: Address) -> str | None:
    if address.host in _LOCALHOST or urllib.request.proxy_bypass(address.host):
        return None
    return urllib.request.getproxies().get("https" if address.is_secure else "http")

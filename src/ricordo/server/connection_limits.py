"""Limits on connections: how many, and how long a client may take to send a request and to read the response.

uvicorn limits none of these. A connection that sends its headers or its body too slowly is closed, and so is one that
does not read what is written to it. When the server is full, the connection that has waited longest for its request
is closed, so half-open connections block no complete request. Each reason is logged at most once a minute, with a
count.
"""

import asyncio
import errno
import logging
import resource
from collections import Counter, OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ricordo.server.options import ServerOptions, is_loopback

log = logging.getLogger("ricordo.server")

RESERVED_DESCRIPTORS = 128  # for the database, files and the log
MIN_BYTES_PER_SECOND = 1_024  # of a body, beyond `body_seconds`, and of a response that fills its buffer
LOG_SECONDS = 60.0
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class RareLog:
    """Logs each reason at most once a minute, with the number of times it occurred."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._logged_at: dict[str, float] = {}

    def note(self, reason: str) -> None:
        """Count a reason, and log it if that is due."""
        self._counts[reason] += 1
        now = self._clock()
        if now - self._logged_at.get(reason, float("-inf")) >= LOG_SECONDS:
            self._logged_at[reason] = now
            log.warning("%s (%d since the last line)", reason, self._counts.pop(reason), extra={"operation": "connect"})


class ConnectionLimits:
    """Counts the open connections, in all and by address. For one event loop.

    Loopback addresses have no limit of their own: a proxy on this machine brings the connections of all its clients.
    """

    def __init__(self, options: ServerOptions, descriptors: int | None = None) -> None:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if descriptors is None else descriptors
        self.most = min(options.connections, max(limit - RESERVED_DESCRIPTORS, limit // 2, 1))
        self.most_per_address = options.connections_per_address
        self.header_seconds, self.body_seconds = float(options.header_seconds), float(options.body_seconds)
        self.log = RareLog()
        self._addresses: dict[Any, str] = {}
        self._counts: Counter[str] = Counter()
        self._waiting: OrderedDict[Any, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._addresses)

    def enter(self, connection: Any, address: str) -> bool:
        """Count a new connection; False if it has to be closed. `connection` needs a method `abort`."""
        if self._counts[address] >= self.most_per_address and not is_loopback(address):
            self.log.note("a connection was refused: its address has too many")
            return False
        if len(self) >= self.most:
            if not self._waiting:
                self.log.note("a connection was refused: there are too many")
                return False
            oldest, _ = self._waiting.popitem(last=False)
            self.leave(oldest)
            oldest.abort()
            self.log.note("a connection without a complete request was closed: there are too many")
        self._addresses[connection] = address
        self._counts[address] += 1
        return True

    def leave(self, connection: Any) -> None:
        self._waiting.pop(connection, None)
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]

    def set_waiting(self, connection: Any, *, waiting: bool) -> None:
        """Note whether the request of a connection is incomplete; the longest waiting connection comes first."""
        if not waiting:
            self._waiting.pop(connection, None)
        elif connection in self._addresses:
            self._waiting.setdefault(connection)


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with limits; `limits` is set by `limited_protocol`."""

    limits: ConnectionLimits
    _timer: asyncio.TimerHandle | None = None
    _phase: str | None = None
    _since = 0.0
    _received = 0
    _reading: asyncio.TimerHandle | None = None
    _unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and wait for its first request."""
        super().connection_made(transport)
        if self.limits.enter(self, self.client[0] if self.client else ""):
            self._update()
        else:
            self.abort()

    def data_received(self, data: bytes) -> None:
        """Handle bytes of a request."""
        self._received += len(data)
        super().data_received(data)
        self._update()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.limits.leave(self)
        self._stop()
        self._stop_reading()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads more slowly than the response is written: measure how fast."""
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        self._reading = self.loop.call_later(self.limits.body_seconds, self._check_reading)

    def resume_writing(self) -> None:
        """The client has read what was written."""
        self._stop_reading()
        super().resume_writing()

    def abort(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def _check_reading(self) -> None:
        left = self.transport.get_write_buffer_size()
        if self._unread - left < self.limits.body_seconds * MIN_BYTES_PER_SECOND:
            self.limits.log.note("a connection was closed: its client does not read the response")
            self.abort()
            return
        self._unread = left
        self._reading = self.loop.call_later(self.limits.body_seconds, self._check_reading)

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading.cancel()
        self._reading = None

    def _update(self) -> None:
        """Measure the time from the beginning of the headers, or of the body, to its end."""
        phase = {h11.IDLE: "headers", h11.SEND_BODY: "body"}.get(self.conn.their_state)
        if phase == self._phase or self.transport.is_closing():
            return
        self._stop()
        self._phase, self._since, self._received = phase, self.loop.time(), 0
        self.limits.set_waiting(self, waiting=phase is not None)
        if phase:
            self._start()

    def _start(self) -> None:
        self._timer = self.loop.call_later(max(self._seconds() - self.loop.time() + self._since, 0.05), self._check)

    def _stop(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None

    def _seconds(self) -> float:
        """The time that this phase may take, by what was received of it."""
        if self._phase == "headers":
            return self.limits.header_seconds
        return self.limits.body_seconds + self._received / MIN_BYTES_PER_SECOND

    def _check(self) -> None:
        if self.flow.read_paused:  # the application is slow, not the client
            self._since = self.loop.time()
        if self.loop.time() - self._since < self._seconds():
            self._start()
            return
        self.limits.log.note(f"a connection was closed: the {self._phase} of its request did not arrive in time")
        self.abort()


def limited_protocol(limits: ConnectionLimits) -> type[LimitedProtocol]:
    """The protocol class of a server with these limits."""
    return type("Protocol", (LimitedProtocol,), {"limits": limits})


def handle_accept_failures(loop: asyncio.AbstractEventLoop) -> None:
    """Log rarely that no connection can be accepted; asyncio accepts again after a second."""
    rare = RareLog()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _NO_DESCRIPTORS:
            rare.note(f"no connection can be accepted: {error.strerror}")
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)

"""One HTTP request with the standard library: separate limits for connecting and for silence, closed for sure.

In: an endpoint and bytes. Out: an open reply, whatever its status. Redirects are not followed, since they would carry
the key elsewhere; proxies of the environment are used, but never for this machine itself.
"""

import http.client
import time
import urllib.request
from collections.abc import Iterator
from types import TracebackType
from urllib.parse import urlsplit

from ricordo.engine.llm.endpoint import Endpoint

LONGEST_LINE = 1 << 20
LONGEST_ANSWER = 1 << 25
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


class NoConnectionError(OSError):
    """The server was not reached: nothing has been asked yet."""


class TooMuchError(OSError):
    """The server sends more, or for longer, than an answer can be."""


class Reply:
    """A reply whose body is still to be read. Closing it closes the connection."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.status = response.status
        self.headers = dict(response.headers.items())
        self.content_type = response.headers.get_content_type()

    def body(self, deadline: float) -> bytes:
        """Everything, by `deadline` on the monotonic clock at the latest."""
        pieces: list[bytes] = []
        size = 0
        while piece := self._response.read1(1 << 16):
            pieces.append(piece)
            size += len(piece)
            if size > LONGEST_ANSWER or time.monotonic() > deadline:
                raise TooMuchError("the answer does not end")
        if (self._response.length or 0) > 0:  # less than was promised
            raise http.client.IncompleteRead(b"", self._response.length)
        return b"".join(pieces)

    def lines(self) -> Iterator[bytes]:
        """Line by line, as they come."""
        while line := self._response.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                raise TooMuchError("a line of the answer does not end")
            yield line

    def close(self) -> None:
        """Hang up, read or not."""
        self._response.close()
        self._connection.close()

    def __enter__(self) -> "Reply":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def post(endpoint: Endpoint, data: bytes, *, accept: str = "application/json") -> Reply:
    """Send a request and wait for the head of its reply."""
    headers = {"Content-Type": "application/json", "Accept": accept, "User-Agent": "ricordo", "Connection": "close"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    connection, target = _connection(endpoint)
    try:
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as cause:
            raise NoConnectionError(str(cause) or type(cause).__name__) from cause
        connection.sock.settimeout(endpoint.patience.read)
        connection.request("POST", target, data, headers)
        return Reply(connection, connection.getresponse())
    except BaseException:
        connection.close()
        raise


def _connection(endpoint: Endpoint) -> tuple[http.client.HTTPConnection, str]:
    """A connection that is still to be opened, and what to ask for on it."""
    kind = http.client.HTTPSConnection if endpoint.is_secure else http.client.HTTPConnection
    proxy = _proxy(endpoint)
    limit = endpoint.patience.connect
    if proxy is None:
        return kind(endpoint.host, endpoint.port, timeout=limit), endpoint.target
    through = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    connection = kind(through.hostname or "", through.port or 80, timeout=limit)
    if endpoint.is_secure:
        connection.set_tunnel(endpoint.host, endpoint.port)
        return connection, endpoint.target
    return connection, f"http://{endpoint.host}:{endpoint.port}{endpoint.target}"


def _proxy(endpoint: Endpoint) -> str | None:
    if endpoint.host in _HERE or urllib.request.proxy_bypass(endpoint.host):
        return None
    return urllib.request.getproxies().get("https" if endpoint.is_secure else "http")

"""Connections that send half a request: they are closed, bounded, logged once, and block no other request."""

import http.client
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any

import pytest
import uvicorn
from server_samples import live, service

from ricordo.server.connection_limits import LOG_SECONDS, ConnectionLimits, RareLog, limited_protocol
from ricordo.server.options import ServerOptions

HALF_HEAD = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
HALF_BODY = b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


@contextmanager
def half_open(port: int, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connections that send the beginning of a request and stay."""
    opened = []
    try:
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), timeout=20)
            opened.append(connection)
            connection.sendall(sent)
        yield opened
    finally:
        for connection in opened:
            connection.close()


def status(port: int, path: str = "/health/live", **headers: bytes) -> int:
    """The status of a whole request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers=headers)  # type: ignore[arg-type]
    found = connection.getresponse().status
    connection.close()
    return found


def answer(connection: socket.socket) -> bytes:
    """What a connection says until it is closed."""
    said = b""
    try:
        while part := connection.recv(4096):
            said += part
    except ConnectionResetError:
        pass
    return said


@pytest.mark.parametrize("sent", [b"", HALF_HEAD, HALF_BODY], ids=["nothing", "half headers", "half a body"])
def test_half_a_request_is_closed(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever part of a request is missing, the connection is closed; many of them are one line of the log."""
    with live(service(port=0, header_seconds=1, body_seconds=1)) as port, half_open(port, 5, sent) as opened:
        assert [answer(each) for each in opened] == [b""] * 5
        assert status(port) == 200
    assert len([each for each in caplog.records if "in time" in each.getMessage()]) == 1


def test_half_a_request_blocks_no_whole_one(caplog: pytest.LogCaptureFixture) -> None:
    """More half requests than connections: whole requests are answered, and the oldest half ones give way."""
    with live(service(port=0, connections=20)) as port:
        for sent in (HALF_HEAD, HALF_BODY):
            with half_open(port, 60, sent):
                assert [status(port) for _ in range(5)] == [200] * 5
    assert len([each for each in caplog.records if "too many" in each.getMessage()]) == 1


def test_a_slow_request_that_goes_on_is_answered() -> None:
    """A connection may send several requests, in pieces."""
    whole = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with live(service(port=0)) as port, socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        for _ in range(3):
            for at in range(0, len(whole), 7):
                connection.sendall(whole[at : at + 7])
            said = b""
            while not said.endswith(b'"ok"}'):
                said += connection.recv(4096)
            assert said.startswith(b"HTTP/1.1 200")


def test_few_descriptors_stop_no_server(tmp_path: Path) -> None:
    """With 250 descriptors and 400 half requests the server answers, and its log stays short."""
    program = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (250, 250))
from ricordo.presets import settings_from
from ricordo.server.options import ServerOptions
from ricordo.server.app import run
run(sys.argv[1], settings_from({"embedder": "light"}, {}), ServerOptions(auth=False, port=0),
    started=lambda port: print(port, flush=True))
"""
    log = tmp_path / "log"
    with log.open("wb") as errors:
        command = [sys.executable, "-c", program, str(tmp_path / "chat.db")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            assert process.stdout is not None
            port = next(int(line) for line in process.stdout if line.strip().isdigit())
            with half_open(port, 400, HALF_HEAD):
                assert [status(port) for _ in range(5)] == [200] * 5
        finally:
            process.terminate()
            process.wait(60)
            if process.stdout:
                process.stdout.close()
    assert log.stat().st_size < 20_000
    assert b"Traceback" not in log.read_bytes()


class Closable:
    """A connection that remembers that it was closed."""

    closed = False

    def abort(self) -> None:
        self.closed = True


def test_an_address_has_so_many_connections() -> None:
    """One address cannot take all of them; loopback may, where a proxy is; places are given back."""
    limits = ConnectionLimits(ServerOptions(connections=8, connections_per_address=2), descriptors=1_000)
    mine = [Closable() for _ in range(3)]
    assert [limits.enter(each, "10.0.0.1") for each in mine] == [True, True, False]
    limits.leave(mine[0])
    limits.leave(mine[0])
    assert limits.enter(mine[2], "10.0.0.1")
    local = [Closable() for _ in range(7)]
    assert [limits.enter(each, "127.0.0.1") for each in local] == [True] * 6 + [False]
    limits.set_waiting(local[3], waiting=True)
    assert limits.enter(local[6], "127.0.0.1")
    assert [each.closed for each in local] == [False, False, False, True, False, False, False]
    assert len(limits) == 8
    for each in (*mine, *local):
        limits.leave(each)
    assert len(limits) == 0


def test_a_reason_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """However often it occurs; the next line has the count."""
    now = [0.0]
    rare = RareLog(lambda: now[0])
    for _ in range(100):
        rare.note("too many")
    now[0] += LOG_SECONDS
    rare.note("too many")
    assert [each.getMessage() for each in caplog.records] == [
        "too many (1 since the last line)",
        "too many (100 since the last line)",
    ]


def test_a_name_that_is_no_utf_8_is_refused() -> None:
    """The bytes of the header that names a user are UTF-8, or 400."""
    with live(service(port=0)) as port:
        assert status(port, "/sessions", **{"X-Ricordo-User": "Zoë".encode()}) == 200
        assert status(port, "/sessions", **{"X-Ricordo-User": b"Zo\xeb"}) == 400


def test_a_body_of_two_lengths_is_refused_on_the_wire() -> None:
    """Content-Length with Transfer-Encoding is 400, and what follows is not read as a request."""
    smuggled = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    with live(service(port=0)) as port, socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head + b"0\r\n\r\n" + smuggled)
        said = answer(connection)
        assert said.startswith(b"HTTP/1.1 400")
        assert said.count(b"HTTP/1.1") == 1


def test_a_client_that_does_not_read_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    """A response that is never read ends after a while, with one line in the log; one that is read arrives whole."""
    ended: list[Event] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        mine = Event()
        ended.append(mine)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
        for _ in range(64):
            await send({"type": "http.response.body", "body": bytes(2**20), "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        mine.set()

    limits = ConnectionLimits(ServerOptions(body_seconds=3))
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=limited_protocol(limits), lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = listening.getsockname()
    try:
        with socket.socket() as idle:
            idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            idle.connect(address)
            idle.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while not ended:
                sleep(0.01)
            assert ended[0].wait(30)
        with socket.create_connection(address, timeout=30) as reader:
            reader.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            read = sum(iter(lambda: len(reader.recv(2**20)), 0))
            assert read > 64 * 2**20
    finally:
        server.should_exit = True
        thread.join(30)
    assert [record.message for record in caplog.records if "does not read" in record.message] == [
        "a connection was closed: its client does not read the response (1 since the last line)"
    ]

"""A real HTTP server in a thread that speaks the chat protocol, well or badly, as a test tells it to."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Play = Callable[["Handler"], None]

USAGE = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}


class Handler(BaseHTTPRequestHandler):
    """One request; what happens is decided by the next play of the server."""

    protocol_version = "HTTP/1.1"
    server: "ChatServer"

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers.items()), self.body))
        try:
            self.server.next_play()(self)
        except (BrokenPipeError, ConnectionResetError):
            self.server.hung_up.set()
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def reply(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        """A whole reply."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def begin(self) -> None:
        """The head of a stream that ends when the connection does."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()

    def event(self, value: object) -> None:
        """One event of a stream."""
        data = value if isinstance(value, str) else json.dumps(value)
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()


class ChatServer(ThreadingHTTPServer):
    """Plays its plays in order, the last one for ever, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self, plays: tuple[Play, ...]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plays = plays
        self.played = 0
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.hung_up = threading.Event()
        self.release = threading.Event()

    def next_play(self) -> Play:
        play = self.plays[min(self.played, len(self.plays) - 1)]
        self.played += 1
        return play

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the play."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def playing(*plays: Play) -> Iterator[ChatServer]:
    """A server for as long as the block lasts."""
    with ChatServer(plays) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.release.set()
            server.shutdown()
            thread.join()


def answers(text: str | None, **more: Any) -> Play:
    """A whole answer, with its cost unless told otherwise."""
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE, **more}
    return lambda handler: handler.reply(200, json.dumps(body).encode())


def fails(status: int, error: dict[str, Any] | None = None, **headers: str) -> Play:
    """A refusal."""
    return lambda handler: handler.reply(status, json.dumps({"error": error or {}}).encode(), **headers)


def says(body: bytes, kind: str = "application/json") -> Play:
    """A reply of any bytes."""
    return lambda handler: handler.reply(200, body, kind)


def delta(text: str, **more: Any) -> dict[str, Any]:
    """An event with a piece of text."""
    return {"choices": [{"delta": {"content": text}, "finish_reason": None}], **more}


def streams(*events: object) -> Play:
    """A stream of events that then ends, announced or not."""

    def play(handler: Handler) -> None:
        handler.begin()
        for event in events:
            handler.event(event)

    return play

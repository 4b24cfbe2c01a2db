"""A server behind a real socket: clients that hang up, streams piece by piece, and an end that loses nothing."""

import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from server_samples import SPOKEN, an_empty_store, events, live, service

from ricordo.memory import Memory
from ricordo.records.turns import Owner
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import ScriptedLLM

ANNA = Owner("default", "anna")


class Gated(ScriptedLLM):
    """Says one word, then waits for the gate, then says the rest."""

    def __init__(self) -> None:
        super().__init__("unused")
        self.begun, self.gate = threading.Event(), threading.Event()

    def stream(self, messages, **options):  # type: ignore[no-untyped-def]
        yield "Leaves"
        self.begun.set()
        assert self.gate.wait(20)
        yield " and bark."
        return self.complete(messages)


QUESTION = f"What does a {SPOKEN} eat?"


def asked(path: str = "/chat", **body: object) -> bytes:
    """A request to stream an answer, as bytes on a wire."""
    query = body or {"query": QUESTION, "user_id": "anna", "turn_id": "t1", "stream": True}
    sent = json.dumps(query).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(sent)}\r\n\r\n"
    return head.encode() + sent


def read_until(connection: socket.socket, mark: bytes) -> bytes:
    """What comes up to a mark."""
    read = b""
    while mark not in read:
        part = connection.recv(4096)
        assert part, read
        read += part
    return read


def get(port: int, path: str, **headers: str) -> tuple[int, str]:
    """The status and the body of a read."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body


def test_a_client_that_hangs_up_loses_nothing() -> None:
    """A connection cut in the middle of an answer: it is finished, stored, and read from where it was."""
    model, store = Gated(), an_empty_store()
    with live(service(store, llm=model, port=0)) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(asked())
            half = read_until(connection, b"Leaves").decode()
        assert model.begun.wait(20)
        model.gate.set()
        seen = max(int(line.rpartition(":")[2]) for line in half.splitlines() if line.startswith("id: "))
        status, rest = get(port, f"/chat/t1/stream?user_id=anna&after={seen}")
        assert status == 200
        assert [event.name for event in events(rest)] == ["delta", "done"]
        assert events(rest)[-1].data["message"] == "Leaves and bark."
        turn = store.turns.get(ANNA, "t1")
        assert turn is not None
        assert turn.response == "Leaves and bark."


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": QUESTION}], "user": "anna", "stream": True},
        ),
        (
            "/ai/chat?user_id=anna",
            {"id": "talk", "messages": [{"role": "user", "parts": [{"type": "text", "text": QUESTION}]}]},
        ),
        ("/chat", {"query": QUESTION, "user_id": "anna"}),
    ],
    ids=["openai", "vercel", "no stream"],
)
def test_nobody_has_to_stay_for_their_answer(path: str, body: dict[str, object]) -> None:
    """Whichever way it was asked for, an answer whose client went away is finished and kept, as one turn."""
    model, store = Gated(), an_empty_store()
    with live(service(store, llm=model, port=0)) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(asked(path, **body))
            assert model.begun.wait(20)
        model.gate.set()
    (session,) = store.sessions.page(ANNA, limit=5)
    (turn,) = store.turns.page(ANNA, session.id)
    assert (turn.query, turn.response) == (QUESTION, "Leaves and bark.")


def test_many_readers_follow_one_answer() -> None:
    """Whoever follows, from the start or from the middle, gets every event once and in order."""
    model = Gated()
    with (
        live(service(llm=model, port=0)) as port,
        ThreadPoolExecutor(8) as pool,
        socket.create_connection(("127.0.0.1", port), timeout=20) as connection,
    ):
        connection.sendall(asked())
        assert model.begun.wait(20)
        paths = [f"/chat/t1/stream?user_id=anna&after={after}" for after in (0, 1, 2, 0, 1, 2, 3, 0)]
        readers = [pool.submit(get, port, path) for path in paths]
        model.gate.set()
        whole = events(readers[0].result(20)[1])
        for path, reader in zip(paths, readers, strict=True):
            assert events(reader.result(20)[1]) == whole[int(path.rpartition("=")[2]) :]
        read_until(connection, b"event: done")


def test_a_server_that_is_told_to_stop_finishes_its_answers(tmp_path: Path) -> None:
    """An answer under way when the server ends is whole in the file afterwards."""
    model, path = Gated(), tmp_path / "memory.db"
    with live(service(SqliteStore(path), llm=model, port=0)) as port:
        connection = socket.create_connection(("127.0.0.1", port), timeout=20)
        connection.sendall(asked())
        read_until(connection, b"Leaves")
        connection.close()
        threading.Timer(0.2, model.gate.set).start()
    with Memory(SqliteStore(path)) as memory:
        turn = memory.store.turns.get(ANNA, "t1")
        assert turn is not None
        assert turn.response == "Leaves and bark."


def test_hostile_bytes_never_break_the_server() -> None:
    """Requests that are no HTTP, bodies that lie about their length, paths of control characters: all are refused."""
    with live(service(port=0, body_bytes=1024)) as port:
        for text in (
            b"\0\0\0\0\r\n\r\n",
            b"GET /sessions/%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            b"GET /sessions/%ff%fe?user_id=%ff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            b"GET /me HTTP/1.1\r\nHost: localhost\r\nX-Ricordo-User: \xff\xfe\r\nConnection: close\r\n\r\n",
            b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\nConnection: close\r\n\r\n{}",
            b"POST /chat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            b"fff\r\n" + b"x" * 0xFFF + b"\r\n0\r\n\r\n",
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.sendall(text)
                answer = connection.recv(4096)
                assert b" 500 " not in answer.split(b"\r\n")[0], text
        assert get(port, "/health")[0] == 200

"""The remote embedder against a real HTTP server that speaks the embeddings protocol, well and badly."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pytest

from ricordo.recall.embedders import EmbedderError
from ricordo.recall.embedders.selection import EmbeddingsEndpoint, RemoteEmbedder, choose


@dataclass
class Server:
    """What the server was asked and how it shall answer."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    dimensions: int = 4
    failures: list[int] = field(default_factory=list)
    body: bytes | None = None


@pytest.fixture
def server() -> Iterator[Server]:
    """An embeddings endpoint on this machine; it answers in reversed order, as the protocol allows."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.asked.append(body)
            state.keys.append(self.headers["Authorization"])
            if state.failures:
                self.send_error(state.failures.pop(0))
                return
            data = [
                {"index": i, "embedding": [float(len(text)), float(i + 1), *[1.0] * (state.dimensions - 2)]}
                for i, text in enumerate(body["input"])
            ]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(state.body or json.dumps({"data": data[::-1]}).encode())

        def log_message(self, *_: object) -> None:
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


def embedder(server: Server, **limits: Any) -> RemoteEmbedder:
    return RemoteEmbedder(EmbeddingsEndpoint(server.url, "small", **limits), sleep=lambda _: None)


def test_texts_go_in_batches_and_come_back_in_order(server: Server) -> None:
    """Five texts in batches of two are three calls; rows come in the order of the texts, of unit length."""
    rows = embedder(server, batch=2).embed_passages(["a", "bb", "ccc", "dddd", "eeeee"])
    assert [len(body["input"]) for body in server.asked] == [2, 2, 1]
    assert rows.shape == (5, 4)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert rows[3, 0] > rows[0, 0]


def test_dimensions_are_learned_once_and_then_held(server: Server) -> None:
    """Nobody is asked for dimensions alone; a server whose model changes size is refused instead of mixed in."""
    remote = embedder(server)
    assert (remote.dimensions, server.asked) == (0, [])
    remote.embed_query("hello")
    assert remote.dimensions == 4
    server.dimensions = 5
    with pytest.raises(EmbedderError, match=r"5 dimensions where 4 were expected.*start the program again"):
        remote.embed_query("hello")
    assert embedder(server).embed_query("hello").shape == (5,)


def test_passing_troubles_are_tried_again(server: Server) -> None:
    """Busy answers are retried, and the third attempt counts."""
    server.failures = [503, 429]
    assert embedder(server).embed_query("hello").shape == (4,)
    assert len(server.asked) == 3


def test_refusals_are_not_tried_again(server: Server) -> None:
    """A wrong key is an error at once, with the address and without the key in it."""
    server.failures = [401]
    with pytest.raises(EmbedderError, match=r"did not answer.*401") as caught:
        embedder(server, key="secret-key").embed_query("hello")
    assert "secret-key" not in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("body", [b"not json", b"[]", b'{"data": []}', b'{"data": [{"index": 0}]}'])
def test_nonsense_is_an_error_with_the_address(server: Server, body: bytes) -> None:
    """An answer that is not embeddings names the endpoint."""
    server.body = body
    with pytest.raises(EmbedderError, match="embeddings endpoint"):
        embedder(server).embed_query("hello")


@pytest.mark.parametrize("vector", ["[null, 1.0]", "[NaN, 1.0]", "[1e99, 1.0]", "[]"])
def test_a_vector_without_numbers_is_refused(server: Server, vector: str) -> None:
    """What cannot be compared is an error that names the endpoint, instead of a message that no meaning ever finds."""
    server.body = b'{"data": [{"index": 0, "embedding": %s}]}' % vector.encode()
    remote = embedder(server)
    with pytest.raises(EmbedderError, match=r"embeddings endpoint .* not finite numbers.*check the model"):
        remote.embed_query("hello")
    server.body = None
    assert remote.embed_query("hello").shape == (4,)


def test_an_absent_server_is_an_error_that_names_the_remedy() -> None:
    """A closed port ends in an error that says what to check."""
    remote = RemoteEmbedder(EmbeddingsEndpoint("http://127.0.0.1:9", "small", timeout_seconds=1), sleep=lambda _: None)
    with pytest.raises(EmbedderError, match="check the URL"):
        remote.embed_query("hello")


def test_a_setting_names_url_and_model(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """URL#MODEL chooses a remote endpoint; its key comes from the environment."""
    monkeypatch.setenv("RICORDO_EMBEDDINGS_KEY", "k")
    choice = choose(f"{server.url}#small")
    assert choice.embedder.embed_query("hello").shape == (4,)
    assert server.keys == ["Bearer k"]
    assert server.asked[0]["model"] == "small"


@pytest.mark.parametrize("setting", ["nonsense", "http://host/v1", "ftp://host#m"])
def test_a_wrong_setting_says_what_to_write(setting: str) -> None:
    """An unknown name or a URL without a model is refused with the right form."""
    with pytest.raises(EmbedderError, match="URL#MODEL"):
        choose(setting)


@pytest.mark.parametrize("url", ["http://[bad", "http://host:port/v1", "https://me:pw@host/v1"])
def test_a_wrong_address_is_refused_without_its_password(url: str) -> None:
    """An address that cannot work, or that holds a password, is refused before anything is sent."""
    with pytest.raises(EmbedderError, match="address of an embeddings endpoint") as refused:
        EmbeddingsEndpoint(url, "small")
    assert "pw" not in str(refused.value)

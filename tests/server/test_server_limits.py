"""What every request meets: limits, headers, ids, CORS, HEAD, methods, and input made to break things."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_samples import SPOKEN, a_problem, ask, for_chat_alone, serving
from starlette.testclient import TestClient

from ricordo.testing.fakes import ScriptedLLM, StoreProxy


def test_every_answer_has_an_id_and_its_shields(client: TestClient) -> None:
    """A request id of the caller's is kept if it is one; security headers are on everything, refusals too."""
    for path in ("/me", "/nowhere", "/health", "/sessions/unknown"):
        response = client.get(path)
        assert len(response.headers["X-Request-Id"]) == 32
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["X-Frame-Options"] == "DENY"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert "default-src 'self'" in response.headers["Content-Security-Policy"]
        assert "script-src 'self'" in response.headers["Content-Security-Policy"]
        assert "no-cache" in response.headers["Cache-Control"]
    assert client.get("/me", headers={"X-Request-Id": "mine-1"}).headers["X-Request-Id"] == "mine-1"
    for wrong in ("with space", "x" * 65, "new\tline"):
        assert client.get("/me", headers={"X-Request-Id": wrong}).headers["X-Request-Id"] != wrong


def test_bodies_have_a_bound_also_where_their_length_is_not_told() -> None:
    """Too large is refused by the length, and by counting where a stream tells none."""
    with serving(body_bytes=1_000) as client:
        large = json.dumps({"query": "x" * 2_000}).encode()
        headers = {"Content-Type": "application/json"}
        a_problem(client.post("/chat", content=large, headers=headers), 413)
        a_problem(client.post("/chat", content=iter([large[:500], large[500:]]), headers=headers), 413)
        keyed = headers | {"Idempotency-Key": "k"}
        a_problem(client.post("/chat", content=iter([large[:500], large[500:]]), headers=keyed), 413)
        a_problem(client.post("/chat", content=b"{}", headers=headers | {"Content-Length": "9" * 5_000}), 413)


def test_a_caller_has_so_many_requests_a_minute() -> None:
    """Beyond them 429 with a time to wait, by credential; health is free."""
    with serving(requests_per_minute=5) as client:
        statuses = [client.get("/me").status_code for _ in range(7)]
        assert statuses == [200] * 5 + [429] * 2
        refused = client.get("/me")
        assert refused.headers["Retry-After"]
        a_problem(refused, 429)
        assert client.get("/health/live").status_code == 200
        assert client.get("/me", headers={"Authorization": "Bearer other"}).status_code == 200


def test_so_many_chats_at_once() -> None:
    """One more than allowed is told to come again; joining an answer that is under way is no more."""
    gate = threading.Event()
    model = ScriptedLLM("done", gate=gate)
    alone = for_chat_alone()
    with serving(llm=model, chosen=alone, concurrent_chats=1) as client, ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, client, turn_id="t1")
        assert model.waiting.wait(20)
        told = a_problem(client.post("/chat", json={"query": SPOKEN, "user_id": "anna"}), 503)
        assert "try again" in told["detail"]
        joined = pool.submit(ask, client, turn_id="t1")
        gate.set()
        assert first.result(20)["message"] == joined.result(20)["message"] == "done"
        assert ask(client)["message"] == "done"


def test_browsers_of_named_origins_may_call() -> None:
    """A named origin is allowed with the headers it needs; any other is not; without any nobody is."""
    ask_first = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "Idempotency-Key"}
    with serving(cors_origins=("https://app.example",)) as client:
        allowed = client.options("/chat", headers={"Origin": "https://app.example", **ask_first})
        assert allowed.headers["Access-Control-Allow-Origin"] == "https://app.example"
        answer = client.get("/me", headers={"Origin": "https://app.example"})
        assert "X-Request-Id" in answer.headers["Access-Control-Expose-Headers"]
        refused = client.options("/chat", headers={"Origin": "https://evil.example", **ask_first})
        assert "Access-Control-Allow-Origin" not in refused.headers
    with serving() as client:
        answer = client.get("/me", headers={"Origin": "https://app.example"})
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_head_is_a_read_without_a_body(client: TestClient) -> None:
    """The same status and headers as GET, nothing else."""
    for path in ("/me", "/sessions", "/health", "/metrics"):
        read, head = client.get(path), client.head(path)
        assert (head.status_code, head.content) == (read.status_code, b"")
        assert head.headers["content-type"] == read.headers["content-type"]
    assert client.head("/nowhere").status_code == 404


def test_methods_that_are_not_there_say_which_are(client: TestClient) -> None:
    """405 is a problem and names the methods; unknown addresses are 404 problems."""
    response = client.put("/sessions", json={})
    a_problem(response, 405)
    assert response.headers["Allow"]
    for path in ("/nowhere", "/docs", "/redoc", "/sessions/a/b/c/d", "/assets/../../secret"):
        a_problem(client.get(path), 404)


def test_a_failure_of_ours_is_a_problem_without_details() -> None:
    """What should not happen is told as 500 without a word of what it was about."""

    class Broken(StoreProxy):
        def sessions_page(self, *args: Any, **more: Any) -> Any:
            raise RuntimeError(f"words of a {SPOKEN}")

    with serving(Broken()) as client:
        response = client.get("/sessions")
        a_problem(response, 500)
        assert SPOKEN not in response.text


NASTY = st.one_of(
    st.text(), st.sampled_from(["\0", "\ud800", "\udfff x", "../..", "%00", "'; DROP TABLE turns", "x" * 300])
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), NASTY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NASTY, inner, max_size=3),
    max_leaves=6,
)
BODIES = (
    (
        "POST",
        "/chat",
        ("query", "session_id", "turn_id", "agent_id", "chunks", "understood_as", "role", "document_ids"),
    ),
    ("POST", "/sessions", ("title", "tags", "metadata", "agent_id")),
    ("PATCH", "/sessions/known", ("title", "tags", "metadata", "document_ids", "archived")),
    ("POST", "/sessions/known/messages", ("role", "content", "metadata", "tool_calls", "tool_call_id", "name")),
    ("POST", "/sessions/known/messages", ("query", "response", "turn_id", "created_at", "chunk_ids", "metadata")),
    ("POST", "/documents", ("title", "text", "kind", "id")),
    ("POST", "/keys", ("name", "user_id", "scopes")),
    ("POST", "/v1/chat/completions", ("model", "messages", "stream", "user", "metadata", "tools", "temperature")),
    ("POST", "/ai/chat", ("id", "messages", "agent_id")),
    ("POST", "/import", ("session", "turns", "format", "version")),
    ("PATCH", "/sessions/known/topics/x", ("tags", "importance")),
    ("PATCH", "/flags/x", ("state",)),
)


@pytest.mark.parametrize(("method", "path", "fields"), BODIES, ids=lambda value: str(value))
@given(data=st.data())
def test_no_body_breaks_a_route(shared: TestClient, method: str, path: str, fields: Any, data: st.DataObject) -> None:
    """Whatever JSON is sent, surrogates and NULs included, the answer is a success or a refusal that can be read."""
    _known(shared)
    body = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(fields, VALUES)) | VALUES)
    headers = {"Content-Type": "application/json", "X-Ricordo-User": "anna"}
    response = shared.request(method, path, content=json.dumps(body), headers=headers)
    assert response.status_code < 500, (body, response.text)
    if response.status_code >= 400:
        assert json.loads(response.content)


def _known(client: TestClient) -> None:
    if client.get("/sessions/known?user_id=anna").status_code == 404:
        document = {"format": "ricordo-session", "version": 1, "user_id": "anna", "turns": []}
        moment = "2026-01-01T00:00:00+00:00"
        session = {"id": "known", "agent_id": "default", "created_at": moment, "last_active_at": moment}
        client.post("/import", json=document | {"session": session})


@given(part=st.binary(min_size=1, max_size=12), query=st.binary(max_size=12))
def test_no_address_breaks_a_route(shared: TestClient, part: bytes, query: bytes) -> None:
    """Whatever bytes stand in the path and in the query, every read answers below 500."""
    name = "".join(f"%{byte:02x}" for byte in part)
    asked = "".join(f"%{byte:02x}" for byte in query)
    for path in (
        f"/sessions/{name}?user_id={asked}", f"/sessions?cursor={asked}&tag={name}", f"/search?q={name}&role={asked}",
        f"/documents/{name}", f"/chunks/{name}", f"/chat/{name}/stream?after={asked}",
        f"/facts?agent_id={name}&at={asked}",
        f"/users/{name}/export", f"/{name}", f"/ai/chat/{name}/stream", f"/documents?cursor={asked}",
    ):  # fmt: skip
        assert shared.get(path).status_code < 500, path


KINDS = st.sampled_from(["application/json", "multipart/form-data; boundary=x", "text/plain"])


@given(body=st.binary(max_size=60), kind=KINDS)
def test_no_bytes_break_a_route(shared: TestClient, body: bytes, kind: str) -> None:
    """Bodies that are no JSON at all are refused."""
    for path in ("/chat", "/documents", "/import", "/v1/chat/completions"):
        assert shared.post(path, content=body, headers={"Content-Type": kind}).status_code < 500


def test_a_body_nested_without_end_is_refused(client: TestClient) -> None:
    """Depth beyond reason is a refusal, not a crash."""
    deep = b'{"query": "x", "session_id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    for path in ("/chat", "/documents", "/import", "/sessions"):
        response = client.post(path, content=deep, headers={"Content-Type": "application/json"})
        assert 400 <= response.status_code < 500

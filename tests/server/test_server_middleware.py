"""What is refused before any route is reached, and how: pages of elsewhere, cut bodies, shapes, times to wait."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_samples import SPOKEN, a_key, a_problem, an_empty_store, ask, bearer, service_of, serving
from starlette.testclient import TestClient

from ricordo.server.middleware import MAX_DEPTH

QUESTION = json.dumps({"query": f"What does a {SPOKEN} eat?", "user_id": "anna"}).encode()


def cut(client: TestClient, path: str, parts: Iterable[bytes], **headers: str) -> list[dict[str, Any]]:
    """Send a body whose sender goes away before its end; what was answered comes back."""
    coming = iter([{"type": "http.request", "body": part, "more_body": True} for part in parts])
    told: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(coming, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    async def call() -> None:
        given = {"content-type": "application/json", **headers}
        raw = [(name.lower().encode(), value.encode()) for name, value in given.items()]
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": raw}
        about = {"http_version": "1.1", "scheme": "http", "client": ("testclient", 1), "server": ("testserver", 80)}
        await client.app({**scope, **about}, receive, send)  # type: ignore[arg-type]

    assert client.portal is not None
    client.portal.call(call)
    return told


@given(at=st.integers(0, len(QUESTION) - 1))
def test_a_request_that_was_cut_may_be_sent_again(shared: TestClient, at: int) -> None:
    """Half a body is never taken for the whole: nothing is done, and the same key is good for the whole request."""
    key = f"cut at {at}"
    assert not cut(shared, "/chat", [QUESTION[:at]], **{"Idempotency-Key": key})
    again = shared.post("/chat", content=QUESTION, headers={"Idempotency-Key": key, "Content-Type": "application/json"})
    assert again.status_code == 200, again.text


def test_half_an_import_brings_nothing_in(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    """A file whose sender went away is no file, with a key or without; and that is no failure of ours."""
    for number in range(3):
        ask(client, f"{SPOKEN} {number}")
    lines = client.get("/users/anna/export").content.splitlines(keepends=True)
    for session in client.get("/sessions?user_id=anna").json()["items"]:
        client.delete(f"/sessions/{session['id']}?user_id=anna")
    for headers in ({}, {"Idempotency-Key": "k"}):
        cut(client, "/import", lines[:2], **headers)
        assert client.get("/sessions?user_id=anna").json()["items"] == []
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    whole = client.post("/import", content=b"".join(lines), headers={"Idempotency-Key": "k"})
    assert whole.json()["sessions_added"] == 3


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8377"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "[bad"},
        {"Origin": "https://evil.example"},
        {"Origin": "https://localhost.evil.example"},
        {"Origin": "null"},
        {"Origin": "http://[bad"},
    ],
)
def test_pages_of_elsewhere_are_not_let_in_without_a_credential(headers: dict[str, str]) -> None:
    """A browser that a page sends here, by another name of this machine or from another site, is refused."""
    with serving() as client:
        ask(client)
        status = 421 if "Host" in headers else 403
        for path in ("/sessions?user_id=anna", "/", "/health"):
            assert "cors_origins" in a_problem(client.get(path, headers=headers), status)["detail"]
        form = {"Content-Type": "text/plain", **headers}
        a_problem(client.post("/documents", content='{"title": "x", "text": "planted"}', headers=form), status)
        assert client.get("/documents?user_id=anonymous").json()["items"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "localhost:8377"},
        {"Host": "127.0.0.1"},
        {"Host": "[::1]:8377"},
        {"Host": "testserver", "Origin": "http://testserver"},
        {"Host": "localhost:8377", "Origin": "http://localhost:5173"},
        {"Host": "app.example", "Origin": "https://app.example"},
    ],
)
def test_this_machine_and_named_sites_are_let_in(headers: dict[str, str]) -> None:
    """By the names of this machine, from its own pages, and for sites that are named."""
    with serving(cors_origins=("https://app.example",)) as client:
        assert client.get("/me", headers=headers).status_code == 200


def test_with_credentials_any_name_will_do() -> None:
    """Where a credential is asked for, a page of elsewhere has none: the name of the server is not looked at."""
    store = an_empty_store()
    with serving(store, auth=True) as client:
        headers = {"Host": "chat.example", "Origin": "https://evil.example"}
        assert client.get("/me", headers=headers | bearer(a_key(store))).status_code == 200
        a_problem(client.get("/me", headers=headers), 401)


def test_refusals_at_the_door_have_the_shape_of_their_route() -> None:
    """Under /v1 they are OpenAI's, elsewhere problems that name their address; named sites may read them."""
    with serving(body_bytes=1_000, requests_per_minute=8, cors_origins=("https://app.example",)) as client:
        site = {"Origin": "https://app.example"}
        for key in ({}, {"Idempotency-Key": "k" * 300}):
            large = client.post("/v1/chat/completions", content=b"x" * (100 if key else 2_000), headers=site | key)
            assert large.json()["error"]["type"] == "invalid_request_error"
            assert large.headers["Access-Control-Allow-Origin"] == "https://app.example"
        assert a_problem(client.post("/chat", content=b"x" * 2_000), 413)["instance"] == "/chat"
        while (refused := client.get("/v1/models", headers=site)).status_code == 200:
            pass
        assert refused.status_code == 429
        assert refused.json()["error"]["code"] == "rate_limit_exceeded"
        assert refused.headers["Access-Control-Allow-Origin"] == "https://app.example"
        assert "Retry-After" in refused.headers["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Origin" not in client.get("/me").headers


def test_the_time_to_wait_is_the_time_after_which_it_works() -> None:
    """Retry-After of a rate is what is left of its minute, not a second that would be refused again."""
    with serving(requests_per_minute=1) as client:
        assert client.get("/me").status_code == 200
        assert 50 <= int(client.get("/me").headers["Retry-After"]) <= 60


def test_a_body_that_is_no_json_is_blamed_on_the_body(client: TestClient) -> None:
    """Not on the place in it where reading ended; what cannot be read at all says what to send."""
    headers = {"Content-Type": "application/json"}
    for broken in (b"{", b'{"query": ', b""):
        told = a_problem(client.post("/chat", content=broken, headers=headers), 422)
        assert told["field"] == "body"
        assert told["detail"].startswith("body: ")
    assert "UTF-8" in a_problem(client.post("/chat", content=b'{"query": "\xff"}', headers=headers), 400)["detail"]


def test_a_method_that_is_not_there_names_all_that_are(client: TestClient) -> None:
    """Every method of the address, in the header and in words."""
    refused = client.put("/sessions", json={})
    assert refused.headers["Allow"] == "GET, HEAD, POST"
    assert "GET, HEAD, POST" in a_problem(refused, 405)["detail"]
    assert client.post("/health").headers["Allow"] == "GET, HEAD"


def test_a_file_without_a_name_is_not_called_by_ours(client: TestClient) -> None:
    """The name of a temporary file is nobody's business."""
    told = a_problem(client.post("/import", content=b"not a conversation"), 422)["detail"]
    assert "ricordo-import" not in told
    assert "the file" in told


def test_any_tag_at_all_is_the_one_that_is_there(client: TestClient) -> None:
    """If-None-Match: * is 304 wherever there is something to read."""
    assert client.get("/sessions", headers={"If-None-Match": "*"}).status_code == 304
    a_problem(client.get("/sessions/unknown", headers={"If-None-Match": "*"}), 404)
    assert service_of(client).answers.running == 0


@pytest.mark.parametrize("headers", [{"Origin": "http://["}, {"Host": "["}, {"Host": "[", "Origin": "//[x"}], ids=str)
def test_broken_origins_and_hosts_are_no_failure_of_ours(headers: dict[str, str]) -> None:
    """A header that is no address is refused or ignored, on every path, with a credential and without."""
    store = an_empty_store()
    known = bearer(a_key(store))
    with serving(store, auth=True, cors_origins=("https://app.example",)) as client:
        for path in ("/me", "/nowhere", "/mcp", "/health"):
            for given in (headers, headers | known):
                assert client.get(path, headers=given).status_code < 500
                assert client.post(path, json={}, headers=given).status_code < 500
                assert client.options(path, headers=given).status_code < 500


def test_a_user_is_named_in_utf_8() -> None:
    """The header that names a user gives the same user as the query."""
    with serving() as client:
        name = "Zoë 李"
        made = client.post("/sessions", json={}, headers={"X-Ricordo-User": name.encode()})
        assert made.status_code == 201
        listed = client.get("/sessions", params={"user_id": name}).json()["items"]
        assert [each["id"] for each in listed] == [made.json()["id"]]


def test_a_body_of_two_lengths_is_refused(client: TestClient) -> None:
    """Content-Length with Transfer-Encoding: a proxy before us may read another body, so neither is believed."""
    both = {"Content-Length": str(len(QUESTION)), "Transfer-Encoding": "chunked"}
    response = client.post("/chat", content=QUESTION, headers=both)
    assert "Transfer-Encoding" in a_problem(response, 400)["detail"]
    assert response.headers["Connection"] == "close"


def nested(depth: int, opening: str, closing: str) -> bytes:
    """A chat whose role is nested this deep, the object of the body included."""
    return b'{"query": "x", "role": ' + (opening * (depth - 1) + "1" + closing * (depth - 1)).encode() + b"}"


@pytest.mark.parametrize("shape", [("[", "]"), ('{"a": ', "}"), ('[{"a": ', "}]")], ids=str)
@pytest.mark.parametrize("path", ["/chat", "/sessions", "/v1/chat/completions", "/ai/chat", "/keys", "/mcp"])
def test_json_is_nested_so_deep_at_most(client: TestClient, path: str, shape: tuple[str, str]) -> None:
    """One level more than allowed is refused before it is parsed, also in pieces; brackets in texts are no levels."""
    deep = nested(MAX_DEPTH + 1, *shape)
    headers = {"Content-Type": "application/json"}
    for content in (deep, iter([deep[:50], deep[50:]])):
        refused = client.post(path, content=content, headers=headers)
        assert refused.status_code == 400
        assert "nested" in refused.text
    for body in ({"query": shape[0] * 500}, {"query": '\\"' + "[{" * 500 + "\\\\"}):
        assert "nested" not in client.post(path, json=body).text
    assert "nested" not in client.post(path, content=nested(3, *shape), headers=headers).text

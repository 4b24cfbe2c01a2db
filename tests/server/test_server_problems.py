"""What a problem says beside its words: a code that stays the same, for pages and programs."""

import json
from pathlib import Path
from typing import Any

import pytest
from server_samples import a_problem, events, serving
from starlette.testclient import TestClient

from ricordo.errors import LLMError, NotFoundError, RicordoError, SettingsError, StoreError, StoreUnavailable
from ricordo.server.problems import error_body, error_response, openai_error, problem_body
from ricordo.server.streams import TooManyAnswers

ROOT = Path(__file__).parents[2]
FILES = {
    "empty.txt": (b" ", "file_empty"),
    "tool.exe": (b"MZ", "file_kind_unknown"),
    "latin.txt": ("perch\u00e9".encode("latin-1"), "file_encoding"),
    "broken.pdf": (b"%PDF-nonsense", "file_damaged"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_refused_file_has_the_code_of_its_reason(client: TestClient, name: str) -> None:
    """The reasons that a person can do something about are told apart by code, whatever their words."""
    if name.endswith(".pdf"):
        pytest.importorskip("pypdf", reason="PDF documents need the extra ricordo[pdf]")
    content, code = FILES[name]
    assert a_problem(client.post("/documents", files={"file": (name, content)}), 422)["code"] == code


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_file_without_conversations_has_its_code(client: TestClient, accept: str) -> None:
    """In a problem and in the event `error` of a stream alike."""
    response = client.post("/import", files={"file": ("a.json", b"{}")}, headers={"Accept": accept})
    if accept == "application/json":
        assert a_problem(response, 422)["code"] == "import_unknown"
    else:
        assert events(response.text)[-1].data["code"] == "import_unknown"


def test_what_is_too_large_has_one_code() -> None:
    """A body and a text that are too large say the same."""
    with serving(body_bytes=2_000_000) as client:
        assert a_problem(client.post("/chat", json={"query": "x" * 3_000_000}), 413)["code"] == "too_large"
        assert a_problem(client.post("/chat", json={"query": "x" * 1_500_000}), 422)["code"] == "too_large"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("a", "b"), "invalid"),
        (NotFoundError("a"), "not_found"),
        (TooManyAnswers("a"), "too_many_answers"),
        (LLMError("a", cause="timeout"), "model_failed"),
        (StoreUnavailable("a"), "database_unavailable"),
        (StoreError("a"), "database_failed"),
        (RicordoError("a"), "internal"),
        (OSError("a"), "internal"),
    ],
)
def test_each_kind_of_error_has_a_code(error: Exception, code: str) -> None:
    """One table names them; what is no error of ours is internal."""
    assert error_body(error)["code"] == code
    assert json.loads(error_response(error).body)["code"] == code


def test_every_status_has_a_code() -> None:
    """A problem that no error stands behind is named by its status."""
    known = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 429: "rate_limited"}
    assert {status: problem_body(status, "x")["code"] for status in known} == known
    assert problem_body(418, "x")["code"] == "im_a_teapot"


def test_the_codes_of_openai_stay_its_own() -> None:
    """Under `/v1` a code is one that its clients know, or null."""
    bodies: dict[Any, dict[str, Any]] = {
        None: problem_body(422, "x", field="messages.0.role"),
        "invalid_api_key": problem_body(401, "x"),
        "rate_limit_exceeded": problem_body(429, "x"),
        "timeout": error_body(LLMError("x", cause="timeout")),
    }
    assert {code: openai_error(body)["error"]["code"] for code, body in bodies.items()} == {
        code: code for code in bodies
    }


def test_the_codes_are_documented_and_the_page_has_words_for_its_own() -> None:
    """docs/http.md lists each code that the page maps to words."""
    page = (ROOT / "web/src/problems.ts").read_text()
    documented = (ROOT / "docs/http.md").read_text()
    for _, code in FILES.values():
        assert f"{code}:" in page
        assert f"`{code}`" in documented
    assert "RegExp" not in page

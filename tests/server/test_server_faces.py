"""Every face gives the same answer: Python, HTTP, server-sent events, OpenAI's endpoint and the command line.

The page is compared in `tests/page/test_page_chat.py`.
"""

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from server_samples import an_empty_store, ask, events, for_chat_alone, serving, settings
from starlette.testclient import TestClient

from ricordo.cli import main
from ricordo.engine import Completion
from ricordo.errors import LLMError, StoreUnavailable
from ricordo.languages.text import language_of
from ricordo.records.turns import Owner
from ricordo.stores.memory import MemoryStore
from ricordo.stores.open import store_for
from ricordo.testing.fakes import ScriptedLLM, StoreProxy
from talks import TALKS, through_python

Face = Callable[[list[str], Path], list[str]]


def over_http(file: Path, one: Callable[[TestClient, str, str | None, list[str]], tuple[str, str]]) -> Face:
    """The answers of a server, each by `one` (client, words, session, all that was said) -> (answer, session)."""

    def face(talk: list[str], _: Path) -> list[str]:
        said: list[str] = []
        session: str | None = None
        with serving(store_for(str(file))) as client:
            for words in talk:
                answer, session = one(client, words, session, said)
                client.app.state.service.memory("default").settle(20)  # type: ignore[attr-defined]
                said.append(answer)
        return said

    return face


def whole(client: TestClient, words: str, session: str | None, _: list[str]) -> tuple[str, str]:
    """An answer of POST /chat."""
    answer = ask(client, words, session_id=session)
    return answer["message"], answer["session_id"]


def streamed(client: TestClient, words: str, session: str | None, _: list[str]) -> tuple[str, str]:
    """An answer of POST /chat as events."""
    body = {"query": words, "user_id": "anna", "session_id": session, "stream": True}
    found = events(client.post("/chat", json=body).text)
    return "".join(each.data["text"] for each in found if each.name == "delta"), found[0].data["session_id"]


def completed(stream: bool, talk: list[str]) -> Callable[[TestClient, str, str | None, list[str]], tuple[str, str]]:
    """An answer of OpenAI's endpoint to a client that sends its whole history."""

    def one(client: TestClient, words: str, _: str | None, said: list[str]) -> tuple[str, str]:
        messages: list[dict[str, str]] = []
        for question, answer in zip(talk, said, strict=False):
            messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        messages.append({"role": "user", "content": words})
        body = {"model": "any", "messages": messages, "user": "anna", "stream": stream}
        response = client.post("/v1/chat/completions", json=body)
        assert response.status_code == 200, response.text
        if not stream:
            return response.json()["choices"][0]["message"]["content"], ""
        chunks = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")]
        return "".join(each["choices"][0]["delta"].get("content", "") for each in chunks if each["choices"]), ""

    return one


def on_the_command_line(talk: list[str], file: Path) -> list[str]:
    """The answers of `ricordo chat`, one command for each question."""
    said: list[str] = []
    for words in talk:
        out = io.StringIO()
        arguments = ["chat", words, "--user", "anna", "--db", str(file), "--continue", "--json"]
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            assert main([*arguments, "--set", "embedder=light", "--set", "locale=en"]) == 0
        said.append(json.loads(out.getvalue())["message"])
    return said


@pytest.mark.parametrize("language", ["it", "en"])
def test_every_face_gives_the_same_answers(language: str, tmp_path: Path) -> None:
    """One talk, two languages, six faces: the same words, with what was said used as everywhere."""
    talk = TALKS[language]
    expected = through_python(talk, store_for(str(tmp_path / "python.db")), settings())
    assert ("240" if language == "it" else "Friday") in expected[3]
    faces: dict[str, Face] = {
        "http": over_http(tmp_path / "http.db", whole),
        "sse": over_http(tmp_path / "sse.db", streamed),
        "completions": over_http(tmp_path / "v1.db", completed(False, talk)),
        "streamed completions": over_http(tmp_path / "v1s.db", completed(True, talk)),
        "command line": on_the_command_line,
    }
    for name, face in faces.items():
        assert face(talk, tmp_path / "cli.db") == expected, name


@pytest.mark.parametrize("words", ["2", "ok", "Marco"])
@pytest.mark.parametrize(("opening", "language"), [("Ciao! Ho due esami.", "it"), ("Hello! I have two exams.", "en")])
def test_a_message_that_has_no_language_is_answered_in_that_of_the_session(
    words: str, opening: str, language: str
) -> None:
    """A number, "ok" or a name tells no language: the session's counts, whatever the settings say."""
    for locale in ("it", "en"):
        with serving(chosen=settings(locale=locale)) as client:
            session = ask(client, opening)["session_id"]
            answer = ask(client, words, session_id=session)["message"]
            assert language_of(answer).code == language, answer
        model = ScriptedLLM("Bene." if language == "it" else "Well then.", LLMError("x answered 500", status=500))
        with serving(llm=model, chosen=replace(for_chat_alone(), locale=settings(locale=locale).locale)) as client:
            session = ask(client, opening)["session_id"]
            failed = client.post("/chat", json={"query": words, "user_id": "anna", "session_id": session})
            assert language_of(failed.json()["detail"]).code == language


CAUSES: list[tuple[LLMError | Completion, str, int, int]] = [
    (LLMError("x answered 401", cause="refused", status=401), "refused", 502, 401),
    (LLMError("x answered 429", cause="rate_limited", status=429), "rate_limited", 502, 429),
    (LLMError("x answered 500", cause="failed", status=500), "failed", 502, 500),
    (LLMError("x was silent", cause="timeout"), "timeout", 502, 504),
    (LLMError("x cannot be reached", cause="unreachable"), "unreachable", 502, 502),
    (Completion("", "scripted", 1, 0), "empty", 502, 502),
]


@pytest.mark.parametrize(("failure", "cause", "chat_status", "openai_status"), CAUSES)
def test_a_failed_turn_keeps_its_cause(failure: Any, cause: str, chat_status: int, openai_status: int) -> None:
    """The problem, the stream, the stored turn and OpenAI's error name the cause; the next answer removes it."""
    asked = {"query": "Quando ho l'esame di anatomia?", "user_id": "anna", "turn_id": "t1"}
    with serving(llm=ScriptedLLM(failure, failure, failure, "Venerdì."), chosen=for_chat_alone()) as client:
        refused = client.post("/chat", json=asked)
        assert (refused.status_code, refused.json()["cause"]) == (chat_status, cause)
        assert refused.json()["detail"].startswith("Il modello")
        stream = events(client.post("/chat", json=asked | {"stream": True}).text)
        assert (stream[-1].name, stream[-1].data["cause"]) == ("error", cause)
        session = client.get("/sessions", params={"user_id": "anna"}).json()["items"][0]["id"]
        (turn,) = client.get(f"/sessions/{session}/messages", params={"user_id": "anna"}).json()["items"]
        assert (turn["open"], turn["failure"]["cause"]) == (True, cause)
        assert turn["failure"]["message"] == refused.json()["detail"]
        body = {"model": "any", "user": "anna", "messages": [{"role": "user", "content": asked["query"]}]}
        named = client.post("/v1/chat/completions", json=body | {"metadata": {"session_id": "other"}})
        assert named.status_code == openai_status
        assert named.json()["error"]["message"].startswith("Il modello")
        assert client.post("/chat", json=asked).json()["message"] == "Venerdì."
        (turn,) = client.get(f"/sessions/{session}/messages", params={"user_id": "anna"}).json()["items"]
        assert (turn["open"], turn["failure"], "failure" in turn["metadata"]) == (False, None, False)


def test_a_failure_is_no_answer_and_is_not_recalled() -> None:
    """The sentence of a failure enters no prompt, no history of answers and no search."""
    store = an_empty_store()
    model = ScriptedLLM(LLMError("x answered 500", status=500), "Leaves.")
    with serving(store, llm=model, chosen=for_chat_alone()) as client:
        client.post("/chat", json={"query": "What does it eat?", "user_id": "anna", "session_id": None})
        session = store.sessions.page(Owner("default", "anna"), limit=1)[0].id
        ask(client, "And in winter?", session_id=session)
        found = client.get("/search", params={"user_id": "anna", "q": "the model failed"}).json()["items"]
    assert not any("model failed" in str(message["content"]).lower() for message in model.asked[1])
    assert not [hit for hit in found if "model failed" in hit["text"].lower()]


class Unwritable(StoreProxy):
    """A store that can be read and takes no turn."""

    def through(self, call: str, method: Any) -> Any:
        def refuse(*_: Any, **__: Any) -> Any:
            raise StoreUnavailable("switched off")

        return refuse if call == "turns.append" else method


@pytest.mark.parametrize(
    ("question", "language"), [("Quando ho l'esame di anatomia?", "it"), ("When is my exam in anatomy?", "en")]
)
def test_notes_are_in_the_language_of_the_question(question: str, language: str) -> None:
    """What could not be done is told in the words of the person who asked, whatever the settings say."""
    chosen = settings(model_fallback="reader", locale="en" if language == "it" else "it")
    with serving(Unwritable(MemoryStore()), llm=ScriptedLLM(LLMError("x is away")), chosen=chosen) as client:
        notes = ask(client, question)["metadata"]["degraded"]
    assert len(notes) >= 2
    assert {language_of(note).code for note in notes} == {language}, notes

"""The stream that the AI SDK's `useChat` reads."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from server_samples import SPOKEN, a_problem, for_chat_alone, serving
from starlette.testclient import TestClient

from ricordo.testing.fakes import ScriptedLLM

ANNA = {"X-Ricordo-User": "anna"}


def asking(*texts: str, chat: str = "chat-1") -> dict[str, Any]:
    """A request of a page that has said these things, answers between them."""
    messages: list[dict[str, Any]] = []
    for number, text in enumerate(texts):
        messages += [{"id": f"u{number}", "role": "user", "parts": [{"type": "text", "text": text}]}]
        if number < len(texts) - 1:
            messages += [{"id": f"a{number}", "role": "assistant", "parts": [{"type": "text", "text": "…"}]}]
    return {"id": chat, "messages": messages, "trigger": "submit-message"}


def parts(text: str) -> list[Any]:
    """The parts of a stream; the last is the mark of its end."""
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_a_page_gets_parts_in_their_order(client: TestClient) -> None:
    """Start, sources, text, memory, finish; the deltas in between are the answer that is kept."""
    client.post("/documents", json={"title": "Animals", "text": f"The {SPOKEN} eats leaves."}, headers=ANNA)
    response = client.post("/ai/chat", json=asking(f"What does the {SPOKEN} eat?"), headers=ANNA)
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    told = parts(response.text)
    kinds = [part["type"] for part in told]
    assert kinds[:2] == ["start", "start-step"]
    assert kinds[-4:] == ["text-end", "data-memory", "finish-step", "finish"]
    assert kinds.index("source-document") < kinds.index("text-start") < kinds.index("text-delta")
    said = "".join(part["delta"] for part in told if part["type"] == "text-delta")
    (turn,) = client.get("/sessions/chat-1/messages", headers=ANNA).json()["items"]
    assert turn["response"] == said
    assert "leaves" in said


def test_a_chat_goes_on_and_a_message_sent_twice_is_one_turn() -> None:
    """The chat's id is the session's; the same message again gives the same answer."""
    with serving(llm=ScriptedLLM("One.", "Two.", "Three."), chosen=for_chat_alone()) as client:
        for texts in (("First?",), ("First?", "Second?"), ("First?", "Second?")):
            client.post("/ai/chat", json=asking(*texts), headers=ANNA)
        turns = client.get("/sessions/chat-1/messages", headers=ANNA).json()["items"]
    assert [(turn["query"], turn["response"]) for turn in turns] == [("First?", "One."), ("Second?", "Two.")]


def test_a_page_that_was_reloaded_takes_up_its_answer() -> None:
    """While an answer is under way it is streamed anew from its beginning; otherwise there is nothing (204)."""
    gate = threading.Event()
    model = ScriptedLLM("Leaves.", gate=gate)
    with serving(llm=model, chosen=for_chat_alone()) as client, ThreadPoolExecutor(2) as pool:
        assert client.get("/ai/chat/chat-1/stream", headers=ANNA).status_code == 204
        first = pool.submit(client.post, "/ai/chat", json=asking(SPOKEN), headers=ANNA)
        assert model.waiting.wait(20)
        assert client.get("/ai/chat/chat-1/stream", headers={"X-Ricordo-User": "bruno"}).status_code == 204
        again = pool.submit(client.get, "/ai/chat/chat-1/stream", headers=ANNA)
        gate.set()
        assert parts(first.result(20).text)[-1] == {"type": "finish", "finishReason": "stop"}
        if again.result(20).status_code == 200:  # it may have come too late for an answer this short
            assert again.result().text == first.result().text


def test_what_is_no_question_is_refused(client: TestClient) -> None:
    """No user message, no words, no id: a problem before the stream begins."""
    for body in (
        {"id": "c", "messages": []},
        {"id": "c", "messages": [{"role": "assistant", "parts": []}]},
        {"id": "c", "messages": [{"role": "user", "parts": [{"type": "text", "text": " "}]}]},
        {"id": "\0", "messages": [{"role": "user", "parts": [{"type": "text", "text": "x"}]}]},
        {"messages": [{"role": "user", "parts": [{"type": "text", "text": "x"}]}]},
    ):
        a_problem(client.post("/ai/chat", json=body, headers=ANNA), 422)

"""Asking over HTTP: the answer at once or as a stream, taken up again, stopped, sent twice."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_samples import SPOKEN, a_problem, an_empty_store, ask, events, for_chat_alone, service_of, serving, settings
from starlette.testclient import TestClient

from ricordo.engine import Completion
from ricordo.errors import LLMError
from ricordo.records.turns import Owner
from ricordo.testing.fakes import ScriptedLLM

STREAM = {"Accept": "text/event-stream"}
ANNA = Owner("default", "anna")
QUERY = {"query": f"What does a {SPOKEN} eat?", "user_id": "anna"}


def test_an_answer_says_all_about_itself(client: TestClient) -> None:
    """A response has the question, the answer, the session and every promised field of the metadata."""
    answer = ask(client)
    assert answer["query"] == QUERY["query"]
    assert answer["message"]
    assert answer["error"] is None
    assert str(UUID(answer["session_id"])) == answer["session_id"]
    promised = {
        "turn_id", "turn_number", "is_new_session", "standalone", "references", "clarification", "crisis", "citations",
        "citations_removed", "answerer", "counter", "tokens", "degraded", "timings_ms",
    }  # fmt: skip
    assert promised <= set(answer["metadata"])
    assert {"load", "understand", "retrieve", "compose", "answer", "store"} <= set(answer["metadata"]["timings_ms"])


def test_a_known_session_goes_on_and_an_unknown_one_begins(client: TestClient) -> None:
    """Turns are numbered on in a known session; any other id gives a fresh one, which is said."""
    first = ask(client)
    second = ask(client, session_id=first["session_id"])
    other = ask(client, session_id="nobody knows me")
    assert second["session_id"] == first["session_id"]
    assert (second["metadata"]["turn_number"], second["metadata"]["is_new_session"]) == (2, False)
    assert other["session_id"] not in (first["session_id"], "nobody knows me")
    assert other["metadata"]["is_new_session"]


@given(given=st.one_of(st.text(), st.integers(), st.lists(st.text()), st.booleans(), st.just("\ud800"), st.just("\0")))
def test_no_session_id_is_an_error(shared: TestClient, given: object) -> None:
    """Whatever is sent as a session id, the chat answers."""
    body = json.dumps(QUERY | {"session_id": given})
    response = shared.post("/chat", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 200, response.text
    assert response.json()["metadata"]["is_new_session"]


def test_documents_are_cited(client: TestClient) -> None:
    """What the material says is answered from it, with the passage and its id."""
    text = f"# Food\n\nThe {SPOKEN} eats leaves and the bark of shrubs."
    assert client.post("/documents?user_id=anna", json={"title": "Animals", "text": text}).status_code == 201
    answer = ask(client)
    assert "leaves" in answer["message"]
    assert answer["metadata"]["citations"] == [answer["data"][0]["chunk_id"]]
    assert answer["data"][0]["title"] == "Animals"
    assert answer["confidence"] > 0


def test_chunks_of_the_caller_are_used(client: TestClient) -> None:
    """Passages that come with the question are cited by their own ids."""
    answer = ask(client, chunks=[{"id": "mine-1", "text": f"The {SPOKEN} eats leaves."}])
    assert answer["metadata"]["citations"] == ["mine-1"]


def test_a_clarification_is_asked_back_and_a_crisis_answered_first() -> None:
    """A sign of a crisis gets the notice with somebody to call, and no model is asked."""
    model = ScriptedLLM("should not be asked")
    with serving(llm=model) as client:
        answer = ask(client, "I want to kill myself tonight")
    assert answer["metadata"]["crisis"]["helplines"]
    assert answer["metadata"]["answerer"] == "safety"
    assert not model.asked


def test_a_stream_tells_the_same_as_the_answer(client: TestClient) -> None:
    """Events are numbered from 1, begin with the start, and the deltas are the message of the end."""
    response = client.post("/chat", json=QUERY, headers=STREAM)
    assert response.headers["content-type"].startswith("text/event-stream")
    told = events(response.text)
    names = [event.name for event in told]
    assert names[:2] == ["start", "understood"]
    assert names[-1] == "done"
    turn_id = told[0].data["turn_id"]
    assert [event.id for event in told] == [f"{turn_id}:{number}" for number in range(1, len(told) + 1)]
    said = "".join(event.data["text"] for event in told if event.name == "delta")
    assert said == told[-1].data["message"]
    stored = client.get(f"/sessions/{told[0].data['session_id']}/messages?user_id=anna").json()["items"]
    assert [turn["response"] for turn in stored] == [said]


def test_a_stream_is_taken_up_anywhere(client: TestClient) -> None:
    """Whatever event was read last, the rest comes, by header or by number, as it came the first time."""
    whole = events(client.post("/chat", json=QUERY | {"stream": True}).text)
    path = f"/chat/{whole[0].data['turn_id']}/stream?user_id=anna"
    for seen in range(len(whole) + 1):
        by_number = client.get(f"{path}&after={seen}")
        header = {"Last-Event-ID": f"{whole[0].data['turn_id']}:{seen}"}
        assert events(by_number.text) == whole[seen:]
        assert events(client.get(path, headers=header).text) == whole[seen:]


def test_a_stream_that_is_no_longer_at_hand_is_told_from_the_store(client: TestClient) -> None:
    """Once the events are gone a kept turn gives one end, and an unknown turn is not found."""
    answer = ask(client)
    turn_id = answer["metadata"]["turn_id"]
    service_of(client).answers.forget(ANNA)
    told = events(client.get(f"/chat/{turn_id}/stream?user_id=anna").text)
    assert [event.name for event in told] == ["done"]
    assert told[0].data["message"] == answer["message"]
    a_problem(client.get("/chat/unknown/stream?user_id=anna"), 404)
    a_problem(client.get(f"/chat/{turn_id}/stream?user_id=bruno"), 404)


def test_a_stopped_answer_keeps_what_was_said() -> None:
    """What came before the stop is stored, marked as stopped, and the stream ends with it."""
    gate, more = threading.Event(), threading.Event()

    class Slow(ScriptedLLM):
        def stream(self, messages, **more_options):  # type: ignore[no-untyped-def]
            yield f"The {SPOKEN} eats"
            gate.set()
            assert more.wait(20)
            yield " nothing that I would tell"
            return self.complete(messages)

    with serving(llm=Slow("unused")) as client, ThreadPoolExecutor(1) as pool:
        streaming = pool.submit(client.post, "/chat", json=QUERY | {"turn_id": "t1", "stream": True})
        assert gate.wait(20)
        assert client.post("/chat/t1/stop?user_id=bruno").json() == {"stopped": False}
        assert client.post("/chat/t1/stop?user_id=anna").json() == {"stopped": True}
        more.set()
        told = events(streaming.result(20).text)
        assert told[-1].name == "done"
        assert told[-1].data["metadata"]["stopped"]
        assert told[-1].data["message"].startswith(f"The {SPOKEN} eats")
        session = told[0].data["session_id"]
        (turn,) = client.get(f"/sessions/{session}/messages?user_id=anna").json()["items"]
        assert turn["response"] == told[-1].data["message"]
        assert turn["metadata"]["stopped"]
        assert client.post("/chat/t1/stop?user_id=anna").json() == {"stopped": False}


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_the_model_ended_early_is_marked(reason: str) -> None:
    """The response, the last event and the stored turn say that it is not whole, and why."""
    cut = Completion(f"The {SPOKEN} eats", "scripted", 3, 5, finish_reason=reason)
    with serving(llm=ScriptedLLM(cut)) as client:
        told = events(client.post("/chat", json=QUERY | {"turn_id": "t1", "stream": True}).text)
        session = told[0].data["session_id"]
        (turn,) = client.get(f"/sessions/{session}/messages?user_id=anna").json()["items"]
        known = (told[-1].data["metadata"], ask(client)["metadata"], turn["metadata"])
    assert [each["unfinished"] for each in known] == [reason] * 3
    assert all("not whole" in each["degraded"][0] or "non è intera" in each["degraded"][0] for each in known)


def test_an_answer_is_stopped_before_its_first_word() -> None:
    """A silent model does not delay the stop: the turn stays open and says why, what comes late is dropped, and the
    same turn can be asked again."""
    silent, late = threading.Event(), threading.Event()

    class Silent(ScriptedLLM):
        def stream(self, messages, **more_options):  # type: ignore[no-untyped-def]
            if not silent.is_set():
                silent.set()
                assert late.wait(20)
                yield "too late"
            return (yield from super().stream(messages, **more_options))

    with serving(llm=Silent("Carrots.", "Carrots.")) as client, ThreadPoolExecutor(1) as pool:
        streaming = pool.submit(client.post, "/chat", json=QUERY | {"turn_id": "t1", "stream": True})
        assert silent.wait(20)
        assert client.post("/chat/t1/stop?user_id=anna").json() == {"stopped": True}
        told = events(streaming.result(20).text)
        assert told[-1].name == "error"
        assert told[-1].data["cause"] == "stopped"
        path = f"/sessions/{told[0].data['session_id']}/messages?user_id=anna"
        (turn,) = client.get(path).json()["items"]
        assert (turn["response"], turn["failure"]["cause"]) == (None, "stopped")
        assert "stopped" in turn["failure"]["message"]
        late.set()
        again = client.post("/chat", json=QUERY | {"turn_id": "t1"}).json()
        assert again["message"] == "Carrots."
        (turn,) = client.get(path).json()["items"]
        assert (turn["response"], turn["failure"]) == ("Carrots.", None)


def test_a_question_asked_again_names_its_turn(client: TestClient) -> None:
    """`again_of` is kept with the new turn, so that a page can show both as versions of one answer."""
    first = ask(client)
    body = QUERY | {"session_id": first["session_id"], "again_of": first["metadata"]["turn_id"]}
    assert client.post("/chat", json=body).status_code == 200
    turns = client.get(f"/sessions/{first['session_id']}/messages?user_id=anna").json()["items"]
    assert [turn["metadata"].get("again_of") for turn in turns] == [None, turns[0]["id"]]


def test_a_turn_sent_twice_is_answered_once() -> None:
    """The same turn id gives the same answer, while it is at hand and after, and one turn is stored."""
    model = ScriptedLLM("first", "second")
    with serving(llm=model, chosen=for_chat_alone()) as client:
        one, two = (ask(client, turn_id="t1") for _ in range(2))
        service_of(client).answers.forget(ANNA)
        three = ask(client, turn_id="t1", session_id=one["session_id"])
        assert {answer["message"] for answer in (one, two, three)} == {"first"}
        assert one["session_id"] == two["session_id"] == three["session_id"]
        assert client.get(f"/sessions/{one['session_id']}?user_id=anna").json()["turn_count"] == 1
        assert len(model.asked) == 1


def test_a_turn_sent_twice_at_once_is_answered_once() -> None:
    """Requests that come while the first is under way join its answer."""
    gate = threading.Event()
    model = ScriptedLLM("first", "second", gate=gate)
    with serving(llm=model, chosen=for_chat_alone()) as client, ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(ask, client, turn_id="t1") for _ in range(6)]
        assert model.waiting.wait(20)
        gate.set()
        assert {each.result(20)["message"] for each in asked} == {"first"}
    assert len(model.asked) == 1


def test_a_turn_id_with_another_question_is_a_conflict(client: TestClient) -> None:
    """An id that stands for something else is refused, at hand or stored."""
    first = ask(client, turn_id="t1")
    other = QUERY | {"query": f"Another {SPOKEN} question?", "turn_id": "t1", "session_id": first["session_id"]}
    a_problem(client.post("/chat", json=other), 409)
    service_of(client).answers.forget(ANNA)
    a_problem(client.post("/chat", json=other), 409)


def test_a_model_that_fails_is_an_error_and_is_asked_again() -> None:
    """A failed model is 502 and a stream's error event; the question stays open, and asking again asks the model."""
    model = ScriptedLLM(LLMError("model 'x' is away"), LLMError("model 'x' is away"), "It eats leaves.")
    with serving(llm=model, chosen=for_chat_alone()) as client:
        a_problem(client.post("/chat", json=QUERY | {"turn_id": "t1"}), 502)
        streamed = client.post("/chat", json=QUERY | {"turn_id": "t2", "stream": True}).text
        assert "event: error" in streamed
        assert "event: done" not in streamed
        stored = service_of(client).store.turns.get(ANNA, "t1")
        assert stored is not None
        assert stored.is_open
        assert ask(client, turn_id="t1", session_id=stored.session_id)["message"] == "It eats leaves."


def test_the_reader_answers_for_a_failed_model_where_the_settings_say_so() -> None:
    """With the fallback the reader answers, and both its answer and the metadata say so."""
    chosen = settings(model_fallback="reader")
    with serving(llm=ScriptedLLM(LLMError("model 'x' is away")), chosen=chosen) as client:
        answer = ask(client, chunks=[{"id": "c1", "text": f"The {SPOKEN} eats leaves."}])
    assert answer["metadata"]["answerer"] == "reader"
    assert "did not answer" in answer["message"]
    assert any("failed" in note for note in answer["metadata"]["degraded"])


def test_what_cannot_be_asked_is_refused_before_anything_is_kept(client: TestClient) -> None:
    """Blank or malformed input is a problem that names the field, for streams too, and no session is made."""
    for body, field in (
        ({"query": "  "}, "query"),
        ({"query": "a\0b"}, "query"),
        ({"query": "x" * (1024 * 1024 + 1)}, "query"),
        ({"query": "fine", "agent_id": "\0"}, "agent_id"),
        ({"query": "fine", "turn_id": " "}, "turn_id"),
        ({"query": "fine", "role": "\0"}, "role"),
        ({"query": "fine", "understood_as": "\0"}, "understood_as"),
        ({"query": "fine", "chunks": [{"id": "\0", "text": "x"}]}, "chunks"),
        ({"query": "fine", "colour": "red"}, "colour"),
        ({}, "query"),
    ):
        told = a_problem(client.post("/chat", json=body | {"user_id": "anna", "stream": True}), 422)
        assert field in told["field"], told
    assert client.get("/sessions?user_id=anna").json()["items"] == []


def test_an_idempotency_key_gives_the_stored_answer() -> None:
    """The same key and body give the same bytes; another body is refused; another user's key is another key."""
    model = ScriptedLLM("first", "second", "third")
    with serving(llm=model, chosen=for_chat_alone()) as client:
        key = {"Idempotency-Key": "k1", "X-Ricordo-User": "anna"}
        body = {"query": QUERY["query"]}
        one, two = (client.post("/chat", json=body, headers=key) for _ in range(2))
        assert one.content == two.content
        told = a_problem(client.post("/chat", json={"query": "other"}, headers=key), 422)
        assert told["field"] == "Idempotency-Key"
        other = client.post("/chat", json=body, headers=key | {"X-Ricordo-User": "bruno"})
        assert other.json()["message"] == "second"
        assert len(client.get("/sessions?user_id=anna").json()["items"]) == 1


def test_an_idempotency_key_holds_for_streams_and_makings(client: TestClient) -> None:
    """A stream asked for twice with one key is one turn; a session made twice with one key is one session."""
    key = {"Idempotency-Key": "k2"}
    one, two = (events(client.post("/chat", json=QUERY | {"stream": True}, headers=key).text) for _ in range(2))
    assert one == two
    made = [client.post("/sessions", json={"user_id": "anna", "title": "Twice"}, headers=key) for _ in range(2)]
    assert made[0].status_code == 422  # the key stands for the stream
    made = [client.post("/sessions", json={"user_id": "anna"}, headers={"Idempotency-Key": "k3"}) for _ in range(2)]
    assert made[0].json() == made[1].json()
    assert len(client.get("/sessions?user_id=anna").json()["items"]) == 2


def test_an_idempotency_key_holds_in_every_process() -> None:
    """A request that is sent again to another server on the same store makes no second session, turn or answer."""
    store = an_empty_store()
    key = {"Idempotency-Key": "k4", "X-Ricordo-User": "anna"}
    said = {"query": "And a wombat?", "response": "Grass."}
    made, kept, told = [], [], []
    for _ in range(2):
        with serving(store, llm=ScriptedLLM("once")) as client:
            made.append(client.post("/sessions", json={"title": "Marsupials"}, headers=key).json()["id"])
            place = f"/sessions/{made[0]}/messages"
            headers = key | {"Idempotency-Key": "k5"}
            kept.append(client.post(place, json=said, headers=headers).json()["id"])
            body = {"query": QUERY["query"], "session_id": made[0]}
            told.append(client.post("/chat", json=body, headers=key | {"Idempotency-Key": "k6"}).json()["message"])
            assert len(client.get(place, headers=key).json()["items"]) == 2
            assert len(client.get("/sessions", headers=key).json()["items"]) == 1
    assert made[0] == made[1]
    assert kept[0] == kept[1]
    assert told == ["once", "once"]


def test_requests_with_one_key_at_once_are_done_once() -> None:
    """Those that come meanwhile wait for the first and get its answer."""
    gate = threading.Event()
    model = ScriptedLLM("first", "second", gate=gate)
    with serving(llm=model, chosen=for_chat_alone()) as client, ThreadPoolExecutor(4) as pool:
        key = {"Idempotency-Key": "k1"}
        asked = [pool.submit(client.post, "/chat", json=QUERY, headers=key) for _ in range(4)]
        assert model.waiting.wait(20)
        gate.set()
        assert len({each.result(20).content for each in asked}) == 1
    assert len(model.asked) == 1


def test_what_is_forgotten_is_not_said_again(client: TestClient) -> None:
    """After a deletion neither the stream nor the idempotency key nor the turn id brings the words back."""
    key = {"Idempotency-Key": "k1"}
    answer = client.post("/chat", json=QUERY, headers=key).json()
    turn_id, session = answer["metadata"]["turn_id"], answer["session_id"]
    assert client.delete(f"/sessions/{session}?user_id=anna").json() == {"deleted_turns": 1}
    a_problem(client.get(f"/chat/{turn_id}/stream?user_id=anna"), 404)
    again = client.post("/chat", json=QUERY, headers=key).json()
    assert again["session_id"] != session
    client.delete("/users/anna")
    a_problem(client.get(f"/chat/{again['metadata']['turn_id']}/stream?user_id=anna"), 404)


def test_nothing_of_a_temporary_chat_is_kept(client: TestClient) -> None:
    """It answers with the turns that come along and the user's documents; no session, fact or word of it stays."""
    client.post("/documents", json={"title": "Quokkas", "text": "The quokka eats leaves. It lives on an island."})
    asked = {"query": "What does the quokka eat?", "temporary": True}
    first = client.post("/chat", json=asked).json()
    assert "leaves" in first["message"]
    assert (first["session_id"], first["metadata"]["turn_number"], first["metadata"]["temporary"]) == ("", None, True)
    said = [{"query": "My name is Zenobia.", "response": "Noted."}]
    second = client.post("/chat", json={"query": "What is my name?", "temporary": True, "history": said}).json()
    assert "Zenobia" in second["message"]
    assert client.get("/sessions").json()["items"] == []
    assert client.get("/facts?all=1").json()["items"] == []
    assert client.get("/search?q=Zenobia").json()["items"] == []
    refused = client.post("/chat", json={"query": "What is my name?", "history": said})
    assert a_problem(refused, 422)["field"] == "history"

"""Responses and conversations with the real client of OpenAI: what is kept, continued, streamed and deleted."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import openai
import pytest
from server_samples import SPOKEN, for_chat_alone, live, service

import ricordo
from ricordo.engine import Completion
from ricordo.errors import LLMError
from ricordo.records.turns import Owner
from ricordo.server.openai_objects import RESPONSES, StoredObjects
from ricordo.stores.memory import MemoryStore
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import ScriptedLLM

ANYONE = Owner("default", "anonymous")
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"where": "island"}'}}
TOOL: Any = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}
CALLING = Completion("", "scripted", 5, 3, tool_calls=(CALL,), finish_reason="tool_calls")


@contextmanager
def before(llm: Any = None, store: Any = None) -> Iterator[openai.OpenAI]:
    """The real client before a real server."""
    with (
        live(service(store, llm=llm, chosen=for_chat_alone(), port=0)) as port,
        openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0, timeout=20) as client,
    ):
        yield client


def said(store: Any, session_id: str) -> list[tuple[str, str | None]]:
    """The turns of a session."""
    return [(turn.query, turn.response) for turn in store.turns.page(ANYONE, session_id)]


def test_a_response_is_a_turn_that_is_remembered() -> None:
    """A response has its output and usage, is stored with its turn, can be read again and deleted."""
    store = MemoryStore()
    with before(ScriptedLLM("Leaves."), store) as client:
        made = client.responses.create(
            input=f"What does a {SPOKEN} eat?", instructions="Be brief.", metadata={"a": "b"}
        )
        assert (made.output_text, made.status, made.model, made.metadata) == (
            "Leaves.",
            "completed",
            "scripted",
            {"a": "b"},
        )
        assert made.usage is not None
        assert made.usage.total_tokens == made.usage.input_tokens + made.usage.output_tokens > 0
        again = client.responses.retrieve(made.id)
        assert again == made
        (item,) = client.responses.input_items.list(made.id)
        assert item.content[0].text == f"What does a {SPOKEN} eat?"  # type: ignore[union-attr]
        (session,) = store.sessions.page(ANYONE, limit=2)
        assert said(store, session.id) == [(f"What does a {SPOKEN} eat?", "Leaves.")]
        client.responses.delete(made.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(made.id)
        assert said(store, session.id)


def test_a_response_goes_with_its_session() -> None:
    """Deleting the session deletes the responses that repeat its words; with store=False there are none."""
    store = MemoryStore()
    with before(ScriptedLLM("Yes."), store) as client:
        kept, unkept = client.responses.create(input="One?"), client.responses.create(input="Two?", store=False)
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(unkept.id)
        for session in store.sessions.page(ANYONE, limit=3):
            store.sessions.delete(ANYONE, session.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(kept.id)


def test_a_previous_response_is_continued_or_branched() -> None:
    """The next question gets what was said before; a second answer to an older response is a branch."""
    model, store = ScriptedLLM("Hi Anna.", "Anna.", "Bruno."), MemoryStore()
    with before(model, store) as client:
        first = client.responses.create(input="I am Anna.")
        second = client.responses.create(input="Who am I?", previous_response_id=first.id)
        other = client.responses.create(input="Who else?", previous_response_id=first.id)
        assert [each.output_text for each in (second, other)] == ["Anna.", "Bruno."]
        with pytest.raises(openai.NotFoundError) as missing:
            client.responses.create(input="x", previous_response_id="resp_none")
        assert missing.value.param == "previous_response_id"
    assert "I am Anna." in str(model.asked[1])
    assert "I am Anna." in str(model.asked[2])
    assert "Who am I?" not in str(model.asked[2][:-1])  # the history; memory may recall the person's other branch
    sessions = sorted(said(store, each.id) for each in store.sessions.page(ANYONE, limit=5))
    assert sessions == [
        [("I am Anna.", "Hi Anna."), ("Who am I?", "Anna.")],
        [("I am Anna.", "Hi Anna."), ("Who else?", "Bruno.")],
    ]


def test_a_conversation_is_a_session() -> None:
    """Items that are put into a conversation are turns; a response in it sees them and is added to its items."""
    model, store = ScriptedLLM("Anna."), MemoryStore()
    with before(model, store) as client:
        items: Any = [
            {"role": "user", "content": "I am Anna."},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
            },
        ]
        made = client.conversations.create(items=items, metadata={"topic": "me"})
        assert made.id.startswith("conv_")
        answer = client.responses.create(input="Who am I?", conversation=made.id)
        assert answer.conversation is not None
        assert answer.conversation.id == made.id
        listed: Any = list(client.conversations.items.list(made.id, order="asc"))
        assert [(each.role, each.content[0].text) for each in listed] == [
            ("user", "I am Anna."),
            ("assistant", "Hello."),
            ("user", "Who am I?"),
            ("assistant", "Anna."),
        ]
        assert answer.output[0].id == listed[-1].id
        assert client.conversations.update(made.id, metadata={"topic": "you"}).metadata == {"topic": "you"}
        assert client.conversations.retrieve(made.id).metadata == {"topic": "you"}
        assert said(store, made.id) == [("I am Anna.", "Hello."), ("Who am I?", "Anna.")]
        assert "I am Anna." in str(model.asked[0])
        assert client.conversations.delete(made.id).deleted
        for gone in (lambda: client.conversations.retrieve(made.id), lambda: client.conversations.items.list(made.id)):
            with pytest.raises(openai.NotFoundError):
                gone()
        with pytest.raises(openai.NotFoundError):
            client.responses.create(input="x", conversation=made.id)
    assert not store.sessions.page(ANYONE, limit=1)


def test_an_open_question_of_a_conversation_is_answered() -> None:
    """A response without input answers the question that was put into the conversation last."""
    store = MemoryStore()
    with before(ScriptedLLM("Leaves."), store) as client:
        question: Any = [{"role": "user", "content": "What does it eat?"}]
        made = client.conversations.create(items=question)
        assert client.responses.create(conversation=made.id).output_text == "Leaves."
        with pytest.raises(openai.BadRequestError) as nothing:
            client.responses.create(conversation=made.id)
        assert nothing.value.param == "input"
    assert said(store, made.id) == [("What does it eat?", "Leaves.")]


def test_items_are_paged_read_and_deleted() -> None:
    """Pages go in either direction; an item is deleted out of the memory, and the others keep their ids."""
    store = MemoryStore()
    with before(None, store) as client:
        made = client.conversations.create()
        items: Any = [
            {"role": "user", "content": "Where is it?"},
            {"type": "reasoning", "id": "rs_mine", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "an island"},
            {"role": "assistant", "content": "On an island."},
            {"role": "developer", "content": "Be brief."},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:x"}],
            },
        ]
        added: Any = client.conversations.items.create(made.id, items=items)
        ids = [each.id for each in added.data]
        assert ids[1] == "rs_mine"
        assert len(set(ids)) == 7
        assert [each.id for each in client.conversations.items.list(made.id, order="asc", limit=2)] == ids
        assert [each.id for each in client.conversations.items.list(made.id, limit=3)] == ids[::-1]
        for each in added.data:
            assert client.conversations.items.retrieve(each.id, conversation_id=made.id) == each
        picture: Any = added.data[6]
        assert picture.content[1].image_url == "data:x"
        for gone in (ids[1], ids[3], ids[4], ids[0]):
            client.conversations.items.delete(gone, conversation_id=made.id)
            with pytest.raises(openai.NotFoundError):
                client.conversations.items.retrieve(gone, conversation_id=made.id)
        left: Any = list(client.conversations.items.list(made.id, order="asc"))
        assert [each.id for each in left] == [ids[2], ids[5], ids[6]]
        with pytest.raises(openai.BadRequestError) as unknown:
            client.conversations.items.list(made.id, after="msg_none")
        assert unknown.value.param == "after"
    text = str([turn.messages for turn in store.turns.page(ANYONE, made.id)])
    assert "island" not in text
    assert "Be brief." in text


def test_what_is_too_large_for_a_message_is_kept_all_the_same(tmp_path: Any) -> None:
    """An item that is larger than a message may be comes back as it was, also after its neighbour was deleted."""
    store = SqliteStore(tmp_path / "memory.db")
    large = {"type": "function_call_output", "call_id": "c1", "output": "x" * 1_500_000}
    with before(None, store) as client:
        items: Any = [{"role": "user", "content": "How long?"}, large, {"role": "assistant", "content": "Long."}]
        made = client.conversations.create(items=items)
        listed: Any = list(client.conversations.items.list(made.id, order="asc"))
        assert listed[1].output == large["output"]
        client.conversations.items.delete(listed[2].id, conversation_id=made.id)
        left: Any = list(client.conversations.items.list(made.id, order="asc"))
        assert left[1].output == large["output"]


def test_tool_calls_come_back_and_their_results_are_kept() -> None:
    """A function tool is called, its output continues the same turn, and the turn holds all of it."""
    model, store = ScriptedLLM(CALLING, "On Rottnest.", CALLING, "On Rottnest."), MemoryStore()
    with before(model, store) as client:
        for by in ("conversation", "previous_response_id"):
            check_tool(client, by)
    for session in store.sessions.page(ANYONE, limit=3):
        (turn,) = store.turns.page(ANYONE, session.id)
        assert [message.role for message in turn.messages] == ["user", "assistant", "tool", "assistant"]
    assert [each["role"] for each in model.asked[3]][-3:] == ["user", "assistant", "tool"]


def check_tool(client: openai.OpenAI, by: str) -> None:
    """One question with a tool call, continued in one of the two ways."""
    named: Any = {"conversation": client.conversations.create().id} if by == "conversation" else {}
    first = client.responses.create(input="Where is it?", tools=[TOOL], **named)
    (call,) = first.output
    assert call.type == "function_call"
    assert (call.name, call.call_id, call.arguments) == ("look", "c1", CALL["function"]["arguments"])  # type: ignore[index]
    result: Any = [{"type": "function_call_output", "call_id": "c1", "output": "an island"}]
    named = named or {"previous_response_id": first.id}
    assert client.responses.create(input=result, tools=[TOOL], **named).output_text == "On Rottnest."


def test_a_client_may_send_everything_again() -> None:
    """A client that sends the whole talk as items continues its session; a picture goes to the model as it came."""
    model, store = ScriptedLLM("Hello.", "A wallaby."), MemoryStore()
    with before(model, store) as client:
        talk: Any = [{"role": "user", "content": "Hi"}]
        talk += [each.model_dump() for each in client.responses.create(input=talk).output]
        picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}
        talk.append({"role": "user", "content": [{"type": "input_text", "text": "Is it one?"}, picture]})
        shape: Any = {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}}
        client.responses.create(input=talk, text=shape)
    (session,) = store.sessions.page(ANYONE, limit=3)
    assert said(store, session.id) == [("Hi", "Hello."), ("Is it one?", "A wallaby.")]
    assert model.asked[1][-1]["content"][1]["image_url"] == {"url": "data:image/png;base64,AAAA", "detail": "low"}


TEXT_EVENTS = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


def test_events_come_in_the_clients_order() -> None:
    """A streamed response has its events in order and numbered, for the client's own helper too, and again later."""
    with before(ScriptedLLM("Leaves and bark.")) as client:
        events: Any = list(client.responses.create(input="What?", stream=True))
        kinds = list(dict.fromkeys(each.type for each in events))
        assert kinds == TEXT_EVENTS
        assert [each.sequence_number for each in events] == list(range(len(events)))
        assert "".join(each.delta for each in events if each.type == "response.output_text.delta") == "Leaves and bark."
        last = events[-1].response
        assert client.responses.retrieve(last.id) == last
        with client.responses.stream(input="What else?", model="scripted") as stream:
            assert stream.get_final_response().output_text == "Leaves and bark."
        again: Any = list(client.responses.retrieve(last.id, stream=True))
        assert [each.type for each in again] == TEXT_EVENTS
        assert [each.type for each in client.responses.retrieve(last.id, stream=True, starting_after=5)] == TEXT_EVENTS[
            6:
        ]


def test_events_of_tool_calls() -> None:
    """A streamed call has its item, its arguments and its end."""
    with before(ScriptedLLM(CALLING)) as client:
        events: Any = list(client.responses.create(input="Where?", tools=[TOOL], stream=True))
    assert [each.type for each in events][2:-1] == [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ]
    assert events[-1].response.output[0].arguments == CALL["function"]["arguments"]  # type: ignore[index]


def test_a_model_that_fails_is_an_error_and_is_asked_again() -> None:
    """The status of the upstream reaches the client; nothing is kept as an answer, and the next try asks again."""
    store = MemoryStore()
    away = LLMError("model 'x' answered 429", cause="rate_limited", status=429)
    with before(ScriptedLLM(away, "Leaves.", away, "Leaves."), store) as client:
        for stream in (False, True):
            made = client.conversations.create()
            with pytest.raises(openai.RateLimitError):
                client.responses.create(input="What?", conversation=made.id, stream=stream)
            assert said(store, made.id) == [("What?", None)]
            assert client.responses.create(input="What?", conversation=made.id).output_text == "Leaves."
            assert said(store, made.id) == [("What?", "Leaves.")]


def test_a_stream_that_breaks_off_ends_as_failed() -> None:
    """A model that fails after its first words ends the stream with `response.failed`; nothing is kept."""

    class Breaking(ScriptedLLM):
        def stream(self, *given: Any, **more: Any) -> Any:
            yield "Lea"
            raise LLMError("cut", cause="cut")

    store = MemoryStore()
    with before(Breaking("x"), store) as client:
        events: Any = list(client.responses.create(input="What?", stream=True))
        assert events[-1].type == "response.failed"
        assert events[-1].response.error.code == "server_error"
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(events[0].response.id)
    (session,) = store.sessions.page(ANYONE, limit=2)
    assert said(store, session.id) == [("What?", None)]


def test_the_background_runs_and_is_cancelled() -> None:
    """A response in the background is read until it has ended; one that is cancelled stays so."""
    gate = threading.Event()
    model = ScriptedLLM("Leaves.", gate=gate)
    with before(model) as client:
        made = client.responses.create(input="What?", background=True)
        assert made.status == "in_progress"
        assert model.waiting.wait(10)
        cancelled = client.responses.cancel(made.id)
        assert cancelled.status == "cancelled"
        gate.set()
        done = client.responses.create(input="What else?", background=True)
        with client.responses.retrieve(done.id, stream=True) as stream:
            assert [each.type for each in stream][-1] == "response.completed"
        assert client.responses.retrieve(done.id).output_text == "Leaves."
        assert client.responses.cancel(done.id).status == "completed"
        assert client.responses.retrieve(made.id).status == "cancelled"
        with pytest.raises(openai.BadRequestError, match="background"):
            client.responses.cancel(client.responses.create(input="Now?").id)


def test_a_response_whose_process_has_ended_is_failed() -> None:
    """What an ended server left running is failed after an hour, for good; before, another process may still run it."""
    store, gate = MemoryStore(), threading.Event()
    with before(ScriptedLLM("Leaves.", gate=gate), store) as client:
        made = client.responses.create(input="What?", background=True)
        kept = ricordo.Memory(store)
        objects = StoredObjects(kept, Owner("default", "anonymous"), RESPONSES)
        for name, age in (("resp_new", 60), ("resp_old", 2 * 3_600)):
            left = objects.get(made.id)
            value = {**left.value, "id": name, "created_at": int(made.created_at) - age}
            objects.put(replace(left, value=value, answer_name=f"{name}/1"))
        gate.set()
        assert client.responses.retrieve("resp_new").status == "in_progress"
        lost = client.responses.retrieve("resp_old")
        assert (lost.status, "stopped" in str(lost.error)) == ("failed", True)
        assert objects.get("resp_old").value["status"] == "failed"


BAD: list[tuple[Any, str]] = [
    ({"input": "  "}, "input"),
    ({"input": [{"role": "narrator", "content": "x"}]}, "input[0].role"),
    ({"input": [{"type": "web_search_call"}]}, "input[0].type"),
    ({"input": [{"role": "user", "content": [{"type": "hologram"}]}]}, "input[0].content[0].type"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ({"prompt": {"id": "p"}}, "prompt"),
    ({"conversation": "a", "previous_response_id": "b"}, "previous_response_id"),
    ({"metadata": {"a": 1}}, "metadata.a"),
    ({"temperature": 9}, "temperature"),
    ({"text": {"format": "json"}}, "text.format"),
    ({"background": True, "store": False}, "background"),
]


def test_bad_input_is_400_with_its_parameter() -> None:
    """What is wrong, or only OpenAI's own servers can do, is refused with its parameter, and nothing is stored."""
    store = MemoryStore()
    with before(ScriptedLLM("Never."), store) as client:
        for changes, param in BAD:
            with pytest.raises(openai.BadRequestError) as wrong:
                client.post("/responses", body={"input": "What?", **changes}, cast_to=object)
            assert wrong.value.param == param, changes
        for path, body, param in (
            ("/conversations", {"items": [{"content": "x"}]}, "items[0].type"),
            ("/conversations", {"items": [{"role": "user", "content": "x"}] * 21}, "items"),
            ("/conversations", {"metadata": {"a": "x" * 600}}, "metadata.a"),
        ):
            with pytest.raises(openai.BadRequestError) as wrong:
                client.post(path, body=body, cast_to=object)
            assert json.loads(wrong.value.response.content)["error"]["param"] == param
        with pytest.raises(openai.NotFoundError) as unknown:
            client.responses.create(input="What?", model="huge")
        assert unknown.value.code == "model_not_found"
    assert not store.sessions.page(ANYONE, limit=1)


def test_tokens_of_a_request_are_counted() -> None:
    """The count grows with the input, the instructions and the conversation that it continues."""
    with before(ScriptedLLM("Yes.")) as client:
        few = client.responses.input_tokens.count(input="One").input_tokens
        more = client.responses.input_tokens.count(input="One", instructions="Two and three").input_tokens
        items: Any = [{"role": "user", "content": "Four five six"}, {"role": "assistant", "content": "Seven"}]
        made = client.conversations.create(items=items)
        most = client.responses.input_tokens.count(input="One", instructions="Two and three", conversation=made.id)
        assert 0 < few < more < most.input_tokens
        assert client.responses.input_tokens.count().input_tokens == 0
        assert client.responses.create().output == []  # asks nothing, gets nothing


def test_a_talk_is_compacted_and_goes_on() -> None:
    """The output of a compaction is the input of the next response: the model sees what was said before."""
    model, store = ScriptedLLM("In May."), MemoryStore()
    with before(model, store) as client:
        talk: Any = [
            {"role": "user", "content": "My exam on taxes is on 14 May in Pisa."},
            {"role": "assistant", "content": "Bring form 730 and your passport to room B12."},
        ]
        made = client.responses.compact(model="scripted", input=talk)
        assert [each.type for each in made.output] == ["message", "compaction"]
        assert made.usage.input_tokens > 0
        compacted: Any = [each.model_dump(exclude_none=True, warnings=False) for each in made.output]
        client.responses.create(input=[*compacted, {"role": "user", "content": "Which form?"}])
        assert "form 730" in str(model.asked[0])
        named = client.conversations.create(items=talk)
        response = client.responses.create(input="When?", conversation=named.id)
        again: Any = client.responses.compact(model="scripted", previous_response_id=response.id).output
        client.responses.create(input=[again[-1].model_dump(), {"role": "user", "content": "Where?"}])
        assert "B12" in str(model.asked[-1])
        with pytest.raises(openai.BadRequestError) as forged:
            client.responses.create(input=[{"type": "compaction", "encrypted_content": "x"}])  # type: ignore[list-item]
        assert forged.value.param == "input[0].encrypted_content"

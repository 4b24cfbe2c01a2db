"""The OpenAI endpoint with the real client: whole and streamed answers, usage, tools, history, errors, and memory."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from server_samples import SPOKEN, a_key, an_empty_store, for_chat_alone, live, service

from ricordo.engine import Completion
from ricordo.engine.core import choose_llm
from ricordo.engine.http import RequestPolicy
from ricordo.engine.remote_llm import Endpoint, RemoteLLM
from ricordo.errors import LLMError
from ricordo.records.turns import Owner
from ricordo.stores.protocols import Store
from ricordo.testing.fakes import ScriptedLLM

sys.path.insert(0, str(Path(__file__).parent.parent / "engine"))

from chat_server import USAGE, Handler, playing

ANNA = Owner("default", "anna")
ASKED = [{"role": "user", "content": f"What does a {SPOKEN} eat?"}]
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"where": "island"}'}}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


@contextmanager
def talking(llm: Any = None, store: Store | None = None, key: str = "none", **more: Any) -> Iterator[openai.OpenAI]:
    """The real client before a real server, which asks the model for nothing but answers."""
    with (
        live(service(store, llm=llm, chosen=for_chat_alone(), port=0, **more)) as port,
        openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=key, max_retries=0, timeout=20) as client,
    ):
        yield client


def turns(store: Store, owner: Owner = ANNA) -> list[Any]:
    """All that is stored of somebody's."""
    sessions = store.sessions.page(owner, limit=10)
    return [turn for session in sessions for turn in store.turns.page(owner, session.id)]


def test_an_answer_comes_whole_and_is_kept() -> None:
    """The client reads text, reason and usage; the turn is stored for the user that it named."""
    store = an_empty_store()
    with talking(ScriptedLLM("Leaves, mostly."), store) as client:
        answer = client.chat.completions.create(model="any", messages=ASKED, user="anna")
        assert answer.choices[0].message.content == "Leaves, mostly."
        assert answer.choices[0].finish_reason == "stop"
        assert answer.usage is not None
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
        assert [model.id for model in client.models.list()] == ["scripted"]
    assert [(turn.query, turn.response) for turn in turns(store)] == [(ASKED[0]["content"], "Leaves, mostly.")]


def test_an_answer_comes_in_pieces() -> None:
    """Deltas join to the text, the last choice has the reason, and usage comes where it is asked for."""
    store = an_empty_store()
    with talking(ScriptedLLM("Leaves and bark."), store) as client:
        options: Any = {"include_usage": True}
        stream = client.chat.completions.create(
            model="any", messages=ASKED, user="anna", stream=True, stream_options=options
        )
        chunks = list(stream)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == "Leaves and bark."
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens > 0
    assert [turn.response for turn in turns(store)] == ["Leaves and bark."]


def test_what_was_said_before_is_remembered_without_the_clients_history() -> None:
    """A client that sends one question at a time into a named session is answered with what was said before."""
    model = ScriptedLLM("Nice to meet you.", "Anna.")
    with talking(model) as client:
        for words in (f"I am Anna and I like the {SPOKEN}.", "What is my name?"):
            client.chat.completions.create(
                model="any", messages=[{"role": "user", "content": words}], user="anna", metadata={"session_id": "s1"}
            )
    assert any("I am Anna" in str(message["content"]) for message in model.asked[1])


def test_a_clients_own_history_stays_its_own() -> None:
    """Its system message and its earlier turns go along once, in their order, and each turn is stored once."""
    model, store = ScriptedLLM("One.", "Two."), an_empty_store()
    with talking(model, store) as client:
        talk: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"First {SPOKEN}?"}]
        for words in ("One.", "Two."):
            answer = client.chat.completions.create(model="any", messages=talk, user="anna")
            assert answer.choices[0].message.content == words
            talk += [{"role": "assistant", "content": words}, {"role": "user", "content": f"And after {words}?"}]
    sent = model.asked[1]
    assert "Be brief." in sent[0]["content"]
    assert [str(message["content"]) for message in sent if message["role"] == "assistant"] == ["One."]
    assert sum(f"First {SPOKEN}?" in str(message["content"]) for message in sent) == 1
    assert [(turn.turn_number, turn.response) for turn in turns(store)] == [(1, "One."), (2, "Two.")]


def test_tool_calls_pass_through_and_are_kept() -> None:
    """The model's call reaches the client, the tool's answer the model, and the turn holds all four messages."""
    first = Completion("", "scripted", 5, 3, tool_calls=(CALL,), finish_reason="tool_calls")
    model, store = ScriptedLLM(first, "On Rottnest."), an_empty_store()
    with talking(model, store) as client:
        answer = client.chat.completions.create(model="any", messages=ASKED, user="anna", tools=TOOLS)  # type: ignore[call-overload]
        choice = answer.choices[0]
        assert choice.finish_reason == "tool_calls"
        assert choice.message.tool_calls[0].function.name == "look"
        talk = [
            *ASKED,
            choice.message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": "c1", "content": ""},
        ]
        answer = client.chat.completions.create(model="any", messages=talk, user="anna", tools=TOOLS)  # type: ignore[call-overload]
        assert answer.choices[0].message.content == "On Rottnest."
    (turn,) = turns(store)
    assert [message.role for message in turn.messages] == ["user", "assistant", "tool", "assistant"]
    assert turn.response == "On Rottnest."
    assert any(message.get("tool_call_id") == "c1" for message in model.asked[1])


def test_a_tool_call_brings_no_deleted_session_back() -> None:
    """A session that was deleted while the model thought stays deleted, whatever the model then wants to call."""
    store = an_empty_store()

    class Slow(ScriptedLLM):
        def complete(self, *messages: Any, **more: Any) -> Completion:
            for session in store.sessions.page(ANNA, limit=10):
                store.sessions.delete(ANNA, session.id)
            return super().complete(*messages, **more)

    model = Slow(Completion("", "scripted", 5, 3, tool_calls=(CALL,), finish_reason="tool_calls"))
    with talking(model, store) as client, pytest.raises(openai.NotFoundError, match="deleted meanwhile"):
        client.chat.completions.create(model="any", messages=ASKED, user="anna", tools=TOOLS)  # type: ignore[call-overload]
    assert not store.sessions.page(ANNA, limit=10)


def test_streamed_tool_calls_come_in_the_clients_shape() -> None:
    """A streamed call has its index, its name and its arguments."""
    first = Completion("", "scripted", 5, 3, tool_calls=(CALL,), finish_reason="tool_calls")
    with talking(ScriptedLLM(first)) as client:
        chunks = list(client.chat.completions.create(model="any", messages=ASKED, tools=TOOLS, stream=True))  # type: ignore[call-overload]
    calls = [call for chunk in chunks if chunk.choices for call in chunk.choices[0].delta.tool_calls or ()]
    assert [(call.index, call.function.name) for call in calls] == [(0, "look")]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_an_upstream_gets_the_clients_options() -> None:
    """Before any endpoint of the same kind: options go along, memory is laid around, the answer is kept."""

    def play(handler: Handler) -> None:
        handler.begin()
        for words in ("Leaves", " and bark."):
            handler.event({"choices": [{"index": 0, "delta": {"content": words}}]})
        handler.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        handler.event({"choices": [], "usage": USAGE})
        handler.event("[DONE]")

    store = an_empty_store()
    with playing(play) as upstream:
        llm = choose_llm(f"{upstream.url}#small", environ={})
        with talking(llm, store) as client:
            answer = client.chat.completions.create(model="any", messages=ASKED, user="anna", temperature=0.5)
        assert answer.choices[0].message.content == "Leaves and bark."
        assert answer.usage is not None
        assert answer.usage.total_tokens == USAGE["total_tokens"]
        _, _, body = upstream.asked[0]
        assert body["temperature"] == 0.5
    assert [turn.response for turn in turns(store)] == ["Leaves and bark."]


def say(client: openai.OpenAI, *messages: tuple[str, str], **more: Any) -> str:
    """The answer to a talk of (role, words)."""
    talk: Any = [{"role": role, "content": words} for role, words in messages]
    answer = client.chat.completions.create(model="any", messages=talk, user="anna", **more)
    return answer.choices[0].message.content or ""


def by_session(store: Store) -> list[list[tuple[str, str | None]]]:
    """The turns of each session, the session that began first at the front."""
    sessions = sorted(store.sessions.page(ANNA, limit=50), key=lambda session: session.id)
    return [[(turn.query, turn.response) for turn in store.turns.page(ANNA, each.id)] for each in sessions]


def test_equal_words_are_asked_again() -> None:
    """One message a request, twice the same words in a named session: both reach the model and both are kept."""
    model, store = ScriptedLLM("One.", "Two.", "Three."), an_empty_store()
    with talking(model, store) as client:
        said = [say(client, ("user", "continue"), metadata={"session_id": "s1"}) for _ in range(3)]
    assert said == ["One.", "Two.", "Three."]
    assert [turn.response for turn in store.turns.page(ANNA, "s1")] == said


@pytest.mark.parametrize("header", ["Idempotency-Key", "X-Client-Request-Id", "X-Request-Id"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_retry_is_known_by_its_key(header: str, stream: bool) -> None:
    """The same key or request id is one turn: its second request gets the first answer, whole or streamed."""
    model, store = ScriptedLLM("First.", "Second."), an_empty_store()
    with talking(model, store) as client:
        said = []
        for _ in range(2):
            answer: Any = client.chat.completions.create(
                model="any", messages=ASKED, user="anna", stream=stream, extra_headers={header: "r-1"}
            )  # type: ignore[call-overload]
            if stream:
                said.append("".join(each.choices[0].delta.content or "" for each in answer if each.choices))
            else:
                said.append(answer.choices[0].message.content)
        assert said == ["First.", "First."]
        with pytest.raises(openai.APIStatusError) as other:
            say(client, ("user", "Something else"), extra_headers={header: "r-1"})
        assert other.value.status_code in (409, 422)
    assert len(turns(store)) == 1


def test_two_chats_that_open_alike_stay_two() -> None:
    """The whole history decides: chats with the same first words are two sessions, each with its own turns."""
    model, store = ScriptedLLM("Hello!", "Hello!", "Burns.", "Taxes.", "Second degree.", "In May."), an_empty_store()
    with talking(model, store) as client:
        one: list[tuple[str, str]] = [("user", "Hi")]
        two: list[tuple[str, str]] = [("user", "Hi")]
        for ask_one, ask_two in (("Tell me of burns", "Tell me of taxes"), ("How deep?", "When?"), ("", "")):
            for talk, following in ((one, ask_one), (two, ask_two)):
                talk += [("assistant", say(client, *talk)), ("user", following)]
    assert sorted(by_session(store)) == sorted(
        [
            [("Hi", "Hello!"), ("Tell me of burns", "Burns."), ("How deep?", "Second degree.")],
            [("Hi", "Hello!"), ("Tell me of taxes", "Taxes."), ("When?", "In May.")],
        ]
    )


def test_regenerate_asks_again_and_makes_a_new_version() -> None:
    """The same history with the same question gets another answer: a new version of the turn, which keeps the old."""
    model, store = ScriptedLLM("Hello!", "Leaves.", "Leaves and bark.", "Grass too.", "Yes."), an_empty_store()
    with talking(model, store) as client:
        talk = [("user", "Hi"), ("assistant", say(client, ("user", "Hi"))), ("user", "What does it eat?")]
        assert [say(client, *talk) for _ in range(3)] == ["Leaves.", "Leaves and bark.", "Grass too."]
        assert say(client, *talk, ("assistant", "Grass too."), ("user", "Really?")) == "Yes."
    assert by_session(store) == [[("Hi", "Hello!"), ("What does it eat?", "Grass too."), ("Really?", "Yes.")]]
    newest = turns(store)[1].metadata
    assert newest["version"] == 3
    assert newest["earlier_versions"] == ["Leaves.", "Leaves and bark."]
    assert not any("Leaves." in str(message["content"]) for message in model.asked[-1])


def test_an_edit_makes_a_branch() -> None:
    """An edited question continues in a session of its own, after the turns before it; the first one stays."""
    model, store = ScriptedLLM("Hello!", "Leaves.", "In trees.", "High up."), an_empty_store()
    with talking(model, store) as client:
        opening = [("user", "Hi"), ("assistant", say(client, ("user", "Hi")))]
        assert say(client, *opening, ("user", "What does it eat?")) == "Leaves."
        edited = [*opening, ("user", "Where does it sleep?")]
        assert say(client, *edited) == "In trees."
        assert say(client, *edited, ("assistant", "In trees."), ("user", "How high?")) == "High up."
    assert sorted(by_session(store)) == sorted(
        [
            [("Hi", "Hello!"), ("What does it eat?", "Leaves.")],
            [("Hi", "Hello!"), ("Where does it sleep?", "In trees."), ("How high?", "High up.")],
        ]
    )
    kept = {each.turn_count: each for each in store.sessions.page(ANNA, limit=10)}
    assert kept[3].metadata["branch_of"] == kept[2].id


def test_a_talk_that_began_elsewhere_is_kept() -> None:
    """A history that is stored nowhere becomes the first turns of a session, and the next request continues it."""
    model, store = ScriptedLLM("In May.", "Yes."), an_empty_store()
    with talking(model, store) as client:
        talk = [("user", "My exam is on taxes"), ("assistant", "Good luck."), ("user", "When is it?")]
        assert say(client, *talk) == "In May."
        assert say(client, *talk, ("assistant", "In May."), ("user", "Sure?")) == "Yes."
    assert by_session(store) == [[("My exam is on taxes", "Good luck."), ("When is it?", "In May."), ("Sure?", "Yes.")]]


def test_a_client_that_cuts_its_history_stays_in_its_session() -> None:
    """A client that sends only the latest turns of a long talk continues the session that ends with them."""
    model, store = ScriptedLLM("One.", "Two.", "Three.", "Four."), an_empty_store()
    with talking(model, store) as client:
        talk: list[tuple[str, str]] = []
        for question in ("First?", "Second?", "Third?"):
            talk.append(("user", question))
            talk.append(("assistant", say(client, *talk)))
        assert say(client, *talk[2:], ("user", "Fourth?")) == "Four."
    assert [len(each) for each in by_session(store)] == [4]


def test_a_failed_question_is_asked_again_in_its_place() -> None:
    """After a failure the same request asks the model again, and the talk has the question once."""
    model, store = ScriptedLLM("Hello!", LLMError("model 'x' is away"), "Leaves."), an_empty_store()
    with talking(model, store) as client:
        talk = [("user", "Hi"), ("assistant", say(client, ("user", "Hi"))), ("user", "What does it eat?")]
        with pytest.raises(openai.InternalServerError):
            say(client, *talk)
        assert say(client, *talk) == "Leaves."
    assert by_session(store) == [[("Hi", "Hello!"), ("What does it eat?", "Leaves.")]]


def test_scope_comes_from_header_and_credential() -> None:
    """A header names the user or the session; a bound key decides alone."""
    store = an_empty_store()
    key = a_key(store, "default", "anna")
    with talking(ScriptedLLM("Yes."), store, key=key, auth=True) as client:
        headers = {"X-Ricordo-Session": "s9"}
        answer = client.chat.completions.with_raw_response.create(model="any", messages=ASKED, extra_headers=headers)
        assert answer.headers["X-Ricordo-Session"] == "s9"
        with pytest.raises(openai.PermissionDeniedError):
            client.chat.completions.create(model="any", messages=ASKED, user="bruno")
    assert store.sessions.get(ANNA, "s9") is not None


def test_errors_are_those_the_client_knows() -> None:
    """A bad credential, a bad request and a question that is none become the client's own exceptions."""
    with talking(auth=True, key="rk_not_a_key") as client:
        with pytest.raises(openai.AuthenticationError) as refused:
            client.models.list()
        assert refused.value.code == "invalid_api_key"
    with talking() as client:
        for messages in ([], [{"role": "assistant", "content": "x"}], [{"role": "user", "content": " "}]):
            with pytest.raises(openai.BadRequestError) as wrong:
                client.chat.completions.create(model="any", messages=messages)  # type: ignore[call-overload]
            assert json.loads(wrong.value.response.content)["error"]["type"] == "invalid_request_error"


def test_a_model_that_fails_is_an_error_of_openai_and_is_asked_again() -> None:
    """An upstream that is away is a server error in OpenAI's shape; nothing is stored as an answer."""
    store = an_empty_store()
    with talking(ScriptedLLM(LLMError("model 'x' is away"), "Leaves."), store) as client:
        client = client.with_options(max_retries=0)
        with pytest.raises(openai.InternalServerError) as failed:
            client.chat.completions.create(model="any", messages=ASKED, user="anna")
        assert json.loads(failed.value.response.content)["error"]["type"] == "server_error"
        assert turns(store)[0].is_open
        answer = client.chat.completions.create(model="any", messages=ASKED, user="anna")
    assert answer.choices[0].message.content == "Leaves."


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "raised"),
    [
        (401, openai.AuthenticationError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
def test_an_upstreams_status_reaches_the_client(status: int, raised: type[openai.APIStatusError], stream: bool) -> None:
    """The client gets its own exception for what the model's server said, streamed or not, and asks again."""

    def play(handler: Handler) -> None:
        if len(upstream.asked) == 1:
            handler.reply(status, b'{"error": {"message": "no", "type": "t", "code": "c"}}')
            return
        handler.begin()
        handler.event({"choices": [{"index": 0, "delta": {"content": "Leaves."}}]})
        handler.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        handler.event("[DONE]")

    store = an_empty_store()
    with playing(play) as upstream:
        llm = RemoteLLM(Endpoint(upstream.url, "small", policy=RequestPolicy(attempts=1)))
        with talking(llm, store) as client:
            talk: Any = {"model": "any", "messages": ASKED, "user": "anna", "stream": stream}
            with pytest.raises(raised) as failed:
                list(client.chat.completions.create(**talk))
            assert failed.value.status_code == status
            (turn,) = turns(store)
            assert (turn.is_open, turn.failure["status"]) == (True, status)
            assert say(client, ("user", ASKED[0]["content"])) == "Leaves."
    assert [turn.response for turn in turns(store)] == ["Leaves."]


def test_pictures_and_parts_are_taken_by_their_words() -> None:
    """A question in parts is kept by its text, and the parts go to the model as they came."""
    model, store = ScriptedLLM("A wallaby."), an_empty_store()
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts: Any = [{"role": "user", "content": [{"type": "text", "text": f"Is this a {SPOKEN}?"}, picture]}]
    with talking(model, store) as client:
        client.chat.completions.create(model="any", messages=parts, user="anna")
    assert turns(store)[0].query == f"Is this a {SPOKEN}?"
    assert model.asked[0][-1]["content"][1] == picture

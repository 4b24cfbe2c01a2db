"""Models, options and stored objects of the OpenAI endpoint, with the real client before real upstream servers."""

import base64
import json
import struct
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from server_samples import SPOKEN, for_chat_alone, live, service, serving, settings

from ricordo.engine import Completion
from ricordo.engine.http import RequestPolicy
from ricordo.engine.remote_llm import Endpoint, RemoteLLM
from ricordo.errors import LLMError
from ricordo.records.turns import Owner
from ricordo.stores.memory import MemoryStore
from ricordo.testing.fakes import ScriptedLLM

sys.path.insert(0, str(Path(__file__).parent.parent / "engine"))

from chat_server import USAGE, ChatServer, Handler, playing

ANNA = Owner("default", "anna")
ASKED: Any = [{"role": "user", "content": f"What does a {SPOKEN} eat?"}]


def talk(*words: str, usage: bool = True, finish: str | None = "stop") -> Any:
    """A play that streams words; without a reason at the end it is cut off."""

    def play(handler: Handler) -> None:
        handler.begin()
        for each in words:
            handler.event({"choices": [{"index": 0, "delta": {"content": each}}]})
        if finish:
            handler.event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
            if usage:
                handler.event({"choices": [], "usage": USAGE})
            handler.event("[DONE]")

    return play


@contextmanager
def before(llm: Any = None, store: MemoryStore | None = None, chosen: Any = None) -> Iterator[openai.OpenAI]:
    """The real client before a real server."""
    with (
        live(service(store, llm=llm, chosen=chosen or for_chat_alone(), port=0)) as port,
        openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0, timeout=20) as client,
    ):
        yield client


def impatient(upstream: ChatServer) -> RemoteLLM:
    """A model on an upstream that is asked once."""
    return RemoteLLM(Endpoint(upstream.url, "small", policy=RequestPolicy(attempts=1)))


def test_a_chat_chooses_among_the_configured_models() -> None:
    """`model` of a chat request names what answers; an unknown one is refused before anything is stored."""
    with ExitStack() as stack:
        small, large = (stack.enter_context(playing(talk(words))) for words in ("Small.", "Large."))
        llm = f"{small.url}#small, {large.url}#org/large"
        chosen = settings(remember_person="off", condense="off", titles="off", llm=llm)
        client = stack.enter_context(serving(chosen=chosen))
        asked = {"query": ASKED[0]["content"], "user_id": "anna"}
        for model, said in ((None, "Small."), ("small", "Small."), ("org/large", "Large.")):
            answer = client.post("/chat", json=asked | {"model": model}).json()
            assert (answer["message"], answer["metadata"]["answerer"]) == (said, model or "small")
        assert client.post("/chat", json=asked | {"model": "huge"}).status_code == 404
        assert len(client.get("/sessions?user_id=anna").json()["items"]) == 3


def test_a_request_chooses_among_the_configured_models() -> None:
    """The setting names several; each answers under its name, the first by default; an unknown one is a 404."""
    with ExitStack() as stack:
        small, large = (stack.enter_context(playing(talk(words))) for words in ("Small.", "Large."))
        chosen = settings(
            remember_person="off", condense="off", titles="off", llm=f"{small.url}#small, {large.url}#org/large"
        )
        client = stack.enter_context(before(chosen=chosen))

        def asked(model: str) -> tuple[str | None, str]:
            answer = client.chat.completions.create(model=model, messages=ASKED, user="anna")
            return answer.choices[0].message.content, answer.model

        assert asked("small") == asked("ricordo") == asked("any") == ("Small.", "small")
        assert asked("org/large") == ("Large.", "org/large")
        assert [body["model"] for _, _, body in large.asked] == ["org/large"]
        assert [model.id for model in client.models.list()] == ["small", "org/large"]
        assert client.models.retrieve("org/large").id == "org/large"
        for ask in (lambda: asked("huge"), lambda: client.models.retrieve("huge")):
            with pytest.raises(openai.NotFoundError, match="small, org/large") as unknown:
                ask()
            assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")


BAD: list[tuple[Any, str]] = [
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "narrator", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": " "}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
    ({"messages": [*ASKED, {"role": "tool", "content": "x"}]}, "messages[1].tool_call_id"),
    ({"n": 0}, "n"),
    ({"temperature": 3}, "temperature"),
    ({"tools": "look"}, "tools"),
    ({"conversation": 3}, "conversation"),
    ({"store": True, "metadata": {"a": 1}}, "metadata.a"),
]


def test_bad_input_is_400_with_its_parameter() -> None:
    """What cannot be answered is refused with the parameter that is wrong, before anything is stored."""
    store = MemoryStore()
    with before(ScriptedLLM("Never."), store) as client:
        for changes, param in BAD:
            with pytest.raises(openai.BadRequestError) as wrong:
                client.post("/chat/completions", body={"messages": ASKED, "user": "anna", **changes}, cast_to=object)
            assert wrong.value.param == param
            assert json.loads(wrong.value.response.content)["error"]["type"] == "invalid_request_error"
    assert not store.sessions.page(ANNA, limit=1)


def test_several_choices() -> None:
    """With `n` the model is asked as often; the first answer is stored, and all are counted."""
    store = MemoryStore()
    given = [Completion(words, "scripted", 10, 2) for words in ("One.", "Two.", "Three.")]
    with before(ScriptedLLM(*given, *given), store) as client:
        answer = client.chat.completions.create(model="any", messages=ASKED, user="anna", n=3)
        assert [(each.index, each.message.content) for each in answer.choices] == [
            (0, "One."),
            (1, "Two."),
            (2, "Three."),
        ]
        assert answer.usage is not None
        assert answer.usage.completion_tokens == 6
        said = ["", "", ""]
        reasons: list[Any] = [None] * 3
        for chunk in client.chat.completions.create(model="any", messages=ASKED, user="anna", n=3, stream=True):
            for each in chunk.choices:
                said[each.index] += each.delta.content or ""
                reasons[each.index] = each.finish_reason or reasons[each.index]
        assert said == ["One.", "Two.", "Three."]
        assert reasons == ["stop"] * 3
    kept = [turn.response for each in store.sessions.page(ANNA, limit=9) for turn in store.turns.page(ANNA, each.id)]
    assert kept == ["One.", "One."]


def test_developer_messages_are_instructions() -> None:
    """A developer message is part of the system prompt; alone, it is what is asked."""
    model, store = ScriptedLLM("Yes."), MemoryStore()
    with before(model, store) as client:
        messages: Any = [{"role": "developer", "content": "Be brief."}, *ASKED]
        client.chat.completions.create(model="any", messages=messages, user="anna")
        client.chat.completions.create(model="any", messages=messages[:1], user="anna")
    assert "Be brief." in model.asked[0][0]["content"]
    assert not any("Be brief." in str(each["content"]) for each in model.asked[0][1:])
    assert "Be brief." in model.asked[1][-1]["content"]
    questions = [turn.query for each in store.sessions.page(ANNA, limit=9) for turn in store.turns.page(ANNA, each.id)]
    assert sorted(questions) == sorted(["Be brief.", ASKED[0]["content"]])


def test_a_session_has_many_names() -> None:
    """A session is named by `conversation`, by metadata or by a header; none of them reaches the upstream."""
    store = MemoryStore()
    names: list[dict[str, Any]] = [
        {"extra_body": {"conversation": "c0"}},
        {"extra_body": {"conversation": {"id": "c1"}}},
        {"metadata": {"session_id": "c2"}},
        {"metadata": {"chat_id": "c3", "project": "thesis"}},
        {"extra_headers": {"X-Ricordo-Session": "c4"}},
    ]
    with playing(talk("Yes.")) as upstream, before(impatient(upstream), store) as client:
        for at, named in enumerate(names):
            for words in (f"I am Anna the {at}.", "Who am I?"):
                asked: Any = [{"role": "user", "content": words}]
                client.chat.completions.create(model="any", messages=asked, user="anna", **named)
            _, _, body = upstream.asked[-1]
            assert [turn.query for turn in store.turns.page(ANNA, f"c{at}")] == [f"I am Anna the {at}.", "Who am I?"]
            assert f"I am Anna the {at}." in json.dumps(body["messages"])
            assert not {"conversation", "metadata", "user", "n", "store"} & set(body)
    projects = {session.id: session.project for session in store.sessions.page(ANNA, limit=9)}
    assert projects == {f"c{at}": "thesis" if at == 3 else "" for at in range(5)}


def test_options_reach_the_upstream_unchanged() -> None:
    """Response format, tools, stop and seed go along as they came, with the name of the model that was chosen."""
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
    options: Any = {"response_format": schema, "tools": tools, "tool_choice": "auto", "stop": ["\n"], "seed": 7}
    with playing(talk("{}")) as upstream, before(impatient(upstream)) as client:
        client.chat.completions.create(model="small", messages=ASKED, user="anna", **options)
        _, _, body = upstream.asked[0]
    assert {key: body[key] for key in options} == options
    assert body["model"] == "small"


def test_an_upstream_that_refuses_an_option_is_asked_twice_at_most() -> None:
    """A refusal of the upstream ends as a 400 for the client; the same request is not sent for ever."""
    options: list[Any] = [{"response_format": {"type": "json_object"}}, {"max_tokens": 5}]

    def refuse(handler: Handler) -> None:
        said = {"error": {"message": "use max_completion_tokens; no response_format", "type": "t", "code": "c"}}
        handler.reply(400, json.dumps(said).encode())

    with playing(refuse) as upstream, before(impatient(upstream)) as client:
        for option in options:
            upstream.asked.clear()
            with pytest.raises(openai.BadRequestError):
                client.chat.completions.create(model="small", messages=ASKED, user="anna", **option)
            assert len(upstream.asked) <= 2


def test_tokens_are_counted_where_the_upstream_does_not() -> None:
    """Usage is there, whole and streamed, although the upstream reports none."""
    with playing(talk("Leaves and bark.", usage=False)) as upstream, before(impatient(upstream)) as client:
        answer = client.chat.completions.create(model="small", messages=ASKED, user="anna")
        assert answer.usage is not None
        assert answer.usage.prompt_tokens > answer.usage.completion_tokens > 2
        chunks = list(
            client.chat.completions.create(
                model="small", messages=ASKED, user="anna", stream=True, stream_options={"include_usage": True}
            )
        )
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.completion_tokens == answer.usage.completion_tokens


def test_a_cut_or_empty_answer_is_an_error_and_is_never_kept() -> None:
    """An upstream that breaks off or says nothing is an error with its cause; later prompts hold none of its words."""
    bad = [(talk("Lea", finish=None), "cut"), (talk(finish="stop"), "empty"), (talk(" ", finish="stop"), "empty")]
    cases = [(play, code, stream) for play, code in bad for stream in (False, True)]
    plays = [each for play, _, _ in cases for each in (play, talk("Bark."))]
    store = MemoryStore()
    with playing(*plays) as upstream, before(impatient(upstream), store) as client:
        for at, (_, code, stream) in enumerate(cases):
            named: Any = {"model": "small", "user": "anna", "metadata": {"session_id": f"s{at}"}}
            with pytest.raises(openai.APIError) as failed:
                list(client.chat.completions.create(messages=ASKED, stream=stream, **named))
            assert failed.value.code == code
            (turn,) = store.turns.page(ANNA, f"s{at}")
            assert turn.is_open
            other: Any = [{"role": "user", "content": "And what does it drink?"}]
            assert client.chat.completions.create(messages=other, **named).choices[0].message.content == "Bark."
            _, _, body = upstream.asked[-1]
            assert not [each for each in body["messages"] if each["role"] == "assistant"]
            assert "The material" not in json.dumps(body)


def test_a_failed_choice_fails_the_request() -> None:
    """If one of several answers fails, none is given or kept."""
    store = MemoryStore()
    with before(ScriptedLLM("One.", LLMError("away")), store) as client, pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="any", messages=ASKED, user="anna", n=2)
    (session,) = store.sessions.page(ANNA, limit=2)
    assert [turn.is_open for turn in store.turns.page(ANNA, session.id)] == [True]


def test_completions_are_stored_when_asked() -> None:
    """A completion with `store` can be read, listed, changed and deleted, and goes with its session."""
    store = MemoryStore()
    with before(ScriptedLLM("One.", "Two.", "Three."), store) as client:
        anna = client.with_options(default_headers={"X-Ricordo-User": "anna"})

        def ask(words: str, **more: Any) -> str:
            asked: Any = [{"role": "user", "content": words}]
            return anna.chat.completions.create(model="any", messages=asked, **more).id

        first = ask("First?", store=True, metadata={"kind": "a"})
        second = ask("Second?", store=True)
        ask("Third?")
        assert [each.id for each in anna.chat.completions.list()] == [first, second]
        assert [each.id for each in anna.chat.completions.list(metadata={"kind": "a"})] == [first]
        assert [each.id for each in anna.chat.completions.list(order="desc", limit=1)] == [second, first]
        assert anna.chat.completions.retrieve(first).choices[0].message.content == "One."
        assert [each.content for each in anna.chat.completions.messages.list(first)] == ["First?"]
        assert anna.chat.completions.update(second, metadata={"kind": "b"}).metadata == {"kind": "b"}
        assert anna.chat.completions.retrieve(second).metadata == {"kind": "b"}
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.retrieve(first)  # of another user
        assert anna.chat.completions.delete(first).deleted
        for session in store.sessions.page(ANNA, limit=9):
            store.sessions.delete(ANNA, session.id)
        for each in (first, second):
            with pytest.raises(openai.NotFoundError):
                anna.chat.completions.retrieve(each)


def test_embeddings_are_those_of_the_memory() -> None:
    """The endpoint serves the embedder's vectors, as numbers and in base64, and refuses other sizes and models."""
    with before(chosen=settings(embedder="light")) as client:
        texts = ["a wallaby", "a tax form"]
        found = client.embeddings.create(model="light", input=texts, encoding_format="float")
        assert [each.index for each in found.data] == [0, 1]
        assert found.usage.prompt_tokens > 0
        size = len(found.data[0].embedding)
        raw: Any = client.post(
            "/embeddings", body={"input": texts[0], "encoding_format": "base64"}, cast_to=dict[str, Any]
        )
        vector = struct.unpack(f"<{size}f", base64.b64decode(raw["data"][0]["embedding"]))
        assert vector == pytest.approx(found.data[0].embedding)
        assert client.embeddings.create(model="any", input=texts[0]).data[0].embedding == pytest.approx(vector)
        assert client.embeddings.create(model="any", input=texts[0], dimensions=size).data
        wrong: Any
        for more, param in (
            ({"dimensions": 3}, "dimensions"),
            ({"input": []}, "input"),
            ({"input": ["a", " "]}, "input[1]"),
        ):
            with pytest.raises(openai.BadRequestError) as wrong:
                client.embeddings.create(**{"model": "any", "input": "a", **more})
            assert wrong.value.param == param
        with pytest.raises(openai.NotFoundError, match="light"):
            client.embeddings.create(model="text-embedding-3-small", input="a")

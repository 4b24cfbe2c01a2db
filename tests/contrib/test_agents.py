"""The session of the OpenAI Agents SDK on a memory, with the SDK's own runner."""

import asyncio
import json
import runpy
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

pytest.importorskip("agents", reason="openai-agents is not installed: scripts/test-integrations")

from agents import Agent, ModelResponse, RunConfig, RunContextWrapper, Runner, Usage, function_tool
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import ricordo
from ricordo import Memory
from ricordo.contrib.agents import RicordoSession, instructions
from ricordo.contrib.agents_items import _check, _said, _surely_fits, items_of, kept_as
from ricordo.engine.core import SystemClock
from ricordo.errors import StoreUnavailable, ValidationError
from ricordo.limits import Limits, check_metadata
from ricordo.records.turns import Message, Owner
from ricordo.stores.memory import MemoryStore

QUIET = RunConfig(tracing_disabled=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(st.characters(codec=None), max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
kinds = st.sampled_from(["message", "function_call", "function_call_output", "reasoning", "web_search_call", None])
parts = st.fixed_dictionaries({"type": st.sampled_from(["output_text", "input_image"])}, optional={"text": values})
items = st.fixed_dictionaries(
    {},
    optional={
        "type": kinds,
        "role": st.sampled_from(["user", "assistant", "system", "developer", "tool"]),
        "content": st.text(max_size=8) | st.lists(parts, max_size=2) | values,
        "call_id": st.text(max_size=4) | st.just("c1"),
        "name": st.text(max_size=4),
        "arguments": values,
        "output": values,
        "id": st.text(max_size=4),
        "status": st.just("completed"),
    },
)


def call(number: int, arguments: str = '{"city":"Roma"}') -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "weather",
            "arguments": arguments, "status": "completed"}  # fmt: skip


def output(number: int, text: str = "sole") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": text}


def said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


@given(items)
def test_every_item_comes_back_as_it_was(item: dict[str, Any]) -> None:
    """Whatever an item holds, what is read is equal to what was added."""
    with Memory(MemoryStore()) as memory:
        session = RicordoSession("s", memory, user_id="ada")
        asyncio.run(session.add_items([item]))
        assert asyncio.run(session.get_items()) == [item]


@given(items, st.integers(10, 60))
def test_every_item_can_be_kept_within_any_limits(item: dict[str, Any], size: int) -> None:
    """An item that is too large for its message is kept elsewhere, and its message fits."""
    kept = kept_as(item, Limits(text_bytes=size, metadata_bytes=size))
    assert kept.spilled in (None, item)
    assert len(kept.fields["content"].encode()) <= size


@given(items)
def test_what_is_not_checked_twice_would_pass(item: dict[str, Any]) -> None:
    """An item that is kept without a look at every part of it is one that every look would let pass."""
    limits = Limits(text_bytes=16_384, metadata_bytes=16_384)
    fields = _said(item)
    if _surely_fits(item, fields, limits):
        _check(fields, limits)
        check_metadata("metadata", {"openai.agents": {"item": item}}, limits)
    else:
        event("looked at")


@given(st.lists(st.sampled_from(["user", "answer", "call", "output", "pop"]), max_size=14), st.integers(1, 6))
def test_a_session_is_a_list(steps: list[str], limit: int) -> None:
    """Whatever is added and popped, a session reads like the list to which the same was done."""

    async def run() -> None:
        with Memory(MemoryStore()) as memory:
            session = RicordoSession("s", memory, user_id="ada")
            expected: list[dict[str, Any]] = []
            for number, step in enumerate(steps):
                if step == "pop":
                    assert await session.pop_item() == (expected.pop() if expected else None)
                    continue
                made = {"user": {"role": "user", "content": f"q{number}"}, "answer": said(f"a{number}")}
                made |= {"call": call(number), "output": output(number)}
                await session.add_items([made[step]])
                expected.append(made[step])
            assert await session.get_items() == expected
            latest = await session.get_items(limit)
            assert [each for each in expected[-limit:] if each.get("type") != "function_call_output"] == [
                each for each in latest if each.get("type") != "function_call_output"
            ]
            assert memory.verify().ok

    asyncio.run(run())


def test_it_is_a_session_of_the_sdk(memory: Memory) -> None:
    """The SDK takes it for one of its sessions."""
    assert isinstance(RicordoSession("s", memory, user_id="ada"), Session)


def test_settings_are_those_of_the_sdk() -> None:
    """Settings may be left out, given whole or as a mapping; a name that the SDK does not know is refused."""
    with Memory(MemoryStore()) as memory:
        for given, limit in ((None, None), (SessionSettings(limit=5), 5), ({"limit": 0}, 0)):
            session = RicordoSession("s", memory, user_id="ada", session_settings=given)
            assert isinstance(session.session_settings, SessionSettings)
            assert session.session_settings.limit == limit
        with pytest.raises(TypeError, match="limitt"):
            RicordoSession("s", memory, user_id="ada", session_settings={"limitt": 1})


def test_who_is_cancelled_knows_how_it_went(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a cancelled addition or removal raises, it has happened: nothing of it comes later."""
    begun, go_on = threading.Event(), threading.Event()
    session = RicordoSession("s", memory, user_id="ada")
    first, second = {"role": "user", "content": "uno"}, {"role": "user", "content": "due"}

    def held(work: Any) -> Any:
        def waiting(*given: Any) -> Any:
            begun.set()
            assert go_on.wait(30)
            return work(*given)

        return waiting

    async def cancelled(call: Any) -> None:
        begun.clear()
        go_on.clear()
        running = asyncio.ensure_future(call)
        await asyncio.to_thread(begun.wait, 30)
        running.cancel()
        await asyncio.sleep(0)
        assert not running.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await running

    async def run() -> None:
        await session.add_items([first])
        for name in ("_add", "_pop"):
            monkeypatch.setattr(session, name, held(getattr(session, name)))
        await cancelled(session.add_items([second]))
        assert await session.get_items() == [first, second]
        await cancelled(session.pop_item())
        assert await session.get_items() == [first]

    asyncio.run(run())


def test_a_user_is_required(memory: Memory) -> None:
    """There is no session without a user, and none for a blank one."""
    with pytest.raises(TypeError):
        RicordoSession("s", memory)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="user_id"):
        RicordoSession("s", memory, user_id=" ")


def test_the_same_session_name_of_two_users_is_two_sessions(memory: Memory) -> None:
    """Users with a session of the same name never see, pop or clear what is another's."""

    async def run() -> None:
        ada, bob = (RicordoSession("default", memory, user_id=user) for user in ("ada", "bob"))
        await ada.add_items([{"role": "user", "content": "ada's"}])
        assert await bob.get_items() == []
        assert await bob.pop_item() is None
        await bob.clear_session()
        assert await ada.get_items() == [{"role": "user", "content": "ada's"}]

    asyncio.run(run())


def test_a_limit_leaves_no_output_without_its_call(memory: Memory) -> None:
    """A limit that falls between a call and its output drops the output: no model would accept it."""

    async def run() -> None:
        session = RicordoSession("s", memory, user_id="ada", session_settings=SessionSettings(limit=2))
        await session.add_items([{"role": "user", "content": "meteo?"}, call(1), output(1), said("sole")])
        assert await session.get_items() == [said("sole")]
        assert await session.get_items(3) == [call(1), output(1), said("sole")]

    asyncio.run(run())


def test_a_large_output_comes_back_whole_and_goes_with_its_session(memory: Memory) -> None:
    """An output of two megabytes with control characters is kept to the byte, and cleared with the rest."""

    async def run() -> None:
        session = RicordoSession("s", memory, user_id="ada")
        large = output(1, "\x00é" * 700_000)
        await session.add_items([{"role": "user", "content": "leggi"}, call(1, '"' + "x" * 90_000 + '"'), large])
        assert (await session.get_items())[1:] == [call(1, '"' + "x" * 90_000 + '"'), large]
        assert await session.pop_item() == large
        await session.clear_session()
        assert await session.get_items() == []

    asyncio.run(run())


def beside(memory: Memory) -> list[Any]:
    """What is kept beside Ada's sessions."""
    return [document for document in memory.export("ada") if "session" not in document]


@pytest.mark.parametrize("how", ["delete", "clear", "turns", "pop"])
def test_a_large_item_goes_however_its_words_go(memory: Memory, how: str) -> None:
    """Whoever removes the session, its history or the turn, by whatever way, removes what lies beside it too."""

    async def run() -> None:
        session = RicordoSession("s", memory, user_id="ada")
        question = {"role": "user", "content": "leggi"}
        first, second = call(1, '"' + "x" * 90_000 + '"'), output(1, "\x00é" * 700_000)
        await session.add_items([question, first, second])
        assert len(beside(memory)) == 2
        if how == "pop":
            assert await session.pop_item() == second
            assert await session.get_items() == [question, first]  # written anew in a turn of its own
            assert len(beside(memory)) == 1
            memory.session("s", user_id="ada").clear()
        elif how == "delete":
            memory.delete_session("s", user_id="ada")
        elif how == "clear":
            memory.session("s", user_id="ada").clear()
        else:
            memory.store.turns.delete(Owner("default", "ada"), "s", [1])
        assert beside(memory) == []
        assert await session.get_items() == []

    asyncio.run(run())


def test_a_session_with_large_items_is_taken_along(memory: Memory) -> None:
    """Exported with what lies beside it, a session reads the same in another memory."""

    async def run() -> None:
        said_here = [{"role": "user", "content": "leggi"}, call(1), output(1, "\x00é" * 700_000), said("fatto")]
        await RicordoSession("s", memory, user_id="ada").add_items(said_here)
        with Memory(MemoryStore()) as other:
            other.import_documents(memory.export("ada"))
            assert await RicordoSession("s", other, user_id="ada").get_items() == said_here

    asyncio.run(run())


def test_what_was_popped_is_not_found_again(memory: Memory) -> None:
    """A popped item is out of the memory, not only out of the list."""

    async def run() -> None:
        session = RicordoSession("s", memory, user_id="ada")
        await session.add_items([{"role": "user", "content": "il mio gatto"}, said("si chiama Zorzi")])
        await session.pop_item()
        assert not memory.search("Zorzi", user_id="ada", role="assistant")

    asyncio.run(run())


def test_a_pop_that_stops_half_way_changes_nothing_that_is_read(memory: Memory, monkeypatch: Any) -> None:
    """If removing fails after the shorter turn was written, the list has lost its last item and nothing else."""

    async def run() -> None:
        session = RicordoSession("s", memory, user_id="ada")
        await session.add_items([{"role": "user", "content": "uno"}, said("due")])
        with monkeypatch.context() as broken:

            def away(*_: object) -> int:
                raise StoreUnavailable("gone")

            broken.setattr(memory.store.turns, "delete", away)
            with pytest.raises(StoreUnavailable):
                await session.pop_item()
        assert await session.get_items() == [{"role": "user", "content": "uno"}]
        assert await session.get_items(1) == [{"role": "user", "content": "uno"}]
        assert await session.pop_item() == {"role": "user", "content": "uno"}
        assert await session.get_items() == []

    asyncio.run(run())


def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Sessions of several connections to one file, all new, write at once: every item is there, none is refused."""
    path = tmp_path / "many.db"

    async def run() -> None:
        opened = [ricordo.open(path) for _ in range(4)]
        sessions = [RicordoSession("s", each, user_id="ada") for each in opened]
        writes = [
            session.add_items([{"role": "user", "content": f"{n}-{m}"}])
            for n, session in enumerate(sessions)
            for m in range(5)
        ]
        await asyncio.gather(*writes)
        found = await sessions[0].get_items()
        assert {each["content"] for each in found} == {f"{n}-{m}" for n in range(4) for m in range(5)}
        for each in opened:
            each.close()

    asyncio.run(run())


@pytest.mark.parametrize("whose", ["ada", lambda context: context])
def test_items_given_together_stay_together(memory: Memory, whose: Any) -> None:
    """Requests that each make an object for the same session do not mix a question, its call and its output."""

    def items(n: int) -> list[Any]:
        call = {"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"}
        output = {"type": "function_call_output", "call_id": f"c{n}", "output": "o"}
        return [{"role": "user", "content": f"q{n}"}, call, output, {"role": "assistant", "content": f"a{n}"}]

    async def run() -> None:
        made = [RicordoSession("s", memory, user_id=whose) for _ in range(12)]
        asked = {} if whose == "ada" else {"wrapper": RunContextWrapper("ada")}
        await asyncio.gather(*[each.add_items(items(n), **asked) for n, each in enumerate(made)])
        found = await made[0].get_items(**asked)
        together = [found[at : at + 4] for at in range(0, len(found), 4)]
        assert sorted(together, key=str) == sorted((items(n) for n in range(12)), key=str)

    asyncio.run(run())


def test_reading_some_does_not_read_all(memory: Memory, monkeypatch: Any) -> None:
    """What a limited read asks of the store does not grow with the session."""

    async def run() -> None:
        session = RicordoSession("s", memory, user_id="ada")
        await session.add_items([{"role": "user", "content": str(n)} for n in range(50)])
        read: list[int] = []
        page = memory.store.turns.page

        def counted(*args: Any, **named: Any) -> Any:
            found = page(*args, **named)
            read.append(len(found))
            return found

        monkeypatch.setattr(memory.store.turns, "page", counted)
        assert [each["content"] for each in await session.get_items(4)] == ["46", "47", "48", "49"]
        assert max(read) <= 5

    asyncio.run(run())


def test_what_was_said_another_way_is_read_too(memory: Memory) -> None:
    """Turns that the program itself added are items like the others."""
    memory.session("s", user_id="ada").add_turn("ciao", "salve")
    found = asyncio.run(RicordoSession("s", memory, user_id="ada").get_items())
    assert found == [{"role": "user", "content": "ciao"}, {"role": "assistant", "content": "salve"}]


@pytest.mark.parametrize("item", ["words", {"role": "user", "content": object()}, {"type": "x", "value": {1, 2}}])
def test_what_is_no_json_object_is_refused_before_anything_is_kept(memory: Memory, item: Any) -> None:
    """One item that cannot be kept refuses all that came with it."""
    session = RicordoSession("s", memory, user_id="ada")
    with pytest.raises(ValidationError, match="items"):
        asyncio.run(session.add_items([{"role": "user", "content": "ciao"}, item]))
    assert asyncio.run(session.get_items()) == []


def test_a_lost_item_is_told_by_its_words() -> None:
    """Where the item of a message is gone, its words are still there."""
    message = Message("t:query", "user", "parole", SystemClock().now(), metadata=kept_pointer())
    assert items_of(message, lambda key: None) == [{"role": "user", "content": "parole"}]


def kept_pointer() -> dict[str, Any]:
    return {"openai.agents": {"spilled": "nowhere"}}


@dataclass
class Ctx:
    user: str


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sole a {city}"


class Scripted(Model):
    """A model without a network: it calls the tool once for each question, then answers with its output."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.instructions: list[str | None] = []

    async def get_response(self, system_instructions: str | None, input: Any, *args: Any, **named: Any) -> Any:  # noqa: A002
        self.seen.append(json.loads(json.dumps(input)))
        self.instructions.append(system_instructions)
        last = input[-1]
        number = len(self.seen)
        if last.get("type") == "function_call_output":
            text = ResponseOutputText(type="output_text", text=f"oggi {last['output']}", annotations=[], logprobs=[])
            said = ResponseOutputMessage(
                id=f"m{number}", type="message", role="assistant", status="completed", content=[text]
            )
            return ModelResponse([said], Usage(), None)
        called = ResponseFunctionToolCall(
            id=f"f{number}", type="function_call", call_id=f"c{number}", name="weather", arguments='{"city": "Roma"}'
        )
        return ModelResponse([called], Usage(), None)

    def stream_response(self, *args: Any, **named: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def test_the_runner_keeps_whole_runs_and_sees_them_again(memory: Memory) -> None:
    """Question, call, output and answer of a run are before the model in the next run, in order and once."""

    async def run() -> None:
        model = Scripted()
        agent = Agent(name="a", model=model, tools=[weather])
        session = RicordoSession("s", memory, user_id="ada")
        for question in ("meteo?", "e domani?"):
            result = await Runner.run(agent, question, session=session, run_config=QUIET)
            assert result.final_output == "oggi sole a Roma"
        kinds = [each.get("type", each.get("role")) for each in model.seen[2]]
        assert kinds == ["user", "function_call", "function_call_output", "message", "user"]
        assert len(await session.get_items()) == 8
        turns = memory.session("s", user_id="ada").history()
        assert [(turn.query, turn.response, len(turn.steps)) for turn in turns] == [
            ("meteo?", "oggi sole a Roma", 2),
            ("e domani?", "oggi sole a Roma", 2),
        ]
        assert turns[0].steps[0].tool_calls[0]["function"]["name"] == "weather"
        assert memory.search("meteo", user_id="ada")

    asyncio.run(run())


def test_the_context_of_the_run_says_whose_session_it_is(memory: Memory) -> None:
    """One session object serves several users at once, each by the context of the run."""

    async def run() -> None:
        agent = Agent[Ctx](name="a", model=Scripted(), tools=[weather])
        session = RicordoSession("s", memory, user_id=lambda context: context.user)
        runs = [
            Runner.run(agent, f"sono {user}", session=session, context=Ctx(user), run_config=QUIET)
            for user in ("ada", "bob")
        ]
        await asyncio.gather(*runs)
        for user in ("ada", "bob"):
            (turn,) = memory.session("s", user_id=user).history()
            assert turn.query == f"sono {user}"
        with pytest.raises(ValidationError, match="user_id"):
            await session.get_items()

    asyncio.run(run())


def test_instructions_tell_what_is_known(memory: Memory) -> None:
    """The prompt of an agent holds what an earlier session has taught about the user."""

    async def run() -> None:
        memory.session("old", user_id="ada").add_turn("Mi chiamo Ada e vivo a Torino.", "Piacere!")
        memory.session("old", user_id="ada").end()
        model = Scripted()
        told = instructions(memory, "Sei un aiuto.", user_id=lambda context: context.user)
        agent = Agent[Ctx](name="a", model=model, tools=[weather], instructions=told)
        await Runner.run(agent, "ciao", context=Ctx("ada"), run_config=QUIET)
        assert "Sei un aiuto." in str(model.instructions[0])
        assert "Torino" in str(model.instructions[0])

    asyncio.run(run())


def test_the_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shipped example does what it says."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "openai_agents.py"))
    asyncio.run(example["main"](str(tmp_path / "chat.db")))
    assert "bob: What was said? → I have read 1 items." in capsys.readouterr().out

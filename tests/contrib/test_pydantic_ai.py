"""Conversations and memory for agents of Pydantic AI, with its own agents and function models."""

import asyncio
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed: scripts/test-integrations")

from pydantic_ai import Agent, ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import SystemPromptPart, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import ricordo
from ricordo import Memory
from ricordo.contrib.pydantic_ai import RicordoConversations, RicordoMemory, recent_turns
from ricordo.contrib.pydantic_ai_messages import last_turns
from ricordo.errors import StoreUnavailable, ValidationError
from ricordo.stores.memory import MemoryStore


class Scripted:
    """A model without a network: calls the tool when asked about the weather, else says how many messages it saw."""

    def __init__(self) -> None:
        self.seen: list[list[ModelMessage]] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.seen.append(list(messages))
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse(parts=[TextPart(f"oggi {last.content}")])
        if "meteo" in str(getattr(last, "content", "")):
            return ModelResponse(parts=[ToolCallPart("weather", {"city": "Roma"}, tool_call_id=f"c{len(self.seen)}")])
        return ModelResponse(parts=[TextPart("va bene")])


def agent(model: Scripted, *capabilities: Any, **named: Any) -> Agent[Any, str]:
    made = Agent(FunctionModel(model), capabilities=list(capabilities), **named)

    @made.tool_plain
    def weather(city: str) -> str:
        return f"sole a {city}"

    return made


def asked(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


# The store of conversations

steps = st.one_of(
    st.tuples(st.just("save"), st.integers(0, 3), st.integers(1, 2)),
    st.tuples(st.just("fork"), st.integers(0, 3), st.integers(0, 4)),
    st.tuples(st.just("branch"), st.integers(0, 3), st.integers(0, 4)),
    st.tuples(st.just("delete"), st.integers(0, 3), st.just(0)),
)


@given(st.lists(steps, max_size=10))
def test_it_does_what_the_reference_store_does(given_steps: list[tuple[str, int, int]]) -> None:
    """Saves, forks, branches and deletions leave the same conversations as in Pydantic AI's own store."""

    async def run(store: Any) -> list[Any]:
        seen: list[Any] = []
        for number, (verb, which, much) in enumerate(given_steps):
            name = f"c{which}"
            try:
                found = await store.load(name, scope="s")
                if verb == "save":
                    conversation = found or Conversation(conversation_id=name)
                    conversation.messages.extend(asked(f"{number}.{n}") for n in range(much))
                    await store.save(conversation, scope="s")
                elif verb == "fork":
                    await store.fork(name, at=much, new_conversation_id=f"c{(which + 1) % 4}")
                elif verb == "branch" and found:
                    await store.branch(name, at=much, expected_revision=found.revision)
                else:
                    await store.delete(name)
            except (UserError, ConversationConflict) as error:
                seen.append(type(error).__name__)
        for record in await store.list_conversations():
            loaded = await store.load(record.conversation_id)
            said = [part.content for message in loaded.messages for part in message.parts]
            seen.append((record.conversation_id, record.forked_from, record.scope, len(record.branches), said))
            short = await store.load(record.conversation_id, limit=2)
            assert [message.parts for message in short.messages] == [each.parts for each in loaded.messages[-2:]]
        return sorted(map(str, seen))

    with Memory(MemoryStore()) as memory:
        ours = asyncio.run(run(RicordoConversations(memory, user_id="ada")))
        assert ours == asyncio.run(run(InMemoryConversationStore()))


def test_a_run_with_tools_comes_back_as_it_was(memory: Memory) -> None:
    """Messages with tool calls, times and usage are loaded equal to what was saved, from a memory opened anew."""

    async def run() -> None:
        store = RicordoConversations(memory, user_id="ada")
        result = await agent(Scripted()).run("meteo?", conversation=Conversation(conversation_id="c"))
        await store.save(result, scope="web")
        with ricordo.open(memory.store.location) as again:
            loaded = await RicordoConversations(again, user_id="ada").load("c", scope="web")
        assert loaded is not None
        assert loaded.messages == result.all_messages()
        assert [message.timestamp for message in loaded.messages] == [
            message.timestamp for message in result.all_messages()
        ]
        assert loaded.usage == result.usage
        assert loaded.revision == result.conversation.revision

    asyncio.run(run())


def test_another_user_or_scope_has_nothing(memory: Memory) -> None:
    """The same id of another user is another conversation; another scope sees none."""

    async def run() -> None:
        ada, bob = (RicordoConversations(memory, user_id=user) for user in ("ada", "bob"))
        await ada.save(Conversation(conversation_id="c", messages=[asked("segreto")]), scope="web")
        assert await bob.load("c") is None
        assert await bob.list_conversations() == []
        assert await ada.load("c", scope="app") is None
        assert await ada.list_conversations(scope="app") == []
        await bob.save(Conversation(conversation_id="c", messages=[asked("altro")]))
        await bob.delete("c")
        assert await ada.load("c", scope="web") is not None

    asyncio.run(run())


def test_a_user_is_required(memory: Memory) -> None:
    """Neither store nor capability can be made for nobody."""
    with pytest.raises(TypeError):
        RicordoConversations(memory)  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="user_id"):
        RicordoMemory(memory, user_id="")


def test_of_two_writers_one_is_told(url: str) -> None:
    """Two processes that loaded the same revision cannot both save: nothing is overwritten."""

    async def run() -> None:
        with ricordo.open(url) as one, ricordo.open(url) as other:
            first, second = (RicordoConversations(each, user_id="ada") for each in (one, other))
            await first.save(Conversation(conversation_id="c", messages=[asked("uno")]))
            loaded = [await store.load("c") for store in (first, second)]
            for conversation in loaded:
                assert conversation
                conversation.messages.append(asked("due"))
            saves = [store.save(each) for store, each in zip((first, second), loaded, strict=True) if each]
            results = await asyncio.gather(*saves, return_exceptions=True)
            assert sorted(type(each).__name__ for each in results) == ["ConversationConflict", "list"]

    asyncio.run(run())


def test_deleting_leaves_no_message_but_those_of_a_fork(memory: Memory) -> None:
    """What only the deleted conversation had is gone from the file; what a fork shares stays."""

    async def run() -> None:
        store = RicordoConversations(memory, user_id="ada")
        entries = await store.save(Conversation(conversation_id="c", messages=[asked("a"), asked("b"), asked("c")]))
        await store.fork("c", at=1, new_conversation_id="f")
        await store.delete("c")
        forked = await store.load("f")
        assert forked
        assert [message.parts[0].content for message in forked.messages] == ["a"]  # type: ignore[union-attr]
        for gone in entries[1:]:
            with pytest.raises(KeyError):
                await store.read_entry(gone.id)

    asyncio.run(run())


def test_erasing_a_user_erases_conversations(memory: Memory) -> None:
    """Nothing of a user's conversations is left after an erasure, and the others' are."""

    async def run() -> None:
        for user in ("ada", "bob"):
            store = RicordoConversations(memory, user_id=user)
            await store.save(Conversation(conversation_id="c", messages=[asked("segreto")]))
        memory.session("s", user_id="ada").add_turn("a", "b")
        memory.erase("ada")
        assert await RicordoConversations(memory, user_id="ada").list_conversations() == []
        assert len(await RicordoConversations(memory, user_id="bob").list_conversations()) == 1

    asyncio.run(run())


# The memory of an agent


@dataclass
class Deps:
    user: str


def test_a_run_is_kept_as_a_turn_with_its_steps(memory: Memory) -> None:
    """Question, call, result and answer are one turn, in order, with the times they had."""

    async def run() -> None:
        result = await agent(Scripted(), RicordoMemory(memory, user_id="ada", session_id="s")).run("meteo?")
        (turn,) = memory.session("s", user_id="ada").history()
        assert (turn.query, turn.response) == ("meteo?", "oggi sole a Roma")
        assert [step.role for step in turn.steps] == ["assistant", "tool"]
        assert turn.steps[0].tool_calls[0]["function"] == {"name": "weather", "arguments": '{"city":"Roma"}'}
        assert turn.steps[0].tool_calls[0]["id"] == turn.steps[1].tool_call_id
        assert turn.steps[0].created_at == result.all_messages()[1].timestamp
        assert memory.session("s", user_id="ada").receipts()

    asyncio.run(run())


def test_the_next_run_reads_what_was_said(memory: Memory) -> None:
    """Without any message history, the model reads the turns of the session, calls and results in pairs."""

    async def run() -> None:
        model = Scripted()
        made = agent(model, RicordoMemory(memory, user_id="ada", session_id="s"))
        await made.run("meteo?")
        await made.run("grazie")
        kinds = [part.part_kind for message in model.seen[-1] for part in message.parts]
        assert kinds[-5:] == ["user-prompt", "tool-call", "tool-return", "text", "user-prompt"]
        assert "grazie" in str(model.seen[-1][-1].parts[-1].content)  # type: ignore[union-attr]

    asyncio.run(run())


def test_each_run_reads_its_own_user(memory: Memory) -> None:
    """One agent that serves many at once never shows one what another said."""

    async def run() -> None:
        model = Scripted()
        capability = RicordoMemory(memory, user_id=lambda run: run.deps.user, session_id="s")
        made = agent(model, capability, deps_type=Deps)
        await asyncio.gather(*(made.run(f"sono {user}", deps=Deps(user)) for user in ("ada", "bob", "eva")))
        model.seen.clear()
        await made.run("chi sono?", deps=Deps("bob"))
        assert "sono bob" in str(model.seen)
        assert "sono ada" not in str(model.seen)
        assert "sono eva" not in str(model.seen)

    asyncio.run(run())


def test_the_agents_own_prompt_stays_first(memory: Memory) -> None:
    """The system prompt and instructions of the agent reach the model beside what is remembered."""

    async def run() -> None:
        model = Scripted()
        memory.session("old", user_id="ada").add_turn("Mi chiamo Ada e vivo a Torino.", "Piacere!")
        memory.session("old", user_id="ada").end()
        made = agent(model, RicordoMemory(memory, user_id="ada", session_id="s"), system_prompt="Sei un aiuto.")
        await made.run("uno")
        await made.run("due")
        first = model.seen[-1][0].parts
        assert isinstance(first[0], SystemPromptPart)
        assert first[0].content == "Sei un aiuto."
        assert "Torino" in str(first[1].content)  # type: ignore[union-attr]
        assert sum("Sei un aiuto." in str(message) for message in model.seen[-1]) == 1

    asyncio.run(run())


def test_a_tiny_budget_is_no_error(memory: Memory) -> None:
    """With a budget smaller than anything, the agent still answers and the turn is kept."""

    async def run() -> None:
        made = agent(Scripted(), RicordoMemory(memory, user_id="ada", session_id="s", budget=1))
        assert (await made.run("ciao " * 100)).output == "va bene"

    asyncio.run(run())


def test_a_memory_that_is_away_does_not_stop_the_agent(memory: Memory, monkeypatch: Any) -> None:
    """If the store fails, the agent answers all the same."""

    def away(*_: object, **__: object) -> Any:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(memory.store.turns, "append", away)
    made = agent(Scripted(), RicordoMemory(memory, user_id="ada", session_id="s"))
    assert asyncio.run(made.run("ciao")).output == "va bene"


def test_in_a_crisis_no_model_is_asked(memory: Memory) -> None:
    """Words of despair are answered with the fixed reply."""
    model = Scripted()
    result = asyncio.run(agent(model, RicordoMemory(memory, user_id="ada", session_id="s")).run("voglio uccidermi"))
    assert model.seen == []
    assert result.output


# The history processor

turns = st.lists(st.integers(0, 3), min_size=1, max_size=8)


@given(turns, st.integers(0, 120))
def test_whole_turns_are_kept(shape: list[int], limit: int) -> None:
    """What is kept is the end of the history, from a question on, and the system prompt is always there, once."""
    messages: list[ModelMessage] = []
    for number, calls in enumerate(shape):
        system = [SystemPromptPart("regole")] if number == 0 else []
        messages.append(ModelRequest(parts=[*system, UserPromptPart(f"domanda {number}")]))
        for call in range(calls):
            messages.append(ModelResponse(parts=[ToolCallPart("t", "{}", tool_call_id=f"{number}.{call}")]))
            messages.append(ModelRequest(parts=[ToolReturnPart("t", "ok", tool_call_id=f"{number}.{call}")]))
        messages.append(ModelResponse(parts=[TextPart("risposta")]))
    kept = last_turns(messages, limit, len)
    assert kept[1:] == messages[len(messages) - len(kept) + 1 :]
    assert isinstance(kept[0].parts[-1], UserPromptPart)
    assert sum(isinstance(part, SystemPromptPart) for message in kept for part in message.parts) == 1
    if len(kept) < len(messages):
        longer = last_turns(messages, limit + 1, len)
        assert len(longer) >= len(kept)


def test_trimming_what_the_model_reads_does_not_shrink_what_is_stored(memory: Memory) -> None:
    """With the processor the model reads the newest turn, and the store has them all."""

    async def run() -> None:
        model = Scripted()
        store = RicordoConversations(memory, user_id="ada")
        made = agent(model, ProcessHistory(recent_turns(memory, max_tokens=1)))
        for number in range(3):
            conversation = await store.load("c") or Conversation(conversation_id="c")
            await store.save(await made.run(f"domanda {number}", conversation=conversation))
        assert len(model.seen[-1]) == 1
        stored = await store.load("c")
        assert stored
        assert len(stored.messages) == 6

    asyncio.run(run())


def test_the_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shipped example does what it says."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "pydantic_ai_agent.py"))
    asyncio.run(example["main"](str(tmp_path / "chat.db")))
    assert "known: Is called Ada, Lives in Turin" in capsys.readouterr().out

"""OpenAI's own session and models of the Agents SDK, unchanged, before a server of ours."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed: scripts/test-integrations")

from agents import Agent, OpenAIConversationsSession, OpenAIResponsesModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

from ricordo.engine import Completion
from ricordo.records.turns import Owner
from ricordo.stores.memory import MemoryStore
from ricordo.testing.fakes import ScriptedLLM

sys.path.insert(0, str(Path(__file__).parent.parent / "server"))

from server_samples import for_chat_alone, live, service

QUIET = RunConfig(tracing_disabled=True)
ANNA = Owner("default", "anna")
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"where": "island"}'}}


@asynccontextmanager
async def before(llm: Any, store: MemoryStore) -> AsyncIterator[AsyncOpenAI]:
    """The SDK's client before a real server, for one user."""
    headers = {"X-Ricordo-User": "anna"}
    with live(service(store, llm=llm, chosen=for_chat_alone(), port=0)) as port:
        url = f"http://127.0.0.1:{port}/v1"
        async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0, default_headers=headers) as client:
            yield client


def test_the_session_keeps_pops_and_clears_items() -> None:
    """All four methods work: items come back in order and limited, the last one is popped, and a clear forgets them."""

    async def run() -> None:
        store = MemoryStore()
        async with before(ScriptedLLM("Never."), store) as client:
            session = OpenAIConversationsSession(openai_client=client)
            items: Any = [
                {"role": "user" if at % 2 == 0 else "assistant", "content": f"Item {at}."} for at in range(45)
            ]
            await session.add_items(items)
            got: Any = await session.get_items()
            assert [each["content"][0]["text"] for each in got] == [each["content"] for each in items]
            latest: Any = await session.get_items(limit=3)
            assert latest == got[-3:]
            assert await session.pop_item() == got[-1]
            assert await session.pop_item() == got[-2]
            assert await session.get_items() == got[:-2]
            turns = store.turns.page(ANNA, session.session_id)
            assert [turn.query for turn in turns][:2] == ["Item 0.", "Item 2."]
            await session.clear_session()
            assert not store.sessions.page(ANNA, limit=1)

    asyncio.run(run())


def test_an_agent_with_a_tool_talks_in_a_conversation() -> None:
    """A run with the session, the Responses model and a tool is remembered; the second run knows the first."""
    calling = Completion("", "scripted", 5, 3, tool_calls=(CALL,), finish_reason="tool_calls")
    model, store = ScriptedLLM(calling, "On an island.", "The quokka."), MemoryStore()

    @function_tool
    def look(where: str) -> str:
        """Look somewhere."""
        return f"a quokka on the {where}"

    async def run() -> None:
        async with before(model, store) as client:
            session = OpenAIConversationsSession(openai_client=client)
            answering = OpenAIResponsesModel(model="scripted", openai_client=client)
            agent = Agent(name="a", instructions="Be brief.", model=answering, tools=[look])
            first = await Runner.run(agent, "Where does it live?", session=session, run_config=QUIET)
            assert first.final_output == "On an island."
            second = Runner.run_streamed(agent, "Which animal was it?", session=session, run_config=QUIET)
            async for _ in second.stream_events():
                pass
            assert second.final_output == "The quokka."
            kinds = [each.get("type") for each in await session.get_items()]
            assert kinds == ["message", "function_call", "function_call_output", "message", "message", "message"]

    asyncio.run(run())
    assert "a quokka on the island" in str(model.asked[1])
    assert "Where does it live?" in str(model.asked[2])


def test_an_answer_of_the_reader_is_kept_once() -> None:
    """Without a model the reader answers in the conversation; what the SDK adds is there already."""
    store = MemoryStore()

    async def run() -> None:
        async with before(None, store) as client:
            session = OpenAIConversationsSession(openai_client=client)
            agent = Agent(name="a", model=OpenAIResponsesModel(model="any", openai_client=client))
            for words in ("My name is Anna.", "What is my name?"):
                answer = await Runner.run(agent, words, session=session, run_config=QUIET)
            assert "Anna" in answer.final_output
            assert len(await session.get_items()) == 4

    asyncio.run(run())
    (only,) = store.sessions.page(ANNA, limit=5)
    assert [turn.query for turn in store.turns.page(ANNA, only.id)] == ["My name is Anna.", "What is my name?"]

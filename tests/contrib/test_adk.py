"""Sessions and memory for Google ADK, with its own runner and its in-memory service as the measure."""

import asyncio
import runpy
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("google.adk", reason="google-adk is not installed: scripts/test-integrations")

from google.adk.agents import LlmAgent
from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools import load_memory
from google.genai import types

import ricordo
from ricordo import Memory
from ricordo.contrib.adk import RicordoMemoryService, RicordoSessionService
from ricordo.errors import ValidationError
from ricordo.stores.memory import MemoryStore

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
WHO = {"app_name": "app", "user_id": "ada"}


def text(words: str, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=words)])


def said(words: str, author: str = "user", at: float = 1_700_000_000.5, **delta: Any) -> Event:
    return Event(author=author, content=text(words), timestamp=at, actions=EventActions(state_delta=delta))


keys = st.sampled_from(["app:a", "user:b", "temp:c", "d", "e"])
deltas = st.dictionaries(keys, st.integers(0, 9) | st.text(max_size=3) | st.lists(st.none(), max_size=2), max_size=3)
steps = st.lists(st.tuples(st.sampled_from(["ada", "bob"]), st.sampled_from(["s", "t"]), deltas), max_size=10)


@given(steps, st.integers(0, 4))
def test_it_does_what_the_reference_service_does(given_steps: list[tuple[str, str, dict[str, Any]]], most: int) -> None:
    """State of app, user and session, and the events, are those that ADK's own service would have."""

    async def run(service: Any) -> list[Any]:
        seen: list[Any] = []
        for number, (user, name, delta) in enumerate(given_steps):
            who = {"app_name": "app", "user_id": user}
            session = await service.get_session(**who, session_id=name)
            if session is None:
                session = await service.create_session(**who, session_id=name, state=delta)
            else:
                await service.append_event(session, said(f"{number}", at=1e9 + number, **delta))
            seen.append((sorted(session.state.items(), key=str), len(session.events)))
        for user in ("ada", "bob"):
            who = {"app_name": "app", "user_id": user}
            seen.append(await service.get_user_state(**who))
            listed = (await service.list_sessions(**who)).sessions
            seen.append(sorted((each.id, sorted(each.state.items(), key=str), each.events) for each in listed))
            for name in ("s", "t"):
                config = GetSessionConfig(num_recent_events=most)
                session = await service.get_session(**who, session_id=name, config=config)
                events = session and [event.content.parts[0].text for event in session.events]
                seen.append((events, session and sorted(session.state.items(), key=str)))
        return seen

    with Memory(MemoryStore()) as memory:
        assert asyncio.run(run(RicordoSessionService(memory))) == asyncio.run(run(InMemorySessionService()))


def test_events_come_back_as_they_were(memory: Memory) -> None:
    """Calls, responses, bytes, metadata and times of events are equal when read from a memory opened anew."""
    parts = [
        types.Part(function_call=types.FunctionCall(id="c1", name="weather", args={"city": "Roma"})),
        types.Part(inline_data=types.Blob(data=b"\x00\x01\xff", mime_type="image/png")),
        types.Part(text="riflessione", thought=True, thought_signature=b"\x02"),
    ]
    answer = types.Part(function_response=types.FunctionResponse(id="c1", name="weather", response={"sky": "è\x00"}))
    events = [
        said("meteo?"),
        Event(author="bot", content=types.Content(role="model", parts=parts), custom_metadata={"k": [1]}),
        Event(author="bot", content=types.Content(role="user", parts=[answer]), branch="a.b", invocation_id="i"),
    ]

    async def run() -> None:
        service = RicordoSessionService(memory)
        session = await service.create_session(**WHO, session_id="s")
        for event in events:
            await service.append_event(session, event)
        with ricordo.open(memory.store.location) as again:
            found = await RicordoSessionService(again).get_session(**WHO, session_id="s")
        assert found is not None
        assert found.events == session.events == events

    asyncio.run(run())


def test_a_stale_session_is_told_and_a_repeated_event_is_one(memory: Memory) -> None:
    """Who read before another wrote gets an error and changes nothing; the same event twice is kept once."""

    async def run() -> None:
        service = RicordoSessionService(memory)
        mine = await service.create_session(**WHO, session_id="s")
        theirs = await service.get_session(**WHO, session_id="s")
        assert theirs is not None
        event = said("uno", d=1)
        await service.append_event(mine, event)
        await service.append_event(mine, event)
        with pytest.raises(StaleSessionError):
            await service.append_event(theirs, said("due"))
        assert theirs.events == []
        found = await service.get_session(**WHO, session_id="s")
        assert found is not None
        assert [each.id for each in found.events] == [event.id]

    asyncio.run(run())


def test_names_are_refused_and_deletions_final(memory: Memory) -> None:
    """A second session of a name is refused, a deleted one is gone with its events, and an append to it is told."""

    async def run() -> None:
        service = RicordoSessionService(memory)
        session = await service.create_session(**WHO, session_id="s")
        await service.append_event(session, said("uno"))
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**WHO, session_id="s")
        await service.delete_session(**WHO, session_id="s")
        assert await service.get_session(**WHO, session_id="s") is None
        with pytest.raises(SessionNotFoundError):
            await service.append_event(session, said("due"))
        again = await service.create_session(**WHO, session_id="s")
        assert again.events == []

    asyncio.run(run())


def test_nothing_is_listed_for_all_users(memory: Memory) -> None:
    """A list without a user is refused; users with sessions of the same name see only their own."""

    async def run() -> None:
        service = RicordoSessionService(memory)
        await service.create_session(**WHO, session_id="s", state={"k": "ada's"})
        with pytest.raises(ValidationError, match="user_id"):
            await service.list_sessions(app_name="app")
        with pytest.raises(ValidationError, match="user_id"):
            await service.create_session(app_name="app", user_id="")
        assert await service.get_session(app_name="app", user_id="bob", session_id="s") is None
        assert await service.get_session(app_name="other", user_id="ada", session_id="s") is None
        assert (await service.list_sessions(app_name="app", user_id="bob")).sessions == []

    asyncio.run(run())


def test_a_state_that_is_no_json_is_refused_before_anything_is_kept(memory: Memory) -> None:
    """A value that could not come back is an error that names the state, not a silent change."""

    async def run() -> None:
        service = RicordoSessionService(memory)
        session = await service.create_session(**WHO, session_id="s")
        with pytest.raises(ValidationError, match="state"):
            await service.append_event(session, said("uno", d=object()))
        found = await service.get_session(**WHO, session_id="s")
        assert found is not None
        assert found.events == []

    asyncio.run(run())


# The memory


def test_a_session_taken_in_twice_is_there_once(memory: Memory) -> None:
    """Adding a session again adds what is new, in order, with the times of its events."""

    async def run() -> None:
        sessions, service = RicordoSessionService(memory), RicordoMemoryService(memory)
        session = await sessions.create_session(**WHO, session_id="s")
        for number, (words, author) in enumerate([("il mio gatto è Zorzi", "user"), ("che bel nome", "bot")]):
            await sessions.append_event(session, said(words, author, at=1_700_000_000 + number))
            await service.add_session_to_memory(session)
        turns = memory.session("app/s", user_id="ada").history()
        assert [(turn.query, turn.response) for turn in turns] == [("il mio gatto è Zorzi", "che bel nome")]
        assert turns[0].created_at.timestamp() == 1_700_000_000
        found = (await service.search_memory(**WHO, query="come si chiama il gatto?")).memories
        assert found[0].content == text("il mio gatto è Zorzi")
        assert (found[0].author, found[0].id) == ("user", session.events[0].id)
        assert found[0].timestamp == "2023-11-14T22:13:20+00:00"

    asyncio.run(run())


def test_two_services_take_an_event_in_once_and_a_cleared_session_again(memory: Memory) -> None:
    """Another service's events are known, and after the session was cleared they can be taken in anew."""

    async def run() -> None:
        one, other = RicordoMemoryService(memory), RicordoMemoryService(memory)
        events = [said(f"frase {number}", at=1e9 + number) for number in range(6)]
        for number in range(6):
            await (one, other)[number % 2].add_events_to_memory(**WHO, events=events[: number + 1], session_id="s")
        session = memory.session("app/s", user_id="ada")
        assert [turn.query for turn in session.history()] == [f"frase {number}" for number in range(6)]
        session.clear()
        await one.add_events_to_memory(**WHO, events=events[:1], session_id="s")
        assert [turn.query for turn in session.history()] == ["frase 0"]

    asyncio.run(run())


def test_memories_are_of_one_user_and_one_app(memory: Memory) -> None:
    """Nobody finds what was said to another app or by another user, whatever the query."""

    async def run() -> None:
        service = RicordoMemoryService(memory)
        await service.add_events_to_memory(**WHO, events=[said("il gatto Zorzi")], session_id="s")
        for who in ({"app_name": "app", "user_id": "bob"}, {"app_name": "other", "user_id": "ada"}):
            assert (await service.search_memory(**who, query="gatto Zorzi")).memories == []
        assert (await service.search_memory(**WHO, query="  ")).memories == []

    asyncio.run(run())


def test_apps_and_sessions_with_slashes_are_kept_apart(memory: Memory) -> None:
    """An app `a` with the session `b/c` is not the app `a/b` with the session `c`."""

    async def run() -> None:
        sessions, memories = RicordoSessionService(memory), RicordoMemoryService(memory)
        for app, name in (("a/b", "c"), ("a", "b/c"), ("a%2Fb", "c")):
            session = await sessions.create_session(app_name=app, user_id="ada", session_id=name)
            await sessions.append_event(session, said(f"sailing of {app}"))
            await memories.add_session_to_memory(session)
        for app, name in (("a/b", "c"), ("a", "b/c"), ("a%2Fb", "c")):
            (found,) = (await memories.search_memory(app_name=app, user_id="ada", query="sailing")).memories
            assert found.content.parts[0].text == f"sailing of {app}"
            assert found.custom_metadata["session_id"] == name

    asyncio.run(run())


def test_a_deleted_memory_does_not_come_back(memory: Memory) -> None:
    """Deleting by the id that was found removes the words, and taking the session in again does not restore them."""

    async def run() -> None:
        service = RicordoMemoryService(memory)
        events = [said("il gatto Zorzi"), said("bel nome", "bot"), said("e il cane Fido")]
        await service.add_events_to_memory(**WHO, events=events, session_id="s")
        await service.delete_memory(**WHO, memory_id=events[0].id)
        await service.add_events_to_memory(**WHO, events=events, session_id="s")
        words = [m.content for turn in memory.session("app/s", user_id="ada").history() for m in turn.messages]
        assert words == ["bel nome", "e il cane Fido"]

    asyncio.run(run())


operations = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from(["take", "take", "take", "delete", "clear"]),
        st.lists(st.integers(0, 6), min_size=1, max_size=7),
    ),
    max_size=8,
)


@pytest.fixture(scope="module")
def two_openings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, Memory]]:
    """The same file opened twice."""
    place = tmp_path_factory.mktemp("two") / "chat.db"
    with ricordo.open(place) as one, ricordo.open(place) as other:
        yield one, other


@given(operations)
def test_an_event_is_there_once_and_never_after_its_deletion(
    two_openings: tuple[Memory, Memory], done: list[tuple[bool, str, list[int]]]
) -> None:
    """Whichever of two openings of a file takes in, deletes or clears, in whatever order, both know of it."""
    events = [said(f"frase {number}", ("user", "bot")[number % 2], at=1e9 + number) for number in range(7)]

    who = {"app_name": "app", "user_id": str(uuid4())}

    async def run(one: Memory, other: Memory) -> None:
        services = RicordoMemoryService(one), RicordoMemoryService(other)
        chat = one.session("app/s", user_id=who["user_id"], agent_id="app")
        there: list[int] = []
        deleted: set[int] = set()
        for second, what, numbers in done:
            if what == "take":
                given_events = [events[number] for number in numbers]
                await services[second].add_events_to_memory(**who, events=given_events, session_id="s")
                there += [number for number in dict.fromkeys(numbers) if number not in deleted | set(there)]
            elif what == "delete":
                await services[second].delete_memory(**who, memory_id=events[numbers[0]].id)
                deleted.add(numbers[0])
                there = [number for number in there if number not in deleted]
            elif one.sessions(user_id=who["user_id"]):
                chat.clear()
                there = []
            words = [message.content for turn in chat.history() for message in turn.messages]
            assert words == [f"frase {number}" for number in there]

    asyncio.run(run(*two_openings))


def test_two_openings_that_take_in_the_same_at_once_keep_it_once(url: str) -> None:
    """Threads of two openings that are given the same growing session, at the same time, write every event once."""
    events = [said(f"frase {number}", ("user", "bot")[number % 2], at=1e9 + number) for number in range(24)]
    start = Barrier(4)

    def take_in(service: RicordoMemoryService) -> None:
        for end in range(1, len(events) + 1):
            start.wait()
            asyncio.run(service.add_events_to_memory(**WHO, events=events[max(0, end - 3) : end], session_id="s"))

    with ricordo.open(url) as one, ricordo.open(url) as other:
        services = [RicordoMemoryService(memory) for memory in (one, one, other, other)]
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(take_in, services))
        turns = one.session("app/s", user_id="ada", agent_id="app").history()
    assert [message.content for turn in turns for message in turn.messages] == [f"frase {n}" for n in range(24)]


def test_what_another_opening_deleted_is_not_taken_in(url: str) -> None:
    """A service that knows a session sees the deletions of another opening: of what is there and of what is to come."""

    async def run(one: Memory, other: Memory) -> None:
        service = RicordoMemoryService(one)
        events = [said(f"frase {number}", at=1e9 + number) for number in range(3)]
        for event in events[:2]:
            await service.add_events_to_memory(**WHO, events=[event], session_id="s")
        for gone in (events[0], events[2]):
            await RicordoMemoryService(other).delete_memory(**WHO, memory_id=gone.id)
        await service.add_events_to_memory(**WHO, events=events, session_id="s")
        await service.add_events_to_memory(**WHO, events=events, session_id="another")
        for name in ("app/s", "app/another"):
            assert [turn.query for turn in one.session(name, user_id="ada").history()] == ["frase 1"]

    with ricordo.open(url) as one, ricordo.open(url) as other:
        asyncio.run(run(one, other))


def test_a_memory_that_is_deleted_while_it_is_taken_in_is_not_there(url: str) -> None:
    """Whoever of the two comes first: once both are done, the deleted memory is gone."""
    with ricordo.open(url) as one, ricordo.open(url) as other, ThreadPoolExecutor(2) as threads:
        taking, deleting = RicordoMemoryService(one), RicordoMemoryService(other)
        for number in range(12):
            event = said(f"frase {number}", at=1e9 + number)
            add = taking.add_events_to_memory(**WHO, events=[event], session_id="s")
            done = [threads.submit(asyncio.run, add)]
            done.append(threads.submit(asyncio.run, deleting.delete_memory(**WHO, memory_id=event.id)))
            for each in done:
                each.result()
        assert one.session("app/s", user_id="ada", agent_id="app").history() == []


def test_many_events_are_looked_for_among_the_deleted(memory: Memory) -> None:
    """More events than are asked for at once are taken in, each once, without the one that was deleted."""

    async def run() -> None:
        service = RicordoMemoryService(memory)
        events = [said(f"frase {number}", at=1e9 + number) for number in range(1_100)]
        await service.delete_memory(**WHO, memory_id=events[1_050].id)
        for _ in range(2):
            await service.add_events_to_memory(**WHO, events=events, session_id="s")
        turns = memory.session("app/s", user_id="ada").history()
        assert [turn.query for turn in turns] == [f"frase {n}" for n in range(1_100) if n != 1_050]

    asyncio.run(run())


def test_given_memories_are_found_with_what_they_carry(memory: Memory) -> None:
    """A memory that was given directly is found with its author, time and metadata."""

    async def run() -> None:
        service = RicordoMemoryService(memory)
        given = MemoryEntry(id="m1", content=text("preferisce il tè verde"), author="user",
                            timestamp="2024-01-02T03:04:05+00:00", custom_metadata={"source": "form"})  # fmt: skip
        await service.add_memory(**WHO, memories=[given])
        (found,) = (await service.search_memory(**WHO, query="tè verde")).memories
        assert (found.id, found.timestamp, found.custom_metadata["source"]) == ("m1", given.timestamp, "form")

    asyncio.run(run())


def test_large_and_odd_events_are_taken_in(memory: Memory) -> None:
    """An event with a call of a megabyte and words with control characters does not stop a session."""
    call = types.FunctionCall(id="c", name="t", args={"x": "y" * 1_000_000})
    response = types.FunctionResponse(id="c", name="t", response={"x": "\x00z" * 800_000})
    events = [
        said("leggi\x00"),
        Event(author="bot", content=types.Content(role="model", parts=[types.Part(function_call=call)])),
        Event(author="bot", content=types.Content(role="user", parts=[types.Part(function_response=response)])),
        said("fatto", "bot"),
    ]
    asyncio.run(RicordoMemoryService(memory).add_events_to_memory(**WHO, events=events, session_id="s"))
    (turn,) = memory.session("app/s", user_id="ada").history()
    assert [message.role for message in turn.messages] == ["user", "assistant", "tool", "assistant"]
    assert turn.steps[0].tool_calls[0]["id"] == turn.steps[1].tool_call_id == "c"


@pytest.mark.parametrize(
    ("words", "kept"),
    [("\x00", ["(no words)"]), ("\n\x00\t", ["(no words)"]), ("a\x00", ["a "]), (" \n", []), ("è", ["è"])],
)
def test_words_that_are_hardly_any_are_kept_as_far_as_they_can_be(words: str, kept: list[str]) -> None:
    """An event of blanks says nothing; what cannot be kept is replaced; nothing of it stops a session."""
    with Memory(MemoryStore()) as memory:
        service = RicordoMemoryService(memory)
        asyncio.run(service.add_events_to_memory(**WHO, events=[said(words)], session_id="s"))
        assert [turn.query for turn in memory.session("app/s", user_id="ada").history()] == kept


class Scripted(BaseLlm):
    """A model without a network: asks the memory for the first words it is told, then answers with what came."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        last = llm_request.contents[-1].parts[-1]
        if last.function_response:
            yield LlmResponse(content=text(str(last.function_response.response), "model"))
        else:
            call = types.FunctionCall(name="load_memory", args={"query": last.text}, id="c1")
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=call)]))


def test_the_runner_remembers_across_sessions(memory: Memory) -> None:
    """In ADK's own runner an agent finds with ADK's own tool what was said in an earlier session."""

    async def run() -> str:
        sessions, memories = RicordoSessionService(memory), RicordoMemoryService(memory)
        await memories.add_events_to_memory(**WHO, events=[said("il mio gatto si chiama Zorzi")], session_id="old")
        agent = LlmAgent(name="bot", model=Scripted(model="none"), tools=[load_memory])
        runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=memories)
        await sessions.create_session(**WHO, session_id="new")
        words = ""
        async for event in runner.run_async(user_id="ada", session_id="new", new_message=text("il mio gatto?")):
            words = str(event.content.parts[0].text) if event.content else words
        stored = await sessions.get_session(**WHO, session_id="new")
        assert stored is not None
        assert [event.author for event in stored.events] == ["user", "bot", "bot", "bot"]
        return words

    assert "Zorzi" in asyncio.run(run())


def test_the_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shipped example does what it says."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "adk_agent.py"))
    asyncio.run(example["main"](str(tmp_path / "chat.db")))
    assert "You said: My cat is called Zorzi." in capsys.readouterr().out

"""The async face: mirrors the sync one name by name, and lets many tasks write at once."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import pytest

import ricordo
from ricordo import aio
from ricordo.memory import Memory
from ricordo.session import OpenTurn, Session
from ricordo.topics.session_topic import SessionTopic

PAIRS = [
    (Memory, aio.AsyncMemory),
    (Session, aio.AsyncSession),
    (OpenTurn, aio.AsyncOpenTurn),
    (SessionTopic, aio.AsyncSessionTopic),
]


def public(kind: type) -> dict[str, Any]:
    """What a class shows by name."""
    return {name: value for name, value in vars(kind).items() if not name.startswith("_")}


def parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """Name, kind and default of every parameter."""
    return [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize(("sync", "twin"), PAIRS)
def test_every_public_name_has_its_twin(sync: type, twin: type) -> None:
    """The async classes have exactly the public names of the sync ones."""
    assert set(public(twin)) == set(public(sync))


@pytest.mark.parametrize(("sync", "twin"), PAIRS)
def test_every_method_takes_the_same_parameters(sync: type, twin: type) -> None:
    """Each async method takes the parameters of its sync twin, with the same kinds and defaults."""
    compared = 0
    for name, value in public(sync).items():
        if inspect.isfunction(value):
            assert parameters(getattr(twin, name)) == parameters(value), name
            compared += 1
    assert compared > 0


@pytest.mark.parametrize(("sync", "twin"), PAIRS)
def test_only_calls_without_io_are_not_awaited(sync: type, twin: type) -> None:
    """Every method is a coroutine (or an async iterator), but the one that only makes a handle."""
    plain = [
        name
        for name, value in public(twin).items()
        if inspect.isfunction(value) and not (inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value))
    ]
    assert plain == (["session"] if twin is aio.AsyncMemory else [])


if TYPE_CHECKING:

    async def results_are_typed(memory: aio.AsyncMemory) -> None:
        """mypy checks this: results have the sync types, and wrong arguments are errors (an unused ignore is one)."""
        session = memory.session(user_id="anna")
        asked = await session.ask("q")
        topic = await session.topic("t")
        assert_type(await aio.open("memory:"), aio.AsyncMemory)
        assert_type(await memory.resume("one", user_id="anna"), aio.AsyncSession)
        assert_type(await memory.search("q", user_id="anna"), ricordo.Hits)
        assert_type(await memory.facts("anna"), list[ricordo.Fact])
        assert_type(memory.export("anna"), AsyncIterator[dict[str, Any]])
        assert_type(await session.add_turn("q", "a", chunk_ids=["a"]), ricordo.Turn)
        assert_type(await session.context("q", budget=1000), ricordo.Context)
        assert_type(await session.export(), dict[str, Any])
        assert_type(await session.export("markdown"), str)
        assert_type(asked, aio.AsyncOpenTurn)
        assert_type(await asked.answer("a"), ricordo.Turn)
        assert_type(topic, aio.AsyncSessionTopic)
        assert_type(await topic.priority(), float)
        await memory.search("q")  # type: ignore[call-arg]
        await session.add_turn("q", 1)  # type: ignore[arg-type]
        await session.context("q", size=3)  # type: ignore[call-arg]
        await topic.weigh("heavy")  # type: ignore[arg-type]


def test_opens_like_the_sync_face() -> None:
    """`aio.open` takes what `ricordo.open` takes."""
    assert parameters(aio.open) == parameters(ricordo.open)


def test_a_whole_conversation(tmp_path: Path) -> None:
    """A talk through the async face is the talk that the sync face reads."""

    async def talk() -> tuple[str, tuple[dict[str, Any], ...], list[dict[str, Any]]]:
        async with await aio.open(tmp_path / "talk.db", preset="tutor") as memory:
            session = memory.session(user_id="anna", agent_id="tutor")
            await session.add_turn("Che cos'è?", "Un ricordo.", chunk_ids=["a"])
            context = await session.context("E poi?")
            asked = await session.ask("E poi?")
            await asked.answer("Un altro.")
            await session.add_message("user", "Grazie")
            await session.update(title="Talk")
            resumed = await memory.resume(session.id, user_id="anna")
            assert (await resumed.info()).title == "Talk"
            assert (await session.rebuild(asked.turn_number)).messages == context.messages
            assert [receipt.turn_number for receipt in await session.receipts()] == [2]
            assert (await session.window()).total_tokens > 0
            assert (await memory.verify()).ok
            assert (await memory.stats()).holds.turns == 3
            documents = [document async for document in memory.export("anna")]
            return session.id, context.messages, documents

    session_id, messages, documents = asyncio.run(talk())
    with ricordo.open(tmp_path / "talk.db") as memory:
        history = memory.session(session_id, user_id="anna").history()
        assert [turn.query for turn in history] == ["Che cos'è?", "E poi?", "Grazie"]
        assert list(memory.export("anna")) == documents
    assert [message["content"] for message in messages[:2]] == ["Che cos'è?", "Un ricordo."]
    assert "E poi?" in messages[2]["content"]


def test_many_tasks_write_one_session_without_a_gap(tmp_path: Path) -> None:
    """Sixty-four tasks that add to one session at once get the numbers 1 to 64."""

    async def write() -> list[int]:
        async with await aio.open(tmp_path / "many.db") as memory:
            session = memory.session("one", user_id="anna")
            turns = await asyncio.gather(*(session.add_turn(f"q{n}", f"a{n}") for n in range(64)))
            return sorted(turn.turn_number for turn in turns)

    assert asyncio.run(write()) == list(range(1, 65))


def test_letting_go(tmp_path: Path) -> None:
    """End, clear, delete, cleanup, erase, import and backup give what the sync face gives."""

    async def forget() -> None:
        async with await aio.open(tmp_path / "forget.db") as memory:
            session = memory.session("one", user_id="anna")
            await session.add_turn("q", "a")
            document = await session.export("json")
            assert "**USER**" in await session.export("markdown")
            await memory.backup(tmp_path / "copy.db")
            assert (await session.end()).ended_at is not None
            assert await session.clear() == 1
            assert await memory.delete_session("one", user_id="anna") == 0
            assert (await memory.import_documents([document])).turns_added == 1
            assert [info.id for info in await memory.sessions(user_id="anna")] == ["one"]
            assert (await memory.cleanup()).turns_deleted == 0
            assert (await memory.erase("anna")).removed["turns"] == 1
            with pytest.raises(ricordo.NotFoundError):
                await session.info()

    asyncio.run(forget())
    with ricordo.open(tmp_path / "copy.db") as copy:
        assert len(copy.session("one", user_id="anna").history()) == 1


def test_recalling_and_topics(tmp_path: Path) -> None:
    """Search, topics and their handles give through the async face what the sync face gives."""

    async def recall() -> tuple[list[str], list[str], str]:
        async with await aio.open(tmp_path / "recall.db", embedder="light") as memory:
            session = memory.session("one", user_id="anna")
            await session.add_turn("My oven only reaches 220 degrees", "A hot stone helps.")
            await session.add_turn("Where does the Danube end?", "In the Black Sea.")
            assert await memory.settle(60)
            hits = await memory.search("oven", user_id="anna", role="user", limit=1)
            assert (hits.embedder, hits.degraded) == ("light-256@1", ())
            topic = await session.topic((await session.topics())[0].id)
            assert (await topic.tag("kitchen")).tags == ("kitchen",)
            assert (await topic.weigh(0.5)).importance == 0.5
            assert (await topic.feedback(1.0)).importance == pytest.approx(0.6)
            assert 0 < await topic.priority() <= 0.6
            assert (await topic.stats()).topic_id == topic.id == (await topic.read()).id
            for other, _ in await topic.near():
                await topic.merge(other)
            with pytest.raises(ricordo.ValidationError, match="other_id"):
                await topic.merge(topic.id)
            assert await memory.embed_again() == 0
            return [hit.text for hit in hits], [turn.query for turn in await topic.history()], await topic.export()

    found, told, exported = asyncio.run(recall())
    assert found == ["My oven only reaches 220 degrees"]
    assert told[0] == found[0]
    with ricordo.open(tmp_path / "recall.db", embedder="light") as memory:
        session = memory.session("one", user_id="anna")
        topic = session.topic(session.topics()[0].id)
        assert topic.export() == exported
        assert [hit.text for hit in memory.search("oven", user_id="anna", role="user", limit=1)] == found


def test_errors_come_through() -> None:
    """An error of the sync face is raised where the call is awaited."""

    async def fail() -> None:
        async with await aio.open("memory:") as memory:
            await memory.session(user_id="anna").add_turn(" ", "a")

    with pytest.raises(ricordo.ValidationError, match="query"):
        asyncio.run(fail())

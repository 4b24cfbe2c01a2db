"""LangChain on Ricordo, with LangChain itself: an agent, older histories, and what users had to put up with."""

import asyncio
import logging
import runpy
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents")

from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from ricordo import Memory
from ricordo.contrib.langchain import RicordoChatMessageHistory, RicordoMiddleware
from ricordo.contrib.langgraph_checkpoint import RicordoSaver
from ricordo.errors import StoreUnavailable, ValidationError
from ricordo.settings import BudgetSettings, Settings
from ricordo.stores.memory import MemoryStore
from ricordo.testing.fakes import FakeClock, StoreProxy

Answer = AIMessage | Exception | Callable[[list[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Says what it was told to say, and remembers what it was shown."""

    answers: list[Any]
    shown: list[list[BaseMessage]] = []  # noqa: RUF012 - a field of the model

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.shown.append(messages)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return ChatResult(generations=[ChatGeneration(message=answer.model_copy(update={"id": None}))])


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


CALL = AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Rome"}, "id": "c1", "type": "tool_call"}])


def _model(*answers: Answer | str) -> ScriptedModel:
    return ScriptedModel(answers=[AIMessage(each) if isinstance(each, str) else each for each in answers], shown=[])


def _agent(memory: Memory, model: ScriptedModel, **options: Any) -> Any:
    middleware = RicordoMiddleware(memory, **{"user_id": "ada", **options})
    return create_agent(model, tools=[weather], system_prompt="Be kind.", middleware=[middleware])


def _ask(agent: Any, question: str | BaseMessage, thread: str = "s", **configurable: str) -> list[BaseMessage]:
    said = HumanMessage(question) if isinstance(question, str) else question
    config = {"configurable": {"thread_id": thread, **configurable}}
    found: list[BaseMessage] = agent.invoke({"messages": [said]}, config)["messages"]
    return found


# Laws

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
names = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
extras = st.dictionaries(names, st.one_of(words, st.integers(-9, 9)), max_size=2)
contents = st.one_of(
    words,
    st.lists(
        st.one_of(
            st.fixed_dictionaries({"type": st.just("text"), "text": words}),
            st.just({"type": "image", "url": "https://example.org/cat.png"}),
        ),
        max_size=3,
    ),
)
calls = st.lists(
    st.fixed_dictionaries({
        "name": names, "args": st.dictionaries(names, words, max_size=2), "id": names, "type": st.just("tool_call")
    }),
    max_size=2,
)  # fmt: skip
common: dict[str, Any] = {"content": contents, "additional_kwargs": extras, "id": st.one_of(st.none(), names)}
messages = st.one_of(
    st.builds(HumanMessage, **common, name=st.one_of(st.none(), names)),
    st.builds(SystemMessage, **common),
    st.builds(AIMessage, **common, tool_calls=calls, response_metadata=extras),
    st.builds(ToolMessage, **common, tool_call_id=names, status=st.sampled_from(["success", "error"]), artifact=extras),
    st.builds(ChatMessage, content=words, role=names),
    st.builds(FunctionMessage, content=words, name=names),
)


@given(st.lists(messages, max_size=6))
def test_messages_come_back_as_they_were(given_messages: list[BaseMessage]) -> None:
    """Kind, content, tool calls and extra fields of every message survive, in order."""
    with Memory(MemoryStore()) as memory:
        history = RicordoChatMessageHistory(memory, "s", user_id="ada")
        history.add_messages(given_messages)
        assert history.messages == given_messages


def test_a_chunk_is_kept_as_a_message() -> None:
    """What a stream leaves behind reads like the message it is."""
    with Memory(MemoryStore()) as memory:
        history = RicordoChatMessageHistory(memory, "s", user_id="ada")
        history.add_messages([HumanMessage("hello"), AIMessageChunk("hi")])
        (turn,) = memory.session("s", user_id="ada").history()
        assert (turn.query, turn.response) == ("hello", "hi")
        assert history.messages[1].text == "hi"


# The older history


def test_a_history_works_in_a_runnable() -> None:
    """`RunnableWithMessageHistory` reads and writes our history."""
    from langchain_core.runnables.history import RunnableWithMessageHistory

    with Memory(MemoryStore()) as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain's own words on its older classes
        chain = RunnableWithMessageHistory(
            RunnableLambda(lambda said: AIMessage(f"{len(said)} messages")),
            lambda session_id: RicordoChatMessageHistory(memory, session_id, user_id="ada"),
        )
        config = {"configurable": {"session_id": "s"}}
        chain.invoke([HumanMessage("one")], config)
        assert chain.invoke([HumanMessage("two")], config).text == "3 messages"
        history = RicordoChatMessageHistory(memory, "s", user_id="ada")
        assert [each.text for each in asyncio.run(history.aget_messages())] == [
            "one",
            "1 messages",
            "two",
            "3 messages",
        ]
        history.clear()
        assert history.messages == []


def test_other_programs_messages_are_read() -> None:
    """Names, tool calls and results that were kept without this library are in the history, in their order."""
    with Memory(MemoryStore()) as memory:
        session = memory.session("s", user_id="ada")
        session.add_message("Anna", "meteo?")
        call = {"id": "c", "type": "function", "function": {"name": "sky", "arguments": '{"city": "Roma"}'}}
        session.add_message("assistant", "", tool_calls=[call])
        session.add_message("tool", "sereno", tool_call_id="c")
        session.add_message("assistant", "Sereno.")
        session.add_message("system", "nota")
        assert RicordoChatMessageHistory(memory, "s", user_id="ada").messages == [
            HumanMessage("meteo?", name="Anna"),
            AIMessage("", tool_calls=[{"name": "sky", "args": {"city": "Roma"}, "id": "c"}]),
            ToolMessage("sereno", tool_call_id="c"),
            AIMessage("Sereno."),
            SystemMessage("nota"),
        ]


def test_order_is_the_order_of_saying() -> None:
    """Messages of one instant keep their order, however they are added."""
    with Memory(MemoryStore(), clock=FakeClock()) as memory:
        history = RicordoChatMessageHistory(memory, "s", user_id="ada")
        said = [HumanMessage(str(number)) if number % 3 else AIMessage(str(number)) for number in range(30)]
        history.add_messages(said[:11])
        for message in said[11:]:
            history.add_message(message)
        assert history.messages == said


def test_a_batch_is_kept_whole_or_not_at_all() -> None:
    """A message that cannot be kept takes the whole batch with it, and what was there stays."""
    with Memory(MemoryStore()) as memory:
        history = RicordoChatMessageHistory(memory, "s", user_id="ada")
        history.add_messages([HumanMessage("one")])
        with pytest.raises(ValidationError):
            history.add_messages([AIMessage("two"), HumanMessage("three\x00")])
        assert history.messages == [HumanMessage("one")]


# The agent


def test_an_agent_remembers_its_turns() -> None:
    """The second question is asked with the first turn before it, though the state of the graph is empty."""
    model = _model("Hello Ada.", "You are Ada.")
    with Memory(MemoryStore()) as memory:
        agent = _agent(memory, model)
        _ask(agent, "I am Ada.")
        _ask(agent, "Who am I?")
        system, *history, question = model.shown[1]
        assert isinstance(system, SystemMessage)
        assert system.text.startswith("Be kind.")
        assert [each.text for each in history] == ["I am Ada.", "Hello Ada."]
        assert "Who am I?" in question.text
        turns = memory.session("s", user_id="ada").history()
        assert [(turn.query, turn.response) for turn in turns] == [
            ("I am Ada.", "Hello Ada."),
            ("Who am I?", "You are Ada."),
        ]


def test_tool_calls_are_kept_in_their_turn() -> None:
    """A turn holds question, call, result and answer, and reads back as LangChain's messages."""
    model = _model(CALL, "It is sunny.")
    with Memory(MemoryStore()) as memory:
        said = _ask(_agent(memory, model), HumanMessage("How is the weather?", id="q1"))
        (turn,) = memory.session("s", user_id="ada").history()
        assert turn.id == "q1"
        assert [message.role for message in turn.messages] == ["user", "assistant", "tool", "assistant"]
        assert turn.steps[0].tool_calls[0]["function"]["name"] == "weather"
        assert turn.steps[1].tool_call_id == "c1"
        assert RicordoChatMessageHistory(memory, "s", user_id="ada").messages == said
        assert [type(each) for each in model.shown[1][-2:]] == [AIMessage, ToolMessage]


def test_the_receipt_is_kept_with_the_turn() -> None:
    """What the model was shown can be explained and rebuilt afterwards."""
    with Memory(MemoryStore()) as memory:
        agent = _agent(memory, _model("Hello.", "Again."))
        _ask(agent, "One.")
        _ask(agent, "Two.")
        session = memory.session("s", user_id="ada")
        assert [receipt.question for receipt in session.receipts()] == ["Two.", "One."]
        assert "One." in str(session.rebuild(2).messages)


def test_an_agent_for_an_event_loop() -> None:
    """The asynchronous run keeps and shows the same."""
    model = _model("Hello Ada.", "You are Ada.")
    with Memory(MemoryStore()) as memory:
        agent = _agent(memory, model)

        async def talk() -> None:
            config = {"configurable": {"thread_id": "s"}}
            await agent.ainvoke({"messages": [HumanMessage("I am Ada.")]}, config)
            await agent.ainvoke({"messages": [HumanMessage("Who am I?")]}, config)

        asyncio.run(talk())
        assert [each.text for each in model.shown[1][1:3]] == ["I am Ada.", "Hello Ada."]
        assert len(memory.session("s", user_id="ada").history()) == 2


def test_the_question_outlives_a_failing_model() -> None:
    """A model that fails loses no question; the same question sent again is one turn."""
    asked = HumanMessage("Do you hear me?", id="q1")
    with Memory(MemoryStore()) as memory:
        with pytest.raises(RuntimeError, match="away"):
            _ask(_agent(memory, _model(RuntimeError("away"))), asked)
        (turn,) = memory.session("s", user_id="ada").history()
        assert turn.is_open
        for _ in range(2):
            _ask(_agent(memory, _model("Yes.")), asked)
        (turn,) = memory.session("s", user_id="ada").history()
        assert (turn.query, turn.response) == ("Do you hear me?", "Yes.")


def test_in_a_crisis_no_model_is_asked() -> None:
    """The fixed reply with helplines comes, and the model sees nothing."""
    model = _model("I am a model.")
    with Memory(MemoryStore()) as memory:
        said = _ask(_agent(memory, model), "I want to kill myself")
        assert model.shown == []
        assert "I am a model." not in said[-1].text
        assert memory.session("s", user_id="ada").history()[0].response == said[-1].text


def test_pictures_stay_with_their_question() -> None:
    """A question with a picture reaches the model with both, and reads back with both."""
    picture = {"type": "image", "url": "https://example.org/cat.png"}
    asked = HumanMessage([{"type": "text", "text": "What is this?"}, picture], id="q1")
    model = _model("A cat.")
    with Memory(MemoryStore()) as memory:
        _ask(_agent(memory, model), asked)
        assert picture in model.shown[0][-1].content
        assert RicordoChatMessageHistory(memory, "s", user_id="ada").messages[0] == asked


def test_a_new_day_knows_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example's agent knows on Tuesday what was said on Monday, and used its tool in between."""
    monkeypatch.setenv("RICORDO_EMBEDDER", "light")
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "langchain_agent.py"))
    answers = example["main"](tmp_path / "agent.db")
    assert answers[1] == "The weather: sunny in Rome."
    assert answers[2].endswith("I know Rome.")


# What users of LangChain had to put up with


@pytest.mark.parametrize("limit", range(150, 1200, 75))
def test_trimming_leaves_no_orphans(limit: int) -> None:
    """Whatever the budget, a tool call and its result reach the model together or not at all."""
    model = _model(CALL, "It is sunny, as it always is. " * 4, CALL, "Still sunny. " * 9, CALL, "Sunny. " * 20, "Bye.")
    with Memory(MemoryStore(), Settings(budget=BudgetSettings(model_limit=8_000))) as memory:
        for _ in range(3):
            _ask(_agent(memory, model), "How is the weather? " * 5)
        memory.session("s", user_id="ada").ask("left open")
        history = RicordoChatMessageHistory(memory, "s", user_id="ada")
        history.add_messages([CALL])  # a turn that broke off
        _ask(_agent(memory, model, budget=limit), "Bye.")
        shown = model.shown[-1]
        for position, message in enumerate(shown):
            if isinstance(message, ToolMessage):
                assert getattr(shown[position - 1], "tool_calls", None)
            if isinstance(message, AIMessage) and message.tool_calls:
                assert isinstance(shown[position + 1], ToolMessage)


@given(st.integers(200, 3_000), st.integers(0, 400), st.integers(0, 12))
def test_the_budget_counts_everything(limit: int, prompt: int, tools: int) -> None:
    """System prompt, tools, history and question together stay within the budget."""
    from langchain_core.utils.function_calling import convert_to_openai_tool

    model = _model("An answer of some length. " * 5)
    with Memory(MemoryStore()) as memory:
        session = memory.session("s", user_id="ada")
        for number in range(6):
            session.add_turn(f"Question {number}? " * 10, f"Answer {number}. " * 20)
        middleware = RicordoMiddleware(memory, user_id="ada", budget=limit)
        agent = create_agent(
            model, tools=[weather] * min(tools, 1), system_prompt="rule " * prompt or "rule", middleware=[middleware]
        )
        _ask(agent, "And now?")
        count = memory.counter.count
        shape = sum(count(str(convert_to_openai_tool(each))) for each in [weather] * min(tools, 1))
        assert sum(count(message.text) for message in model.shown[0]) + shape <= limit


def test_a_store_that_is_away_does_not_stop_the_chat(caplog: pytest.LogCaptureFixture) -> None:
    """Without its database the agent answers, and the log says what it went without, never with the words."""

    class Away(StoreProxy):
        def turns_append(self, *args: Any, **options: Any) -> Any:
            raise StoreUnavailable("the database is away")

        turns_page = sessions_get = turns_get = turns_append

    with caplog.at_level(logging.WARNING, "ricordo"), Memory(Away()) as memory:
        assert _ask(_agent(memory, _model("Here I am.")), "Are you there, Marvin?")[-1].text == "Here I am."
    assert "the database is away" in caplog.text
    assert "Marvin" not in caplog.text


def test_nothing_but_the_model_writes_answers() -> None:
    """A run without an answer leaves its turn open: no placeholder and no error text becomes history."""
    with Memory(MemoryStore()) as memory:
        with pytest.raises(RuntimeError):
            _ask(_agent(memory, _model(RuntimeError("HTTP 500"))), "Hello?")
        model = _model("Hello.")
        _ask(_agent(memory, model), "Hello again?")
        assert not any("500" in message.text for message in model.shown[0])


def test_one_agent_serves_many_users() -> None:
    """The same thread id is another session for another user, and a run that names nobody is refused."""
    model = _model("Noted.")
    with Memory(MemoryStore()) as memory:
        agent = _agent(memory, model, user_id=lambda config: config["configurable"]["user_id"])
        _ask(agent, "My secret is blue.", user_id="ada")
        _ask(agent, "What is the secret?", user_id="bob")
        assert not any("blue" in message.text for message in model.shown[1])
        assert [len(memory.session("s", user_id=user).history()) for user in ("ada", "bob")] == [1, 1]
        with pytest.raises(ValidationError, match="does not name its user"):
            _ask(agent, "Who?")
        with pytest.raises(TypeError):
            RicordoMiddleware(memory)  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            RicordoChatMessageHistory(memory, "s")  # type: ignore[call-arg]


def test_what_an_agent_is_shown_does_not_grow() -> None:
    """With a checkpointer that keeps every message, the model is shown a window of them."""
    model = _model("An answer.")
    with Memory(MemoryStore()) as memory:
        agent = create_agent(
            model,
            middleware=[RicordoMiddleware(memory, user_id="ada")],
            checkpointer=RicordoSaver(memory, user_id="ada", keep=1),
        )
        sizes = []
        for number in range(40):
            state = _ask(agent, f"Question {number}?")
            sizes.append(len(model.shown[-1]))
        assert len(state) == 80
        assert max(sizes) == sizes[-1] <= 12

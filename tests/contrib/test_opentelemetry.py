"""Memory operations as OpenTelemetry spans: by the conventions, without text unless asked, and gone when undone."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import ricordo
from ricordo import aio
from ricordo.contrib.history import History, HistoryMessage
from ricordo.contrib.opentelemetry import CONTENT_VARIABLE, OPERATIONS, RicordoInstrumentor, instrument, uninstrument
from ricordo.errors import ValidationError
from ricordo.recall.embedders.light import LightEmbedder
from ricordo.settings import Settings
from ricordo.testing import FakeClock, MemoryStore

SECRET = "My cat is called Moon"


class Spans:
    """The spans that were ended, in memory."""

    def __init__(self) -> None:
        self.exporter, self.provider = InMemorySpanExporter(), TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def all(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def last(self) -> dict[str, Any]:
        """The attributes of the newest span."""
        return dict(self.all()[-1].attributes or {})


def names(spans: Spans) -> list[str]:
    """The names of all spans, in the order in which they ended."""
    return [span.name for span in spans.all()]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """A provider of its own for each test; the methods are given back afterwards."""
    monkeypatch.delenv(CONTENT_VARIABLE, raising=False)
    found = Spans()
    yield found
    uninstrument()
    found.provider.shutdown()


@pytest.fixture
def memory() -> Iterator[ricordo.Memory]:
    with ricordo.Memory(MemoryStore(), Settings(), clock=FakeClock(), embedder=LightEmbedder()) as opened:
        yield opened


def test_each_operation_has_its_name_and_attributes(spans: Spans, memory: ricordo.Memory) -> None:
    """Keeping, answering, finding and deleting are the four operations, each with its store, talk and records."""
    instrument(tracer_provider=spans.provider)
    session = memory.session("s1", user_id="anna", agent_id="tutor")
    turn = session.add_turn(SECRET, "What a name!")
    assert spans.last() == {
        "gen_ai.operation.name": "create_memory",
        "gen_ai.provider.name": "ricordo",
        "gen_ai.memory.store.id": "default",
        "gen_ai.conversation.id": "s1",
        "gen_ai.agent.id": "tutor",
        "gen_ai.memory.record.id": turn.id,
        "gen_ai.memory.record.count": 1,
    }
    asked = session.ask("What is my cat called?")
    asked.answer("Moon.")
    assert spans.last()["gen_ai.operation.name"] == "update_memory"
    assert spans.last()["gen_ai.memory.record.id"] == asked.id
    hits = memory.search("cat", user_id="anna")
    assert spans.last()["gen_ai.operation.name"] == "search_memory"
    assert spans.last()["gen_ai.memory.record.count"] == len(hits) > 0
    assert "gen_ai.memory.record.id" not in spans.last()
    session.context("And my dog?")
    assert spans.last()["gen_ai.memory.record.count"] > 0
    memory.forget_message(turn.messages[0].id, user_id="anna")
    assert spans.last()["gen_ai.memory.record.id"] == turn.messages[0].id
    memory.delete_session("s1", user_id="anna")
    memory.erase("anna")
    names = [span.name for span in spans.all()]
    assert names == [*["create_memory"] * 2, "update_memory", *["search_memory"] * 2, *["delete_memory"] * 3]
    assert all(span.kind is SpanKind.CLIENT and span.status.status_code is StatusCode.UNSET for span in spans.all())


def test_no_text_without_asking_for_it(spans: Spans, memory: ricordo.Memory) -> None:
    """Neither a question nor an answer nor a hit stands in any span by default."""
    instrument(tracer_provider=spans.provider)
    session = memory.session(user_id="anna")
    session.add_turn(SECRET, "Moon is a fine name")
    memory.search("Moon", user_id="anna")
    session.context("Who is Moon?")
    assert spans.all()
    assert not any("Moon" in str(value) for span in spans.all() for value in (span.attributes or {}).values())


@pytest.mark.parametrize("by_variable", [False, True])
def test_text_by_opt_in(
    spans: Spans, memory: ricordo.Memory, monkeypatch: pytest.MonkeyPatch, *, by_variable: bool
) -> None:
    """With the argument or the standard variable, the question and the records stand in the span."""
    if by_variable:
        monkeypatch.setenv(CONTENT_VARIABLE, "true")
    instrument(tracer_provider=spans.provider, capture_content=None if by_variable else True)
    memory.session(user_id="anna").add_turn(SECRET, "What a name!")
    hits = memory.search("cat", user_id="anna")
    told = spans.last()
    assert told["gen_ai.memory.query.text"] == "cat"
    assert json.loads(told["gen_ai.memory.records"])[0] == {
        "id": hits[0].message_id,
        "content": hits[0].text,
        "score": hits[0].score,
    }


def test_an_error_is_told_by_its_class(spans: Spans, memory: ricordo.Memory) -> None:
    """A refused call is an error span that names the class and no words."""
    instrument(tracer_provider=spans.provider, capture_content=True)
    with pytest.raises(ValidationError):
        memory.session(user_id="anna").add_turn("", SECRET)
    (span,) = spans.all()
    assert span.status.status_code is StatusCode.ERROR
    assert spans.last()["error.type"] == "ValidationError"
    assert span.events == ()
    assert not span.status.description


def test_spans_join_the_trace_of_the_caller(spans: Spans, memory: ricordo.Memory) -> None:
    """A memory span is a child of the span that is current, also through the async API in a worker thread."""
    instrument(tracer_provider=spans.provider)

    async def ask() -> None:
        async with aio.AsyncMemory(memory) as opened:
            with spans.provider.get_tracer("app").start_as_current_span("request"):
                await opened.session(user_id="anna").add_turn("Ciao", "Ciao!")

    asyncio.run(ask())
    inner, outer = spans.all()
    assert (inner.name, outer.name) == ("create_memory", "request")
    assert inner.parent is not None
    assert inner.parent.span_id == outer.get_span_context().span_id


def test_undone_it_leaves_nothing(spans: Spans, memory: ricordo.Memory) -> None:
    """Twice is once, and without instrumentation the methods are the very ones of before."""
    before = {(each.owner, each.method): getattr(each.owner, each.method) for each in OPERATIONS}
    RicordoInstrumentor().instrument(tracer_provider=spans.provider, skip_dep_check=True)
    instrument(tracer_provider=spans.provider)
    memory.session(user_id="anna").add_turn("Ciao", "Ciao!")
    assert len(spans.all()) == 1
    RicordoInstrumentor().uninstrument()
    memory.session(user_id="anna").add_turn("Ciao", "Ciao!")
    assert len(spans.all()) == 1
    assert all(getattr(owner, method) is original for (owner, method), original in before.items())


def test_a_result_that_cannot_be_described_fails_no_call(
    spans: Spans, memory: ricordo.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the attributes cannot be made the span stays bare and the call returns."""

    class Odd(list[object]):
        def __getitem__(self, index: object) -> object:
            raise RuntimeError

    monkeypatch.setattr(ricordo.Memory, "search", lambda *_, **__: Odd([1]))
    instrument(tracer_provider=spans.provider)
    assert len(memory.search("cat", user_id="anna")) == 1
    assert "gen_ai.memory.record.count" not in spans.last()
    uninstrument()


def test_without_it_nothing_is_imported() -> None:
    """A memory at work imports no part of OpenTelemetry."""
    code = (
        "import sys, ricordo; m = ricordo.open(':memory:', embedder='light'); s = m.session(user_id='a');"
        "s.add_turn('ciao', 'ciao'); s.context('ciao'); m.search('ciao', user_id='a'); m.close();"
        "print([n for n in sys.modules if 'opentelemetry' in n])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_spans_of_openai_agents(spans: Spans, memory: ricordo.Memory) -> None:
    """Items of a session of the OpenAI Agents SDK are kept, read and cleared in spans."""
    pytest.importorskip("agents", reason="openai-agents is not installed: scripts/test-integrations")
    from ricordo.contrib.agents import RicordoSession

    instrument(tracer_provider=spans.provider)
    session = RicordoSession("s1", memory, user_id="anna")

    async def use() -> None:
        await session.add_items([{"role": "user", "content": SECRET}])
        await session.get_items()
        await session.clear_session()

    asyncio.run(use())
    assert names(spans) == ["create_memory", "search_memory", "delete_memory"]
    assert all((span.attributes or {})["gen_ai.conversation.id"] == "s1" for span in spans.all())


def test_spans_of_langchain(spans: Spans, memory: ricordo.Memory) -> None:
    """Messages of a chat history of LangChain are kept, read back and cleared in spans."""
    pytest.importorskip("langchain_core", reason="langchain is not installed: scripts/test-integrations")
    from langchain_core.messages import AIMessage, HumanMessage

    from ricordo.contrib.langchain import RicordoChatMessageHistory

    instrument(tracer_provider=spans.provider)
    history = RicordoChatMessageHistory(memory, "s1", user_id="anna")
    history.add_messages([HumanMessage(SECRET), AIMessage("What a name!")])
    assert len(history.messages) == 2
    history.clear()
    assert names(spans) == ["create_memory", "create_memory", "search_memory", "delete_memory"]
    assert all((span.attributes or {})["gen_ai.conversation.id"] == "s1" for span in spans.all())


def test_spans_of_a_history_that_adapters_share(spans: Spans, memory: ricordo.Memory) -> None:
    """What adapters change in a history beside the methods of a session has one span a call, with its session."""
    history = History(memory, "s1", user_id="anna")
    said = [HistoryMessage("user", SECRET, {}), HistoryMessage("assistant", "What a name!", {})]
    instrument(tracer_provider=spans.provider)
    history.replace(said)
    assert len(history.messages()) == 2
    history.remove(0)
    assert names(spans) == ["update_memory", "search_memory", "delete_memory"]
    assert all((span.attributes or {})["gen_ai.conversation.id"] == "s1" for span in spans.all())
    assert not any("Moon" in str(span.attributes) for span in spans.all())


def test_spans_of_llamaindex(spans: Spans, memory: ricordo.Memory) -> None:
    """The memory of LlamaIndex keeps messages and makes contexts in spans."""
    pytest.importorskip("llama_index.core", reason="llama-index is not installed: scripts/test-integrations")
    from llama_index.core.llms import ChatMessage

    from ricordo.contrib.llamaindex import RicordoMemory

    instrument(tracer_provider=spans.provider)
    block = RicordoMemory(memory=memory, user_id="anna", session_id="s1")
    block.put(ChatMessage(role="user", content=SECRET))
    block.put(ChatMessage(role="assistant", content="What a name!"))
    block.get("What is my cat called?")
    assert {"create_memory", "search_memory"} <= set(names(spans))


def test_spans_of_google_adk(spans: Spans, memory: ricordo.Memory) -> None:
    """A search of the memory service of Google ADK is a span."""
    pytest.importorskip("google.adk", reason="google-adk is not installed: scripts/test-integrations")
    from ricordo.contrib.adk import RicordoMemoryService

    instrument(tracer_provider=spans.provider)
    service = RicordoMemoryService(memory)
    asyncio.run(service.search_memory(app_name="app", user_id="anna", query="cat"))
    assert names(spans) == ["search_memory"]


def test_the_launcher_of_opentelemetry_finds_it() -> None:
    """The entry point names the class that `opentelemetry-instrument` makes."""
    (found,) = entry_points(group="opentelemetry_instrumentor", name="ricordo")
    assert found.load() is RicordoInstrumentor


def test_a_program_under_the_launcher_has_spans() -> None:
    """Under `opentelemetry-instrument` a program that knows nothing of it writes its spans to the exporter."""
    pytest.importorskip("opentelemetry.distro", reason="opentelemetry-distro is not installed")
    code = (
        "import ricordo; m = ricordo.open(':memory:', embedder='light');"
        f"m.session(user_id='a').add_turn({SECRET!r}, 'ciao'); m.search('cat', user_id='a'); m.close()"
    )
    silent = {f"OTEL_{each}_EXPORTER": "none" for each in ("METRICS", "LOGS")}
    told = subprocess.run(
        [Path(sys.executable).with_name("opentelemetry-instrument"), sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **silent, "OTEL_TRACES_EXPORTER": "console"},
    )
    assert '"name": "create_memory"' in told.stdout
    assert '"name": "search_memory"' in told.stdout
    assert "Moon" not in told.stdout

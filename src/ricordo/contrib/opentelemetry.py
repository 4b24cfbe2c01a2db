"""Spans for memory operations, by OpenTelemetry's conventions for generative AI.

`instrument()` puts a span around the methods of `Memory` and `Session` that read or change memory. The server, the
async API and the adapters call the same methods, so one call covers them all. Before it nothing is imported or wrapped.
Text (what was asked, what was found or kept) is recorded only where `capture_content` or the variable
`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for it. A failure here never fails a call.
"""

import functools
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from ricordo.contrib.history import History
from ricordo.memory import Memory
from ricordo.prompt.context import Context
from ricordo.records.service import CleanupResult, EraseReceipt
from ricordo.records.turns import Message, Turn
from ricordo.session import OpenTurn, Session

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

__all__ = ["RicordoInstrumentor", "instrument", "uninstrument"]

log = logging.getLogger("ricordo")

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
MOST_RECORDS = 100  # whose ids or texts one span names
MEMORY_SECTIONS = ("profile", "summary", "topic", "history", "recalled")


class Record(NamedTuple):
    """A record that was read or changed: its id, its text and, from a search, its score."""

    id: str
    text: str = ""
    score: float | None = None


class SpanOutcome(NamedTuple):
    """What a call did: how many records, and those that have a name."""

    total: int | None = None
    records: Sequence[Record] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """A method, what it is by the conventions, and the argument that holds the question or names the record."""

    owner: type
    method: str
    name: str
    query: str = ""
    record: str = ""


OPERATIONS = (
    Operation(Memory, "search", "search_memory", query="query"),
    Operation(Memory, "profile", "search_memory"),
    Operation(Memory, "facts", "search_memory"),
    Operation(Session, "context", "search_memory", query="question"),
    Operation(Session, "history", "search_memory"),
    Operation(Session, "add_turn", "create_memory"),
    Operation(Session, "add_message", "create_memory"),
    Operation(Session, "ask", "create_memory"),
    Operation(Session, "answer", "update_memory"),
    Operation(Memory, "pin_fact", "update_memory", record="fact_id"),
    Operation(Memory, "set_flag", "update_memory", record="flag_id"),
    Operation(Session, "clear", "delete_memory"),
    Operation(Session, "forget_derived", "delete_memory"),
    Operation(Memory, "delete_session", "delete_memory"),
    Operation(Memory, "forget_fact", "delete_memory", record="fact_id"),
    Operation(Memory, "forget_message", "delete_memory", record="message_id"),
    Operation(Memory, "erase", "delete_memory"),
    Operation(Memory, "cleanup", "delete_memory"),
    Operation(History, "turns", "search_memory"),  # what adapters do beside the methods above
    Operation(History, "read", "search_memory"),
    Operation(History, "messages", "search_memory"),
    Operation(History, "insert", "create_memory"),
    Operation(History, "replace", "update_memory"),
    Operation(History, "remove", "delete_memory"),
    Operation(History, "remove_oldest", "delete_memory"),
)

_originals: dict[tuple[type, str], Callable[..., Any]] = {}
_lock = Lock()
_inside: ContextVar[bool] = ContextVar("ricordo_in_memory_span", default=False)  # a call within one has no span


def instrument(
    *, tracer_provider: "TracerProvider | None" = None, capture_content: bool | None = None, **_: Any
) -> None:
    """Trace memory operations from now on; a second call replaces the provider and the choice of content."""
    uninstrument()
    tracer = trace.get_tracer("ricordo.memory", tracer_provider=tracer_provider)
    content = _content_by_variable() if capture_content is None else capture_content
    with _lock:
        for operation in OPERATIONS:
            original = getattr(operation.owner, operation.method)
            _originals[operation.owner, operation.method] = original
            setattr(operation.owner, operation.method, _traced(original, operation, tracer, content=content))


def uninstrument(**_: Any) -> None:
    """Restore the original methods."""
    with _lock:
        while _originals:
            (owner, method), original = _originals.popitem()
            setattr(owner, method, original)


class RicordoInstrumentor:
    """The entry point that `opentelemetry-instrument` calls."""

    instrument = staticmethod(instrument)
    uninstrument = staticmethod(uninstrument)


def _content_by_variable() -> bool:
    return os.environ.get(CONTENT_VARIABLE, "").strip().lower() in ("true", "1", "on", "span_only", "span_and_event")


def _traced(method: Callable[..., Any], operation: Operation, tracer: Tracer, *, content: bool) -> Callable[..., Any]:
    """The method with a span around it."""

    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if _inside.get():
            return method(self, *args, **kwargs)
        token = _inside.set(True)
        try:
            with tracer.start_as_current_span(
                operation.name,
                kind=SpanKind.CLIENT,
                attributes=_about(self, operation),
                record_exception=False,
                set_status_on_exception=False,
            ) as span:
                with _told(span):
                    result = method(self, *args, **kwargs)
                if span.is_recording():
                    _describe(span, operation, (args, kwargs), result, content=content)
                return result
        finally:
            _inside.reset(token)

    return call


@contextmanager
def _told(span: Span) -> Iterator[None]:
    """Record an error by its class only, because its message may quote the question."""
    try:
        yield
    except BaseException as error:
        span.set_attribute("error.type", type(error).__qualname__)
        span.set_status(Status(StatusCode.ERROR))
        raise


def _about(handle: Any, operation: Operation) -> dict[str, str]:
    """The attributes known before the call: operation, store, and session if there is one."""
    about = {"gen_ai.operation.name": operation.name, "gen_ai.provider.name": "ricordo"}
    session = handle._session if isinstance(handle, History) else handle
    if isinstance(session, Session):
        scope = session._scope
        return about | {
            "gen_ai.memory.store.id": scope.owner.tenant_id,
            "gen_ai.conversation.id": scope.session_id,
            "gen_ai.agent.id": scope.agent_id,
        }
    if isinstance(handle, Memory):
        about["gen_ai.memory.store.id"] = handle.settings.tenant_id
    return about


def _describe(
    span: Span, operation: Operation, given: tuple[Sequence[Any], Mapping[str, Any]], result: Any, *, content: bool
) -> None:
    """Add attributes for the result of the call; text only if `content` is set."""
    try:
        args, kwargs = given
        outcome = _outcome(result)
        if operation.record:
            named = kwargs.get(operation.record) or next(iter(args), "")
            outcome = SpanOutcome(1, (Record(str(named)),))
        if outcome.total is not None:
            span.set_attribute("gen_ai.memory.record.count", outcome.total)
        if operation.name != "search_memory" and len(outcome.records) == 1:
            span.set_attribute("gen_ai.memory.record.id", outcome.records[0].id)
        if not content:
            return
        if operation.query and (asked := kwargs.get(operation.query) or next(iter(args), "")):
            span.set_attribute("gen_ai.memory.query.text", str(asked))
        if records := [_record(each) for each in outcome.records[:MOST_RECORDS] if each.text]:
            span.set_attribute("gen_ai.memory.records", json.dumps(records, ensure_ascii=False))
    except Exception as error:  # telemetry never fails a call
        log.debug("a memory span could not be described: %s", type(error).__name__)


def _record(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = {"id": record.id, "content": record.text}
    return found if record.score is None else found | {"score": record.score}


def _outcome(result: Any) -> SpanOutcome:
    """The records in the result of any method."""
    match result:
        case bool() | None:
            return SpanOutcome()
        case int():
            return SpanOutcome(result)
        case Turn():
            return SpanOutcome(1, (Record(result.id, "\n".join(each.content for each in result.messages)),))
        case OpenTurn():
            return SpanOutcome(1, (Record(result.turn.id, result.turn.query),))
        case Message():
            return SpanOutcome(1, (Record(result.id, result.content),))
        case Context():
            kept = [item for item in result.receipt.kept if item.section in MEMORY_SECTIONS]
            return SpanOutcome(len(kept), [Record(item.id) for item in kept])
        case EraseReceipt():
            return SpanOutcome(sum(result.removed.values()))
        case CleanupResult():
            return SpanOutcome(result.sessions_deleted + result.turns_deleted)
        case list() | tuple():
            return SpanOutcome(len(result), [_listed(each) for each in result[:MOST_RECORDS]])
    facts = getattr(result, "key_facts", None)  # a profile
    return SpanOutcome(len(facts)) if facts is not None else SpanOutcome()


def _listed(each: Any) -> Record:
    """A hit, a fact or a turn of a list."""
    if isinstance(each, Turn):
        return Record(each.id, "\n".join(message.content for message in each.messages))
    name = getattr(each, "message_id", None) or getattr(each, "id", "")
    return Record(str(name), str(getattr(each, "text", "") or ""), getattr(each, "score", None))

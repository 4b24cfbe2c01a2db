"""What goes into a chat and what comes out: the request, the events of an answer in order, and the response.

Every interface (HTTP, command line, OpenAI-compatible endpoint) reads the same records. The functions turn a context
and an answer into plain JSON values and OpenTelemetry spans; `stored_response` rebuilds the response of a stored turn.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from time import time_ns
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from ricordo.chat.question import QuestionKind, kind_of_question
from ricordo.languages.registry import AnyLanguage
from ricordo.languages.text import fold
from ricordo.records.turns import DEFAULT_AGENT

if TYPE_CHECKING:
    from ricordo.chat.answerers import Answered
    from ricordo.documents.library import Passage
    from ricordo.prompt.context import Context
    from ricordo.records.turns import Asked, Json, Turn
    from ricordo.safety.crisis import Crisis
    from ricordo.session import AnyChunk


def never_stop() -> bool:
    """The default `stop`: the answer runs to its end."""
    return False


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a chat.

    `chunks` are the caller's own; without them the documents in `document_ids` are searched, or all that the user may
    read. `understood_as` is the user's own standalone question. A new session belongs to `project`. `stop` is called
    between the pieces of the answer.
    """

    query: str
    user_id: str
    agent_id: str = DEFAULT_AGENT
    session_id: object = None
    turn_id: str | None = None
    chunks: Sequence["AnyChunk"] | None = None
    document_ids: Sequence[str] | None = None
    understood_as: str = ""
    project: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    stop: Callable[[], bool] = never_stop


class PassageSource(Protocol):
    """Finds passages for a question: the library, or the application's own search."""

    def find(self, request: ChatRequest, asked: "Asked", limit: int) -> Sequence["Passage"]:
        """At most `limit` passages, best first."""
        ...


@dataclass(frozen=True, slots=True)
class OfferedChunk:
    """A chunk that the answer may cite."""

    chunk_id: str
    text: str
    score: float | None = None
    document_id: str | None = None
    title: str | None = None

    @classmethod
    def of(cls, passage: "Passage") -> "OfferedChunk":
        """A passage as the response shows it."""
        return cls(passage.chunk.id, passage.chunk.text, passage.score, passage.document_id, passage.title)


@dataclass(frozen=True, slots=True)
class ReferenceInfo:
    """A resolved reference of a follow-up, as the response shows it."""

    turn_number: int
    kind: str
    label: str
    text: str
    chunk_ids: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """The complete answer. docs/answering.md says how `intent` and `confidence` are computed."""

    query: str
    message: str
    data: tuple[OfferedChunk, ...]
    intent: str
    confidence: float
    session_id: str
    metadata: "Json" = field(default_factory=dict)
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Started:
    """The question is stored; its session and turn."""

    session_id: str
    turn_id: str
    is_new_session: bool
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Understood:
    """The standalone question, its references and its intent."""

    standalone: str
    references: tuple[ReferenceInfo, ...]
    intent: str


@dataclass(frozen=True, slots=True)
class Clarify:
    """The reference is ambiguous: the clarification to ask."""

    question: str
    options: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class CrisisNotice:
    """A crisis was detected: the fixed notice. No model is called."""

    tier: int
    category: str
    notice: str
    helplines: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """The chunks that were found."""

    data: tuple[OfferedChunk, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is complete and stored."""

    response: ChatResponse


Event = Started | Understood | Clarify | CrisisNotice | Sources | Delta | Done

NAMES: Mapping[type, str] = {
    Started: "start",
    Understood: "understood",
    Clarify: "clarification",
    CrisisNotice: "crisis",
    Sources: "sources",
    Delta: "delta",
    Done: "done",
}


def as_json(event: Event) -> dict[str, Any]:
    """An event as plain JSON values."""
    return event.response.as_json() if isinstance(event, Done) else asdict(event)


STOPPED = "stopped by the user"
_SHOWN = 200  # characters of a reference that are stored with a turn
_HELPLINE = re.compile(r"\b(\d{3,6})\b((?: [A-Z]\w+){0,3})")


def standalone_question(query: str, context: "Context") -> str:
    """The standalone question; empty if it is the question itself."""
    return "" if context.question == query else context.question


def helplines(crisis: "Crisis") -> tuple[dict[str, str], ...]:
    """The telephone numbers in a crisis notice, each with the name after it."""
    return tuple({"number": number, "name": name.strip()} for number, name in _HELPLINE.findall(crisis.notice))


def reference_infos(context: "Context") -> tuple[ReferenceInfo, ...]:
    """The resolved references of a follow-up."""
    return tuple(
        ReferenceInfo(
            each.turn_number,
            each.kind,
            each.item.label if each.item else "",
            each.text,
            each.chunk_ids,
            each.confidence,
        )
        for each in context.references
    )


def response_metadata(
    query: str, context: "Context", answered: "Answered", notes: Sequence[str], timings: Mapping[str, float]
) -> dict[str, Any]:
    """The metadata of a response."""
    receipt, crisis, pending = context.receipt, context.crisis, context.clarification
    return {
        "standalone": standalone_question(query, context),
        "references": [_plain(each) for each in reference_infos(context)],
        "topic": context.topic and context.topic._asdict(),
        "clarification": pending
        and {"question": pending.prompt, "options": [{"label": o.name, "text": o.text} for o in pending.options]},
        "crisis": crisis
        and {
            "tier": crisis.tier,
            "category": crisis.category,
            "notice": crisis.notice,
            "helplines": list(helplines(crisis)),
        },
        "citations": list(answered.cited),
        "citations_removed": list(answered.removed),
        "memory_sources": memory_sources(answered),
        "answerer": answered.answerer,
        "counter": receipt.counter,
        "tokens": _tokens(context, answered),
        "stopped": STOPPED in notes,
        "unfinished": answered.unfinished,
        "degraded": [note for note in dict.fromkeys(notes) if note != STOPPED],
        "timings_ms": dict(timings),
    }


def _tokens(context: "Context", answered: "Answered") -> dict[str, Any]:
    receipt, completion = context.receipt, answered.completion
    return {
        "prompt": completion.prompt_tokens if completion else receipt.total_tokens,
        "completion": completion.completion_tokens if completion else 0,
        "exact": completion.tokens_exact if completion else receipt.counter_exact,
    }


def stored_metadata(
    query: str, context: "Context", answered: "Answered", notes: Sequence[str], timings: Mapping[str, float]
) -> dict[str, Any]:
    """What a turn keeps of its answer, for the page and for a request that is sent again; empty values are left out."""
    pending = context.clarification
    found = {
        "confidence": answered.confidence,
        "answerer": answered.answerer,
        "tokens": _tokens(context, answered),
        "timings_ms": dict(timings),
        "act": answered.act,
        "told": [[start, start + len(said)] for said in answered.told if (start := query.find(said)) >= 0],
        "memory_sources": memory_sources(answered),
        "standalone": standalone_question(query, context),
        "references": stored_references(context),
        "stopped": STOPPED in notes,
        "unfinished": answered.unfinished,
        "degraded": list(answered.notes) if answered.unfinished else [],
        "helplines": list(helplines(context.crisis)) if context.crisis else [],
        "clarification": [option.name for option in pending.options] if pending else [],
    }
    always = ("confidence", "answerer")
    return {name: value for name, value in found.items() if value or name in always}


def recalled_message(message_id: str, turn: "Turn") -> dict[str, Any]:
    """A past message that was sent to a model, as metadata names it."""
    said = next((each for each in turn.messages if each.id == message_id), None)
    return {
        "message_id": message_id,
        "session_id": turn.session_id,
        "turn_number": turn.turn_number,
        "role": said.role if said else "user",
        "day": (said.created_at if said else turn.created_at).date().isoformat(),
    }


def memory_sources(answered: "Answered") -> list[dict[str, Any]]:
    """The past messages that an answer quotes, each with its session, turn and day."""
    names = ("message_id", "session_id", "turn_number", "role")
    return [
        {name: getattr(each, name) for name in names} | {"day": each.said_at.date().isoformat()}
        for each in answered.sources
    ]


def stored_references(context: "Context") -> list[dict[str, Any]]:
    """The references as a turn stores them; long texts are cut, because the turn they name has them."""
    return [_plain(each) | {"text": each.text[:_SHOWN]} for each in reference_infos(context)]


def _plain(each: ReferenceInfo) -> dict[str, Any]:
    return asdict(each) | {"chunk_ids": list(each.chunk_ids)}


def stored_response(turn: "Turn") -> ChatResponse:
    """The response of a stored turn, as far as the turn holds it."""
    known = turn.metadata
    return ChatResponse(
        query=turn.query,
        message=turn.response or "",
        data=(),
        intent=str(known.get("intent", "other")),
        confidence=_number(known.get("confidence")),
        session_id=turn.session_id,
        metadata={
            "turn_id": turn.id,
            "turn_number": turn.turn_number,
            "is_new_session": False,
            "standalone": known.get("standalone", ""),
            "references": [],
            "clarification": None,
            "crisis": None,
            "citations": list(turn.chunk_ids),
            "citations_removed": [],
            "memory_sources": known.get("memory_sources", []),
            "answerer": known.get("answerer", ""),
            "stopped": bool(known.get("stopped")),
            "unfinished": known.get("unfinished", ""),
            "repeated": True,
            "degraded": known.get("degraded", []),
        },
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


Intent = Literal[
    "definition", "explanation", "list", "comparison", "procedure", "fact",
    "follow_up", "clarification", "smalltalk", "crisis", "other",
]  # fmt: skip
INTENTS: tuple[Intent, ...] = get_args(Intent)

_BY_KIND: dict[QuestionKind, Intent] = {
    "definition": "definition", "explanation": "explanation", "reason": "explanation", "list": "list", "open": "other",
    "comparison": "comparison", "procedure": "procedure", "quantity": "fact", "place": "fact", "person": "fact",
    "time": "fact",
}  # fmt: skip
_SMALLTALK = AnyLanguage(r"\W*(?:(?:<questions.small_talk>)\b[\s,.!?;:)(]*){1,4}(?:\w+\W*)?", flags=0)
_QUESTION_OPENS = AnyLanguage(r"\W*(?:<questions.yes_no>)\b.*\?\s*$", flags=re.DOTALL)


def intent(message: str, *, follow_up: bool = False, clarification: bool = False, crisis: bool = False) -> Intent:
    """The intent of a message, by rules of all languages.

    `crisis`: a crisis was detected in it; `clarification`: it answers a clarification; `follow_up`: a reference was
    found in it.
    """
    if crisis:
        return "crisis"
    if clarification:
        return "clarification"
    folded = fold(message.replace("’", "'")).strip()
    if _SMALLTALK.fullmatch(folded) and "?" not in folded.rstrip("? "):
        return "smalltalk"
    if follow_up:
        return "follow_up"
    found = _BY_KIND[kind_of_question(message)]
    if found == "other" and _QUESTION_OPENS.match(folded):
        return "fact"
    return found


@cache
def _tracer() -> Any | None:
    try:
        from opentelemetry import trace as telemetry
    except ImportError:
        return None
    return telemetry.get_tracer("ricordo")


def trace(
    session_id: str, timings_ms: Mapping[str, float], known: Mapping[str, Any], tracer: Any | None = None
) -> None:
    """Emit a span for an answer and one for each step, if OpenTelemetry is installed. No span holds message text."""
    tracer = tracer or _tracer()
    if tracer is None:
        return
    from opentelemetry.trace import set_span_in_context

    ended = time_ns()
    begun = ended - sum(map(_nanoseconds, timings_ms.values()))
    span = tracer.start_span("chat", start_time=begun, attributes=_attributes(session_id, known))
    inside = set_span_in_context(span)
    at = begun
    for step, took in timings_ms.items():
        child = tracer.start_span(f"chat.{step}", context=inside, start_time=at)
        at += _nanoseconds(took)
        child.end(end_time=at)
    span.end(end_time=ended)


def _attributes(session_id: str, known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": session_id,
        "gen_ai.request.model": known["answerer"],
        "gen_ai.usage.input_tokens": known["tokens"]["prompt"],
        "gen_ai.usage.output_tokens": known["tokens"]["completion"],
        "memory.turn_number": known["turn_number"] or 0,
        "memory.degraded": bool(known["degraded"]),
    }


def _nanoseconds(milliseconds: float) -> int:
    return int(milliseconds * 1_000_000)

"""What a response reports about an answer: intent, references, helplines, token usage; and its OpenTelemetry spans.

Pure functions from a context and an answer to plain JSON values. `stored_response` rebuilds the response of a stored
turn.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from time import time_ns
from typing import TYPE_CHECKING, Any, Literal, get_args

from ricordo.chat.events import ChatResponse, ReferenceInfo
from ricordo.chat.reader.question import QuestionKind, kind_of_question
from ricordo.languages.registry import AnyLanguage
from ricordo.languages.word_spans import fold

if TYPE_CHECKING:
    from ricordo.chat.answerers import Answered
    from ricordo.prompt.context import Context
    from ricordo.records.turns import Turn
    from ricordo.safety.crisis import Crisis

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
    receipt, completion, crisis, pending = context.receipt, answered.completion, context.crisis, context.clarification
    return {
        "standalone": standalone_question(query, context),
        "references": [_plain(each) for each in reference_infos(context)],
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
        "tokens": {
            "prompt": completion.prompt_tokens if completion else receipt.total_tokens,
            "completion": completion.completion_tokens if completion else 0,
            "exact": completion.tokens_exact if completion else receipt.counter_exact,
        },
        "stopped": STOPPED in notes,
        "degraded": [note for note in dict.fromkeys(notes) if note != STOPPED],
        "timings_ms": dict(timings),
    }


def memory_sources(answered: "Answered") -> list[dict[str, Any]]:
    """The past messages that an answer quotes, each with its session, turn and day."""
    return [
        {
            "message_id": each.message_id,
            "session_id": each.session_id,
            "turn_number": each.turn_number,
            "role": each.role,
            "day": each.said_at.date().isoformat(),
        }
        for each in answered.sources
    ]


def stored_references(context: "Context") -> list[dict[str, Any]]:
    """The references as a turn stores them; long texts are cut, because the turn they name has them."""
    return [_plain(each) | {"text": each.text[:_SHOWN]} for each in reference_infos(context)]


def _plain(each: ReferenceInfo) -> dict[str, Any]:
    return {
        "turn_number": each.turn_number,
        "kind": each.kind,
        "label": each.label,
        "text": each.text,
        "chunk_ids": list(each.chunk_ids),
        "confidence": each.confidence,
    }


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
            "repeated": True,
            "degraded": [],
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
    "definition": "definition",
    "explanation": "explanation",
    "reason": "explanation",
    "list": "list",
    "comparison": "comparison",
    "procedure": "procedure",
    "quantity": "fact",
    "place": "fact",
    "person": "fact",
    "time": "fact",
    "open": "other",
}
_SMALLTALK = AnyLanguage(r"\W*(?:(?:<questions.small_talk>)\b[\s,.!?;:)(]*){1,4}(?:\w+\W*)?", flags=0)
_QUESTION_OPENS = AnyLanguage(r"\W*(?:<questions.yes_no>)\b.*\?\s*$", flags=re.DOTALL)


def intent(message: str, *, follow_up: bool = False, clarification: bool = False, crisis: bool = False) -> Intent:
    """The intent of a message, by rules in Italian and English.

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

"""What a response tells: the question as it was understood, what it points at, whom to call, what it cost.

Pure: everything comes in, plain values go out. A kept turn becomes the response that it once was, as far as it is kept.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ricordo.chat.answerers import Answered
from ricordo.chat.events import ChatResponse, Pointed
from ricordo.context import Context
from ricordo.records import Turn
from ricordo.safety.crisis import Crisis

STOPPED = "stopped by the user"
_SHOWN = 200  # characters of a reference that a turn keeps
_LINE = re.compile(r"\b(\d{3,6})\b((?: [A-Z]\w+){0,3})")


def standalone(query: str, context: Context) -> str:
    """What the question was taken to mean, where that is more than it says."""
    return "" if context.question == query else context.question


def helplines(crisis: Crisis) -> tuple[dict[str, str], ...]:
    """Whom to call, as the notice says: each number with the name that stands after it."""
    return tuple({"number": number, "name": name.strip()} for number, name in _LINE.findall(crisis.notice))


def pointed(context: Context) -> tuple[Pointed, ...]:
    """What a follow-up points at."""
    return tuple(
        Pointed(
            each.turn_number,
            each.kind,
            each.item.label if each.item else "",
            each.text,
            each.chunk_ids,
            each.confidence,
        )
        for each in context.references
    )


def told(
    query: str, context: Context, answered: Answered, notes: Sequence[str], timings: Mapping[str, float]
) -> dict[str, Any]:
    """All that is known about an answer, for its metadata."""
    receipt, completion, crisis, pending = context.receipt, answered.completion, context.crisis, context.clarification
    return {
        "standalone": standalone(query, context),
        "references": [_plain(each) for each in pointed(context)],
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


def kept_references(context: Context) -> list[dict[str, Any]]:
    """What a turn keeps of what it points at: enough to show it again; the words are in the turn that it names."""
    return [_plain(each) | {"text": each.text[:_SHOWN]} for each in pointed(context)]


def _plain(each: Pointed) -> dict[str, Any]:
    return {
        "turn_number": each.turn_number,
        "kind": each.kind,
        "label": each.label,
        "text": each.text,
        "chunk_ids": list(each.chunk_ids),
        "confidence": each.confidence,
    }


def stored_response(turn: Turn) -> ChatResponse:
    """A kept turn as the response that it once was, as far as it is kept."""
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
            "answerer": known.get("answerer", ""),
            "stopped": bool(known.get("stopped")),
            "repeated": True,
            "degraded": [],
        },
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0

"""What a response tells: the question as it was understood, what it points at, whom to call, what it cost.

Pure: everything comes in, plain values go out. A kept turn becomes the response that it once was, as far as it is kept.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ricordo.chat.answerers import Answered
from ricordo.chat.events import ChatResponse, Pointed
from ricordo.chat.reader.question import Kind, kind_of_question
from ricordo.memory import DEFAULT_AGENT
from ricordo.prompt.context import Context
from ricordo.recall.terms import fold
from ricordo.records.turns import Turn
from ricordo.safety.crisis import Crisis
from ricordo.session import AnyChunk

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


# What a chat is asked, checked once for every face.


def never() -> bool:
    """Nobody stops the answer."""
    return False


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a chat.

    `chunks` are the caller's own passages; without them documents are searched, those named by `document_ids` or all
    that the user may read. `understood_as` is the user's correction of what the question was taken to mean. `stop` is
    asked between the pieces of the answer.
    """

    query: str
    user_id: str
    agent_id: str = DEFAULT_AGENT
    session_id: object = None
    turn_id: str | None = None
    chunks: Sequence[AnyChunk] | None = None
    document_ids: Sequence[str] | None = None
    understood_as: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    stop: Callable[[], bool] = never


# What a message is for, in one word, by rules in Italian and English.

Intent = Literal[
    "definition", "explanation", "list", "comparison", "procedure", "fact",
    "follow_up", "clarification", "smalltalk", "crisis", "other",
]  # fmt: skip
INTENTS: tuple[Intent, ...] = get_args(Intent)

_BY_KIND: dict[Kind, Intent] = {
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
_TALK = (
    r"ciao|salve|buongiorno|buonasera|buonanotte|buon giorno|buona sera|ehi|grazie(?: mille| tante)?|ok(?:ay)?|va bene"
    r"|perfetto|prego|arrivederci|a dopo|a presto|come stai|come va|piacere|ottimo|bene|capito|ho capito|scusa"
    r"|hi|hello|hey|good (?:morning|evening|afternoon|night)|thanks(?: a lot)?|thank you(?: very much| so much)?|bye"
    r"|goodbye|see you|how are you|nice to meet you|great|perfect|cool|got it|sorry|alright|fine"
)
_SMALLTALK = re.compile(rf"\W*(?:(?:{_TALK})\b[\s,.!?;:)(]*){{1,4}}(?:\w+\W*)?")
_QUESTION_OPENS = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|e vero|posso|si puo|bisogna|devo|esiste"
    r"|esistono)\b.*\?\s*$",
    re.DOTALL,
)


def intent(message: str, *, follow_up: bool = False, clarification: bool = False, crisis: bool = False) -> Intent:
    """The intent of a message.

    `crisis`: the safety check found one; `clarification`: it answers a question of ours; `follow_up`: it cannot be
    understood without the talk (a reference was found in it).
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

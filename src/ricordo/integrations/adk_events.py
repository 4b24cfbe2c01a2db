"""Events of Google ADK as messages of a memory, and a message as the content it was. Pure.

In: an event with parts: words, calls, responses, files. Out: the words and calls that Ricordo has fields for; of the
content only what they do not say, beside them, as far as it fits. The session service keeps the event itself.
"""

import json
from datetime import UTC, datetime
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from ricordo.errors import ValidationError
from ricordo.integrations.calls import call_of, openai_call
from ricordo.integrations.history import Words
from ricordo.limits import ID_LENGTH, Limits, check_metadata
from ricordo.records import Json, Message

NOTE = "adk"


def words_of(event: Event, custom: Json, limits: Limits) -> list[Words]:
    """What an event says: nothing, one message, or one for each response of a tool."""
    parts = (event.content.parts if event.content else None) or []
    role = "user" if event.author == "user" else "assistant"
    if len(parts) == 1 and not custom and (content := _text_alone(parts[0], limits)):  # nearly every event
        note = {"event": event.id, "author": event.author}
        return [Words(role, content, {NOTE: note}, (), None, None, datetime.fromtimestamp(event.timestamp, UTC))]
    said = [part.text for part in parts if part.text and part.text.strip() and not part.thought]
    calls = tuple(_call(part.function_call, limits) for part in parts if part.function_call)
    made: list[Words] = []
    if said or calls:
        content = _clean("\n".join(said), limits)
        content = content if content.strip() else "" if calls else "(no words)"
        made.append(_words(event, custom, limits, role if not calls else "assistant", content, calls))
    for part in parts:
        if part.function_response:
            answer = part.function_response
            text = _clean(json.dumps(answer.response or {}, ensure_ascii=False, default=str), limits)
            made.append(
                _words(event, custom, limits, "tool", text, (), (answer.id or answer.name or "tool")[:ID_LENGTH])
            )
    return made


def event_of(message: Message) -> str | None:
    """The id of the event that a message came from."""
    note = message.metadata.get(NOTE)
    return note.get("event") if isinstance(note, dict) else None


def content_of(message: Message) -> types.Content:
    """A message as content; as it was, where that was kept."""
    whole = message.metadata.get(NOTE, {}).get("content")
    if whole:
        return types.Content.model_validate(whole)
    parts = [types.Part(text=message.content)] if message.content else []
    for call in message.tool_calls:
        name, arguments, call_id = call_of(call)
        parts.append(types.Part(function_call=types.FunctionCall(name=name, args=arguments, id=call_id)))
    return types.Content(role="user" if message.role == "user" else "model", parts=parts)


def _text_alone(part: types.Part, limits: Limits) -> str:
    """The words of a part that is nothing else; empty where it is more, or has none."""
    if not part.text or part.thought or part.function_call or part.function_response:
        return ""
    content = _clean(part.text, limits)
    return content if content.strip() else ""


def _call(call: types.FunctionCall, limits: Limits) -> Json:
    """The call; without its arguments where they are too large."""
    whole = openai_call(call.name or "", call.args or {}, call.id)
    try:
        return check_metadata("tool_calls", whole, limits)
    except ValidationError:
        return openai_call(call.name or "", {}, call.id)


def _words(
    event: Event, custom: Json, limits: Limits, role: str, content: str, calls: tuple[Any, ...], call: str | None = None
) -> Words:
    moment = datetime.fromtimestamp(event.timestamp, UTC)
    note: dict[str, Any] = {"event": event.id, "author": event.author}
    note |= {"custom": dict(custom)} if custom else {}
    assert event.content is not None
    simple = len(event.content.parts or ()) == 1 and not calls and role != "tool"
    whole = {} if simple else {"content": event.content.model_dump(mode="json", exclude_none=True)}
    return Words(role, content, _fitting(note, whole, limits), calls, call, None, moment)


def _fitting(note: dict[str, Any], whole: dict[str, Any], limits: Limits) -> Json:
    try:
        return check_metadata("metadata", {NOTE: note | whole}, limits)
    except ValidationError:
        return check_metadata("metadata", {NOTE: note}, limits)


def _clean(text: str, limits: Limits) -> str:
    """Words that can be kept: what is too long is cut, the event itself is with the session service."""
    if text.isascii() and "\x00" not in text and len(text) <= limits.text_bytes // 2:
        return text
    plain = text.replace("\x00", " ").encode(errors="replace")[: limits.text_bytes // 2]
    return plain.decode(errors="ignore")

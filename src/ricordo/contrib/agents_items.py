"""Converts items of the OpenAI Agents SDK to messages, and back.

In: an item, which is any JSON object. Out: the text, calls and ids that Ricordo has fields for, and the rest of the
item as metadata. The conversion back is tried before anything is stored, so that the same item comes out.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ricordo.errors import ValidationError
from ricordo.limits import Limits, check_id, check_metadata, check_text, check_tool_calls
from ricordo.records.turns import ROLES, Json, Message, Turn, message_id, open_turn, place

KEY = "openai.agents"
LEAN, WHOLE, SPILLED = "lean", "item", "spilled"
MARGIN, DEPTH = 128, 16  # bytes that metadata adds to an item; nesting that no limit forbids
FILLED = {"function_call": "arguments", "function_call_output": "output"}


@dataclass(frozen=True, slots=True)
class KeptItem:
    """The arguments of `add_message`, and the item itself if it is too large for the metadata."""

    fields: dict[str, Any]
    spilled: Json | None = None

    @staticmethod
    def pointing(key: str) -> Json:
        """Metadata that refers to an item stored elsewhere."""
        return {KEY: {SPILLED: key}}

    @staticmethod
    def pointer(message: Message) -> str | None:
        """The key of a message's item that is stored elsewhere."""
        note = message.metadata.get(KEY)
        return note.get(SPILLED) if isinstance(note, Mapping) else None


def kept_as(item: Any, limits: Limits, *, checked_later: bool = False) -> KeptItem:
    """How to store an item; a ValidationError only if it is not a JSON object.

    With `checked_later` limits are not checked here: if storing fails, the caller calls again without it.
    """
    if not isinstance(item, Mapping):
        raise ValidationError("items", f"expected mappings, got {type(item).__name__}")
    given = dict(item)
    fields = _said(given)
    if checked_later or _surely_fits(given, fields, limits):
        note = _note(given, fields)
        return KeptItem(fields | {"metadata": note} if note else fields)
    try:
        _check(fields, limits)
        note = _note(given, fields)
        return KeptItem(fields | {"metadata": check_metadata("metadata", note, limits)} if note else fields)
    except ValidationError:
        return KeptItem(_storable(fields, limits), spilled=_checked(given))


def _surely_fits(item: Json, fields: Mapping[str, Any], limits: Limits) -> bool:
    """Whether an item is so small and plain that every check would pass; False means that it must be checked."""
    try:
        if "tool_call_id" in fields:
            check_id("tool_call_id", fields["tool_call_id"])
        text = json.dumps(item, allow_nan=False)
        same = json.loads(text) == item  # no keys that become text, no tuples
    except (ValidationError, TypeError, ValueError, RecursionError):
        return False
    says = bool(fields["content"].strip()) or "tool_calls" in fields
    nested = text.count("[") + text.count("{")
    small = len(text) < min(limits.metadata_bytes, limits.text_bytes) // 8 - MARGIN
    return says and same and small and nested < DEPTH and "\\u0000" not in text and "\\ud" not in text


def _checked(item: dict[str, Any]) -> Json:
    try:
        json.dumps(item)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError("items", f"an item is not JSON ({error})") from error
    return item


def items_of(message: Message, spilled: Callable[[str], Mapping[str, Any] | None]) -> list[Any]:
    """The item of a message; for a message that was not an item, equivalent items."""
    note = message.metadata.get(KEY) if message.metadata else None
    if note is None and message.role != "tool" and not message.tool_calls:
        return [{"role": message.role, "content": message.content}]
    if not isinstance(note, Mapping):
        return _plain(message.role, message.content, message.tool_calls, message.tool_call_id)
    if WHOLE in note:
        return [dict(note[WHOLE])]
    if LEAN in note:
        return [_filled(note[LEAN], message.content, message.tool_calls)]
    found = spilled(str(note.get(SPILLED)))
    return [found] if found else _plain(message.role, message.content, message.tool_calls, message.tool_call_id)


def _said(item: Json) -> dict[str, Any]:
    """The role, text and calls of an item."""
    kind = item.get("type")
    if "role" in item and kind in (None, "message"):
        role = item["role"] if item["role"] in ROLES else "system"
        return {"role": role if role != "tool" else "system", "content": _text(item.get("content")) or "(no words)"}
    if kind == "function_call":
        function = {"name": str(item.get("name")), "arguments": str(item.get("arguments"))}
        call = {"id": str(item.get("call_id")), "type": "function", "function": function}
        return {"role": "assistant", "content": "", "tool_calls": [call]}
    if str(kind).endswith("_output") and item.get("call_id"):
        words = _text(item.get("output")) or "(no output)"
        return {"role": "tool", "content": words, "tool_call_id": str(item["call_id"])}
    return {"role": "system", "content": f"({kind or 'item'})"}  # reasoning, hosted tools


def _text(content: object) -> str:
    if isinstance(content, str):
        return content if content.strip() else ""
    if isinstance(content, list):
        parts = [part if isinstance(part, Mapping) else {"text": part} for part in content]
        return "\n".join(str(part.get("text") or f"({part.get('type', 'part')})") for part in parts)
    return "" if content is None else json.dumps(content, default=str)


def _note(item: Json, fields: Mapping[str, Any]) -> Json:
    """The metadata from which the item can be rebuilt: nothing, what the fields lack, or the whole item."""
    content, calls = fields["content"], fields.get("tool_calls", ())
    if _plain(fields["role"], content, calls, fields.get("tool_call_id")) == [item]:
        return {}
    lean = _lean(item)
    return {KEY: {LEAN: lean}} if _filled(lean, content, calls) == item else {KEY: {WHOLE: item}}


def _lean(item: Json) -> dict[str, Any]:
    said = FILLED.get(str(item.get("type")))
    if said:
        return {key: value for key, value in item.items() if key != said}
    parts = item.get("content")
    if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], Mapping):
        part = {key: value for key, value in parts[0].items() if key != "text"}
        return {**item, "content": [part]}
    return {key: value for key, value in item.items() if key != "content"}


def _filled(lean: Json, content: str, calls: Any) -> dict[str, Any]:
    kind = str(lean.get("type"))
    if kind == "function_call":
        return {**lean, "arguments": calls[0]["function"]["arguments"] if calls else None}
    if kind in FILLED:
        return {**lean, FILLED[kind]: content}
    parts = lean.get("content")
    if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], Mapping):
        return {**lean, "content": [{**parts[0], "text": content}]}
    return dict(lean) if "content" in lean else {**lean, "content": content}


def _plain(role: str, content: str, calls: Any, call_id: str | None) -> list[dict[str, Any]]:
    """The simplest items for a message."""
    if role == "tool":
        return [{"type": "function_call_output", "call_id": call_id, "output": content}]
    words = [{"role": role, "content": content}] if content or not calls else []
    functions = [(call.get("id"), call.get("function", {})) for call in calls]
    return words + [
        {"type": "function_call", "call_id": of, "name": each.get("name"), "arguments": each.get("arguments")}
        for of, each in functions
    ]


def _check(fields: Mapping[str, Any], limits: Limits) -> None:
    if fields["content"] or not fields.get("tool_calls"):
        check_text("content", fields["content"], limits)
    check_tool_calls("tool_calls", fields.get("tool_calls", ()), fields["role"], limits)
    if "tool_call_id" in fields:
        check_id("tool_call_id", fields["tool_call_id"])


def _storable(fields: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The fields of an item that the limits refuse, shortened and cleaned; a call without its arguments."""
    words = fields["content"].replace("\x00", " ").encode(errors="replace")[: limits.text_bytes // 2]
    storable = {"role": fields["role"], "content": words.decode(errors="ignore").strip() or "(no words)"}
    if "tool_calls" in fields:
        (call,) = fields["tool_calls"]
        function = {"name": call["function"]["name"], "arguments": "{}"}
        storable |= {"content": "", "tool_calls": [call | {"function": function}]}
    if "tool_call_id" in fields:
        storable["tool_call_id"] = fields["tool_call_id"]
    try:
        _check(storable, limits)
    except ValidationError:
        return {"role": "system", "content": "(item)"}
    return storable


def turn_of(messages: Sequence[Message], empty: Turn) -> Turn:
    """The empty turn with these messages."""
    turn = empty
    for position, message in enumerate(messages):
        if position and place(message, turn) == "answer":
            turn = replace(turn, answer=replace(message, id=message_id(turn.id, "response")))
        else:
            turn = open_turn(turn, message)
    return turn.sealed()

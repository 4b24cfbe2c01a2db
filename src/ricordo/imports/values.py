"""Conversions of untrusted JSON values; none of them raises.

In: any JSON value. Out: the value as the expected type, or an empty one. Times are seconds or finer units, or ISO text
with or without a zone; one without is taken as UTC.
"""

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ricordo.limits import EARLIEST, LATEST
from ricordo.records.turns import Json, Role

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FINER_FROM = 1e11  # as seconds this is the year 5138, as milliseconds 1973; and so on for micro- and nanoseconds
_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessagechunk": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
}


def mapping(value: Any) -> Json:
    """The value if it is an object."""
    return value if isinstance(value, Mapping) else {}


def listed(value: Any) -> list[Any]:
    """The value if it is a list."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is text."""
    return value if isinstance(value, str) else ""


def identifier(*candidates: Any) -> str:
    """The first value that can be an id: text that is not blank, or an integer."""
    for each in candidates:
        if isinstance(each, str) and each.strip():
            return each
        if isinstance(each, int) and not isinstance(each, bool):
            return str(each)
    return ""


def parse_time(*candidates: Any) -> datetime | None:
    """The first value that is a time, in UTC to the microsecond."""
    for each in candidates:
        found = _parse_time(each)
        if found is not None and EARLIEST <= found <= LATEST:
            return found
    return None


def _parse_time(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, int | float):
            return _from_number(float(value))
        if isinstance(value, str) and value.strip():
            return _from_text(value.strip())
    except (ValueError, OverflowError):
        return None
    return None


def _from_number(number: float) -> datetime | None:
    if not math.isfinite(number) or number <= 0:
        return None
    for _ in range(3):
        number = number / 1_000 if number >= _FINER_FROM else number
    return _EPOCH + timedelta(microseconds=round(number * 1_000_000))


def _from_text(value: str) -> datetime | None:
    if value.replace(".", "", 1).isdigit():
        return _from_number(float(value))
    found = datetime.fromisoformat(value)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def role_of(value: Any) -> tuple[Role, str | None]:
    """The role for a foreign word; an unknown word is the name of a speaker with the role user."""
    word = text(value).strip()
    known = _ROLES.get(word.lower())
    return (known, None) if known else ("user", word or None)


def other_fields(fields: Json, *known: str) -> dict[str, Any]:
    """The fields that are not `known`, without empty ones."""
    return {key: value for key, value in fields.items() if key not in known and value not in (None, "", [], {}, False)}


def tool_call(name: str, arguments: Any, call_id: str) -> dict[str, Any]:
    """A tool call in the form that is stored."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    function = {"name": name or "unknown", "arguments": written}
    return {**({"id": call_id} if call_id else {}), "type": "function", "function": function}


def tool_calls_of(fields: Json) -> tuple[Json, ...]:
    """The tool calls of a message: of chat APIs, LangChain, or the older single `function_call`."""
    found = []
    for each in listed(fields.get("tool_calls")):
        inner = mapping(mapping(each).get("function"))
        if inner:
            found.append({**each, "type": "function"})
        elif mapping(each):
            name = text(each.get("name")) or text(each.get("tool_name"))
            arguments = each.get("args", each.get("arguments", each.get("tool_kwargs", {})))
            found.append(tool_call(name, arguments, identifier(each.get("id"), each.get("tool_id"))))
    older = mapping(fields.get("function_call"))
    if not found and older:
        found.append(tool_call(text(older.get("name")), older.get("arguments", ""), ""))
    return tuple(found)


def join_lines(parts: Iterable[str]) -> str:
    """The parts that are not blank, one per line."""
    return "\n".join(part for part in parts if part.strip())


def content_of(content: Any) -> tuple[str, list[Any]]:
    """The text of a message's content, with other parts (images, files) named in brackets; and those parts."""
    if isinstance(content, str):
        return content, []
    words, others = [], []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            words.append(part)
            continue
        fields = mapping(part)
        inner = fields.get("text")
        if isinstance(inner, Mapping):
            inner = inner.get("value")
        if isinstance(inner, str):
            words.append(inner)
        elif isinstance(fields.get("refusal"), str):
            words.append(fields["refusal"])
        elif fields:
            words.append(f"[{_kind_of(fields)}]")
            others.append(part)
    return join_lines(words), others


def _kind_of(part: Json) -> str:
    """The kind of a part that is not text, in one word."""
    kind = text(part.get("type")) or text(part.get("block_type")) or text(part.get("content_type"))
    for word in ("image", "audio", "video", "file", "document"):
        if word in kind:
            return word
    return kind.replace("]", " ").strip()[:40] or "attachment"

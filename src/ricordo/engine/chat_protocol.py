"""The OpenAI chat protocol: makes request bodies, and reads the events of a streamed answer.

Servers accept different fields and refuse requests with others; a `Dialect` is what one server accepts.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Body = dict[str, Any]

REFUSED_STATUSES = frozenset({400, 415, 422, 501})
DONE = "[DONE]"
_FOLLOW = "Answer with one JSON value and nothing else. It must follow this JSON schema:\n"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server accepts. `schema`: `response_format`; `usage`: `stream_options`; `limit`: max_tokens by name."""

    schema: bool = True
    usage: bool = True
    limit: str = "max_tokens"

    def body(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        stream: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> Body:
        """The request without the name of the model; `options` are sent unchanged, but for the name of the limit."""
        body: Body = {**(options or {}), "messages": [dict(message) for message in messages]}
        if (asked := body.pop("max_tokens", None)) is not None:
            body[self.limit] = asked
        if schema is not None and self.schema:
            named = {"name": "answer", "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None:
            body["messages"] = [*body["messages"], {"role": "user", "content": _FOLLOW + json.dumps(dict(schema))}]
        if max_tokens is not None:
            body[self.limit] = max_tokens
        if stream:
            body["stream"] = True
            if self.usage:
                body["stream_options"] = {"include_usage": True}
        return body

    def reduced(self, body: Mapping[str, Any], status: int, error: str) -> "Dialect | None":
        """The dialect to try after `body` was refused with this error text; None if the error has another cause.

        A field is dropped when the error names it. A schema is also dropped when the error names no field, because
        servers without schemas fail in many ways.
        """
        if status not in REFUSED_STATUSES:
            return None
        text = error.lower()
        if "max_tokens" in body and "max_completion_tokens" in text and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if "stream_options" in body and self.usage and ("stream_options" in text or "include_usage" in text):
            return replace(self, usage=False)
        if "response_format" in body and self.schema:  # not again: it may be an option of the caller
            return replace(self, schema=False)
        return None


class BadEvent(ValueError):  # noqa: N818 - what was read, not a fault of the caller
    """The data of an event is not a JSON object."""


def events(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The data of each server-sent event; `{DONE: True}` if the server announces the end.

    Comments that keep the connection alive, and other fields, are skipped.
    """
    data: list[str] = []
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            event = _event("\n".join(data))
            yield event
            if DONE in event:
                return
            data = []
    if data:
        yield _event("\n".join(data))


def _event(data: str) -> dict[str, Any]:
    if data.strip() == DONE:
        return {DONE: True}
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError) as cause:
        raise BadEvent("an event is not JSON") from cause
    if not isinstance(parsed, dict):
        raise BadEvent("an event is not an object")
    return parsed


@dataclass(slots=True)
class StreamedAnswer:
    """The answer as far as it was streamed; `add` extends it."""

    text: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = None
    finish_reason: str | None = None

    def add(self, event: Mapping[str, Any]) -> str:
        """Add one event; returns the piece of text in it, or an empty string."""
        if isinstance(event.get("usage"), Mapping):
            self.usage = event["usage"]
        if event.get(DONE):
            self.finish_reason = self.finish_reason or "stop"
        choices = event.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return ""
        choice = choices[0]
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"]
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return ""
        for call in delta.get("tool_calls") or ():
            self._add_call(call)
        piece = delta.get("content")
        if not isinstance(piece, str):
            return ""
        self.text.append(piece)
        return piece

    def _add_call(self, part: object) -> None:
        """Tool calls arrive in parts with the same index; the parts of the arguments are concatenated."""
        if not isinstance(part, Mapping) or not isinstance(part.get("index", 0), int):
            return
        call = self.calls.setdefault(part.get("index", 0), {"type": "function", "function": {}})
        call.update({key: part[key] for key in ("id", "type") if part.get(key)})
        function = part.get("function")
        for key, value in function.items() if isinstance(function, Mapping) else ():
            known = call["function"].get(key)
            call["function"][key] = known + value if isinstance(known, str) and isinstance(value, str) else value

    @property
    def tool_calls(self) -> tuple[Mapping[str, Any], ...]:
        """The calls in order, each complete."""
        return tuple(self.calls[index] for index in sorted(self.calls))

"""Server-sent events of a streamed answer, and the whole answer they add up to.

Lines go in, JSON objects come out; what belongs to none (comments that keep a connection alive, other fields) is
passed over. A stream that ends before it said that it was done is told apart from one that ended.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

DONE = "[DONE]"


class NotAnEvent(ValueError):  # noqa: N818 - what was read, not a fault of the caller
    """Data that is not the JSON object it should be."""


def events(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The data of each event as an object; the end, where the server announces it, as `{DONE: True}`."""
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
        raise NotAnEvent("an event is not JSON") from cause
    if not isinstance(parsed, dict):
        raise NotAnEvent("an event is not an object")
    return parsed


@dataclass(slots=True)
class Gathered:
    """What has been streamed so far. The one thing here that changes as it is filled."""

    text: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = None
    model: str | None = None
    finish_reason: str | None = None

    def take(self, event: Mapping[str, Any]) -> str:
        """Note one event; the piece of text that it brought, if any."""
        if isinstance(event.get("usage"), Mapping):
            self.usage = event["usage"]
        if isinstance(event.get("model"), str):
            self.model = event["model"]
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
            self._call(call)
        piece = delta.get("content")
        if not isinstance(piece, str):
            return ""
        self.text.append(piece)
        return piece

    def _call(self, part: object) -> None:
        """Calls come in parts, told together by their index; the arguments are strung together."""
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
        """The calls in order, each whole."""
        return tuple(self.calls[index] for index in sorted(self.calls))

"""Server-sent events as text: one line format for every stream, numbered so that a reader can take it up again."""

import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi.responses import StreamingResponse

from ricordo.server.streams import Answer, Sent

STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
PULSE = 15.0  # seconds of silence after which a comment is sent, so that nobody between takes the stream for dead
_EVENT = {
    "type": "object",
    "description": "One event; its data is JSON",
    "required": ["data"],
    "properties": {"id": {"type": "string"}, "event": {"type": "string"}, "data": {"type": "string"}},
}
SHOWN: dict[int | str, dict[str, Any]] = {
    200: {"content": {STREAM: {"schema": _EVENT}}, "description": "The answer, or its events"}
}


def streamed(answer: Answer, after: int = 0) -> StreamingResponse:
    """The events of an answer after a number, as they come."""
    return StreamingResponse(lines(answer, after), media_type=STREAM, headers=HEADERS)


async def lines(answer: Answer, after: int = 0) -> AsyncIterator[str]:
    """The events as text."""
    async for sent in answer.follow(after, PULSE):
        yield line(answer.turn_id, sent)


def line(turn_id: str, sent: Sent) -> str:
    """One event."""
    if not sent.name:
        return ":\n\n"
    # An id ends with its line, and a NUL in it would make readers ignore it; clients choose turn ids.
    name = "".join(character for character in turn_id if character.isprintable())
    return f"id: {name}:{sent.number}\nevent: {sent.name}\ndata: {dumped(sent.data)}\n\n"


def dumped(data: object) -> str:
    """JSON on one line."""
    return json.dumps(data, ensure_ascii=False, default=str)

"""Routes for the AI SDK's `useChat`: the same answers as UI message streams.

The chat's id is the session id, and the last user message is the question. Sources become `source-document` parts, and
the metadata of the answer a `data-memory` part.
"""

from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ricordo.chat.response import ChatRequest
from ricordo.errors import ValidationError
from ricordo.limits import check_id, check_text
from ricordo.server.schemas import Id
from ricordo.server.service import RequestUser, UserDep, begin, path_id
from ricordo.server.streams import (
    KEEPALIVE_SECONDS,
    SSE_HEADERS,
    SSE_MEDIA_TYPE,
    SSE_RESPONSES,
    AnswerStream,
    StreamEvent,
    json_text,
)

router = APIRouter(prefix="/ai/chat", tags=["chat"])

STREAM_VERSION = {"x-vercel-ai-ui-message-stream": "v1"}
_NAMESPACE = UUID("c7a1de66-3c0b-5b0c-9c36-0c6c9d1f6a10")


class UiMessage(BaseModel):
    """A message of `useChat`."""

    model_config = ConfigDict(extra="allow")

    id: Annotated[str, Field(max_length=255)] = ""
    role: Literal["user", "assistant", "system"]
    parts: list[dict[str, Any]] = []

    @property
    def text(self) -> str:
        """The text of its parts."""
        texts = (part.get("text") for part in self.parts if part.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))


class UiChat(BaseModel):
    """A request of `DefaultChatTransport`; other fields are ignored."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "id": "chat-1",
                    "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Cos'è una fuga?"}]}],
                    "trigger": "submit-message",
                }
            ]
        },
    )

    id: Id
    messages: Annotated[list[UiMessage], Field(min_length=1)]
    user_id: Id | None = None
    agent_id: Id = "default"


@router.post("", response_class=StreamingResponse, responses=SSE_RESPONSES)
async def ask(body: UiChat, user: UserDep) -> Response:
    """Answer the last user message as a stream of UI message parts."""
    user = user.override(body.user_id)
    chat_request = await run_in_threadpool(_chat_request, body, user)
    answer = begin(user, chat_request, sha256(chat_request.query.encode()).hexdigest())
    return _stream_response(answer)


@router.get(
    "/{chat_id}/stream",
    response_class=StreamingResponse,
    responses={**SSE_RESPONSES, 204: {"description": "No answer is running"}},
)
async def resume(chat_id: str, user: UserDep) -> Response:
    """Resume the running answer of a chat from its beginning; 204 if there is none."""
    answer = user.service.answers.running_in(user.owner, path_id("chat", chat_id))
    return Response(status_code=204) if answer is None else _stream_response(answer)


def _chat_request(body: UiChat, user: RequestUser) -> ChatRequest:
    last = next((each for each in reversed(body.messages) if each.role == "user"), None)
    if last is None:
        raise ValidationError("messages", "there is no user message to answer")
    query = check_text("messages", last.text, user.memory.settings.limits)
    session = user.memory.session(check_id("id", body.id), user_id=user.id, agent_id=body.agent_id)
    session.create()  # a page chooses the ids of its chats
    number = sum(each.role == "user" for each in body.messages)
    turn_id = str(uuid5(_NAMESPACE, f"{user.owner.key}/{body.id}/{last.id or number}/{query}"))
    return ChatRequest(query, user.id, body.agent_id, session.id, turn_id)


def _stream_response(answer: AnswerStream) -> StreamingResponse:
    return StreamingResponse(_parts(answer), media_type=SSE_MEDIA_TYPE, headers=SSE_HEADERS | STREAM_VERSION)


async def _parts(answer: AnswerStream) -> AsyncIterator[str]:
    text = f"text-{answer.turn_id}"
    for part in ({"type": "start", "messageId": answer.turn_id}, {"type": "start-step"}):
        yield _line(part)
    started = False
    async for event in answer.follow(keepalive=KEEPALIVE_SECONDS):
        if event.name == "delta" and not started:
            started = True
            yield _line({"type": "text-start", "id": text})
        for part in _parts_of(event, text, started):
            yield _line(part) if part else ":\n\n"
    yield "data: [DONE]\n\n"


def _parts_of(event: StreamEvent, text: str, started: bool) -> list[dict[str, Any]]:
    """An event as UI message parts; an empty part is a keepalive."""
    if not event.name:
        return [{}]
    if event.name == "delta":
        return [{"type": "text-delta", "id": text, "delta": event.data["text"]}]
    if event.name == "sources":
        return [
            {
                "type": "source-document",
                "sourceId": each["chunk_id"],
                "mediaType": "text/plain",
                "title": each.get("title") or each["chunk_id"],
            }
            for each in event.data["data"]
        ]
    if event.name in ("clarification", "crisis", "understood"):
        return [{"type": f"data-{event.name}", "data": event.data}]
    if event.name == "error":
        return [{"type": "error", "errorText": event.data["detail"]}]
    if event.name == "done":
        return _last_parts(event.data, text, started)
    return []


def _last_parts(response: dict[str, Any], text: str, started: bool) -> list[dict[str, Any]]:
    known = response["metadata"]
    memory = {name: known.get(name) for name in ("turn_number", "citations", "tokens", "degraded", "answerer")}
    whole = [{"type": "text-start", "id": text}, {"type": "text-delta", "id": text, "delta": response["message"]}]
    return [
        *([] if started else whole),
        {"type": "text-end", "id": text},
        {"type": "data-memory", "data": memory | {"session_id": response["session_id"]}},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "interrupted" if known.get("stopped") else "stop"},
    ]


def _line(part: dict[str, Any]) -> str:
    return f"data: {json_text(part)}\n\n"

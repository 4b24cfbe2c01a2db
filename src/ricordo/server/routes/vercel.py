"""The stream that the AI SDK's `useChat` reads, from the same answers: a page built with it remembers as ours does.

The chat's id becomes the session's, the last user message is the question. Sources are `source-document` parts, and
what memory knew is a `data-memory` part.
"""

from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ricordo.chat.events import ChatRequest
from ricordo.errors import ValidationError
from ricordo.limits import check_id, check_text
from ricordo.server.dependencies import Asking, RequestUser, known_id
from ricordo.server.routes.chat import begin
from ricordo.server.schemas.requests import Id
from ricordo.server.streams import HEADERS, PULSE, SHOWN, STREAM, AnswerStream, Sent, dumped

router = APIRouter(prefix="/ai/chat", tags=["chat"])

MARK = {"x-vercel-ai-ui-message-stream": "v1"}
_TURNS = UUID("c7a1de66-3c0b-5b0c-9c36-0c6c9d1f6a10")


class UiMessage(BaseModel):
    """A message as `useChat` holds it."""

    model_config = ConfigDict(extra="allow")

    id: Annotated[str, Field(max_length=255)] = ""
    role: Literal["user", "assistant", "system"]
    parts: list[dict[str, Any]] = []

    @property
    def text(self) -> str:
        """Its words."""
        said = (part.get("text") for part in self.parts if part.get("type") == "text")
        return "\n".join(words for words in said if isinstance(words, str))


class UiChat(BaseModel):
    """A request of `DefaultChatTransport`; what we do not know is left alone."""

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


@router.post("", response_class=StreamingResponse, responses=SHOWN)
async def ask(body: UiChat, person: Asking) -> Response:
    """Answer the last user message as a stream of UI message parts."""
    person = person.named(body.user_id)
    asked = await run_in_threadpool(_asked, body, person)
    answer = begin(person, asked, sha256(asked.query.encode()).hexdigest())
    return _streamed(answer)


@router.get(
    "/{chat_id}/stream",
    response_class=StreamingResponse,
    responses={**SHOWN, 204: {"description": "No answer is under way"}},
)
async def resume(chat_id: str, person: Asking) -> Response:
    """Take up the answer that is under way in a chat, from its beginning; 204 where there is none."""
    answer = person.service.answers.under_way(person.owner, known_id("chat", chat_id))
    return Response(status_code=204) if answer is None else _streamed(answer)


def _asked(body: UiChat, person: RequestUser) -> ChatRequest:
    last = next((each for each in reversed(body.messages) if each.role == "user"), None)
    if last is None:
        raise ValidationError("messages", "there is no user message to answer")
    query = check_text("messages", last.text, person.memory.settings.limits)
    session = person.memory.session(check_id("id", body.id), user_id=person.id, agent_id=body.agent_id)
    session.create()  # a page names its chats itself, before anything is said in them
    place = sum(each.role == "user" for each in body.messages)
    turn_id = str(uuid5(_TURNS, f"{person.owner.key}/{body.id}/{last.id or place}/{query}"))
    return ChatRequest(query, person.id, body.agent_id, session.id, turn_id)


def _streamed(answer: AnswerStream) -> StreamingResponse:
    return StreamingResponse(_parts(answer), media_type=STREAM, headers=HEADERS | MARK)


async def _parts(answer: AnswerStream) -> AsyncIterator[str]:
    text = f"text-{answer.turn_id}"
    for part in ({"type": "start", "messageId": answer.turn_id}, {"type": "start-step"}):
        yield _line(part)
    begun = False
    async for sent in answer.follow(pulse=PULSE):
        if sent.name == "delta" and not begun:
            begun = True
            yield _line({"type": "text-start", "id": text})
        for part in _ui(sent, text, begun):
            yield _line(part) if part else ":\n\n"
    yield "data: [DONE]\n\n"


def _ui(sent: Sent, text: str, begun: bool) -> list[dict[str, Any]]:
    """An event of ours as parts of theirs."""
    if not sent.name:
        return [{}]
    if sent.name == "delta":
        return [{"type": "text-delta", "id": text, "delta": sent.data["text"]}]
    if sent.name == "sources":
        return [
            {
                "type": "source-document",
                "sourceId": each["chunk_id"],
                "mediaType": "text/plain",
                "title": each.get("title") or each["chunk_id"],
            }
            for each in sent.data["data"]
        ]
    if sent.name in ("clarification", "crisis", "understood"):
        return [{"type": f"data-{sent.name}", "data": sent.data}]
    if sent.name == "error":
        return [{"type": "error", "errorText": sent.data["detail"]}]
    if sent.name == "done":
        return _ending(sent.data, text, begun)
    return []


def _ending(response: dict[str, Any], text: str, begun: bool) -> list[dict[str, Any]]:
    known = response["metadata"]
    memory = {name: known.get(name) for name in ("turn_number", "citations", "tokens", "degraded", "answerer")}
    whole = [{"type": "text-start", "id": text}, {"type": "text-delta", "id": text, "delta": response["message"]}]
    return [
        *([] if begun else whole),
        {"type": "text-end", "id": text},
        {"type": "data-memory", "data": memory | {"session_id": response["session_id"]}},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "interrupted" if known.get("stopped") else "stop"},
    ]


def _line(part: dict[str, Any]) -> str:
    return f"data: {dumped(part)}\n\n"

"""Routes of the chat: the answer at once, or as a stream that can be resumed, also for the AI SDK's `useChat`.

`/ai/chat` gives the same answers as UI message streams. There the chat's id is the session id, and the last user
message is the question. Sources become `source-document` parts, and the metadata of the answer a `data-memory` part.
"""

import json
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ricordo.chat.response import ChatRequest, stored_response
from ricordo.engine.core import new_id
from ricordo.errors import LLMError, NotFoundError, StoreError, ValidationError
from ricordo.limits import check_id, check_project, check_text
from ricordo.prompt.compose import as_chunks
from ricordo.server.chat_schemas import ChatIn, ChatOut, Stopped
from ricordo.server.idempotency import turn_id_for
from ricordo.server.problems import body_response, problem_response
from ricordo.server.service import RequestUser, UserDep, begin, path_id
from ricordo.server.streams import (
    KEEPALIVE_SECONDS,
    SSE_HEADERS,
    SSE_MEDIA_TYPE,
    SSE_RESPONSES,
    AnswerStream,
    StreamEvent,
    json_text,
    sse_line,
    sse_response,
)
from ricordo.server.tenant_schemas import Id

router = APIRouter(tags=["chat"])
ui_router = APIRouter(prefix="/ai/chat", tags=["chat"])

STREAM_VERSION = {"x-vercel-ai-ui-message-stream": "v1"}
_UI_NAMESPACE = UUID("c7a1de66-3c0b-5b0c-9c36-0c6c9d1f6a10")


@router.post("/chat", response_model=ChatOut, responses=SSE_RESPONSES)
async def ask(
    body: ChatIn,
    request: Request,
    user: UserDep,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    idempotency_key: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Answer a question from the documents and from memory.

    With `stream`, or if the client accepts server-sent events, the answer is streamed. An unknown session id starts a
    new session; the response names it. A `temporary` question has no session and nothing of it is kept: the request
    brings the earlier turns along in `history`.
    """
    user = user.override(body.user_id)
    chat_request = await run_in_threadpool(_chat_request, body, user, idempotency_key)
    digest = sha256(json.dumps(body.model_dump(exclude={"stream", "turn_id"}), default=str).encode()).hexdigest()
    earlier = [(each.query, each.response) for each in body.history] if body.temporary else None
    answer = begin(user, chat_request, digest, body.model, earlier)
    if body.stream or SSE_MEDIA_TYPE in accept:
        return sse_response(answer)
    last = await answer.last()
    if last.name == "done":
        return Response(json_text(last.data), media_type="application/json")
    if last.name == "error":
        return body_response(last.data | {"instance": "/chat"})
    return problem_response(500, "the answer ended without a result; see the server log", request)


@router.get("/chat/{turn_id}/stream", response_class=StreamingResponse, responses=SSE_RESPONSES)
async def resume(
    turn_id: str,
    user: UserDep,
    after: Annotated[int, Query(ge=0, description="The number of the last event that was received")] = 0,
    last_event_id: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Resume the stream of an answer after the last event that was received."""
    seen = last_event_id.rpartition(":")[2]
    answer = user.service.answers.find(user.owner, turn_id)
    if answer is not None:
        return sse_response(answer, int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else after)
    stored = await run_in_threadpool(_stored_answer, user, path_id("answer", turn_id))
    return StreamingResponse(iter([stored]), media_type=SSE_MEDIA_TYPE, headers=SSE_HEADERS)


@router.post("/chat/{turn_id}/stop", response_model=Stopped)
async def stop(turn_id: str, user: UserDep) -> dict[str, bool]:
    """Stop a running answer; its text so far is stored. False if none is running.

    An answer that has no text yet ends at once, whether or not the model has noticed: its turn stays open, with the
    failure `stopped`, and can be asked again.
    """
    answers = user.service.answers
    stopped, answer = answers.stop(user.owner, turn_id), answers.find(user.owner, turn_id)
    if stopped and answer is not None and not answer.has_text:
        error = LLMError("the answer was stopped before its first word", cause="stopped")
        await run_in_threadpool(_mark_stopped, user, turn_id, error)
        answers.abandon(answer, error)
    return {"stopped": stopped}


def _mark_stopped(user: RequestUser, turn_id: str, error: LLMError) -> None:
    """Store in the open turn that it was stopped; an answer that is stored later removes this."""
    try:
        turn = user.memory.store.turns.get(user.owner, turn_id)
    except StoreError:
        return
    if turn is not None and turn.is_open:
        language = user.chat.language(turn.query, user.session(turn.session_id))
        user.chat.mark_failed(user.id, turn_id, error, language)


def _chat_request(body: ChatIn, user: RequestUser, key: str) -> ChatRequest:
    """The request for the chat, validated before the answer starts."""
    memory = user.memory
    limits = memory.settings.limits
    check_text("query", body.query, limits)
    check_text("understood_as", body.understood_as, limits, may_be_blank=True)
    check_id("agent_id", body.agent_id)
    if body.role is not None:
        check_id("role", body.role)
    if body.history and not body.temporary:
        raise ValidationError("history", "is for a temporary chat; a session has its own")
    for each in body.history:
        check_text("history", each.query, limits)
        check_text("history", each.response, limits, may_be_blank=True)
    turn_id = body.turn_id and check_id("turn_id", body.turn_id)
    if not turn_id:
        turn_id = turn_id_for(user.owner, key) if key else new_id(memory.clock.now())
    return ChatRequest(
        query=body.query,
        user_id=user.id,
        agent_id=body.agent_id,
        session_id=body.session_id,
        turn_id=turn_id,
        chunks=None if body.chunks is None else as_chunks([(each.id, each.text) for each in body.chunks], limits),
        document_ids=body.document_ids,
        understood_as=body.understood_as,
        project=body.project and check_project(body.project),
        metadata=({"role": body.role} if body.role else {}) | ({"again_of": body.again_of} if body.again_of else {}),
    )


def _stored_answer(user: RequestUser, turn_id: str) -> str:
    try:
        turn = user.memory.store.turns.get(user.owner, turn_id)
    except StoreError as error:
        raise NotFoundError("there is no such running answer") from error
    if turn is None or turn.is_open:
        raise NotFoundError("there is no such answer, or it was never finished")
    return sse_line(turn_id, StreamEvent(1, "done", stored_response(turn).as_json()))


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


@ui_router.post("", response_class=StreamingResponse, responses=SSE_RESPONSES)
async def ask_ui(body: UiChat, user: UserDep) -> Response:
    """Answer the last user message as a stream of UI message parts."""
    user = user.override(body.user_id)
    chat_request = await run_in_threadpool(_ui_request, body, user)
    answer = begin(user, chat_request, sha256(chat_request.query.encode()).hexdigest())
    return _stream_response(answer)


@ui_router.get(
    "/{chat_id}/stream",
    response_class=StreamingResponse,
    responses={**SSE_RESPONSES, 204: {"description": "No answer is running"}},
)
async def resume_ui(chat_id: str, user: UserDep) -> Response:
    """Resume the running answer of a chat from its beginning; 204 if there is none."""
    answer = user.service.answers.running_in(user.owner, path_id("chat", chat_id))
    return Response(status_code=204) if answer is None else _stream_response(answer)


def _ui_request(body: UiChat, user: RequestUser) -> ChatRequest:
    last = next((each for each in reversed(body.messages) if each.role == "user"), None)
    if last is None:
        raise ValidationError("messages", "there is no user message to answer")
    query = check_text("messages", last.text, user.memory.settings.limits)
    session = user.memory.session(check_id("id", body.id), user_id=user.id, agent_id=body.agent_id)
    session.create()  # a page chooses the ids of its chats
    number = sum(each.role == "user" for each in body.messages)
    turn_id = str(uuid5(_UI_NAMESPACE, f"{user.owner.key}/{body.id}/{last.id or number}/{query}"))
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
    ended = (known.get("unfinished") or "stop").replace("_", "-")
    memory = {name: known.get(name) for name in ("turn_number", "citations", "tokens", "degraded", "answerer")}
    whole = [{"type": "text-start", "id": text}, {"type": "text-delta", "id": text, "delta": response["message"]}]
    return [
        *([] if started else whole),
        {"type": "text-end", "id": text},
        {"type": "data-memory", "data": memory | {"session_id": response["session_id"]}},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "interrupted" if known.get("stopped") else ended},
    ]


def _line(part: dict[str, Any]) -> str:
    return f"data: {json_text(part)}\n\n"

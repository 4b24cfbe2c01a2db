"""Routes of the chat: the answer at once, or as a stream that can be resumed."""

import json
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from ricordo.chat.response import ChatRequest, stored_response
from ricordo.engine.core import new_id
from ricordo.errors import NotFoundError, StoreError
from ricordo.limits import check_id, check_text
from ricordo.prompt.compose import as_chunks
from ricordo.server.idempotency import turn_id_for
from ricordo.server.problems import body_response, problem_response
from ricordo.server.schemas.chat import ChatIn, ChatOut, Stopped
from ricordo.server.service import RequestUser, UserDep, begin, path_id
from ricordo.server.streams import (
    SSE_HEADERS,
    SSE_MEDIA_TYPE,
    SSE_RESPONSES,
    StreamEvent,
    json_text,
    sse_line,
    sse_response,
)

router = APIRouter(tags=["chat"])


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
    new session; the response names it.
    """
    user = user.override(body.user_id)
    chat_request = await run_in_threadpool(_chat_request, body, user, idempotency_key)
    digest = sha256(json.dumps(body.model_dump(exclude={"stream", "turn_id"}), default=str).encode()).hexdigest()
    answer = begin(user, chat_request, digest)
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
    """Stop a running answer; its text so far is stored. False if none is running."""
    return {"stopped": user.service.answers.stop(user.owner, turn_id)}


def _chat_request(body: ChatIn, user: RequestUser, key: str) -> ChatRequest:
    """The request for the chat, validated before the answer starts."""
    memory = user.memory
    limits = memory.settings.limits
    check_text("query", body.query, limits)
    check_text("understood_as", body.understood_as, limits, may_be_blank=True)
    check_id("agent_id", body.agent_id)
    if body.role is not None:
        check_id("role", body.role)
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
        metadata={"role": body.role} if body.role else {},
    )


def _stored_answer(user: RequestUser, turn_id: str) -> str:
    try:
        turn = user.memory.store.turns.get(user.owner, turn_id)
    except StoreError as error:
        raise NotFoundError("there is no such running answer") from error
    if turn is None or turn.is_open:
        raise NotFoundError("there is no such answer, or it was never finished")
    return sse_line(turn_id, StreamEvent(1, "done", stored_response(turn).as_json()))

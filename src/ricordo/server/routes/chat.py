"""Asking: the answer at once, or as a stream that can be taken up again."""

import json
from collections.abc import AsyncIterator, Callable, Generator
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from ricordo.chat.events import Done, Event
from ricordo.chat.pipeline import stored_response
from ricordo.chat.request import ChatRequest
from ricordo.errors import NotFoundError, StoreError
from ricordo.limits import check_text
from ricordo.server.asking import Asking, Person
from ricordo.server.models import ChatIn, ChatOut
from ricordo.server.problems import problem
from ricordo.server.streams import Answer, Sent
from ricordo.verbs.ids import new_id

router = APIRouter(tags=["chat"])

STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


@router.post(
    "/chat",
    response_model=ChatOut,
    responses={200: {"content": {STREAM: {"schema": {"type": "string"}}}, "description": "The answer, or its stream"}},
)
async def ask(
    body: ChatIn, request: Request, person: Asking, accept: Annotated[str, Header(include_in_schema=False)] = ""
) -> Response:
    """Answer a question from the material and from all that is remembered.

    With `stream`, or when server-sent events are asked for, the answer comes as it is made. An unknown session id
    begins a new session, and the response says which.
    """
    person.caller.must("chat")
    asked = _asked(body, person.named(body.user_id))
    service = person.service
    if service.answers.running >= service.options.concurrent_chats:
        return problem(503, "Too many at once", "as many answers as allowed are under way; try again in a moment")
    chat = await run_in_threadpool(lambda: person.chat)
    turn_id = asked.turn_id or ""

    def work(stop: Callable[[], bool]) -> Generator[Event, None, None]:
        for event in chat.respond(replace(asked, stop=stop)):
            if isinstance(event, Done):
                _count(person, event)
            yield event

    answer = service.answers.begin(person.owner, turn_id, work)
    if body.stream or STREAM in accept:
        return StreamingResponse(_lines(answer, 0), media_type=STREAM, headers=HEADERS)
    async for sent in answer.follow():
        if sent.name == "done":
            return Response(_dumped(sent.data), media_type="application/json")
        if sent.name == "error":
            status = int(sent.data.get("status", 500))
            return problem(status, str(sent.data["title"]), str(sent.data["detail"]), request)
    return problem(500, "No answer", "the answer ended without its end; the log has the cause", request)


@router.get("/chat/{turn_id}/stream", responses={200: {"content": {STREAM: {"schema": {"type": "string"}}}}})
async def resume(
    turn_id: str,
    person: Asking,
    after: Annotated[int, Query(ge=0, description="The number of the last event that was read")] = 0,
    last_event_id: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Take up the stream of an answer after the last event that was read."""
    seen = last_event_id.rpartition(":")[2]
    answer = person.service.answers.find(person.owner, turn_id)
    if answer is not None:
        begin = int(seen) if seen.isdigit() else after
        return StreamingResponse(_lines(answer, begin), media_type=STREAM, headers=HEADERS)
    kept = await run_in_threadpool(_kept, person, turn_id)
    return StreamingResponse(iter([kept]), media_type=STREAM, headers=HEADERS)


@router.post("/chat/{turn_id}/stop")
async def stop(turn_id: str, person: Asking) -> dict[str, bool]:
    """End an answer where it is; what was said so far is kept."""
    return {"stopped": person.service.answers.stop(person.owner, turn_id)}


def _asked(body: ChatIn, person: Person) -> ChatRequest:
    memory = person.memory
    check_text("query", body.query, memory.settings.limits)
    return ChatRequest(
        query=body.query,
        user_id=person.id,
        agent_id=body.agent_id,
        session_id=body.session_id,
        turn_id=body.turn_id or new_id(memory.clock.now()),
        chunks=None if body.chunks is None else [(chunk.id, chunk.text) for chunk in body.chunks],
        document_ids=body.document_ids,
        understood_as=body.understood_as,
        metadata={"role": body.role} if body.role else {},
    )


def _count(person: Person, done: Done) -> None:
    known = done.response.metadata
    person.service.wish(person.owner, done.response.session_id)
    if "timings_ms" in known:
        kept = known.get("turn_number") is not None
        person.service.metrics.answered(known["timings_ms"], known["tokens"]["prompt"], kept=kept)


def _kept(person: Person, turn_id: str) -> str:
    try:
        turn = person.memory.store.turn(person.owner, turn_id)
    except StoreError as error:
        raise NotFoundError("there is no such answer at hand") from error
    if turn is None or turn.is_open:
        raise NotFoundError("there is no such answer, or it was never finished")
    return _line(turn_id, Sent(1, "done", stored_response(turn).as_json()))


async def _lines(answer: Answer, after: int) -> AsyncIterator[str]:
    async for sent in answer.follow(after):
        yield _line(answer.turn_id, sent)


def _line(turn_id: str, sent: Sent) -> str:
    return f"id: {turn_id}:{sent.number}\nevent: {sent.name}\ndata: {_dumped(sent.data)}\n\n"


def _dumped(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, default=str)

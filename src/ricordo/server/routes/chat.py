"""Asking: the answer at once, or as a stream that can be taken up again."""

import json
from collections.abc import Callable, Generator
from dataclasses import replace
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from ricordo.chat.answerers import MODEL_FAILED
from ricordo.chat.events import ChatRequest, Done, Event
from ricordo.chat.response import stored_response
from ricordo.engine.clock import new_id
from ricordo.errors import NotFoundError, StoreError
from ricordo.limits import check_id, check_text
from ricordo.prompt.compose import as_chunks
from ricordo.server.dependencies import Asking, RequestUser, known_id
from ricordo.server.idempotency import turn_id_of
from ricordo.server.problems import answered, problem
from ricordo.server.schemas.chat import ChatOut, Stopped
from ricordo.server.schemas.requests import ChatIn
from ricordo.server.streams import HEADERS, SHOWN, STREAM, AnswerStream, Sent, dumped, line, streamed

router = APIRouter(tags=["chat"])


@router.post("/chat", response_model=ChatOut, responses=SHOWN)
async def ask(
    body: ChatIn,
    request: Request,
    person: Asking,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    idempotency_key: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Answer a question from the material and from all that is remembered.

    With `stream`, or when server-sent events are asked for, the answer comes as it is made. An unknown session id
    begins a new session, and the response says which.
    """
    person = person.named(body.user_id)
    asked = await run_in_threadpool(_asked, body, person, idempotency_key)
    digest = sha256(json.dumps(body.model_dump(exclude={"stream", "turn_id"}), default=str).encode()).hexdigest()
    answer = begin(person, asked, digest)
    if body.stream or STREAM in accept:
        return streamed(answer)
    last = await answer.last()
    if last.name == "done":
        return Response(dumped(last.data), media_type="application/json")
    if last.name == "error":
        return answered(last.data | {"instance": "/chat"})
    return problem(500, "No answer", "the answer ended without its end; the log has the cause", request)


@router.get("/chat/{turn_id}/stream", response_class=StreamingResponse, responses=SHOWN)
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
        return streamed(answer, int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else after)
    kept = await run_in_threadpool(_kept, person, known_id("answer", turn_id))
    return StreamingResponse(iter([kept]), media_type=STREAM, headers=HEADERS)


@router.post("/chat/{turn_id}/stop", response_model=Stopped)
async def stop(turn_id: str, person: Asking) -> dict[str, bool]:
    """End an answer where it is; what was said so far is kept. False where none is under way."""
    return {"stopped": person.service.answers.stop(person.owner, turn_id)}


def begin(person: RequestUser, asked: ChatRequest, digest: str) -> AnswerStream:
    """Have a question answered, or join its answer."""
    chat = person.chat

    def work(stop: Callable[[], bool]) -> Generator[Event, None, None]:
        for event in chat.respond(replace(asked, stop=stop)):
            if isinstance(event, Done):
                _count(person, event)
                event = _told(event)
            yield event

    return person.service.answers.begin(person.owner, asked.turn_id or "", work, digest)


def _asked(body: ChatIn, person: RequestUser, key: str) -> ChatRequest:
    """The request, with everything refused that would be refused later."""
    memory = person.memory
    limits = memory.settings.limits
    check_text("query", body.query, limits)
    check_text("understood_as", body.understood_as, limits, may_be_blank=True)
    check_id("agent_id", body.agent_id)
    if body.role is not None:
        check_id("role", body.role)
    turn_id = body.turn_id and check_id("turn_id", body.turn_id)
    if not turn_id:
        turn_id = turn_id_of(person.owner, key) if key else new_id(memory.clock.now())
    return ChatRequest(
        query=body.query,
        user_id=person.id,
        agent_id=body.agent_id,
        session_id=body.session_id,
        turn_id=turn_id,
        chunks=None if body.chunks is None else as_chunks([(each.id, each.text) for each in body.chunks], limits),
        document_ids=body.document_ids,
        understood_as=body.understood_as,
        metadata={"role": body.role} if body.role else {},
    )


def _count(person: RequestUser, done: Done) -> None:
    known = done.response.metadata
    person.service.jobs.note(person.owner, done.response.session_id)
    if "timings_ms" in known:
        kept = known.get("turn_number") is not None
        person.service.metrics.answered(known["timings_ms"], known["tokens"]["prompt"], kept=kept)


def _told(done: Done) -> Done:
    """The end of an answer without where the model is: that is for the log."""
    known = done.response.metadata
    notes = [
        f"{MODEL_FAILED}; the log has the cause" if note.startswith(MODEL_FAILED) else note
        for note in known.get("degraded", ())
    ]
    return replace(done, response=replace(done.response, metadata={**known, "degraded": notes}))


def _kept(person: RequestUser, turn_id: str) -> str:
    try:
        turn = person.memory.store.turns.get(person.owner, turn_id)
    except StoreError as error:
        raise NotFoundError("there is no such answer at hand") from error
    if turn is None or turn.is_open:
        raise NotFoundError("there is no such answer, or it was never finished")
    return line(turn_id, Sent(1, "done", stored_response(turn).as_json()))

"""Routes in OpenAI's format for stored objects: responses, and conversations with their items.

A conversation is a session. A response is a turn's answer, or a step of it with tool calls. `previous_response_id`
continues its session, or a branch of it if the session has later turns.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from time import time
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from ricordo.chat.response import ChatResponse
from ricordo.errors import RicordoError, ValidationError
from ricordo.people.summaries.extractive import extractive_summary
from ricordo.records.turns import SessionInfo
from ricordo.server.idempotency import id_for
from ricordo.server.openai_completions import TURNS_COPIED, CompletionRequest, begin, prepare
from ricordo.server.openai_conversations import Conversations, shown_conversation, shown_item
from ricordo.server.openai_objects import (
    RESPONSES,
    CompactionOut,
    ConversationOut,
    DeletedObject,
    InputTokensOut,
    ListLimit,
    ListOrder,
    MetadataIn,
    ObjectList,
    OpenAIBody,
    ResponseOut,
    StoredObject,
    StoredObjects,
    check_pairs,
    conversation_id,
    page_of,
    session_header,
)
from ricordo.server.openai_responses import (
    completed,
    failed,
    live_events,
    messages_of,
    options_of,
    past_events,
    response_head,
    said_in,
    sealed,
    turns_of,
    usage_of,
)
from ricordo.server.problems import body_response, error_body, problem_body
from ricordo.server.service import ANY_MODEL, RequestUser, UserDep, utf8_header
from ricordo.server.streams import SSE_HEADERS, SSE_MEDIA_TYPE, SSE_RESPONSES

router = APIRouter(prefix="/v1", tags=["openai"])

RUNNING = ("queued", "in_progress")
LOST_SECONDS = 3_600  # a response that does not run here may run in another process for so long; then it has failed
NO_QUESTION = "there is no user message to answer"


class ResponseIn(OpenAIBody):
    """A request for a response in OpenAI's format."""

    model: str | None = None
    input: str | list[dict[str, Any]] | None = None
    instructions: str | None = None
    conversation: Any = None
    previous_response_id: str | None = None
    stream: bool | None = None
    background: bool | None = None
    store: bool | None = None
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    top_p: Annotated[float | None, Field(ge=0, le=1)] = None
    max_output_tokens: Annotated[int | None, Field(ge=1)] = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    text: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None

    @property
    def items(self) -> list[dict[str, Any]]:
        """The input as items."""
        if isinstance(self.input, str):
            return [{"type": "message", "role": "user", "content": self.input}]
        return list(self.input or ())


class ConversationIn(OpenAIBody):
    """A new conversation in OpenAI's format."""

    items: list[dict[str, Any]] | None = None
    metadata: dict[str, Any] | None = None


class ItemsIn(OpenAIBody):
    """Items for a conversation."""

    items: list[dict[str, Any]]


@router.post("/responses", response_model=ResponseOut, responses=SSE_RESPONSES)
async def create_response(
    body: ResponseIn,
    user: UserDep,
    x_ricordo_session: Annotated[str | None, Header(include_in_schema=False)] = None,
    x_ricordo_agent: Annotated[str | None, Header(include_in_schema=False)] = None,
    idempotency_key: Annotated[str | None, Header(include_in_schema=False)] = None,
    x_client_request_id: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """A response with memory.

    `conversation` or `previous_response_id` says what it continues; else the whole input does, as for chat completions.
    """
    user, asked = user.override(body.user), body.model_dump(exclude_unset=True)
    asked["metadata"] = check_pairs(body.metadata)
    options, key = options_of(asked), idempotency_key or x_client_request_id
    if body.background and body.store is False:
        raise ValidationError("background", "a response in the background must be stored; leave out store=false")
    request = CompletionRequest(
        user_id=user.id,
        agent_id=utf8_header("X-Ricordo-Agent", x_ricordo_agent) or "default",
        session_id=utf8_header("X-Ricordo-Session", x_ricordo_session),
        messages=messages_of(body.items),
        options=options,
        turn_id=id_for(user.owner, "response", key) if key else None,
        project=asked["metadata"].get("project"),
    )
    request = await run_in_threadpool(_continued, user, body, request)
    if body.instructions:
        request = replace(request, messages=[{"role": "system", "content": body.instructions}, *request.messages])
    if not request.messages and "input" not in asked:
        value = await run_in_threadpool(_without_question, user, body, asked)
        return _events(iter(past_events(value))) if body.stream else JSONResponse(value)
    try:
        completions, prepared = await prepare(user, body.model or ANY_MODEL[0], request)
    except ValidationError as error:
        raise ValidationError("input", error.problem) if error.field.startswith("messages") else error from error
    head = response_head(f"resp_{prepared.object_id}", int(time()), prepared.model, asked)
    sent = [shown_item(item, f"{head['id']}:{at}") for at, item in enumerate(body.items)]
    stored, session_id = _stored(user), prepared.session_id
    running = StoredObject(head, sent, session_id, answer_name=prepared.answer_name)

    def keep(result: ChatResponse | Exception) -> None:
        if isinstance(result, ChatResponse):
            value, turn_id = completed(head, result.as_json()), prepared.turn_id
        elif body.background:
            value, turn_id = failed(head, error_body(result)), None
        else:
            return
        with suppress(RicordoError):  # away, or deleted meanwhile
            if body.background and stored.get(head["id"]).value["status"] == "cancelled":
                value["status"] = "cancelled"
        if head["store"]:
            stored.put(replace(running, value=value, turn_id=turn_id))

    headers = {"X-Ricordo-Session": session_header(session_id)}
    if body.background:
        await run_in_threadpool(stored.put, running)
    answer = begin(user, completions, prepared, keep)
    if body.stream:
        if (first := await answer.first()) and first.name == "error":  # no text was sent: the status can be the error's
            return body_response(first.data | {"instance": "/v1/responses"})
        return _events(live_events(head, prepared.turn_id, answer), headers)
    if body.background:
        return JSONResponse(head, headers=headers)
    last = await answer.last()
    if last.name == "error":
        return body_response(last.data | {"instance": "/v1/responses"})
    return JSONResponse(completed(head, last.data), headers=headers)


@router.post("/responses/input_tokens", response_model=InputTokensOut)
def count_input(body: ResponseIn, user: UserDep) -> dict[str, Any]:
    """How many tokens a request has: input, instructions and tools, and the window of what it continues."""
    memory, counter = user.override(body.user).memory, user.memory.counter
    user.service.answerer(user.caller.tenant_id, body.model or ANY_MODEL[0])
    options = options_of(body.model_dump(exclude_unset=True))
    texts = [str(message.get("content") or "") for message in messages_of(body.items)]
    texts += [body.instructions or "", str(options["tools"]) if "tools" in options else ""]
    total = sum(counter.count(text) + counter.message_overhead for text in texts if text)
    info, _ = _origin(user, body)
    if info is not None:
        total += memory.session(info.id, user_id=user.id, agent_id=info.agent_id).window().total_tokens
    return {"object": "response.input_tokens", "input_tokens": total}


@router.post("/responses/compact", response_model=CompactionOut)
def compact(body: ResponseIn, user: UserDep) -> dict[str, Any]:
    """Condense a conversation to its user messages and one item with a summary of the rest."""
    memory, owner = user.override(body.user).memory, user.owner
    user.service.answerer(user.caller.tenant_id, body.model or ANY_MODEL[0])
    info, _ = _origin(user, body)
    turns = list(memory.store.turns.page(owner, info.id, last=TURNS_COPIED)) if info else []
    turns += turns_of(messages_of(body.items), owner, memory.clock.now())
    hidden = frozenset(flag.subject_id for flag in memory.store.people.flags(owner, state="quarantined"))
    settings, counter = memory.settings, memory.counter
    limit, code = settings.budget.summary_share, settings.locale.code
    draft = extractive_summary(turns, None, limit, counter, code, leave_out=hidden)
    made, summary = uuid4().hex, draft.text if draft else ""
    asked = [item for item in body.items if item.get("role") == "user"]
    kept = [shown_item(item, f"{made}:{at}") for at, item in enumerate(asked)]
    read = sum(counter.count(message.content) for turn in turns for message in turn.messages)
    return {
        "id": f"resp_{made}",
        "object": "response.compaction",
        "created_at": int(time()),
        "output": [*kept, sealed(summary, f"cmp_{made}")],
        "usage": usage_of(read, counter.count(summary)),
    }


def _known(user: RequestUser, response_id: str) -> StoredObject:
    """A stored response; failed if its process has ended before it."""
    known = _stored(user).get(response_id)
    late = known.value["status"] in RUNNING and time() - known.value["created_at"] > LOST_SECONDS
    if not late or user.service.answers.find(user.owner, known.answer_name):
        return known
    lost = problem_body(502, "the server was stopped before the model had answered; ask again")
    known = replace(known, value=failed(known.value, lost))
    _stored(user).put(known)
    return known


@router.get("/responses/{response_id}", response_model=ResponseOut, responses=SSE_RESPONSES)
async def get_response(
    response_id: str,
    user: UserDep,
    stream: bool = False,
    starting_after: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """A stored response, or its events again."""
    known = await run_in_threadpool(_known, user, response_id)
    if not stream:
        return JSONResponse(known.value)
    after = -1 if starting_after is None else starting_after
    answer = user.service.answers.find(user.owner, known.answer_name) if known.value["status"] in RUNNING else None
    if answer is None:
        return _events(iter(past_events(known.value, after)))
    return _events(live_events(known.value, known.answer_name.rpartition("/")[0], answer, after))


@router.delete("/responses/{response_id}", response_model=DeletedObject)
def delete_response(response_id: str, user: UserDep) -> dict[str, Any]:
    """Delete a stored response; its turn stays in the conversation."""
    _stored(user).delete(response_id)
    return {"id": response_id, "object": "response", "deleted": True}


@router.post("/responses/{response_id}/cancel", response_model=ResponseOut)
def cancel_response(response_id: str, user: UserDep) -> dict[str, Any]:
    """Stop a response that runs in the background; one that has ended is returned as it is."""
    stored = _stored(user)
    known = stored.get(response_id)
    if not known.value.get("background"):
        raise ValidationError("response_id", "only a response in the background can be cancelled")
    value = dict(known.value)
    if value["status"] in RUNNING:
        value["status"] = "cancelled"
        stored.put(replace(known, value=value))
        user.service.answers.stop(user.owner, known.answer_name)
    return value


@router.get("/responses/{response_id}/input_items", response_model=ObjectList)
def input_items(
    response_id: str, user: UserDep, after: str | None = None, limit: ListLimit = 20, order: ListOrder = "desc"
) -> dict[str, Any]:
    """The input of a stored response."""
    return page_of(_stored(user).get(response_id).sent, after=after, limit=limit, order=order)


@router.post("/conversations", response_model=ConversationOut)
def create_conversation(
    user: UserDep,
    body: ConversationIn | None = None,
    idempotency_key: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> dict[str, Any]:
    """Create a conversation, which is a session."""
    given = body or ConversationIn()
    made = id_for(user.owner, "conversation", idempotency_key) if idempotency_key else uuid4().hex
    return _conversations(user).create(f"conv_{made.replace('-', '')}", given.items or (), given.metadata)


@router.get("/conversations/{conversation_id}", response_model=ConversationOut)
def conversation(conversation_id: str, user: UserDep) -> dict[str, Any]:
    """A conversation; every session is one."""
    return shown_conversation(_conversations(user).get(conversation_id))


@router.post("/conversations/{conversation_id}", response_model=ConversationOut)
def update_conversation(conversation_id: str, body: MetadataIn, user: UserDep) -> dict[str, Any]:
    """Change the metadata of a conversation."""
    return _conversations(user).update(conversation_id, body.metadata)


@router.delete("/conversations/{conversation_id}", response_model=DeletedObject)
def delete_conversation(conversation_id: str, user: UserDep) -> dict[str, Any]:
    """Delete a conversation with its items, as a session is deleted."""
    info = _conversations(user).get(conversation_id)
    user.service.forget(user.owner, info.id)
    user.memory.delete_session(info.id, user_id=user.id)
    return {"id": info.id, "object": "conversation.deleted", "deleted": True}


@router.post("/conversations/{conversation_id}/items", response_model=ObjectList)
def add_items(conversation_id: str, body: ItemsIn, user: UserDep) -> dict[str, Any]:
    """Add items to a conversation, at most 20."""
    added = _conversations(user).add(conversation_id, body.items)
    user.service.jobs.note(user.owner, conversation_id)
    return added


@router.get("/conversations/{conversation_id}/items", response_model=ObjectList)
def list_items(
    conversation_id: str, user: UserDep, after: str | None = None, limit: ListLimit = 20, order: ListOrder = "desc"
) -> dict[str, Any]:
    """The items of a conversation: messages, tool calls and their outputs."""
    return _conversations(user).items(conversation_id, after=after, limit=limit, order=order)


@router.get("/conversations/{conversation_id}/items/{item_id}", response_model=dict[str, Any])
def item(conversation_id: str, item_id: str, user: UserDep) -> dict[str, Any]:
    """One item of a conversation."""
    return _conversations(user).item(conversation_id, item_id)


@router.delete("/conversations/{conversation_id}/items/{item_id}", response_model=ConversationOut)
def delete_item(conversation_id: str, item_id: str, user: UserDep) -> dict[str, Any]:
    """Delete one item out of a conversation and out of the memory."""
    _conversations(user).get(conversation_id)
    user.service.forget(user.owner, conversation_id)
    return _conversations(user).delete_item(conversation_id, item_id)


def _events(events: Any, headers: Mapping[str, str] | None = None) -> StreamingResponse:
    return StreamingResponse(events, media_type=SSE_MEDIA_TYPE, headers={**SSE_HEADERS, **(headers or {})})


def _stored(user: RequestUser) -> StoredObjects:
    return StoredObjects(user.memory, user.owner, RESPONSES)


def _conversations(user: RequestUser) -> Conversations:
    return Conversations(user.memory, user.owner)


def _origin(user: RequestUser, body: ResponseIn) -> tuple[SessionInfo | None, str | None]:
    """The session that a request continues, and the turn after which it does so; (None, None) for a new session."""
    named, previous = conversation_id(body.conversation), body.previous_response_id
    if named and previous:
        raise ValidationError("previous_response_id", "cannot be used with conversation; give one of them")
    if named:
        return _conversations(user).get(named), None
    if previous:
        known = _stored(user).get(previous, "previous_response_id")
        session = user.memory.store.sessions.get(user.owner, known.session_id) if known.session_id else None
        return session, known.turn_id
    return None, None


def _continued(user: RequestUser, body: ResponseIn, request: CompletionRequest) -> CompletionRequest:
    """The request in the session that it continues; outputs of tools follow the turn that called them."""
    info, turn_id = _origin(user, body)
    if info is None:
        return request
    newest = next(iter(user.memory.store.turns.page(user.owner, info.id, last=1)), None)
    if turn_id and newest and newest.id != turn_id:
        return replace(request, session_id=_branch(user, info, turn_id))
    request = replace(request, session_id=info.id, agent_id=info.agent_id)
    if any(message["role"] == "user" for message in request.messages):
        return request
    if newest is None or not newest.is_open:
        if body.instructions and not request.messages:
            return request
        raise ValidationError("input", NO_QUESTION)
    return replace(request, messages=[*said_in(newest), *request.messages], turn_id=newest.id)


def _branch(user: RequestUser, info: SessionInfo, turn_id: str) -> str:
    """A new session with the turns up to a turn of this one."""
    last = user.memory.store.turns.get(user.owner, turn_id)
    before = last.turn_number + 1 if last else None
    session = user.memory.session(user_id=user.id, agent_id=info.agent_id)
    session.create(metadata={"branch_of": info.id})
    for turn in user.memory.store.turns.page(user.owner, info.id, last=TURNS_COPIED, before=before):
        if turn.query and turn.response:
            session.add_turn(turn.query, turn.response, created_at=turn.created_at)
    return session.id


def _without_question(user: RequestUser, body: ResponseIn, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The response to a request without a question: no output, no call of a model, nothing stored."""
    model = user.service.answerer(user.caller.tenant_id, body.model or ANY_MODEL[0]).name
    head = response_head(f"resp_{uuid4().hex}", int(time()), model, asked)
    tokens = {"prompt": 0, "completion": 0}
    known = {"finish_reason": "stop", "tokens": tokens, "message_id": "", "tool_calls": []}
    return completed(head, {"message": "", "metadata": known})

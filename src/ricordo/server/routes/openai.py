"""OpenAI's chat completions with memory: any client that speaks them remembers, without knowing of us.

The last user message is the question; what is remembered is composed around it and answered by the model that is set,
or by the reader. The client's own system message stays the base prompt; earlier messages of its request are its own
copy of the talk and are left to it where it sends none of our sessions.
"""

import json
from collections.abc import AsyncIterator, Mapping
from time import time
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ricordo.errors import RicordoError
from ricordo.server.asking import Asking
from ricordo.server.completing import Completing, CompletionRequest
from ricordo.server.problems import STATUSES

router = APIRouter(prefix="/v1", tags=["openai"])

STREAM = "text/event-stream"


class MessageIn(BaseModel):
    """A message of OpenAI's shape."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(min_length=1, max_length=64)]
    content: Any = None


class CompletionIn(BaseModel):
    """A request of OpenAI's shape; what we do not know is passed on to the model."""

    model_config = ConfigDict(extra="allow")

    model: str = "ricordo"
    messages: Annotated[list[MessageIn], Field(min_length=1)]
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None


@router.get("/models")
def models(person: Asking) -> dict[str, Any]:
    """The models that answer here."""
    name = person.chat.answerer.name
    return {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "ricordo"}]}


@router.post("/chat/completions")
async def complete(
    body: CompletionIn,
    request: Request,
    person: Asking,
    x_ricordo_session: Annotated[str | None, Header(include_in_schema=False)] = None,
    x_ricordo_agent: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """Answer as OpenAI's endpoint does, with memory."""
    person.caller.must("chat")
    known = body.metadata or {}
    try:
        user = person.named(body.user).id
        asked = CompletionRequest(
            user_id=user,
            agent_id=x_ricordo_agent or str(known.get("agent_id", "default")),
            session_id=x_ricordo_session or known.get("session_id"),
            messages=[message.model_dump(exclude_unset=True) for message in body.messages],
            options=_options(body),
        )
        completing = Completing(await run_in_threadpool(lambda: person.chat), person.memory)
        prepared = await run_in_threadpool(completing.prepare, asked)
        person.service.wish(person.owner, prepared.session_id)
    except RicordoError as error:
        return _error(error)
    head = {
        "id": f"chatcmpl-{uuid4().hex}",
        "created": int(time()),
        "model": prepared.model,
        "session_id": prepared.session_id,
    }
    if body.stream:
        usage = bool((body.stream_options or {}).get("include_usage"))
        lines = _chunks(head, person, prepared, completing, usage)
        headers = {"Cache-Control": "no-cache", "X-Ricordo-Session": prepared.session_id}
        return StreamingResponse(lines, media_type=STREAM, headers=headers)
    try:
        result = await run_in_threadpool(completing.finish, prepared)
    except RicordoError as error:
        return _error(error)
    message: dict[str, Any] = {"role": "assistant", "content": result.text or None}
    if result.tool_calls:
        message["tool_calls"] = list(result.tool_calls)
    return JSONResponse(
        {
            "id": head["id"],
            "object": "chat.completion",
            "created": head["created"],
            "model": head["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": result.finish_reason, "logprobs": None}],
            "usage": _usage(result),
            "metadata": {"session_id": prepared.session_id},
        },
        headers={"X-Ricordo-Session": prepared.session_id},
    )


async def _chunks(
    head: Mapping[str, Any], person: Any, prepared: Any, completing: Completing, usage: bool
) -> AsyncIterator[str]:
    def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, **more: Any) -> str:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        body = {
            "id": head["id"],
            "object": "chat.completion.chunk",
            "created": head["created"],
            "model": head["model"],
            "choices": choices,
        }
        return f"data: {json.dumps(body | more, ensure_ascii=False)}\n\n"

    answer = person.service.answers.begin(person.owner, prepared.turn_id, lambda stop: completing.events(prepared))
    yield chunk({"role": "assistant", "content": ""})
    async for sent in answer.follow():
        if sent.name == "delta":
            yield chunk({"content": sent.data["text"]})
        elif sent.name == "done":
            known = sent.data["metadata"]
            calls = known.get("tool_calls") or []
            if calls:
                yield chunk({"tool_calls": [{"index": at, **call} for at, call in enumerate(calls)]})
            yield chunk({}, known.get("finish_reason", "stop"))
            if usage:
                yield chunk(None, usage=_tokens(known["tokens"]))
        elif sent.name == "error":
            yield f"data: {json.dumps({'error': {'message': sent.data['detail'], 'type': 'server_error'}})}\n\n"
    yield "data: [DONE]\n\n"


def _options(body: CompletionIn) -> dict[str, Any]:
    """What is passed on to a model: tools, temperature and the like."""
    ours = {"model", "messages", "stream", "stream_options", "user", "metadata"}
    return {key: value for key, value in body.model_dump(exclude_unset=True).items() if key not in ours}


def _usage(result: Any) -> dict[str, int]:
    return _tokens({"prompt": result.prompt_tokens, "completion": result.completion_tokens})


def _tokens(tokens: Mapping[str, int]) -> dict[str, int]:
    prompt, completion = tokens["prompt"], tokens["completion"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _error(error: RicordoError) -> Response:
    status = getattr(error, "status", None)
    status = status or next(status for kind, status, _ in STATUSES if isinstance(error, kind))
    kind = "invalid_request_error" if status < 500 else "server_error"
    shape = {"message": str(error), "type": kind, "param": getattr(error, "field", None), "code": None}
    return JSONResponse({"error": shape}, status)

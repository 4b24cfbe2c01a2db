"""Routes in OpenAI's format: chat completions with memory for any OpenAI client.

The last user message is the question; `ricordo.server.completions` composes the prompt around it. The configured model
answers, or else the reader.
"""

import json
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from hashlib import sha256
from time import time
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Header
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ricordo.chat.response import Done, Event
from ricordo.server.completions import CompletionRequest, Completions, PreparedCompletion
from ricordo.server.idempotency import id_for
from ricordo.server.problems import body_response, openai_error
from ricordo.server.service import RequestUser, UserDep, count_answer, utf8_header
from ricordo.server.streams import SSE_HEADERS, SSE_MEDIA_TYPE, SSE_RESPONSES, AnswerStream, StreamEvent
from ricordo.server.tenant_schemas import CompletionOut, ModelsOut

router = APIRouter(prefix="/v1", tags=["openai"])


class OpenAIMessage(BaseModel):
    """A message in OpenAI's format."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(min_length=1, max_length=64)]
    content: Any = None


class CompletionIn(BaseModel):
    """A request in OpenAI's format; other fields are passed on to the model."""

    model_config = ConfigDict(extra="allow")

    model: str = "ricordo"
    messages: Annotated[list[OpenAIMessage], Field(min_length=1)]
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None


@router.get("/models", response_model=ModelsOut)
def models(user: UserDep) -> dict[str, Any]:
    """The models that answer here."""
    name = user.chat.answerer.name
    return {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "ricordo"}]}


@router.post("/chat/completions", response_model=CompletionOut, responses=SSE_RESPONSES)
async def complete(
    body: CompletionIn,
    user: UserDep,
    x_ricordo_session: Annotated[str | None, Header(include_in_schema=False)] = None,
    x_ricordo_agent: Annotated[str | None, Header(include_in_schema=False)] = None,
    idempotency_key: Annotated[str | None, Header(include_in_schema=False)] = None,
    x_client_request_id: Annotated[str | None, Header(include_in_schema=False)] = None,
    x_request_id: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """A chat completion with memory.

    The same `Idempotency-Key`, `X-Client-Request-Id` or `X-Request-Id` again is the same request; equal words are not.
    """
    known = body.metadata or {}
    user = user.override(body.user)
    key = idempotency_key or x_client_request_id or x_request_id
    completion_request = CompletionRequest(
        user_id=user.id,
        agent_id=utf8_header("X-Ricordo-Agent", x_ricordo_agent) or str(known.get("agent_id", "default")),
        session_id=utf8_header("X-Ricordo-Session", x_ricordo_session) or known.get("session_id"),
        messages=[message.model_dump(exclude_unset=True) for message in body.messages],
        options=_options(body),
        turn_id=id_for(user.owner, "completion", key) if key else None,
    )
    completions = Completions(await run_in_threadpool(lambda: user.chat), user.memory)
    prepared = await run_in_threadpool(completions.prepare, completion_request)
    user.service.jobs.note(user.owner, prepared.session_id)
    if prepared.context:
        user.service.metrics.record_context(prepared.context_ms, prepared.context.receipt.total_tokens)
    answer = _begin(user, completions, prepared)
    headers = {"X-Ricordo-Session": _header(prepared.session_id)}
    head = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time()), "model": prepared.model}
    if body.stream:
        if (first := await _first(answer)) and first.name == "error":  # before any word: the status can tell it
            return body_response(first.data | {"instance": "/v1/chat/completions"})
        usage = bool((body.stream_options or {}).get("include_usage"))
        return StreamingResponse(_chunks(head, answer, usage), media_type=SSE_MEDIA_TYPE, headers=SSE_HEADERS | headers)
    last = await answer.last()
    if last.name == "error":
        return body_response(last.data | {"instance": "/v1/chat/completions"})
    return JSONResponse(_completion(head, last.data), headers=headers)


def _begin(user: RequestUser, completions: Completions, prepared: PreparedCompletion) -> AnswerStream:
    """Start the answer, or join the running one of the same request."""
    digest = sha256(json.dumps([prepared.sent.messages, prepared.options], default=str).encode()).hexdigest()
    name = f"{prepared.turn_id}/{digest[:16]}"  # a turn with tool calls has several answers

    def work(stop: Callable[[], bool]) -> Generator[Event, None, None]:
        for event in completions.events(prepared, stop):
            if isinstance(event, Done) and not prepared.context:
                count_answer(user, event)
            yield event

    return user.service.answers.begin(user.owner, name, work)


async def _first(answer: AnswerStream) -> StreamEvent | None:
    """The first event of an answer, once it is there."""
    async for event in answer.follow():
        return event
    return None


def _completion(head: Mapping[str, Any], response: Mapping[str, Any]) -> dict[str, Any]:
    known = response["metadata"]
    message: dict[str, Any] = {"role": "assistant", "content": response["message"] or None}
    if known["tool_calls"]:
        message["tool_calls"] = list(known["tool_calls"])
    choice = {"index": 0, "message": message, "finish_reason": known["finish_reason"], "logprobs": None}
    return {
        **head,
        "object": "chat.completion",
        "choices": [choice],
        "usage": _tokens(known["tokens"]),
        "metadata": {"session_id": response["session_id"]},
    }


def _header(text: str) -> str:
    """An id as a header value; empty if a header cannot hold it."""
    return text if text.isascii() and text.isprintable() else ""


async def _chunks(head: Mapping[str, Any], answer: AnswerStream, usage: bool) -> AsyncIterator[str]:
    def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, **more: Any) -> str:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        body = {**head, "object": "chat.completion.chunk", "choices": choices}
        return f"data: {json.dumps(body | more, ensure_ascii=False)}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    async for event in answer.follow():
        if event.name == "delta":
            yield chunk({"content": event.data["text"]})
        elif event.name == "done":
            known = event.data["metadata"]
            calls = known.get("tool_calls") or []
            if calls:
                yield chunk({"tool_calls": [{"index": at, **call} for at, call in enumerate(calls)]})
            yield chunk({}, known.get("finish_reason", "stop"))
            if usage:
                yield chunk(None, usage=_tokens(known["tokens"]))
        elif event.name == "error":
            yield f"data: {json.dumps(openai_error(event.data))}\n\n"
    yield "data: [DONE]\n\n"


def _options(body: CompletionIn) -> dict[str, Any]:
    """The fields that are passed on to the model, such as tools and temperature."""
    ours = {"model", "messages", "stream", "stream_options", "user", "metadata"}
    return {key: value for key, value in body.model_dump(exclude_unset=True).items() if key not in ours}


def _tokens(tokens: Mapping[str, int]) -> dict[str, int]:
    prompt, completion = tokens["prompt"], tokens["completion"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

"""OpenAI's chat completions with memory: any client that speaks them remembers, without knowing of us.

The last user message is the question; what is remembered is composed around it (`ricordo.server.completions`) and
answered by the model that is set, or by the reader. The same request sent again gets the same answer.
"""

import json
from collections.abc import AsyncIterator, Mapping
from hashlib import sha256
from time import time
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Header
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ricordo.server.completions import Completing, CompletionRequest, Prepared
from ricordo.server.dependencies import Asking, RequestUser
from ricordo.server.problems import answered, as_openai
from ricordo.server.schemas.service import CompletionOut, ModelsOut
from ricordo.server.streams import HEADERS, SHOWN, STREAM, AnswerStream

router = APIRouter(prefix="/v1", tags=["openai"])


class OpenAIMessage(BaseModel):
    """A message of OpenAI's shape."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(min_length=1, max_length=64)]
    content: Any = None


class CompletionIn(BaseModel):
    """A request of OpenAI's shape; what we do not know is passed on to the model."""

    model_config = ConfigDict(extra="allow")

    model: str = "ricordo"
    messages: Annotated[list[OpenAIMessage], Field(min_length=1)]
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None


@router.get("/models", response_model=ModelsOut)
def models(person: Asking) -> dict[str, Any]:
    """The models that answer here."""
    name = person.chat.answerer.name
    return {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "ricordo"}]}


@router.post("/chat/completions", response_model=CompletionOut, responses=SHOWN)
async def complete(
    body: CompletionIn,
    person: Asking,
    x_ricordo_session: Annotated[str | None, Header(include_in_schema=False)] = None,
    x_ricordo_agent: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """Answer as OpenAI's endpoint does, with memory."""
    known = body.metadata or {}
    asked = CompletionRequest(
        user_id=person.named(body.user).id,
        agent_id=x_ricordo_agent or str(known.get("agent_id", "default")),
        session_id=x_ricordo_session or known.get("session_id"),
        messages=[message.model_dump(exclude_unset=True) for message in body.messages],
        options=_options(body),
    )
    completing = Completing(await run_in_threadpool(lambda: person.chat), person.memory)
    prepared = await run_in_threadpool(completing.prepare, asked)
    person.service.jobs.note(person.owner, prepared.session_id)
    person.service.metrics.composed(prepared.composing_ms, prepared.context.receipt.total_tokens)
    answer = _begin(person, completing, prepared)
    headers = {"X-Ricordo-Session": _header(prepared.session_id)}
    head = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time()), "model": prepared.model}
    if body.stream:
        usage = bool((body.stream_options or {}).get("include_usage"))
        return StreamingResponse(_chunks(head, answer, usage), media_type=STREAM, headers=HEADERS | headers)
    async for sent in answer.follow():
        if sent.name == "error":
            return answered(sent.data | {"instance": "/v1/chat/completions"})
        if sent.name == "done":
            return JSONResponse(_completion(head, sent.data), headers=headers)
    raise AssertionError("an answer ends with its response")


def _begin(person: RequestUser, completing: Completing, prepared: Prepared) -> AnswerStream:
    """Begin the answer, or join it where the very same request is under way already: clients try again on their own."""
    digest = sha256(json.dumps([prepared.asked, prepared.options], default=str).encode()).hexdigest()
    name = f"{prepared.turn_id}/{digest[:16]}"  # a turn has several answers where tools are called on the way
    return person.service.answers.begin(person.owner, name, lambda stop: completing.events(prepared))


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
    """An id as a header can carry it."""
    return text if text.isascii() and text.isprintable() else ""


async def _chunks(head: Mapping[str, Any], answer: AnswerStream, usage: bool) -> AsyncIterator[str]:
    def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, **more: Any) -> str:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        body = {**head, "object": "chat.completion.chunk", "choices": choices}
        return f"data: {json.dumps(body | more, ensure_ascii=False)}\n\n"

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
            yield f"data: {json.dumps(as_openai(sent.data))}\n\n"
    yield "data: [DONE]\n\n"


def _options(body: CompletionIn) -> dict[str, Any]:
    """What is passed on to a model: tools, temperature and the like."""
    ours = {"model", "messages", "stream", "stream_options", "user", "metadata"}
    return {key: value for key, value in body.model_dump(exclude_unset=True).items() if key not in ours}


def _tokens(tokens: Mapping[str, int]) -> dict[str, int]:
    prompt, completion = tokens["prompt"], tokens["completion"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

"""Routes in OpenAI's format: models, chat completions with memory, and embeddings, for any OpenAI client.

The last user message is the question; `ricordo.server.openai_completions` composes the prompt around it. One of the
configured models answers, or else the reader.
"""

import base64
import json
import struct
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from time import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import AfterValidator, Field

from ricordo.chat.response import ChatResponse
from ricordo.errors import LLMError, ValidationError
from ricordo.limits import check_project, check_text
from ricordo.recall.embedders import EmbedderError
from ricordo.server.idempotency import id_for
from ricordo.server.openai_completions import CompletionRequest, begin, prepare
from ricordo.server.openai_objects import (
    COMPLETIONS,
    CompletionOut,
    DeletedObject,
    EmbeddingsOut,
    ListLimit,
    ListOrder,
    MetadataIn,
    ModelOut,
    ModelsOut,
    ObjectList,
    OpenAIBody,
    StoredObject,
    StoredObjects,
    check_pairs,
    conversation_id,
    page_of,
    session_header,
)
from ricordo.server.problems import ObjectNotFound, body_response, openai_error
from ricordo.server.service import ANY_MODEL, RequestUser, UserDep, utf8_header
from ricordo.server.streams import SSE_HEADERS, SSE_MEDIA_TYPE, SSE_RESPONSES, AnswerStream

router = APIRouter(prefix="/v1", tags=["openai"])

MOST_CHOICES = 16
MOST_INPUTS = 2_048  # texts of one request for embeddings
SESSION_NAMES = ("session_id", "conversation_id", "chat_id", "thread_id")  # keys of metadata
_OURS = {"model", "messages", "stream", "stream_options", "user", "metadata", "conversation", "n", "store"}


def _check_content(content: Any) -> Any:
    if isinstance(content, list):
        if not all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in content):
            raise ValueError("each part must be an object with a type")
    elif content is not None and not isinstance(content, str):
        raise ValueError("must be a text or a list of parts")
    return content


class OpenAIMessage(OpenAIBody):
    """A message in OpenAI's format."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[Any, AfterValidator(_check_content)] = None


class CompletionIn(OpenAIBody):
    """A request in OpenAI's format; other fields are passed on to the model."""

    model: str = ANY_MODEL[0]
    messages: Annotated[list[OpenAIMessage], Field(min_length=1)]
    n: Annotated[int | None, Field(ge=1, le=MOST_CHOICES)] = None
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    temperature: Annotated[float | None, Field(ge=0, le=2)] = None
    top_p: Annotated[float | None, Field(ge=0, le=1)] = None
    tools: list[dict[str, Any]] | None = None
    response_format: dict[str, Any] | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None
    conversation: Any = None
    store: bool | None = None


class EmbeddingsIn(OpenAIBody):
    """A request for embeddings in OpenAI's format."""

    model: str = ANY_MODEL[0]
    input: Any
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    user: str | None = None


@router.get("/models", response_model=ModelsOut)
def models(user: UserDep) -> dict[str, Any]:
    """The models that answer here."""
    return {"object": "list", "data": [_model(name) for name in user.service.model_names]}


@router.get("/models/{model:path}", response_model=ModelOut)
def model(model: str, user: UserDep) -> dict[str, Any]:
    """One of the models."""
    user.service.answerer(user.caller.tenant_id, model)
    return _model(model)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ricordo"}


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
    named = utf8_header("X-Ricordo-Session", x_ricordo_session)
    named = named or next((known[name] for name in SESSION_NAMES if known.get(name) is not None), None)
    request = CompletionRequest(
        user_id=user.id,
        agent_id=utf8_header("X-Ricordo-Agent", x_ricordo_agent) or str(known.get("agent_id", "default")),
        session_id=named or conversation_id(body.conversation),
        messages=_messages(body),
        options={key: value for key, value in body.model_dump(exclude_unset=True).items() if key not in _OURS},
        turn_id=id_for(user.owner, "completion", key) if key else None,
        choices=body.n or 1,
        project=None if known.get("project") is None else check_project(known["project"], field="metadata.project"),
    )
    pairs = check_pairs(known) if body.store else known
    completions, prepared = await prepare(user, body.model, request)
    head = {"id": f"chatcmpl-{prepared.object_id}", "created": int(time()), "model": prepared.model}

    def keep(result: ChatResponse | Exception) -> None:
        if body.store and isinstance(result, ChatResponse):
            value = _completion(head, result.as_json()) | {"metadata": pairs}
            sent = [{"id": f"{value['id']}-{at}", **each} for at, each in enumerate(request.messages)]
            _stored(user).put(StoredObject(value, sent, prepared.session_id, prepared.turn_id))

    answer = begin(user, completions, prepared, keep)
    headers = {"X-Ricordo-Session": session_header(prepared.session_id)}
    if body.stream:
        if (first := await answer.first()) and first.name == "error":  # no text was sent: the status can be the error's
            return body_response(first.data | {"instance": "/v1/chat/completions"})
        usage = bool((body.stream_options or {}).get("include_usage"))
        return StreamingResponse(_chunks(head, answer, usage), media_type=SSE_MEDIA_TYPE, headers=SSE_HEADERS | headers)
    last = await answer.last()
    if last.name == "error":
        return body_response(last.data | {"instance": "/v1/chat/completions"})
    return JSONResponse(_completion(head, last.data), headers=headers)


@router.get("/chat/completions", response_model=ObjectList)
def list_completions(
    request: Request,
    user: UserDep,
    after: str | None = None,
    limit: ListLimit = 20,
    order: ListOrder = "asc",
    model: str | None = None,
) -> dict[str, Any]:
    """The chat completions that were stored with `store`."""
    asked = {key[9:-1]: value for key, value in request.query_params.items() if key.startswith("metadata[")}
    kept = _stored(user).listed()
    found = [each for each in kept if model in (None, each["model"]) and asked.items() <= each["metadata"].items()]
    if after is not None and not any(each["id"] == after for each in found):  # the filter may exclude it
        found = [each for each in kept if each in found or each["id"] == after]
    return page_of(found, after=after, limit=limit, order=order)


@router.get("/chat/completions/{completion_id}", response_model=CompletionOut)
def completion(completion_id: str, user: UserDep) -> dict[str, Any]:
    """A stored chat completion."""
    return dict(_stored(user).get(completion_id).value)


@router.post("/chat/completions/{completion_id}", response_model=CompletionOut)
def update_completion(completion_id: str, body: MetadataIn, user: UserDep) -> dict[str, Any]:
    """Change the metadata of a stored chat completion."""
    stored = _stored(user)
    known = stored.get(completion_id)
    value = {**known.value, "metadata": check_pairs(body.metadata)}
    stored.put(replace(known, value=value))
    return value


@router.delete("/chat/completions/{completion_id}", response_model=DeletedObject)
def delete_completion(completion_id: str, user: UserDep) -> dict[str, Any]:
    """Delete a stored chat completion; its turn stays."""
    _stored(user).delete(completion_id)
    return {"id": completion_id, "object": "chat.completion.deleted", "deleted": True}


@router.get("/chat/completions/{completion_id}/messages", response_model=ObjectList)
def completion_messages(
    completion_id: str, user: UserDep, after: str | None = None, limit: ListLimit = 20, order: ListOrder = "asc"
) -> dict[str, Any]:
    """The messages that a stored chat completion answers."""
    return page_of(_stored(user).get(completion_id).sent, after=after, limit=limit, order=order)


@router.post("/embeddings", response_model=EmbeddingsOut)
def embeddings(body: EmbeddingsIn, user: UserDep) -> dict[str, Any]:
    """The vectors of texts, by the embedder of this memory."""
    embedder, settings = user.memory.embedder, user.memory.settings
    chosen = settings.recall.embedder
    name = chosen.partition("#")[2] or embedder.name  # without the address, which clients must not see
    if body.model not in (*ANY_MODEL, name, chosen):
        raise ObjectNotFound("model", f"the embedder {body.model!r} is not known; known is: {name}")
    texts = [body.input] if isinstance(body.input, str) else body.input
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise ValidationError("input", "must be a text or a list of texts; tokens are not supported")
    if len(texts) > MOST_INPUTS:
        raise ValidationError("input", f"has {len(texts)} texts; at most {MOST_INPUTS} are taken")
    for at, text in enumerate(texts):
        check_text("input" if isinstance(body.input, str) else f"input.{at}", text, settings.limits)
    try:
        vectors = [[float(value) for value in vector] for vector in embedder.embed_passages(texts)]
    except EmbedderError as error:
        raise LLMError(f"the embedder did not answer: {error}") from error
    if body.dimensions is not None and body.dimensions != len(vectors[0]):
        raise ValidationError("dimensions", f"this embedder has {len(vectors[0])} dimensions, which cannot be changed")
    counted = sum(map(user.memory.counter.count, texts))
    written = _base64 if body.encoding_format == "base64" else list
    data = [{"object": "embedding", "index": at, "embedding": written(each)} for at, each in enumerate(vectors)]
    usage = {"prompt_tokens": counted, "total_tokens": counted}
    return {"object": "list", "data": data, "model": name, "usage": usage}


def _base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _stored(user: RequestUser) -> StoredObjects:
    return StoredObjects(user.memory, user.owner, COMPLETIONS)


def _completion(head: Mapping[str, Any], response: Mapping[str, Any]) -> dict[str, Any]:
    known = response["metadata"]
    answers = [{**known, "message": response["message"]}, *known.get("choices", ())]
    return {
        **head,
        "object": "chat.completion",
        "choices": [_choice(at, each) for at, each in enumerate(answers)],
        "usage": _tokens(known["tokens"]),
        "metadata": {"session_id": response["session_id"]},
    }


def _choice(index: int, answer: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer["message"] or None}
    if answer["tool_calls"]:
        message["tool_calls"] = list(answer["tool_calls"])
    return {"index": index, "message": message, "finish_reason": answer["finish_reason"], "logprobs": None}


async def _chunks(head: Mapping[str, Any], answer: AnswerStream, usage: bool) -> AsyncIterator[str]:
    def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, index: int = 0, **more: Any) -> str:
        choices = [] if delta is None else [{"index": index, "delta": delta, "finish_reason": finish, "logprobs": None}]
        body = {**head, "object": "chat.completion.chunk", "choices": choices}
        return f"data: {json.dumps(body | more, ensure_ascii=False)}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    async for event in answer.follow():
        if event.name == "delta":
            yield chunk({"content": event.data["text"]})
        elif event.name == "done":
            known = event.data["metadata"]
            for at, each in enumerate([{**known, "message": ""}, *known.get("choices", ())]):
                if at:  # the first one was streamed
                    yield chunk({"role": "assistant", "content": each["message"]}, index=at)
                if calls := each.get("tool_calls"):
                    yield chunk({"tool_calls": [{"index": nth, **call} for nth, call in enumerate(calls)]}, index=at)
                yield chunk({}, each.get("finish_reason", "stop"), at)
            if usage:
                yield chunk(None, usage=_tokens(known["tokens"]))
        elif event.name == "error":
            yield f"data: {json.dumps(openai_error(event.data))}\n\n"
    yield "data: [DONE]\n\n"


def _messages(body: CompletionIn) -> list[dict[str, Any]]:
    messages = [message.model_dump(exclude_unset=True) for message in body.messages]
    for at, message in enumerate(messages):
        if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str):
            raise ValidationError(f"messages.{at}.tool_call_id", "a tool message names the call that it answers")
    return messages


def _tokens(tokens: Mapping[str, int]) -> dict[str, int]:
    prompt, completion = tokens["prompt"], tokens["completion"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

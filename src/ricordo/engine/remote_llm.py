"""Any OpenAI-compatible chat endpoint, called with the standard library alone.

Messages are sent unchanged, with their tool calls; the answer is returned whole or piece by piece, with its cost. The
client retries if the server is busy or fails, but never after a stream has begun.
"""

import json
import random
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ricordo.engine import Completion, TokenCounter
from ricordo.engine.chat_protocol import BadEvent, Body, Dialect, StreamedAnswer, events
from ricordo.engine.http import (
    DEFAULT_POLICY,
    Address,
    ConnectError,
    HttpError,
    JsonClient,
    ReadTimeout,
    Reply,
    ReplyTooLarge,
    RequestPolicy,
    StatusError,
    read_body,
)
from ricordo.engine.tokens import ApproximateCounter, content_tokens
from ricordo.errors import FailureCause, LLMError

T = TypeVar("T")

_CODE = re.compile(r"[A-Za-z_]{1,60}")
_CAUSES: dict[int, FailureCause] = {
    401: "refused", 403: "refused", 404: "refused", 408: "timeout", 429: "rate_limited", 504: "timeout",
}  # fmt: skip
_REMEDIES = {
    401: "check the key (RICORDO_LLM_KEY)",
    403: "check the key (RICORDO_LLM_KEY) and what it allows",
    404: "check the address, which ends before /chat/completions, and the name of the model",
    413: "send fewer messages",
    429: "wait, or raise the limit of the key",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server: its base URL (ending before /chat/completions), the model, the key.

    `extra` is sent with every request: temperature, seed, tools. The key appears in no representation and in no error;
    a URL that holds a password is refused, because URLs are logged.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    policy: RequestPolicy = DEFAULT_POLICY
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        host = self.address.host
        if not self.model:
            raise LLMError(f"the model on {host} has no name: write URL#MODEL")
        if self.key and not (self.key.isascii() and self.key.isprintable()):
            raise LLMError(f"the key for the model on {host} contains characters that a header cannot have")

    @property
    def address(self) -> Address:
        """Where requests are sent."""
        try:
            return Address(self.url, "/chat/completions")
        except ValueError as problem:
            raise LLMError(f"the address of a model {problem}") from None

    @property
    def shown(self) -> str:
        """Model and address for error messages."""
        return f"model {self.model!r} on {self.address.shown}"


class RemoteLLM:
    """A chat model behind an endpoint. Threads can share one object."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        counter: TokenCounter | None = None,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._endpoint = endpoint
        self._counter = counter or ApproximateCounter()
        self._client = JsonClient(
            endpoint.address,
            name=endpoint.shown,
            key=endpoint.key,
            policy=endpoint.policy,
            sleep=sleep,
            jitter=jitter,
        )
        self._dialect = Dialect()

    @property
    def name(self) -> str:
        return self._endpoint.model

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Completion:
        raw = self._post(
            lambda dialect: dialect.body(messages, max_tokens=max_tokens, schema=schema, options=options),
            read_body,
            accept="application/json",
        )
        return self._completion(messages, raw)

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Generator[str, None, Completion]:
        reply = self._post(
            lambda dialect: dialect.body(messages, max_tokens=max_tokens, stream=True, options=options),
            lambda reply: reply,
            accept="text/event-stream",
        )
        with reply:
            if reply.content_type in ("application/json", "text/html"):  # a server that does not stream, or a page
                done = self._completion(messages, self._rest(reply))
                if done.text:
                    yield done.text
                return done
            answer = StreamedAnswer()
            for event in self._events(reply):
                if piece := answer.add(event):
                    yield piece
            if answer.finish_reason is None:
                raise LLMError(f"{self._endpoint.shown} broke off in the middle of its answer: ask again", cause="cut")
            text = "".join(answer.text)
            return self._account(messages, text, answer.tool_calls, answer.usage, answer.finish_reason)

    def _post(self, write: Callable[[Dialect], Body], read: Callable[[Reply], T], *, accept: str) -> T:
        """Post in reduced dialects until the server accepts one, which is used from then on."""
        dialect = self._dialect
        while True:
            body = write(dialect)
            try:
                answer = self._client.post(
                    {"model": self._endpoint.model, **self._endpoint.extra, **body}, read, accept=accept
                )
            except HttpError as error:
                reduced = None
                if isinstance(error, StatusError):
                    reduced = dialect.reduced(body, error.status, error.body.decode("utf-8", "replace"))
                if reduced is None:
                    raise self._failure(error) from error
                dialect = reduced
            else:
                self._dialect = dialect
                return answer

    def _rest(self, reply: Reply) -> bytes:
        """The body of a reply that is not requested again."""
        try:
            return reply.read()
        except HttpError as cause:
            said = f"{self._endpoint.shown} broke off in the middle of its answer: ask again"
            raise LLMError(said, cause="cut") from cause

    def _events(self, reply: Reply) -> Iterator[Mapping[str, Any]]:
        """The events of a stream. LLMError if it ends early for any reason."""
        try:
            for event in events(reply.lines()):
                self._check_error(event)
                yield event
        except BadEvent as cause:
            raise LLMError(f"{self._endpoint.shown} streamed something that is not an answer ({cause})") from cause
        except HttpError as cause:
            raise LLMError(
                f"{self._endpoint.shown} broke off in the middle of its answer ({type(cause).__name__}): ask again",
                cause="timeout" if isinstance(cause, ReadTimeout) else "cut",
            ) from cause

    def _failure(self, error: HttpError) -> LLMError:
        """The error for the caller: model, cause and remedy."""
        shown = self._endpoint.shown
        if isinstance(error, StatusError):
            try:
                answer = json.loads(error.body)
            except (ValueError, RecursionError):
                answer = None
            remedy = _REMEDIES.get(error.status, "try again later" if error.status >= 500 else "check the request")
            said = f"{shown} answered {error.status}{self._code(answer)}: {remedy}"
            return LLMError(said, cause=_CAUSES.get(error.status, "failed"), status=error.status)
        if isinstance(error, ConnectError):
            return LLMError(
                f"{shown} cannot be reached ({error}): check the address and the network", cause="unreachable"
            )
        if isinstance(error, ReadTimeout):
            said = (
                f"{shown} sent nothing for {self._endpoint.policy.read:g} s: raise the read timeout or send less text"
            )
            return LLMError(said, cause="timeout")
        if isinstance(error, ReplyTooLarge):
            return LLMError(f"{shown} sends without end ({error}): check that it is a chat endpoint")
        return LLMError(f"{shown} broke off ({error}): try again later", cause="cut")

    def _check_error(self, answer: object) -> None:
        """Raise if the answer is an error object, which some servers send with status 200."""
        if isinstance(answer, dict) and answer.get("error"):
            raise LLMError(f"{self._endpoint.shown} failed while answering{self._code(answer)}: ask again")

    def _code(self, answer: object) -> str:
        """The code or type of an error if it is a plain name: error texts may repeat the message or the key."""
        error = answer.get("error") if isinstance(answer, dict) else None
        codes = [error.get(key) for key in ("code", "type")] if isinstance(error, dict) else []
        names = [
            code for code in codes if isinstance(code, str) and _CODE.fullmatch(code) and code != self._endpoint.key
        ]
        return f" ({names[0]})" if names else ""

    def _completion(self, messages: Sequence[Mapping[str, Any]], raw: bytes) -> Completion:
        try:
            answer = json.loads(raw)
            self._check_error(answer)
            choice = answer["choices"][0]
            said = choice["message"]
            text, calls = said.get("content") or "", said.get("tool_calls") or ()
            if not isinstance(text, str) or not all(isinstance(call, Mapping) for call in calls):
                raise TypeError("content or tool calls of another shape")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as cause:
            raise LLMError(
                f"{self._endpoint.shown} did not answer with a chat completion ({type(cause).__name__}): "
                "check that the address ends before /chat/completions"
            ) from cause
        finish = choice.get("finish_reason")
        return self._account(
            messages, text, tuple(calls), answer.get("usage"), finish if isinstance(finish, str) else "stop"
        )

    def _account(
        self,
        messages: Sequence[Mapping[str, Any]],
        text: str,
        calls: tuple[Mapping[str, Any], ...],
        usage: object,
        finish: str,
    ) -> Completion:
        """The completion with its cost: the endpoint's figures, or counted here and marked as not exact."""
        said = usage if isinstance(usage, Mapping) else {}
        figures = (said.get("prompt_tokens"), said.get("completion_tokens"))
        exact = all(type(figure) is int and figure >= 0 for figure in figures)
        prompt, completion = figures if exact else (self._cost(messages), content_tokens(text, calls, self._counter))
        return Completion(text, self.name, int(prompt or 0), int(completion or 0), exact, calls, finish)

    def _cost(self, messages: Sequence[Mapping[str, Any]]) -> int:
        total = 0
        for message in messages:
            content = message.get("content") or ""
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            total += content_tokens(text, message.get("tool_calls") or (), self._counter)
            total += self._counter.message_overhead
        return total

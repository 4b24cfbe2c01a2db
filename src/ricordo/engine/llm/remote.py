"""Any OpenAI-compatible chat endpoint, asked with the standard library alone.

Messages go out as they are, tool calls included; an answer comes back whole or piece by piece, with its cost. A busy
or failing server is asked again with growing waits, but never once it has begun to answer in a stream.
"""

import http.client
import json
import logging
import random
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from ricordo.engine.http import NoConnectionError, Reply, TooMuchError, post
from ricordo.engine.llm.endpoint import RETRIED, Body, Dialect, Endpoint, asked_for, wait
from ricordo.engine.llm.stream import Gathered, NotAnEvent, events
from ricordo.engine.protocols import Completion, TokenCounter
from ricordo.engine.tokens import ApproximateCounter, content_tokens
from ricordo.errors import LLMError

# Asking an endpoint until it answers: bodies go in, answers come out, or one error that says what to do.

log = logging.getLogger("ricordo.engine.llm")

T = TypeVar("T")

LOST = (OSError, http.client.HTTPException)
_CODE = re.compile(r"[A-Za-z_]{1,60}")
_REMEDIES = {
    401: "check the key (RICORDO_LLM_KEY)",
    403: "check the key (RICORDO_LLM_KEY) and what it allows",
    404: "check the address, which ends before /chat/completions, and the name of the model",
    413: "ask with fewer messages",
    429: "wait, or raise the limit of the key",
}


class Refusal(LLMError):  # noqa: N818 - an answer, not a fault
    """The server understood the connection and refused the request; `complaint` is only for choosing a dialect."""

    def __init__(self, message: str, status: int, complaint: str) -> None:
        super().__init__(message)
        self.status = status
        self.complaint = complaint


class Asking:
    """Requests to one endpoint."""

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], None], chance: Callable[[], float]) -> None:
        self._endpoint = endpoint
        self._sleep = sleep
        self._chance = chance

    def whole(self, body: dict[str, Any]) -> bytes:
        """The whole answer to a request; one that breaks off is asked for again, since nobody has seen it."""
        return self._until_answered(body, "application/json", self._read)

    def begun(self, body: dict[str, Any]) -> Reply:
        """The reply to a request whose answer begins to come; to be closed by the caller."""
        return self._until_answered(body, "text/event-stream", lambda reply: reply)

    def rest(self, reply: Reply) -> bytes:
        """What is left of a reply that is not asked for again."""
        try:
            return reply.body(time.monotonic() + self._endpoint.patience.whole)
        except LOST as cause:
            raise LLMError(f"{self._endpoint.where} broke off in the middle of its answer: ask again") from cause

    def refuse_failure(self, answer: object) -> None:
        """Some servers tell of a failure where an answer should be."""
        if isinstance(answer, dict) and answer.get("error"):
            raise LLMError(f"{self._endpoint.where} failed while answering{self._code(answer)}: ask again")

    def _read(self, reply: Reply) -> bytes:
        with reply:
            return reply.body(time.monotonic() + self._endpoint.patience.whole)

    def _until_answered(self, body: dict[str, Any], accept: str, read: Callable[[Reply], T]) -> T:
        sent = {"model": self._endpoint.model, **self._endpoint.extra, **body}
        data = json.dumps(sent).encode("utf-8", "replace")
        attempt = 0
        while True:
            attempt += 1
            asked = None
            try:
                reply = post(self._endpoint, data, accept=accept)
                if reply.status == 200:
                    return read(reply)
                failure: LLMError = self._refusal(reply)
                asked = asked_for(reply.headers, datetime.now(UTC))
                cause: Exception | None = None
                again = reply.status in RETRIED
            except LOST as lost:
                failure, cause = self._lost(lost), lost
                again = isinstance(lost, NoConnectionError) or not isinstance(lost, TimeoutError | TooMuchError)
            pause = wait(attempt, self._endpoint.patience, chance=self._chance(), asked=asked) if again else None
            if pause is None:
                raise failure from cause
            log.info("%s; asking again in %.1f s", failure, pause)
            self._sleep(pause)

    def _refusal(self, reply: Reply) -> Refusal:
        with reply:
            try:
                raw = reply.body(time.monotonic() + self._endpoint.patience.read)[:65_536]
            except LOST:
                raw = b""
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError):
            answer = None
        remedy = _REMEDIES.get(reply.status, "try again later" if reply.status >= 500 else "check the request")
        message = f"{self._endpoint.where} answered {reply.status}{self._code(answer)}: {remedy}"
        return Refusal(message, reply.status, raw.decode("utf-8", "replace"))

    def _lost(self, cause: Exception) -> LLMError:
        where = self._endpoint.where
        if isinstance(cause, NoConnectionError):
            return LLMError(f"{where} cannot be reached ({cause}): check the address and the network")
        if isinstance(cause, TimeoutError):
            silence = self._endpoint.patience.read
            return LLMError(f"{where} was silent for {silence:g} s: give it more time or less text")
        if isinstance(cause, TooMuchError):
            return LLMError(f"{where} sends without end ({cause}): check that it is a chat endpoint")
        return LLMError(f"{where} broke off ({type(cause).__name__}): try again later")

    def _code(self, answer: object) -> str:
        """The error's code or type, if it is a name: texts echo what was said, and digits may be of a key."""
        error = answer.get("error") if isinstance(answer, dict) else None
        told = [error.get(key) for key in ("code", "type")] if isinstance(error, dict) else []
        named = [
            code for code in told if isinstance(code, str) and _CODE.fullmatch(code) and code != self._endpoint.key
        ]
        return f" ({named[0]})" if named else ""


class RemoteLLM:
    """A chat model behind an endpoint. Every call has its own connection, so that threads can share one object."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        counter: TokenCounter | None = None,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._endpoint = endpoint
        self._counter = counter or ApproximateCounter()
        self._asking = Asking(endpoint, sleep, chance)
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
        raw = self._understood(
            lambda dialect: dialect.body(messages, max_tokens=max_tokens, schema=schema, options=options),
            self._asking.whole,
        )
        return self._completion(messages, raw)

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Generator[str, None, Completion]:
        reply = self._understood(
            lambda dialect: dialect.body(messages, max_tokens=max_tokens, stream=True, options=options),
            self._asking.begun,
        )
        with reply:
            if reply.content_type == "application/json":  # a server that does not stream
                done = self._completion(messages, self._asking.rest(reply))
                if done.text:
                    yield done.text
                return done
            gathered = Gathered()
            for event in self._events(reply):
                if piece := gathered.take(event):
                    yield piece
            if gathered.finish_reason is None:
                raise LLMError(f"{self._endpoint.where} broke off in the middle of its answer: ask again")
            text = "".join(gathered.text)
            return self._account(messages, text, gathered.tool_calls, gathered.usage, gathered.finish_reason)

    def _understood(self, write: Callable[[Dialect], Body], ask: Callable[[Body], T]) -> T:
        """Ask in ever poorer dialects until the server understands; the one that it did is kept."""
        dialect = self._dialect
        while True:
            body = write(dialect)
            try:
                answer = ask(body)
            except Refusal as refusal:
                poorer = dialect.poorer(body, refusal.status, refusal.complaint)
                if poorer is None:
                    raise LLMError(str(refusal)) from None
                dialect = poorer
            else:
                self._dialect = dialect
                return answer

    def _events(self, reply: Reply) -> Iterator[Mapping[str, Any]]:
        """What the server streams, with every way to break off told as one."""
        try:
            for event in events(reply.lines()):
                self._asking.refuse_failure(event)
                yield event
        except NotAnEvent as cause:
            raise LLMError(f"{self._endpoint.where} streamed something that is no answer ({cause})") from cause
        except LOST as cause:
            raise LLMError(
                f"{self._endpoint.where} broke off in the middle of its answer ({type(cause).__name__}): ask again"
            ) from cause

    def _completion(self, messages: Sequence[Mapping[str, Any]], raw: bytes) -> Completion:
        try:
            answer = json.loads(raw)
            self._asking.refuse_failure(answer)
            choice = answer["choices"][0]
            said = choice["message"]
            text, calls = said.get("content") or "", said.get("tool_calls") or ()
            if not isinstance(text, str) or not all(isinstance(call, Mapping) for call in calls):
                raise TypeError("content or tool calls of another shape")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as cause:
            raise LLMError(
                f"{self._endpoint.where} did not answer with a chat completion ({type(cause).__name__}): "
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
        """The completion with its cost: the endpoint's own figures, or counted here and marked so."""
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

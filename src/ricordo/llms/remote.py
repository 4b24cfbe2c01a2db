"""Any OpenAI-compatible chat endpoint, asked with the standard library alone.

Messages go out as they are, tool calls included; an answer comes back whole or piece by piece, with its cost. A busy
or failing server is asked again with growing waits, but never once it has begun to answer in a stream.
"""

import json
import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ricordo.errors import LLMError
from ricordo.llms.asking import LOST, Asking, Refusal
from ricordo.llms.dialect import Body, Dialect
from ricordo.llms.endpoint import Endpoint
from ricordo.llms.events import Gathered, NotAnEvent, events
from ricordo.llms.wire import Reply
from ricordo.ports import Completion, TokenCounter
from ricordo.tokens import ApproximateCounter, content_tokens

T = TypeVar("T")


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

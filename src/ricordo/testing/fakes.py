"""Time that stands still until told otherwise."""

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ricordo.engine.protocols import Completion
from ricordo.errors import LLMError

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class FakeClock:
    """A clock for tests: `now` is what you set, `advance` moves it."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, step: timedelta | None = None, **parts: float) -> datetime:
        """Move on by a timedelta or by its parts (`hours=2`); returns the new now."""
        self._now += step if step is not None else timedelta(**parts)
        return self._now


# A language model that says what it was told to say: fixed answers, failures, and slowness that you end.

Messages = Sequence[Mapping[str, Any]]
Answer = str | Completion | Exception | Callable[[Messages], str]


class ScriptedLLM:
    """Gives its answers in order, the last one for ever; an exception among them is raised, a function is called.

    `asked` holds the messages of every call. With a `gate` nobody is answered before it is set; `waiting` tells that
    somebody stands before it.
    """

    def __init__(
        self,
        *answers: Answer,
        name: str = "scripted",
        gate: threading.Event | None = None,
        patience: float = 60.0,
    ) -> None:
        self._answers = answers or ("",)
        self._name = name
        self._gate = gate
        self._patience = patience
        self._lock = threading.Lock()
        self.asked: list[list[dict[str, Any]]] = []
        self.waiting = threading.Event()
        self.closed = 0

    @property
    def name(self) -> str:
        return self._name

    def complete(
        self,
        messages: Messages,
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Completion:
        answer = self._next(messages)
        if self._gate is not None:
            self.waiting.set()
            if not self._gate.wait(self._patience):
                raise LLMError(f"model {self._name!r} was never let through its gate: set it")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        text = answer if isinstance(answer, str) else answer(messages)
        prompt = sum(len(str(message.get("content") or "").split()) for message in messages)
        return Completion(text, self._name, prompt, len(text.split()), tokens_exact=False)

    def stream(
        self, messages: Messages, *, max_tokens: int | None = None, options: Mapping[str, Any] | None = None
    ) -> Generator[str, None, Completion]:
        """Word by word; `closed` counts the streams that were left before their end."""
        whole = self.complete(messages, max_tokens=max_tokens)
        try:
            for word in whole.text.split(" ")[:1]:
                yield word
            for word in whole.text.split(" ")[1:]:
                yield " " + word
        except GeneratorExit:
            self.closed += 1
            raise
        return whole

    def _next(self, messages: Messages) -> Answer:
        with self._lock:
            self.asked.append([dict(message) for message in messages])
            return self._answers[min(len(self.asked), len(self._answers)) - 1]

"""Test doubles: a clock that you move, a store that you can make fail, and a language model with fixed answers."""

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ricordo.engine.protocols import Completion
from ricordo.errors import LLMError
from ricordo.stores.memory import MemoryStore
from ricordo.stores.protocols import Store

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


PARTS = ("turns", "sessions", "topics", "vectors", "people", "documents", "keys", "jobs", "items")
LOCAL = ("health", "without_waiting", "sessions.notes")  # these never ask the database


class StoreProxy:
    """A store in front of another, to count calls or to make them fail.

    Override `turns_page` to replace `store.turns.page`, `erase` to replace `store.erase`, or `through` to wrap every
    method that asks the database; `inner` is the store behind.
    """

    def __init__(self, inner: Store | None = None) -> None:
        self.inner: Any = MemoryStore() if inner is None else inner

    def through(self, call: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """What to call for `call`, which is named like "turns.page" or "erase"."""
        return method

    def __getattr__(self, name: str) -> Any:
        if name in PARTS:
            return _PartProxy(self, name)
        found = getattr(self.inner, name)
        return self.through(name, found) if callable(found) and name not in LOCAL else found


class _PartProxy:
    def __init__(self, store: StoreProxy, part: str) -> None:
        self._store, self._part = store, part

    def __getattr__(self, name: str) -> Any:
        inner = getattr(getattr(self._store.inner, self._part), name)
        replaced = getattr(type(self._store), f"{self._part}_{name}", None)
        method = replaced.__get__(self._store) if replaced else inner
        call = f"{self._part}.{name}"
        return self._store.through(call, method) if callable(inner) and call not in LOCAL else method


Messages = Sequence[Mapping[str, Any]]
Answer = str | Completion | Exception | Callable[[Messages], str]


class ScriptedLLM:
    """Gives its answers in order, the last one for ever; an exception among them is raised, a function is called.

    `asked` holds the messages of every call. With a `gate` no call is answered before it is set; `waiting` is set once
    a call waits for it.
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

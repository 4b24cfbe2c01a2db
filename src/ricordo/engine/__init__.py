"""The engine: the parts of one memory, wired together (`core`), and what implements them.

Here are the protocols of the parts that a program may replace: the clock, the token counter and the language model.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


class Clock(Protocol):
    """Where `now` comes from."""

    def now(self) -> datetime:
        """The current moment, timezone-aware, in UTC."""
        ...


class TokenCounter(Protocol):
    """How many tokens a text costs in one model family."""

    @property
    def name(self) -> str:
        """The family, as stored beside every count."""
        ...

    @property
    def exact(self) -> bool:
        """Whether counts equal the model's own."""
        ...

    @property
    def message_overhead(self) -> int:
        """Tokens that a chat API adds around every message."""
        ...

    def count(self, text: str) -> int:
        """Tokens of `text`; 0 for the empty text; never raises for valid Unicode."""
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model said, and what it cost. `tokens_exact` is False where the endpoint did not say and we counted."""

    text: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    tokens_exact: bool = True
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = "stop"


class LLM(Protocol):
    """A chat model. Failures are `ricordo.errors.LLMError`, which names the model and the remedy."""

    @property
    def name(self) -> str:
        """The model, as it is named in results, receipts and logs."""
        ...

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Completion:
        """The whole answer. With a JSON schema the answer is asked to follow it; check it all the same.

        `options` are fields of the chat protocol that are passed on as they are: tools, temperature and the like.
        """
        ...

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Generator[str, None, Completion]:
        """The answer piece by piece; the generator returns the whole. Closing it stops the model."""
        ...

"""The engine: the parts of one memory, wired together (`core`), and what implements them.

Here are the protocols of the parts that a program may replace: the clock, the token counter and the language model.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


class Clock(Protocol):
    """The source of the current time."""

    def now(self) -> datetime:
        """The current time in UTC, timezone-aware."""
        ...


class TokenCounter(Protocol):
    """Counts the tokens of a text for one model family."""

    @property
    def name(self) -> str:
        """The name of the family, which is stored with every count."""
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
        """The tokens of a text; 0 if it is empty. Does not raise for valid Unicode."""
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer of a model, and its cost. `tokens_exact` is False if Ricordo counted, not the endpoint."""

    text: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    tokens_exact: bool = True
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = "stop"


class LLM(Protocol):
    """A chat model. It fails with `ricordo.errors.LLMError`, which names the model and the remedy."""

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
        """The whole answer. A JSON schema is only a request to the model: check the answer against it.

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
        """The answer piece by piece; the generator returns the whole answer. Closing the generator stops the model."""
        ...

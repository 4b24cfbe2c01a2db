"""The little that condensation asks of a token counter and of a language model.

Less than the ports promise, so that these decisions stay below them; what fulfils the ports fulfils these.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Counts(Protocol):
    """How many tokens a text costs."""

    def count(self, text: str) -> int:
        """Tokens of `text`; 0 for the empty text."""
        ...


class Said(Protocol):
    """What a model answered."""

    @property
    def text(self) -> str:
        """The words."""
        ...


class Asked(Protocol):
    """A chat model."""

    @property
    def name(self) -> str:
        """The model, as it is named in results."""
        ...

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Said:
        """The whole answer."""
        ...


def cut(text: str, limit: int, counter: Counts) -> str:
    """The longest beginning of `text` found, at a word, that costs at most `limit` tokens; marked where it ends."""
    if counter.count(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(_ended(text, middle)) <= limit:
            low = middle
        else:
            high = middle - 1
    # Counts need not grow with length, so what the search found is looked at once more.
    shortened = _ended(text, low)
    return shortened if low and counter.count(shortened) <= limit else ""


def _ended(text: str, size: int) -> str:
    head = text[:size]
    if size < len(text) and not text[size].isspace() and " " in head:
        head = head.rpartition(" ")[0]
    return head.rstrip() + "…"

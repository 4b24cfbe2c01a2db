"""Token costs of messages, and truncation of text, for any counter.

In: text and a `TokenCounter`. Out: exact costs of messages, and prefixes that fit. A chat message costs its
content, its tool calls, its name and the overhead its API adds; a cut text ends with a visible mark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ricordo.engine.protocols import TokenCounter
from ricordo.records.turns import Message, Turn, canonical

CUT_MARK = "..."


@dataclass(frozen=True, slots=True)
class ApproximateCounter:
    """Characters divided by a fixed rate: 3 for Italian, 4 for English. Labelled as not exact."""

    characters: int = 4
    reason: str = ""
    message_overhead: int = 4

    @property
    def name(self) -> str:
        return f"approximate-{self.characters}"

    @property
    def exact(self) -> bool:
        return False

    def count(self, text: str) -> int:
        return -(-len(text) // self.characters)


def content_tokens(
    content: str, tool_calls: Sequence[Mapping[str, Any]], counter: TokenCounter, name: str | None = None
) -> int:
    """Tokens of what a message says, calls and is named, without overhead: what is stored with it."""
    calls = sum(counter.count(canonical(call)) for call in tool_calls)
    return counter.count(content) + calls + (counter.count(name) if name else 0)


def message_cost(message: Message, counter: TokenCounter) -> int:
    """What a message costs in a chat API: stored tokens, overhead, and one more to set a name apart."""
    return message.tokens + counter.message_overhead + (1 if message.name else 0)


def turn_cost(turn: Turn, counter: TokenCounter) -> int:
    """What a whole turn costs in a chat API."""
    return sum(message_cost(message, counter) for message in turn.messages)


def recounted(turn: Turn, counter: TokenCounter) -> Turn:
    """The turn with counts of this counter: unchanged when they were stored with it, which is the rule."""
    if turn.counter == counter.name:
        return turn

    def again(message: Message) -> Message:
        return replace(message, tokens=content_tokens(message.content, message.tool_calls, counter, message.name))

    return replace(
        turn,
        question=again(turn.question) if turn.question else None,
        answer=again(turn.answer) if turn.answer else None,
        steps=tuple(again(step) for step in turn.steps),
        counter=counter.name,
    )


def cut(text: str, limit: int, counter: TokenCounter, *, after: str = "") -> str:
    """A prefix of `text`, marked, that costs at most `limit` tokens together with what comes `after` it.

    The text itself where that is seen to fit, the mark alone where no word fits, nothing where not even the
    mark does. Only as much of a long text is read as could fit.
    """
    if limit < 1:
        return ""
    tail = CUT_MARK + after
    low, high = 0, 8 * limit
    while high < len(text) and counter.count(text[:high] + tail) <= limit:
        low, high = high, 2 * high
    if high >= len(text):
        if counter.count(text + after) <= limit:
            return text
        high = len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(text[:middle] + tail) <= limit:
            low = middle
        else:
            high = middle - 1
    # A longer prefix may cost fewer tokens, so the search can stop early, but what it returns has been counted.
    if low or counter.count(tail) <= limit:
        return text[:low] + CUT_MARK
    return ""

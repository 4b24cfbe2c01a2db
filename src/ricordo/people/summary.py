"""What condensation gives: a summary, the turns it covers, and who made it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.people.summary_layout import spoken
from ricordo.records.people import Summary
from ricordo.records.turns import Message, Turn
from ricordo.settings import CondensationSettings

# Whether a talk is due for condensation, and which of its turns.


@dataclass(frozen=True, slots=True)
class Range:
    """Turns from `first_turn` to `last_turn`, both included."""

    first_turn: int
    last_turn: int

    def of(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """Those of the turns that lie in the range."""
        return tuple(turn for turn in turns if self.first_turn <= turn.turn_number <= self.last_turn)


def due(
    turns: Sequence[Turn], settings: CondensationSettings, already: Summary | None = None, *, overhead: int = 0
) -> Range | None:
    """What to cover next, once the summary and the turns after it reach the trigger's share of the token limit.

    `turns` are in rising order; those that `already` covers may be among them or not. `overhead` is what a chat API
    adds to every message.
    """
    covered = already.last_turn if already else 0
    fresh = [turn for turn in turns if turn.turn_number > covered]
    tokens = sum(turn.tokens + overhead * len(turn.messages) for turn in fresh) + (already.tokens if already else 0)
    if tokens < settings.condense_at * settings.condense_tokens:
        return None
    old = _before_the_recent(fresh, settings.condense_keep)
    if sum(len(turn.messages) for turn in old) < settings.condense_least:
        return None
    return Range(old[0].turn_number, old[-1].turn_number)


def union(already: Summary | None, added: Range) -> Range:
    """What a summary covers once it has been extended."""
    if already is None:
        return added
    return Range(min(already.first_turn, added.first_turn), max(already.last_turn, added.last_turn))


def _before_the_recent(turns: Sequence[Turn], keep: int) -> Sequence[Turn]:
    """The turns none of whose messages is among the `keep` newest."""
    kept = 0
    for position in range(len(turns) - 1, -1, -1):
        if kept >= keep:
            return turns[: position + 1]
        kept += len(turns[position].messages)
    return ()


EXTRACTIVE = "extractive"
TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True)
class Condensed:
    """A summary before it is kept.

    `made_by` is a model's name, `extractive` or `truncated`; `why` tells why nothing better made it. `left_out` counts
    the evidence that did not fit.
    """

    text: str
    topics: tuple[str, ...]
    made_by: str
    covers: Range
    tokens: int
    left_out: int = 0
    why: str = ""


def heard(turns: Sequence[Turn], leave_out: frozenset[str] = frozenset()) -> list[Message]:
    """What user and assistant said, in order; tools, systems, and messages left out by id are not quoted.

    Of an answer it is what is left without citations, which stand among its chunk ids, and the reader's own sentences.
    """
    said = (
        spoken(message)
        for turn in turns
        for message in turn.messages
        if message.role in ("user", "assistant") and message.id not in leave_out
    )
    return [message for message in said if message.content.strip() or message.chunk_ids]


def fresh(turns: Sequence[Turn], previous: Summary | None) -> tuple[Turn, ...]:
    """The turns that an earlier summary does not cover yet."""
    return tuple(turn for turn in turns if previous is None or turn.turn_number > previous.last_turn)


def covered(turns: Sequence[Turn], previous: Summary | None) -> Range:
    """What a summary of these turns covers together with the earlier one; there must be one or the other."""
    numbers = [turn.turn_number for turn in turns]
    if previous is not None:
        numbers += [previous.first_turn, previous.last_turn]
    return Range(min(numbers), max(numbers))

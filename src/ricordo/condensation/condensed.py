"""What condensation gives: a summary, the turns it covers, and who made it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.condensation.due import Range
from ricordo.condensation.spoken import spoken
from ricordo.person import Summary
from ricordo.records import Message, Turn

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

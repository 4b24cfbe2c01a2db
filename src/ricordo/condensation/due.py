"""Whether a talk is due for condensation, and which of its turns.

The turns that are not covered yet and the last summary go in; the range of turns to cover next comes out, or None.
Only whole turns are covered, beginning after what the summary covers, and never the most recent messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.person import Summary
from ricordo.records import Turn
from ricordo.settings import CondensationSettings


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

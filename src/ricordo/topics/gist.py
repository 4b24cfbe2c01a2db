"""What packed turns were about, in a line or two: the openings of their questions, nothing invented."""

from collections.abc import Sequence

from ricordo.records import Turn

OPENING = 80
LONGEST = 600
BETWEEN = " · "


def gist(turns: Sequence[Turn], before: str | None = None) -> str | None:
    """The questions of the turns, each by its beginning, after what was noted before; the newest are kept."""
    openings = [_opening(turn) for turn in turns]
    noted = (before or "").split(BETWEEN) if before else []
    lines = list(dict.fromkeys(line for line in (*noted, *openings) if line))
    while len(lines) > 1 and len(BETWEEN.join(lines)) > LONGEST:
        lines.pop(0)
    return BETWEEN.join(lines) or None


def _opening(turn: Turn) -> str:
    words = " ".join((turn.query or turn.response or "").split())
    return words if len(words) <= OPENING else words[:OPENING].rstrip() + "…"

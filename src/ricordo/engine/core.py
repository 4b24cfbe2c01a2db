"""What every verb works with: a store, a counter, a clock and the settings; and whose session it is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from ricordo.engine.protocols import Clock, TokenCounter
from ricordo.prompt.context import Remembered
from ricordo.records.turns import Owner, Turn
from ricordo.settings import Settings
from ricordo.stores.protocols import Store

if TYPE_CHECKING:
    from ricordo.followups.understand import Understanding
    from ricordo.safety.crisis import Crisis


EVERY = 1_000_000_000  # of what one owner has: no limit that anybody reaches


@dataclass(frozen=True, slots=True)
class KnownContext:
    """What is known before a question is read: of the person, and of the turns that were condensed.

    `summary` covers the session's turns up to `covered`; the history of a context begins after them.
    """

    profile: str = ""
    summary: str = ""
    covered: int = 0
    degraded: tuple[str, ...] = ()


class BeyondWindow(Protocol):
    """What reaches beyond the window: understanding follow-ups, recalling, work beside the chat."""

    def known(self, scope: "Scope") -> KnownContext:
        """What is known of the person and of earlier turns, for a context."""
        ...

    def crisis(self, question: str) -> "Crisis | None":
        """The sign of a crisis in what the user says, whatever memory says."""
        ...

    def note(self, scope: "Scope", kept: Turn | None = None) -> None:
        """Something was said, and this is its turn as it is kept now; without one, several things were brought in."""
        ...

    def understand(self, scope: "Scope", question: str) -> "Understanding | None":
        """What a question means in its talk; None when that is switched off."""
        ...

    def recall(
        self, scope: "Scope", question: str, known: Sequence[Turn], standalone: str = ""
    ) -> tuple[tuple[Remembered, ...], tuple[str, ...], str]:
        """Past messages for a question beyond the known turns, notes on what is missing, and the embedder's name."""
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """The parts that the façade has wired together. Without `beyond`, a context is the window and what it is given."""

    store: Store
    counter: TokenCounter
    clock: Clock
    settings: Settings
    beyond: BeyondWindow | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """One session of one owner, spoken with one agent."""

    owner: Owner
    session_id: str
    agent_id: str


def quarantined(engine: Engine, owner: Owner) -> frozenset[str]:
    """The ids of everything that is kept away from prompts: all of it, or a flood of flags would let the first out."""
    flags = engine.store.people.flags(owner, state="quarantined", limit=EVERY)
    return frozenset(flag.subject_id for flag in flags)


def on_their_calendar(engine: Engine, moment: datetime) -> datetime:
    """A moment by the clock of the user's time zone: which day is yesterday is theirs to say."""
    zone = engine.settings.profile.time_zone
    if zone == "UTC":
        return moment
    from zoneinfo import ZoneInfo  # most never need it

    try:
        return moment.astimezone(ZoneInfo(zone))
    except OverflowError:  # at either end of the calendar
        return moment

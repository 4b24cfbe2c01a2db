"""How much is measured: the full figures, a quick look, or a tiny run that only shows that everything works."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.store_cache import python_of
from bench.systems import Entry
from bench.worker_client import Child


@dataclass(frozen=True, slots=True)
class Scale:
    """Turns in the sessions that are measured, and how often."""

    name: str
    append: tuple[int, ...]
    window: tuple[int, ...]
    context: tuple[int, ...]
    recall: tuple[int, ...]
    longest: int
    users: int  # of the store that is cleaned: 20 sessions of 50 turns each
    rounds: int
    batch: int
    repeats: int
    openings: int
    disk_sessions: int
    warm_turns: int = 600
    writers: int = 16
    writer_turns: int = 50

    @property
    def sessions(self) -> tuple[int, ...]:
        """Every size that a store of sessions must hold."""
        return tuple(sorted({*self.append, *self.window, *self.context} - {0}))

    @property
    def lengths(self) -> tuple[int, ...]:
        """Every size up to the longest, for the two that bear it."""
        return (*self.window, self.longest)


FULL = Scale(
    "full",
    append=(0, 100, 10_000, 100_000),
    window=(10, 1_000, 10_000, 100_000),
    context=(10, 1_000, 100_000),
    recall=(10, 1_000, 10_000),
    longest=1_000_000,
    users=1_000,
    rounds=15,
    batch=20,
    repeats=3,
    openings=5,
    disk_sessions=20,
)
QUICK = Scale(
    "quick",
    append=(0, 100, 10_000),
    window=(10, 1_000, 10_000),
    context=(10, 1_000, 10_000),
    recall=(10, 1_000),
    longest=100_000,
    users=100,
    rounds=6,
    batch=15,
    repeats=1,
    openings=3,
    disk_sessions=10,
    writer_turns=20,
)
TINY = Scale(
    "tiny",
    append=(0, 5),
    window=(5, 20),
    context=(5,),
    recall=(5,),
    longest=50,
    users=2,
    rounds=2,
    batch=3,
    repeats=1,
    openings=1,
    disk_sessions=1,
    warm_turns=3,
    writers=4,
    writer_turns=5,
)


@dataclass(frozen=True, slots=True)
class Setup:
    """One run: how much, which systems (Ricordo first), and whom to tell what is going on."""

    scale: Scale
    systems: tuple[Entry, ...]
    say: Callable[[str], None]

    def start(self, entry: Entry, folder: Path) -> Child:
        """A worker of the system on that folder."""
        return Child(python_of(entry, self.say), entry, folder)

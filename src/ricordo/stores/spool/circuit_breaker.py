"""Whether the database is used, as a value: closed while it answers, open while it does not, half-open in between.

In: what was seen (a failure, an answer) and the moment. Out: the next state. No thread, no clock, no database: whoever
holds a breaker replaces it by the one that comes out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Literal

State = Literal["closed", "open", "half-open"]


@dataclass(frozen=True, slots=True)
class Breaker:
    """Requests pass while it is closed. `since` is when the database went away, `probe_at` when to ask it again."""

    state: State = "closed"
    since: float = 0.0
    failures: int = 0
    probe_at: float = 0.0
    cause: str = ""

    @property
    def passes(self) -> bool:
        """Whether requests may use the database."""
        return self.state == "closed"

    def failed(self, now: float, cause: str, *, first_pause: float, longest_pause: float) -> "Breaker":
        """No answer, or an answer that says so: open, with a pause before the next question that doubles each time."""
        failures = self.failures + 1
        pause = min(first_pause * 2.0 ** min(failures - 1, 30), longest_pause)
        since = now if self.passes else self.since
        return Breaker("open", since, failures, now + pause, cause)

    def answered(self, now: float) -> "Breaker":
        """An answer to a question of ours. One may be luck, as while a server starts: the second one closes."""
        if self.state == "open":
            return replace(self, state="half-open", probe_at=now)
        return Breaker() if self.state == "half-open" else self

    def probe_due(self, now: float) -> bool:
        """Whether to ask again now."""
        return not self.passes and now >= self.probe_at


# Being in a hurry: whoever can go on without what it asks for says so for a while, and is not kept waiting for it.

_hurry: ContextVar[bool] = ContextVar("ricordo_hurry", default=False)


@contextmanager
def hurried() -> Iterator[None]:
    """For what is done within, in this thread."""
    before = _hurry.set(True)
    try:
        yield
    finally:
        _hurry.reset(before)


def in_a_hurry() -> bool:
    """Whether the caller is."""
    return _hurry.get()


# How long things may take around a database that may go away; all in seconds, all in one place.


@dataclass(frozen=True, slots=True)
class SpoolTimeouts:
    """`suspicion`: while a call waits and nobody was answered for so long, a simple question is asked, now and not at
    the next `interval`.

    `doubt`: if nobody is answered for so long after the question, calls that can do without the database do.
    `silence`: if nobody is for so long, the database is away, and whoever waits for it is let go. `longest`: a call is
    let go after this even if the database answers others. `opening`: how long the first connection is waited for.
    `first_pause`, doubled up to `longest_pause`: between questions to a database that is away. `patience`: how long a
    call that needs an empty spool waits for it.
    """

    suspicion: float = 0.01
    doubt: float = 0.02
    silence: float = 0.25
    interval: float = 0.25
    longest: float = 5.0
    opening: float = 3.0
    first_pause: float = 0.05
    longest_pause: float = 2.0
    patience: float = 2.0


# How long nobody has heard from the database, as a value: counted from a question of ours, while we are awake.

TICK = 0.004  # seconds between looks while a question waits for its answer
STRIDE = 0.01  # what counts of the time between two looks: in the rest of it we were not there to hear anything
USUALLY = 3.0  # times of what an answer takes as a rule


@dataclass(frozen=True, slots=True)
class SilenceTimer:
    """`quiet` seconds have passed since the question, or since anybody was answered; a question takes `usual`."""

    asked: float = 0.0
    looked: float = 0.0
    quiet: float = 0.0
    usual: float = 0.0

    def ask(self, now: float) -> "SilenceTimer":
        """A question is asked."""
        return replace(self, asked=now, looked=now, quiet=0.0)

    def look(self, now: float, heard: float) -> "SilenceTimer":
        """The question still waits; `heard` is when the database last answered anybody."""
        quiet = 0.0 if heard > self.looked else self.quiet + min(now - self.looked, STRIDE)
        return replace(self, looked=now, quiet=quiet)

    def answer(self, took: float) -> "SilenceTimer":
        """The question was answered."""
        usual = took if not self.usual else self.usual + 0.2 * (took - self.usual)
        return replace(self, quiet=0.0, usual=usual)

    def stop(self) -> "SilenceTimer":
        """There will be no answer to the question."""
        return replace(self, quiet=0.0)

    def doubts(self, pace: SpoolTimeouts) -> bool:
        """Whether those go on by themselves who can."""
        return self.quiet >= max(pace.doubt, USUALLY * self.usual)

    def is_silent(self, pace: SpoolTimeouts) -> bool:
        """Whether the database is away."""
        return self.quiet >= max(pace.silence, USUALLY * self.usual)

"""How long nobody has heard from the database, as a value: counted from a question of ours, while we are awake.

In: when a question was asked, when anybody was last answered, the moment. Out: whether to doubt that it is there, and
whether it is silent. Time in which this process itself stood still is not held against the database, and one that is
far away is given a multiple of what it usually takes.
"""

from dataclasses import dataclass, replace

from ricordo.spool.pace import Pace

TICK = 0.004  # seconds between looks while a question waits for its answer
STRIDE = 0.01  # what counts of the time between two looks: in the rest of it we were not there to hear anything
USUALLY = 3.0  # times of what an answer takes as a rule


@dataclass(frozen=True, slots=True)
class Hearing:
    """`quiet` seconds have passed since the question, or since anybody was answered; a question takes `usual`."""

    asked: float = 0.0
    looked: float = 0.0
    quiet: float = 0.0
    usual: float = 0.0

    def ask(self, now: float) -> "Hearing":
        """A question is asked."""
        return replace(self, asked=now, looked=now, quiet=0.0)

    def look(self, now: float, heard: float) -> "Hearing":
        """The question still waits; `heard` is when the database last answered anybody."""
        quiet = 0.0 if heard > self.looked else self.quiet + min(now - self.looked, STRIDE)
        return replace(self, looked=now, quiet=quiet)

    def answer(self, took: float) -> "Hearing":
        """The question was answered."""
        usual = took if not self.usual else self.usual + 0.2 * (took - self.usual)
        return replace(self, quiet=0.0, usual=usual)

    def stop(self) -> "Hearing":
        """There will be no answer to the question."""
        return replace(self, quiet=0.0)

    def doubts(self, pace: Pace) -> bool:
        """Whether those go on by themselves who can."""
        return self.quiet >= max(pace.doubt, USUALLY * self.usual)

    def is_silent(self, pace: Pace) -> bool:
        """Whether the database is away."""
        return self.quiet >= max(pace.silence, USUALLY * self.usual)

"""Whether the database is used, as a value: closed while it answers, open while it does not, half-open in between.

In: what was seen (a failure, an answer) and the moment. Out: the next state. No thread, no clock, no database: whoever
holds a breaker replaces it by the one that comes out.
"""

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

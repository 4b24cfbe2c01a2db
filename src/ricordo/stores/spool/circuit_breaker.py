"""The circuit breaker that decides whether the database is used, the timer of its silence, and their timeouts.

In: an event (a failure, an answer) and the time. Out: the next state. The breaker and the timer are immutable values
without threads, clock or database; the caller replaces them by the returned value.
"""

from dataclasses import dataclass, replace
from typing import Literal

BreakerState = Literal["closed", "open", "half-open"]

CHECK_INTERVAL = 0.004  # seconds between checks while a probe waits for its answer
LONGEST_STEP = 0.01  # seconds counted between two checks, at most; for the rest this process was not running
USUAL_FACTOR = 3.0  # multiple of the usual response time before which the database is not in doubt


@dataclass(frozen=True, slots=True)
class CircuitBreaker:
    """Calls pass while it is closed. `since` is when the database went away, `probe_at` when to probe it again."""

    state: BreakerState = "closed"
    since: float = 0.0
    failures: int = 0
    probe_at: float = 0.0
    cause: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether calls may use the database."""
        return self.state == "closed"

    def failed(self, now: float, cause: str, *, first_pause: float, longest_pause: float) -> "CircuitBreaker":
        """After a failure, or no answer: open, with a pause before the next probe that doubles each time."""
        failures = self.failures + 1
        pause = min(first_pause * 2.0 ** min(failures - 1, 30), longest_pause)
        since = now if self.is_closed else self.since
        return CircuitBreaker("open", since, failures, now + pause, cause)

    def answered(self, now: float) -> "CircuitBreaker":
        """After an answer to a probe. The second one closes the breaker: a starting server may answer just one."""
        if self.state == "open":
            return replace(self, state="half-open", probe_at=now)
        return CircuitBreaker() if self.state == "half-open" else self

    def probe_due(self, now: float) -> bool:
        """Whether to probe again now."""
        return not self.is_closed and now >= self.probe_at


@dataclass(frozen=True, slots=True)
class SpoolTimeouts:
    """Timeouts in seconds.

    The database is probed every `probe_interval`, and earlier if calls wait and none was answered for `probe_after`.
    If no call is answered for `fallback_after` after a probe, calls that have a fallback use it; after `open_after` the
    breaker opens, and waiting calls fail. `call` limits one call, even if others are answered. `connect` limits the
    first connection. While the breaker is open, probes pause for `first_pause`, doubled up to `longest_pause`. `drain`
    is how long a call waits for the spool to be empty, if it needs that.
    """

    probe_after: float = 0.01
    fallback_after: float = 0.02
    open_after: float = 0.25
    probe_interval: float = 0.25
    call: float = 5.0
    connect: float = 3.0
    first_pause: float = 0.05
    longest_pause: float = 2.0
    drain: float = 2.0


@dataclass(frozen=True, slots=True)
class SilenceTimer:
    """How long the database has answered no call: `silent_for` seconds since the probe, or since the last answer.

    A probe usually takes `usual` seconds.
    """

    probed_at: float = 0.0
    checked_at: float = 0.0
    silent_for: float = 0.0
    usual: float = 0.0

    def start(self, now: float) -> "SilenceTimer":
        """A probe is sent."""
        return replace(self, probed_at=now, checked_at=now, silent_for=0.0)

    def check(self, now: float, last_answer: float) -> "SilenceTimer":
        """The probe is not answered yet; `last_answer` is when the database last answered any call."""
        step = min(now - self.checked_at, LONGEST_STEP)
        silent_for = 0.0 if last_answer > self.checked_at else self.silent_for + step
        return replace(self, checked_at=now, silent_for=silent_for)

    def answered(self, took: float) -> "SilenceTimer":
        """The probe was answered."""
        usual = took if not self.usual else self.usual + 0.2 * (took - self.usual)
        return replace(self, silent_for=0.0, usual=usual)

    def stop(self) -> "SilenceTimer":
        """The probe failed."""
        return replace(self, silent_for=0.0)

    def in_doubt(self, timeouts: SpoolTimeouts) -> bool:
        """Whether calls that have a fallback use it."""
        return self.silent_for >= max(timeouts.fallback_after, USUAL_FACTOR * self.usual)

    def is_silent(self, timeouts: SpoolTimeouts) -> bool:
        """Whether the database counts as away."""
        return self.silent_for >= max(timeouts.open_after, USUAL_FACTOR * self.usual)

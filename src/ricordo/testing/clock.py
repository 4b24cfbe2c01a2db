"""Time that stands still until told otherwise."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class FakeClock:
    """A clock for tests: `now` is what you set, `advance` moves it."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, step: timedelta | None = None, **parts: float) -> datetime:
        """Move on by a timedelta or by its parts (`hours=2`); returns the new now."""
        self._now += step if step is not None else timedelta(**parts)
        return self._now

"""The clock on the wall."""

from datetime import UTC, datetime


class SystemClock:
    """Real time, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)

"""The system clock, and ids that begin with the time."""

import os
from datetime import UTC, datetime

_MILLISECONDS = (1 << 48) - 1


class SystemClock:
    """Real time, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def new_id(now: datetime) -> str:
    """A UUID of version 7: 48 bits of time in milliseconds, 74 random bits, so that new rows lie side by side."""
    moment = f"{int(now.timestamp() * 1_000) & _MILLISECONDS:012x}"
    random = os.urandom(10).hex()
    variant = "89ab"[int(random[3], 16) & 3]
    return f"{moment[:8]}-{moment[8:]}-7{random[:3]}-{variant}{random[4:7]}-{random[7:19]}"

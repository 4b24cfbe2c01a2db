"""New ids for sessions and turns: UUIDs that begin with the time, so that what is written together lies together."""

import os
from datetime import datetime

_MILLISECONDS = (1 << 48) - 1


def new_id(now: datetime) -> str:
    """A UUID of version 7: 48 bits of time in milliseconds, 74 bits of chance."""
    moment = f"{int(now.timestamp() * 1_000) & _MILLISECONDS:012x}"
    chance = os.urandom(10).hex()
    variant = "89ab"[int(chance[3], 16) & 3]
    return f"{moment[:8]}-{moment[8:]}-7{chance[:3]}-{variant}{chance[4:7]}-{chance[7:19]}"

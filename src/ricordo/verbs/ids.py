"""New ids for sessions and turns: UUIDs that begin with the time, so that what is written together lies together."""

import os
from datetime import datetime
from uuid import UUID

_MILLISECONDS = (1 << 48) - 1


def new_id(now: datetime) -> str:
    """A UUID of version 7: 48 bits of time in milliseconds, 74 bits of chance."""
    chance = int.from_bytes(os.urandom(10))
    moment = int(now.timestamp() * 1_000) & _MILLISECONDS
    version_and_chance = 0x7000 | (chance & 0x0FFF)
    variant_and_chance = 0x8000_0000_0000_0000 | (chance >> 16 & 0x3FFF_FFFF_FFFF_FFFF)
    return str(UUID(int=moment << 80 | version_and_chance << 64 | variant_and_chance))

"""A store that goes on while its database is away: writes are spooled to disk, chats read cached values."""

from ricordo.records.service import SpoolState
from ricordo.stores.spool.circuit_breaker import SpoolTimeouts
from ricordo.stores.spool.store import SpooledStore

__all__ = ["SpoolState", "SpoolTimeouts", "SpooledStore"]

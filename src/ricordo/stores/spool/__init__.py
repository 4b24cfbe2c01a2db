"""When the database is away: writes wait in a spool on disk, chats read what is at hand, and nothing is lost."""

from ricordo.stores.spool.circuit_breaker import Pace, SpoolState
from ricordo.stores.spool.store import SpooledStore

__all__ = ["Pace", "SpoolState", "SpooledStore"]

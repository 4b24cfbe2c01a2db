"""When the database is away: writes wait in a spool on disk, chats read what is at hand, and nothing is lost."""

from ricordo.records.reports import SpoolState
from ricordo.stores.spool.circuit_breaker import SpoolTimeouts
from ricordo.stores.spool.store import SpooledStore

__all__ = ["SpoolState", "SpoolTimeouts", "SpooledStore"]

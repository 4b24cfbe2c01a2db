"""When the database is away: writes wait in a spool on disk, chats read what is at hand, and nothing is lost."""

from ricordo.spool.pace import Pace
from ricordo.spool.state import SpoolState
from ricordo.spool.store import SpooledStore

__all__ = ["Pace", "SpoolState", "SpooledStore"]

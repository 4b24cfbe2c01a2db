"""What is told about the spool: to health checks, statistics, pages and logs."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SpoolState:
    """`degraded` while the database is away or writes still wait; `depth` writes in `bytes` on disk.

    `refused` writes lie in a file beside, because the database would not have them; `last_error` is the latest reason
    for anything of this, without a word of what was said.
    """

    degraded: bool
    away: bool
    since: datetime | None
    depth: int
    bytes: int
    refused: int
    last_error: str = ""

"""The results of maintenance: cleanup, erase, verify, import, stats, health. Frozen, typed, printable as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

StoreKind = Literal["memory", "sqlite", "postgresql"]


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """What a cleanup removed. A failure on one user is in `errors`; the rest was still done."""

    sessions_deleted: int = 0
    turns_deleted: int = 0
    execution_time: float = 0.0
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expired:
    """What one batch of a cleanup removed, and whether another batch is waiting."""

    sessions: int = 0
    turns: int = 0
    more: bool = False


@dataclass(frozen=True, slots=True)
class EraseReceipt:
    """Proof of an erasure: how many of each thing went, when, and what is left to the operator."""

    user_id: str
    tenant_id: str
    erased_at: datetime
    removed: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that verify found wrong, and where."""

    where: str
    problem: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of re-deriving everything that can be derived."""

    sessions: int
    turns: int
    damages: tuple[Damage, ...] = ()

    @property
    def ok(self) -> bool:
        """No damage found."""
        return not self.damages


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import wrote; turns that were already stored with the same content count as known."""

    sessions_added: int = 0
    turns_added: int = 0
    turns_known: int = 0
    errors: tuple[str, ...] = ()
    items_added: int = 0


@dataclass(frozen=True, slots=True)
class SpoolState:
    """`degraded` while the database is away or writes still wait; `depth` writes in `bytes` on disk.

    `refused` writes are in a separate file, because the database rejected them; `last_error` is the latest reason
    for any of this, without a word of a message.
    """

    degraded: bool
    away: bool
    since: datetime | None
    depth: int
    bytes: int
    refused: int
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """What kind of store it is, and the state of its spool; None for a store without one."""

    kind: StoreKind
    spool: SpoolState | None = None


@dataclass(frozen=True, slots=True)
class StoreStats:
    """How much a store holds for one tenant."""

    users: int
    sessions: int
    turns: int
    open_turns: int
    receipts: int
    bytes_on_disk: int | None = None
    facts: int = 0
    summaries: int = 0
    flags: int = 0
    documents: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    """How much is kept, where, and with which parts."""

    store: str
    tenant_id: str
    preset: str
    counter: str
    counter_exact: bool
    embedder: str
    llm: str
    holds: StoreStats
    degraded: tuple[str, ...] = ()


def as_json(report: Any) -> dict[str, Any]:
    """A report as plain JSON values; times become ISO text."""
    return {key: _plain(value) for key, value in asdict(report).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value

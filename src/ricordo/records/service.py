"""What a store keeps besides memory, as frozen records: documents with their chunks, API keys, jobs, items;
and the reports of operations: cleanup, erase, verify, repair, import, health, statistics.

Documents belong to an owner; those that all users of a tenant share belong to its library (`records.library_of`).
A job names a session, or an owner, to work on later; it holds no text of a message.
"""

from collections.abc import Mapping
from dataclasses import asdict, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID, uuid5

from ricordo.records.turns import Owner
from ricordo.records.values import record

DocumentKind = Literal["text", "markdown", "pdf"]


@record
class Document:
    """A text that answers are drawn from. `digest` tells whether two of them are the same; `bytes` is its size."""

    id: str
    title: str
    kind: DocumentKind
    digest: str
    created_at: datetime
    chunk_count: int
    bytes: int
    metadata: Mapping[str, Any] = field(default_factory=dict)


@record
class StoredChunk:
    """A passage of a document, at `position` in it, with its vector once an embedder has made one."""

    id: str
    document_id: str
    position: int
    text: str
    heading: str = ""
    start: int = 0
    end: int = 0
    page: int | None = None
    vector: bytes | None = None
    embedder: str = ""


@record
class ApiKey:
    """A key to a tenant, or to one user of it. `digest` is the SHA-256 of the secret in hex; the secret is not kept."""

    id: str
    tenant_id: str
    user_id: str | None
    name: str
    digest: str
    created_at: datetime
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    scopes: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether it is not revoked."""
        return self.revoked_at is None


@record
class Job:
    """Work of a kind on a session; on the owner as a whole where `session_id` is empty.

    `due_at` is None once it was given up. `attempts` counts how often it was taken. `again_at` says that it was
    enqueued once more while a worker had it: it is not finished then, it starts anew.
    """

    owner: Owner
    kind: str
    session_id: str
    due_at: datetime | None
    attempts: int = 0
    leased_until: datetime | None = None
    leased_by: str = ""
    last_error: str = ""
    again_at: datetime | None = None

    @property
    def id(self) -> UUID:
        """One id per owner, kind and session: there is never more than one such job."""
        return uuid5(self.owner.key, f"{len(self.kind)}:{self.kind}{self.session_id}")


@record
class JobStats:
    """How many jobs of a tenant wait, are leased, were given up; since when the oldest is due.

    `retrying` are the pending ones whose last attempt failed.
    """

    pending: int = 0
    leased: int = 0
    failed: int = 0
    retrying: int = 0
    oldest: datetime | None = None


SessionState = tuple[int, str]  # a session's revision and the id of its newest turn: equal if nothing was written


@record
class StoredItem:
    """Bytes that an adapter keeps. `tag` is a second way to find it; from `expires_at` on it is not returned.

    It is deleted with the session and with the turn that it names; both have to exist.
    """

    place: str
    key: str
    body: bytes
    tag: str = ""
    vector: bytes | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    expires_at: datetime | None = None
    minutes: float | None = None
    session_id: str | None = None
    turn_id: str | None = None


StoreKind = Literal["memory", "sqlite", "postgresql"]


@record
class CleanupResult:
    """What a cleanup removed. A failure on one user is in `errors`; the rest was still done."""

    sessions_deleted: int = 0
    turns_deleted: int = 0
    execution_time: float = 0.0
    errors: tuple[str, ...] = ()


@record
class Expired:
    """What one batch of a cleanup removed, and whether another batch is waiting."""

    sessions: int = 0
    turns: int = 0
    more: bool = False


@record
class EraseReceipt:
    """Proof of an erasure: how many of each thing went, when, and what is left to the operator."""

    user_id: str
    tenant_id: str
    erased_at: datetime
    removed: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@record
class Damage:
    """One thing that verify found wrong, and where."""

    where: str
    problem: str


@record
class Verification:
    """The result of re-deriving everything that can be derived."""

    sessions: int
    turns: int
    damages: tuple[Damage, ...] = ()

    @property
    def ok(self) -> bool:
        """No damage found."""
        return not self.damages


@record
class Repair:
    """What was derived again from the turns, and what is found afterwards."""

    mended: tuple[Damage, ...]
    verification: Verification


@record
class ImportResult:
    """What an import wrote; turns that were already stored with the same content count as known."""

    sessions_added: int = 0
    turns_added: int = 0
    turns_known: int = 0
    errors: tuple[str, ...] = ()
    items_added: int = 0


@record
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


@record
class StoreHealth:
    """What kind of store it is, the state of its spool (None for a store without one), and whether commits wait.

    `replication` is `synchronous` or `asynchronous`, as last seen; None without a replica. `read_replica` is `ok`,
    `behind` or `away` where a replica is named for searches; they use the primary unless it is `ok`.
    """

    kind: StoreKind
    spool: SpoolState | None = None
    replication: str | None = None
    read_replica: str | None = None


@record
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


@record
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

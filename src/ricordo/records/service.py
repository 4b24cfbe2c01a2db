"""What a store keeps beside the memory itself, as records, and the reports of operations.

Records: documents with their chunks, API keys, jobs, adapter items. Reports: cleanup, erase, verify, repair, import,
health, statistics. Documents that all users of a tenant share belong to its library (`records.turns.library_of`). A job
names a session or an owner and has no text of a message.
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
    """A text that answers are based on. `digest` is equal for equal content; `bytes` is its size."""

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
    """A passage of a document, number `position` in it, with its vector if it was embedded."""

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
    """A key for a tenant, or for one of its users. `digest` is the SHA-256 of the secret; the secret is not stored."""

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
        """Whether it was not revoked."""
        return self.revoked_at is None


@record
class Job:
    """Work of one kind on a session, or on the owner as a whole if `session_id` is empty.

    `due_at` is None after the last failed attempt. `attempts` counts how often a worker took it. `again_at` is set if
    it was enqueued again while a worker had it: it is due at that time, once that worker has finished.
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
        """One id for owner, kind and session: there is at most one such job."""
        return uuid5(self.owner.key, f"{len(self.kind)}:{self.kind}{self.session_id}")


@record
class JobStats:
    """How many jobs of a tenant are pending, leased or failed; `oldest` is the earliest due time.

    `retrying` counts the pending ones whose last attempt failed.
    """

    pending: int = 0
    leased: int = 0
    failed: int = 0
    retrying: int = 0
    oldest: datetime | None = None


SessionState = tuple[int, str]  # a session's revision and the id of its newest turn: equal if nothing was written


@record
class StoredItem:
    """An adapter item: bytes under `place` and `key`. `tag` is a second way to find it.

    It is not returned from `expires_at` on, and deleted with the session or the turn that it names; both must exist.
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
    """What a cleanup removed. `errors` names the users for whom it failed; all others were cleaned up."""

    sessions_deleted: int = 0
    turns_deleted: int = 0
    execution_time: float = 0.0
    errors: tuple[str, ...] = ()


@record
class Expired:
    """What one batch of a cleanup removed, and whether more is expired."""

    sessions: int = 0
    turns: int = 0
    more: bool = False


@record
class EraseReceipt:
    """Proof of an erasure: how many rows of each kind were removed, when, and what the operator must still do."""

    user_id: str
    tenant_id: str
    erased_at: datetime
    removed: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@record
class Damage:
    """One problem that `verify` found, and where."""

    where: str
    problem: str


@record
class Verification:
    """The result of `verify`."""

    sessions: int
    turns: int
    damages: tuple[Damage, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is no damage."""
        return not self.damages


@record
class Repair:
    """What `repair` corrected, and the result of `verify` after it."""

    mended: tuple[Damage, ...]
    verification: Verification


@record
class ImportResult:
    """What an import wrote. Turns that are stored already with the same content are counted as known."""

    sessions_added: int = 0
    turns_added: int = 0
    turns_known: int = 0
    errors: tuple[str, ...] = ()
    items_added: int = 0


@record
class SpoolState:
    """`degraded` while the database is away or writes still wait; `depth` writes take `bytes` on disk.

    `refused` counts the writes that the database rejected, which are in a separate file. `last_error` is the latest
    cause, without text of a message.
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
    """The kind of a store and the state of its parts; None for a part that it does not have.

    `replication` is `synchronous` or `asynchronous`, as last seen. `read_replica` is `ok`, `behind` or `away`; searches
    use it if it is `ok`, else the primary.
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
    """How much is stored, where, and which parts are in use."""

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

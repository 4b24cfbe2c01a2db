"""What a store keeps besides memory, as frozen records: documents with their chunks, API keys, jobs, items.

Documents belong to an owner; those that all users of a tenant share belong to its library (`records.library_of`).
A job names a session, or an owner, to work on later; it holds no text of a message.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID, uuid5

from ricordo.records.turns import Owner

DocumentKind = Literal["text", "markdown", "pdf"]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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

"""The parts of a store besides memory: documents, API keys, the job queue, and adapter items.

The promises are in the docstrings, as in `stores.protocols`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from ricordo.records.service import ApiKey, Document, Job, JobStats, SessionState, StoredChunk, StoredItem
    from ricordo.records.turns import Owner

T = TypeVar("T")


class DocumentStore(Protocol):
    """Documents with their chunks. They stay until they are deleted or their owner is erased."""

    def put(self, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
        """Write a document with its chunks, in one transaction. False if it exists already with the same digest.

        ConflictError if the id is taken by other content, or the id of a chunk by another document. ValidationError
        if the chunks are not those of the document, or not as many as it says.
        """
        ...

    def page(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        """Newest first, ties by id; `before` is the last document of the previous page."""
        ...

    def get(self, owner: Owner, document_id: str) -> Document | None:
        """One document by id."""
        ...

    def chunks(self, owner: Owner, document_ids: Sequence[str] | None = None) -> Sequence[StoredChunk]:
        """The chunks of the named documents, or of all, by document and position."""
        ...

    def chunk(self, owner: Owner, chunk_id: str) -> StoredChunk | None:
        """One chunk by id."""
        ...

    def delete(self, owner: Owner, document_id: str) -> bool:
        """Delete a document with its chunks; False if there is none."""
        ...

    def set_vectors(self, owner: Owner, embedder: str, vectors: Mapping[str, bytes]) -> int:
        """Set the vectors of chunks, by chunk id; returns how many of the chunks exist."""
        ...


class KeyStore(Protocol):
    """API keys. A key that is bound to a user is deleted when that user is erased."""

    def put(self, key: ApiKey) -> None:
        """Write a key; ConflictError if its tenant has one of that id, or its digest is known."""
        ...

    def by_digest(self, digest: str) -> ApiKey | None:
        """The key with that digest, of any tenant, revoked ones included."""
        ...

    def page(self, tenant_id: str) -> Sequence[ApiKey]:
        """A tenant's keys, those of its users included, oldest first, ties by id."""
        ...

    def revoke(self, tenant_id: str, key_id: str, now: datetime) -> ApiKey | None:
        """Revoke a key for good; None if there is none. One that is already revoked stays as it is."""
        ...

    def used(self, key: ApiKey, now: datetime) -> None:
        """Record when a key was last used; a deleted key is ignored."""
        ...


class JobStore(Protocol):
    """The job queue, and leases. At most one job per owner, kind and session."""

    def enqueue(self, owner: Owner, kind: str, session_id: str, due_at: datetime, *, postpone: bool = False) -> bool:
        """Add a job. False, and nothing is written, if it names a session that does not exist.

        A job that already waits keeps the earlier time, or takes the new one with `postpone`. One that waits after a
        failure keeps its time, except with `postpone`. One that has failed for good starts again. One that a worker has
        runs once more afterwards.
        """
        ...

    def take(
        self, worker: str, now: datetime, lease: timedelta, *, limit: int = 1, kinds: Sequence[str] | None = None
    ) -> Sequence[Job]:
        """Lease due jobs of any owner, the longest due first; no other worker gets them until the lease ends.

        Each job counts how often it was taken. Two workers that take at the same time never get the same job.
        """
        ...

    def finish(self, job: Job) -> bool:
        """Mark a job as done. False, and nothing changes, if another worker has the lease, or the job was deleted."""
        ...

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        """Mark a job as failed, to be tried again at `retry_at`, or never if that is None. False as for `finish`."""
        ...

    def hand_back(self, job: Job) -> bool:
        """Return a job to the queue at once; this attempt does not count. False as for `finish`."""
        ...

    def extend(self, job: Job, until: datetime) -> Job | None:
        """Extend the lease and return the renewed job. None where `finish` returns False."""
        ...

    def page(self, owner: Owner) -> Sequence[Job]:
        """All jobs of an owner, by kind and session."""
        ...

    def stats(self, tenant_id: str, now: datetime) -> JobStats:
        """How many jobs of a tenant there are, by state."""
        ...

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take or renew a lease on something that only one process may do; False while another holder has it."""
        ...

    def end_lease(self, name: str, holder: str) -> bool:
        """Give a lease back; False if it was not the holder's."""
        ...


class ItemTransaction(Protocol):
    """What one transaction can do with one owner's items in one collection. Expired items are never returned.

    A prefix is "" for everything, or a place whose last character is `stores.items.PART_END`.
    """

    def on(self, collection: str) -> ItemTransaction:
        """The same transaction on another collection."""
        ...

    def serialize(self) -> None:
        """Run writers of one owner and collection one by one, so that what was read stays true until the commit."""
        ...

    def get(self, place: str, key: str) -> StoredItem | None:
        """One item."""
        ...

    def get_all(self, wanted: Sequence[tuple[str, str]]) -> list[StoredItem]:
        """The items at these (place, key), in any order; missing ones are left out."""
        ...

    def find(
        self,
        prefix: str = "",
        *,
        key: str | None = None,
        before: str | None = None,
        tag: str | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[StoredItem]:
        """Items whose place begins with `prefix`, by place and key; `newest_first`: by key falling, then place.

        Only those with that key, a key less than `before`, or that tag, where given. A tag is found by its index.
        """
        ...

    def places(self, prefix: str = "") -> list[str]:
        """The places below `prefix` with an item, in rising order."""
        ...

    def probe(self, session_id: str, place: str, keys: Sequence[str]) -> tuple[SessionState | None, set[str]]:
        """The state of a session, None if it does not exist, and which of these keys are at a place: one query."""
        ...

    def put(self, item: StoredItem, *, replace: bool = True) -> None:
        """Write an item; an existing one is replaced, or stays with `replace=False`. Times left out are now.

        A replaced item keeps its `created_at`. StoreError if the session or turn that it names does not exist.
        """
        ...

    def attach(self, place: str, key: str, turn_id: str) -> None:
        """Delete the item together with that turn from now on; nothing happens if there is no such item."""
        ...

    def renew(self, item: StoredItem) -> None:
        """Set `expires_at` to `minutes` from now; nothing happens to an item without `minutes`."""
        ...

    def remove(self, place: str, key: str) -> None:
        """Delete one item; nothing happens if there is none."""
        ...

    def remove_under(self, prefix: str) -> None:
        """Delete every item whose place begins with `prefix`."""
        ...


class ItemStore(Protocol):
    """Adapter items: bytes under an owner, a collection, a place and a key.

    An item may name a session and a turn; it is deleted with them, however they are deleted, and with its owner.
    """

    def read(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        """The result of `work`, which reads one snapshot: writes made meanwhile are not seen."""
        ...

    def write(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        """Run `work` in one transaction: all of it is written, or nothing. It may run again after a conflict."""
        ...

    def exclusive(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        """Run `work`, which reads items and may write to other parts of the store, under a lock of the owner.

        From its first query to its end no other `exclusive` work of this owner runs, in any process; the first query
        sees everything committed before. `work` must not write items.
        """
        ...

    def page(
        self, owner: Owner, now: datetime, *, after: tuple[str, str, str] = ("", "", ""), limit: int
    ) -> list[tuple[str, StoredItem]]:
        """Items of every collection, each with its collection, by collection, place and key; expired ones left out.

        `after` is the collection, place and key of the last item of the previous page.
        """
        ...

    def sweep(self, owner: Owner, now: datetime) -> int:
        """Delete the owner's expired items; returns how many."""
        ...

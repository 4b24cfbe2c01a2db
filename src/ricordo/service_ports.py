"""The seam of what a service keeps besides memory: documents, API keys, jobs and leases, in the same database.

Whoever names an owner sees that owner's data alone. Three calls cannot name one, and see no more than they must: a key
is found by its digest, a tenant's keys and counts by the tenant, and workers take the jobs of everybody.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from ricordo.records import Owner
from ricordo.service import ApiKey, Document, Job, JobStats, StoredChunk


class DocumentStore(Protocol):
    """Where documents live. They stay until they are deleted or their owner erased."""

    def put_document(self, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
        """Keep a document with its chunks, in one transaction. False if it is there already with the same digest.

        ConflictError if the id is taken by other content, or the id of a chunk by another document. ValidationError
        if the chunks are not those of the document, or not as many as it says.
        """
        ...

    def documents(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        """Newest first, ties by id; `before` is the last one of the previous page."""
        ...

    def document(self, owner: Owner, document_id: str) -> Document | None:
        """One document by id."""
        ...

    def chunks(self, owner: Owner, document_ids: Sequence[str] | None = None) -> Sequence[StoredChunk]:
        """The chunks of the named documents, or of all, by document and position."""
        ...

    def chunk(self, owner: Owner, chunk_id: str) -> StoredChunk | None:
        """One chunk by id."""
        ...

    def delete_document(self, owner: Owner, document_id: str) -> bool:
        """Remove a document with its chunks; False if there is none."""
        ...

    def set_chunk_vectors(self, owner: Owner, embedder: str, vectors: Mapping[str, bytes]) -> int:
        """Set the vectors of chunks, by id; how many of them are there."""
        ...


class KeyStore(Protocol):
    """Where API keys live. A key that is bound to a user goes when that user is erased."""

    def put_key(self, key: ApiKey) -> None:
        """Keep a key; ConflictError if its tenant has one of that id, or its digest is known."""
        ...

    def key_by_digest(self, digest: str) -> ApiKey | None:
        """The key with that digest, whoever's it is, revoked ones too."""
        ...

    def keys(self, tenant_id: str) -> Sequence[ApiKey]:
        """A tenant's keys, those of its users included, oldest first, ties by id."""
        ...

    def revoke_key(self, tenant_id: str, key_id: str, now: datetime) -> ApiKey | None:
        """Close a key for good; None if there is none. One that is revoked stays as it is."""
        ...

    def key_used(self, key: ApiKey, now: datetime) -> None:
        """Note when a key was last used; a key that is gone is passed over."""
        ...


class JobStore(Protocol):
    """Where work waits until somebody does it. At most one job per owner, kind and session."""

    def enqueue(self, owner: Owner, kind: str, session_id: str, due_at: datetime, *, postpone: bool = False) -> bool:
        """Wish for a piece of work. False, and nothing is kept, if it is about a session that is not there.

        One that waits already keeps the earlier time, or takes the new one with `postpone`; one that waits after a
        failure keeps its time unless postponed; one that was given up starts anew; one that somebody is at will be
        done once more.
        """
        ...

    def take(
        self, worker: str, now: datetime, lease: timedelta, *, limit: int = 1, kinds: Sequence[str] | None = None
    ) -> Sequence[Job]:
        """Take jobs that are due, of any owner, those due longest first; nobody else gets them until the lease ends.

        Each is told how often it was taken. Two who take at once never take the same.
        """
        ...

    def finish(self, job: Job) -> bool:
        """It is done. False, and nothing changes, if the lease was lost to another, or the job is gone."""
        ...

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        """It did not work: try again at a time, or give it up. False as for `finish`."""
        ...

    def hand_back(self, job: Job) -> bool:
        """Somebody else may do it, at once, and this attempt does not count. False as for `finish`."""
        ...

    def extend(self, job: Job, until: datetime) -> Job | None:
        """Keep the lease for longer: the job to go on with. None where `finish` says False."""
        ...

    def jobs(self, owner: Owner) -> Sequence[Job]:
        """All jobs of an owner, by kind and session."""
        ...

    def jobs_stats(self, tenant_id: str, now: datetime) -> JobStats:
        """How much work of a tenant there is."""
        ...

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take or renew a lease on something that only one of all processes may do; False while another has it."""
        ...

    def end_lease(self, name: str, holder: str) -> bool:
        """Give a lease back; False if it was not the holder's."""
        ...


class ServiceStore(DocumentStore, KeyStore, JobStore, Protocol):
    """All that a service keeps besides memory."""

"""Documents, API keys, jobs and leases of the reference store."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from ricordo.records.service import ApiKey, Document, Job, JobStats, StoredChunk
from ricordo.records.turns import Owner
from ricordo.stores import write_rules
from ricordo.stores.memory.home import Homes


class MemoryDocuments:
    """Documents and their chunks."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes
        self._lock = homes.lock

    def put(self, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
        write_rules.check_document(document, chunks)
        with self._lock:
            home = self._homes.of(owner)
            if write_rules.is_known(home.documents.get(document.id), document):
                return False
            write_rules.check_chunk_ids(sorted({chunk.id for chunk in chunks} & home.chunks.keys()))
            home.documents[document.id] = document
            home.chunks |= {chunk.id: chunk for chunk in chunks}
            return True

    def page(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        with self._lock:
            found = list(self._homes.of(owner).documents.values())
        if before is not None:
            found = [each for each in found if _age(each) < _age(before)]
        return sorted(found, key=_age, reverse=True)[: max(0, limit)]

    def get(self, owner: Owner, document_id: str) -> Document | None:
        with self._lock:
            return self._homes.of(owner).documents.get(document_id)

    def chunks(self, owner: Owner, document_ids: Sequence[str] | None = None) -> Sequence[StoredChunk]:
        with self._lock:
            every = list(self._homes.of(owner).chunks.values())
        found = [chunk for chunk in every if document_ids is None or chunk.document_id in document_ids]
        return sorted(found, key=lambda chunk: (chunk.document_id, chunk.position))

    def chunk(self, owner: Owner, chunk_id: str) -> StoredChunk | None:
        with self._lock:
            return self._homes.of(owner).chunks.get(chunk_id)

    def delete(self, owner: Owner, document_id: str) -> bool:
        with self._lock:
            home = self._homes.of(owner)
            home.chunks = {name: each for name, each in home.chunks.items() if each.document_id != document_id}
            return home.documents.pop(document_id, None) is not None

    def set_vectors(self, owner: Owner, embedder: str, vectors: Mapping[str, bytes]) -> int:
        with self._lock:
            chunks = self._homes.of(owner).chunks
            known = vectors.keys() & chunks.keys()
            for name in known:
                chunks[name] = replace(chunks[name], vector=vectors[name], embedder=embedder)
            return len(known)


class MemoryKeys:
    """API keys, by digest."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes
        self._lock = homes.lock

    def put(self, key: ApiKey) -> None:
        with self._lock:
            mine = [other for other in self._homes.keys.values() if other.tenant_id == key.tenant_id]
            known = self._homes.keys.get(key.digest)
            write_rules.check_key(key, [*mine, *([known] if known else [])])
            self._homes.keys[key.digest] = key

    def by_digest(self, digest: str) -> ApiKey | None:
        with self._lock:
            return self._homes.keys.get(digest)

    def page(self, tenant_id: str) -> Sequence[ApiKey]:
        with self._lock:
            found = [key for key in self._homes.keys.values() if key.tenant_id == tenant_id]
        return sorted(found, key=lambda key: (key.created_at, key.id))

    def revoke(self, tenant_id: str, key_id: str, now: datetime) -> ApiKey | None:
        with self._lock:
            for key in self.page(tenant_id):
                if key.id == key_id:
                    self._homes.keys[key.digest] = key if key.revoked_at else replace(key, revoked_at=now)
                    return self._homes.keys[key.digest]
            return None

    def used(self, key: ApiKey, now: datetime) -> None:
        with self._lock:
            stored = self._homes.keys.get(key.digest)
            if stored:
                self._homes.keys[key.digest] = replace(stored, last_used_at=max(stored.last_used_at or now, now))

    def drop_of(self, owner: Owner) -> int:
        """Delete the keys of an owner; how many."""
        gone = [key.digest for key in self._homes.keys.values() if write_rules.key_owner(key) == owner]
        for digest in gone:
            del self._homes.keys[digest]
        return len(gone)


class MemoryJobs:
    """The job queue, and leases."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes
        self._lock = homes.lock

    def enqueue(self, owner: Owner, kind: str, session_id: str, due_at: datetime, *, postpone: bool = False) -> bool:
        wish = write_rules.new_job(owner, kind, session_id, due_at)
        with self._lock:
            home = self._homes.of(owner)
            if session_id and session_id not in home.sessions:
                return False
            place = (kind, session_id)
            home.jobs[place] = write_rules.enqueued(home.jobs.get(place), wish, postpone=postpone)
            return True

    def take(
        self, worker: str, now: datetime, lease: timedelta, *, limit: int = 1, kinds: Sequence[str] | None = None
    ) -> Sequence[Job]:
        with self._lock:
            due = [
                job
                for home in self._homes.by_owner.values()
                for job in home.jobs.values()
                if write_rules.is_due(job, now) and (kinds is None or job.kind in kinds)
            ]
            taken = [write_rules.taken(job, worker, now + lease) for job in write_rules.in_order(due)[: max(0, limit)]]
            for job in taken:
                self._homes.of(job.owner).jobs[job.kind, job.session_id] = job
            return taken

    def finish(self, job: Job) -> bool:
        with self._lock:
            stored = self._held(job)
            return stored is not None and self._put_job(job, write_rules.finished(stored))

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        with self._lock:
            stored = self._held(job)
            return stored is not None and self._put_job(job, write_rules.failed(stored, error, retry_at))

    def hand_back(self, job: Job) -> bool:
        with self._lock:
            stored = self._held(job)
            return stored is not None and self._put_job(job, write_rules.handed_back(stored))

    def extend(self, job: Job, until: datetime) -> Job | None:
        with self._lock:
            stored = self._held(job)
            if stored is None:
                return None
            self._put_job(job, write_rules.extended(stored, until))
            return write_rules.extended(job, until)

    def page(self, owner: Owner) -> Sequence[Job]:
        with self._lock:
            found = self._homes.of(owner).jobs
            return [found[place] for place in sorted(found)]

    def stats(self, tenant_id: str, now: datetime) -> JobStats:
        with self._lock:
            homes = self._homes.of_tenant(tenant_id)
            return write_rules.counted([job for home in homes for job in home.jobs.values()], now)

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        with self._lock:
            other, ends = self._homes.leases.get(name, (holder, now))
            if other != holder and ends > now:
                return False
            self._homes.leases[name] = (holder, until)
            return True

    def end_lease(self, name: str, holder: str) -> bool:
        with self._lock:
            if self._homes.leases.get(name, ("", None))[0] != holder:
                return False
            del self._homes.leases[name]
            return True

    def _held(self, job: Job) -> Job | None:
        stored = self._homes.of(job.owner).jobs.get((job.kind, job.session_id))
        return stored if write_rules.holds(stored, job) else None

    def _put_job(self, job: Job, after: Job | None) -> bool:
        jobs = self._homes.of(job.owner).jobs
        if after is None:
            del jobs[job.kind, job.session_id]
        else:
            jobs[job.kind, job.session_id] = after
        return True


def _age(document: Document) -> tuple[datetime, str]:
    return document.created_at, document.id

"""Documents, API keys, jobs and leases, and adapter items, of the reference store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from dataclasses import replace as changed
from datetime import datetime, timedelta
from threading import Lock
from typing import TypeVar

from ricordo.errors import StoreError
from ricordo.records.service import ApiKey, Document, Job, JobStats, SessionState, StoredChunk, StoredItem
from ricordo.records.turns import Owner
from ricordo.stores import write_rules
from ricordo.stores.items import end_of
from ricordo.stores.memory.owner_data import ItemKey, MemoryData, MemoryPart, OwnerData
from ricordo.stores.service_protocols import ItemTransaction


class MemoryDocuments(MemoryPart):
    """Documents and their chunks."""

    def put(self, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
        write_rules.check_document(document, chunks)
        with self._lock:
            data = self._data.of(owner)
            if write_rules.is_known(data.documents.get(document.id), document):
                return False
            write_rules.check_chunk_ids(sorted({chunk.id for chunk in chunks} & data.chunks.keys()))
            data.documents[document.id] = document
            data.chunks |= {chunk.id: chunk for chunk in chunks}
            return True

    def page(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        with self._lock:
            found = list(self._data.of(owner).documents.values())
        if before is not None:
            found = [each for each in found if _age(each) < _age(before)]
        return sorted(found, key=_age, reverse=True)[: max(0, limit)]

    def get(self, owner: Owner, document_id: str) -> Document | None:
        with self._lock:
            return self._data.of(owner).documents.get(document_id)

    def chunks(self, owner: Owner, document_ids: Sequence[str] | None = None) -> Sequence[StoredChunk]:
        with self._lock:
            every = list(self._data.of(owner).chunks.values())
        found = [chunk for chunk in every if document_ids is None or chunk.document_id in document_ids]
        return sorted(found, key=lambda chunk: (chunk.document_id, chunk.position))

    def chunk(self, owner: Owner, chunk_id: str) -> StoredChunk | None:
        with self._lock:
            return self._data.of(owner).chunks.get(chunk_id)

    def delete(self, owner: Owner, document_id: str) -> bool:
        with self._lock:
            data = self._data.of(owner)
            data.chunks = {name: each for name, each in data.chunks.items() if each.document_id != document_id}
            return data.documents.pop(document_id, None) is not None

    def set_vectors(self, owner: Owner, embedder: str, vectors: Mapping[str, bytes]) -> int:
        with self._lock:
            chunks = self._data.of(owner).chunks
            known = vectors.keys() & chunks.keys()
            for name in known:
                chunks[name] = replace(chunks[name], vector=vectors[name], embedder=embedder)
            return len(known)


class MemoryKeys(MemoryPart):
    """API keys, by digest."""

    def put(self, key: ApiKey) -> None:
        with self._lock:
            mine = [other for other in self._data.keys.values() if other.tenant_id == key.tenant_id]
            known = self._data.keys.get(key.digest)
            write_rules.check_key(key, [*mine, *([known] if known else [])])
            self._data.keys[key.digest] = key

    def by_digest(self, digest: str) -> ApiKey | None:
        with self._lock:
            return self._data.keys.get(digest)

    def page(self, tenant_id: str) -> Sequence[ApiKey]:
        with self._lock:
            found = [key for key in self._data.keys.values() if key.tenant_id == tenant_id]
        return sorted(found, key=lambda key: (key.created_at, key.id))

    def revoke(self, tenant_id: str, key_id: str, now: datetime) -> ApiKey | None:
        with self._lock:
            for key in self.page(tenant_id):
                if key.id == key_id:
                    self._data.keys[key.digest] = key if key.revoked_at else replace(key, revoked_at=now)
                    return self._data.keys[key.digest]
            return None

    def used(self, key: ApiKey, now: datetime) -> None:
        with self._lock:
            stored = self._data.keys.get(key.digest)
            if stored:
                self._data.keys[key.digest] = replace(stored, last_used_at=max(stored.last_used_at or now, now))

    def drop_of(self, owner: Owner) -> int:
        """Delete the keys of an owner; how many."""
        gone = [key.digest for key in self._data.keys.values() if write_rules.key_owner(key) == owner]
        for digest in gone:
            del self._data.keys[digest]
        return len(gone)


class MemoryJobs(MemoryPart, write_rules.LeasedJobs):
    """The job queue, and leases."""

    def enqueue(self, owner: Owner, kind: str, session_id: str, due_at: datetime, *, postpone: bool = False) -> bool:
        wish = write_rules.new_job(owner, kind, session_id, due_at)
        with self._lock:
            data = self._data.of(owner)
            if session_id and session_id not in data.sessions:
                return False
            place = (kind, session_id)
            data.jobs[place] = write_rules.enqueued(data.jobs.get(place), wish, postpone=postpone)
            return True

    def take(
        self, worker: str, now: datetime, lease: timedelta, *, limit: int = 1, kinds: Sequence[str] | None = None
    ) -> Sequence[Job]:
        with self._lock:
            due = [
                job
                for data in self._data.by_owner.values()
                for job in data.jobs.values()
                if write_rules.is_due(job, now) and (kinds is None or job.kind in kinds)
            ]
            taken = [write_rules.taken(job, worker, now + lease) for job in write_rules.in_order(due)[: max(0, limit)]]
            for job in taken:
                self._data.of(job.owner).jobs[job.kind, job.session_id] = job
            return taken

    def change(self, job: Job, change: Callable[[Job], Job | None], /) -> bool:
        with self._lock:
            jobs, place = self._data.of(job.owner).jobs, (job.kind, job.session_id)
            stored = jobs.get(place)
            if stored is None or not write_rules.holds(stored, job):
                return False
            after = change(stored)
            if after is None:
                del jobs[place]
            else:
                jobs[place] = after
            return True

    def page(self, owner: Owner) -> Sequence[Job]:
        with self._lock:
            found = self._data.of(owner).jobs
            return [found[place] for place in sorted(found)]

    def stats(self, tenant_id: str, now: datetime) -> JobStats:
        with self._lock:
            owners = self._data.of_tenant(tenant_id)
            return write_rules.counted([job for data in owners for job in data.jobs.values()], now)

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        with self._lock:
            other, ends = self._data.leases.get(name, (holder, now))
            if other != holder and ends > now:
                return False
            self._data.leases[name] = (holder, until)
            return True

    def end_lease(self, name: str, holder: str) -> bool:
        with self._lock:
            if self._data.leases.get(name, ("", None))[0] != holder:
                return False
            del self._data.leases[name]
            return True


def _age(document: Document) -> tuple[datetime, str]:
    return document.created_at, document.id


T = TypeVar("T")


class MemoryItems(MemoryPart):
    """Items of adapters. A transaction works on a copy of the owner's items, which replaces them at its end."""

    def __init__(self, data: MemoryData) -> None:
        super().__init__(data)
        self._exclusive = Lock()

    def read(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        with self._lock:
            data = self._data.of(owner)
            copy = dict(data.items)
        return work(MemoryTransaction(data, copy, collection, now))

    def write(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        with self._lock:
            data = self._data.of(owner)
            copy = dict(data.items)
            result = work(MemoryTransaction(data, copy, collection, now))
            data.items = copy
            return result

    def exclusive(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        with self._exclusive:
            return self.read(owner, collection, now, work)

    def page(
        self, owner: Owner, now: datetime, *, after: tuple[str, str, str] = ("", "", ""), limit: int
    ) -> list[tuple[str, StoredItem]]:
        with self._lock:
            items = self._data.of(owner).items
            keys = sorted(key for key, item in items.items() if key > after and _alive(item, now))
            return [(key[0], items[key]) for key in keys[:limit]]

    def sweep(self, owner: Owner, now: datetime) -> int:
        with self._lock:
            data = self._data.of(owner)
            alive = {key: item for key, item in data.items.items() if _alive(item, now)}
            gone = len(data.items) - len(alive)
            data.items = alive
            return gone


class MemoryTransaction:
    """One owner's items in one collection."""

    def __init__(self, data: OwnerData, items: dict[ItemKey, StoredItem], collection: str, now: datetime) -> None:
        self._home = data
        self._items = items
        self._collection = collection
        self._now = now

    def on(self, collection: str) -> "MemoryTransaction":
        return MemoryTransaction(self._home, self._items, collection, self._now)

    def serialize(self) -> None:
        """Nothing to do: the lock serializes all writers."""

    def get(self, place: str, key: str) -> StoredItem | None:
        item = self._items.get((self._collection, place, key))
        return item if item and _alive(item, self._now) else None

    def get_all(self, wanted: Sequence[tuple[str, str]]) -> list[StoredItem]:
        return [item for place, key in dict.fromkeys(wanted) if (item := self.get(place, key))]

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
        found = [
            item
            for item in self._under(prefix)
            if key in (None, item.key)
            and (before is None or item.key < before)
            and (tag is None or item.tag == tag != "")
        ]
        found.sort(key=lambda item: (item.place, item.key))
        if newest_first:
            found.sort(key=lambda item: item.key, reverse=True)
        return found[:limit]

    def places(self, prefix: str = "") -> list[str]:
        return sorted({item.place for item in self._under(prefix)})

    def probe(self, session_id: str, place: str, keys: Sequence[str]) -> tuple[SessionState | None, set[str]]:
        session = self._home.sessions.get(session_id)
        newest = session.turns[-1].id if session and session.turns else ""
        return (session.info.revision, newest) if session else None, {key for key in keys if self.get(place, key)}

    def put(self, item: StoredItem, *, replace: bool = True) -> None:
        key = (self._collection, item.place, item.key)
        stored = self._items.get(key)
        if stored and not replace:
            return
        if item.session_id is not None and item.session_id not in self._home.sessions:
            raise StoreError(f"session {item.session_id!r} of the item does not exist; write the session first")
        self._check_turn(item.turn_id)
        expires_at = item.expires_at
        if expires_at is None and item.minutes is not None:
            expires_at = self._now + timedelta(minutes=item.minutes)
        self._items[key] = changed(
            item,
            created_at=stored.created_at if stored else item.created_at or self._now,
            updated_at=item.updated_at or self._now,
            expires_at=expires_at,
        )

    def attach(self, place: str, key: str, turn_id: str) -> None:
        item = self._items.get((self._collection, place, key))
        if item:
            self._check_turn(turn_id)
            self._items[self._collection, place, key] = changed(item, turn_id=turn_id)

    def renew(self, item: StoredItem) -> None:
        stored = self._items.get((self._collection, item.place, item.key))
        if stored and item.minutes is not None:
            expires_at = self._now + timedelta(minutes=item.minutes)
            self._items[self._collection, item.place, item.key] = changed(stored, expires_at=expires_at)

    def remove(self, place: str, key: str) -> None:
        self._items.pop((self._collection, place, key), None)

    def remove_under(self, prefix: str) -> None:
        for collection, place, key in list(self._items):
            if collection == self._collection and prefix <= place < end_of(prefix):
                del self._items[collection, place, key]

    def _under(self, prefix: str) -> list[StoredItem]:
        end = end_of(prefix)
        return [
            item
            for (collection, place, _), item in self._items.items()
            if collection == self._collection and prefix <= place < end and _alive(item, self._now)
        ]

    def _check_turn(self, turn_id: str | None) -> None:
        if turn_id is not None and self._home.find(turn_id) is None:
            raise StoreError(f"turn {turn_id!r} of the item does not exist; write the turn first")


def _alive(item: StoredItem, now: datetime) -> bool:
    return item.expires_at is None or item.expires_at > now

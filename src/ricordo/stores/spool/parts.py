"""The parts that are never spooled: derived data, documents, API keys, jobs and items.

Calls go to the database. What every chat reads (facts, summaries, flags, the list of documents) falls back to the last
known value while the database is away; everything else raises StoreUnavailable.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeVar

from ricordo.errors import StoreUnavailable
from ricordo.records.derived import (
    FactChange,
    Flag,
    FlagState,
    KnownFacts,
    Summary,
    SummaryKind,
    TopicChange,
    TopicShelf,
)
from ricordo.records.service import ApiKey, Document, Job, JobStats, StoredChunk, StoredItem
from ricordo.records.turns import Block, IndexedTurn, Owner, TurnVectors
from ricordo.stores.service_protocols import ItemTransaction
from ricordo.stores.spool.database import SpooledDatabase

T = TypeVar("T")


class SpooledTopics:
    """`TopicStore` before a spool."""

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database

    def load(self, owner: Owner, session_id: str) -> TopicShelf:
        return self._database.call(lambda store: store.topics.load(owner, session_id))

    def put(self, owner: Owner, session_id: str, change: TopicChange) -> bool:
        return self._database.call(lambda store: store.topics.put(owner, session_id, change))

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        return self._database.call(lambda store: store.topics.turns_of(owner, session_id, topic_id))

    def archive(self, owner: Owner, session_id: str, block: Block) -> bool:
        return self._database.call(lambda store: store.topics.archive(owner, session_id, block))

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        return self._database.call(lambda store: store.topics.blocks(owner, session_id, topic_id))

    def rehydrate(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._database.call(lambda store: store.topics.rehydrate(owner, session_id, turn_numbers))

    def release(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._database.call(lambda store: store.topics.release(owner, session_id, turn_numbers))


class SpooledVectors:
    """`VectorStore` before a spool."""

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database

    def read(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        return self._database.call(lambda store: store.vectors.read(owner, embedder, session_id))

    def turns(self, owner: Owner, embedder: str) -> Iterator[IndexedTurn]:
        return self._database.call(lambda store: store.vectors.turns(owner, embedder))

    def write(self, owner: Owner, vectors: Sequence[TurnVectors]) -> None:
        self._database.call(lambda store: store.vectors.write(owner, vectors))

    def drop(self, owner: Owner, *, keep: str) -> int:
        return self._database.call(lambda store: store.vectors.drop(owner, keep=keep))


class SpooledPeople:
    """`PeopleStore` before a spool."""

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database
        self._last_known = database.last_known

    def agents(self, owner: Owner) -> Sequence[str]:
        return self._database.call(lambda store: store.people.agents(owner))

    def facts(self, owner: Owner, agent_id: str) -> KnownFacts:
        return self._database.call_or_last(
            owner, ("facts", agent_id), lambda store: store.people.facts(owner, agent_id), KnownFacts()
        )

    def put_facts(self, owner: Owner, agent_id: str, change: FactChange) -> bool:
        written = self._database.call(lambda store: store.people.put_facts(owner, agent_id, change))
        if written and change.put:
            self._last_known.forget(owner, ("facts", agent_id))  # the change may forget a fact
            with suppress(StoreUnavailable):
                self.facts(owner, agent_id)
        return written

    def learned_through(self, owner: Owner, session_id: str) -> int:
        return self._database.call(lambda store: store.people.learned_through(owner, session_id))

    def summaries(
        self,
        owner: Owner,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        kind: SummaryKind | None = None,
        limit: int = 50,
    ) -> Sequence[Summary]:
        return self._database.call_or_last(
            owner,
            ("summaries", session_id, agent_id, kind, limit),
            lambda store: store.people.summaries(
                owner, session_id=session_id, agent_id=agent_id, kind=kind, limit=limit
            ),
            (),
        )

    def put_summary(self, owner: Owner, summary: Summary) -> bool:
        return self._database.call(lambda store: store.people.put_summary(owner, summary))

    def drop_summaries(self, owner: Owner, summary_ids: Sequence[str]) -> int:
        dropped = self._database.call(lambda store: store.people.drop_summaries(owner, summary_ids))
        self._last_known.forget(owner)
        return dropped

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        # Known facts and summaries must not be used without knowing which of them are in quarantine.
        empty = None if self._last_known.knows(owner) else ()
        return self._database.call_or_last(
            owner, ("flags", state, limit), lambda store: store.people.flags(owner, state=state, limit=limit), empty
        )

    def put_flag(self, owner: Owner, flag: Flag) -> bool:
        written = self._database.call(lambda store: store.people.put_flag(owner, flag))
        self._last_known.forget(owner)
        return written

    def set_flag(self, owner: Owner, flag_id: str, state: FlagState) -> Flag | None:
        flag = self._database.call(lambda store: store.people.set_flag(owner, flag_id, state))
        self._last_known.forget(owner)
        return flag

    def forget_derived(self, owner: Owner, session_id: str) -> int:
        deleted = self._database.call(lambda store: store.people.forget_derived(owner, session_id))
        self._last_known.forget(owner)
        return deleted


class SpooledDocuments:
    """`DocumentStore` before a spool."""

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database

    def put(self, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
        return self._database.call(lambda store: store.documents.put(owner, document, chunks))

    def page(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        return self._database.call_or_last(
            owner,
            ("documents", limit, before and before.id),
            lambda store: store.documents.page(owner, limit=limit, before=before),
        )

    def get(self, owner: Owner, document_id: str) -> Document | None:
        return self._database.call(lambda store: store.documents.get(owner, document_id))

    def chunks(self, owner: Owner, document_ids: Sequence[str] | None = None) -> Sequence[StoredChunk]:
        return self._database.call(lambda store: store.documents.chunks(owner, document_ids))

    def chunk(self, owner: Owner, chunk_id: str) -> StoredChunk | None:
        return self._database.call(lambda store: store.documents.chunk(owner, chunk_id))

    def delete(self, owner: Owner, document_id: str) -> bool:
        return self._database.call(lambda store: store.documents.delete(owner, document_id))

    def set_vectors(self, owner: Owner, embedder: str, vectors: Mapping[str, bytes]) -> int:
        return self._database.call(lambda store: store.documents.set_vectors(owner, embedder, vectors))


class SpooledKeys:
    """`KeyStore` before a spool."""

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database

    def put(self, key: ApiKey) -> None:
        self._database.call(lambda store: store.keys.put(key))

    def by_digest(self, digest: str) -> ApiKey | None:
        return self._database.call(lambda store: store.keys.by_digest(digest))

    def page(self, tenant_id: str) -> Sequence[ApiKey]:
        return self._database.call(lambda store: store.keys.page(tenant_id))

    def revoke(self, tenant_id: str, key_id: str, now: datetime) -> ApiKey | None:
        return self._database.call(lambda store: store.keys.revoke(tenant_id, key_id, now))

    def used(self, key: ApiKey, now: datetime) -> None:
        self._database.call(lambda store: store.keys.used(key, now))


class SpooledJobs:
    """`JobStore` before a spool."""

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database

    def enqueue(self, owner: Owner, kind: str, session_id: str, due_at: datetime, *, postpone: bool = False) -> bool:
        return self._database.call(lambda store: store.jobs.enqueue(owner, kind, session_id, due_at, postpone=postpone))

    def take(
        self, worker: str, now: datetime, lease: timedelta, *, limit: int = 1, kinds: Sequence[str] | None = None
    ) -> Sequence[Job]:
        return self._database.call(lambda store: store.jobs.take(worker, now, lease, limit=limit, kinds=kinds))

    def finish(self, job: Job) -> bool:
        return self._database.call(lambda store: store.jobs.finish(job))

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        return self._database.call(lambda store: store.jobs.fail(job, error, retry_at))

    def hand_back(self, job: Job) -> bool:
        return self._database.call(lambda store: store.jobs.hand_back(job))

    def extend(self, job: Job, until: datetime) -> Job | None:
        return self._database.call(lambda store: store.jobs.extend(job, until))

    def page(self, owner: Owner) -> Sequence[Job]:
        return self._database.call(lambda store: store.jobs.page(owner))

    def stats(self, tenant_id: str, now: datetime) -> JobStats:
        return self._database.call(lambda store: store.jobs.stats(tenant_id, now))

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        return self._database.call(lambda store: store.jobs.lease(name, holder, now, until))

    def end_lease(self, name: str, holder: str) -> bool:
        return self._database.call(lambda store: store.jobs.end_lease(name, holder))


class SpooledItems:
    """`ItemStore` before a spool. Work runs in the caller's thread: it may call other parts of the store."""

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database
        self._connection = database.connection

    def read(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        return self._connection.call_here(lambda store: store.items.read(owner, collection, now, work))

    def write(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        return self._connection.call_here(lambda store: store.items.write(owner, collection, now, work))

    def exclusive(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        return self._connection.call_here(lambda store: store.items.exclusive(owner, collection, now, work))

    def page(
        self, owner: Owner, now: datetime, *, after: tuple[str, str, str] = ("", "", ""), limit: int
    ) -> list[tuple[str, StoredItem]]:
        return self._database.call(lambda store: store.items.page(owner, now, after=after, limit=limit))

    def sweep(self, owner: Owner, now: datetime) -> int:
        return self._database.call(lambda store: store.items.sweep(owner, now))

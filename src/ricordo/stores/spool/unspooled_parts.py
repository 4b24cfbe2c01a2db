"""The parts that are never spooled: derived data, documents, API keys, jobs and items.

Calls go to the database. What every chat reads (facts, summaries, flags, the list of documents) falls back to the last
known value while the database is away; everything else raises StoreUnavailable.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ricordo.errors import StoreUnavailable
from ricordo.records.derived import FactChange, Flag, FlagState, KnownFacts, Summary, SummaryKind
from ricordo.records.service import Document
from ricordo.records.turns import Owner
from ricordo.stores.protocols import PeopleStore, Store, TopicStore, VectorStore
from ricordo.stores.service_protocols import DocumentStore, ItemStore, ItemTransaction, JobStore, KeyStore
from ricordo.stores.spool.database import SpooledDatabase

P = ParamSpec("P")
T = TypeVar("T")


class _Part:
    """A part of a store with a spool."""

    _part: str

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database


def _unchanged(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A method that calls the same method of the database."""

    @wraps(method)
    def call(self: _Part, /, *args: P.args, **kwargs: P.kwargs) -> T:
        def work(store: Store) -> T:
            answer: T = getattr(getattr(store, self._part), method.__name__)(*args, **kwargs)
            return answer

        return self._database.call(work)

    return call


def _dropping_cache(method: Callable[Concatenate[Any, Owner, P], T]) -> Callable[Concatenate[Any, Owner, P], T]:
    """The same; afterwards the cached values of the owner are dropped."""
    direct = _unchanged(method)

    @wraps(method)
    def call(self: _Part, owner: Owner, /, *args: P.args, **kwargs: P.kwargs) -> T:
        done = direct(self, owner, *args, **kwargs)
        self._database.last_known.forget(owner)
        return done

    return call


class SpooledTopics(_Part):
    """`TopicStore` before a spool."""

    _part = "topics"

    load = _unchanged(TopicStore.load)
    put = _unchanged(TopicStore.put)
    turns_of = _unchanged(TopicStore.turns_of)
    archive = _unchanged(TopicStore.archive)
    blocks = _unchanged(TopicStore.blocks)
    rehydrate = _unchanged(TopicStore.rehydrate)
    release = _unchanged(TopicStore.release)


class SpooledVectors(_Part):
    """`VectorStore` before a spool."""

    _part = "vectors"

    read = _unchanged(VectorStore.read)
    turns = _unchanged(VectorStore.turns)
    write = _unchanged(VectorStore.write)
    drop = _unchanged(VectorStore.drop)


class SpooledPeople(_Part):
    """`PeopleStore` before a spool."""

    _part = "people"

    agents = _unchanged(PeopleStore.agents)
    learned_through = _unchanged(PeopleStore.learned_through)
    put_summary = _unchanged(PeopleStore.put_summary)
    drop_summaries = _dropping_cache(PeopleStore.drop_summaries)
    put_flag = _dropping_cache(PeopleStore.put_flag)
    set_flag = _dropping_cache(PeopleStore.set_flag)
    forget_derived = _dropping_cache(PeopleStore.forget_derived)

    def facts(self, owner: Owner, agent_id: str) -> KnownFacts:
        return self._database.call_or_last(
            owner, ("facts", agent_id), lambda store: store.people.facts(owner, agent_id), KnownFacts()
        )

    def put_facts(self, owner: Owner, agent_id: str, change: FactChange) -> bool:
        written = self._database.call(lambda store: store.people.put_facts(owner, agent_id, change))
        if written and change.put:
            self._database.last_known.forget(owner, ("facts", agent_id))  # the change may forget a fact
            with suppress(StoreUnavailable):
                self.facts(owner, agent_id)
        return written

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

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        # Known facts and summaries must not be used without knowing which of them are in quarantine.
        empty = None if self._database.last_known.knows(owner) else ()
        return self._database.call_or_last(
            owner, ("flags", state, limit), lambda store: store.people.flags(owner, state=state, limit=limit), empty
        )


class SpooledDocuments(_Part):
    """`DocumentStore` before a spool."""

    _part = "documents"

    put = _unchanged(DocumentStore.put)
    get = _unchanged(DocumentStore.get)
    chunks = _unchanged(DocumentStore.chunks)
    chunk = _unchanged(DocumentStore.chunk)
    delete = _unchanged(DocumentStore.delete)
    set_vectors = _unchanged(DocumentStore.set_vectors)

    def page(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        return self._database.call_or_last(
            owner,
            ("documents", limit, before and before.id),
            lambda store: store.documents.page(owner, limit=limit, before=before),
        )


class SpooledKeys(_Part):
    """`KeyStore` before a spool."""

    _part = "keys"

    put = _unchanged(KeyStore.put)
    by_digest = _unchanged(KeyStore.by_digest)
    page = _unchanged(KeyStore.page)
    revoke = _unchanged(KeyStore.revoke)
    used = _unchanged(KeyStore.used)


class SpooledJobs(_Part):
    """`JobStore` before a spool."""

    _part = "jobs"

    enqueue = _unchanged(JobStore.enqueue)
    take = _unchanged(JobStore.take)
    finish = _unchanged(JobStore.finish)
    fail = _unchanged(JobStore.fail)
    hand_back = _unchanged(JobStore.hand_back)
    extend = _unchanged(JobStore.extend)
    page = _unchanged(JobStore.page)
    stats = _unchanged(JobStore.stats)
    lease = _unchanged(JobStore.lease)
    end_lease = _unchanged(JobStore.end_lease)


class SpooledItems(_Part):
    """`ItemStore` before a spool. Work runs in the caller's thread: it may call other parts of the store."""

    _part = "items"

    page = _unchanged(ItemStore.page)
    sweep = _unchanged(ItemStore.sweep)

    def read(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        return self._database.connection.call_here(lambda store: store.items.read(owner, collection, now, work))

    def write(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        return self._database.connection.call_here(lambda store: store.items.write(owner, collection, now, work))

    def exclusive(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        return self._database.connection.call_here(lambda store: store.items.exclusive(owner, collection, now, work))

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
    """A part of a store before a spool."""

    _part: str

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database


def _direct(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """The method of a part whose calls go to the database as they are."""

    @wraps(method)
    def call(self: _Part, /, *args: P.args, **kwargs: P.kwargs) -> T:
        def work(store: Store) -> T:
            answer: T = getattr(getattr(store, self._part), method.__name__)(*args, **kwargs)
            return answer

        return self._database.call(work)

    return call


def _forgetting(method: Callable[Concatenate[Any, Owner, P], T]) -> Callable[Concatenate[Any, Owner, P], T]:
    """The same, after which no value of the owner is known any longer."""
    direct = _direct(method)

    @wraps(method)
    def call(self: _Part, owner: Owner, /, *args: P.args, **kwargs: P.kwargs) -> T:
        done = direct(self, owner, *args, **kwargs)
        self._database.last_known.forget(owner)
        return done

    return call


class SpooledTopics(_Part):
    """`TopicStore` before a spool."""

    _part = "topics"

    load = _direct(TopicStore.load)
    put = _direct(TopicStore.put)
    turns_of = _direct(TopicStore.turns_of)
    archive = _direct(TopicStore.archive)
    blocks = _direct(TopicStore.blocks)
    rehydrate = _direct(TopicStore.rehydrate)
    release = _direct(TopicStore.release)


class SpooledVectors(_Part):
    """`VectorStore` before a spool."""

    _part = "vectors"

    read = _direct(VectorStore.read)
    turns = _direct(VectorStore.turns)
    write = _direct(VectorStore.write)
    drop = _direct(VectorStore.drop)


class SpooledPeople(_Part):
    """`PeopleStore` before a spool."""

    _part = "people"

    agents = _direct(PeopleStore.agents)
    learned_through = _direct(PeopleStore.learned_through)
    put_summary = _direct(PeopleStore.put_summary)
    drop_summaries = _forgetting(PeopleStore.drop_summaries)
    put_flag = _forgetting(PeopleStore.put_flag)
    set_flag = _forgetting(PeopleStore.set_flag)
    forget_derived = _forgetting(PeopleStore.forget_derived)

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

    put = _direct(DocumentStore.put)
    get = _direct(DocumentStore.get)
    chunks = _direct(DocumentStore.chunks)
    chunk = _direct(DocumentStore.chunk)
    delete = _direct(DocumentStore.delete)
    set_vectors = _direct(DocumentStore.set_vectors)

    def page(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        return self._database.call_or_last(
            owner,
            ("documents", limit, before and before.id),
            lambda store: store.documents.page(owner, limit=limit, before=before),
        )


class SpooledKeys(_Part):
    """`KeyStore` before a spool."""

    _part = "keys"

    put = _direct(KeyStore.put)
    by_digest = _direct(KeyStore.by_digest)
    page = _direct(KeyStore.page)
    revoke = _direct(KeyStore.revoke)
    used = _direct(KeyStore.used)


class SpooledJobs(_Part):
    """`JobStore` before a spool."""

    _part = "jobs"

    enqueue = _direct(JobStore.enqueue)
    take = _direct(JobStore.take)
    finish = _direct(JobStore.finish)
    fail = _direct(JobStore.fail)
    hand_back = _direct(JobStore.hand_back)
    extend = _direct(JobStore.extend)
    page = _direct(JobStore.page)
    stats = _direct(JobStore.stats)
    lease = _direct(JobStore.lease)
    end_lease = _direct(JobStore.end_lease)


class SpooledItems(_Part):
    """`ItemStore` before a spool. Work runs in the caller's thread: it may call other parts of the store."""

    _part = "items"

    page = _direct(ItemStore.page)
    sweep = _direct(ItemStore.sweep)

    def read(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        return self._database.connection.call_here(lambda store: store.items.read(owner, collection, now, work))

    def write(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        return self._database.connection.call_here(lambda store: store.items.write(owner, collection, now, work))

    def exclusive(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        return self._database.connection.call_here(lambda store: store.items.exclusive(owner, collection, now, work))

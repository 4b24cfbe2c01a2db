"""The same random operations on what several stores keep besides memory: documents, API keys, jobs, leases, items."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ricordo.records.service import ApiKey, Document, Job, JobStats, StoredChunk, StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.items import PART_END
from ricordo.stores.protocols import Store
from ricordo.stores.service_protocols import ItemTransaction
from ricordo.testing.fakes import START, a_document, a_key, a_turn, some_chunks
from ricordo.testing.machine import Agreement, moments, on_stores, people, sessions

names = st.sampled_from(["d1", "d2", "d3"])
job_kinds = st.sampled_from(["facts", "topics"])
workers = st.sampled_from(["w1", "w2"])
places = st.sampled_from(["", f"a{PART_END}", f"a{PART_END}b{PART_END}"])
endings = st.sampled_from(["finish", "fail", "give up", "hand back", "extend"])

HOLD = timedelta(hours=2)


def services_agree(open_stores: Callable[[], Sequence[Store]]) -> type[RuleBasedStateMachine]:
    """A machine over stores that are opened once; each run of it has a tenant of its own."""
    return on_stores(_ServiceRules, open_stores)


class _ServiceRules(Agreement):
    """Documents and their vectors; keys; jobs, how they are taken and how they end; a lease; items."""

    taken: Sequence[Job] = ()

    def kind(self, kind: str) -> str:
        """A kind of this run alone: a worker takes jobs of every owner."""
        return f"{kind}-{self.tenant[-36:]}"

    @rule(person=people, session_id=sessions, at=moments)
    def append(self, person: str, session_id: str, at: Any) -> None:
        """Sessions have to exist for jobs and items to name them."""
        turn = a_turn(self.owner(person), session_id=session_id, created_at=at)
        self.agree(lambda store: store.turns.append(turn))

    @rule(person=people, session_id=sessions)
    def delete_session(self, person: str, session_id: str) -> None:
        """Jobs about it stay until a worker takes them; documents and keys stay anyway."""
        self.agree(lambda store: store.sessions.delete(self.owner(person), session_id))

    @rule(person=people, idle_before=moments)
    def expire(self, person: str, idle_before: Any) -> None:
        """As deleting."""
        owner = self.owner(person)
        self.agree(lambda store: store.sessions.expire(owner, turns_before=None, idle_before=idle_before, batch=10_000))

    @rule(person=people)
    def erase(self, person: str) -> None:
        """Deletes all of it."""
        self.agree(lambda store: store.erase(self.owner(person)))

    @rule(person=people, name=names, digest=st.sampled_from(["x", "y"]), count=st.integers(0, 2), at=moments)
    def put_document(self, person: str, name: str, digest: str, count: int, at: Any) -> None:
        """Often one that is there, with the same content or other."""
        document, chunks = a_document(name, count, digest=digest, created_at=at), some_chunks(name, count)
        self.agree(lambda store: store.documents.put(self.owner(person), document, chunks))

    @rule(person=people, name=names)
    def delete_document(self, person: str, name: str) -> None:
        """One that may be there."""
        self.agree(lambda store: store.documents.delete(self.owner(person), name))

    @rule(person=people, name=names, vector=st.binary(max_size=3))
    def set_chunk_vectors(self, person: str, name: str, vector: bytes) -> None:
        """Of chunks that may be there."""
        vectors = {f"{name}#0": vector, f"{name}#1": vector}
        self.agree(lambda store: store.documents.set_vectors(self.owner(person), "small", vectors))

    @rule(person=st.none() | people, name=names, at=moments)
    def put_key(self, person: str | None, name: str, at: Any) -> None:
        """Of the tenant or of a user; ids and secrets repeat."""
        key = a_key(self.tenant, name, user_id=person, created_at=at)
        self.agree(lambda store: store.keys.put(key))

    @rule(name=names, at=moments, used=st.booleans())
    def use_or_revoke_key(self, name: str, at: Any, used: bool) -> None:
        """One that may be there."""
        for key in self.stores()[0].keys.page(self.tenant) if used else ():
            self.agree(lambda store, key=key: store.keys.used(key, at))  # type: ignore[misc]
        if not used:
            self.agree(lambda store: store.keys.revoke(self.tenant, name, at))

    @rule(person=people, session_id=st.just("") | sessions, kind=job_kinds, due=moments, postpone=st.booleans())
    def enqueue(self, person: str, session_id: str, kind: str, due: Any, postpone: bool) -> None:
        """For sessions that may be there, now or later, once more or for the first time."""
        owner, wish = self.owner(person), self.kind(kind)
        self.agree(lambda store: store.jobs.enqueue(owner, wish, session_id, due, postpone=postpone))

    @rule(worker=workers, now=moments, limit=st.integers(1, 3), chosen=st.none() | job_kinds)
    def take(self, worker: str, now: Any, limit: int, chosen: str | None) -> None:
        """Whatever is due; the last ones that were taken are what is ended next, perhaps too late."""
        wanted = [self.kind(kind) for kind in ("facts", "topics") if chosen in (None, kind)]
        jobs = self.agree(lambda store: store.jobs.take(worker, now, HOLD, limit=limit, kinds=wanted))
        self.taken = jobs or self.taken

    @rule(how=endings, at=moments)
    def end_job(self, how: str, at: Any) -> None:
        """In every way; a second time, too."""
        for job in self.taken:
            self.agree(lambda store, job=job: _end(store, job, how, at))  # type: ignore[misc]

    @rule(holder=workers, now=moments, end=st.booleans())
    def lease(self, holder: str, now: Any, end: bool) -> None:
        """Take it, renew it, or give it back."""
        if end:
            self.agree(lambda store: store.jobs.end_lease(self.tenant, holder))
        else:
            self.agree(lambda store: store.jobs.lease(self.tenant, holder, now, now + HOLD))

    @rule(
        person=people, place=places, key=names, tag=st.sampled_from(["", "t"]), session_id=st.none() | sessions,
        minutes=st.none() | st.integers(0, 300), at=moments, replace=st.booleans(),
    )  # fmt: skip
    def put_item(
        self, person: str, place: str, key: str, tag: str, session_id: str | None, minutes: int | None, at: Any,
        replace: bool,
    ) -> None:  # fmt: skip
        """Of sessions that may exist, with an end or without."""
        life = None if minutes is None else float(minutes)
        item = StoredItem(place, key, b"x", tag, minutes=life, session_id=session_id)
        owner = self.owner(person)
        self.agree(lambda store: store.items.write(owner, "c", at, lambda items: items.put(item, replace=replace)))

    @rule(person=people, place=places, key=st.none() | names, at=moments)
    def remove_items(self, person: str, place: str, key: str | None, at: Any) -> None:
        """One, all below a place, or those that have expired."""
        owner = self.owner(person)

        def remove(items: ItemTransaction) -> None:
            if key is None:
                items.remove_under(place)
            else:
                items.remove(place, key)

        self.agree(lambda store: store.items.write(owner, "c", at, remove))
        self.agree(lambda store: store.items.sweep(owner, at))

    @invariant()
    def everything_is_the_same(self) -> None:
        """After every step: who is there, how much, and all of it."""
        self.agree(lambda store: sorted(owner.user_id for owner in store.owners(self.tenant)))
        self.agree(lambda store: store.stats(self.tenant).documents)
        for person in ("anna", "bruno"):
            self.agree(partial(_kept, owner=self.owner(person)))
            self.agree(partial(_items, owner=self.owner(person)))


def _kept(store: Store, *, owner: Owner) -> tuple[list[Document], list[StoredChunk], list[ApiKey], list[Job], JobStats]:
    """All that a service keeps of an owner, and of the tenant."""
    return (
        list(store.documents.page(owner)),
        list(store.documents.chunks(owner)),
        list(store.keys.page(owner.tenant_id)),
        list(store.jobs.page(owner)),
        store.jobs.stats(owner.tenant_id, START + 5 * timedelta(hours=1)),
    )


def _items(store: Store, *, owner: Owner) -> tuple[list[tuple[str, StoredItem]], list[StoredItem], list[str]]:
    """All items of an owner, those with a tag, and their places."""
    now = START + timedelta(hours=1)
    tagged = store.items.read(owner, "c", now, lambda items: items.find(f"a{PART_END}", tag="t", newest_first=True))
    places = store.items.read(owner, "c", now, lambda items: items.places())
    return store.items.page(owner, now, limit=100), tagged, places


def _end(store: Store, job: Job, how: str, at: Any) -> bool | Job | None:
    if how == "finish":
        return store.jobs.finish(job)
    if how == "hand back":
        return store.jobs.hand_back(job)
    if how == "extend":
        return store.jobs.extend(job, at)
    return store.jobs.fail(job, "away", None if how == "give up" else at)

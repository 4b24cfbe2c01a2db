"""Rules about what is known of a person, for the state machine: learning, condensing, flagging, undoing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ricordo.records.people import Fact, FactChange, Flag, Summary
from ricordo.records.service import ApiKey, Document, Job, JobStats, StoredChunk
from ricordo.records.turns import Owner
from ricordo.stores.protocols import Store
from ricordo.testing.examples import a_document, a_fact, a_flag, a_key, a_source, a_summary, a_turn, some_chunks
from ricordo.testing.fakes import START
from ricordo.testing.machine_base import Agreement, moments, people, sessions

agents = st.sampled_from(["tutor", "coach"])
fact_ids = st.sampled_from(["f1", "f2", "f3", "f4"])
kinds = st.sampled_from(["condensation", "session"])
states = st.sampled_from(["flagged", "quarantined", "released"])
subjects = st.sampled_from(["message", "fact", "summary"])


class PeopleRules(Agreement):
    """put_facts, put_summary, drop_summaries, put_flag, set_flag, forget_derived."""

    @rule(
        person=people, agent_id=agents, put=st.dictionaries(fact_ids, st.none() | fact_ids, max_size=3),
        said_in=st.lists(st.tuples(sessions, st.integers(1, 4)), max_size=2), at=moments,
        learned=st.dictionaries(sessions, st.integers(0, 5), max_size=2), forgotten=st.booleans(),
        late=st.sampled_from([0, 0, 0, 1, -1]),
    )  # fmt: skip
    def put_facts(
        self, person: str, agent_id: str, put: dict[str, str | None], said_in: list[tuple[str, int]], at: Any,
        learned: dict[str, int], forgotten: bool, late: int,
    ) -> None:  # fmt: skip
        """Facts said in turns that are there, or nowhere; each store is told its own revision, or another."""
        owner = self.owner(person)
        oracle = self.stores()[0]
        found = [turn for name, n in said_in for turn in oracle.turns.page(owner, name, after=n - 1, before=n + 1)]
        sources = tuple(a_source(turn) for turn in found)
        facts = [
            a_fact(name, agent_id=agent_id, superseded_by=after, valid_to=at if after else None, sources=sources)
            for name, after in put.items()
        ]
        if forgotten:
            facts = [replace(fact, text="", sources=(), forgotten=True) for fact in facts]

        def change(store: Store) -> bool:
            revision = store.people.facts(owner, agent_id).revision + late
            return store.people.put_facts(owner, agent_id, FactChange(revision, tuple(facts), tuple(learned.items())))

        self.agree(change)

    @rule(person=people, session_id=sessions, kind=kinds, last=st.integers(1, 4), name=fact_ids, at=moments)
    def put_summary(self, person: str, session_id: str, kind: str, last: int, name: str, at: Any) -> None:
        """Often of turns that are not there, or for the second time."""
        summary = a_summary(session_id, last, id=f"{name} {session_id} {kind}", kind=kind, created_at=at)
        self.agree(lambda store: store.people.put_summary(self.owner(person), summary))

    @rule(person=people, session_id=sessions, kind=kinds, name=fact_ids)
    def drop_summaries(self, person: str, session_id: str, kind: str, name: str) -> None:
        """One that may be there."""
        self.agree(lambda store: store.people.drop_summaries(self.owner(person), [f"{name} {session_id} {kind}"]))

    @rule(person=people, session_id=sessions, subject=subjects, name=fact_ids, state=states, at=moments)
    def put_flag(self, person: str, session_id: str, subject: str, name: str, state: str, at: Any) -> None:
        """On facts that may be there, and on other things."""
        flag = a_flag(name, session_id, id=f"{subject} {name}", subject=subject, state=state, created_at=at)
        self.agree(lambda store: store.people.put_flag(self.owner(person), flag))

    @rule(person=people, subject=subjects, name=fact_ids, state=states)
    def set_flag(self, person: str, subject: str, name: str, state: Any) -> None:
        """Release it, or put it back."""
        self.agree(lambda store: store.people.set_flag(self.owner(person), f"{subject} {name}", state))

    @rule(person=people, session_id=sessions)
    def forget_derived(self, person: str, session_id: str) -> None:
        """Of a session that is there, or was once."""
        self.agree(lambda store: store.people.forget_derived(self.owner(person), session_id))


def known(
    store: Store, *, owner: Owner
) -> tuple[list[str], list[tuple[Fact, ...]], list[int], list[Summary], list[Flag]]:
    """All that is known of an owner; revisions are each store's own."""
    return (
        list(store.people.agents(owner)),
        [store.people.facts(owner, agent_id).facts for agent_id in ("tutor", "coach")],
        [store.people.learned_through(owner, session_id) for session_id in ("s1", "s2", "s3")],
        list(store.people.summaries(owner)),
        list(store.people.flags(owner)),
    )


# The same random operations on what several stores keep for a service: documents, API keys, jobs, leases.

names = st.sampled_from(["d1", "d2", "d3"])
job_kinds = st.sampled_from(["facts", "topics"])
workers = st.sampled_from(["w1", "w2"])
endings = st.sampled_from(["finish", "fail", "give up", "hand back", "extend"])

HOLD = timedelta(hours=2)


def services_agree(open_stores: Callable[[], Sequence[Store]]) -> type[RuleBasedStateMachine]:
    """A machine over stores that are opened once; each run of it has a tenant of its own."""
    opened: list[Store] = []

    class ServicesAgree(_ServiceRules):
        def stores(self) -> Sequence[Store]:
            if not opened:
                opened.extend(open_stores())
            return opened

    return ServicesAgree


class _ServiceRules(Agreement):
    """Documents and their vectors; keys; wishes, those who take them and what comes of it; a lease."""

    taken: Sequence[Job] = ()

    def kind(self, kind: str) -> str:
        """Work of this run: whoever takes, takes anybody's."""
        return f"{kind}-{self.tenant[-36:]}"

    @rule(person=people, session_id=sessions, at=moments)
    def append(self, person: str, session_id: str, at: Any) -> None:
        """Somebody says something."""
        turn = a_turn(self.owner(person), session_id=session_id, created_at=at)
        self.agree(lambda store: store.turns.append(turn))

    @rule(person=people, session_id=sessions)
    def delete_session(self, person: str, session_id: str) -> None:
        """Jobs about it stay until somebody looks at them; documents and keys stay anyway."""
        self.agree(lambda store: store.sessions.delete(self.owner(person), session_id))

    @rule(person=people, idle_before=moments)
    def expire(self, person: str, idle_before: Any) -> None:
        """As deleting."""
        owner = self.owner(person)
        self.agree(lambda store: store.sessions.expire(owner, turns_before=None, idle_before=idle_before, batch=10_000))

    @rule(person=people)
    def erase(self, person: str) -> None:
        """Takes all of it along."""
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

    @invariant()
    def everything_is_the_same(self) -> None:
        """After every step: who is there, how much, and all of it."""
        self.agree(lambda store: sorted(owner.user_id for owner in store.owners(self.tenant)))
        self.agree(lambda store: store.stats(self.tenant).documents)
        for person in ("anna", "bruno"):
            self.agree(partial(_kept, owner=self.owner(person)))


def _kept(store: Store, *, owner: Owner) -> tuple[list[Document], list[StoredChunk], list[ApiKey], list[Job], JobStats]:
    """All that a service keeps of an owner, and of the tenant."""
    return (
        list(store.documents.page(owner)),
        list(store.documents.chunks(owner)),
        list(store.keys.page(owner.tenant_id)),
        list(store.jobs.page(owner)),
        store.jobs.stats(owner.tenant_id, START + 5 * timedelta(hours=1)),
    )


def _end(store: Store, job: Job, how: str, at: Any) -> bool | Job | None:
    if how == "finish":
        return store.jobs.finish(job)
    if how == "hand back":
        return store.jobs.hand_back(job)
    if how == "extend":
        return store.jobs.extend(job, at)
    return store.jobs.fail(job, "away", None if how == "give up" else at)

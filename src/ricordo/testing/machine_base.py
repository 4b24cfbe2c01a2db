"""What the state machines share: several stores that must give the same answer, small pools to draw from, and the rules
about facts, summaries and flags."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from ricordo.errors import RicordoError
from ricordo.records.people import Fact, FactChange, Flag, Summary
from ricordo.records.turns import Owner
from ricordo.stores.protocols import Store
from ricordo.testing.fakes import START, a_fact, a_flag, a_source, a_summary

people = st.sampled_from(["anna", "bruno"])
sessions = st.sampled_from(["s1", "s2", "s3"])
words = st.sampled_from(["alpha", "beta"])
moments = st.integers(0, 9).map(lambda hours: START + timedelta(hours=hours))
some = st.none() | st.integers(0, 6)


class Agreement(RuleBasedStateMachine):
    """Stores that are asked the same; the first one is the oracle."""

    def stores(self) -> Sequence[Store]:
        """Override: the stores, the same ones at every call."""
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        """Each run has a tenant of its own."""
        self.tenant = f"tenant-{uuid4()}"

    def owner(self, person: str) -> Owner:
        """One of the people of this run."""
        return Owner(self.tenant, person)

    def agree(self, operation: Callable[[Store], Any]) -> Any:
        """Every store gives the same value or the same kind of refusal."""
        first, *others = [_outcome(operation, store) for store in self.stores()]
        for store, other in zip(self.stores()[1:], others, strict=True):
            assert other == first, f"{store.location} says {other}, {self.stores()[0].location} says {first}"
        return first


def _outcome(operation: Callable[[Store], Any], store: Store) -> Any:
    try:
        return operation(store)
    except RicordoError as error:
        return type(error)


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

"""The same random operations on several stores, and the same answers from all of them.

`stores_agree(open_stores)` gives a Hypothesis state machine; the first store is the oracle, normally a
`MemoryStore`. Ids, words and dates come from small pools, so that repeats, conflicts and races with expiry are
the rule and not the exception.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ricordo.errors import RicordoError, StoreUnavailable
from ricordo.records.derived import Fact, FactChange, Flag, Summary, Topic, TopicChange
from ricordo.records.turns import (
    IndexedTurn,
    Message,
    Owner,
    SessionChanges,
    SessionInfo,
    SessionMark,
    StoredReceipt,
    Turn,
    TurnVectors,
)
from ricordo.records.values import canonical
from ricordo.stores.archive.block import unpack
from ricordo.stores.protocols import Store
from ricordo.testing.fakes import (
    START,
    a_block,
    a_fact,
    a_flag,
    a_message,
    a_source,
    a_summary,
    a_topic,
    a_turn,
    an_answer,
)

people = st.sampled_from(["anna", "bruno"])
sessions = st.sampled_from(["s1", "s2", "s3"])
words = st.sampled_from(["alpha", "beta"])
moments = st.integers(0, 9).map(lambda hours: START + timedelta(hours=hours))
some = st.none() | st.integers(0, 6)
turn_ids = st.sampled_from([f"t{n}" for n in range(12)])
numbers = st.sets(st.integers(1, 7), max_size=4).map(sorted)
topic_ids = st.sampled_from(["fugues", "canons", "voices"])
block_ids = st.sampled_from([f"block {n}" for n in range(6)])
embedders = st.sampled_from(["small", "large"])
receipts = st.none() | st.sets(st.sampled_from(["d1", "d2", "d3"]), max_size=2)


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
    except StoreUnavailable:
        raise  # no answer, and its cause must be seen
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


def stores_agree(open_stores: Callable[[], Sequence[Store]]) -> type[RuleBasedStateMachine]:
    """A machine over stores that are opened once; each run of it has a tenant of its own."""
    return on_stores(_Agreement, open_stores)


def on_stores(rules: type[Agreement], open_stores: Callable[[], Sequence[Store]]) -> type[Agreement]:
    """The rules over these stores."""
    opened = cache(open_stores)
    return type("StoresAgree", (rules,), {"stores": lambda self: opened()})


class _Agreement(PeopleRules):
    @rule(
        person=people, session_id=sessions, turn_id=turn_ids, query=words, response=st.none() | words, at=moments,
        expected=some, digests=receipts,
    )  # fmt: skip
    def append(
        self, person: str, session_id: str, turn_id: str, query: str, response: str | None, at: Any,
        expected: int | None, digests: set[str] | None,
    ) -> None:  # fmt: skip
        turn = a_turn(self.owner(person), query, response, session_id=session_id, turn_id=turn_id, created_at=at)
        receipt = _receipt(session_id, digests)
        self.agree(lambda store: store.turns.append(turn, expected=expected or None, receipt=receipt))

    @rule(person=people, session_id=sessions, query=words, at=moments, digests=receipts)
    def append_new(self, person: str, session_id: str, query: str, at: Any, digests: set[str] | None) -> None:
        turn = a_turn(self.owner(person), query, session_id=session_id, created_at=at)
        self.agree(lambda store: store.turns.append(turn, receipt=_receipt(session_id, digests)))

    @rule(person=people, turn_id=turn_ids, response=words, at=moments, mood=st.sampled_from([{}, {"mood": 1}]))
    def answer(self, person: str, turn_id: str, response: str, at: Any, mood: dict[str, object]) -> None:
        receipt = _receipt("", {"d1"})
        self.agree(
            lambda store: store.turns.answer(self.owner(person), turn_id, an_answer(response, at), dict(mood), receipt)
        )

    @rule(
        person=people, session_id=sessions, role=st.sampled_from(["user", "assistant", "system", "tool"]),
        content=words, at=moments, calls=st.booleans(),
    )  # fmt: skip
    def add_message(self, person: str, session_id: str, role: Any, content: str, at: Any, calls: bool) -> None:
        extra: dict[str, Any] = {"tool_calls": ({"id": "c"},)} if calls and role == "assistant" else {}
        turn = a_message(self.owner(person), role, content, session_id=session_id, created_at=at, **extra)
        self.agree(lambda store: store.turns.add_message(turn))

    @rule(
        person=people, session_id=sessions, first=st.integers(1, 3), length=st.integers(0, 4), query=words, at=moments
    )
    def load(self, person: str, session_id: str, first: int, length: int, query: str, at: Any) -> None:
        owner = self.owner(person)
        session = SessionInfo(session_id, owner, "tutor", START, START, title="loaded", ended_at=START)
        turns = [
            replace(
                a_turn(owner, query, session_id=session_id, turn_id=f"{session_id}-{n}", created_at=at), turn_number=n
            )
            for n in range(first, first + length)
        ]
        self.agree(lambda store: store.turns.load(session, turns))

    @rule(person=people, session_id=sessions, title=st.none() | words, tags=st.none() | st.lists(words).map(tuple))
    def update_session(self, person: str, session_id: str, title: str | None, tags: Any) -> None:
        changes = SessionChanges(title=title, tags=tags)
        self.agree(lambda store: store.sessions.update(self.owner(person), session_id, changes))

    @rule(person=people, session_id=sessions)
    def clear(self, person: str, session_id: str) -> None:
        self.agree(lambda store: store.sessions.clear(self.owner(person), session_id))

    @rule(person=people, session_id=sessions)
    def delete_session(self, person: str, session_id: str) -> None:
        self.agree(lambda store: store.sessions.delete(self.owner(person), session_id))

    @rule(person=people, turns_before=st.none() | moments, idle_before=st.none() | moments)
    def expire(self, person: str, turns_before: Any, idle_before: Any) -> None:
        owner = self.owner(person)
        self.agree(
            lambda store: store.sessions.expire(owner, turns_before=turns_before, idle_before=idle_before, batch=10_000)
        )

    @rule(person=people)
    def erase(self, person: str) -> None:
        self.agree(lambda store: store.erase(self.owner(person)))

    @rule(person=people, session_id=sessions, last=some, before=some, after=some)
    def turns(self, person: str, session_id: str, last: int | None, before: int | None, after: int | None) -> None:
        owner = self.owner(person)
        self.agree(lambda store: list(store.turns.page(owner, session_id, last=last, before=before, after=after)))

    @rule(person=people, turn_id=turn_ids)
    def turn(self, person: str, turn_id: str) -> None:
        self.agree(lambda store: store.turns.get(self.owner(person), turn_id))

    @rule(person=people, limit=st.integers(1, 3))
    def page_through_sessions(self, person: str, limit: int) -> None:
        owner = self.owner(person)
        page = self.agree(lambda store: list(store.sessions.page(owner, limit=limit)))
        while page:
            page = self.agree(partial(_sessions_before, owner=owner, limit=limit, last=page[-1]))

    @rule(person=people, session_id=sessions)
    def shelf(self, person: str, session_id: str) -> None:
        for look in (_shelf, _archive, _traces):
            self.agree(partial(look, owner=self.owner(person), session_id=session_id))

    @rule(person=people, session_id=sessions, number=some)
    def receipts(self, person: str, session_id: str, number: int | None) -> None:
        owner = self.owner(person)
        self.agree(lambda store: list(store.turns.receipts(owner, session_id, turn_number=number)))

    @rule(
        person=people, session_id=sessions, put=st.dictionaries(topic_ids, st.integers(0, 5), max_size=2),
        removed=st.sets(topic_ids, max_size=1), assigned=st.dictionaries(st.integers(1, 7), topic_ids, max_size=4),
        through=some, late=st.sampled_from([0, 0, 0, 1, -1]),
    )  # fmt: skip
    def put_topics(
        self, person: str, session_id: str, put: dict[str, int], removed: set[str], assigned: dict[int, str],
        through: int | None, late: int,
    ) -> None:  # fmt: skip
        """Each store is told its own revision, or one that it is not at."""
        owner = self.owner(person)
        topics = tuple(
            a_topic(name, message_count=count, archived_count=count // 2, restored_count=count, hot=tuple(range(count)))
            for name, count in put.items()
        )

        def change(store: Store) -> bool:
            revision = store.topics.load(owner, session_id).revision + late
            return store.topics.put(
                owner, session_id, TopicChange(revision, topics, tuple(removed), assigned, through=through)
            )

        self.agree(change)

    @rule(person=people, session_id=sessions, chosen=numbers, topic_id=topic_ids, block_id=block_ids, at=moments)
    def archive(self, person: str, session_id: str, chosen: list[int], topic_id: str, block_id: str, at: Any) -> None:
        """Whatever is there under these numbers, packed; sometimes more is named than there is."""
        owner = self.owner(person)
        found = [turn for turn in self.stores()[0].turns.page(owner, session_id) if turn.turn_number in chosen]
        block = replace(
            a_block(found, topic_id=topic_id, block_id=block_id, created_at=at),
            turn_numbers=tuple(chosen) if len(chosen) == 4 else tuple(turn.turn_number for turn in found),
        )
        self.agree(lambda store: store.topics.archive(owner, session_id, block))

    @rule(person=people, session_id=sessions, chosen=numbers)
    def rehydrate(self, person: str, session_id: str, chosen: list[int]) -> None:
        self.agree(lambda store: store.topics.rehydrate(self.owner(person), session_id, chosen))

    @rule(person=people, session_id=sessions, chosen=numbers)
    def release(self, person: str, session_id: str, chosen: list[int]) -> None:
        self.agree(lambda store: store.topics.release(self.owner(person), session_id, chosen))

    @rule(person=people, session_id=sessions, chosen=numbers)
    def delete_turns(self, person: str, session_id: str, chosen: list[int]) -> None:
        self.agree(lambda store: store.turns.delete(self.owner(person), session_id, chosen))

    @rule(person=people, session_id=sessions, chosen=numbers, embedder=embedders, body=st.binary(max_size=4))
    def keep_traces(self, person: str, session_id: str, chosen: list[int], embedder: str, body: bytes) -> None:
        traces = [TurnVectors(session_id, number, embedder, "0" * 16, body, body * 2) for number in chosen]
        self.agree(lambda store: store.vectors.write(self.owner(person), traces))

    @rule(person=people, embedder=embedders)
    def drop_traces(self, person: str, embedder: str) -> None:
        self.agree(lambda store: store.vectors.drop(self.owner(person), keep=embedder))

    @invariant()
    def everything_is_the_same(self) -> None:
        """After every step: who is there, how much, and every session's fields."""
        self.agree(lambda store: sorted(owner.user_id for owner in store.owners(self.tenant)))
        self.agree(lambda store: replace(store.stats(self.tenant), bytes_on_disk=None))
        for person in ("anna", "bruno"):
            self.agree(partial(_sessions_before, owner=self.owner(person), limit=9))
            self.agree(partial(_marks, owner=self.owner(person)))
            self.agree(partial(known, owner=self.owner(person)))

    def teardown(self) -> None:
        for person in ("anna", "bruno"):
            for session_id in ("s1", "s2", "s3"):
                self.agree(partial(_content, owner=self.owner(person), session_id=session_id))
                self.agree(partial(_shelf, owner=self.owner(person), session_id=session_id))
                self.agree(partial(_archive, owner=self.owner(person), session_id=session_id))
                self.agree(partial(_traces, owner=self.owner(person), session_id=session_id))


def _sessions_before(store: Store, *, owner: Owner, limit: int, last: SessionInfo | None = None) -> list[SessionInfo]:
    return list(store.sessions.page(owner, limit=limit, before=last))


def _marks(store: Store, *, owner: Owner) -> dict[str, SessionMark]:
    return store.sessions.marks(owner)


def _content(store: Store, *, owner: Owner, session_id: str) -> tuple[list[Turn], list[StoredReceipt]]:
    return list(store.turns.page(owner, session_id)), list(store.turns.receipts(owner, session_id))


def _shelf(store: Store, *, owner: Owner, session_id: str) -> tuple[tuple[Topic, ...], int, list[list[int]]]:
    """Revisions are each store's own: only whether they have moved is the same everywhere."""
    shelf = store.topics.load(owner, session_id)
    names = ("fugues", "canons", "voices")
    return shelf.topics, shelf.through, [list(store.topics.turns_of(owner, session_id, name)) for name in names]


def _archive(
    store: Store, *, owner: Owner, session_id: str
) -> list[tuple[str, str, tuple[int, ...], tuple[Message, ...]]]:
    """Blocks by what they hold; the bytes may differ."""
    blocks = store.topics.blocks(owner, session_id)
    return [(block.id, block.topic_id, block.turn_numbers, unpack(block.body)) for block in blocks]


def _traces(store: Store, *, owner: Owner, session_id: str) -> list[TurnVectors | IndexedTurn]:
    embedders = ("small", "large")
    traces = [trace for embedder in embedders for trace in store.vectors.read(owner, embedder, session_id)]
    return [*traces, *(turn for embedder in embedders for turn in store.vectors.turns(owner, embedder))]


def _receipt(session_id: str, digests: set[str] | None) -> StoredReceipt | None:
    if digests is None:
        return None
    body = canonical({"recipe": sorted(digests)})
    return StoredReceipt(session_id, 0, body, {digest: f"text of {digest}" for digest in digests})

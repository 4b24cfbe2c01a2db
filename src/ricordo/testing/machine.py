"""The same random operations on several stores, and the same answers from all of them.

`stores_agree(open_stores)` gives a Hypothesis state machine; the first store is the oracle, normally a
`MemoryStore`. Ids, words and dates come from small pools, so that repeats, conflicts and races with expiry are
the rule and not the exception.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ricordo.errors import RicordoError
from ricordo.ports import Store
from ricordo.records import Owner, SessionChanges, SessionInfo, StoredReceipt, Turn, canonical
from ricordo.testing.clock import START
from ricordo.testing.examples import a_message, a_turn, an_answer

people = st.sampled_from(["anna", "bruno"])
sessions = st.sampled_from(["s1", "s2", "s3"])
turn_ids = st.sampled_from([f"t{n}" for n in range(12)])
words = st.sampled_from(["alpha", "beta"])
moments = st.integers(0, 9).map(lambda hours: START + timedelta(hours=hours))
some = st.none() | st.integers(0, 6)
receipts = st.none() | st.sets(st.sampled_from(["d1", "d2", "d3"]), max_size=2)


def stores_agree(open_stores: Callable[[], Sequence[Store]]) -> type[RuleBasedStateMachine]:
    """A machine over stores that are opened once; each run of it has a tenant of its own."""
    opened: list[Store] = []

    class StoresAgree(_Agreement):
        def stores(self) -> Sequence[Store]:
            if not opened:
                opened.extend(open_stores())
            return opened

    return StoresAgree


class _Agreement(RuleBasedStateMachine):
    def stores(self) -> Sequence[Store]:
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.tenant = f"tenant-{uuid4()}"

    def owner(self, person: str) -> Owner:
        return Owner(self.tenant, person)

    def agree(self, operation: Callable[[Store], Any]) -> Any:
        """Every store gives the same value or the same kind of refusal."""
        first, *others = [_outcome(operation, store) for store in self.stores()]
        for store, other in zip(self.stores()[1:], others, strict=True):
            assert other == first, f"{store.location} says {other}, {self.stores()[0].location} says {first}"
        return first

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
        self.agree(lambda store: store.append(turn, expected=expected or None, receipt=receipt))

    @rule(person=people, session_id=sessions, query=words, at=moments, digests=receipts)
    def append_new(self, person: str, session_id: str, query: str, at: Any, digests: set[str] | None) -> None:
        turn = a_turn(self.owner(person), query, session_id=session_id, created_at=at)
        self.agree(lambda store: store.append(turn, receipt=_receipt(session_id, digests)))

    @rule(person=people, turn_id=turn_ids, response=words, at=moments, mood=st.sampled_from([{}, {"mood": 1}]))
    def answer(self, person: str, turn_id: str, response: str, at: Any, mood: dict[str, object]) -> None:
        receipt = _receipt("", {"d1"})
        self.agree(
            lambda store: store.answer(self.owner(person), turn_id, an_answer(response, at), dict(mood), receipt)
        )

    @rule(
        person=people, session_id=sessions, role=st.sampled_from(["user", "assistant", "system", "tool"]),
        content=words, at=moments, calls=st.booleans(),
    )  # fmt: skip
    def add_message(self, person: str, session_id: str, role: Any, content: str, at: Any, calls: bool) -> None:
        extra: dict[str, Any] = {"tool_calls": ({"id": "c"},)} if calls and role == "assistant" else {}
        turn = a_message(self.owner(person), role, content, session_id=session_id, created_at=at, **extra)
        self.agree(lambda store: store.add_message(turn))

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
        self.agree(lambda store: store.load(session, turns))

    @rule(person=people, session_id=sessions, title=st.none() | words, tags=st.none() | st.lists(words).map(tuple))
    def update_session(self, person: str, session_id: str, title: str | None, tags: Any) -> None:
        changes = SessionChanges(title=title, tags=tags)
        self.agree(lambda store: store.update_session(self.owner(person), session_id, changes))

    @rule(person=people, session_id=sessions)
    def clear(self, person: str, session_id: str) -> None:
        self.agree(lambda store: store.clear(self.owner(person), session_id))

    @rule(person=people, session_id=sessions)
    def delete_session(self, person: str, session_id: str) -> None:
        self.agree(lambda store: store.delete_session(self.owner(person), session_id))

    @rule(person=people, turns_before=st.none() | moments, idle_before=st.none() | moments)
    def expire(self, person: str, turns_before: Any, idle_before: Any) -> None:
        owner = self.owner(person)
        self.agree(lambda store: store.expire(owner, turns_before=turns_before, idle_before=idle_before, batch=10_000))

    @rule(person=people)
    def erase(self, person: str) -> None:
        self.agree(lambda store: store.erase(self.owner(person)))

    @rule(person=people, session_id=sessions, last=some, before=some, after=some)
    def turns(self, person: str, session_id: str, last: int | None, before: int | None, after: int | None) -> None:
        owner = self.owner(person)
        self.agree(lambda store: list(store.turns(owner, session_id, last=last, before=before, after=after)))

    @rule(person=people, turn_id=turn_ids)
    def turn(self, person: str, turn_id: str) -> None:
        self.agree(lambda store: store.turn(self.owner(person), turn_id))

    @rule(person=people, limit=st.integers(1, 3))
    def page_through_sessions(self, person: str, limit: int) -> None:
        owner = self.owner(person)
        page = self.agree(lambda store: list(store.sessions(owner, limit=limit)))
        while page:
            page = self.agree(partial(_sessions_before, owner=owner, limit=limit, last=page[-1]))

    @rule(person=people, session_id=sessions, number=some)
    def receipts(self, person: str, session_id: str, number: int | None) -> None:
        owner = self.owner(person)
        self.agree(lambda store: list(store.receipts(owner, session_id, turn_number=number)))

    @invariant()
    def everything_is_the_same(self) -> None:
        """After every step: who is there, how much, and every session's fields."""
        self.agree(lambda store: sorted(owner.user_id for owner in store.owners(self.tenant)))
        self.agree(lambda store: replace(store.stats(self.tenant), bytes_on_disk=None))
        for person in ("anna", "bruno"):
            self.agree(partial(_sessions_before, owner=self.owner(person), limit=9))

    def teardown(self) -> None:
        for person in ("anna", "bruno"):
            for session_id in ("s1", "s2", "s3"):
                self.agree(partial(_content, owner=self.owner(person), session_id=session_id))


def _sessions_before(store: Store, *, owner: Owner, limit: int, last: SessionInfo | None = None) -> list[SessionInfo]:
    return list(store.sessions(owner, limit=limit, before=last))


def _content(store: Store, *, owner: Owner, session_id: str) -> tuple[list[Turn], list[StoredReceipt]]:
    return list(store.turns(owner, session_id)), list(store.receipts(owner, session_id))


def _outcome(operation: Callable[[Store], Any], store: Store) -> Any:
    try:
        return operation(store)
    except RicordoError as error:
        return type(error)


def _receipt(session_id: str, digests: set[str] | None) -> StoredReceipt | None:
    if digests is None:
        return None
    body = canonical({"recipe": sorted(digests)})
    return StoredReceipt(session_id, 0, body, {digest: f"text of {digest}" for digest in digests})

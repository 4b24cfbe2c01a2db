"""What is derived from turns (topics, traces, what is known of a person): asked of the database, never spooled.

While the database is away, what every chat asks for is told again as it was last told; the other calls raise
StoreUnavailable, and whoever derives waits and does it later.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar, cast
from uuid import UUID

from ricordo.errors import StoreUnavailable
from ricordo.records.people import FactChange, Flag, FlagState, KnownFacts, Summary, SummaryKind
from ricordo.records.service import Document
from ricordo.records.topics import TopicChange, TopicShelf
from ricordo.records.turns import Block, Owner, SessionMark, TurnVectors
from ricordo.stores.protocols import Store
from ricordo.stores.spool.circuit_breaker import in_a_hurry
from ricordo.stores.spool.connection import StoreConnection, never
from ricordo.stores.spool.recent_turns import RecentTurns

# What the database last told of things that are derived: a chat goes on with it while the database is away.

OWNERS = 1_000
ANSWERS = 32


@dataclass
class _Shelf:
    """The answers about an owner, and when the last were forgotten."""

    forgotten: int = 0
    answers: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)


class Told:
    """Answers by question. Whoever asks takes the `moment` before, so that nothing comes back that was forgotten."""

    def __init__(self, owners: int = OWNERS, answers: int = ANSWERS) -> None:
        self._owners, self._most = owners, answers
        self._shelves: OrderedDict[UUID, _Shelf] = OrderedDict()
        self._lost = 0  # when anything was last forgotten of an owner who is no longer at hand
        self._moment = 0
        self._lock = Lock()

    @property
    def moment(self) -> int:
        """Now, counted in what was forgotten."""
        return self._moment

    def get(self, owner: Owner, question: Hashable) -> tuple[Any, ...]:
        """The answer alone in a tuple; an empty one if it is not at hand."""
        with self._lock:
            shelf = self._shelves.get(owner.key)
            return (shelf.answers[question],) if shelf and question in shelf.answers else ()

    def note(self, owner: Owner, question: Hashable, answer: Any, *, since: int) -> None:
        """An answer to what was asked at the moment `since`."""
        with self._lock:
            shelf = self._shelf(owner)
            if shelf.forgotten <= since:
                shelf.answers[question] = answer
                shelf.answers.move_to_end(question)
                while len(shelf.answers) > self._most:
                    shelf.answers.popitem(last=False)

    def knows(self, owner: Owner) -> bool:
        """Whether anything is at hand of an owner."""
        with self._lock:
            shelf = self._shelves.get(owner.key)
            return shelf is not None and bool(shelf.answers)

    def forget(self, owner: Owner, question: Hashable | None = None) -> None:
        """Let go of an owner, or of one answer, and of what was asked about them and is still on its way."""
        with self._lock:
            self._moment += 1
            shelf = self._shelf(owner)
            shelf.forgotten = self._moment
            if question is None:
                shelf.answers.clear()
            else:
                shelf.answers.pop(question, None)

    def _shelf(self, owner: Owner) -> _Shelf:
        shelf = self._shelves.setdefault(owner.key, _Shelf(self._lost))
        self._shelves.move_to_end(owner.key)
        while len(self._shelves) > self._owners:
            self._lost = max(self._lost, self._shelves.popitem(last=False)[1].forgotten)
        return shelf


T = TypeVar("T")


class Derived:
    """The part of a store that passes through, or does not."""

    _line: StoreConnection
    _at_hand: RecentTurns
    _told: Told

    def _ask(self, work: Callable[[Store], T], spares: Callable[[], bool] = never) -> T:
        return self._line.call(work, spares)

    def _as_told(self, owner: Owner, question: Hashable, work: Callable[[Store], T], nothing: T | None = None) -> T:
        """The answer, or the last one to the same question while there is no other.

        In a hurry, what was never told is nothing: a talk that began while the database is away goes on without it.
        """
        since = self._told.moment
        try:
            answer = self._ask(work, lambda: bool(self._told.get(owner, question)))
        except StoreUnavailable:
            for last in self._told.get(owner, question):
                return last  # type: ignore[no-any-return]
            if nothing is not None and in_a_hurry():
                return nothing
            raise
        self._told.note(owner, question, answer, since=since)
        return answer

    def _forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Let go of what is at hand of a session, or of all of an owner."""
        self._at_hand.forget(owner, session_id)
        self._told.forget(owner)

    def topics(self, owner: Owner, session_id: str) -> TopicShelf:
        return self._ask(lambda store: store.topics(owner, session_id))

    def put_topics(self, owner: Owner, session_id: str, change: TopicChange) -> bool:
        return self._ask(lambda store: store.put_topics(owner, session_id, change))

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        return self._ask(lambda store: store.turns_of(owner, session_id, topic_id))

    def archive(self, owner: Owner, session_id: str, block: Block) -> bool:
        return self._ask(lambda store: store.archive(owner, session_id, block))

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        return self._ask(lambda store: store.blocks(owner, session_id, topic_id))

    def rehydrate(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._ask(lambda store: store.rehydrate(owner, session_id, turn_numbers))

    def release(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._ask(lambda store: store.release(owner, session_id, turn_numbers))

    def delete_turns(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        gone = self._ask(lambda store: store.delete_turns(owner, session_id, turn_numbers))
        self._forget(owner, session_id)
        return gone

    def marks(self, owner: Owner) -> dict[str, SessionMark]:
        return self._as_told(owner, "marks", lambda store: store.marks(owner))

    def traces(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        return self._ask(lambda store: store.traces(owner, embedder, session_id))

    def keep_traces(self, owner: Owner, traces: Sequence[TurnVectors]) -> None:
        self._ask(lambda store: store.keep_traces(owner, traces))

    def drop_traces(self, owner: Owner, *, keep: str) -> int:
        return self._ask(lambda store: store.drop_traces(owner, keep=keep))

    def people(self, owner: Owner, agent_id: str) -> KnownFacts:
        return self._as_told(owner, ("people", agent_id), lambda store: store.people(owner, agent_id), KnownFacts())

    def put_facts(self, owner: Owner, agent_id: str, change: FactChange) -> bool:
        done = self._ask(lambda store: store.put_facts(owner, agent_id, change))
        if done and change.put:
            self._told.forget(owner, ("people", agent_id))  # it may have been to forget one
            with suppress(StoreUnavailable):
                self.people(owner, agent_id)
        return done

    def learned_through(self, owner: Owner, session_id: str) -> int:
        return self._ask(lambda store: store.learned_through(owner, session_id))

    def summaries(
        self,
        owner: Owner,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        kind: SummaryKind | None = None,
        limit: int = 50,
    ) -> Sequence[Summary]:
        return self._as_told(
            owner,
            ("summaries", session_id, agent_id, kind, limit),
            lambda store: store.summaries(owner, session_id=session_id, agent_id=agent_id, kind=kind, limit=limit),
            (),
        )

    def put_summary(self, owner: Owner, summary: Summary) -> bool:
        return self._ask(lambda store: store.put_summary(owner, summary))

    def drop_summaries(self, owner: Owner, summary_ids: Sequence[str]) -> int:
        gone = self._ask(lambda store: store.drop_summaries(owner, summary_ids))
        self._told.forget(owner)
        return gone

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        # What is at hand of somebody must not be shown without knowing what is kept away from prompts.
        nothing = None if self._told.knows(owner) else ()
        return self._as_told(
            owner, ("flags", state, limit), lambda store: store.flags(owner, state=state, limit=limit), nothing
        )

    def put_flag(self, owner: Owner, flag: Flag) -> bool:
        done = self._ask(lambda store: store.put_flag(owner, flag))
        self._told.forget(owner)
        return done

    def set_flag(self, owner: Owner, flag_id: str, state: FlagState) -> Flag | None:
        flag = self._ask(lambda store: store.set_flag(owner, flag_id, state))
        self._told.forget(owner)
        return flag

    def forget_derived(self, owner: Owner, session_id: str) -> int:
        gone = self._ask(lambda store: store.forget_derived(owner, session_id))
        self._told.forget(owner)
        return gone

    def documents(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        def read(store: Any) -> Sequence[Document]:
            return cast(Sequence[Document], store.documents(owner, limit=limit, before=before))

        return self._as_told(owner, ("documents", limit, before), read)

    def __getattr__(self, name: str) -> Any:
        """Whatever else the store behind offers: methods go through the line like all the others."""
        if name.startswith("_"):
            raise AttributeError(name)
        store = self._line.store
        if store is not None and not callable(getattr(store, name)):
            return getattr(store, name)
        return lambda *args, **kwargs: self._ask(lambda store: getattr(store, name)(*args, **kwargs))

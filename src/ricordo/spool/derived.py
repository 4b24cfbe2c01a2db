"""What is derived from turns (topics, traces, what is known of a person): asked of the database, never spooled.

While the database is away, what every chat asks for is told again as it was last told; the other calls raise
StoreUnavailable, and whoever derives waits and does it later.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast

from ricordo.errors import StoreUnavailable
from ricordo.person import FactChange, Flag, FlagState, People, Summary, SummaryKind
from ricordo.ports import Store
from ricordo.records import Block, Owner, SessionMark, Trace
from ricordo.service import Document
from ricordo.spool.at_hand import AtHand
from ricordo.spool.hurry import in_a_hurry
from ricordo.spool.line import Line, never
from ricordo.spool.told import Told
from ricordo.topics.shelf import TopicChange, TopicShelf

T = TypeVar("T")


class Derived:
    """The part of a store that passes through, or does not."""

    _line: Line
    _at_hand: AtHand
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

    def traces(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[Trace]:
        return self._ask(lambda store: store.traces(owner, embedder, session_id))

    def keep_traces(self, owner: Owner, traces: Sequence[Trace]) -> None:
        self._ask(lambda store: store.keep_traces(owner, traces))

    def drop_traces(self, owner: Owner, *, keep: str) -> int:
        return self._ask(lambda store: store.drop_traces(owner, keep=keep))

    def people(self, owner: Owner, agent_id: str) -> People:
        return self._as_told(owner, ("people", agent_id), lambda store: store.people(owner, agent_id), People())

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

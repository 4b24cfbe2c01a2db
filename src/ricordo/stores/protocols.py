"""The protocols of a store: one object with nine parts, each a small protocol.

The promises are in the docstrings; every store passes one contract suite (`ricordo.testing.contract`). A store is
thread-safe, and a write is durable when its call returns. A failure is a `StoreError`, or `StoreUnavailable` if the
same call may succeed later. A read of something that does not exist returns None or an empty sequence, never an error.
All keys begin with the owner: a call that names an owner can only read and change that owner's data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ricordo.stores.service_protocols import DocumentStore, ItemStore, JobStore, KeyStore

if TYPE_CHECKING:  # records are half of the time that `import ricordo` takes
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
    from ricordo.records.service import Damage, Expired, StoreHealth, StoreStats
    from ricordo.records.turns import (
        Block,
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


class TurnStore(Protocol):
    """The turns of sessions, with their receipts."""

    def append(
        self,
        turn: Turn,
        *,
        expected: int | None = None,
        receipt: StoredReceipt | None = None,
        acknowledged_at: datetime | None = None,
    ) -> Turn:
        """Number the turn, write it, and return it as stored (number and checksum filled in).

        Creates the session if it is new. Numbers are 1, 2, 3… without a gap, whatever the number of writers;
        `turn.turn_number` is ignored. A turn id that is already stored with the same content is written once: the
        stored turn is returned. If the stored turn is still open and this one has the answer, it is answered. Other
        content: ConflictError. `expected` is the number that the caller counts on: ConflictError if the next number
        is another. The receipt is written with the turn, in the same commit.

        `acknowledged_at`, here and below: when the write was acknowledged, if it comes from a spool. It is refused with
        OwnerErased if the owner was erased at that time or later; decided and written in one transaction.
        """
        ...

    def answer(
        self,
        owner: Owner,
        turn_id: str,
        answer: Message,
        metadata: dict[str, object],
        receipt: StoredReceipt | None,
        *,
        acknowledged_at: datetime | None = None,
    ) -> Turn:
        """Write the answer of an open turn. Repeating it changes nothing; another answer is a ConflictError.

        `metadata` is merged over the turn's. NotFoundError if there is no such turn. The topic of the turn, if it has
        one, counts the answer in the same transaction.
        """
        ...

    def mark_failed(self, owner: Owner, turn_id: str, failure: dict[str, object]) -> Turn | None:
        """Store why an open turn has no answer, as `failure` in its metadata; an answer removes it.

        A turn that was answered meanwhile is not changed. None if there is no such turn.
        """
        ...

    def add_message(self, turn: Turn, *, acknowledged_at: datetime | None = None) -> Turn:
        """Add the one message of `turn` where `ricordo.records.turns.place` says, and return the turn that has it.

        That is: a new turn, the answer of the newest turn, or a step of it. Decided and written in one transaction,
        so that concurrent callers never split or lose a message.
        """
        ...

    def load(
        self, session: SessionInfo, turns: Iterable[Turn], *, acknowledged_at: datetime | None = None
    ) -> tuple[int, int]:
        """Import a session with its turns as they are, numbers included; returns (added, known).

        All or nothing. A turn that is already stored unchanged counts as known; ConflictError if a number or an id is
        taken by other content, or if the owner was erased after `acknowledged_at`. Numbers may have gaps. An existing
        session keeps its own fields.
        """
        ...

    def get(self, owner: Owner, turn_id: str) -> Turn | None:
        """One turn by id."""
        ...

    def by_ids(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        """The turns with these ids that exist, in no order, read in one snapshot."""
        ...

    def page(
        self,
        owner: Owner,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Sequence[Turn]:
        """Turns in rising order of number; at most the `last` newest of those with after < number < before.

        The cost depends on what is returned, never on the length of the session.
        """
        ...

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        """Receipts of a session, newest turn first, with the passages that their bodies name."""
        ...

    def delete(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        """Delete single turns for good, as `SessionStore.expire` does; the session and its numbering stay.

        Returns how many were deleted.
        """
        ...


class SessionStore(Protocol):
    """The sessions of an owner."""

    def get(self, owner: Owner, session_id: str) -> SessionInfo | None:
        """One session's fields."""
        ...

    def page(
        self,
        owner: Owner,
        *,
        limit: int,
        agent_id: str | None = None,
        tag: str | None = None,
        before: SessionInfo | None = None,
    ) -> Sequence[SessionInfo]:
        """Most recently active first, ties by id; `before` is the last session of the previous page.

        Only the sessions of `agent_id` and with `tag`, where they are given.
        """
        ...

    def marks(self, owner: Owner) -> dict[str, SessionMark]:
        """The mark of every session of an owner. It changes with every change to the session's turns or fields."""
        ...

    def update(
        self, owner: Owner, session_id: str, changes: SessionChanges, *, acknowledged_at: datetime | None = None
    ) -> SessionInfo | None:
        """Set the given fields; None if there is no such session."""
        ...

    def clear(self, owner: Owner, session_id: str) -> int | None:
        """Empty a session and keep it; numbering starts again at 1. Number of turns deleted; None if unknown.

        What was derived from it is deleted too, as `PeopleStore.forget_derived` says, and nothing counts as learned.
        Items that name one of its turns are deleted.
        """
        ...

    def delete(self, owner: Owner, session_id: str) -> int | None:
        """Delete a session with everything in it and derived from it; number of turns deleted; None if unknown."""
        ...

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        """Delete one batch (at most about `batch` turns) of what has expired, in one short transaction.

        Turns created before `turns_before`; sessions last active before `idle_before`, whole. A session that loses
        its last turn is deleted too. Exactly what has expired is deleted, the newest included. Summaries and flags go
        with their session, items with their session or turn. Facts stay, because they are kept longer than a session.
        """
        ...

    def due(self, tenant_id: str, *, turns_before: datetime | None, idle_before: datetime | None) -> Sequence[Owner]:
        """The owners of a tenant that may have something for `expire` with these times; it may name too many."""
        ...

    def notes(self, owner: Owner, session_id: str) -> Sequence[str]:
        """What is missing or delayed in this session now, in sentences; empty while the database answers."""
        ...


class TopicStore(Protocol):
    """A session's topics and its archive."""

    def load(self, owner: Owner, session_id: str) -> TopicShelf:
        """The topics of a session in the order they began; an empty shelf if there are none."""
        ...

    def put(self, owner: Owner, session_id: str, change: TopicChange) -> bool:
        """Apply a change in one transaction, if the shelf is still at `change.revision`; False if it is not.

        Writes topics, removes topics, assigns turns to topics, and moves `through`. Turns that lose their topic stay;
        no message is touched. False too if the session does not exist. Turns in `counted` are counted as they are now.
        """
        ...

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        """The numbers of a topic's turns, rising."""
        ...

    def archive(self, owner: Owner, session_id: str, block: Block) -> bool:
        """Write a block and drop the plain text of its turns, which is read from the block from now on.

        One transaction, in which the topics of these turns count them as archived. False, and nothing changed, if one
        of the turns is missing, open, or already in a block.
        """
        ...

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        """The archive blocks of a session, or of one topic of it, oldest first."""
        ...

    def rehydrate(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        """Restore the plain text of archived turns; their blocks stay valid. Returns how many were restored.

        Their topics count them as in working memory, in the same transaction.
        """
        ...

    def release(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        """Drop plain text that a block also has (the opposite of `rehydrate`). Returns how many turns changed.

        Their topics count them as archived, in the same transaction.
        """
        ...


class VectorStore(Protocol):
    """The vectors of turns, for recall by meaning."""

    def read(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        """The vectors of an owner by one embedder, of one session if it is named, in rising order of turn."""
        ...

    def turns(self, owner: Owner, embedder: str) -> Iterator[IndexedTurn]:
        """Every turn of an owner without its text, with its vectors by one embedder; by session, then by number.

        Fast enough to build an index of all of them in a fresh process.
        """
        ...

    def write(self, owner: Owner, vectors: Sequence[TurnVectors]) -> None:
        """Write vectors, over older ones of the same turn and embedder; those of missing turns are ignored."""
        ...

    def drop(self, owner: Owner, *, keep: str) -> int:
        """Delete the vectors of every embedder but one; returns how many were deleted."""
        ...


class PeopleStore(Protocol):
    """What is known about a user: facts, summaries, flags.

    A fact is deleted when the last session that it was said in is cleared or deleted on request; it stays when that
    session expires. Summaries are deleted with their session. So are flags; a flag on a fact is deleted with the fact.
    """

    def agents(self, owner: Owner) -> Sequence[str]:
        """The agents that have facts of an owner, by name."""
        ...

    def facts(self, owner: Owner, agent_id: str) -> KnownFacts:
        """All facts that an agent has of an owner, superseded and forgotten ones included, in order of recording.

        Ties by id. Empty at revision 0 where nothing was ever learned.
        """
        ...

    def put_facts(self, owner: Owner, agent_id: str, change: FactChange) -> bool:
        """Write facts by id and move `learned_through` of sessions forward, in one transaction.

        False, and nothing is written, if the facts are no longer at `change.revision`. A session that does not exist
        is skipped; `learned_through` never goes back, nor beyond the session's last turn. A new source whose turn was
        deleted is left out, and so is a fact that has no other source. The revision rises by one with
        every change that writes something. ValidationError for a fact of another agent, or a forgotten one with text.
        """
        ...

    def learned_through(self, owner: Owner, session_id: str) -> int:
        """The last turn that facts were extracted from; 0 for none."""
        ...

    def summaries(
        self,
        owner: Owner,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        kind: SummaryKind | None = None,
        limit: int = 50,
    ) -> Sequence[Summary]:
        """Summaries, newest first (by `created_at`, then by `last_turn`, then by id)."""
        ...

    def put_summary(self, owner: Owner, summary: Summary) -> bool:
        """Write a summary. One per session, kind and `last_turn`: False if that exists already, or its id.

        False too if the session does not exist, or has not reached `last_turn`.
        """
        ...

    def drop_summaries(self, owner: Owner, summary_ids: Sequence[str]) -> int:
        """Delete single summaries, with the flags on them; returns how many. Others may be written in their place."""
        ...

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        """The flags of an owner, newest first, ties by id."""
        ...

    def put_flag(self, owner: Owner, flag: Flag) -> bool:
        """Write a flag. One per (subject, subject id): False if there is one already, which stays as it is.

        False too if its id is taken or the session does not exist.
        """
        ...

    def set_flag(self, owner: Owner, flag_id: str, state: FlagState) -> Flag | None:
        """Release something, or put it back into quarantine; None if there is no such flag."""
        ...

    def forget_derived(self, owner: Owner, session_id: str) -> int:
        """Delete what was derived from a session: summaries, and facts without another source; returns how many.

        Facts keep their sources from other sessions. A fact that a deleted one had superseded is current again, until
        the next fact that supersedes it. Flags on what is deleted are deleted. Facts are not extracted from the session
        again.
        """
        ...


class StoreParts(Protocol):
    """The parts of a store, all in one database."""

    @property
    def turns(self) -> TurnStore: ...

    @property
    def sessions(self) -> SessionStore: ...

    @property
    def topics(self) -> TopicStore: ...

    @property
    def vectors(self) -> VectorStore: ...

    @property
    def people(self) -> PeopleStore: ...

    @property
    def documents(self) -> DocumentStore: ...

    @property
    def keys(self) -> KeyStore: ...

    @property
    def jobs(self) -> JobStore: ...

    @property
    def items(self) -> ItemStore: ...


class Store(StoreParts, Protocol):
    """Everything of a memory and a service, in one database."""

    @property
    def location(self) -> str:
        """Where the data is, without secrets."""
        ...

    @property
    def erase_notes(self) -> tuple[str, ...]:
        """Sentences on what the operator of the database must still do after `erase`; empty if nothing."""
        ...

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        """Every user of a tenant who has a session, a document, facts or items; may change while it is read."""
        ...

    def erase(self, owner: Owner) -> dict[str, int]:
        """Delete everything of an owner, so that no byte of the text remains in files this store controls.

        Returns how many were deleted of: sessions, turns, receipts, topics, blocks, traces, facts, summaries, flags,
        documents, jobs, keys, items. That the owner was erased is recorded for good, with the time and no content, in
        the same transaction: a write that was acknowledged before, and comes later from a spool, is refused.
        """
        ...

    def stats(self, tenant_id: str) -> StoreStats:
        """How much is stored for a tenant."""
        ...

    def integrity(self) -> Sequence[Damage]:
        """The damage that the database itself finds in its files; empty if there is none."""
        ...

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy to a new SQLite file at `path` while other threads and processes read and write."""
        ...

    def without_waiting(self) -> AbstractContextManager[None]:
        """A block in which calls of this thread do not wait for a database that does not answer.

        Such a call returns the last known value or an empty one, or raises StoreUnavailable at once. Only a store
        with a spool behaves differently in it; all others return `nullcontext()`.
        """
        ...

    def health(self) -> StoreHealth:
        """What kind of store this is, and the state of its spool if it has one. Never waits for the database."""
        ...

    def close(self) -> None:
        """Close files and connections. Safe to repeat."""
        ...

"""The seams: what the rest of Ricordo asks of a store and a clock; a language model's are in `model_ports`.

The promises are in the docstrings; every store passes one contract suite (`ricordo.testing.contract`).
All keys begin with the owner: a call that names an owner can only ever see and change that owner's data.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from ricordo.records.people import FactChange, Flag, FlagState, People, Summary, SummaryKind
from ricordo.records.reports import Damage, Expired, StoreStats
from ricordo.records.service import ApiKey, Document, Job, JobStats, StoredChunk
from ricordo.records.topics import TopicChange, TopicShelf
from ricordo.records.turns import (
    Block,
    Message,
    Owner,
    SessionChanges,
    SessionInfo,
    SessionMark,
    StoredReceipt,
    Trace,
    Turn,
)

# The seam of what a service keeps besides memory: documents, API keys, jobs and leases, in the same database.


class DocumentStore(Protocol):
    """Where documents live. They stay until they are deleted or their owner erased."""

    def put_document(self, owner: Owner, document: Document, chunks: Sequence[StoredChunk]) -> bool:
        """Keep a document with its chunks, in one transaction. False if it is there already with the same digest.

        ConflictError if the id is taken by other content, or the id of a chunk by another document. ValidationError
        if the chunks are not those of the document, or not as many as it says.
        """
        ...

    def documents(self, owner: Owner, *, limit: int = 50, before: Document | None = None) -> Sequence[Document]:
        """Newest first, ties by id; `before` is the last one of the previous page."""
        ...

    def document(self, owner: Owner, document_id: str) -> Document | None:
        """One document by id."""
        ...

    def chunks(self, owner: Owner, document_ids: Sequence[str] | None = None) -> Sequence[StoredChunk]:
        """The chunks of the named documents, or of all, by document and position."""
        ...

    def chunk(self, owner: Owner, chunk_id: str) -> StoredChunk | None:
        """One chunk by id."""
        ...

    def delete_document(self, owner: Owner, document_id: str) -> bool:
        """Remove a document with its chunks; False if there is none."""
        ...

    def set_chunk_vectors(self, owner: Owner, embedder: str, vectors: Mapping[str, bytes]) -> int:
        """Set the vectors of chunks, by id; how many of them are there."""
        ...


class KeyStore(Protocol):
    """Where API keys live. A key that is bound to a user goes when that user is erased."""

    def put_key(self, key: ApiKey) -> None:
        """Keep a key; ConflictError if its tenant has one of that id, or its digest is known."""
        ...

    def key_by_digest(self, digest: str) -> ApiKey | None:
        """The key with that digest, whoever's it is, revoked ones too."""
        ...

    def keys(self, tenant_id: str) -> Sequence[ApiKey]:
        """A tenant's keys, those of its users included, oldest first, ties by id."""
        ...

    def revoke_key(self, tenant_id: str, key_id: str, now: datetime) -> ApiKey | None:
        """Close a key for good; None if there is none. One that is revoked stays as it is."""
        ...

    def key_used(self, key: ApiKey, now: datetime) -> None:
        """Note when a key was last used; a key that is gone is passed over."""
        ...


class JobStore(Protocol):
    """Where work waits until somebody does it. At most one job per owner, kind and session."""

    def enqueue(self, owner: Owner, kind: str, session_id: str, due_at: datetime, *, postpone: bool = False) -> bool:
        """Wish for a piece of work. False, and nothing is kept, if it is about a session that is not there.

        One that waits already keeps the earlier time, or takes the new one with `postpone`; one that waits after a
        failure keeps its time unless postponed; one that was given up starts anew; one that somebody is at will be
        done once more.
        """
        ...

    def take(
        self, worker: str, now: datetime, lease: timedelta, *, limit: int = 1, kinds: Sequence[str] | None = None
    ) -> Sequence[Job]:
        """Take jobs that are due, of any owner, those due longest first; nobody else gets them until the lease ends.

        Each is told how often it was taken. Two who take at once never take the same.
        """
        ...

    def finish(self, job: Job) -> bool:
        """It is done. False, and nothing changes, if the lease was lost to another, or the job is gone."""
        ...

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        """It did not work: try again at a time, or give it up. False as for `finish`."""
        ...

    def hand_back(self, job: Job) -> bool:
        """Somebody else may do it, at once, and this attempt does not count. False as for `finish`."""
        ...

    def extend(self, job: Job, until: datetime) -> Job | None:
        """Keep the lease for longer: the job to go on with. None where `finish` says False."""
        ...

    def jobs(self, owner: Owner) -> Sequence[Job]:
        """All jobs of an owner, by kind and session."""
        ...

    def jobs_stats(self, tenant_id: str, now: datetime) -> JobStats:
        """How much work of a tenant there is."""
        ...

    def lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take or renew a lease on something that only one of all processes may do; False while another has it."""
        ...

    def end_lease(self, name: str, holder: str) -> bool:
        """Give a lease back; False if it was not the holder's."""
        ...


class ServiceStore(DocumentStore, KeyStore, JobStore, Protocol):
    """All that a service keeps besides memory."""


class TopicStore(Protocol):
    """Where a session's topics and its archive live."""

    def topics(self, owner: Owner, session_id: str) -> TopicShelf:
        """The topics of a session in the order they began; an empty shelf if there are none."""
        ...

    def put_topics(self, owner: Owner, session_id: str, change: TopicChange) -> bool:
        """Apply a change in one transaction, if the shelf is still at `change.revision`; False if it is not.

        Writes topics, removes topics, notes which turn belongs to which, and moves `through`. Merely unassigned
        turns stay; nothing that was said is touched. False too if the session is gone.
        """
        ...

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        """The numbers of a topic's turns, rising."""
        ...

    def archive(self, owner: Owner, session_id: str, block: Block) -> bool:
        """Keep a block and let go of the words of its turns, which are read from the block from now on.

        One transaction. False, and nothing changed, if one of the turns is gone, open, or in a block already.
        """
        ...

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        """The archive blocks of a session, or of one topic of it, oldest first."""
        ...

    def rehydrate(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        """Bring the words of archived turns back into plain text; their blocks stay valid. How many came back."""
        ...

    def release(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        """Let go of plain words that a block holds as well (the opposite of `rehydrate`). How many went."""
        ...

    def delete_turns(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        """Remove single turns for good, as `expire` would; the session stays, its numbering goes on."""
        ...


class TraceStore(Protocol):
    """Where the vectors of recall live."""

    def marks(self, owner: Owner) -> dict[str, SessionMark]:
        """Every session of an owner with its mark, which moves with every change to its turns or fields."""
        ...

    def traces(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[Trace]:
        """The traces of an owner by one embedder, of one session if it is named, in rising order of turn."""
        ...

    def keep_traces(self, owner: Owner, traces: Sequence[Trace]) -> None:
        """Write traces, over older ones of the same turn and embedder; traces of turns that are gone are ignored."""
        ...

    def drop_traces(self, owner: Owner, *, keep: str) -> int:
        """Remove the traces of every embedder but one; how many went."""
        ...


class TurnStore(Protocol):
    """Where turns live. Thread-safe. A write is durable when its call returns.

    Failures are `StoreError`; `StoreUnavailable` when the same call may work later. Reading something
    that does not exist gives None or an empty sequence, never an error.
    """

    @property
    def location(self) -> str:
        """Where the data lies, without secrets."""
        ...

    @property
    def erase_notes(self) -> tuple[str, ...]:
        """What `erase` leaves to the operator of the database, in sentences; empty when nothing."""
        ...

    def append(self, turn: Turn, *, expected: int | None = None, receipt: StoredReceipt | None = None) -> Turn:
        """Number the turn, keep it, and return it as stored (number and checksum filled in).

        The session is made if it is new. Numbers are 1, 2, 3… without a gap, whatever the number of
        writers. `turn.turn_number` is ignored. A turn id that is stored already with the same content is
        written once: the stored turn comes back; if the stored one is still open and this one has the
        answer, it is answered. Other content: ConflictError. `expected` is the number that the caller
        counts on: ConflictError if the next one is another. The receipt is kept with the turn, in the same commit.
        """
        ...

    def answer(
        self,
        owner: Owner,
        turn_id: str,
        answer: Message,
        metadata: dict[str, object],
        receipt: StoredReceipt | None,
    ) -> Turn:
        """Close an open turn. The same answer again changes nothing; another one is a ConflictError.

        `metadata` is laid over the turn's. NotFoundError if there is no such turn.
        """
        ...

    def add_message(self, turn: Turn) -> Turn:
        """Add the one message that `turn` carries where `ricordo.records.turns.place` says, and return its turn.

        That is: a new turn, the answer of the newest turn, or a step of it; decided and written in one
        transaction, so that concurrent callers never split or lose a message.
        """
        ...

    def load(self, session: SessionInfo, turns: Iterable[Turn]) -> tuple[int, int]:
        """Bring in a session with its turns as they are, numbers kept (imports); returns (added, known).

        All or nothing. A turn that is already there unchanged is known; ConflictError if a number or an id is
        taken by other content. Numbers may have gaps. An existing session keeps its own fields.
        """
        ...

    def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        """One turn by id."""
        ...

    def turns_by_id(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        """Those of some turns that are there, in no order, seen at one moment."""
        ...

    def turns(
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

    def session(self, owner: Owner, session_id: str) -> SessionInfo | None:
        """One session's fields."""
        ...

    def sessions(
        self, owner: Owner, *, limit: int, agent_id: str | None = None, before: SessionInfo | None = None
    ) -> Sequence[SessionInfo]:
        """Most recently active first, ties by id; `before` is the last one of the previous page."""
        ...

    def update_session(self, owner: Owner, session_id: str, changes: SessionChanges) -> SessionInfo | None:
        """Set the given fields; None if there is no such session."""
        ...

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        """Every user of a tenant who has a session, a document, or facts; may change while it is read."""
        ...

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        """Receipts of a session, newest turn first, with the passages that their bodies name."""
        ...

    def clear(self, owner: Owner, session_id: str) -> int | None:
        """Empty a session and keep it; numbering starts again at 1. How many turns went; None if unknown.

        What was derived from it goes too, as `PersonStore.forget_derived` says, and nothing counts as learned.
        """
        ...

    def delete_session(self, owner: Owner, session_id: str) -> int | None:
        """Remove a session with everything in it and derived from it; how many turns went; None if unknown."""
        ...

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        """Remove one batch (at most about `batch` turns) of what is past its time, in one short transaction.

        Turns created before `turns_before`; sessions last active before `idle_before`, whole. A session that
        loses its last turn goes too. Exactly what is past its time goes, the newest included. Summaries and flags go
        with their session. Facts stay: they are what outlives a session, and go when somebody wants it.
        """
        ...

    def erase(self, owner: Owner) -> dict[str, int]:
        """Remove everything of an owner, so that no byte of the text remains in files this store controls."""
        ...

    def stats(self, tenant_id: str) -> StoreStats:
        """How much is kept for a tenant."""
        ...

    def integrity(self) -> Sequence[Damage]:
        """What the database itself finds wrong with its files; empty when sound."""
        ...

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy to a new SQLite file at `path` while others read and write."""
        ...

    def close(self) -> None:
        """Let go of files and connections. Safe to repeat."""
        ...


class PersonStore(Protocol):
    """Where what is known of a person lives.

    A fact goes with the last session it was said in when that is cleared or deleted by somebody's wish, and stays
    when it expires. Summaries go with their session. So do flags, but for those on facts, which go with the fact.
    """

    def agents(self, owner: Owner) -> Sequence[str]:
        """The agents that have facts of an owner, by name."""
        ...

    def people(self, owner: Owner, agent_id: str) -> People:
        """All facts that an agent has of an owner, also superseded and forgotten ones, in the order they were recorded.

        Ties by id. Empty at revision 0 where nothing was ever learned.
        """
        ...

    def put_facts(self, owner: Owner, agent_id: str, change: FactChange) -> bool:
        """Write facts by id and move `learned_through` of sessions forward, in one transaction.

        False, and nothing is written, if the facts are no longer at `change.revision`. A session that is gone is
        passed over; `learned_through` never goes back, nor beyond the session's last turn. A source that is new to the
        agent and whose turn is gone is left out, and so is a fact that has no other. The revision rises by one with
        every change that writes something. ValidationError for a fact of another agent, or a forgotten one with words.
        """
        ...

    def learned_through(self, owner: Owner, session_id: str) -> int:
        """The last turn that facts were looked for in; 0 for none."""
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
        """Keep a summary. One per session, kind and `last_turn`: False if that is there already, or its id.

        False too if the session is gone, or has not come as far as `last_turn`.
        """
        ...

    def drop_summaries(self, owner: Owner, summary_ids: Sequence[str]) -> int:
        """Remove single summaries, with the flags on them; how many went. Another may take their place."""
        ...

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        """What was flagged, newest first, ties by id."""
        ...

    def put_flag(self, owner: Owner, flag: Flag) -> bool:
        """Keep a flag. One per (subject, subject id): False if there is one already, which stays as it is.

        False too if its id is taken or the session gone.
        """
        ...

    def set_flag(self, owner: Owner, flag_id: str, state: FlagState) -> Flag | None:
        """Release something, or put it back into quarantine; None if there is no such flag."""
        ...

    def forget_derived(self, owner: Owner, session_id: str) -> int:
        """Undo what was derived from a session: its summaries, and facts with no source elsewhere; how many went.

        Facts keep their sources from other sessions. What a removed fact had superseded is true again, up to the next
        fact that supersedes it. Flags on what went go along. The session is not looked through again.
        """
        ...


class Store(TurnStore, TopicStore, TraceStore, PersonStore, Protocol):
    """All of a memory, in one database."""


class WholeStore(Store, ServiceStore, Protocol):
    """A memory and all that a service keeps besides it, in one database."""

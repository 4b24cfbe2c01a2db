"""The result of a write if something is stored already: the rules of all stores, without a database.

In: the new record and the stored one. Out: what to store, or a ConflictError. If the result is the stored record
itself, nothing has to be written. In order: turns and sessions; facts, which lose sources with deleted turns;
documents; API keys; jobs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from ricordo.errors import ConflictError, ValidationError
from ricordo.limits import check_id
from ricordo.records.derived import Fact, FactChange
from ricordo.records.service import ApiKey, Document, Job, JobStats, StoredChunk
from ricordo.records.turns import RESERVED, Message, Owner, SessionChanges, SessionInfo, Turn, message_id, turn_id_of
from ricordo.records.values import record

T = TypeVar("T")

# What `erase` reports, in this order.
ERASED = (
    *("sessions", "turns", "receipts", "topics", "blocks", "traces", "facts", "summaries", "flags"),
    *("documents", "jobs", "keys", "items"),
)


class OwnerErased(ConflictError):  # noqa: N818 - not a failure: the write must be deleted too
    """The owner was erased, at `erased_at`, after this write was acknowledged: it must not be stored."""

    def __init__(self, owner: Owner, erased_at: datetime) -> None:
        when = erased_at.isoformat(timespec="seconds")
        super().__init__(
            f"user {owner.user_id!r} was erased at {when}, after this was written; it is not stored "
            "(to keep it, import it for another user id)"
        )
        self.erased_at = erased_at


def check_not_erased(owner: Owner, acknowledged_at: datetime, erased_at: datetime | None) -> None:
    """Refuse a spooled or imported write whose owner was erased at the time of its acknowledgement or later."""
    if erased_at is not None and acknowledged_at <= erased_at:
        raise OwnerErased(owner, erased_at)


def merge_repeat(turn: Turn, stored: Turn) -> Turn:
    """The turn to store for a turn id that is stored already: the stored turn, with the answer if that is new."""
    if not turn.repeats(stored):
        raise ConflictError(
            f"turn id {turn.id!r} is taken by other content (turn {stored.turn_number} of session "
            f"{stored.session_id!r}); use a new id for a new turn"
        )
    if turn.answer is None or stored.answer is not None:
        return stored
    return merge_answer(stored, turn.answer, dict(turn.metadata))


def merge_answer(stored: Turn, answer: Message, metadata: dict[str, object]) -> Turn:
    """An answer for a turn: written once, never overwritten."""
    answer = replace(answer, id=message_id(stored.id, "response"))
    if stored.answer is None:
        return stored.answered(answer, metadata)
    if answer.says_the_same(stored.answer) and stored.has_metadata(metadata):
        return stored
    raise ConflictError(
        f"turn {stored.turn_number} of session {stored.session_id!r} has another answer already; "
        "an answer is never overwritten"
    )


def merge_failure(stored: Turn, failure: dict[str, object]) -> Turn:
    """The turn with the cause of a failed answer; unchanged if it was answered."""
    return stored.failed(failure) if stored.is_open else stored


def check_expected(expected: int | None, next_number: int, session_id: str) -> None:
    """Refuse a write that expects another number than the next one."""
    if expected is not None and expected != next_number:
        raise ConflictError(
            f"turn_number {expected} is not the next of session {session_id!r} (that is {next_number}); "
            "read the session again or leave the number out"
        )


def new_session(turn: Turn) -> SessionInfo:
    """The session that a first turn creates, before the turn is added."""
    return SessionInfo(turn.session_id, turn.owner, turn.agent_id, turn.created_at, turn.created_at)


def loaded_session(session: SessionInfo) -> SessionInfo:
    """An imported session before its turns are added: what is derived from turns is empty."""
    return replace(session, last_turn=0, turn_count=0, revision=0)


def touched(session: SessionInfo, turn: Turn, *, turn_count: int) -> SessionInfo:
    """A session after a turn of it was written."""
    said = [message.created_at for message in turn.messages]
    return replace(
        session, last_turn=max(session.last_turn, turn.turn_number), turn_count=turn_count,
        revision=session.revision + 1, last_active_at=max(session.last_active_at, turn.created_at, *said),
        ended_at=None,
    )  # fmt: skip


def changed(session: SessionInfo, changes: SessionChanges) -> SessionInfo:
    """A session with the given fields set."""
    return replace(
        session,
        title=session.title if changes.title is None else changes.title,
        document_ids=session.document_ids if changes.document_ids is None else changes.document_ids,
        tags=session.tags if changes.tags is None else changes.tags,
        metadata=session.metadata if changes.metadata is None else changes.metadata,
        ended_at=session.ended_at if changes.ended_at is None else changes.ended_at,
        revision=session.revision + 1,
    )


def prepared(session: SessionInfo, turns: Iterable[Turn]) -> list[Turn]:
    """The turns of an import, plain and sealed; refused if one of them belongs elsewhere."""
    sealed = []
    for turn in turns:
        if turn.owner != session.owner or turn.session_id != session.id:
            raise ValidationError(
                "session_id", f"turn {turn.turn_number} (id {turn.id!r}) is not of session {session.id!r}"
            )
        sealed.append(turn.as_new().sealed())
    return sealed


def grown(session: SessionInfo, fresh: Sequence[Turn]) -> SessionInfo:
    """A session after turns were loaded into it: what is derived from turns changes, its own fields stay."""
    said = [message.created_at for turn in fresh for message in turn.messages]
    return replace(
        session,
        last_turn=max([session.last_turn, *(turn.turn_number for turn in fresh)]),
        turn_count=session.turn_count + len(fresh),
        revision=session.revision + len(fresh),
        last_active_at=max([session.last_active_at, *(turn.created_at for turn in fresh), *said]),
    )


def already_loaded(turn: Turn, at_number: Turn | None, by_id: Turn | None) -> bool:
    """Whether an imported turn is stored already, unchanged; ConflictError if its id or number has other content."""
    if at_number is None and by_id is None:
        return False
    for stored in (at_number, by_id):
        if stored is None or stored.sealed().checksum != turn.sealed().checksum:
            raise ConflictError(
                f"turn {turn.turn_number} of session {turn.session_id!r} (id {turn.id!r}) has other content "
                "under its number or id; import into another session or user"
            )
    return True


def check_loaded(session_id: str, numbers: Sequence[int], fresh: Sequence[Turn]) -> None:
    """Refuse an import with an id or a number twice, or a number below 1.

    Numbers may have gaps, as in a session whose turns have partly expired.
    """
    if len({turn.id for turn in fresh}) != len(fresh):
        raise ConflictError(f"session {session_id!r} would have a turn id twice; give every turn its own id")
    wanted = [*numbers, *(turn.turn_number for turn in fresh)]
    if wanted and min(wanted) < 1:
        raise ValidationError("turn_number", f"expected 1 or more, got {min(wanted)}")
    if len(set(wanted)) != len(wanted):
        raise ConflictError(f"session {session_id!r} would have a turn_number twice")


@record
class Unlearned:
    """Facts to delete, and facts that stay with fewer sources or another successor."""

    gone: tuple[Fact, ...] = ()
    changed: tuple[Fact, ...] = ()

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents whose facts change."""
        return tuple(sorted({fact.agent_id for fact in (*self.gone, *self.changed)}))


def without_session(facts: Iterable[Fact], session_id: str) -> Unlearned:
    """The changes of an owner's facts when a session is no longer a source."""
    gone: dict[tuple[str, str], Fact] = {}
    staying: list[tuple[Fact, Fact]] = []
    for fact in facts:
        left = tuple(source for source in fact.sources if source.session_id != session_id)
        if fact.sources and not left:
            gone[fact.agent_id, fact.id] = fact
        else:
            staying.append((fact, fact if left == fact.sources else replace(fact, sources=left)))
    changed = [(before, _true_again(after, gone)) for before, after in staying]
    return Unlearned(tuple(gone.values()), tuple(after for before, after in changed if after is not before))


def _true_again(fact: Fact, gone: Mapping[tuple[str, str], Fact]) -> Fact:
    """The fact with the nearest successor that stays; current again if none does."""
    after, seen = fact, set()
    while after.superseded_by and (after.agent_id, after.superseded_by) in gone and after.superseded_by not in seen:
        seen.add(after.superseded_by)
        lost = gone[after.agent_id, after.superseded_by]
        ends = lost.valid_to if lost.superseded_by else None
        after = replace(after, superseded_by=lost.superseded_by, valid_to=ends)
    if after.superseded_by in seen:  # facts that superseded each other: no successor stays
        after = replace(after, superseded_by=None, valid_to=None)
    return after


def checked(agent_id: str, change: FactChange) -> FactChange:
    """The change, if it may be written; else ValidationError."""
    for fact in change.put:
        if fact.agent_id != agent_id:
            raise ValidationError("agent_id", f"fact {fact.id!r} is of agent {fact.agent_id!r}, not of {agent_id!r}")
        if fact.forgotten and (fact.text or any(source.quote for source in fact.sources)):
            raise ValidationError("text", f"fact {fact.id!r} is forgotten but has text; keep only its digest")
    return change


def turns_named(change: FactChange) -> set[str]:
    """The turns that the sources of a change point into."""
    return {turn_id_of(source.message_id) for fact in change.put for source in fact.sources}


def with_live_sources(change: FactChange, stored: Iterable[Fact], turns_there: set[str]) -> tuple[Fact, ...]:
    """The facts to write, without new sources whose turns are deleted.

    A turn may be deleted while facts are extracted from it, and must not become a source. A fact that loses all sources
    this way is left out; if it is stored already, it is not changed.
    """
    known = {source for fact in stored for source in fact.sources}
    written = []
    for fact in change.put:
        left = tuple(each for each in fact.sources if each in known or turn_id_of(each.message_id) in turns_there)
        if left or not fact.sources:
            written.append(fact if left == fact.sources else replace(fact, sources=left))
    return tuple(written)


def check_document(document: Document, chunks: Sequence[StoredChunk]) -> None:
    """Refuse chunks that are not those of the document."""
    if len(chunks) != document.chunk_count:
        raise ValidationError(
            "chunk_count",
            f"document {document.id!r} declares {document.chunk_count} chunks, but there are {len(chunks)}",
        )
    for chunk in chunks:
        if chunk.document_id != document.id:
            raise ValidationError("document_id", f"chunk {chunk.id!r} is of document {chunk.document_id!r}")
    for what in ([chunk.id for chunk in chunks], [chunk.position for chunk in chunks]):
        if len(set(what)) != len(what):
            raise ValidationError("chunks", f"document {document.id!r} has two chunks of one id or position")


def is_known(stored: Document | None, document: Document) -> bool:
    """Whether the same document is there; ConflictError if another one has its id."""
    if stored is None:
        return False
    if stored.digest != document.digest:
        raise ConflictError(
            f"document id {document.id!r} is taken by other content; delete that document first, or use a new id"
        )
    return True


def check_chunk_ids(taken: Iterable[str]) -> None:
    """Refuse chunks whose ids other documents use."""
    for chunk_id in taken:
        raise ConflictError(f"chunk id {chunk_id!r} is taken by another document; give every chunk an id of its own")


def key_owner(key: ApiKey) -> Owner:
    """The owner of a key: its user, or the tenant itself."""
    return Owner(key.tenant_id, f"{RESERVED}tenant" if key.user_id is None else key.user_id)


def check_key(key: ApiKey, others: Iterable[ApiKey]) -> None:
    """Refuse a key whose id or digest is taken."""
    for other in others:
        if other.id == key.id or other.digest == key.digest:
            raise ConflictError(f"API key {key.id!r} exists already, or its secret does; make a new one")


CLUSTER = Owner(f"{RESERVED}cluster", f"{RESERVED}cluster")  # the owner of leases: all processes together
ERROR_LENGTH = 1_000  # characters of an error that are stored
KIND_LENGTH = 64


def enqueued(stored: Job | None, new: Job, *, postpone: bool) -> Job:
    """What to store when a job is enqueued that may be stored already."""
    if stored is None:
        return new
    if stored.leased_by:  # also if the lease has expired: the next worker finishes the old job, then runs once more
        return replace(stored, again_at=_when(stored.again_at, new.due_at, postpone=postpone))
    if stored.due_at is None:
        return new
    if stored.last_error and not postpone:
        return stored
    return replace(stored, due_at=_when(stored.due_at, new.due_at, postpone=postpone))


def new_job(owner: Owner, kind: str, session_id: str, due_at: datetime) -> Job:
    """A job as it begins."""
    check_id("kind", kind)
    if len(kind) > KIND_LENGTH:
        raise ValidationError("kind", f"expected at most {KIND_LENGTH} characters, got {len(kind)}")
    if session_id:
        check_id("session_id", session_id)
    return Job(owner, kind, session_id, due_at)


def taken(job: Job, worker: str, until: datetime) -> Job:
    return replace(job, attempts=job.attempts + 1, leased_by=worker, leased_until=until)


def holds(stored: Job | None, job: Job) -> bool:
    """Whether the worker that was given `job` still has its lease."""
    return stored is not None and bool(job.leased_by) and _lease_of(stored) == _lease_of(job)


def extended(stored: Job, until: datetime) -> Job:
    return replace(stored, leased_until=until)


def finished(stored: Job) -> Job | None:
    """A finished job: None, or a new job if it was enqueued meanwhile."""
    if stored.again_at is None:
        return None
    return Job(stored.owner, stored.kind, stored.session_id, stored.again_at)


def failed(stored: Job, error: str, retry_at: datetime | None) -> Job:
    """A failed job; the next attempt also covers what was enqueued meanwhile."""
    words = (error.strip() or "failed")[:ERROR_LENGTH].replace("\x00", "")
    retry_at = stored.again_at if retry_at is None else retry_at
    return replace(stored, due_at=retry_at, leased_by="", leased_until=None, last_error=words, again_at=None)


def handed_back(stored: Job) -> Job:
    """A job as it was before it was taken."""
    return replace(stored, attempts=stored.attempts - 1, leased_by="", leased_until=None, again_at=None)


class LeasedJobs(ABC):
    """What a worker says of a job that it has leased, for the job queue of any store."""

    @abstractmethod
    def change(self, job: Job, change: Callable[[Job], Job | None], /) -> bool:
        """Write the next state of a job, or delete it; False, and nothing changes, if its lease is lost."""

    def finish(self, job: Job) -> bool:
        return self.change(job, finished)

    def fail(self, job: Job, error: str, retry_at: datetime | None) -> bool:
        return self.change(job, lambda stored: failed(stored, error, retry_at))

    def hand_back(self, job: Job) -> bool:
        return self.change(job, handed_back)

    def extend(self, job: Job, until: datetime) -> Job | None:
        return extended(job, until) if self.change(job, lambda stored: extended(stored, until)) else None


def in_order(jobs: Sequence[Job]) -> list[Job]:
    """Jobs that were taken together, those due longest first."""
    return sorted(jobs, key=lambda job: (job.due_at is None, job.due_at, job.owner.key.bytes, job.kind, job.session_id))


def is_due(job: Job, now: datetime) -> bool:
    """Whether a worker may take it."""
    return job.due_at is not None and job.due_at <= now and not is_leased(job, now)


def is_leased(job: Job, now: datetime) -> bool:
    """Whether a worker has a lease on it."""
    return job.leased_until is not None and now < job.leased_until


def counted(jobs: Iterable[Job], now: datetime) -> JobStats:
    """The numbers of jobs by state."""
    every = list(jobs)
    leased = [job for job in every if is_leased(job, now)]
    due = [job.due_at for job in every if job.due_at is not None and not is_leased(job, now)]
    retrying = sum(job.due_at is not None and bool(job.last_error) and not is_leased(job, now) for job in every)
    return JobStats(len(due), len(leased), len(every) - len(leased) - len(due), retrying, min(due, default=None))


def _lease_of(job: Job) -> tuple[str, int, datetime | None]:
    return job.leased_by, job.attempts, job.leased_until


def _when(planned: datetime | None, wished_for: datetime | None, *, postpone: bool) -> datetime | None:
    if planned is None or postpone:
        return wished_for
    return planned if wished_for is None else min(planned, wished_for)


def grouped(values: Iterable[T], key: Callable[[T], str | None]) -> dict[str, list[T]]:
    """Values by their key, in order; those with an empty key are left out."""
    found: dict[str, list[T]] = {}
    for value in values:
        if name := key(value):
            found.setdefault(name, []).append(value)
    return found

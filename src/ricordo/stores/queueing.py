"""What becomes of a job, and whose lease holds: the decisions every store shares, without a database.

In: a job as it is stored and what somebody wants of it. Out: what is to be stored, or None where nothing is left. A
worker shows that the lease is still its own by its name, the attempt it was given, and until when.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from ricordo.errors import ValidationError
from ricordo.limits import check_id
from ricordo.records import RESERVED, Owner
from ricordo.service import Job, JobStats

CLUSTER = Owner(f"{RESERVED}cluster", f"{RESERVED}cluster")  # whose leases are: all processes together
ERROR_LENGTH = 1_000  # characters of an error that are kept
KIND_LENGTH = 64


def wished(stored: Job | None, wish: Job, *, postpone: bool) -> Job:
    """A wish beside what is there already."""
    if stored is None:
        return wish
    if stored.leased_by:  # also of a lease that has run out: whoever takes it next finishes the old wish, then ours
        return replace(stored, again_at=_when(stored.again_at, wish.due_at, postpone=postpone))
    if stored.due_at is None:
        return wish
    if stored.last_error and not postpone:
        return stored
    return replace(stored, due_at=_when(stored.due_at, wish.due_at, postpone=postpone))


def a_wish(owner: Owner, kind: str, session_id: str, due_at: datetime) -> Job:
    """A job as it begins."""
    check_id("kind", kind)
    if len(kind) > KIND_LENGTH:
        raise ValidationError("kind", f"expected at most {KIND_LENGTH} characters, got {len(kind)}")
    if session_id:
        check_id("session_id", session_id)
    return Job(owner, kind, session_id, due_at)


def taken(job: Job, worker: str, until: datetime) -> Job:
    """A job that somebody is at from now on."""
    return replace(job, attempts=job.attempts + 1, leased_by=worker, leased_until=until)


def holds(stored: Job | None, job: Job) -> bool:
    """Whether the one who was given `job` still has it."""
    return stored is not None and bool(job.leased_by) and _lease_of(stored) == _lease_of(job)


def extended(stored: Job, until: datetime) -> Job:
    """A job that somebody is at for longer."""
    return replace(stored, leased_until=until)


def finished(stored: Job) -> Job | None:
    """A job that was done: nothing is left of it, unless it was wished for meanwhile."""
    if stored.again_at is None:
        return None
    return Job(stored.owner, stored.kind, stored.session_id, stored.again_at)


def failed(stored: Job, error: str, retry_at: datetime | None) -> Job:
    """A job that did not work; what was wished meanwhile is done by the next attempt."""
    words = (error.strip() or "failed")[:ERROR_LENGTH].replace("\x00", "")
    retry_at = stored.again_at if retry_at is None else retry_at
    return replace(stored, due_at=retry_at, leased_by="", leased_until=None, last_error=words, again_at=None)


def handed_back(stored: Job) -> Job:
    """A job that nobody is at any more, as it was before it was taken."""
    return replace(stored, attempts=stored.attempts - 1, leased_by="", leased_until=None, again_at=None)


def in_order(jobs: Sequence[Job]) -> list[Job]:
    """Jobs that were taken together, those due longest first."""
    return sorted(jobs, key=lambda job: (job.due_at is None, job.due_at, job.owner.key.bytes, job.kind, job.session_id))


def is_due(job: Job, now: datetime) -> bool:
    """Whether somebody may take it."""
    return job.due_at is not None and job.due_at <= now and not is_leased(job, now)


def is_leased(job: Job, now: datetime) -> bool:
    """Whether somebody is at it."""
    return job.leased_until is not None and now < job.leased_until


def counted(jobs: Iterable[Job], now: datetime) -> JobStats:
    """How much work these are."""
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

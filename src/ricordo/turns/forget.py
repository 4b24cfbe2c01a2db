"""Forgetting: what is past its time, and everything of one person.

Cleanup visits the users that may have something past its time, in short batches, so that writers barely wait; a failure
with one user is noted and tried again next time. Erasing ends with a receipt of what went.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ricordo.engine.core import Engine
from ricordo.errors import StoreError
from ricordo.records.turns import Owner
from ricordo.settings import Retention

if TYPE_CHECKING:
    from ricordo.records.service import CleanupResult, EraseReceipt

log = logging.getLogger("ricordo")

BATCH = 500

Progress = Callable[[int, int], None]


def cleanup(engine: Engine, tenant_id: str, retention: Retention, progress: Progress | None = None) -> "CleanupResult":
    """Remove a tenant's turns and sessions that are past their time, and nothing else."""
    from ricordo.records.service import CleanupResult

    started = time.perf_counter()
    now = engine.clock.now()
    turns_before, idle_before = _ago(now, retention.turn_ttl), _ago(now, retention.session_idle)
    sessions = turns = 0
    errors: list[str] = []
    if turns_before or idle_before:
        owners = _due(engine, tenant_id, turns_before, idle_before, errors)
        for done, owner in enumerate(owners, start=1):
            try:
                gone_sessions, gone_turns = _expire(engine, owner, turns_before, idle_before)
                sessions += gone_sessions
                turns += gone_turns
            except StoreError as error:
                errors.append(f"user {owner.user_id!r}: {error}")
                _log_failure(error, tenant_id, owner.user_id)
            if progress:
                progress(done, len(owners))
    return CleanupResult(sessions, turns, time.perf_counter() - started, tuple(errors))


def _ago(now: datetime, age: timedelta | None) -> datetime | None:
    """The moment before which things are too old; None where nothing can be."""
    try:
        return now - age if age else None
    except OverflowError:
        return None


def _due(
    engine: Engine, tenant_id: str, turns_before: datetime | None, idle_before: datetime | None, errors: list[str]
) -> Sequence[Owner]:
    """The users that may have something past its time: to look at the others would cost a query each."""
    try:
        return engine.store.sessions.due(tenant_id, turns_before=turns_before, idle_before=idle_before)
    except StoreError as error:
        errors.append(f"the users cannot be listed: {error}")
        _log_failure(error, tenant_id, None)
        return []


def _log_failure(error: StoreError, tenant_id: str, user_id: str | None) -> None:
    details = {"operation": "cleanup", "tenant_id": tenant_id, "user_id": user_id}
    log.error("cleanup failed: %s", error, extra=details)


def _expire(
    engine: Engine, owner: Owner, turns_before: datetime | None, idle_before: datetime | None
) -> tuple[int, int]:
    sessions = turns = 0
    more = True
    while more:
        gone = engine.store.sessions.expire(owner, turns_before=turns_before, idle_before=idle_before, batch=BATCH)
        sessions += gone.sessions
        turns += gone.turns
        more = gone.more
    return sessions, turns


def erase(engine: Engine, owner: Owner) -> "EraseReceipt":
    """Remove all that is stored of one user, and what this process holds of them."""
    from ricordo.records.service import EraseReceipt

    drop_owner(engine, owner)
    removed = engine.store.erase(owner)
    drop_owner(engine, owner)  # what was read in between
    return EraseReceipt(owner.user_id, owner.tenant_id, engine.clock.now(), removed, engine.store.erase_notes)


def drop_owner(engine: Engine, owner: Owner) -> None:
    """Drop what this process holds of an owner: queued work, indexes, screening, clarifications."""
    if engine.queue is not None:
        engine.queue.drop(owner)
    engine.forget(owner)
    if engine.may_have_clarification():
        from ricordo.followups.clarify import clarifications_of

        clarifications_of(engine).forget(owner.tenant_id, owner.user_id)


def drop_session(engine: Engine, owner: Owner, session_id: str) -> None:
    """Drop what this process holds of a session that was deleted: one made anew must not be taken for it."""
    drop_pending_clarification(engine, owner, session_id)
    engine.forget(owner)


def drop_pending_clarification(engine: Engine, owner: Owner, session_id: str) -> None:
    """Drop the pending clarification of a session whose words were removed."""
    if engine.may_have_clarification(session_id):
        from ricordo.followups.clarify import drop_clarification

        drop_clarification(engine, owner, session_id)


def drop_indexes(engine: Engine, owner: Owner | None = None) -> None:
    """Drop the index of an owner, or of all owners; it is read again when it is needed."""
    if engine.indexes is not None:
        engine.indexes.forget(owner)

"""Cleanup deletes what is past its retention; erase deletes everything of one user, and returns a receipt.

A cleanup visits only users that may have expired data, in short batches, so that writers wait little. If it fails for
one user, the others are cleaned up, and that user is tried again by the next cleanup.
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
    """Delete the expired turns and sessions of a tenant."""
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
    """The time before which data is expired; None if nothing expires."""
    try:
        return now - age if age else None
    except OverflowError:
        return None


def _due(
    engine: Engine, tenant_id: str, turns_before: datetime | None, idle_before: datetime | None, errors: list[str]
) -> Sequence[Owner]:
    """The users that may have expired data. One query finds them, so that the others cost nothing."""
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
    """Delete everything that is stored of a user, and what this process has cached of them."""
    from ricordo.records.service import EraseReceipt

    drop_owner(engine, owner)
    removed = engine.store.erase(owner)
    drop_owner(engine, owner)  # what was cached meanwhile
    return EraseReceipt(owner.user_id, owner.tenant_id, engine.clock.now(), removed, engine.store.erase_notes)


def drop_owner(engine: Engine, owner: Owner) -> None:
    """Drop what this process has of an owner: queued work, indexes, cached findings, pending clarifications."""
    if engine.queue is not None:
        engine.queue.drop(owner)
    engine.forget(owner)
    if engine.may_have_clarification():
        from ricordo.followups.clarify import clarifications_of

        clarifications_of(engine).forget(owner.tenant_id, owner.user_id)


def drop_session(engine: Engine, owner: Owner, session_id: str) -> None:
    """Drop what this process has of a deleted session, because a new one may get the same id."""
    drop_pending_clarification(engine, owner, session_id)
    engine.forget(owner)


def drop_pending_clarification(engine: Engine, owner: Owner, session_id: str) -> None:
    """Drop the pending clarification of a session whose turns were deleted."""
    if engine.may_have_clarification(session_id):
        from ricordo.followups.clarify import drop_clarification

        drop_clarification(engine, owner, session_id)


def drop_indexes(engine: Engine, owner: Owner | None = None) -> None:
    """Drop the index of an owner, or of all owners; it is built again when it is needed."""
    if engine.indexes is not None:
        engine.indexes.forget(owner)

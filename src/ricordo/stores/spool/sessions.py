"""Sessions of a spooled store: fields are updated and read like turns; deletion needs the database.

While the database is away, the fields of a session come from the cache, and `notes` say what is missing.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from ricordo.errors import StoreUnavailable
from ricordo.records.reports import Expired
from ricordo.records.turns import Owner, SessionChanges, SessionInfo, SessionMark
from ricordo.stores.protocols import Store
from ricordo.stores.spool.database import SpooledDatabase, call_left_by
from ricordo.stores.spool.writes import Scope, UpdateSession

T = TypeVar("T")


class SpooledSessions:
    """`SessionStore` before a spool."""

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database
        self._spool, self._recent = database.spool, database.recent

    def get(self, owner: Owner, session_id: str) -> SessionInfo | None:
        scope = (owner, session_id)
        if not self._spool.pending.has(scope):
            since = self._recent.version
            try:
                info = self._database.call(
                    lambda store: store.sessions.get(owner, session_id), lambda: self._has_fields(scope)
                )
            except StoreUnavailable:
                cached = self._recent.get(owner, session_id)
                if self._database.cached_fields(scope) is None and not (cached and cached.is_new):
                    raise
            else:
                self._recent.read_fields(owner, session_id, info, since=since)
                return info
        return self._database.cached_fields(scope)

    def page(
        self, owner: Owner, *, limit: int, agent_id: str | None = None, before: SessionInfo | None = None
    ) -> Sequence[SessionInfo]:
        try:
            self._database.wait_until_stored(owner)
            return self._database.call(
                lambda store: store.sessions.page(owner, limit=limit, agent_id=agent_id, before=before)
            )
        except StoreUnavailable:
            if not self._database.connection.waits:
                return ()  # a chat looks for idle sessions to end; that can be done later
            raise

    def cached(self, owner: Owner, *, limit: int) -> list[SessionInfo]:
        """The sessions of an owner that can be used while the database is away, most recently active first."""
        scopes = {(owner, cached.session_id) for cached in self._recent.of(owner)}
        scopes |= {pending.scope for pending in self._spool.pending.of_owner(owner)}
        infos = [info for info in map(self._database.cached_fields, scopes) if info]
        return sorted(infos, key=lambda info: (info.last_active_at, info.id), reverse=True)[:limit]

    def marks(self, owner: Owner) -> dict[str, SessionMark]:
        return self._database.call_or_last(owner, "marks", lambda store: store.sessions.marks(owner))

    def update(self, owner: Owner, session_id: str, changes: SessionChanges) -> SessionInfo | None:
        scope, call = (owner, session_id), None

        def has_fields() -> bool:
            return self._database.cached_fields(scope) is not None

        if not self._spool.pending.has(scope):
            try:
                changed = self._database.call(
                    lambda store: store.sessions.update(owner, session_id, changes), has_fields
                )
            except StoreUnavailable as error:
                if not has_fields():
                    raise
                call = call_left_by(error)
            else:
                self._spool.written(scope, changed)
                return changed
        return self._spool.add_fields(UpdateSession(owner, session_id, changes), maybe_stored=True, call=call)

    def clear(self, owner: Owner, session_id: str) -> int | None:
        return self._delete(owner, session_id, lambda store: store.sessions.clear(owner, session_id))

    def delete(self, owner: Owner, session_id: str) -> int | None:
        return self._delete(owner, session_id, lambda store: store.sessions.delete(owner, session_id))

    def _delete(self, owner: Owner, session_id: str, work: Callable[[Store], T]) -> T:
        deleted = self._database.call_after_spool(work, owner, session_id)
        self._database.forget(owner, session_id)
        return deleted

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        expired = self._database.call_after_spool(
            lambda store: store.sessions.expire(owner, turns_before=turns_before, idle_before=idle_before, batch=batch),
            owner,
        )
        if expired.turns or expired.sessions:
            self._database.forget(owner)
        return expired

    def notes(self, owner: Owner, session_id: str) -> tuple[str, ...]:
        connection = self._database.connection
        away = not connection.breaker.is_closed or connection.in_doubt
        waits = self._spool.pending.has((owner, session_id))
        baseline = self._spool.provisional.baseline((owner, session_id))
        cached = baseline.cached if baseline else self._recent.get(owner, session_id)
        notes = []
        if away:
            notes.append("the database is away: what is said now is kept on disk and stored later")
        elif waits:
            notes.append("what was said while the database was away is being stored")
        if (away or waits) and (cached is None or not (cached.whole or cached.turns)):
            notes.append(
                "what was said earlier in this session, if anything, is not at hand; turn numbers are provisional"
            )
        elif (away or waits) and cached is not None and not cached.whole:
            notes.append(f"only the last {len(cached.turns)} turns from before are at hand")
        return tuple(notes)

    def _has_fields(self, scope: Scope) -> bool:
        cached = self._recent.get(*scope)
        return cached is not None and (cached.info is not None or cached.is_new)

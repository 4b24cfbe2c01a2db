"""Turns of a spooled store: written to the database or the spool, read from the database or the cache.

A write goes to the database if no write of its session is pending; otherwise, or if the database does not answer, it is
spooled and acknowledged from there. Reads return the same as any store; while the database is away, what is cached with
pending writes applied. What would be wrong because it is incomplete is refused with StoreUnavailable.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from ricordo.errors import ConflictError, RicordoError, StoreUnavailable
from ricordo.records.service import Expired
from ricordo.records.turns import Message, Owner, SessionChanges, SessionInfo, SessionMark, StoredReceipt, Turn
from ricordo.stores.protocols import Store
from ricordo.stores.spool.cache import select
from ricordo.stores.spool.connection import NotAnswered
from ricordo.stores.spool.database import SpooledDatabase, call_left_by
from ricordo.stores.spool.pending_writes import CallInProgress
from ricordo.stores.spool.segments import SpoolWriteError
from ricordo.stores.spool.writes import AddMessage, AnswerTurn, AppendTurn, Scope, TurnWrite, UpdateSession


class SpooledTurns:
    """`TurnStore` with a spool."""

    def __init__(self, database: SpooledDatabase) -> None:
        self._database = database
        self._connection, self._spool, self._recent = database.connection, database.spool, database.recent

    def append(
        self,
        turn: Turn,
        *,
        expected: int | None = None,
        receipt: StoredReceipt | None = None,
        acknowledged_at: datetime | None = None,
    ) -> Turn:
        def work(store: Store) -> Turn:
            return store.turns.append(turn, expected=expected, receipt=receipt, acknowledged_at=acknowledged_at)

        if acknowledged_at is not None:
            return self._acknowledged(turn.owner, work)
        write = AppendTurn(turn, receipt)
        return self._write(write, write.apply) if expected is None else self._append_expected(write, expected, work)

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
        def work(store: Store) -> Turn:
            return store.turns.answer(owner, turn_id, answer, metadata, receipt, acknowledged_at=acknowledged_at)

        if acknowledged_at is not None:
            return self._acknowledged(owner, work)
        session_id = self._session_of(owner, turn_id)
        if session_id is not None:
            write = AnswerTurn(owner, session_id, turn_id, answer, metadata, receipt)
            return self._write(write, write.apply)
        # The session of a turn that is not cached is unknown, so its answer cannot be spooled.
        answered = self._database.call(work)
        self._spool.written((owner, answered.session_id), answered)
        return answered

    def mark_failed(self, owner: Owner, turn_id: str, failure: dict[str, object]) -> Turn | None:
        # Not spooled: without it the turn is open all the same.
        marked = self._database.call(lambda store: store.turns.mark_failed(owner, turn_id, failure))
        if marked is not None:
            self._spool.written((owner, marked.session_id), marked)
        return marked

    def add_message(self, turn: Turn, *, acknowledged_at: datetime | None = None) -> Turn:
        def work(store: Store) -> Turn:
            return store.turns.add_message(turn, acknowledged_at=acknowledged_at)

        return self._write(AddMessage(turn), work) if acknowledged_at is None else self._acknowledged(turn.owner, work)

    def _acknowledged(self, owner: Owner, work: Callable[[Store], Turn]) -> Turn:
        """Write for another spool: only to the database, after the pending writes of this one."""
        written = self._database.call_after_spool(work, owner)
        self._spool.written((owner, written.session_id), written)
        return written

    def load(
        self, session: SessionInfo, turns: Iterable[Turn], *, acknowledged_at: datetime | None = None
    ) -> tuple[int, int]:
        result = self._database.call_after_spool(
            lambda store: store.turns.load(session, turns, acknowledged_at=acknowledged_at), session.owner, session.id
        )
        self._database.forget(session.owner, session.id)
        return result

    def get(self, owner: Owner, turn_id: str) -> Turn | None:
        pending = self._spool.provisional.turn(owner, turn_id)
        if pending:
            return pending
        try:
            is_cached = self._recent.session_of(owner, turn_id) is not None
            return self._database.call(lambda store: store.turns.get(owner, turn_id), lambda: is_cached)
        except StoreUnavailable:
            cached = self._recent.get(owner, self._recent.session_of(owner, turn_id) or "")
            found = next((turn for turn in cached.every if turn.id == turn_id), None) if cached else None
            if found is None:
                raise
            return found

    def by_ids(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        pending = {turn_id: turn for turn_id in turn_ids if (turn := self._spool.provisional.turn(owner, turn_id))}
        others = [turn_id for turn_id in turn_ids if turn_id not in pending]
        found = self._database.call(lambda store: store.turns.by_ids(owner, others)) if others else ()
        return [*pending.values(), *found]

    def page(
        self,
        owner: Owner,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Sequence[Turn]:
        scope = (owner, session_id)
        if self._spool.pending.has(scope):
            return self._provisional_page(scope, last, before, after)
        since = self._recent.version
        try:
            found = self._database.call(
                lambda store: store.turns.page(owner, session_id, last=last, before=before, after=after),
                lambda: self._has_page(scope, last, before, after),
            )
        except StoreUnavailable:
            if self._spool.pending.has(scope):
                return self._provisional_page(scope, last, before, after)
            cached = self._recent.get(owner, session_id)
            if cached is None or not (cached.turns or cached.whole):
                raise
            if last is None and not self._has_page(scope, last, before, after):
                raise
            return select(cached.turns, last, before, after)
        if before is None and not after and last != 0:
            whole = last is None or len(found) < last
            self._recent.read_tail(owner, session_id, found, whole=whole, since=since)
        return found

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        scope = (owner, session_id)
        if self._spool.pending.has(scope) and turn_number is not None:
            pending = self._spool.provisional.receipts(scope, turn_number, limit)
            if pending:
                return pending
        self._database.wait_until_stored(owner, session_id)
        return self._database.call(
            lambda store: store.turns.receipts(owner, session_id, turn_number=turn_number, limit=limit)
        )

    def delete(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        deleted = self._database.call(lambda store: store.turns.delete(owner, session_id, turn_numbers))
        self._database.forget(owner, session_id)
        return deleted

    def _write(self, write: TurnWrite, work: Callable[[Store], Turn]) -> Turn:
        """Write to the database if no write of the session is pending; else, or if it fails, to the spool."""
        self._database.check_open()
        scope, sent, call = write.scope, False, None
        if not self._spool.pending.has(scope):
            sent = self._connection.breaker.is_closed
            try:
                written = self._connection.call(work, lambda: self._knows_next_number(scope))
            except NotAnswered as unanswered:
                return self._spool_unanswered(write, unanswered)
            except StoreUnavailable as error:
                self._database.write_failed(write, error, sent=sent)
                call = call_left_by(error)
            else:
                self._spool.written(scope, written)
                return written
        try:
            return self._spool.add_turn(write, maybe_stored=sent, call=call)
        except SpoolWriteError:
            if sent or not self._database.wait_past_spool(scope):
                raise
        return self._write_past_spool(write, work)

    def _write_past_spool(self, write: TurnWrite, work: Callable[[Store], Turn]) -> Turn:
        """Write only to the database, because the spool has no room; no write of the session is pending any more."""
        written = self._database.call(work)
        self._spool.written(write.scope, written)
        return written

    def _spool_unanswered(self, write: TurnWrite, unanswered: NotAnswered) -> Turn:
        """Spool a write whose call is still in progress; it is sent again only if that call ends without success.

        If it cannot be spooled, wait for the call.
        """
        if self._knows_next_number(write.scope):
            with suppress(RicordoError):
                return self._spool.add_turn(write, maybe_stored=True, call=CallInProgress(unanswered.call))
        written = self._connection.resume(unanswered)
        assert isinstance(written, Turn)
        self._spool.written(write.scope, written)
        return written

    def _append_expected(self, write: AppendTurn, expected: int, work: Callable[[Store], Turn]) -> Turn:
        """Append a turn that expects a number. If it is spooled, that must be the number after the cached ones."""
        call = None
        if not self._spool.pending.has(write.scope):
            sent = self._connection.breaker.is_closed
            try:
                written = self._database.call(work)
            except StoreUnavailable as error:
                self._database.write_failed(write, error, sent=sent)
                call = call_left_by(error)
            else:
                self._spool.written(write.scope, written)
                return written
        info = self._database.cached_fields(write.scope)
        repeated = self._session_of(write.turn.owner, write.turn.id) is not None
        if not repeated and expected != (info.last_turn if info else 0) + 1:
            raise ConflictError(
                f"turn_number {expected} is not the next of session {write.turn.session_id!r}, as far as is known "
                "while the database is away; read the session again or leave the number out"
            )
        try:
            return self._spool.add_turn(write, maybe_stored=True, call=call)
        except SpoolWriteError:
            if call is not None or not self._database.wait_past_spool(write.scope):
                raise
        return self._write_past_spool(write, work)

    def _session_of(self, owner: Owner, turn_id: str) -> str | None:
        pending = self._spool.provisional.turn(owner, turn_id)
        return pending.session_id if pending else self._recent.session_of(owner, turn_id)

    def _knows_next_number(self, scope: Scope) -> bool:
        cached = self._recent.get(*scope)
        return cached is not None and (cached.whole or bool(cached.turns) or cached.info is not None)

    def _provisional_page(
        self, scope: Scope, last: int | None, before: int | None, after: int | None
    ) -> Sequence[Turn]:
        """Turns of a session with pending writes; the whole session only if no turn is missing."""
        with self._spool.pending.lock(scope):
            baseline = self._spool.provisional.baseline(scope)
            if baseline is not None and (baseline.whole or last is not None or baseline.reaches(after)):
                return self._spool.provisional.turns(scope, last, before, after)
        self._database.wait_until_stored(*scope)
        return self._database.call(lambda store: store.turns.page(*scope, last=last, before=before, after=after))

    def _has_page(self, scope: Scope, last: int | None, before: int | None, after: int | None) -> bool:
        """Whether all of the requested turns are cached, as far as this process knows."""
        cached = self._recent.get(*scope)
        if cached is None or cached.whole or self._spool.pending.has(scope):
            return cached is not None
        if after is not None and cached.turns:
            return after + 1 >= cached.turns[0].turn_number
        return last is not None and before is None and last <= len(cached.turns)


T = TypeVar("T")


class SpooledSessions:
    """`SessionStore` with a spool."""

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
        self,
        owner: Owner,
        *,
        limit: int,
        agent_id: str | None = None,
        tag: str | None = None,
        before: SessionInfo | None = None,
    ) -> Sequence[SessionInfo]:
        try:
            self._database.wait_until_stored(owner)
            return self._database.call(
                lambda store: store.sessions.page(owner, limit=limit, agent_id=agent_id, tag=tag, before=before)
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

    def update(
        self, owner: Owner, session_id: str, changes: SessionChanges, *, acknowledged_at: datetime | None = None
    ) -> SessionInfo | None:
        scope, call = (owner, session_id), None
        if acknowledged_at is not None:
            changed = self._database.call_after_spool(
                lambda store: store.sessions.update(owner, session_id, changes, acknowledged_at=acknowledged_at), owner
            )
            self._spool.written(scope, changed)
            return changed

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
        try:
            return self._spool.add_fields(UpdateSession(owner, session_id, changes), maybe_stored=True, call=call)
        except SpoolWriteError:
            if call is not None or not self._database.wait_past_spool(scope):
                raise
        changed = self._database.call(lambda store: store.sessions.update(owner, session_id, changes))
        self._spool.written(scope, changed)
        return changed

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

    def due(self, tenant_id: str, *, turns_before: datetime | None, idle_before: datetime | None) -> Sequence[Owner]:
        return self._database.call(
            lambda store: store.sessions.due(tenant_id, turns_before=turns_before, idle_before=idle_before)
        )

    def notes(self, owner: Owner, session_id: str) -> tuple[str, ...]:
        connection = self._database.connection
        away = not connection.breaker.is_closed or connection.in_doubt
        waits = self._spool.pending.has((owner, session_id))
        baseline = self._spool.provisional.baseline((owner, session_id))
        cached = baseline.cached if baseline else self._recent.get(owner, session_id)
        notes = []
        if away:
            notes.append("the database is away: new turns are kept on disk and stored later")
        elif waits:
            notes.append("turns from the time when the database was away are being stored")
        if (away or waits) and (cached is None or not (cached.whole or cached.turns)):
            notes.append(
                "earlier turns of this session, if there are any, cannot be read now; turn numbers are provisional"
            )
        elif (away or waits) and cached is not None and not cached.whole:
            notes.append(f"only the last {len(cached.turns)} of the earlier turns can be read now")
        return tuple(notes)

    def _has_fields(self, scope: Scope) -> bool:
        cached = self._recent.get(*scope)
        return cached is not None and (cached.info is not None or cached.is_new)

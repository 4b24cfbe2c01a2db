"""Turns and sessions of the reference store."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from ricordo.errors import NotFoundError
from ricordo.records.service import Expired
from ricordo.records.turns import (
    Message,
    Owner,
    SessionChanges,
    SessionInfo,
    SessionMark,
    StoredReceipt,
    Turn,
    add_step,
    open_turn,
    place,
    the_message,
)
from ricordo.stores import write_rules
from ricordo.stores.memory.owner_data import MemoryPart, MemorySession
from ricordo.stores.memory.people import forget_flags, unlearn


class MemoryTurns(MemoryPart):
    """Turns with their receipts."""

    def append(
        self,
        turn: Turn,
        *,
        expected: int | None = None,
        receipt: StoredReceipt | None = None,
        acknowledged_at: datetime | None = None,
    ) -> Turn:
        with self._lock:
            self._data.check(turn.owner, acknowledged_at)
            data = self._data.of(turn.owner)
            stored = data.find(turn.id)
            if stored:
                merged = write_rules.merge_repeat(turn, stored)
                if merged is stored:
                    return stored
                return data.sessions[stored.session_id].put(merged, receipt)
            session = data.sessions.get(turn.session_id)
            next_number = (session.info.last_turn if session else 0) + 1
            write_rules.check_expected(expected, next_number, turn.session_id)
            if session is None:
                session = data.sessions[turn.session_id] = MemorySession(write_rules.new_session(turn))
            return session.put(replace(turn.as_new(), turn_number=next_number).sealed(), receipt)

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
        with self._lock:
            self._data.check(owner, acknowledged_at)
            data = self._data.of(owner)
            stored = data.find(turn_id)
            if stored is None:
                raise NotFoundError(f"turn {turn_id!r} does not exist for this user; ask first")
            merged = write_rules.merge_answer(stored, answer, metadata)
            if merged is stored:
                return stored
            return data.sessions[stored.session_id].put(merged, receipt)

    def mark_failed(self, owner: Owner, turn_id: str, failure: dict[str, object]) -> Turn | None:
        with self._lock:
            data = self._data.of(owner)
            stored = data.find(turn_id)
            if stored is None:
                return None
            marked = write_rules.merge_failure(stored, failure)
            return stored if marked is stored else data.sessions[stored.session_id].put(marked)

    def add_message(self, turn: Turn, *, acknowledged_at: datetime | None = None) -> Turn:
        message = the_message(turn)
        with self._lock:
            self._data.check(turn.owner, acknowledged_at)
            session = self._data.session(turn.owner, turn.session_id)
            newest = session.turns[-1] if session and session.turns else None
            where = place(message, newest)
            if where == "new" or session is None or newest is None:
                return self.append(open_turn(replace(turn, question=None, answer=None, steps=()), message))
            if where == "answer":
                return self.answer(turn.owner, newest.id, message, {}, None)
            return session.put(add_step(newest, message).sealed())

    def load(
        self, session: SessionInfo, turns: Iterable[Turn], *, acknowledged_at: datetime | None = None
    ) -> tuple[int, int]:
        prepared = write_rules.prepared(session, turns)
        with self._lock:
            self._data.check(session.owner, acknowledged_at)
            data = self._data.of(session.owner)
            existing = data.sessions.get(session.id)
            fresh = []
            for turn in prepared:
                at_number = existing.at(turn.turn_number) if existing else None
                if not write_rules.already_loaded(turn, at_number, data.find(turn.id)):
                    fresh.append(turn)
            numbers = [turn.turn_number for turn in existing.turns] if existing else []
            write_rules.check_loaded(session.id, numbers, fresh)
            target = data.sessions.setdefault(session.id, MemorySession(write_rules.loaded_session(session)))
            target.turns = sorted([*target.turns, *fresh], key=lambda turn: turn.turn_number)
            target.info = write_rules.grown(target.info, fresh)
            return len(fresh), len(prepared) - len(fresh)

    def get(self, owner: Owner, turn_id: str) -> Turn | None:
        with self._lock:
            return self._data.of(owner).find(turn_id)

    def by_ids(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        with self._lock:
            return [turn for turn in map(self._data.of(owner).find, dict.fromkeys(turn_ids)) if turn]

    def page(
        self,
        owner: Owner,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Sequence[Turn]:
        with self._lock:
            session = self._data.session(owner, session_id)
            if session is None:
                return ()
            start = session.position(after + 1) if after is not None else 0
            stop = session.position(before) if before is not None else len(session.turns)
            found = session.turns[start:stop]
            return tuple(found if last is None else found[max(0, len(found) - last) :])

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        with self._lock:
            session = self._data.session(owner, session_id)
            if session is None:
                return ()
            numbers = [n for n in sorted(session.receipts, reverse=True) if turn_number in (None, n)]
            return tuple(session.receipt(n) for n in numbers[:limit])

    def delete(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        with self._lock:
            session = self._data.session(owner, session_id)
            if session is None:
                return 0
            found = {turn.turn_number for turn in session.turns} & set(turn_numbers)
            if found:
                session.drop(found)
                self._data.of(owner).drop_items()
            return len(found)


class MemorySessions(MemoryPart):
    """The sessions of an owner."""

    def get(self, owner: Owner, session_id: str) -> SessionInfo | None:
        with self._lock:
            session = self._data.session(owner, session_id)
            return session.info if session else None

    def page(
        self,
        owner: Owner,
        *,
        limit: int,
        agent_id: str | None = None,
        tag: str | None = None,
        before: SessionInfo | None = None,
    ) -> Sequence[SessionInfo]:
        with self._lock:
            infos = [each.info for each in self._data.of(owner).sessions.values()]
        if agent_id is not None:
            infos = [info for info in infos if info.agent_id == agent_id]
        if tag is not None:
            infos = [info for info in infos if tag in info.tags]
        infos.sort(key=_recency, reverse=True)
        if before is not None:
            infos = [info for info in infos if _recency(info) < _recency(before)]
        return tuple(infos[:limit])

    def marks(self, owner: Owner) -> dict[str, SessionMark]:
        with self._lock:
            infos = [session.info for session in self._data.of(owner).sessions.values()]
        return {info.id: SessionMark(info.revision, info.last_turn, info.turn_count) for info in infos}

    def update(
        self, owner: Owner, session_id: str, changes: SessionChanges, *, acknowledged_at: datetime | None = None
    ) -> SessionInfo | None:
        with self._lock:
            self._data.check(owner, acknowledged_at)
            session = self._data.session(owner, session_id)
            if session is None:
                return None
            session.info = write_rules.changed(session.info, changes)
            return session.info

    def clear(self, owner: Owner, session_id: str) -> int | None:
        with self._lock:
            data = self._data.of(owner)
            session = data.sessions.get(session_id)
            if session is None:
                return None
            gone = len(session.turns)
            session.clear()
            unlearn(data, session_id)
            forget_flags(data, session_id)
            data.drop_items()
            return gone

    def delete(self, owner: Owner, session_id: str) -> int | None:
        with self._lock:
            data = self._data.of(owner)
            session = data.sessions.pop(session_id, None)
            if session is None:
                return None
            unlearn(data, session_id)
            forget_flags(data, session_id)
            data.drop_items()
            return len(session.turns)

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        with self._lock:
            data = self._data.of(owner)
            gone_sessions = gone_turns = 0
            for session in list(data.sessions.values()):
                idle = idle_before is not None and session.info.last_active_at < idle_before
                expired = {
                    turn.turn_number
                    for turn in session.turns
                    if idle or (turns_before is not None and turn.created_at < turns_before)
                }
                if not expired and not idle:
                    continue
                gone_turns += len(expired)
                session.drop(expired)
                if not session.turns:
                    del data.sessions[session.info.id]
                    forget_flags(data, session.info.id)
                    gone_sessions += 1
            data.drop_items()
            return Expired(gone_sessions, gone_turns, more=False)

    def due(self, tenant_id: str, *, turns_before: datetime | None, idle_before: datetime | None) -> Sequence[Owner]:
        with self._lock:
            owners = self._data.of_tenant(tenant_id)
            return [data.owner for data in owners if data.sessions and not data.owner.is_reserved]

    def notes(self, owner: Owner, session_id: str) -> Sequence[str]:
        return ()


def _recency(info: SessionInfo) -> tuple[datetime, str]:
    return info.last_active_at, info.id

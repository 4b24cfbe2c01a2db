"""The reference store: plain dictionaries behind one lock.

It says in the fewest words what every store must do, so it is the oracle of the tests and a store for
programs that need nothing kept. Nothing survives the process.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ricordo.errors import NotFoundError
from ricordo.records.reports import Damage, Expired, StoreStats
from ricordo.records.turns import (
    Message,
    Owner,
    SessionChanges,
    SessionInfo,
    StoredReceipt,
    Turn,
    add_step,
    open_turn,
    place,
    the_message,
)
from ricordo.stores import write_rules
from ricordo.stores.memory.home import Home, MemorySession
from ricordo.stores.memory.people import MemoryPeople
from ricordo.stores.memory.service import MemoryDocuments, MemoryJobs, MemoryKeys
from ricordo.stores.memory.topics import MemoryTopics, MemoryTraces
from ricordo.stores.topic_rules import as_new


class MemoryStore(MemoryTopics, MemoryTraces, MemoryPeople, MemoryDocuments, MemoryKeys, MemoryJobs):
    """Keeps everything in the process."""

    @property
    def location(self) -> str:
        return "memory:"

    @property
    def erase_notes(self) -> tuple[str, ...]:
        return ()

    def append(self, turn: Turn, *, expected: int | None = None, receipt: StoredReceipt | None = None) -> Turn:
        with self._lock:
            home = self._home(turn.owner)
            stored = home.find(turn.id)
            if stored:
                merged = write_rules.merge_repeat(turn, stored)
                if merged is stored:
                    return stored
                return home.sessions[stored.session_id].put(merged, receipt)
            session = home.sessions.get(turn.session_id)
            next_number = (session.info.last_turn if session else 0) + 1
            write_rules.check_expected(expected, next_number, turn.session_id)
            if session is None:
                session = home.sessions[turn.session_id] = MemorySession(write_rules.new_session(turn))
            return session.put(replace(as_new(turn), turn_number=next_number).sealed(), receipt)

    def answer(
        self,
        owner: Owner,
        turn_id: str,
        answer: Message,
        metadata: dict[str, object],
        receipt: StoredReceipt | None,
    ) -> Turn:
        with self._lock:
            home = self._home(owner)
            stored = home.find(turn_id)
            if stored is None:
                raise NotFoundError(f"turn {turn_id!r} does not exist for this user; ask first")
            merged = write_rules.merge_answer(stored, answer, metadata)
            if merged is stored:
                return stored
            return home.sessions[stored.session_id].put(merged, receipt)

    def add_message(self, turn: Turn) -> Turn:
        message = the_message(turn)
        with self._lock:
            session = self._home(turn.owner).sessions.get(turn.session_id)
            newest = session.turns[-1] if session and session.turns else None
            where = place(message, newest)
            if where == "new" or session is None or newest is None:
                return self.append(open_turn(replace(turn, question=None, answer=None, steps=()), message))
            if where == "answer":
                return self.answer(turn.owner, newest.id, message, {}, None)
            return session.put(add_step(newest, message).sealed())

    def load(self, session: SessionInfo, turns: Iterable[Turn]) -> tuple[int, int]:
        prepared = write_rules.prepared(session, turns)
        with self._lock:
            home = self._home(session.owner)
            existing = home.sessions.get(session.id)
            fresh = []
            for turn in prepared:
                at_number = existing.at(turn.turn_number) if existing else None
                if not write_rules.already_loaded(turn, at_number, home.find(turn.id)):
                    fresh.append(turn)
            numbers = [turn.turn_number for turn in existing.turns] if existing else []
            write_rules.check_loaded(session.id, numbers, fresh)
            target = home.sessions.setdefault(session.id, MemorySession(write_rules.loaded_session(session)))
            target.turns = sorted([*target.turns, *fresh], key=lambda turn: turn.turn_number)
            target.info = write_rules.grown(target.info, fresh)
            return len(fresh), len(prepared) - len(fresh)

    def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        with self._lock:
            return self._home(owner).find(turn_id)

    def turns_by_id(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        with self._lock:
            return [turn for turn in map(self._home(owner).find, dict.fromkeys(turn_ids)) if turn]

    def turns(
        self,
        owner: Owner,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Sequence[Turn]:
        with self._lock:
            session = self._home(owner).sessions.get(session_id)
            if session is None:
                return ()
            start = session.position(after + 1) if after is not None else 0
            stop = session.position(before) if before is not None else len(session.turns)
            found = session.turns[start:stop]
            return tuple(found if last is None else found[max(0, len(found) - last) :])

    def session(self, owner: Owner, session_id: str) -> SessionInfo | None:
        with self._lock:
            session = self._home(owner).sessions.get(session_id)
            return session.info if session else None

    def sessions(
        self, owner: Owner, *, limit: int, agent_id: str | None = None, before: SessionInfo | None = None
    ) -> Sequence[SessionInfo]:
        with self._lock:
            infos = [each.info for each in self._home(owner).sessions.values()]
        if agent_id is not None:
            infos = [info for info in infos if info.agent_id == agent_id]
        infos.sort(key=_recency, reverse=True)
        if before is not None:
            infos = [info for info in infos if _recency(info) < _recency(before)]
        return tuple(infos[:limit])

    def update_session(self, owner: Owner, session_id: str, changes: SessionChanges) -> SessionInfo | None:
        with self._lock:
            session = self._home(owner).sessions.get(session_id)
            if session is None:
                return None
            session.info = write_rules.changed(session.info, changes)
            return session.info

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        with self._lock:
            homes = list(self._homes.values())
        mine = [home for home in homes if home.owner.tenant_id == tenant_id and not home.owner.is_reserved]
        return iter([home.owner for home in mine if not home.is_empty])

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        with self._lock:
            session = self._home(owner).sessions.get(session_id)
            if session is None:
                return ()
            numbers = [n for n in sorted(session.receipts, reverse=True) if turn_number in (None, n)]
            return tuple(session.receipt(n) for n in numbers[:limit])

    def clear(self, owner: Owner, session_id: str) -> int | None:
        with self._lock:
            home = self._home(owner)
            session = home.sessions.get(session_id)
            if session is None:
                return None
            gone = len(session.turns)
            session.clear()
            self._forget_said(home, session_id)
            return gone

    def delete_session(self, owner: Owner, session_id: str) -> int | None:
        with self._lock:
            home = self._home(owner)
            session = home.sessions.pop(session_id, None)
            if session is None:
                return None
            self._forget_said(home, session_id)
            return len(session.turns)

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        with self._lock:
            home = self._home(owner)
            gone_sessions = gone_turns = 0
            for session in list(home.sessions.values()):
                idle = idle_before is not None and session.info.last_active_at < idle_before
                doomed = {
                    turn.turn_number
                    for turn in session.turns
                    if idle or (turns_before is not None and turn.created_at < turns_before)
                }
                if not doomed and not idle:
                    continue
                gone_turns += len(doomed)
                session.drop(doomed)
                if not session.turns:
                    del home.sessions[session.info.id]
                    self._forget_flags(home, session.info.id)
                    gone_sessions += 1
            return Expired(gone_sessions, gone_turns, more=False)

    def erase(self, owner: Owner) -> dict[str, int]:
        with self._lock:
            home = self._homes.pop(owner.key, Home(owner))
            sessions = home.sessions.values()
            return {
                "sessions": len(sessions),
                "turns": sum(len(session.turns) for session in sessions),
                "receipts": sum(len(session.receipts) for session in sessions),
                "topics": sum(len(session.shelf.topics) for session in sessions),
                "blocks": sum(len(session.blocks) for session in sessions),
                "traces": sum(len(session.traces) for session in sessions),
                "facts": sum(len(known.facts) for known in home.people.values()),
                "summaries": sum(len(session.summaries) for session in sessions),
                "flags": len(home.flags),
                "documents": len(home.documents),
                "jobs": len(home.jobs),
                "keys": self._drop_keys(owner),
            }

    def stats(self, tenant_id: str) -> StoreStats:
        with self._lock:
            homes = [home for home in self._homes.values() if home.owner.tenant_id == tenant_id]
            sessions = [session for home in homes for session in home.sessions.values()]
            turns = [turn for session in sessions for turn in session.turns]
            return StoreStats(
                users=sum(bool(home.sessions) for home in homes),
                sessions=len(sessions),
                turns=len(turns),
                open_turns=sum(turn.is_open for turn in turns),
                receipts=sum(len(session.receipts) for session in sessions),
                facts=sum(len(known.facts) for home in homes for known in home.people.values()),
                summaries=sum(len(session.summaries) for session in sessions),
                flags=sum(len(home.flags) for home in homes),
                documents=sum(len(home.documents) for home in homes),
            )

    def integrity(self) -> Sequence[Damage]:
        return ()

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        from ricordo.stores.backup import copy_to_sqlite

        with self._lock:
            owners, keys = [home.owner for home in self._homes.values()], list(self._keys.values())
        copy_to_sqlite(self, owners, path, progress, keys)

    def close(self) -> None:
        """Nothing to let go of; what is kept stays readable."""


def _recency(info: SessionInfo) -> tuple[datetime, str]:
    return info.last_active_at, info.id

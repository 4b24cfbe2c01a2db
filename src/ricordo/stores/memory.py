"""The reference store: plain dictionaries behind one lock.

It says in the fewest words what every store must do, so it is the oracle of the tests and a store for
programs that need nothing kept. Nothing survives the process.
"""

import json
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import RLock
from uuid import UUID

from ricordo.errors import NotFoundError
from ricordo.placing import add_step, open_turn, place, the_message
from ricordo.records import Message, Owner, SessionChanges, SessionInfo, StoredReceipt, Turn
from ricordo.reports import Damage, Expired, StoreStats
from ricordo.stores import merging
from ricordo.stores.rows import ENDLESS, texts_in


@dataclass
class _Passage:
    text: str
    last_turn: int


@dataclass
class _Session:
    info: SessionInfo
    turns: list[Turn] = field(default_factory=list)
    receipts: dict[int, str] = field(default_factory=dict)
    passages: dict[str, _Passage] = field(default_factory=dict)

    def position(self, number: int) -> int:
        return bisect_left(self.turns, number, key=lambda turn: turn.turn_number)

    def put(self, turn: Turn, receipt: StoredReceipt | None = None) -> Turn:
        """Insert or replace by number, refresh what the session derives from its turns."""
        at = self.position(turn.turn_number)
        if at < len(self.turns) and self.turns[at].turn_number == turn.turn_number:
            self.turns[at] = turn
        else:
            insort(self.turns, turn, key=lambda each: each.turn_number)
        if receipt:
            self.receipts[turn.turn_number] = receipt.body
            for digest, text in receipt.passages.items():
                self.passages.setdefault(digest, _Passage(text, 0)).last_turn = turn.turn_number
        self.info = merging.touched(self.info, turn, turn_count=len(self.turns))
        return turn

    def receipt(self, number: int) -> StoredReceipt:
        """The receipt of a turn, with those passages whose digest its body says."""
        body = self.receipts[number]
        named = texts_in(json.loads(body)) & self.passages.keys()
        return StoredReceipt(self.info.id, number, body, {name: self.passages[name].text for name in named})

    def drop(self, doomed: set[int]) -> None:
        self.turns = [turn for turn in self.turns if turn.turn_number not in doomed]
        self.receipts = {n: body for n, body in self.receipts.items() if n not in doomed}
        oldest = self.turns[0].turn_number if self.turns else ENDLESS
        self.passages = {name: each for name, each in self.passages.items() if each.last_turn >= oldest}
        self.info = replace(self.info, turn_count=len(self.turns), revision=self.info.revision + 1)


@dataclass
class _Home:
    """All that one owner has."""

    owner: Owner
    sessions: dict[str, _Session] = field(default_factory=dict)

    def find(self, turn_id: str) -> Turn | None:
        for session in self.sessions.values():
            for turn in reversed(session.turns):
                if turn.id == turn_id:
                    return turn
        return None


class MemoryStore:
    """Keeps everything in the process."""

    def __init__(self) -> None:
        self._homes: dict[UUID, _Home] = {}
        self._lock = RLock()

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
                merged = merging.merge_repeat(turn, stored)
                if merged is stored:
                    return stored
                return home.sessions[stored.session_id].put(merged, receipt)
            session = home.sessions.get(turn.session_id)
            next_number = (session.info.last_turn if session else 0) + 1
            merging.check_expected(expected, next_number, turn.session_id)
            if session is None:
                session = home.sessions[turn.session_id] = _Session(merging.new_session(turn))
            return session.put(replace(turn, turn_number=next_number).sealed(), receipt)

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
            merged = merging.merge_answer(stored, answer, metadata)
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
        prepared = merging.prepared(session, turns)
        with self._lock:
            home = self._home(session.owner)
            existing = home.sessions.get(session.id)
            fresh = []
            for turn in prepared:
                at_number = self._at(existing, turn.turn_number) if existing else None
                if not merging.already_loaded(turn, at_number, home.find(turn.id)):
                    fresh.append(turn)
            numbers = [turn.turn_number for turn in existing.turns] if existing else []
            merging.check_loaded(session.id, numbers, fresh)
            target = home.sessions.setdefault(session.id, _Session(merging.loaded_session(session)))
            target.turns = sorted([*target.turns, *fresh], key=lambda turn: turn.turn_number)
            target.info = merging.grown(target.info, fresh)
            return len(fresh), len(prepared) - len(fresh)

    @staticmethod
    def _at(session: _Session, number: int) -> Turn | None:
        at = session.position(number)
        found = session.turns[at : at + 1]
        return found[0] if found and found[0].turn_number == number else None

    def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        with self._lock:
            return self._home(owner).find(turn_id)

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
            session.info = merging.changed(session.info, changes)
            return session.info

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        with self._lock:
            homes = list(self._homes.values())
        return iter([home.owner for home in homes if home.owner.tenant_id == tenant_id and home.sessions])

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
            session = self._home(owner).sessions.get(session_id)
            if session is None:
                return None
            gone = len(session.turns)
            session.drop({turn.turn_number for turn in session.turns})
            session.info = replace(session.info, last_turn=0)
            return gone

    def delete_session(self, owner: Owner, session_id: str) -> int | None:
        with self._lock:
            session = self._home(owner).sessions.pop(session_id, None)
            return len(session.turns) if session else None

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
                    gone_sessions += 1
            return Expired(gone_sessions, gone_turns, more=False)

    def erase(self, owner: Owner) -> dict[str, int]:
        with self._lock:
            home = self._homes.pop(owner.key, _Home(owner))
            sessions = home.sessions.values()
            return {
                "sessions": len(sessions),
                "turns": sum(len(session.turns) for session in sessions),
                "receipts": sum(len(session.receipts) for session in sessions),
            }

    def stats(self, tenant_id: str) -> StoreStats:
        with self._lock:
            homes = [home for home in self._homes.values() if home.owner.tenant_id == tenant_id and home.sessions]
            sessions = [session for home in homes for session in home.sessions.values()]
            turns = [turn for session in sessions for turn in session.turns]
            return StoreStats(
                users=len(homes),
                sessions=len(sessions),
                turns=len(turns),
                open_turns=sum(turn.is_open for turn in turns),
                receipts=sum(len(session.receipts) for session in sessions),
            )

    def integrity(self) -> Sequence[Damage]:
        return ()

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        from ricordo.stores.copying import copy_to_sqlite

        with self._lock:
            owners = [home.owner for home in self._homes.values()]
        copy_to_sqlite(self, owners, path, progress)

    def close(self) -> None:
        """Nothing to let go of; what is kept stays readable."""

    def _home(self, owner: Owner) -> _Home:
        return self._homes.setdefault(owner.key, _Home(owner))


def _recency(info: SessionInfo) -> tuple[datetime, str]:
    return info.last_active_at, info.id

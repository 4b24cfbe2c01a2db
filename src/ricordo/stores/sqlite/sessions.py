"""The sessions of the SQLite store: list, update, clear, delete, expire.

A batch of an expiry is one short transaction, so that writers barely wait: what has expired is looked up in a read.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from ricordo.records.reports import Expired
from ricordo.records.turns import Owner, SessionChanges, SessionInfo, SessionMark
from ricordo.stores.derived_rows import rows_to_marks
from ricordo.stores.sqlite import people, turn_operations
from ricordo.stores.sqlite import turn_statements as sql
from ricordo.stores.sqlite.connections import Connections
from ricordo.stores.sqlite.turns import turns_dropped
from ricordo.stores.turn_rows import ENDLESS, micros, row_to_session


class SqliteSessions:
    """The sessions of an owner."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def get(self, owner: Owner, session_id: str) -> SessionInfo | None:
        with self._connections.reading() as reader:
            return turn_operations.find_session(reader, owner, session_id)

    def page(
        self, owner: Owner, *, limit: int, agent_id: str | None = None, before: SessionInfo | None = None
    ) -> Sequence[SessionInfo]:
        values = {
            "owner": owner.key.bytes,
            "active": ENDLESS if before is None else micros(before.last_active_at),
            "session_id": "" if before is None else before.id,
            "agent_id": agent_id,
            "limit": limit,
        }
        with self._connections.reading() as reader:
            rows = reader.execute(sql.SESSIONS, values).fetchall()
        return [row_to_session(owner, row) for row in rows]

    def marks(self, owner: Owner) -> dict[str, SessionMark]:
        with self._connections.reading() as reader:
            return rows_to_marks(reader.execute(sql.MARKS, (owner.key.bytes,)))

    def update(self, owner: Owner, session_id: str, changes: SessionChanges) -> SessionInfo | None:
        return self._connections.write(lambda writer: turn_operations.update(writer, owner, session_id, changes))

    def clear(self, owner: Owner, session_id: str) -> int | None:
        return self._connections.write(lambda writer: clear(writer, owner, session_id))

    def delete(self, owner: Owner, session_id: str) -> int | None:
        return self._connections.write(lambda writer: delete(writer, owner, session_id))

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        bounds = [-ENDLESS if moment is None else micros(moment) for moment in (turns_before, idle_before)]
        with self._connections.reading() as reader:
            due = due_of(reader, owner, bounds[0], bounds[1], batch)
        if not due:
            return Expired()
        return self._connections.write(lambda writer: expire(writer, owner, due, bounds[0], bounds[1], batch))

    def notes(self, owner: Owner, session_id: str) -> Sequence[str]:
        return ()


def clear(writer: sqlite3.Connection, owner: Owner, session_id: str) -> int | None:
    """Empty a session; it stays and counts from 1 again."""
    key = (owner.key.bytes, session_id)
    if not writer.execute(sql.LAST_TURN_OF_SESSION, key).fetchall():
        return None
    people.unlearn(writer, owner, session_id)
    gone = _drop_content(writer, key)
    writer.execute(sql.CLEAR_SESSION, key)
    return gone


def delete(writer: sqlite3.Connection, owner: Owner, session_id: str) -> int | None:
    """Remove a session and what is in it."""
    key = (owner.key.bytes, session_id)
    if not writer.execute(sql.LAST_TURN_OF_SESSION, key).fetchall():
        return None
    people.unlearn(writer, owner, session_id)
    gone = _drop_content(writer, key)
    writer.execute(sql.DROP_SESSION, key)
    return gone


@dataclass(frozen=True, slots=True)
class Due:
    """What of an owner has expired: whether a session is idle, and the numbers of at most a batch of turns."""

    idle: bool
    aged: Mapping[str, Sequence[int]]

    def __bool__(self) -> bool:
        return self.idle or bool(self.aged)


def due_of(reader: sqlite3.Connection, owner: Owner, turns_before: int, idle_before: int, batch: int) -> Due:
    """Find what has expired, in a read: no writer waits for it."""
    key = owner.key.bytes
    idle = bool(reader.execute(sql.IDLE_SESSIONS, (key, idle_before, 1)).fetchall())
    aged: dict[str, list[int]] = {}
    values = {"owner": key, "turns_before": turns_before, "idle_before": idle_before, "room": batch}
    old = reader.execute(sql.AGED_SESSIONS, values).fetchall() if turns_before > -ENDLESS else []
    for session_id, in_order in old:
        place = (key, session_id)
        if in_order:
            oldest = reader.execute(sql.FIRST_TURNS, (*place, batch))
        else:
            oldest = reader.execute(sql.AGED_TURNS, (*place, turns_before, batch))
        # The first one that is young enough ends the walk: most of a session is never read.
        aged[session_id] = [number for number, _ in takewhile(lambda turn: turn[1] < turns_before, oldest)]
        oldest.close()
        batch -= len(aged[session_id])
        if batch <= 0:
            break
    return Due(idle, aged)


def expire(
    writer: sqlite3.Connection, owner: Owner, found: Due, turns_before: int, idle_before: int, batch: int
) -> Expired:
    """Delete one batch of what has expired: idle sessions first, then the turns that were found."""
    sessions, turns, room = _expire_idle(writer, owner, idle_before, batch)
    for session_id, numbers in found.aged.items():
        if room <= 0:
            break
        key = (owner.key.bytes, session_id)
        some = json.dumps(numbers[:room])
        gone = writer.execute(sql.DROP_AGED_TURNS, (*key, some, turns_before)).fetchall()
        if gone and turns_dropped(writer, key, gone) == 0:
            _drop_content(writer, key)
            writer.execute(sql.DROP_SESSION, key)
            sessions += 1
        turns += len(gone)
        room -= len(gone)
    return Expired(sessions, turns, more=room <= 0 or sum(map(len, found.aged.values())) >= batch)


def _drop_content(writer: sqlite3.Connection, key: tuple[bytes, str]) -> int:
    for drop in (sql.DROP_RECEIPTS, sql.DROP_PASSAGES, sql.DROP_TRACES, sql.DROP_TOPICS, sql.DROP_BLOCKS):
        writer.execute(drop, key)
    people.drop_session(writer, key)
    return writer.execute(sql.DROP_TURNS, key).rowcount


def _expire_idle(writer: sqlite3.Connection, owner: Owner, idle_before: int, room: int) -> tuple[int, int, int]:
    """Sessions gone, turns gone, room left. A session larger than the room goes piece by piece."""
    sessions = turns = 0
    idle = writer.execute(sql.IDLE_SESSIONS, (owner.key.bytes, idle_before, room)).fetchall()
    for session_id, turn_count in idle:
        if room <= 0:
            break
        key = (owner.key.bytes, session_id)
        if turn_count <= room:
            turns += _drop_content(writer, key)
            writer.execute(sql.DROP_SESSION, key)
            sessions += 1
        else:
            gone = writer.execute(sql.DROP_OLDEST_TURNS, (*key, room)).fetchall()
            turns_dropped(writer, key, gone)
            turns += len(gone)
        room -= max(1, turn_count)
    return sessions, turns, room

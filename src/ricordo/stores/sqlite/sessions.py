"""The sessions of the SQLite store: list, update, clear, delete, expire.

A batch of an expiry is one short transaction, so that writers barely wait: what has expired is looked up in a read.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any, TypeVar

from ricordo.records.service import Expired
from ricordo.records.turns import (
    Message,
    Owner,
    SessionChanges,
    SessionInfo,
    SessionMark,
    StoredReceipt,
    Turn,
    passage_digest,
)  # fmt: skip
from ricordo.records.values import record
from ricordo.stores import write_rules
from ricordo.stores.archive.codec import UnreadablePayload
from ricordo.stores.archive.receipts import OWN_QUESTION, unpack_receipt
from ricordo.stores.derived_rows import rows_to_marks
from ricordo.stores.sqlite import people, topics, turn_operations, vectors
from ricordo.stores.sqlite import turn_statements as sql
from ricordo.stores.sqlite.connections import Connections, SqlitePart, one_view, writing
from ricordo.stores.sqlite.database import WriteConnection, has_tables, translated
from ricordo.stores.turn_rows import ENDLESS, SESSION_ROWS, micros, moment, plain_turns

T = TypeVar("T")

ERASED_AT = "SELECT erased_at FROM erasures WHERE owner = ?"


def unless_erased(
    owner: Owner, acknowledged_at: datetime | None, write: Callable[[WriteConnection], T]
) -> Callable[[WriteConnection], T]:
    """The write, which is refused if it comes from a spool and its owner was erased since."""
    if acknowledged_at is None:
        return write
    at = acknowledged_at

    def checked(writer: WriteConnection) -> T:
        rows = writer.execute(ERASED_AT, (owner.key.bytes,)).fetchall() if has_tables(writer, "erasures") else []
        write_rules.check_not_erased(owner, at, moment(rows[0][0]) if rows else None)
        return write(writer)

    return checked


class SqliteTurns(SqlitePart[Connections]):
    """Turns with their receipts."""

    def append(
        self,
        turn: Turn,
        *,
        expected: int | None = None,
        receipt: StoredReceipt | None = None,
        acknowledged_at: datetime | None = None,
    ) -> Turn:
        write = self._database.write
        if acknowledged_at is not None:
            return write(
                unless_erased(
                    turn.owner,
                    acknowledged_at,
                    lambda writer: turn_operations.append_known(writer, turn, expected, receipt),
                )
            )
        try:
            return write(turn_operations.NewTurn(turn, expected, receipt))
        except turn_operations.TurnIdTaken:
            return write(lambda writer: turn_operations.append_known(writer, turn, expected, receipt))

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
        def write(writer: WriteConnection) -> Turn:
            return turn_operations.answer(writer, owner, turn_id, answer, metadata, receipt)

        return self._database.write(unless_erased(owner, acknowledged_at, write))

    def mark_failed(self, owner: Owner, turn_id: str, failure: dict[str, object]) -> Turn | None:
        return self._database.write(lambda writer: turn_operations.mark_failed(writer, owner, turn_id, failure))

    def add_message(self, turn: Turn, *, acknowledged_at: datetime | None = None) -> Turn:
        return self._database.write(
            unless_erased(turn.owner, acknowledged_at, lambda writer: turn_operations.add_message(writer, turn))
        )

    def load(
        self, session: SessionInfo, turns: Iterable[Turn], *, acknowledged_at: datetime | None = None
    ) -> tuple[int, int]:
        prepared = write_rules.prepared(session, turns)
        return self._database.write(
            unless_erased(
                session.owner, acknowledged_at, lambda writer: turn_operations.load(writer, session, prepared)
            )
        )

    def get(self, owner: Owner, turn_id: str) -> Turn | None:
        found = self._read(owner, sql.TURN_BY_ID, (owner.key.bytes, turn_id))
        return found[0] if found else None

    def by_ids(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        # Most of them were said long ago and are in blocks.
        with self._database.reading() as reader, one_view(reader):
            rows = reader.execute(sql.TURNS_BY_ID, (owner.key.bytes, json.dumps(list(turn_ids)))).fetchall()
            return topics.to_turns(reader, owner, rows)

    def page(
        self,
        owner: Owner,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Sequence[Turn]:
        bounds = (0 if after is None else after, ENDLESS if before is None else before, -1 if last is None else last)
        found = self._read(owner, sql.TURNS, (owner.key.bytes, session_id, *bounds))
        found.reverse()
        return found

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        values = {"owner": owner.key.bytes, "session_id": session_id, "turn_number": turn_number, "limit": limit}
        with self._database.reading() as reader, one_view(reader):
            found = reader.execute(sql.RECEIPTS, values).fetchall()
            return [_receipt(reader, owner, session_id, number, body) for number, body in found]

    @writing
    def delete(self, writer: WriteConnection, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        key = (owner.key.bytes, session_id)
        gone = writer.execute(sql.DROP_NUMBERED_TURNS, (*key, json.dumps(list(turn_numbers)))).fetchall()
        if gone:
            turns_dropped(writer, key, gone)
        return len(gone)

    def _read(self, owner: Owner, statement: str, values: tuple[object, ...]) -> list[Turn]:
        # No context manager, no generator: see above.
        connections = self._database
        reader = connections.reader()
        try:
            rows = reader.execute(statement, values).fetchall()
            for row in rows:
                if row[-1] is not None:  # in a block: rows and blocks must be read in one snapshot
                    with one_view(reader):
                        return topics.to_turns(reader, owner, reader.execute(statement, values).fetchall())
        except (sqlite3.Error, UnicodeError) as error:
            raise translated(error, connections.path) from error
        finally:
            connections.give_back(reader)
        return plain_turns(owner, rows)


def turns_dropped(writer: sqlite3.Connection, key: tuple[bytes, str], gone: Sequence[Any]) -> int:
    """Update a session, its topics, blocks and vectors after turns were deleted; how many turns it still has."""
    unused = writer.execute(sql.DROP_OLD_USES, {"owner": key[0], "session_id": key[1]}).fetchall()
    turn_operations.drop_passages(writer, key[0], unused)
    topics.update_topics(writer, key, gone)
    topics.update_blocks(writer, key, {block_id for _, _, _, block_id, *_ in gone if block_id})
    vectors.drop_turns(writer, key, (number for _, number, *_ in gone))
    (left,) = writer.execute(sql.LESSEN_SESSION, (len(gone), *key)).fetchall()
    return int(left[0])


def _receipt(reader: sqlite3.Connection, owner: Owner, session_id: str, number: int, packed: bytes) -> StoredReceipt:
    """A receipt with its passages; its body is "" where its bytes are damaged, which its reader reports."""
    key = (owner.key.bytes, session_id)
    own: dict[str, str] = {}

    def digests(numbers: list[int]) -> dict[int, str]:
        found = dict(reader.execute(sql.DIGESTS, (key[0], json.dumps(numbers))).fetchall())
        if OWN_QUESTION in numbers:
            rows = reader.execute(sql.TURN_BY_NUMBER, (*key, number)).fetchall()
            query = topics.to_turns(reader, owner, rows)[0].query
            found[OWN_QUESTION] = passage_digest(query)
            own[found[OWN_QUESTION]] = query
        return found

    try:
        body = unpack_receipt(packed, digests)
    except UnreadablePayload:
        return StoredReceipt(session_id, number, "", {})
    named = dict(reader.execute(sql.PASSAGES_NAMED_BY, (*key, body)).fetchall())
    return StoredReceipt(session_id, number, body, named | own)


class SqliteSessions(SqlitePart[Connections]):
    """The sessions of an owner."""

    def get(self, owner: Owner, session_id: str) -> SessionInfo | None:
        with self._database.reading() as reader:
            return turn_operations.find_session(reader, owner, session_id)

    def page(
        self,
        owner: Owner,
        *,
        limit: int,
        agent_id: str | None = None,
        tag: str | None = None,
        before: SessionInfo | None = None,
    ) -> Sequence[SessionInfo]:
        values = {
            "owner": owner.key.bytes,
            "active": ENDLESS if before is None else micros(before.last_active_at),
            "session_id": "" if before is None else before.id,
            "agent_id": agent_id,
            "tag": tag,
            "limit": limit,
        }
        with self._database.reading() as reader:
            rows = reader.execute(sql.SESSIONS, values).fetchall()
        return [SESSION_ROWS.read(row, owner=owner) for row in rows]

    def marks(self, owner: Owner) -> dict[str, SessionMark]:
        with self._database.reading() as reader:
            return rows_to_marks(reader.execute(sql.MARKS, (owner.key.bytes,)))

    def update(
        self, owner: Owner, session_id: str, changes: SessionChanges, *, acknowledged_at: datetime | None = None
    ) -> SessionInfo | None:
        def write(writer: WriteConnection) -> SessionInfo | None:
            return turn_operations.update(writer, owner, session_id, changes)

        return self._database.write(unless_erased(owner, acknowledged_at, write))

    @writing
    def clear(self, writer: WriteConnection, owner: Owner, session_id: str) -> int | None:
        return _emptied(writer, owner, session_id, sql.CLEAR_SESSION)

    @writing
    def delete(self, writer: WriteConnection, owner: Owner, session_id: str) -> int | None:
        return _emptied(writer, owner, session_id, sql.DROP_SESSION)

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        bounds = [-ENDLESS if moment is None else micros(moment) for moment in (turns_before, idle_before)]
        with self._database.reading() as reader:
            due = due_of(reader, owner, bounds[0], bounds[1], batch)
        if not due:
            return Expired()
        return self._database.write(lambda writer: expire(writer, owner, due, bounds[0], bounds[1], batch))

    def due(self, tenant_id: str, *, turns_before: datetime | None, idle_before: datetime | None) -> Sequence[Owner]:
        bounds = [-ENDLESS if moment is None else micros(moment) for moment in (turns_before, idle_before)]
        with self._database.reading() as reader:
            names = reader.execute(sql.DUE_OWNERS, (tenant_id, *bounds)).fetchall()
        found = (Owner(tenant_id, user_id) for (user_id,) in names)
        return [owner for owner in found if not owner.is_reserved]

    def notes(self, owner: Owner, session_id: str) -> Sequence[str]:
        return ()


def _emptied(writer: sqlite3.Connection, owner: Owner, session_id: str, then: str) -> int | None:
    """Delete what is in a session, and then clear or delete the session itself; how many turns went."""
    key = (owner.key.bytes, session_id)
    if not writer.execute(sql.LAST_TURN_OF_SESSION, key).fetchall():
        return None
    people.unlearn(writer, owner, session_id)
    gone = _drop_content(writer, key)
    writer.execute(then, key)
    return gone


@record
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
    for drop in (sql.DROP_RECEIPTS, sql.DROP_TRACES, sql.DROP_TOPICS, sql.DROP_BLOCKS):
        writer.execute(drop, key)
    turn_operations.drop_passages(writer, key[0], writer.execute(sql.DROP_USES, key).fetchall())
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

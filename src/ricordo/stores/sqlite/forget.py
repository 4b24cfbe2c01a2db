"""Clear, delete, expire, erase: what leaves the file, and how its bytes leave it too.

In: a connection that is inside a write transaction (rebuilding the file wants one that is not). Out: how much went.
A batch of a cleanup is one short transaction, so that writers barely wait.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from ricordo.records.reports import Expired
from ricordo.records.turns import Owner
from ricordo.stores.sqlite import people_statements, person_operations, service_statements, topics, vectors
from ricordo.stores.sqlite import statements as sql
from ricordo.stores.sqlite.database import SCRUB_DUE, serves
from ricordo.stores.turn_rows import ENDLESS

ERASED = (
    "sessions", "turns", "receipts", "topics", "blocks", "traces", "facts", "summaries", "flags",
    "documents", "jobs", "keys",
)  # fmt: skip


def clear(writer: sqlite3.Connection, owner: Owner, session_id: str) -> int | None:
    """Empty a session; it stays and counts from 1 again."""
    key = (owner.key.bytes, session_id)
    if not writer.execute(sql.LAST_TURN_OF_SESSION, key).fetchall():
        return None
    person_operations.unlearn(writer, owner, session_id)
    gone = _drop_content(writer, key)
    writer.execute(sql.CLEAR_SESSION, key)
    return gone


def delete_session(writer: sqlite3.Connection, owner: Owner, session_id: str) -> int | None:
    """Remove a session and what is in it."""
    key = (owner.key.bytes, session_id)
    if not writer.execute(sql.LAST_TURN_OF_SESSION, key).fetchall():
        return None
    person_operations.unlearn(writer, owner, session_id)
    gone = _drop_content(writer, key)
    writer.execute(sql.DROP_SESSION, key)
    return gone


@dataclass(frozen=True, slots=True)
class Due:
    """What of an owner is past its time: whether a session is idle, and the numbers of at most a batch of turns."""

    idle: bool
    aged: Mapping[str, Sequence[int]]

    def __bool__(self) -> bool:
        return self.idle or bool(self.aged)


def due(reader: sqlite3.Connection, owner: Owner, turns_before: int, idle_before: int, batch: int) -> Due:
    """Look for what is past its time before anybody has to wait for it."""
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
    """Remove one batch of what is past its time: idle sessions first, then the turns that were found."""
    sessions, turns, room = _expire_idle(writer, owner, idle_before, batch)
    for session_id, numbers in found.aged.items():
        if room <= 0:
            break
        key = (owner.key.bytes, session_id)
        some = json.dumps(numbers[:room])
        gone = writer.execute(sql.DROP_AGED_TURNS, (*key, some, turns_before)).fetchall()
        if gone and _lessen(writer, key, gone) == 0:
            _drop_content(writer, key)
            writer.execute(sql.DROP_SESSION, key)
            sessions += 1
        turns += len(gone)
        room -= len(gone)
    return Expired(sessions, turns, more=room <= 0 or sum(map(len, found.aged.values())) >= batch)


def erase(writer: sqlite3.Connection, owner: Owner) -> dict[str, int]:
    """Remove an owner and note in the same commit that the file has to be scrubbed."""
    every = {**(service_statements.ERASE if serves(writer) else {}), **people_statements.ERASE, **sql.ERASE}
    gone = dict.fromkeys(ERASED, 0) | {"traces": vectors.drop_traces(writer, owner, keep=None)}
    gone |= {what: writer.execute(delete, (owner.key.bytes,)).rowcount for what, delete in every.items()}
    writer.execute(f"PRAGMA user_version = {SCRUB_DUE}")
    return {what: gone[what] for what in ERASED}


def scrub_is_due(connection: sqlite3.Connection) -> bool:
    """Whether an erasure was cut short before its bytes were overwritten."""
    return bool(connection.execute("PRAGMA user_version").fetchone()[0] == SCRUB_DUE)


def rebuild_file(writer: sqlite3.Connection) -> None:
    """Write the file anew without its free space, so that no old byte remains in it."""
    writer.execute("VACUUM")


def empty_log(writer: sqlite3.Connection) -> bool:
    """Empty the write-ahead log, if no reader is in the way; one attempt that waits for nobody."""
    (waited,) = writer.execute("PRAGMA busy_timeout").fetchone()
    writer.execute("PRAGMA busy_timeout = 0").fetchall()
    try:
        if writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            return False
        writer.execute("PRAGMA user_version = 0")
        return True
    finally:
        writer.execute(f"PRAGMA busy_timeout = {waited}").fetchall()


def _drop_content(writer: sqlite3.Connection, key: tuple[bytes, str]) -> int:
    for drop in (sql.DROP_RECEIPTS, sql.DROP_PASSAGES, sql.DROP_TRACES, sql.DROP_TOPICS, sql.DROP_BLOCKS):
        writer.execute(drop, key)
    person_operations.drop_session(writer, key)
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
            _lessen(writer, key, gone)
            turns += len(gone)
        room -= max(1, turn_count)
    return sessions, turns, room


def delete_turns(writer: sqlite3.Connection, owner: Owner, session_id: str, numbers: Sequence[int]) -> int:
    """Remove single turns; the session stays."""
    key = (owner.key.bytes, session_id)
    gone = writer.execute(sql.DROP_NUMBERED_TURNS, (*key, json.dumps(list(numbers)))).fetchall()
    if gone:
        _lessen(writer, key, gone)
    return len(gone)


def _lessen(writer: sqlite3.Connection, key: tuple[bytes, str], gone: Sequence[Any]) -> int:
    """Tell a session, its topics, blocks and traces that turns are gone; how many turns it still has."""
    writer.execute(sql.DROP_UNUSED_PASSAGES, {"owner": key[0], "session_id": key[1]})
    topics.tell_topics(writer, key, gone)
    topics.tell_blocks(writer, key, {block_id for _, _, _, block_id, *_ in gone if block_id})
    vectors.tell_traces(writer, key, (number for _, number, *_ in gone))
    (left,) = writer.execute(sql.LESSEN_SESSION, (len(gone), *key)).fetchall()
    return int(left[0])

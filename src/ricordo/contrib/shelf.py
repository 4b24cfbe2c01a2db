"""Keeps what other libraries want kept and what is no talk: checkpoints, and items of a store.

In: bodies of bytes, each under an owner, a shelf, a place and a key. Out: the same bytes. They lie in a table of their
own (`ricordo_items`, on PostgreSQL `ricordo.items`) in the very database of the memory, made on first use, and hang on
the owner's row there, some on a session or a turn as well: whatever removes those removes them too, and no call can
reach what is another owner's.
"""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from ricordo.contrib.cabinets import Execute, InMemory, Row, cabinet_for
from ricordo.engine.clock import SystemClock
from ricordo.engine.protocols import Clock
from ricordo.errors import ValidationError
from ricordo.memory import Memory
from ricordo.records.turns import Owner
from ricordo.stores.turn_rows import micros, moment

T = TypeVar("T")
Glance = tuple[int, str]  # a session's revision and its newest turn: both the same means that nobody wrote to it

BREAK = "\x1f"  # ends every part of a place, so that a place can be searched by its beginning
_AFTER = "\x20"  # the character after it
_LAST = "\U0010ffff"

_COLUMNS = "place, key, tag, body, vector, created_at, updated_at, expires_at, minutes, session_id, turn_id"

OWNER = """
INSERT INTO {owners} (owner, tenant_id, user_id) VALUES (:owner, :tenant_id, :user_id) ON CONFLICT DO NOTHING
"""
PUT = """
INSERT INTO {items} (owner, shelf, place, key, tag, body, vector, created_at, updated_at, expires_at, minutes,
                     session_id, turn_id)
VALUES (:owner, :shelf, :place, :key, :tag, :body, :vector, :created_at, :updated_at, :expires_at, :minutes,
        :session_id, :turn_id)
ON CONFLICT (owner, shelf, place, key) DO """
OVER = """
UPDATE SET tag = excluded.tag, body = excluded.body, vector = excluded.vector, updated_at = excluded.updated_at,
           expires_at = excluded.expires_at, minutes = excluded.minutes, session_id = excluded.session_id,
           turn_id = excluded.turn_id
"""
GLANCE = """SELECT revision, (SELECT turn_id FROM {turns} AS t WHERE t.owner = s.owner AND t.session_id = s.session_id
                              ORDER BY turn_number DESC LIMIT 1)
            FROM {sessions} AS s WHERE s.owner = :owner AND s.session_id = :session_id"""
FORGET = "DELETE FROM {items} WHERE owner = :owner"
FORGET_SESSION = "DELETE FROM {items} WHERE owner = :owner AND session_id = :session_id"
MINE = "owner = :owner AND shelf = :shelf"
ALIVE = "(expires_at IS NULL OR expires_at > :now)"


@dataclass(frozen=True, slots=True)
class StoredItem:
    """One thing on a shelf. `tag` is a second way to find it; `expires_at` the moment from which it is not there.

    It goes with the session and with the turn that it names; both have to be there.
    """

    place: str
    key: str
    body: bytes
    tag: str = ""
    vector: bytes | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    expires_at: datetime | None = None
    minutes: float | None = None
    session_id: str | None = None
    turn_id: str | None = None


class Desk:
    """What one transaction of one owner can do with one shelf."""

    def __init__(self, execute: Execute, owner: Owner, shelf: str, now: datetime, *, in_turn: bool = False) -> None:
        self._execute = execute
        self._owner = owner
        self._shelf = shelf
        self._now = now
        self._micros = micros(now)
        self._in_turn = in_turn

    def on(self, shelf: str) -> "Desk":
        """The same transaction at another shelf."""
        return Desk(self._execute, self._owner, shelf, self._now, in_turn=self._in_turn)

    def take_turns(self) -> None:
        """Let writers of one owner and shelf follow each other, so that what was read holds until it is written."""
        if not self._in_turn:
            self.on(f"{self._shelf}.order").put(StoredItem("", "", b""))

    def get(self, place: str, key: str) -> StoredItem | None:
        """One item, if it is there and not past its time."""
        statement = f"SELECT {_COLUMNS} FROM {{items}} WHERE {MINE} AND place = :place AND key = :key AND {ALIVE}"
        found = self._run(statement, place=place, key=key)
        return _item(found[0]) if found else None

    def body(self, place: str, key: str) -> bytes | None:
        """What one item holds, if it is there and not past its time."""
        statement = f"SELECT body FROM {{items}} WHERE {MINE} AND place = :place AND key = :key AND {ALIVE}"
        found = self._run(statement, place=place, key=key)
        return bytes(found[0][0]) if found else None

    def get_all(self, wanted: Sequence[tuple[str, str]]) -> list[StoredItem]:
        """The items at these (place, key), in any order; what is missing is missing."""
        if not wanted:
            return []
        values = {f"p{n}": place for n, (place, _) in enumerate(wanted)}
        values |= {f"k{n}": key for n, (_, key) in enumerate(wanted)}
        pairs = ", ".join(f"(:p{n}, :k{n})" for n in range(len(wanted)))
        statement = f"SELECT {_COLUMNS} FROM {{items}} WHERE {MINE} AND (place, key) IN (VALUES {pairs}) AND {ALIVE}"
        return [_item(row) for row in self._run(statement, **values)]

    def glance(self, session_id: str, place: str, keys: Sequence[str]) -> tuple[Glance | None, set[str]]:
        """How a session of the memory stands, and which of these keys are at a place: both with one question.

        None where the memory's sessions are not in this database, or where there is no such session.
        """
        values = {"session_id": session_id, "place": place}
        values |= {f"k{n}": key for n, key in enumerate(keys)}
        standing: Glance | None = None
        there = set()
        for revision, name in self._run(_glance(len(keys)), **values):
            if revision < 0:
                there.add(name)
            else:
                standing = revision, name or ""
        return standing, there

    def under(
        self,
        prefix: str = "",
        *,
        key: str | None = None,
        before: str | None = None,
        tag: str | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[StoredItem]:
        """Items whose place begins like this, by place and key; newest first: by key alone, falling."""
        clauses = [MINE, "place >= :prefix", "place < :end", ALIVE]
        clauses += ["key < :before"] if before is not None else []
        clauses += ["key = :key"] if key is not None else []
        clauses += ["tag = :tag AND tag <> ''"] if tag is not None else []
        order = "key DESC, place" if newest_first else "place, key"
        statement = f"SELECT {_COLUMNS} FROM {{items}} WHERE {' AND '.join(clauses)} ORDER BY {order}"
        values: dict[str, Any] = {"prefix": prefix, "end": _end(prefix), "key": key, "before": before, "tag": tag}
        if limit is not None:
            statement, values = f"{statement} LIMIT :limit", values | {"limit": limit}
        return [_item(row) for row in self._run(statement, **values)]

    def tagged(self, place: str, tag: str) -> list[tuple[str, bytes]]:
        """Keys and bodies of what lies at a place with that tag, by key."""
        statement = (
            f"SELECT key, body FROM {{items}} WHERE {MINE} AND tag = :tag AND tag <> '' AND place = :place AND {ALIVE} "
            "ORDER BY key"
        )
        return [(key, bytes(body)) for key, body in self._run(statement, place=place, tag=tag)]

    def bodies(self, prefix: str, *, newest: int | None = None) -> list[bytes]:
        """What lies at places that begin like this, by place and key; at most the `newest` by key."""
        few = newest is not None
        order = "key DESC, place LIMIT :limit" if few else "place, key"
        statement = f"SELECT body FROM {{items}} WHERE {MINE} AND place >= :prefix AND place < :end AND {ALIVE}"
        values = {"prefix": prefix, "end": _end(prefix)} | ({"limit": newest} if few else {})
        found = [bytes(body) for (body,) in self._run(f"{statement} ORDER BY {order}", **values)]
        return found[::-1] if few else found

    def every(self, after: tuple[str, str, str] = ("", "", ""), *, limit: int) -> list[tuple[str, StoredItem]]:
        """What lies on any shelf of the owner, with the shelf's name, after a shelf, place and key."""
        statement = (
            f"SELECT shelf, {_COLUMNS} FROM {{items}} WHERE owner = :owner AND {ALIVE} "
            "AND (shelf, place, key) > (:after_shelf, :after_place, :after_key) ORDER BY shelf, place, key LIMIT :limit"
        )
        shelf, place, key = after
        found = self._run(statement, after_shelf=shelf, after_place=place, after_key=key, limit=limit)
        return [(row[0], _item(row[1:])) for row in found]

    def places(self, prefix: str = "") -> list[str]:
        """The places that hold anything, rising."""
        found = self._run(
            f"SELECT DISTINCT place FROM {{items}} WHERE {MINE} AND place >= :prefix AND place < :end AND {ALIVE} "
            "ORDER BY place",
            prefix=prefix,
            end=_end(prefix),
        )
        return [place for (place,) in found]

    def put(self, item: StoredItem, *, over: bool = True) -> None:
        """Keep an item; what is there already is replaced, or stays where `over` is False. Times left out are now."""
        expires_at = item.expires_at
        if expires_at is None and item.minutes is not None:
            expires_at = self._now + timedelta(minutes=item.minutes)
        self._run(
            PUT + (OVER if over else "NOTHING"),
            place=item.place,
            key=item.key,
            tag=item.tag,
            body=item.body,
            vector=item.vector,
            created_at=self._micros if item.created_at is None else micros(item.created_at),
            updated_at=self._micros if item.updated_at is None else micros(item.updated_at),
            expires_at=None if expires_at is None else micros(expires_at),
            minutes=item.minutes,
            session_id=item.session_id,
            turn_id=item.turn_id,
        )

    def hang(self, place: str, key: str, turn_id: str) -> None:
        """Let an item go with a turn that is there; nothing happens if there is no such item."""
        statement = f"UPDATE {{items}} SET turn_id = :turn_id WHERE {MINE} AND place = :place AND key = :key"
        self._run(statement, place=place, key=key, turn_id=turn_id)

    def renew(self, item: StoredItem) -> None:
        """Begin the time of an item anew, because it was read."""
        if item.minutes is not None:
            self._run(
                f"UPDATE {{items}} SET expires_at = :expires_at WHERE {MINE} AND place = :place AND key = :key",
                place=item.place,
                key=item.key,
                expires_at=micros(self._now + timedelta(minutes=item.minutes)),
            )

    def remove(self, place: str, key: str) -> None:
        """Remove one item; nothing happens if there is none."""
        self._run(f"DELETE FROM {{items}} WHERE {MINE} AND place = :place AND key = :key", place=place, key=key)

    def remove_under(self, prefix: str) -> None:
        """Remove everything whose place begins like this."""
        self._run(
            f"DELETE FROM {{items}} WHERE {MINE} AND place >= :prefix AND place < :end", prefix=prefix, end=_end(prefix)
        )

    def sweep(self) -> int:
        """Remove what is past its time, on every shelf of the owner; how many went."""
        gone = (
            "DELETE FROM {items} WHERE owner = :owner AND expires_at IS NOT NULL AND expires_at <= :now RETURNING key"
        )
        return len(self._run(gone))

    def remember_owner(self) -> None:
        """Make sure that there is an owner's row for items to hang on."""
        self._run(OWNER, tenant_id=self._owner.tenant_id, user_id=self._owner.user_id)

    def _run(self, statement: str, **values: Any) -> list[Row]:
        values["shelf"], values["now"] = self._shelf, self._micros
        return self._execute(statement, values)


class Shelf:
    """Items in the database of a memory: a file, a `postgresql://` URL, or `memory:`. Thread-safe."""

    def __init__(self, place: str | Path, *, clock: Clock | None = None) -> None:
        self._cabinet = cabinet_for(str(place))
        self._clock = clock or SystemClock()

    @classmethod
    def beside(cls, memory: Memory) -> "Shelf":
        """The shelf in a memory's own database; one and the same for the same memory, closed when that goes.

        A store does not tell its password: for PostgreSQL with one, make `Shelf(url)` yourself.
        """
        with _making:
            shelf = _beside.get(memory)
            if shelf is None:
                shelf = _beside[memory] = cls(memory.store.location, clock=memory.clock)
                weakref.finalize(memory, shelf.close)
                if isinstance(shelf._cabinet, InMemory):
                    memory.on_forget.append(shelf.forget)
        return shelf

    def read(self, owner: Owner, shelf: str, work: Callable[[Desk], T]) -> T:
        """What `work` finds, in one view."""
        now = self._clock.now()
        return self._cabinet.run(owner, lambda execute: work(Desk(execute, owner, shelf, now)), writes=False)

    def look(self, owner: Owner, shelf: str, work: Callable[[Desk], T]) -> T:
        """What `work` finds with one question, which needs no view to stay the same."""
        now = self._clock.now()
        return self._cabinet.run(owner, lambda execute: work(Desk(execute, owner, shelf, now)), writes=False, once=True)

    def alone(self, owner: Owner, shelf: str, work: Callable[[Desk], T]) -> T:
        """Do `work` that asks something here and then may write to the memory; not here.

        From its first question to its end nobody else does such work for this owner, in any process.
        """
        now = self._clock.now()
        return self._cabinet.alone(owner, lambda execute: work(Desk(execute, owner, shelf, now)))

    def write(self, owner: Owner, shelf: str, work: Callable[[Desk], T]) -> T:
        """Do `work` in one transaction: all of it, or nothing."""
        now, in_turn = self._clock.now(), self._cabinet.in_turn

        def inside(execute: Execute) -> T:
            desk = Desk(execute, owner, shelf, now, in_turn=in_turn)
            desk.remember_owner()
            return work(desk)

        return self._cabinet.run(owner, inside, writes=True)

    def forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Remove all of an owner, or what hangs on a session; a database that holds the memory too does it itself."""
        self._cabinet.run(owner, lambda execute: execute(FORGET if session_id is None else FORGET_SESSION,
                                                         {"session_id": session_id}), writes=True)  # fmt: skip

    def close(self) -> None:
        """Let go of files and connections. Safe to repeat."""
        self._cabinet.close()


_beside: "weakref.WeakKeyDictionary[Memory, Shelf]" = weakref.WeakKeyDictionary()
_making = Lock()


def path(*parts: str) -> str:
    """Parts as a place. No part may hold the character that ends it."""
    for part in parts:
        if BREAK in part or "\x00" in part:
            raise ValidationError("place", f"{part!r} holds a control character; leave it out")
    return "".join(f"{part}{BREAK}" for part in parts)


def parts(place: str) -> tuple[str, ...]:
    """A place as its parts."""
    return tuple(place.split(BREAK)[:-1])


@lru_cache(maxsize=64)
def _glance(count: int) -> str:
    keys = ", ".join(f":k{n}" for n in range(count))
    among = f"SELECT -1, key FROM {{items}} WHERE {MINE} AND place = :place AND key IN ({keys}) AND {ALIVE}"
    return f"{GLANCE} UNION ALL {among}" if count else GLANCE


def _end(prefix: str) -> str:
    """The first place after all that begin like this."""
    return prefix[:-1] + _AFTER if prefix else _LAST


def _item(row: Row) -> StoredItem:
    place, key, tag, body, vector, created_at, updated_at, expires_at, minutes, session_id, turn_id = row
    return StoredItem(
        place,
        key,
        bytes(body),
        tag,
        None if vector is None else bytes(vector),
        moment(created_at),
        moment(updated_at),
        None if expires_at is None else moment(expires_at),
        minutes,
        session_id,
        turn_id,
    )

"""Keeps what other libraries want kept and what is no talk: checkpoints, and items of a store.

In: bodies of bytes, each under an owner, a shelf, a place and a key. Out: the same bytes. They lie in a table of their
own (`ricordo_items`, on PostgreSQL `ricordo.items`) in the very database of the memory, made on first use, and hang on
the owner's row there: erasing a user erases them too, and no call can reach what is another owner's.
"""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from ricordo.clock import SystemClock
from ricordo.errors import ValidationError
from ricordo.integrations.cabinets import Execute, Row, cabinet_for
from ricordo.memory import Memory
from ricordo.ports import Clock
from ricordo.records import Owner
from ricordo.stores.rows import micros, moment

T = TypeVar("T")

BREAK = "\x1f"  # ends every part of a place, so that a place can be searched by its beginning
_AFTER = "\x20"  # the character after it
_LAST = "\U0010ffff"

_COLUMNS = "place, key, tag, body, vector, created_at, updated_at, expires_at, minutes"

OWNER = """
INSERT INTO {owners} (owner, tenant_id, user_id) VALUES (:owner, :tenant_id, :user_id) ON CONFLICT DO NOTHING
"""
PUT = """
INSERT INTO {items} (owner, shelf, place, key, tag, body, vector, created_at, updated_at, expires_at, minutes)
VALUES (:owner, :shelf, :place, :key, :tag, :body, :vector, :now, :now, :expires_at, :minutes)
ON CONFLICT (owner, shelf, place, key) DO """
OVER = """
UPDATE SET tag = excluded.tag, body = excluded.body, vector = excluded.vector, updated_at = excluded.updated_at,
           expires_at = excluded.expires_at, minutes = excluded.minutes
"""
MINE = "owner = :owner AND shelf = :shelf"
ALIVE = "(expires_at IS NULL OR expires_at > :now)"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing on a shelf. `tag` is a second way to find it; `expires_at` the moment from which it is not there."""

    place: str
    key: str
    body: bytes
    tag: str = ""
    vector: bytes | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    expires_at: datetime | None = None
    minutes: float | None = None


class Desk:
    """What one transaction of one owner can do with one shelf."""

    def __init__(self, execute: Execute, owner: Owner, shelf: str, now: datetime) -> None:
        self._execute = execute
        self._owner = owner
        self._shelf = shelf
        self._now = now

    def on(self, shelf: str) -> "Desk":
        """The same transaction at another shelf."""
        return Desk(self._execute, self._owner, shelf, self._now)

    def get(self, place: str, key: str) -> Item | None:
        """One item, if it is there and not past its time."""
        statement = f"SELECT {_COLUMNS} FROM {{items}} WHERE {MINE} AND place = :place AND key = :key AND {ALIVE}"
        found = self._run(statement, place=place, key=key)
        return _item(found[0]) if found else None

    def get_all(self, wanted: Sequence[tuple[str, str]]) -> list[Item]:
        """The items at these (place, key), in any order; what is missing is missing."""
        if not wanted:
            return []
        values = {f"p{n}": place for n, (place, _) in enumerate(wanted)}
        values |= {f"k{n}": key for n, (_, key) in enumerate(wanted)}
        pairs = ", ".join(f"(:p{n}, :k{n})" for n in range(len(wanted)))
        statement = f"SELECT {_COLUMNS} FROM {{items}} WHERE {MINE} AND (place, key) IN (VALUES {pairs}) AND {ALIVE}"
        return [_item(row) for row in self._run(statement, **values)]

    def under(
        self,
        prefix: str = "",
        *,
        key: str | None = None,
        before: str | None = None,
        tag: str | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[Item]:
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

    def places(self, prefix: str = "") -> list[str]:
        """The places that hold anything, rising."""
        found = self._run(
            f"SELECT DISTINCT place FROM {{items}} WHERE {MINE} AND place >= :prefix AND place < :end AND {ALIVE} "
            "ORDER BY place",
            prefix=prefix,
            end=_end(prefix),
        )
        return [place for (place,) in found]

    def put(self, item: Item, *, over: bool = True) -> None:
        """Keep an item; what is there already is replaced, or stays where `over` is False."""
        expires_at = None if item.minutes is None else micros(self._now + timedelta(minutes=item.minutes))
        self._run(
            PUT + (OVER if over else "NOTHING"),
            place=item.place,
            key=item.key,
            tag=item.tag,
            body=item.body,
            vector=item.vector,
            expires_at=expires_at,
            minutes=item.minutes,
        )

    def renew(self, item: Item) -> None:
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
        known: dict[str, Any] = {"owner": self._owner.key, "shelf": self._shelf, "now": micros(self._now)}
        return self._execute(statement, known | values)


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
        return shelf

    def read(self, owner: Owner, shelf: str, work: Callable[[Desk], T]) -> T:
        """What `work` finds, in one view."""
        now = self._clock.now()
        return self._cabinet.run(owner, lambda execute: work(Desk(execute, owner, shelf, now)), writes=False)

    def write(self, owner: Owner, shelf: str, work: Callable[[Desk], T]) -> T:
        """Do `work` in one transaction: all of it, or nothing."""
        now = self._clock.now()

        def inside(execute: Execute) -> T:
            desk = Desk(execute, owner, shelf, now)
            desk.remember_owner()
            return work(desk)

        return self._cabinet.run(owner, inside, writes=True)

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


def _end(prefix: str) -> str:
    """The first place after all that begin like this."""
    return prefix[:-1] + _AFTER if prefix else _LAST


def _item(row: Row) -> Item:
    place, key, tag, body, vector, created_at, updated_at, expires_at, minutes = row
    return Item(
        place,
        key,
        bytes(body),
        tag,
        None if vector is None else bytes(vector),
        moment(created_at),
        moment(updated_at),
        None if expires_at is None else moment(expires_at),
        minutes,
    )

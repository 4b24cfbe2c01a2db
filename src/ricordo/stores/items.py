"""Adapter items in SQL, for both databases: a transaction on one owner's items in one collection.

In: a function that executes a statement. Out: records. Statements are written once, with `:name` for values and
`{items}`, `{owners}`, `{sessions}`, `{turns}` for tables; each store translates them and fills in `:owner`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace as with_times
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from ricordo.records.service import SessionState, StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.turn_rows import RowFormat, micros

Execute = Callable[[str, dict[str, Any]], Sequence[Any]]

PART_END = "\x1f"  # ends every part of a place, so that places can be searched by prefix
_AFTER_PART_END = "\x20"
_LAST = "\U0010ffff"

ITEM_ROWS = RowFormat(
    StoredItem, "place, key, tag, body, vector, created_at, updated_at, expires_at, minutes, session_id, turn_id"
)

_MINE = "owner = :owner AND shelf = :collection"
_ALIVE = "(expires_at IS NULL OR expires_at > :now)"
_UNDER = "place >= :prefix AND place < :end"
_ONE = f"{_MINE} AND place = :place AND key = :key"

ADD_OWNER = """
INSERT INTO {owners} (owner, tenant_id, user_id) VALUES (:owner, :tenant_id, :user_id) ON CONFLICT DO NOTHING
"""

ITEM = f"SELECT {ITEM_ROWS.columns} FROM {{items}} WHERE {_ONE} AND {_ALIVE}"

PLACES = f"SELECT DISTINCT place FROM {{items}} WHERE {_MINE} AND {_UNDER} AND {_ALIVE} ORDER BY place"

PAGE = f"""
SELECT shelf, {ITEM_ROWS.columns} FROM {{items}}
WHERE owner = :owner AND {_ALIVE} AND (shelf, place, key) > (:after_shelf, :after_place, :after_key)
ORDER BY shelf, place, key LIMIT :limit
"""

ADD_ITEM = f"""
INSERT INTO {{items}} (owner, shelf, {ITEM_ROWS.columns})
VALUES (:owner, :collection, :place, :key, :tag, :body, :vector, :created_at, :updated_at, :expires_at, :minutes,
        :session_id, :turn_id)
ON CONFLICT (owner, shelf, place, key) DO NOTHING
"""

PUT_ITEM = ADD_ITEM.replace(
    "NOTHING",
    """
UPDATE SET tag = excluded.tag, body = excluded.body, vector = excluded.vector, updated_at = excluded.updated_at,
           expires_at = excluded.expires_at, minutes = excluded.minutes, session_id = excluded.session_id,
           turn_id = excluded.turn_id""",
)

ATTACH = f"UPDATE {{items}} SET turn_id = :turn_id WHERE {_ONE}"

RENEW = f"UPDATE {{items}} SET expires_at = :expires_at WHERE {_ONE}"

REMOVE = f"DELETE FROM {{items}} WHERE {_ONE}"

REMOVE_UNDER = f"DELETE FROM {{items}} WHERE {_MINE} AND {_UNDER}"

SWEEP = "DELETE FROM {items} WHERE owner = :owner AND expires_at IS NOT NULL AND expires_at <= :now RETURNING key"

_SESSION_STATE = """
SELECT revision, (SELECT turn_id FROM {turns} AS t WHERE t.owner = s.owner AND t.session_id = s.session_id
                  ORDER BY turn_number DESC LIMIT 1)
FROM {sessions} AS s WHERE s.owner = :owner AND s.session_id = :session_id
"""


class SqlItems:
    """An `ItemTransaction` over SQL. `lock` takes a lock on a collection; None where writers run one by one anyway."""

    def __init__(
        self, execute: Execute, collection: str, now: datetime, *, lock: Callable[[str], object] | None = None
    ) -> None:
        self._execute = execute
        self._collection = collection
        self._now = now
        self._micros = micros(now)
        self._lock = lock

    def on(self, collection: str) -> "SqlItems":
        return SqlItems(self._execute, collection, self._now, lock=self._lock)

    def serialize(self) -> None:
        if self._lock is not None:
            self._lock(self._collection)

    def get(self, place: str, key: str) -> StoredItem | None:
        return ITEM_ROWS.first(self._run(ITEM, place=place, key=key))

    def get_all(self, wanted: Sequence[tuple[str, str]]) -> list[StoredItem]:
        if not wanted:
            return []
        values = {f"p{n}": place for n, (place, _) in enumerate(wanted)}
        values |= {f"k{n}": key for n, (_, key) in enumerate(wanted)}
        return [ITEM_ROWS.read(row) for row in self._run(_items_at(len(wanted)), **values)]

    def find(
        self,
        prefix: str = "",
        *,
        key: str | None = None,
        before: str | None = None,
        tag: str | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[StoredItem]:
        statement = _search(key is not None, before is not None, tag is not None, newest_first, limit is not None)
        given = {"key": key, "before": before, "tag": tag, "limit": limit}
        values = {name: value for name, value in given.items() if value is not None}
        return [ITEM_ROWS.read(row) for row in self._run(statement, prefix=prefix, end=end_of(prefix), **values)]

    def places(self, prefix: str = "") -> list[str]:
        return [place for (place,) in self._run(PLACES, prefix=prefix, end=end_of(prefix))]

    def probe(self, session_id: str, place: str, keys: Sequence[str]) -> tuple[SessionState | None, set[str]]:
        values = {f"k{n}": key for n, key in enumerate(keys)}
        state: SessionState | None = None
        there = set()
        for revision, name in self._run(_probe(len(keys)), session_id=session_id, place=place, **values):
            if revision < 0:
                there.add(name)
            else:
                state = revision, name or ""
        return state, there

    def put(self, item: StoredItem, *, replace: bool = True) -> None:
        expires_at = item.expires_at
        if expires_at is None and item.minutes is not None:
            expires_at = self._now + timedelta(minutes=item.minutes)
        created_at, updated_at = item.created_at or self._now, item.updated_at or self._now
        dated = with_times(item, created_at=created_at, updated_at=updated_at, expires_at=expires_at)
        self._run(PUT_ITEM if replace else ADD_ITEM, **ITEM_ROWS.named(dated))

    def attach(self, place: str, key: str, turn_id: str) -> None:
        self._run(ATTACH, place=place, key=key, turn_id=turn_id)

    def renew(self, item: StoredItem) -> None:
        if item.minutes is not None:
            expires_at = micros(self._now + timedelta(minutes=item.minutes))
            self._run(RENEW, place=item.place, key=item.key, expires_at=expires_at)

    def remove(self, place: str, key: str) -> None:
        self._run(REMOVE, place=place, key=key)

    def remove_under(self, prefix: str) -> None:
        self._run(REMOVE_UNDER, prefix=prefix, end=end_of(prefix))

    def page(self, after: tuple[str, str, str], limit: int) -> list[tuple[str, StoredItem]]:
        """Items of every collection, each with its collection."""
        shelf, place, key = after
        rows = self._run(PAGE, after_shelf=shelf, after_place=place, after_key=key, limit=limit)
        return [(row[0], ITEM_ROWS.read(row[1:])) for row in rows]

    def sweep(self) -> int:
        """Delete expired items of every collection; returns how many."""
        return len(self._run(SWEEP))

    def add_owner(self, owner: Owner) -> None:
        """Make sure that the owner's row exists."""
        self._run(ADD_OWNER, tenant_id=owner.tenant_id, user_id=owner.user_id)

    def _run(self, statement: str, **values: Any) -> Sequence[Any]:
        values["collection"], values["now"] = self._collection, self._micros
        return self._execute(statement, values)


def end_of(prefix: str) -> str:
    """The first place after all that begin with `prefix`."""
    return prefix[:-1] + _AFTER_PART_END if prefix else _LAST


@lru_cache(maxsize=64)
def _items_at(count: int) -> str:
    pairs = ", ".join(f"(:p{n}, :k{n})" for n in range(count))
    return f"SELECT {ITEM_ROWS.columns} FROM {{items}} WHERE {_MINE} AND (place, key) IN (VALUES {pairs}) AND {_ALIVE}"


@lru_cache(maxsize=64)
def _probe(count: int) -> str:
    keys = ", ".join(f":k{n}" for n in range(count))
    among = f"SELECT -1, key FROM {{items}} WHERE {_MINE} AND place = :place AND key IN ({keys}) AND {_ALIVE}"
    return f"{_SESSION_STATE} UNION ALL {among}" if count else _SESSION_STATE


@lru_cache(maxsize=32)
def _search(key: bool, before: bool, tag: bool, newest_first: bool, limit: bool) -> str:
    clauses = [_MINE, _UNDER, _ALIVE]
    clauses += ["key = :key"] if key else []
    clauses += ["key < :before"] if before else []
    clauses += ["tag = :tag AND tag <> ''"] if tag else []
    order = "key DESC, place" if newest_first else "place, key"
    statement = f"SELECT {ITEM_ROWS.columns} FROM {{items}} WHERE {' AND '.join(clauses)} ORDER BY {order}"
    return f"{statement} LIMIT :limit" if limit else statement

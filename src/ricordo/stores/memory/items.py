"""Items of the reference store: a dictionary by collection, place and key."""

from collections.abc import Callable, Sequence
from dataclasses import replace as changed
from datetime import datetime, timedelta
from threading import Lock
from typing import TypeVar

from ricordo.errors import StoreError
from ricordo.records.service import SessionState, StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.items import end_of
from ricordo.stores.memory.home import Home, Homes, ItemKey
from ricordo.stores.service_protocols import ItemTransaction

T = TypeVar("T")


class MemoryItems:
    """Items of adapters. A transaction works on a copy of the owner's items, which replaces them at its end."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes
        self._lock = homes.lock
        self._exclusive = Lock()

    def read(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        with self._lock:
            home = self._homes.of(owner)
            copy = dict(home.items)
        return work(MemoryTransaction(home, copy, collection, now))

    def write(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        with self._lock:
            home = self._homes.of(owner)
            copy = dict(home.items)
            result = work(MemoryTransaction(home, copy, collection, now))
            home.items = copy
            return result

    def exclusive(self, owner: Owner, collection: str, now: datetime, work: Callable[[ItemTransaction], T]) -> T:
        with self._exclusive:
            return self.read(owner, collection, now, work)

    def page(
        self, owner: Owner, now: datetime, *, after: tuple[str, str, str] = ("", "", ""), limit: int
    ) -> list[tuple[str, StoredItem]]:
        with self._lock:
            items = self._homes.of(owner).items
            keys = sorted(key for key, item in items.items() if key > after and _alive(item, now))
            return [(key[0], items[key]) for key in keys[:limit]]

    def sweep(self, owner: Owner, now: datetime) -> int:
        with self._lock:
            home = self._homes.of(owner)
            alive = {key: item for key, item in home.items.items() if _alive(item, now)}
            gone = len(home.items) - len(alive)
            home.items = alive
            return gone


class MemoryTransaction:
    """One owner's items in one collection."""

    def __init__(self, home: Home, items: dict[ItemKey, StoredItem], collection: str, now: datetime) -> None:
        self._home = home
        self._items = items
        self._collection = collection
        self._now = now

    def on(self, collection: str) -> "MemoryTransaction":
        return MemoryTransaction(self._home, self._items, collection, self._now)

    def serialize(self) -> None:
        """Nothing to do: the lock serializes all writers."""

    def get(self, place: str, key: str) -> StoredItem | None:
        item = self._items.get((self._collection, place, key))
        return item if item and _alive(item, self._now) else None

    def get_all(self, wanted: Sequence[tuple[str, str]]) -> list[StoredItem]:
        return [item for place, key in dict.fromkeys(wanted) if (item := self.get(place, key))]

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
        found = [
            item
            for item in self._under(prefix)
            if key in (None, item.key)
            and (before is None or item.key < before)
            and (tag is None or item.tag == tag != "")
        ]
        found.sort(key=lambda item: (item.place, item.key))
        if newest_first:
            found.sort(key=lambda item: item.key, reverse=True)
        return found[:limit]

    def places(self, prefix: str = "") -> list[str]:
        return sorted({item.place for item in self._under(prefix)})

    def probe(self, session_id: str, place: str, keys: Sequence[str]) -> tuple[SessionState | None, set[str]]:
        session = self._home.sessions.get(session_id)
        newest = session.turns[-1].id if session and session.turns else ""
        return (session.info.revision, newest) if session else None, {key for key in keys if self.get(place, key)}

    def put(self, item: StoredItem, *, replace: bool = True) -> None:
        key = (self._collection, item.place, item.key)
        stored = self._items.get(key)
        if stored and not replace:
            return
        if item.session_id is not None and item.session_id not in self._home.sessions:
            raise StoreError(f"session {item.session_id!r} of the item does not exist; write the session first")
        self._check_turn(item.turn_id)
        expires_at = item.expires_at
        if expires_at is None and item.minutes is not None:
            expires_at = self._now + timedelta(minutes=item.minutes)
        self._items[key] = changed(
            item,
            created_at=stored.created_at if stored else item.created_at or self._now,
            updated_at=item.updated_at or self._now,
            expires_at=expires_at,
        )

    def attach(self, place: str, key: str, turn_id: str) -> None:
        item = self._items.get((self._collection, place, key))
        if item:
            self._check_turn(turn_id)
            self._items[self._collection, place, key] = changed(item, turn_id=turn_id)

    def renew(self, item: StoredItem) -> None:
        stored = self._items.get((self._collection, item.place, item.key))
        if stored and item.minutes is not None:
            expires_at = self._now + timedelta(minutes=item.minutes)
            self._items[self._collection, item.place, item.key] = changed(stored, expires_at=expires_at)

    def remove(self, place: str, key: str) -> None:
        self._items.pop((self._collection, place, key), None)

    def remove_under(self, prefix: str) -> None:
        for collection, place, key in list(self._items):
            if collection == self._collection and prefix <= place < end_of(prefix):
                del self._items[collection, place, key]

    def _under(self, prefix: str) -> list[StoredItem]:
        end = end_of(prefix)
        return [
            item
            for (collection, place, _), item in self._items.items()
            if collection == self._collection and prefix <= place < end and _alive(item, self._now)
        ]

    def _check_turn(self, turn_id: str | None) -> None:
        if turn_id is not None and self._home.find(turn_id) is None:
            raise StoreError(f"turn {turn_id!r} of the item does not exist; write the turn first")


def _alive(item: StoredItem, now: datetime) -> bool:
    return item.expires_at is None or item.expires_at > now

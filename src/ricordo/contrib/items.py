"""What adapters of other libraries keep in a memory's store: the items of one collection, at the memory's clock.

An item lies at a place and has a key. A place is made of parts, so that it can be searched by its beginning.
"""

from collections.abc import Callable
from typing import TypeVar

from ricordo.errors import ValidationError
from ricordo.memory import Memory
from ricordo.records.turns import Owner
from ricordo.stores.items import PART_END
from ricordo.stores.service_protocols import ItemTransaction

T = TypeVar("T")


class ItemCollection:
    """One collection of items in the store of a memory. Thread-safe."""

    def __init__(self, memory: Memory, name: str) -> None:
        self._memory = memory
        self._name = name

    def read(self, owner: Owner, work: Callable[[ItemTransaction], T]) -> T:
        """The result of `work`, which reads one snapshot."""
        return self._memory.store.items.read(owner, self._name, self._memory.clock.now(), work)

    def write(self, owner: Owner, work: Callable[[ItemTransaction], T]) -> T:
        """Run `work` in one transaction: all of it is written, or nothing."""
        return self._memory.store.items.write(owner, self._name, self._memory.clock.now(), work)

    def exclusive(self, owner: Owner, work: Callable[[ItemTransaction], T]) -> T:
        """Run `work`, which reads items and may write to the memory, while no other such work of the owner runs."""
        return self._memory.store.items.exclusive(owner, self._name, self._memory.clock.now(), work)

    def sweep(self, owner: Owner) -> int:
        """Delete the owner's expired items, of every collection; returns how many."""
        return self._memory.store.items.sweep(owner, self._memory.clock.now())


def body_of(items: ItemTransaction, place: str, key: str) -> bytes | None:
    """The body of one item, if it exists."""
    item = items.get(place, key)
    return item.body if item else None


def path(*parts: str) -> str:
    """Parts as a place. No part may contain the character that ends it."""
    for part in parts:
        if PART_END in part or "\x00" in part:
            raise ValidationError("place", f"{part!r} holds a control character; leave it out")
    return "".join(f"{part}{PART_END}" for part in parts)


def parts(place: str) -> tuple[str, ...]:
    """A place as its parts."""
    return tuple(place.split(PART_END)[:-1])

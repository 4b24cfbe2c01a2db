"""A cache with a limit: when it is full, the least recently used entries are evicted.

Keys and values go in, optionally with a weight; the limit is a number of entries and, if wanted, a sum of weights. It
is not thread-safe: callers that share one hold a lock of their own.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LRU(Generic[K, V]):
    """At most `max_entries` entries, and at most `max_weight` in all; the entry put last is kept even if it is heavier.

    Iteration goes from the least to the most recently used key.
    """

    def __init__(self, max_entries: int, max_weight: float = float("inf")) -> None:
        if max_entries < 1:
            raise ValueError("max_entries must be at least 1")
        self._max_entries, self._max_weight = max_entries, max_weight
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self.weight = 0.0  # of all entries

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def values(self) -> list[V]:
        """All values, the least recently used first."""
        return [value for value, _ in self._entries.values()]

    def get(self, key: K) -> V | None:
        """The value of a key, which counts as a use; None if there is none."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key][0]

    def peek(self, key: K) -> V | None:
        """The value of a key, which does not count as a use."""
        entry = self._entries.get(key)
        return entry[0] if entry else None

    def put(self, key: K, value: V, weight: float = 0) -> None:
        """Set the value of a key, which counts as a use, and evict what exceeds the limit."""
        self.pop(key)
        self._entries[key] = (value, weight)
        self.weight += weight
        while len(self._entries) > self._max_entries or (self.weight > self._max_weight and len(self._entries) > 1):
            self.pop(next(iter(self._entries)))

    def pop(self, key: K) -> V | None:
        """Remove a key and return its value; None if there is none."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self.weight -= entry[1]
        return entry[0]

    def remove_where(self, test: Callable[[K], bool]) -> None:
        """Remove the entries whose key passes a test."""
        for key in [key for key in self._entries if test(key)]:
            self.pop(key)

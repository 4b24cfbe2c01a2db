"""Vectors that were made or read lately, for whoever needs them next: topics come right after the search, or before it.

In: turns with their vectors. Out: the vectors of turns, by message id. Only so many turns are kept, the latest; a turn
is known by its checksum, because ids are the caller's and may come again with other words.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock
from uuid import UUID

from ricordo.records import Owner, Turn

RECENT = 2_048  # turns


class AtHand:
    """The vectors of turns, by owner and checksum. Thread-safe."""

    def __init__(self) -> None:
        self._turns: OrderedDict[tuple[UUID, str], dict[str, bytes]] = OrderedDict()
        self._lock = Lock()

    def of(self, owner: Owner, turns: Iterable[Turn]) -> dict[str, bytes]:
        """What is at hand of some turns."""
        found: dict[str, bytes] = {}
        with self._lock:
            for turn in turns:
                found |= self._turns.get((owner.key, turn.checksum), {})
        return found

    def keep(self, owner: Owner, turns: Iterable[Turn], blobs: Mapping[str, bytes]) -> None:
        """Keep the vectors of turns; `blobs` has those of all their messages."""
        with self._lock:
            for turn in turns:
                self._turns[owner.key, turn.checksum] = {message.id: blobs[message.id] for message in turn.messages}
            while len(self._turns) > RECENT:
                self._turns.popitem(last=False)

    def forget(self, owner: Owner | None = None) -> None:
        """Drop what is of an owner, or everything."""
        with self._lock:
            for key in [key for key in self._turns if owner is None or key[0] == owner.key]:
                del self._turns[key]

"""The reference store: plain dictionaries behind one lock.

It is the shortest implementation of a store, so the tests compare the other stores with it. It is also for programs
that need no persistence: all data is lost when the process ends.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from ricordo.records.service import Damage, StoreHealth, StoreStats
from ricordo.records.turns import Owner
from ricordo.stores.memory.documents_keys_jobs import MemoryDocuments, MemoryItems, MemoryJobs, MemoryKeys
from ricordo.stores.memory.owner_data import MemoryData, OwnerData
from ricordo.stores.memory.people import MemoryPeople, MemoryTopics, MemoryVectors
from ricordo.stores.memory.turns import MemorySessions, MemoryTurns

__all__ = ["MemoryStore"]


class MemoryStore:
    """Keeps everything in the process."""

    def __init__(self) -> None:
        self._data = data = MemoryData()
        self._lock = data.lock
        self.turns = MemoryTurns(data)
        self.sessions = MemorySessions(data)
        self.topics = MemoryTopics(data)
        self.vectors = MemoryVectors(data)
        self.people = MemoryPeople(data)
        self.documents = MemoryDocuments(data)
        self.keys = MemoryKeys(data)
        self.jobs = MemoryJobs(data)
        self.items = MemoryItems(data)

    @property
    def location(self) -> str:
        return "memory:"

    @property
    def erase_notes(self) -> tuple[str, ...]:
        return ()

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        with self._lock:
            owners = self._data.of_tenant(tenant_id)
        return iter([data.owner for data in owners if not data.owner.is_reserved and not data.is_empty])

    def erase(self, owner: Owner) -> dict[str, int]:
        with self._lock:
            self._data.erasures[owner.key] = datetime.now(UTC)
            data = self._data.by_owner.pop(owner.key, OwnerData(owner))
            sessions = data.sessions.values()
            return {
                "sessions": len(sessions),
                "turns": sum(len(session.turns) for session in sessions),
                "receipts": sum(len(session.receipts) for session in sessions),
                "topics": sum(len(session.shelf.topics) for session in sessions),
                "blocks": sum(len(session.blocks) for session in sessions),
                "traces": sum(len(session.vectors) for session in sessions),
                "facts": sum(len(known.facts) for known in data.facts.values()),
                "summaries": sum(len(session.summaries) for session in sessions),
                "flags": len(data.flags),
                "documents": len(data.documents),
                "jobs": len(data.jobs),
                "keys": self.keys.drop_of(owner),
                "items": len(data.items),
            }

    def stats(self, tenant_id: str) -> StoreStats:
        with self._lock:
            owners = self._data.of_tenant(tenant_id)
            sessions = [session for data in owners for session in data.sessions.values()]
            turns = [turn for session in sessions for turn in session.turns]
            return StoreStats(
                users=sum(bool(data.sessions) for data in owners), sessions=len(sessions), turns=len(turns),
                open_turns=sum(turn.is_open for turn in turns),
                receipts=sum(len(session.receipts) for session in sessions),
                facts=sum(len(known.facts) for data in owners for known in data.facts.values()),
                summaries=sum(len(session.summaries) for session in sessions),
                flags=sum(len(data.flags) for data in owners), documents=sum(len(data.documents) for data in owners),
            )  # fmt: skip

    def integrity(self) -> Sequence[Damage]:
        return ()

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        from ricordo.stores.sqlite.store import copy_to_sqlite

        with self._lock:  # until the end, so that the copy is consistent
            owners = [data.owner for data in self._data.by_owner.values()]
            copy_to_sqlite(self, owners, path, progress, list(self._data.keys.values()), self._data.erasures)

    def without_waiting(self) -> AbstractContextManager[None]:
        return nullcontext()

    def health(self) -> StoreHealth:
        return StoreHealth("memory")

    def close(self) -> None:
        """Nothing to close; the data stays readable."""

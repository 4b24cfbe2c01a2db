"""The reference store: plain dictionaries behind one lock.

It states in the fewest words what every store must do, so it is the oracle of the tests, and a store for programs that
need no persistence. Nothing survives the process.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from ricordo.records.service import Damage, StoreHealth, StoreStats
from ricordo.records.turns import Owner
from ricordo.stores.memory.documents_keys_jobs import MemoryDocuments, MemoryItems, MemoryJobs, MemoryKeys
from ricordo.stores.memory.home import Home, Homes
from ricordo.stores.memory.people import MemoryPeople, MemoryTopics, MemoryVectors
from ricordo.stores.memory.turns import MemorySessions, MemoryTurns

__all__ = ["MemoryStore"]


class MemoryStore:
    """Keeps everything in the process."""

    def __init__(self) -> None:
        self._homes = homes = Homes()
        self._lock = homes.lock
        self.turns = MemoryTurns(homes)
        self.sessions = MemorySessions(homes)
        self.topics = MemoryTopics(homes)
        self.vectors = MemoryVectors(homes)
        self.people = MemoryPeople(homes)
        self.documents = MemoryDocuments(homes)
        self.keys = MemoryKeys(homes)
        self.jobs = MemoryJobs(homes)
        self.items = MemoryItems(homes)

    @property
    def location(self) -> str:
        return "memory:"

    @property
    def erase_notes(self) -> tuple[str, ...]:
        return ()

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        with self._lock:
            homes = self._homes.of_tenant(tenant_id)
        return iter([home.owner for home in homes if not home.owner.is_reserved and not home.is_empty])

    def erase(self, owner: Owner) -> dict[str, int]:
        with self._lock:
            self._homes.erasures[owner.key] = datetime.now(UTC)
            home = self._homes.by_owner.pop(owner.key, Home(owner))
            sessions = home.sessions.values()
            return {
                "sessions": len(sessions),
                "turns": sum(len(session.turns) for session in sessions),
                "receipts": sum(len(session.receipts) for session in sessions),
                "topics": sum(len(session.shelf.topics) for session in sessions),
                "blocks": sum(len(session.blocks) for session in sessions),
                "traces": sum(len(session.vectors) for session in sessions),
                "facts": sum(len(known.facts) for known in home.facts.values()),
                "summaries": sum(len(session.summaries) for session in sessions),
                "flags": len(home.flags),
                "documents": len(home.documents),
                "jobs": len(home.jobs),
                "keys": self.keys.drop_of(owner),
                "items": len(home.items),
            }

    def stats(self, tenant_id: str) -> StoreStats:
        with self._lock:
            homes = self._homes.of_tenant(tenant_id)
            sessions = [session for home in homes for session in home.sessions.values()]
            turns = [turn for session in sessions for turn in session.turns]
            return StoreStats(
                users=sum(bool(home.sessions) for home in homes), sessions=len(sessions), turns=len(turns),
                open_turns=sum(turn.is_open for turn in turns),
                receipts=sum(len(session.receipts) for session in sessions),
                facts=sum(len(known.facts) for home in homes for known in home.facts.values()),
                summaries=sum(len(session.summaries) for session in sessions),
                flags=sum(len(home.flags) for home in homes), documents=sum(len(home.documents) for home in homes),
            )  # fmt: skip

    def integrity(self) -> Sequence[Damage]:
        return ()

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        from ricordo.stores.sqlite.store import copy_to_sqlite

        with self._lock:  # until the end: what is copied is one moment
            owners = [home.owner for home in self._homes.by_owner.values()]
            copy_to_sqlite(self, owners, path, progress, list(self._homes.keys.values()), self._homes.erasures)

    def without_waiting(self) -> AbstractContextManager[None]:
        return nullcontext()

    def health(self) -> StoreHealth:
        return StoreHealth("memory")

    def close(self) -> None:
        """Nothing to close; the data stays readable."""

"""A store that keeps working while its database is away: writes are spooled to disk, chats read cached values.

In: a function that opens the store, and a directory. Out: a store with the same promises. A write to a session returns
once it is durable, in the database or on disk. All other calls raise StoreUnavailable until the database is back. A
call that must not overtake spooled writes waits until they are stored.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from ricordo.errors import StoreUnavailable
from ricordo.records.service import Damage, SpoolState, StoreHealth, StoreStats
from ricordo.records.turns import Owner
from ricordo.stores.protocols import Store
from ricordo.stores.spool.cache import RecentTurns
from ricordo.stores.spool.circuit_breaker import SpoolTimeouts
from ricordo.stores.spool.database import SpooledDatabase
from ricordo.stores.spool.spool import Replay, Spool
from ricordo.stores.spool.turns import SpooledSessions, SpooledTurns
from ricordo.stores.spool.unspooled_parts import (
    SpooledDocuments,
    SpooledItems,
    SpooledJobs,
    SpooledKeys,
    SpooledPeople,
    SpooledTopics,
    SpooledVectors,
)

__all__ = ["SpoolState", "SpoolTimeouts", "SpooledStore"]


class SpooledStore:
    """Any store with a spool in front of it.

    `open_store` is called until it succeeds, so that a program can start while the database is away. `open_probe`, if
    given, opens the same database once more, for the probes (a pool of one connection and a short timeout are enough).
    `scratch` is an empty in-memory store, such as a MemoryStore.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        directory: str | Path,
        *,
        scratch: Store,
        open_probe: Callable[[], Store] | None = None,
        timeouts: SpoolTimeouts | None = None,
        location: str = "a database that is away",
    ) -> None:
        recent = RecentTurns()
        self._spool = Spool(Path(directory), scratch, recent)
        self._database = database = SpooledDatabase(
            open_store, open_probe, self._spool, recent, timeouts or SpoolTimeouts(), location
        )
        self._connection = database.connection
        self._replay = Replay(self._spool, self._connection)
        self.turns = SpooledTurns(database)
        self.sessions = SpooledSessions(database)
        self.topics = SpooledTopics(database)
        self.vectors = SpooledVectors(database)
        self.people = SpooledPeople(database)
        self.documents = SpooledDocuments(database)
        self.keys = SpooledKeys(database)
        self.jobs = SpooledJobs(database)
        self.items = SpooledItems(database)
        try:
            self._spool.adopt()
            self._connection.start()
        except BaseException:
            self._connection.close()
            self._spool.close()
            raise
        if not self._connection.breaker.is_closed:
            database.breaker_changed(self._connection.breaker)
        self._replay.start()

    @property
    def location(self) -> str:
        return self._database.location

    @property
    def erase_notes(self) -> tuple[str, ...]:
        return self._connection.store.erase_notes if self._connection.store else ()

    def without_waiting(self) -> AbstractContextManager[None]:
        return self._connection.without_waiting()

    def health(self) -> StoreHealth:
        inner = self._connection.store.health() if self._connection.store else StoreHealth("postgresql")
        return replace(inner, spool=self._database.state)

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until the database answers and has stored everything; False if that takes longer."""
        return self._spool.pending.wait_for(lambda: not self._database.state.degraded, timeout)

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        return self._connection.call_here(lambda store: store.owners(tenant_id))

    def erase(self, owner: Owner) -> dict[str, int]:
        self._database.check_open()
        if not self._connection.breaker.is_closed:
            raise StoreUnavailable(
                f"user {owner.user_id!r} cannot be erased while the database is away; nothing was removed, try later"
            )
        with self._replay.sending:
            if not self._connection.wait_for_abandoned(self._database.timeouts.drain):
                raise StoreUnavailable(
                    f"user {owner.user_id!r} cannot be erased while calls are in progress that might write; nothing "
                    "was removed, try later"
                )
            spooled = self._spool.forget(owner)
            self._database.forget(owner)
            removed = self._connection.call_here(lambda store: store.erase(owner))
            spooled += self._spool.forget(owner)  # spooled meanwhile
            self._database.forget(owner)
        return removed | ({"spooled": spooled} if spooled else {})

    def stats(self, tenant_id: str) -> StoreStats:
        return self._connection.call_here(lambda store: store.stats(tenant_id))

    def integrity(self) -> Sequence[Damage]:
        return self._connection.call_here(lambda store: store.integrity())

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        if not self.settle(self._database.timeouts.drain):
            raise StoreUnavailable("spooled writes are pending, which a backup would miss; try again later")
        self._connection.call_here(lambda store: store.backup(path, progress))

    def close(self) -> None:
        if self._database.closed:
            return
        self._database.closed = True
        if self._database.process != os.getpid():
            return  # threads and files are the parent's
        if self._connection.breaker.is_closed:
            self.settle(self._database.timeouts.drain)
        self._replay.stop()
        self._connection.close()
        self._spool.close()

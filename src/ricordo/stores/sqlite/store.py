"""The SQLite store: one file, durable when a call returns, readable while others write.

Each part is a class in a file of its own, over the same connections. Here is what concerns the file as a whole: owners,
erasing an owner with every byte, statistics, integrity, backup.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from time import monotonic, sleep

from ricordo.errors import StoreUnavailable
from ricordo.records.service import Damage, StoreHealth, StoreStats
from ricordo.records.turns import Owner
from ricordo.stores.derived_rows import row_to_fact
from ricordo.stores.sqlite import people, service, snapshots, vectors
from ricordo.stores.sqlite import turn_statements as sql
from ricordo.stores.sqlite.connections import Connections, OnDemandTables
from ricordo.stores.sqlite.database import SCRUB_DUE, has_tables
from ricordo.stores.sqlite.items import ERASE_ITEMS, SqliteItems
from ricordo.stores.sqlite.people import SqlitePeople
from ricordo.stores.sqlite.service import SqliteDocuments, SqliteJobs, SqliteKeys
from ricordo.stores.sqlite.sessions import SqliteSessions, SqliteTurns
from ricordo.stores.sqlite.topics import SqliteTopics
from ricordo.stores.sqlite.vectors import SqliteVectors
from ricordo.stores.topic_rules import unpacked

OWNERS_AT_ONCE = 500
ERASED = (
    "sessions", "turns", "receipts", "topics", "blocks", "traces", "facts", "summaries", "flags",
    "documents", "jobs", "keys", "items",
)  # fmt: skip


class SqliteStore:
    """Keeps everything in one SQLite file. `wait` is how many seconds to wait for a locked file."""

    def __init__(self, path: Path | str, *, wait: float = 60.0) -> None:
        self._path = Path(path)
        self._wait = wait
        self._connections = connections = Connections(self._path, wait)
        self._service = OnDemandTables(connections, "service")
        self.turns = SqliteTurns(connections)
        self.sessions = SqliteSessions(connections)
        self.topics = SqliteTopics(connections)
        self.vectors = SqliteVectors(connections)
        self.people = SqlitePeople(connections)
        self.documents = SqliteDocuments(self._service)
        self.keys = SqliteKeys(self._service)
        self.jobs = SqliteJobs(self._service)
        self.items = SqliteItems(connections)
        with connections.reading() as reader:
            unfinished = scrub_is_due(reader)
        if unfinished:
            with suppress(StoreUnavailable):  # a reader holds old pages: the next open or erase finishes it
                self._scrub(patience=0)

    @property
    def location(self) -> str:
        return str(self._path)

    @property
    def erase_notes(self) -> tuple[str, ...]:
        return ("backups and copies made earlier still hold the text; delete or replace them",)

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        reached = b""
        while True:
            with self._connections.reading() as reader:
                tables = ["sessions", "facts"]
                tables += ["documents"] if self._service.are_in(reader) else []
                tables += ["ricordo_items"] if self.items.tables.are_in(reader) else []
                page = reader.execute(sql.owners_in(tables), (tenant_id, reached, OWNERS_AT_ONCE)).fetchall()
            if not page:
                return
            owners = [Owner(tenant_id, user_id) for _, user_id in page]
            yield from (owner for owner in owners if not owner.is_reserved)
            reached = page[-1][0]

    def erase(self, owner: Owner) -> dict[str, int]:
        unpacked.cache_clear()
        row_to_fact.cache_clear()
        gone = self._connections.write(lambda writer: erase_rows(writer, owner))
        self._scrub(self._wait)
        return gone

    def stats(self, tenant_id: str) -> StoreStats:
        values = {"tenant_id": tenant_id}
        with self._connections.reading() as reader:
            users, sessions, turns, open_turns, receipts = reader.execute(sql.STATS, values).fetchone()
            known = reader.execute(people.STATS, values).fetchone()
        for row in self._service.rows(service.STATS, values):
            known += row
        files = (Path(f"{self._path}{suffix}") for suffix in ("", "-wal"))
        size = sum(file.stat().st_size for file in files if file.exists())
        return StoreStats(users, sessions, turns, open_turns, receipts, size, *known)

    def integrity(self) -> Sequence[Damage]:
        with self._connections.reading():  # refuses if the store is closed
            return snapshots.integrity(self._path, self._wait)

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        with self._connections.reading() as reader:
            snapshots.backup(reader, path, progress)

    def restore(self, copy: snapshots.SessionCopy) -> None:
        """Write a session that is not here yet exactly as it was elsewhere: for a backup."""
        self._connections.write(lambda writer: snapshots.restore(writer, copy))

    def without_waiting(self) -> AbstractContextManager[None]:
        return nullcontext()

    def health(self) -> StoreHealth:
        return StoreHealth("sqlite")

    def close(self) -> None:
        self._connections.close()

    def _scrub(self, patience: float) -> None:
        """Let no erased byte remain; while a reader is in the way, others may write."""
        self._connections.write_alone(lambda writer: writer.execute("VACUUM"))
        give_up = monotonic() + patience
        while not self._connections.write_alone(empty_log):
            if monotonic() >= give_up:
                raise StoreUnavailable(
                    "the data is deleted, but a long read or backup still holds the write-ahead log that has its "
                    "bytes; end that read and erase again"
                )
            sleep(0.02)


def erase_rows(writer: sqlite3.Connection, owner: Owner) -> dict[str, int]:
    """Delete an owner and note in the same commit that the file must be scrubbed."""
    every = {**people.ERASE, **sql.ERASE}
    if has_tables(writer, "service"):
        every = {**service.ERASE, **every}
    if has_tables(writer, "items"):
        every = {"items": ERASE_ITEMS, **every}
    gone = dict.fromkeys(ERASED, 0) | {"traces": vectors.drop(writer, owner, keep=None)}
    gone |= {what: writer.execute(delete, (owner.key.bytes,)).rowcount for what, delete in every.items()}
    writer.execute(f"PRAGMA user_version = {SCRUB_DUE}")
    return {what: gone[what] for what in ERASED}


def scrub_is_due(connection: sqlite3.Connection) -> bool:
    """Whether an erasure was interrupted before its bytes were overwritten."""
    return bool(connection.execute("PRAGMA user_version").fetchone()[0] == SCRUB_DUE)


def empty_log(writer: sqlite3.Connection) -> bool:
    """Empty the write-ahead log, if no reader is in the way; one attempt that does not wait."""
    (waited,) = writer.execute("PRAGMA busy_timeout").fetchone()
    writer.execute("PRAGMA busy_timeout = 0").fetchall()
    try:
        if writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            return False
        writer.execute("PRAGMA user_version = 0")
        return True
    finally:
        writer.execute(f"PRAGMA busy_timeout = {waited}").fetchall()

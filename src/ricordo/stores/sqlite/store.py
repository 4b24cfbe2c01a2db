"""The SQLite store: one file, durable when a call returns, readable while others write.

Each part is a class in a file of its own, over the same connections. Here is what concerns the file as a whole: owners,
erasing an owner with every byte, statistics, integrity, backup; and the copy of any store into a new file.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from uuid import UUID

from ricordo.errors import ConflictError, StoreUnavailable
from ricordo.records.derived import TopicShelf
from ricordo.records.service import ApiKey, Damage, StoredItem, StoreHealth, StoreStats
from ricordo.records.turns import Owner, SessionInfo, Turn, TurnVectors
from ricordo.stores.derived_rows import kept_fact
from ricordo.stores.protocols import Store
from ricordo.stores.sqlite import backup, documents_keys_jobs, people, vectors
from ricordo.stores.sqlite import turn_statements as sql
from ricordo.stores.sqlite.backup import SessionCopy
from ricordo.stores.sqlite.connections import Connections, OnDemandTables
from ricordo.stores.sqlite.database import SCRUB_DUE, has_tables, make_tables
from ricordo.stores.sqlite.documents_keys_jobs import SqliteDocuments, SqliteJobs, SqliteKeys
from ricordo.stores.sqlite.items import SqliteItems
from ricordo.stores.sqlite.people import SqlitePeople
from ricordo.stores.sqlite.sessions import SqliteSessions, SqliteTurns
from ricordo.stores.sqlite.topics import SqliteTopics
from ricordo.stores.sqlite.vectors import SqliteVectors
from ricordo.stores.topic_rules import unpacked
from ricordo.stores.turn_rows import ENDLESS, kept_turn, micros
from ricordo.stores.write_rules import ERASED

OWNERS_AT_ONCE = 500
PAGE = 500  # rows read at once from a store that is copied
NOTE_ERASURE = """
INSERT INTO erasures (owner, erased_at) VALUES (?, ?)
ON CONFLICT (owner) DO UPDATE SET erased_at = max(erased_at, excluded.erased_at)
"""
TABLES = (
    *("facts", "people", "summaries", "flags", "blocks", "topics", "receipts", "passage_uses", "passages"),
    *("turns", "sessions", "owners"),
)
SERVICE_TABLES = ("chunks", "documents", "jobs", "api_keys")


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
        kept_turn.cache_clear()
        kept_fact.cache_clear()
        self.topics.forget_shelves()
        gone = self._connections.write(lambda writer: erase_rows(writer, owner))
        self._scrub(self._wait)
        return gone

    def stats(self, tenant_id: str) -> StoreStats:
        values = {"tenant_id": tenant_id}
        with self._connections.reading() as reader:
            users, sessions, turns, open_turns, receipts = reader.execute(sql.STATS, values).fetchone()
            known = reader.execute(people.STATS, values).fetchone()
        for row in self._service.rows(documents_keys_jobs.STATS, values):
            known += row
        files = (Path(f"{self._path}{suffix}") for suffix in ("", "-wal"))
        size = sum(file.stat().st_size for file in files if file.exists())
        return StoreStats(users, sessions, turns, open_turns, receipts, size, *known)

    def integrity(self) -> Sequence[Damage]:
        with self._connections.reading():  # refuses if the store is closed
            return backup.integrity(self._path, self._wait)

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        with self._connections.reading() as reader:
            backup.backup(reader, path, progress)

    def restore(self, copy: SessionCopy) -> None:
        """Write a session that is not here yet exactly as it was elsewhere: for a backup."""
        self._connections.write(lambda writer: backup.restore(writer, copy))

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
    items = ("ricordo_items",) if has_tables(writer, "items") else ()
    service = SERVICE_TABLES if has_tables(writer, "service") else ()
    note_erasures(writer, {owner.key: datetime.now(UTC)})
    gone = {"traces": vectors.drop(writer, owner, keep=None)}
    for table in (*items, *service, *TABLES):
        what = {"ricordo_items": "items", "api_keys": "keys"}.get(table, table)
        gone[what] = writer.execute(f"DELETE FROM {table} WHERE owner = ?", (owner.key.bytes,)).rowcount
    writer.execute(f"PRAGMA user_version = {SCRUB_DUE}")
    return {what: gone.get(what, 0) for what in ERASED}


def note_erasures(writer: sqlite3.Connection, erasures: Mapping[UUID, datetime]) -> None:
    """Record when owners were erased."""
    make_tables(writer, "erasures")
    writer.executemany(NOTE_ERASURE, [(key.bytes, micros(at)) for key, at in erasures.items()])


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


def copy_to_sqlite(
    source: Store,
    owners: Iterable[Owner],
    path: Path,
    progress: Callable[[int, int], None] | None = None,
    keys: Iterable[ApiKey] = (),
    erasures: Mapping[UUID, datetime] = MappingProxyType({}),
) -> None:
    """A backup of any store: all of the owners, API keys and erasures; `progress(done, total)` counts owners.

    Vectors are copied for the embedders that topics name; others are computed again when they are needed.
    """
    if path.exists():
        raise ConflictError(f"{path} exists already; name a new file for the backup")
    everyone = list(owners)
    partial = path.with_name(f"{path.name}.partial")
    target = SqliteStore(partial)
    try:
        for done, owner in enumerate(everyone, start=1):
            for session in _sessions(source, owner):
                shelf = source.topics.load(owner, session.id)
                copy = SessionCopy(
                    session, turns=_turns(source, session),
                    receipts=source.turns.receipts(owner, session.id, limit=session.last_turn), shelf=shelf,
                    blocks=source.topics.blocks(owner, session.id), vectors=_vectors(source, session, shelf),
                    summaries=source.people.summaries(owner, session_id=session.id, limit=ENDLESS),
                    learned_through=source.people.learned_through(owner, session.id),
                )  # fmt: skip
                target.restore(copy)
            known = [(agent_id, source.people.facts(owner, agent_id)) for agent_id in source.people.agents(owner)]
            target.people.restore(people.PersonCopy(owner, known, source.people.flags(owner, limit=ENDLESS)))
            for document in source.documents.page(owner, limit=ENDLESS):
                target.documents.put(owner, document, source.documents.chunks(owner, [document.id]))
            target.jobs.restore(source.jobs.page(owner))
            for items in _items(source, owner):
                target.items.restore(owner, items)
            if progress:
                progress(done, len(everyone))
        for key in keys:
            target.keys.put(key)
        if erasures:
            target._connections.write(lambda writer: note_erasures(writer, erasures))
        target.close()
        partial.rename(path)
    finally:
        target.close()
        for leftover in (partial, Path(f"{partial}-lock")):
            leftover.unlink(missing_ok=True)


def _sessions(source: Store, owner: Owner) -> Iterator[SessionInfo]:
    page = source.sessions.page(owner, limit=PAGE)
    while page:
        yield from page
        page = source.sessions.page(owner, limit=PAGE, before=page[-1])


def _turns(source: Store, session: SessionInfo) -> Iterator[Turn]:
    """From the newest back, a page at a time: a session may be longer than memory."""
    page = source.turns.page(session.owner, session.id, last=PAGE)
    while page:
        yield from page
        page = source.turns.page(session.owner, session.id, last=PAGE, before=page[0].turn_number)


def _vectors(source: Store, session: SessionInfo, shelf: TopicShelf) -> Iterator[TurnVectors]:
    for embedder in sorted({topic.embedder for topic in shelf.topics}):
        yield from source.vectors.read(session.owner, embedder, session.id)


def _items(source: Store, owner: Owner) -> Iterator[list[tuple[str, StoredItem]]]:
    """All items, a page at a time, expired ones included: at the beginning of time none had expired."""
    now = datetime.min.replace(tzinfo=UTC)
    page = source.items.page(owner, now, limit=PAGE)
    while page:
        yield page
        collection, last = page[-1]
        page = source.items.page(owner, now, after=(collection, last.place, last.key), limit=PAGE)

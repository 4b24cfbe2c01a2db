"""The SQLite store: one file, durable when a call returns, readable while others write.

Each method is one read or one write operation; the rows are in `writing` and `forgetting`, the statements in
`statements`, the shared commit in `connections`, what a fork needs in `forking`.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep

from ricordo.errors import StoreUnavailable
from ricordo.records.reports import Damage, Expired, StoreStats
from ricordo.records.topics import TopicChange, TopicShelf
from ricordo.records.turns import (
    Block,
    Message,
    Owner,
    SessionChanges,
    SessionInfo,
    SessionMark,
    StoredReceipt,
    TurnVectors,
    Turn,
)
from ricordo.stores import write_rules
from ricordo.stores.derived_rows import row_to_fact
from ricordo.stores.sqlite import (
    forget,
    people_statements,
    service_statements,
    snapshots,
    topics,
    turn_operations,
    vectors,
)
from ricordo.stores.sqlite import statements as sql
from ricordo.stores.sqlite.connections import Connections
from ricordo.stores.sqlite.database import serves, translated
from ricordo.stores.sqlite.people import SqlitePeople
from ricordo.stores.sqlite.service import SqliteDocuments, SqliteJobs, SqliteKeys
from ricordo.stores.topic_rules import unpacked
from ricordo.stores.turn_rows import ENDLESS, micros, row_to_session, row_to_turn

OWNERS_AT_ONCE = 500


class SqliteStore(SqlitePeople, SqliteDocuments, SqliteKeys, SqliteJobs):
    """Keeps everything in one SQLite file. `wait` is how many seconds a locked file is waited for."""

    def __init__(self, path: Path | str, *, wait: float = 60.0) -> None:
        self._path = Path(path)
        self._wait = wait
        self._connections = Connections(self._path, wait)
        with self._reading() as reader:
            scrub_is_due = forget.scrub_is_due(reader)
        if scrub_is_due:
            with suppress(StoreUnavailable):  # somebody reads old pages: the next open or erase finishes it
                self._scrub(patience=0)

    @property
    def location(self) -> str:
        return str(self._path)

    @property
    def erase_notes(self) -> tuple[str, ...]:
        return ("backups and copies made earlier still hold the text; delete or replace them",)

    def append(self, turn: Turn, *, expected: int | None = None, receipt: StoredReceipt | None = None) -> Turn:
        write = self._connections.write
        try:
            return write(lambda writer: turn_operations.append_new(writer, turn, expected, receipt))
        except turn_operations.TurnIdTaken:
            return write(lambda writer: turn_operations.append_known(writer, turn, expected, receipt))

    def answer(
        self,
        owner: Owner,
        turn_id: str,
        answer: Message,
        metadata: dict[str, object],
        receipt: StoredReceipt | None,
    ) -> Turn:
        return self._connections.write(
            lambda writer: turn_operations.answer(writer, owner, turn_id, answer, metadata, receipt)
        )

    def add_message(self, turn: Turn) -> Turn:
        return self._connections.write(lambda writer: turn_operations.add_message(writer, turn))

    def load(self, session: SessionInfo, turns: Iterable[Turn]) -> tuple[int, int]:
        prepared = write_rules.prepared(session, turns)
        return self._connections.write(lambda writer: turn_operations.load(writer, session, prepared))

    def restore(self, copy: snapshots.SessionCopy) -> None:
        """Write a session that is not here yet exactly as it was elsewhere: a backup's way in."""
        self._connections.write(lambda writer: snapshots.restore(writer, copy))

    def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        found = self._read_turns(owner, sql.TURN_BY_ID, (owner.key.bytes, turn_id))
        return found[0] if found else None

    def turns_by_id(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        return self._read_turns(owner, sql.TURNS_BY_ID, (owner.key.bytes, json.dumps(list(turn_ids))))

    def turns(
        self,
        owner: Owner,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Sequence[Turn]:
        bounds = (0 if after is None else after, ENDLESS if before is None else before, -1 if last is None else last)
        found = self._read_turns(owner, sql.TURNS, (owner.key.bytes, session_id, *bounds))
        found.reverse()
        return found

    def session(self, owner: Owner, session_id: str) -> SessionInfo | None:
        with self._reading() as reader:
            return turn_operations.find_session(reader, owner, session_id)

    def sessions(
        self, owner: Owner, *, limit: int, agent_id: str | None = None, before: SessionInfo | None = None
    ) -> Sequence[SessionInfo]:
        values = {
            "owner": owner.key.bytes,
            "active": ENDLESS if before is None else micros(before.last_active_at),
            "session_id": "" if before is None else before.id,
            "agent_id": agent_id,
            "limit": limit,
        }
        with self._reading() as reader:
            rows = reader.execute(sql.SESSIONS, values).fetchall()
        return [row_to_session(owner, row) for row in rows]

    def update_session(self, owner: Owner, session_id: str, changes: SessionChanges) -> SessionInfo | None:
        return self._connections.write(
            lambda writer: turn_operations.update_session(writer, owner, session_id, changes)
        )

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        reached = b""
        while True:
            with self._reading() as reader:
                every = sql.OWNERS_SERVED if serves(reader) else sql.OWNERS
                page = reader.execute(every, (tenant_id, reached, OWNERS_AT_ONCE)).fetchall()
            if not page:
                return
            owners = [Owner(tenant_id, user_id) for _, user_id in page]
            yield from (owner for owner in owners if not owner.is_reserved)
            reached = page[-1][0]

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        with self._reading() as reader:
            return snapshots.receipts(reader, owner, session_id, turn_number, limit)

    def clear(self, owner: Owner, session_id: str) -> int | None:
        return self._connections.write(lambda writer: forget.clear(writer, owner, session_id))

    def delete_session(self, owner: Owner, session_id: str) -> int | None:
        return self._connections.write(lambda writer: forget.delete_session(writer, owner, session_id))

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        bounds = [-ENDLESS if moment is None else micros(moment) for moment in (turns_before, idle_before)]
        with self._reading() as reader:
            due = forget.due(reader, owner, bounds[0], bounds[1], batch)
        if not due:
            return Expired()
        return self._connections.write(lambda writer: forget.expire(writer, owner, due, bounds[0], bounds[1], batch))

    def erase(self, owner: Owner) -> dict[str, int]:
        unpacked.cache_clear()
        row_to_fact.cache_clear()
        gone = self._connections.write(lambda writer: forget.erase(writer, owner))
        self._scrub(self._wait)
        return gone

    # Topics, archive, traces

    def topics(self, owner: Owner, session_id: str) -> TopicShelf:
        with self._reading() as reader, snapshots.one_view(reader):
            return topics.shelf(reader, topics.key_of(owner, session_id))

    def put_topics(self, owner: Owner, session_id: str, change: TopicChange) -> bool:
        key = topics.key_of(owner, session_id)
        return self._connections.write(lambda writer: topics.put_topics(writer, key, change))

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        with self._reading() as reader:
            return topics.turns_of(reader, topics.key_of(owner, session_id), topic_id)

    def archive(self, owner: Owner, session_id: str, block: Block) -> bool:
        return self._connections.write(lambda writer: topics.archive(writer, owner, session_id, block))

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        with self._reading() as reader:
            return topics.blocks(reader, topics.key_of(owner, session_id), topic_id)

    def rehydrate(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._connections.write(lambda writer: topics.rehydrate(writer, owner, session_id, turn_numbers))

    def release(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._connections.write(lambda writer: topics.release(writer, owner, session_id, turn_numbers))

    def delete_turns(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._connections.write(lambda writer: forget.delete_turns(writer, owner, session_id, turn_numbers))

    def marks(self, owner: Owner) -> dict[str, SessionMark]:
        with self._reading() as reader:
            return topics.marks(reader, owner)

    def traces(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        with self._reading() as reader:
            return iter(vectors.traces(reader, owner, embedder, session_id))

    def keep_traces(self, owner: Owner, traces: Sequence[TurnVectors]) -> None:
        self._connections.write(lambda writer: vectors.keep_traces(writer, owner, traces))

    def drop_traces(self, owner: Owner, *, keep: str) -> int:
        return self._connections.write(lambda writer: vectors.drop_traces(writer, owner, keep))

    def stats(self, tenant_id: str) -> StoreStats:
        with self._reading() as reader:
            users, sessions, turns, open_turns, receipts = reader.execute(
                sql.STATS, {"tenant_id": tenant_id}
            ).fetchone()
            known = reader.execute(people_statements.STATS, {"tenant_id": tenant_id}).fetchone()
        for row in self._found(service_statements.STATS, {"tenant_id": tenant_id}):
            known += row
        files = (Path(f"{self._path}{suffix}") for suffix in ("", "-wal"))
        size = sum(file.stat().st_size for file in files if file.exists())
        return StoreStats(users, sessions, turns, open_turns, receipts, size, *known)

    def integrity(self) -> Sequence[Damage]:
        with self._reading():  # a store that was closed says so
            return snapshots.integrity(self._path, self._wait)

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        with self._reading() as reader:
            snapshots.backup(reader, path, progress)

    def close(self) -> None:
        self._connections.close()

    def _scrub(self, patience: float) -> None:
        """Let no erased byte remain; while a reader is in the way, others may write."""
        self._connections.write_alone(forget.rebuild_file)
        give_up = monotonic() + patience
        while not self._connections.write_alone(forget.empty_log):
            if monotonic() >= give_up:
                raise StoreUnavailable(
                    "the data is deleted, but a long read or backup still holds the write-ahead log that has its "
                    "bytes; end that read and erase again"
                )
            sleep(0.02)

    def _read_turns(self, owner: Owner, statement: str, values: tuple[object, ...]) -> list[Turn]:
        # The hot path of every prompt: no context manager, no generator.
        connections = self._connections
        reader = connections.reader()
        try:
            rows = reader.execute(statement, values).fetchall()
            for row in rows:
                if row[-1] is not None:  # in a block: rows and blocks have to be seen at the same moment
                    with snapshots.one_view(reader):
                        return topics.to_turns(reader, owner, reader.execute(statement, values).fetchall())
        except (sqlite3.Error, UnicodeError) as error:
            raise translated(error, self._path) from error
        finally:
            connections.give_back(reader)
        return [row_to_turn(owner, row) for row in rows]

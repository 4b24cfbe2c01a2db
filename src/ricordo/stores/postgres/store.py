"""The PostgreSQL store: every promise of `ricordo.stores.protocols.Store`, kept by one database for many programs.

In: a URL. Out: a store whose schema is up to date and whose every transaction is walled to one owner by row-level
security. Reads of turns and sessions are here, topics, traces and people beside; writing and forgetting are scripts of
their own.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import UUID

from ricordo.errors import DamageError, NotFoundError
from ricordo.records.reports import Damage, Expired, StoreStats
from ricordo.records.turns import Message, Owner, SessionChanges, SessionInfo, StoredReceipt, Turn
from ricordo.stores import write_rules
from ricordo.stores.derived_rows import row_to_fact
from ricordo.stores.postgres import forget, health, schema, statements, topic_operations, turn_operations
from ricordo.stores.postgres.health import Snapshot, snapshot
from ricordo.stores.postgres.people import PostgresPeople
from ricordo.stores.postgres.pool import Pool
from ricordo.stores.postgres.row_security import LONG, raise_wall
from ricordo.stores.postgres.service import PostgresDocuments, PostgresJobs, PostgresKeys
from ricordo.stores.postgres.topics import PostgresTopics
from ricordo.stores.postgres.transaction import Cursor, Row, Transaction
from ricordo.stores.postgres.vectors import PostgresTraces
from ricordo.stores.topic_rules import unpacked
from ricordo.stores.turn_rows import ENDLESS, micros, row_to_session

PAGE = 500  # owners listed per round trip
_NOBODY = UUID(int=0)


class PostgresStore(PostgresTopics, PostgresTraces, PostgresPeople, PostgresDocuments, PostgresKeys, PostgresJobs):
    """Keeps everything in PostgreSQL 15 or later.

    `timeout` bounds, in seconds, how long a call waits for a connection and for the server. Behind a pooler that
    hands every transaction to another server connection, pass `prepare_threshold=None`.
    """

    erase_notes: tuple[str, ...] = (
        "the rows are deleted; PostgreSQL keeps their bytes in its files until the tables are written anew (run "
        "VACUUM FULL; VACUUM alone only frees them) and in its log until that is recycled, and copies in replicas, "
        "base backups and archived logs follow the operator's retention",
    )

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 8,
        timeout: float = 10.0,
        prepare_threshold: int | None = 5,
        require_wall: bool = True,
    ) -> None:
        self._pool = Pool(url, size=pool_size, timeout=timeout, prepare_threshold=prepare_threshold)
        try:
            with self._pool.lease(monotonic() + timeout) as connection:
                connection.deadline = monotonic() + LONG
                self._wall = raise_wall(schema.prepare(connection), required=require_wall)
        except BaseException:
            self._pool.close()
            raise
        self._runner = self._pool

    @property
    def location(self) -> str:
        return self._pool.location

    def append(self, turn: Turn, *, expected: int | None = None, receipt: StoredReceipt | None = None) -> Turn:
        attempts = count()
        return self._or_repeat(
            turn, lambda tx: turn_operations.append(tx, turn, expected, receipt, look=next(attempts) > 0), receipt
        )

    def add_message(self, turn: Turn) -> Turn:
        return self._or_repeat(turn, lambda transaction: turn_operations.add_message(transaction, turn), None)

    def answer(
        self,
        owner: Owner,
        turn_id: str,
        answer: Message,
        metadata: dict[str, object],
        receipt: StoredReceipt | None,
    ) -> Turn:
        merge = partial(write_rules.merge_answer, answer=answer, metadata=metadata)
        answered = self._run(owner, lambda tx: turn_operations.rewrite(tx, owner, turn_id, merge, receipt))
        if answered is None:
            raise NotFoundError(f"turn {turn_id!r} does not exist for this user; ask first")
        return answered

    def load(self, session: SessionInfo, turns: Iterable[Turn]) -> tuple[int, int]:
        coming = write_rules.prepared(session, turns)
        return self._run(session.owner, lambda tx: turn_operations.load(tx, session, coming), patience=LONG)

    def update_session(self, owner: Owner, session_id: str, changes: SessionChanges) -> SessionInfo | None:
        return self._run(owner, lambda tx: turn_operations.update_session(tx, owner, session_id, changes))

    def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        rows = self._read(owner, statements.TURN_BY_ID, turn_id=turn_id)
        return next(iter(topic_operations.to_turns(owner, rows)), None)

    def turns_by_id(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        return tuple(
            topic_operations.to_turns(owner, self._read(owner, statements.TURNS_BY_ID, turn_ids=list(turn_ids)))
        )

    def turns(
        self,
        owner: Owner,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Sequence[Turn]:
        rows = self._read(
            owner,
            statements.TURNS,
            session_id=session_id,
            last=None if last is None else _counted(last),
            before=ENDLESS if before is None else _counted(before),
            after=0 if after is None else _counted(after),
        )
        return tuple(topic_operations.to_turns(owner, reversed(rows)))

    def session(self, owner: Owner, session_id: str) -> SessionInfo | None:
        rows = self._read(owner, statements.SESSION, session_id=session_id)
        return row_to_session(owner, rows[0]) if rows else None

    def sessions(
        self, owner: Owner, *, limit: int, agent_id: str | None = None, before: SessionInfo | None = None
    ) -> Sequence[SessionInfo]:
        page: dict[str, Any] = {"agent_id": agent_id, "limit": _counted(limit)}
        if before is None:
            rows = self._read(owner, statements.SESSIONS, **page)
        else:
            place = {"before_active_at": micros(before.last_active_at), "before_id": before.id}
            rows = self._read(owner, statements.SESSIONS_BEFORE, **page, **place)
        return tuple(row_to_session(owner, row) for row in rows)

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        here = {"owner": owner.key, "session_id": session_id}

        def read(transaction: Transaction) -> tuple[StoredReceipt, ...]:
            page = {**here, "turn_number": turn_number, "limit": _counted(limit)}
            found = transaction.send(statements.RECEIPTS, page).fetchall()
            named = {number: _named(session_id, number, body) for number, body in found}
            every = sorted(set().union(*named.values()))
            passages: dict[str, str] = dict(
                transaction.send(statements.PASSAGES, {**here, "digests": every}).fetchall()
            )
            return tuple(
                StoredReceipt(
                    session_id, number, body, {name: passages[name] for name in named[number] & passages.keys()}
                )
                for number, body in found
            )

        return self._run(owner, read, repeatable=True)

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        return (owner for page in self._pages(tenant_id) for owner in page if not owner.is_reserved)

    def clear(self, owner: Owner, session_id: str) -> int | None:
        return self._patiently(owner, lambda tx: forget.clear(tx, owner, session_id))

    def delete_session(self, owner: Owner, session_id: str) -> int | None:
        return self._patiently(owner, lambda tx: forget.delete_session(tx, owner, session_id))

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        aged = micros(turns_before) if turns_before else -ENDLESS
        idle = micros(idle_before) if idle_before else -ENDLESS
        if self._read(owner, statements.ANYTHING_EXPIRED, turns_before=aged, idle_before=idle) == [(False,)]:
            return Expired()  # most users, most of the time: one round trip
        return self._patiently(owner, lambda tx: forget.expire(tx, owner, aged, idle, max(1, batch)))

    def erase(self, owner: Owner) -> dict[str, int]:
        unpacked.cache_clear()
        row_to_fact.cache_clear()
        return self._patiently(owner, lambda tx: forget.erase(tx, owner))

    def stats(self, tenant_id: str) -> StoreStats:
        rows = [row for page in self._pages(tenant_id) for row in self._counts(page)]
        users = sum(row[0] > 0 for row in rows)
        sessions, turns, open_turns, receipts, *known = (sum(row[column] for row in rows) for column in range(8))
        size = self._runner.run((), lambda tx: tx.send(health.SIZE, {}), repeatable=True).fetchone()
        return StoreStats(users, sessions, turns, open_turns, receipts, size[0] if size else None, *known)

    def integrity(self) -> Sequence[Damage]:
        found = self._runner.run((), health.damages, repeatable=True, patience=LONG)
        return found + self._runner.run(self._wall.around_names(), health.wrong_keys, repeatable=True, patience=LONG)

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        from ricordo.stores.backup import copy_to_sqlite

        with snapshot(self._pool) as moment:
            then = self._at(moment)
            names = moment.run(self._wall.around_names(), lambda tx: tx.send(statements.ALL_OWNERS, {}))
            copy_to_sqlite(then, [Owner(*row) for row in names.fetchall()], path, progress, then._all_keys())

    def close(self) -> None:
        self._pool.close()

    def _at(self, moment: Snapshot) -> "PostgresStore":
        """This store as it is at one moment; for reading."""
        store = object.__new__(PostgresStore)
        store._pool, store._wall, store._runner = self._pool, self._wall, moment
        return store

    def _or_repeat(self, turn: Turn, work: Callable[[Transaction], Turn | None], receipt: StoredReceipt | None) -> Turn:
        """The turn that the work writes, or, its id being there already, what the repetition makes of it."""
        merge = partial(write_rules.merge_repeat, turn)
        while True:
            written = self._run(turn.owner, work) or self._run(
                turn.owner, lambda tx: turn_operations.rewrite(tx, turn.owner, turn.id, merge, receipt)
            )
            if written is not None:  # else the stored turn was deleted between the two: it is new again
                return written

    def _pages(self, tenant_id: str) -> Iterator[list[Owner]]:
        """A tenant's users and its library, a page at a time."""
        wall, last = self._wall.around_tenant(tenant_id), _NOBODY
        while True:
            place = {"tenant_id": tenant_id, "after": last, "limit": PAGE}
            rows = self._runner.run(
                wall, partial(Transaction.send, statement=statements.OWNERS_OF_TENANT, values=place), repeatable=True
            ).fetchall()
            if not rows:
                return
            yield [Owner(tenant_id, user_id) for _, user_id in rows]
            last = rows[-1][0]

    def _counts(self, page: list[Owner]) -> list[Row]:
        """What each of these owners has, from sessions to flags; all asked in one round trip."""

        def ask(transaction: Transaction) -> list[Cursor]:
            cursors = []
            for owner in page:
                transaction.within(self._wall.around_owner(owner.key))
                cursors.append(transaction.send(statements.COUNTS, {"owner": owner.key}))
            return cursors

        return [row for cursor in self._runner.run((), ask, repeatable=True, patience=LONG) for row in cursor]


def _counted(number: int) -> int:
    """A number that a bigint holds; beyond it there is nothing to find."""
    return max(0, min(number, ENDLESS))


def _named(session_id: str, number: int, body: str) -> set[str]:
    """Every text that a receipt says; those that are digests name its passages."""
    try:
        return set(_texts(json.loads(body)))
    except (ValueError, RecursionError) as error:
        raise DamageError(
            f"the receipt of turn {number} of session {session_id!r} cannot be read back ({error}); run verify"
        ) from error


def _texts(value: Any) -> Iterator[str]:
    """Every text value in a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)

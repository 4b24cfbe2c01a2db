"""The PostgreSQL store: `ricordo.stores.protocols.Store` on one database that many programs may use.

In: a URL. Out: a store with an up-to-date schema, in which row-level security restricts every transaction to one owner.
Each part is a class in a module of its own; here is what concerns all parts.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from uuid import UUID

from ricordo.records.service import Damage, StoreHealth, StoreStats
from ricordo.records.turns import Owner
from ricordo.stores.derived_rows import kept_fact
from ricordo.stores.postgres import owner_statements, schema
from ricordo.stores.postgres.documents_keys_jobs import PostgresDocuments, PostgresJobs, PostgresKeys
from ricordo.stores.postgres.items import PostgresItems
from ricordo.stores.postgres.people import PostgresPeople, first_row
from ricordo.stores.postgres.pool import ConnectionPool, is_pooled, options_of, snapshot
from ricordo.stores.postgres.replica import READ_LAG, ReadReplica
from ricordo.stores.postgres.sessions import PostgresSessions
from ricordo.stores.postgres.topics import PostgresTopics, PostgresVectors
from ricordo.stores.postgres.transaction import LONG_TIMEOUT, Cursor, OwnerTransactions, Transaction, row_security_for
from ricordo.stores.postgres.turns import PostgresTurns, erasure_lock
from ricordo.stores.topic_rules import unpacked
from ricordo.stores.turn_rows import kept_turn, micros
from ricordo.stores.turn_rows import moment as to_moment
from ricordo.stores.write_rules import ERASED

OWNERS_PER_PAGE = 500
POOL_SIZE, TIMEOUT, PREPARE_THRESHOLD = 8, 10.0, 5
_BEFORE_ALL = UUID(int=0)

_COUNTED = ("facts", "summaries", "flags", "documents")


class PostgresStore:
    """Keeps everything in PostgreSQL 15 or later.

    `timeout` is how many seconds a call waits for a connection and for the server. If a pooler is detected, no
    statement is prepared. `pool_size`, `timeout` and `prepare_threshold` may also be parameters of the URL; an argument
    overrides them. The parameters `read_url` and `read_lag` name a replica for searches.
    """

    erase_notes: tuple[str, ...] = (
        "the rows are deleted; PostgreSQL keeps their bytes in its files until the tables are written anew (run "
        "VACUUM FULL; VACUUM alone only frees them) and in its log until that is recycled, and copies in replicas, "
        "base backups and archived logs follow the operator's retention",
        "a machine that keeps writes in its spool while it cannot reach the database keeps theirs until it can; then "
        "they are deleted there, and not stored",
    )

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = POOL_SIZE,
        timeout: float = TIMEOUT,
        prepare_threshold: int | None = PREPARE_THRESHOLD,
        require_wall: bool = True,
    ) -> None:
        options = options_of(url)
        pool_size = options.get("pool_size", pool_size) if pool_size == POOL_SIZE else pool_size
        timeout = options.get("timeout", timeout) if timeout == TIMEOUT else timeout
        if prepare_threshold == PREPARE_THRESHOLD:
            prepare_threshold = options.get("prepare_threshold", prepare_threshold)
        self._pool = ConnectionPool(url, size=pool_size, timeout=timeout, prepare_threshold=prepare_threshold)
        try:
            with self._pool.lease(monotonic() + timeout) as connection:
                connection.deadline = monotonic() + LONG_TIMEOUT
                security = row_security_for(schema.prepare(connection), required=require_wall)
                pooled = prepare_threshold is None or is_pooled(connection)
                if pooled:
                    self._pool.stop_preparing(connection)
                direct = not security.citus and not pooled
                if direct and security.role:
                    self._pool.adopt(security.role, connection)
                    security = replace(security, kept=True)
        except BaseException:
            self._pool.close()
            raise
        self._replication = schema.ReplicationWatch(self._pool)
        self._replica: ReadReplica | None = None
        if "read_url" in options and not security.citus:
            replica = ConnectionPool(options["read_url"], size=pool_size, timeout=timeout, prepare_threshold=None)
            lag = options.get("read_lag") or options_of(options["read_url"]).get("read_lag", READ_LAG)
            self._replica = ReadReplica(self._pool, replica, security, lag=lag, timeout=timeout)
        self._use(OwnerTransactions(self._pool, security, self._pool.fetch if direct else None, self._replica))

    def _use(self, transactions: OwnerTransactions) -> None:
        """Make the parts."""
        self._transactions = transactions
        self.turns = PostgresTurns(transactions)
        self.sessions = PostgresSessions(transactions)
        self.topics = PostgresTopics(transactions)
        self.vectors = PostgresVectors(transactions)
        self.people = PostgresPeople(transactions)
        self.documents = PostgresDocuments(transactions)
        self.keys = PostgresKeys(transactions)
        self.jobs = PostgresJobs(transactions)
        self.items = PostgresItems(transactions)

    @property
    def location(self) -> str:
        return self._pool.location

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        return (owner for page in self._pages(tenant_id) for owner in page if not owner.is_reserved)

    def erase(self, owner: Owner) -> dict[str, int]:
        unpacked.cache_clear()
        kept_turn.cache_clear()
        kept_fact.cache_clear()
        return self._transactions.run_long(owner, lambda tx: _erase(tx, owner))

    def stats(self, tenant_id: str) -> StoreStats:
        settings = self._transactions.security.for_statistics(tenant_id)
        mine = {"tenant_id": tenant_id}

        def read(transaction: Transaction) -> list[Cursor]:
            counts = [owner_statements.COUNT_OF_TENANT.format(table=table) for table in _COUNTED]
            return [transaction.send(statement, mine) for statement in (owner_statements.STATISTICS, *counts)]

        first, *others = self._pool.run(settings, read, repeatable=True, timeout=LONG_TIMEOUT)
        (users, sessions, turns, open_turns, receipts), *_ = first.fetchall()
        known = [count for cursor in others for (count,) in cursor]
        statement = schema.CITUS_SIZE if self._transactions.security.citus else schema.SIZE
        size = self._pool.run((), lambda tx: tx.send(statement, {}), repeatable=True).fetchone()
        return StoreStats(users, sessions, turns, open_turns, receipts, size[0] if size else None, *known)

    def integrity(self) -> Sequence[Damage]:
        names = self._transactions.security.for_backup()
        found = self._pool.run((), schema.damages, repeatable=True, timeout=LONG_TIMEOUT)
        return found + self._pool.run(names, schema.wrong_keys, repeatable=True, timeout=LONG_TIMEOUT)

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        from ricordo.stores.sqlite.store import copy_to_sqlite

        security = self._transactions.security
        with snapshot(self._pool) as moment:
            then = object.__new__(PostgresStore)  # this store as it is now, for reading
            then._pool = self._pool
            then._use(OwnerTransactions(moment, security))
            names = moment.run(security.for_backup(), lambda tx: tx.send(owner_statements.ALL_OWNERS, {}))
            erased = moment.run(security.for_backup(), lambda tx: tx.send(owner_statements.ALL_ERASURES, {}))
            erasures = {key: to_moment(at) for key, at in erased.fetchall()}
            owners = [Owner(*row) for row in names.fetchall()]
            copy_to_sqlite(then, owners, path, progress, then.keys.every(), erasures)

    def without_waiting(self) -> AbstractContextManager[None]:
        return nullcontext()

    def health(self) -> StoreHealth:
        replica = self._replica.state() if self._replica else None
        return StoreHealth("postgresql", replication=self._replication.last_seen(), read_replica=replica)

    def close(self) -> None:
        if self._replica:
            self._replica.close()
        self._pool.close()

    def _pages(self, tenant_id: str) -> Iterator[list[Owner]]:
        """A tenant's users and its library, a page at a time."""
        settings, last = self._transactions.security.for_tenant(tenant_id), _BEFORE_ALL
        while True:
            place = {"tenant_id": tenant_id, "after": last, "limit": OWNERS_PER_PAGE}
            send = partial(Transaction.send, statement=owner_statements.OWNERS_OF_TENANT, values=place)
            rows = self._pool.run(settings, send, repeatable=True).fetchall()
            if not rows:
                return
            yield [Owner(tenant_id, user_id) for _, user_id in rows]
            last = rows[-1][0]


def _erase(transaction: Transaction, owner: Owner) -> dict[str, int]:
    """Delete everything of an owner; returns how many rows of each kind."""
    mine = {"owner": owner.key}
    transaction.send(owner_statements.LOCK_ERASURES, {"lock": erasure_lock(owner)})
    transaction.send(owner_statements.NOTE_ERASURE, {**mine, "now": micros(datetime.now(UTC))})
    transaction.send(owner_statements.ADD_OWNER, {**mine, "tenant_id": owner.tenant_id, "user_id": owner.user_id})
    # An owner without a row cannot be locked, and a concurrent append could add the row.
    first_row(transaction.send(owner_statements.LOCK_OWNER, mine))
    transaction.send(owner_statements.LOCK_ALL_SESSIONS, mine)
    deleted = {table: transaction.send(statement, mine) for table, statement in owner_statements.ERASE.items()}
    return {name: transaction.count(deleted["api_keys" if name == "keys" else name]) for name in ERASED}

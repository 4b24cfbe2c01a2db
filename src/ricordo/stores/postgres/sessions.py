"""Sessions: their fields, and deletion on request or by retention. Each method is one read or one script.

Scripts run in one transaction restricted to their owner. Rows are deleted at the commit; the server keeps their bytes
in its files and logs until the operator vacuums.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ricordo.records.service import Expired
from ricordo.records.turns import Owner, SessionChanges, SessionInfo, SessionMark
from ricordo.stores import write_rules
from ricordo.stores.derived_rows import rows_to_marks
from ricordo.stores.postgres import derived_statements, owner_statements, people, topics
from ricordo.stores.postgres import turn_statements as sql
from ricordo.stores.postgres.transaction import Cursor, PostgresPart, Transaction, as_bigint, long_script
from ricordo.stores.postgres.turns import lock_session, session_row, unless_erased
from ricordo.stores.turn_rows import ENDLESS, SESSION_ROWS, micros
from ricordo.stores.write_rules import grouped


class PostgresSessions(PostgresPart):
    """`SessionStore` on PostgreSQL."""

    def get(self, owner: Owner, session_id: str) -> SessionInfo | None:
        rows = self._transactions.read(owner, sql.SESSION, session_id=session_id)
        return SESSION_ROWS.read(rows[0], owner=owner) if rows else None

    def page(
        self,
        owner: Owner,
        *,
        limit: int,
        agent_id: str | None = None,
        tag: str | None = None,
        before: SessionInfo | None = None,
    ) -> Sequence[SessionInfo]:
        page: dict[str, Any] = {"agent_id": agent_id, "tag": tag, "limit": as_bigint(limit)}
        if before is None:
            rows = self._transactions.read(owner, sql.SESSIONS, **page)
        else:
            place = {"before_active_at": micros(before.last_active_at), "before_id": before.id}
            rows = self._transactions.read(owner, sql.SESSIONS_BEFORE, **page, **place)
        return tuple(SESSION_ROWS.read(row, owner=owner) for row in rows)

    def marks(self, owner: Owner) -> dict[str, SessionMark]:
        return rows_to_marks(self._transactions.read_lagging(owner, sql.SESSION_MARKS))

    def update(
        self, owner: Owner, session_id: str, changes: SessionChanges, *, acknowledged_at: datetime | None = None
    ) -> SessionInfo | None:
        script = unless_erased(owner, acknowledged_at, lambda tx: _update(tx, owner, session_id, changes))
        return self._transactions.run(owner, script)

    @long_script
    def clear(self, transaction: Transaction, owner: Owner, session_id: str) -> int | None:
        here = {"owner": owner.key, "session_id": session_id}
        if not lock_session(transaction, owner, session_id):
            return None
        people.unlearn(transaction, owner, session_id)
        turns = _delete_content(transaction, owner, [session_id])
        transaction.send(sql.EMPTY_SESSION, here)
        return transaction.count(turns)

    @long_script
    def delete(self, transaction: Transaction, owner: Owner, session_id: str) -> int | None:
        if not people.lock_owner(transaction, owner) or not lock_session(transaction, owner, session_id):
            return None
        people.unlearn(transaction, owner, session_id)
        turns = _delete_content(transaction, owner, [session_id])
        transaction.send(sql.DELETE_SESSIONS, {"owner": owner.key, "session_ids": [session_id]})
        people.delete_idle_owner(transaction, owner)
        return transaction.count(turns)

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        aged = micros(turns_before) if turns_before else -ENDLESS
        idle = micros(idle_before) if idle_before else -ENDLESS
        rows = self._transactions.read(owner, sql.ANYTHING_EXPIRED, turns_before=aged, idle_before=idle)
        gone = Expired()
        if rows != [(False,)]:
            gone = self._transactions.run_long(owner, lambda tx: _expire(tx, owner, aged, idle, max(1, batch)))
        if not gone.more:
            self._transactions.run_long(owner, lambda tx: _note_oldest(tx, owner))
        return gone

    def due(self, tenant_id: str, *, turns_before: datetime | None, idle_before: datetime | None) -> Sequence[Owner]:
        values = {
            "tenant_id": tenant_id,
            "turns_before": micros(turns_before) if turns_before else -ENDLESS,
            "idle_before": micros(idle_before) if idle_before else -ENDLESS,
        }
        rows = self._transactions.read_with(
            self._transactions.security.for_tenant(tenant_id), owner_statements.DUE_OWNERS, **values
        )
        found = (Owner(tenant_id, user_id) for _, user_id in sorted(rows))
        return tuple(owner for owner in found if not owner.is_reserved)

    def notes(self, owner: Owner, session_id: str) -> Sequence[str]:
        return ()


def _update(transaction: Transaction, owner: Owner, session_id: str, changes: SessionChanges) -> SessionInfo | None:
    row = transaction.send(sql.LOCK_SESSION, {"owner": owner.key, "session_id": session_id}).fetchone()
    if row is None:
        transaction.rollback()
        return None
    changed = write_rules.changed(SESSION_ROWS.read(row, owner=owner), changes)
    transaction.send(sql.REWRITE_SESSION, session_row(changed))
    return changed


def _expire(transaction: Transaction, owner: Owner, turns_before: int, idle_before: int, batch: int) -> Expired:
    """Delete one batch: idle sessions first, each whole, then single turns as far as the batch has room."""
    if not people.lock_owner(transaction, owner):
        return Expired()
    sessions, turns = _expire_idle(transaction, owner, idle_before, batch)
    if turns < batch:
        emptied, aged = _expire_aged(transaction, owner, turns_before, batch - turns)
        sessions, turns = sessions + emptied, turns + aged
    if sessions:
        people.delete_idle_owner(transaction, owner)
    past = {"owner": owner.key, "turns_before": turns_before, "idle_before": idle_before}
    left = transaction.send(sql.ANYTHING_EXPIRED, past).fetchone()
    return Expired(sessions, turns, more=left == (True,))


def _note_oldest(transaction: Transaction, owner: Owner) -> None:
    """Update the age of an owner's oldest data, so that cleanups skip the owner until it expires."""
    mine = {"owner": owner.key, "endless": ENDLESS}
    if not people.lock_owner(transaction, owner):
        return
    transaction.send(owner_statements.LOCK_ALL_SESSIONS, mine)
    row = transaction.send(owner_statements.OLDEST_TURN, mine).fetchone()
    raised = {**mine, "oldest_at": row[0] if row else ENDLESS}
    transaction.send(owner_statements.RAISE_SESSIONS, raised)
    transaction.send(owner_statements.RAISE_OWNER, raised)


def _expire_idle(transaction: Transaction, owner: Owner, idle_before: int, batch: int) -> tuple[int, int]:
    """Number of sessions and turns deleted. Other sessions are not locked, so a large session goes in one piece."""
    idle = {"owner": owner.key, "idle_before": idle_before, "batch": batch}
    expired: list[str] = []
    turns = 0
    for session_id, turn_count in transaction.send(sql.LOCK_IDLE_SESSIONS, idle):
        if turns >= batch:
            break
        expired.append(session_id)
        turns += turn_count
    if not expired:
        return 0, 0
    deleted = _delete_content(transaction, owner, expired)
    transaction.send(sql.DELETE_SESSIONS, {"owner": owner.key, "session_ids": expired})
    return len(expired), transaction.count(deleted)


def _expire_aged(transaction: Transaction, owner: Owner, turns_before: int, room: int) -> tuple[int, int]:
    """Number of sessions emptied and turns deleted."""
    past = {"owner": owner.key, "turns_before": turns_before}
    expired = transaction.send(sql.EXPIRED_TURNS, {**past, "batch": room}).fetchall()
    if not expired:
        return 0, 0
    wanted = {"owner": owner.key, "session_ids": sorted({session_id for session_id, _ in expired})}
    locked = {session_id for (session_id,) in transaction.send(sql.LOCK_SESSIONS, wanted)}
    expired = [(session_id, number) for session_id, number in expired if session_id in locked]
    touched = {"owner": owner.key, "session_ids": sorted(locked)}
    places = {"session_ids": [session_id for session_id, _ in expired], "numbers": [number for _, number in expired]}
    deleted = transaction.send(sql.DELETE_EXPIRED_TURNS, {**past, **places})
    lost = grouped((topics.DeletedTurn(*row) for row in deleted), lambda turn: turn.session_id)
    transaction.send_many(
        sql.SHRINK_SESSION,
        [{"owner": owner.key, "session_id": name, "gone": len(turns)} for name, turns in sorted(lost.items())],
    )
    transaction.send(sql.DELETE_UNUSED_PASSAGES, touched)
    emptied_rows = transaction.send(sql.DELETE_EMPTIED_SESSIONS, {"owner": owner.key, "session_ids": sorted(lost)})
    emptied = {session_id for (session_id,) in emptied_rows}
    transaction.send(derived_statements.DELETE_FLAGS, {"owner": owner.key, "session_ids": sorted(emptied)})
    transaction.send(derived_statements.DELETE_TOPIC_TURNS, {"owner": owner.key, "session_ids": sorted(emptied)})
    transaction.send_many(
        sql.COUNT_SESSION, [{"owner": owner.key, "session_id": name} for name in sorted(lost.keys() - emptied)]
    )
    for session_id, turns in lost.items():
        if session_id not in emptied:
            topics.after_deletion(transaction, owner, session_id, turns)
    return len(emptied), sum(map(len, lost.values()))


def _delete_content(transaction: Transaction, owner: Owner, session_ids: list[str]) -> Cursor:
    values = {"owner": owner.key, "session_ids": session_ids}
    transaction.send(derived_statements.DELETE_FLAGS, values)
    deleted = {table: transaction.send(statement, values) for table, statement in sql.CONTENT_OF_SESSIONS.items()}
    return deleted["turns"]

"""Forgetting, as scripts of one transaction each: a session's turns, a session, what is past its time, an owner.

In: a transaction behind its owner's wall. Out: how much went. Rows go for good at the commit; what the server keeps
of them in its files and logs until it vacuums and recycles is the operator's.
"""

from collections import Counter

from ricordo.records import Owner
from ricordo.reports import Expired
from ricordo.stores.postgres import statements
from ricordo.stores.postgres.transaction import Cursor, Transaction

_CONTENT = (statements.DELETE_RECEIPTS, statements.DELETE_PASSAGES, statements.DELETE_TURNS)


def clear(transaction: Transaction, owner: Owner, session_id: str) -> int | None:
    """Empty a session; how many turns went, None if there is no such session."""
    here = {"owner": owner.key, "session_id": session_id}
    transaction.send(statements.LOCK_SESSION, here)
    turns = _delete_content(transaction, owner, [session_id])
    emptied = transaction.send(statements.EMPTY_SESSION, here)
    return transaction.count(turns) if transaction.count(emptied) else None


def delete_session(transaction: Transaction, owner: Owner, session_id: str) -> int | None:
    """Remove a session; how many turns went, None if there is no such session."""
    transaction.send(statements.LOCK_SESSION, {"owner": owner.key, "session_id": session_id})
    turns = _delete_content(transaction, owner, [session_id])
    deleted = transaction.send(statements.DELETE_SESSIONS, {"owner": owner.key, "session_ids": [session_id]})
    _forget_idle_owner(transaction, owner)
    return transaction.count(turns) if transaction.count(deleted) else None


def expire(transaction: Transaction, owner: Owner, turns_before: int, idle_before: int, batch: int) -> Expired:
    """Remove one batch: idle sessions first, each whole, then single turns as far as the batch has room."""
    sessions, turns = _expire_idle(transaction, owner, idle_before, batch)
    if turns < batch:
        emptied, aged = _expire_aged(transaction, owner, turns_before, batch - turns)
        sessions, turns = sessions + emptied, turns + aged
    if sessions:
        _forget_idle_owner(transaction, owner)
    past = {"owner": owner.key, "turns_before": turns_before, "idle_before": idle_before}
    left = transaction.send(statements.ANYTHING_EXPIRED, past).fetchone()
    return Expired(sessions, turns, more=left == (True,))


def erase(transaction: Transaction, owner: Owner) -> dict[str, int]:
    """Remove all that an owner has; how many of each thing went."""
    mine = {"owner": owner.key}
    transaction.send(statements.LOCK_OWNER, mine)
    transaction.send(statements.LOCK_ALL_SESSIONS, mine)
    transaction.send(statements.ERASE_PASSAGES, mine)
    receipts = transaction.send(statements.ERASE_RECEIPTS, mine)
    turns = transaction.send(statements.ERASE_TURNS, mine)
    sessions = transaction.send(statements.ERASE_SESSIONS, mine)
    transaction.send(statements.ERASE_OWNER, mine)
    gone = {"sessions": sessions, "turns": turns, "receipts": receipts}
    return {name: transaction.count(cursor) for name, cursor in gone.items()}


def _expire_idle(transaction: Transaction, owner: Owner, idle_before: int, batch: int) -> tuple[int, int]:
    """Sessions and turns gone. Writers elsewhere do not wait, so a large session goes in one piece."""
    idle = {"owner": owner.key, "idle_before": idle_before, "batch": batch}
    doomed: list[str] = []
    turns = 0
    for session_id, turn_count in transaction.send(statements.LOCK_IDLE_SESSIONS, idle):
        if turns >= batch:
            break
        doomed.append(session_id)
        turns += turn_count
    if not doomed:
        return 0, 0
    dropped = _delete_content(transaction, owner, doomed)
    transaction.send(statements.DELETE_SESSIONS, {"owner": owner.key, "session_ids": doomed})
    return len(doomed), transaction.count(dropped)


def _expire_aged(transaction: Transaction, owner: Owner, turns_before: int, room: int) -> tuple[int, int]:
    """Sessions emptied and turns gone."""
    past = {"owner": owner.key, "turns_before": turns_before}
    doomed = transaction.send(statements.EXPIRED_TURNS, {**past, "batch": room}).fetchall()
    if not doomed:
        return 0, 0
    session_ids = [session_id for session_id, _ in doomed]
    touched = {"owner": owner.key, "session_ids": sorted(set(session_ids))}
    transaction.send(statements.LOCK_SESSIONS, touched)
    numbers = [number for _, number in doomed]
    dropped = transaction.send(
        statements.DELETE_EXPIRED_TURNS, {**past, "session_ids": session_ids, "numbers": numbers}
    )
    gone = Counter(session_id for (session_id,) in dropped)
    transaction.send_many(
        statements.SHRINK_SESSION,
        [{"owner": owner.key, "session_id": name, "gone": count} for name, count in sorted(gone.items())],
    )
    transaction.send(statements.DELETE_UNUSED_PASSAGES, touched)
    emptied = transaction.send(statements.DELETE_EMPTIED_SESSIONS, {"owner": owner.key, "session_ids": sorted(gone)})
    return transaction.count(emptied), gone.total()


def _delete_content(transaction: Transaction, owner: Owner, session_ids: list[str]) -> Cursor:
    values = {"owner": owner.key, "session_ids": session_ids}
    *_, turns = [transaction.send(statement, values) for statement in _CONTENT]
    return turns


def _forget_idle_owner(transaction: Transaction, owner: Owner) -> None:
    mine = {"owner": owner.key}
    transaction.send(statements.LOCK_OWNER, mine)
    transaction.send(statements.FORGET_IDLE_OWNER, mine)

"""Forgetting, as scripts of one transaction each: a session's turns, a session, what is past its time, an owner.

In: a transaction behind its owner's wall. Out: how much went. Rows go for good at the commit; what the server keeps
of them in its files and logs until it vacuums and recycles is the operator's.
"""

from collections.abc import Sequence

from ricordo.records.reports import Expired
from ricordo.records.turns import Owner
from ricordo.stores.postgres import (
    people_statements,
    person_operations,
    service_statements,
    statements,
    topic_operations,
    topic_statements,
)
from ricordo.stores.postgres.transaction import Cursor, Transaction

_CONTENT = (
    statements.DELETE_RECEIPTS,
    statements.DELETE_PASSAGES,
    topic_statements.DELETE_TRACES,
    topic_statements.DELETE_TOPICS,
    topic_statements.DELETE_BLOCKS,
    people_statements.DELETE_SUMMARIES,
    people_statements.DELETE_FLAGS,
    statements.DELETE_TURNS,
)
_ALL = {
    "chunks": service_statements.ERASE_CHUNKS,
    "documents": service_statements.ERASE_DOCUMENTS,
    "jobs": service_statements.ERASE_JOBS,
    "keys": service_statements.ERASE_KEYS,
    "facts": people_statements.ERASE_FACTS,
    "people": people_statements.ERASE_PEOPLE,
    "summaries": people_statements.ERASE_SUMMARIES,
    "flags": people_statements.ERASE_FLAGS,
    "traces": topic_statements.ERASE_TRACES,
    "topics": topic_statements.ERASE_TOPICS,
    "blocks": topic_statements.ERASE_BLOCKS,
    "receipts": statements.ERASE_RECEIPTS,
    "passages": statements.ERASE_PASSAGES,
    "turns": statements.ERASE_TURNS,
    "sessions": statements.ERASE_SESSIONS,
    "owners": statements.ERASE_OWNER,
}
_TOLD = (
    "sessions", "turns", "receipts", "topics", "blocks", "traces", "facts", "summaries", "flags",
    "documents", "jobs", "keys",
)  # fmt: skip


def clear(transaction: Transaction, owner: Owner, session_id: str) -> int | None:
    """Empty a session; how many turns went, None if there is no such session."""
    here = {"owner": owner.key, "session_id": session_id}
    if not _held(transaction, owner, session_id):
        return None
    person_operations.unlearn(transaction, owner, session_id)
    turns = _delete_content(transaction, owner, [session_id])
    transaction.send(statements.EMPTY_SESSION, here)
    return transaction.count(turns)


def delete_session(transaction: Transaction, owner: Owner, session_id: str) -> int | None:
    """Remove a session; how many turns went, None if there is no such session."""
    if not _held(transaction, owner, session_id):
        return None
    person_operations.unlearn(transaction, owner, session_id)
    turns = _delete_content(transaction, owner, [session_id])
    transaction.send(statements.DELETE_SESSIONS, {"owner": owner.key, "session_ids": [session_id]})
    person_operations.forget_idle_owner(transaction, owner)
    return transaction.count(turns)


def expire(transaction: Transaction, owner: Owner, turns_before: int, idle_before: int, batch: int) -> Expired:
    """Remove one batch: idle sessions first, each whole, then single turns as far as the batch has room."""
    sessions, turns = _expire_idle(transaction, owner, idle_before, batch)
    if turns < batch:
        emptied, aged = _expire_aged(transaction, owner, turns_before, batch - turns)
        sessions, turns = sessions + emptied, turns + aged
    if sessions:
        person_operations.forget_idle_owner(transaction, owner)
    past = {"owner": owner.key, "turns_before": turns_before, "idle_before": idle_before}
    left = transaction.send(statements.ANYTHING_EXPIRED, past).fetchone()
    return Expired(sessions, turns, more=left == (True,))


def delete_turns(transaction: Transaction, owner: Owner, session_id: str, numbers: Sequence[int]) -> int:
    """Remove single turns; how many went. The session stays, even without any."""
    here = {"owner": owner.key, "session_id": session_id}
    if not _held(transaction, owner, session_id):
        return 0
    dropped = transaction.send(statements.DELETE_NUMBERED_TURNS, {**here, "numbers": list(numbers)})
    gone = [topic_operations.Gone(*row) for row in dropped]
    if gone:
        transaction.send(statements.SHRINK_SESSION, {**here, "gone": len(gone)})
        transaction.send(statements.DELETE_UNUSED_PASSAGES, {"owner": owner.key, "session_ids": [session_id]})
        topic_operations.tell(transaction, owner, session_id, gone)
    return len(gone)


def erase(transaction: Transaction, owner: Owner) -> dict[str, int]:
    """Remove all that an owner has; how many of each thing went."""
    mine = {"owner": owner.key}
    transaction.send(statements.LOCK_OWNER, mine)
    transaction.send(statements.LOCK_ALL_SESSIONS, mine)
    gone = {name: transaction.send(statement, mine) for name, statement in _ALL.items()}
    return {name: transaction.count(gone[name]) for name in _TOLD}


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
    wanted = {"owner": owner.key, "session_ids": sorted({session_id for session_id, _ in doomed})}
    held = {session_id for (session_id,) in transaction.send(statements.LOCK_SESSIONS, wanted)}
    doomed = [(session_id, number) for session_id, number in doomed if session_id in held]
    touched = {"owner": owner.key, "session_ids": sorted(held)}
    places = {"session_ids": [session_id for session_id, _ in doomed], "numbers": [number for _, number in doomed]}
    dropped = transaction.send(statements.DELETE_EXPIRED_TURNS, {**past, **places})
    gone: dict[str, list[topic_operations.Gone]] = {}
    for turn in (topic_operations.Gone(*row) for row in dropped):
        gone.setdefault(turn.session_id, []).append(turn)
    transaction.send_many(
        statements.SHRINK_SESSION,
        [{"owner": owner.key, "session_id": name, "gone": len(lost)} for name, lost in sorted(gone.items())],
    )
    transaction.send(statements.DELETE_UNUSED_PASSAGES, touched)
    emptied = transaction.send(statements.DELETE_EMPTIED_SESSIONS, {"owner": owner.key, "session_ids": sorted(gone)})
    without = {session_id for (session_id,) in emptied}
    transaction.send(people_statements.DELETE_FLAGS, {"owner": owner.key, "session_ids": sorted(without)})
    for session_id, lost in gone.items():
        if session_id not in without:
            topic_operations.tell(transaction, owner, session_id, lost)
    return len(without), sum(map(len, gone.values()))


def _held(transaction: Transaction, owner: Owner, session_id: str) -> bool:
    """Hold a session until the commit. One that is not there may be there a moment later, and is not ours then."""
    locked = transaction.send(statements.LOCK_SESSION, {"owner": owner.key, "session_id": session_id})
    return locked.fetchone() is not None


def _delete_content(transaction: Transaction, owner: Owner, session_ids: list[str]) -> Cursor:
    values = {"owner": owner.key, "session_ids": session_ids}
    *_, turns = [transaction.send(statement, values) for statement in _CONTENT]
    return turns

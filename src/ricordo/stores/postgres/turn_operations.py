"""Writing turns, as scripts of one transaction each: lock the session, look, decide, write.

In: a transaction behind its owner's wall and what is to be kept. Out: what is stored. The decisions are those of
`ricordo.stores.write_rules` and `ricordo.records.turns`; every script takes the session's row first, so that they queue
there and never wait for each other in a circle.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo.errors import DamageError
from ricordo.records.turns import (
    Owner,
    SessionChanges,
    SessionInfo,
    StoredReceipt,
    Turn,
    add_step,
    open_turn,
    place,
    the_message,
)
from ricordo.stores import write_rules
from ricordo.stores.postgres import statements, topic_operations
from ricordo.stores.postgres.transaction import Again, Cursor, Transaction
from ricordo.stores.topic_rules import as_new
from ricordo.stores.turn_rows import (
    SESSION_COLUMNS,
    TURN_COLUMNS,
    micros,
    row_to_session,
    session_to_row,
    turn_to_row,
)

Values = dict[str, Any]

_TURN_NAMES = TURN_COLUMNS.split(", ")
_SESSION_NAMES = SESSION_COLUMNS.split(", ")


def append(
    transaction: Transaction, turn: Turn, expected: int | None, receipt: StoredReceipt | None, *, look: bool
) -> Turn | None:
    """Number and keep a new turn; None, with nothing changed, if its id is there already.

    Without `look` the unique key is left to tell that the id is there, by failing the transaction: one question
    less for every turn that is new.
    """
    active_at = max(_said(turn))
    key = {"owner": turn.owner.key, "session_id": turn.session_id, "active_at": micros(active_at)}
    known = transaction.send(statements.NEXT_NUMBER, key)
    stored = _by_id(transaction, turn.owner, turn.id) if look else None
    number, *_ = known.fetchone() or _first(_touch(transaction, turn, active_at, taken=1))
    if stored and stored.fetchone():
        transaction.abandon()
        return None
    if not look and expected not in (None, number):
        raise Again("a repetition may expect another number; look first")
    write_rules.check_expected(expected, number, turn.session_id)
    return _insert(transaction, replace(as_new(turn), turn_number=number), receipt)


def rewrite(
    transaction: Transaction,
    owner: Owner,
    turn_id: str,
    merge: Callable[[Turn], Turn],
    receipt: StoredReceipt | None,
) -> Turn | None:
    """Put what `merge` makes of a stored turn in its place; None if there is no such turn."""
    locked = transaction.send(statements.LOCK_SESSION_OF_TURN, {"owner": owner.key, "turn_id": turn_id})
    stored = _one(owner, _by_id(transaction, owner, turn_id))
    if stored is None:
        transaction.abandon()
        return None
    if locked.fetchone() != (stored.session_id,):
        raise Again("the turn was moved to another session meanwhile")
    if stored.damage:
        raise DamageError(stored.damage)  # it can be neither compared with nor added to
    merged = merge(stored)
    if merged is stored:
        transaction.abandon()
        return stored
    touch = {"owner": owner.key, "session_id": merged.session_id, "active_at": micros(max(_said(merged)))}
    transaction.send(statements.TOUCH_KNOWN_SESSION, touch)
    return _replace(transaction, stored, merged, receipt)


def add_message(transaction: Transaction, turn: Turn) -> Turn | None:
    """Put the turn's one message where it belongs; None, with nothing changed, if it opens a turn that is there."""
    message = the_message(turn)
    locked = _touch(transaction, turn, message.created_at, taken=0)
    newest_row = transaction.send(statements.NEWEST_TURN, {"owner": turn.owner.key, "session_id": turn.session_id})
    same_id = _by_id(transaction, turn.owner, turn.id)
    last_turn = _first(locked)[0]
    newest = _one(turn.owner, newest_row)
    if newest and newest.damage:
        newest = None  # its words are lost, which does not keep the talk from going on
    where = place(message, newest)
    if where == "new" or newest is None:
        if same_id.fetchone():
            transaction.abandon()
            return None
        opened = open_turn(replace(turn, question=None, answer=None, steps=()), message)
        transaction.send(statements.TAKE_NUMBER, _row(opened))
        return _insert(transaction, replace(opened, turn_number=last_turn + 1), None)
    if where == "answer":
        return _replace(transaction, newest, write_rules.merge_answer(newest, message, {}), None)
    return _replace(transaction, newest, add_step(newest, message).sealed(), None)


def load(transaction: Transaction, session: SessionInfo, coming: Sequence[Turn]) -> tuple[int, int]:
    """Bring in a session's sealed turns with their numbers; (added, known)."""
    owner = session.owner
    here: Values = {"owner": owner.key, "session_id": session.id}
    transaction.send(statements.KEEP_OWNER, _owner(owner))
    empty = write_rules.loaded_session(session)
    transaction.send(statements.INSERT_SESSION, _session_row(empty))
    locked = transaction.send(statements.LOCK_SESSION, here)
    numbers = transaction.send(statements.TURN_NUMBERS, here)
    at_number = transaction.send(statements.TURNS_BY_NUMBER, {**here, "numbers": [turn.turn_number for turn in coming]})
    with_id = transaction.send(statements.TURNS_BY_ID, {"owner": owner.key, "turn_ids": [turn.id for turn in coming]})
    info = row_to_session(owner, _first(locked))
    by_number = {turn.turn_number: turn for turn in topic_operations.to_turns(owner, at_number)}
    by_id = {turn.id: turn for turn in topic_operations.to_turns(owner, with_id)}
    taken = [number for (number,) in numbers]

    fresh = [
        turn
        for turn in coming
        if not write_rules.already_loaded(turn, by_number.get(turn.turn_number), by_id.get(turn.id))
    ]
    write_rules.check_loaded(session.id, taken, fresh)
    if fresh:
        transaction.send(statements.REWRITE_SESSION, _session_row(write_rules.grown(info, fresh)))
    transaction.send_many(statements.INSERT_TURN, [_row(turn) for turn in fresh])
    return len(fresh), len(coming) - len(fresh)


def update_session(
    transaction: Transaction, owner: Owner, session_id: str, changes: SessionChanges
) -> SessionInfo | None:
    """Set the given fields of a session; None if there is none."""
    here = {"owner": owner.key, "session_id": session_id}
    row = transaction.send(statements.LOCK_SESSION, here).fetchone()
    if row is None:
        transaction.abandon()
        return None
    changed = write_rules.changed(row_to_session(owner, row), changes)
    transaction.send(statements.REWRITE_SESSION, _session_row(changed))
    return changed


def _touch(transaction: Transaction, turn: Turn, active_at: datetime, *, taken: int) -> Cursor:
    """Take the session's row, made if need be, with `taken` numbers; the cursor tells the last number."""
    transaction.send(statements.KEEP_OWNER, _owner(turn.owner))
    return transaction.send(statements.TOUCH_SESSION, {**_row(turn), "active_at": micros(active_at), "taken": taken})


def _insert(transaction: Transaction, turn: Turn, receipt: StoredReceipt | None) -> Turn:
    sealed = turn.sealed()
    transaction.send(statements.INSERT_TURN, _row(sealed))
    _keep_receipt(transaction, sealed, receipt)
    return sealed


def _replace(transaction: Transaction, before: Turn, turn: Turn, receipt: StoredReceipt | None) -> Turn:
    """Write what was added to a stored turn. Its block, if it is in one, does not hold that: it leaves the block."""
    transaction.send(statements.REWRITE_TURN, _row(turn))
    _keep_receipt(transaction, turn, receipt)
    if before.block_id is None:
        return turn
    topic_operations.leave_block(transaction, before)
    return replace(turn, block_id=None, archived=False)


def _keep_receipt(transaction: Transaction, turn: Turn, receipt: StoredReceipt | None) -> None:
    if receipt is None:
        return
    here = {"owner": turn.owner.key, "session_id": turn.session_id, "turn_number": turn.turn_number}
    transaction.send(statements.KEEP_RECEIPT, {**here, "body": receipt.body})
    passages = [{**here, "digest": digest, "body": body} for digest, body in sorted(receipt.passages.items())]
    transaction.send_many(statements.KEEP_PASSAGE, passages)


def _by_id(transaction: Transaction, owner: Owner, turn_id: str) -> Cursor:
    return transaction.send(statements.TURN_BY_ID, {"owner": owner.key, "turn_id": turn_id})


def _one(owner: Owner, cursor: Cursor) -> Turn | None:
    turns = topic_operations.to_turns(owner, cursor)
    return turns[0] if turns else None


def _first(cursor: Cursor) -> tuple[Any, ...]:
    row = cursor.fetchone()
    if row is None:
        raise Again("the session went away meanwhile")
    return row


def _said(turn: Turn) -> list[datetime]:
    return [turn.created_at, *(message.created_at for message in turn.messages)]


def _owner(owner: Owner) -> Values:
    return {"owner": owner.key, "tenant_id": owner.tenant_id, "user_id": owner.user_id}


def _row(turn: Turn) -> Values:
    return {"owner": turn.owner.key, **dict(zip(_TURN_NAMES, turn_to_row(turn), strict=True))}


def _session_row(session: SessionInfo) -> Values:
    return {"owner": session.owner.key, **dict(zip(_SESSION_NAMES, session_to_row(session), strict=True))}

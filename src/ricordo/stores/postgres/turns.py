"""Turns with their receipts: each method is one read or one script of one transaction.

A script locks the session's row first, then reads, decides and writes; so writers wait for that lock and never
deadlock. The decisions are in `ricordo.stores.write_rules` and `ricordo.records.turns`.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any, TypeVar

from ricordo.errors import DamageError, NotFoundError
from ricordo.records.turns import (
    Message,
    Owner,
    SessionInfo,
    StoredReceipt,
    Turn,
    add_step,
    open_turn,
    place,
    the_message,
)
from ricordo.stores import write_rules
from ricordo.stores.postgres import owner_statements, topics
from ricordo.stores.postgres import turn_statements as sql
from ricordo.stores.postgres.append_group import AppendGroup, UnnumberedTurn, last_said, opened, put_receipt
from ricordo.stores.postgres.people import add_owner, first_row
from ricordo.stores.postgres.topics import to_turns
from ricordo.stores.postgres.transaction import (
    LONG_TIMEOUT,
    Cursor,
    OwnerTransactions,
    PostgresPart,
    RetryTransaction,
    Transaction,
    as_bigint,
    long_script,
    named,
)
from ricordo.stores.turn_rows import ENDLESS, SESSION_ROWS, TURN_COLUMNS, micros, moment, texts_in, turn_to_row

Values = dict[str, Any]


class PostgresTurns(PostgresPart):
    """`TurnStore` on PostgreSQL."""

    def __init__(self, transactions: OwnerTransactions) -> None:
        super().__init__(transactions)
        self._group = AppendGroup(transactions)

    def append(
        self,
        turn: Turn,
        *,
        expected: int | None = None,
        receipt: StoredReceipt | None = None,
        acknowledged_at: datetime | None = None,
    ) -> Turn:
        attempts = count()
        if expected is None and acknowledged_at is None:
            written = self._group.append(UnnumberedTurn(turn, last_said(turn), receipt))
            if written is not None:
                return written
            next(attempts)  # the group may have been committed although its connection was lost: check the id first
        return self._or_repeat(
            turn, lambda tx: _append(tx, turn, expected, receipt, check_id=next(attempts) > 0), receipt, acknowledged_at
        )

    def add_message(self, turn: Turn, *, acknowledged_at: datetime | None = None) -> Turn:
        return self._or_repeat(turn, lambda tx: _add_message(tx, turn), None, acknowledged_at)

    def answer(
        self,
        owner: Owner,
        turn_id: str,
        answer: Message,
        metadata: dict[str, object],
        receipt: StoredReceipt | None,
        *,
        acknowledged_at: datetime | None = None,
    ) -> Turn:
        merge = partial(write_rules.merge_answer, answer=answer, metadata=metadata)
        script = unless_erased(owner, acknowledged_at, lambda tx: _rewrite(tx, owner, turn_id, merge, receipt))
        answered = self._transactions.run(owner, script)
        if answered is None:
            raise NotFoundError(f"turn {turn_id!r} does not exist for this user; ask first")
        return answered

    def mark_failed(self, owner: Owner, turn_id: str, failure: dict[str, object]) -> Turn | None:
        merge = partial(write_rules.merge_failure, failure=failure)
        return self._transactions.run(owner, lambda tx: _rewrite(tx, owner, turn_id, merge, None))

    def load(
        self, session: SessionInfo, turns: Iterable[Turn], *, acknowledged_at: datetime | None = None
    ) -> tuple[int, int]:
        loaded = write_rules.prepared(session, turns)
        script = unless_erased(session.owner, acknowledged_at, lambda tx: _load(tx, session, loaded))
        return self._transactions.run(session.owner, script, timeout=LONG_TIMEOUT)

    def get(self, owner: Owner, turn_id: str) -> Turn | None:
        rows = self._transactions.read(owner, sql.TURN_BY_ID, turn_id=turn_id)
        return next(iter(to_turns(owner, rows)), None)

    def by_ids(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        rows = self._transactions.read_lagging(owner, sql.TURNS_BY_ID, turn_ids=list(turn_ids))
        return tuple(to_turns(owner, rows))

    def page(
        self,
        owner: Owner,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Sequence[Turn]:
        page: Values = {
            "session_id": session_id,
            "last": ENDLESS if last is None else as_bigint(last),
            "before": ENDLESS if before is None else as_bigint(before),
            "after": 0 if after is None else as_bigint(after),
        }
        if self._transactions.fetch:
            rows = self._transactions.fetch(sql.TURNS_PAGE, {**page, "owner": owner.key})
        else:
            rows = self._transactions.read(owner, sql.TURNS, **page)
        return tuple(to_turns(owner, reversed(rows)))

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        return self._transactions.run(
            owner, lambda tx: _receipts(tx, owner, session_id, turn_number, limit), repeatable=True
        )

    @long_script
    def delete(self, transaction: Transaction, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        here = {"owner": owner.key, "session_id": session_id}
        if not lock_session(transaction, owner, session_id):
            return 0
        rows = transaction.send(sql.DELETE_NUMBERED_TURNS, {**here, "numbers": list(turn_numbers)})
        deleted = [topics.DeletedTurn(*row) for row in rows]
        if deleted:
            transaction.send(sql.SHRINK_SESSION, {**here, "gone": len(deleted)})
            transaction.send(sql.DELETE_UNUSED_PASSAGES, {"owner": owner.key, "session_ids": [session_id]})
            transaction.send(sql.COUNT_SESSION, here)
            topics.after_deletion(transaction, owner, session_id, deleted)
        return len(deleted)

    def _or_repeat(
        self,
        turn: Turn,
        script: Callable[[Transaction], Turn | None],
        receipt: StoredReceipt | None,
        acknowledged_at: datetime | None,
    ) -> Turn:
        """The turn that the script writes; if its id is already stored, the stored turn merged with this one."""
        merge, owner = partial(write_rules.merge_repeat, turn), turn.owner
        script = unless_erased(owner, acknowledged_at, script)
        while True:
            written = self._transactions.run(owner, script) or self._transactions.run(
                owner, lambda tx: _rewrite(tx, owner, turn.id, merge, receipt)
            )
            if written is not None:  # else the stored turn was deleted between the two: it is new again
                return written


T = TypeVar("T")


def unless_erased(
    owner: Owner, acknowledged_at: datetime | None, script: Callable[[Transaction], T]
) -> Callable[[Transaction], T]:
    """The script; for a write from a spool it first checks that the owner was not erased since."""
    if acknowledged_at is None:
        return script
    at = acknowledged_at

    def checked(transaction: Transaction) -> T:
        transaction.send(owner_statements.SHARE_ERASURES, {"lock": erasure_lock(owner)})
        row = transaction.send(owner_statements.ERASED_AT, {"owner": owner.key}).fetchone()
        write_rules.check_not_erased(owner, at, moment(row[0]) if row else None)
        return script(transaction)

    return checked


def erasure_lock(owner: Owner) -> int:
    """The advisory lock between an erasure of an owner and writes for the owner from spools."""
    return int.from_bytes(owner.key.bytes[8:], signed=True)


def lock_session(transaction: Transaction, owner: Owner, session_id: str) -> bool:
    """Lock a session until the commit; False if it does not exist. One that is added later is not locked."""
    locked = transaction.send(sql.LOCK_SESSION, {"owner": owner.key, "session_id": session_id})
    return locked.fetchone() is not None


def _append(
    transaction: Transaction, turn: Turn, expected: int | None, receipt: StoredReceipt | None, *, check_id: bool
) -> Turn | None:
    """Number and write a new turn; None, with nothing changed, if its id already exists.

    Without `check_id` an existing id fails the transaction by its unique key: one query less for every new turn.
    """
    counts = {"active_at": last_said(turn), "open": opened(turn), "receipts": int(receipt is not None)}
    owner_row, touched = _touch(transaction, turn, taken=1, **counts)
    stored = _by_id(transaction, turn.owner, turn.id) if check_id else None
    first_row(owner_row)
    number, *_ = first_row(touched)
    if stored and stored.fetchone():
        transaction.rollback()
        return None
    if not check_id and expected not in (None, number):
        raise RetryTransaction("a repeated turn may expect another number; check its id first")
    write_rules.check_expected(expected, number, turn.session_id)
    return _insert(transaction, replace(turn.as_new(), turn_number=number), receipt)


def _rewrite(
    transaction: Transaction,
    owner: Owner,
    turn_id: str,
    merge: Callable[[Turn], Turn],
    receipt: StoredReceipt | None,
) -> Turn | None:
    """Replace a stored turn by what `merge` makes of it; None if there is no such turn."""
    locked = transaction.send(sql.LOCK_SESSION_OF_TURN, {"owner": owner.key, "turn_id": turn_id})
    known = transaction.send(sql.HAS_RECEIPT, {"owner": owner.key, "turn_id": turn_id}) if receipt else None
    stored = _one(owner, _by_id(transaction, owner, turn_id))
    if stored is None:
        transaction.rollback()
        return None
    if locked.fetchone() != (stored.session_id,):
        raise RetryTransaction("the turn was moved to another session meanwhile")
    if stored.damage:
        raise DamageError(stored.damage)  # it can be neither compared nor extended
    merged = merge(stored)
    if merged is stored:
        transaction.rollback()
        return stored
    here = {"owner": owner.key, "session_id": merged.session_id}
    first_receipt = known is not None and known.fetchone() is None
    counts = {"open": opened(merged) - (0 if stored.archived else opened(stored)), "receipts": int(first_receipt)}
    transaction.send(sql.TOUCH_KNOWN_SESSION, {**here, **counts, "active_at": last_said(merged)})
    return _replace(transaction, stored, merged, receipt)


def _add_message(transaction: Transaction, turn: Turn) -> Turn | None:
    """Write the turn's one message where it belongs; None, with nothing changed, if it opens an existing turn."""
    message = the_message(turn)
    owner_row, locked = _touch(transaction, turn, taken=0, active_at=micros(message.created_at), open=0, receipts=0)
    newest_row = transaction.send(sql.NEWEST_TURN, {"owner": turn.owner.key, "session_id": turn.session_id})
    same_id = _by_id(transaction, turn.owner, turn.id)
    first_row(owner_row)
    last_turn = first_row(locked)[0]
    newest = _one(turn.owner, newest_row)
    if newest and newest.damage:
        newest = None  # its text is lost; the conversation goes on in a new turn
    where = place(message, newest)
    if where == "new" or newest is None:
        if same_id.fetchone():
            transaction.rollback()
            return None
        new = open_turn(replace(turn, question=None, answer=None, steps=()), message)
        transaction.send(sql.TAKE_NUMBER, {**_row(new), "open": opened(new)})
        return _insert(transaction, replace(new, turn_number=last_turn + 1), None)
    if where == "answer":
        answered = write_rules.merge_answer(newest, message, {})
        if opened(newest) and not newest.archived:
            transaction.send(sql.CLOSE_TURN, {"owner": turn.owner.key, "session_id": turn.session_id})
        return _replace(transaction, newest, answered, None)
    return _replace(transaction, newest, add_step(newest, message).sealed(), None)


def _load(transaction: Transaction, session: SessionInfo, loaded: Sequence[Turn]) -> tuple[int, int]:
    """Import a session's sealed turns with their numbers; (added, known)."""
    owner = session.owner
    here: Values = {"owner": owner.key, "session_id": session.id}
    owner_row = add_owner(transaction, owner)
    empty = write_rules.loaded_session(session)
    oldest = micros(min((session.created_at, *(turn.created_at for turn in loaded))))
    times = {"created_at": oldest, "active_at": micros(empty.last_active_at)}
    transaction.send(owner_statements.LOWER_OWNER, {**here, **times})
    transaction.send(sql.INSERT_SESSION, {**session_row(empty), "tenant_id": owner.tenant_id, "oldest_at": oldest})
    locked = transaction.send(sql.LOCK_SESSION, here)
    numbers = transaction.send(sql.TURN_NUMBERS, here)
    at_number = transaction.send(sql.TURNS_BY_NUMBER, {**here, "numbers": [turn.turn_number for turn in loaded]})
    with_id = transaction.send(sql.TURNS_BY_ID, {"owner": owner.key, "turn_ids": [turn.id for turn in loaded]})
    first_row(owner_row)
    info = SESSION_ROWS.read(first_row(locked), owner=owner)
    by_number = {turn.turn_number: turn for turn in to_turns(owner, at_number)}
    by_id = {turn.id: turn for turn in to_turns(owner, with_id)}
    taken = [number for (number,) in numbers]

    fresh = [
        turn
        for turn in loaded
        if not write_rules.already_loaded(turn, by_number.get(turn.turn_number), by_id.get(turn.id))
    ]
    write_rules.check_loaded(session.id, taken, fresh)
    if fresh:
        transaction.send(sql.REWRITE_SESSION, session_row(write_rules.grown(info, fresh)))
    transaction.send_many(sql.INSERT_TURN, [_row(turn) for turn in fresh])
    transaction.send(sql.COUNT_SESSION, here)
    return len(fresh), len(loaded) - len(fresh)


def _receipts(
    transaction: Transaction, owner: Owner, session_id: str, turn_number: int | None, limit: int
) -> tuple[StoredReceipt, ...]:
    """Receipts, newest first, with the passages whose digests their bodies contain."""
    here = {"owner": owner.key, "session_id": session_id}
    page = {**here, "turn_number": turn_number, "limit": as_bigint(limit)}
    found = transaction.send(sql.RECEIPTS, page).fetchall()
    texts = {number: _texts(session_id, number, body) for number, body in found}
    digests = sorted(set().union(*texts.values()))
    passages: dict[str, str] = dict(transaction.send(sql.PASSAGES, {**here, "digests": digests}).fetchall())
    return tuple(
        StoredReceipt(session_id, number, body, {name: passages[name] for name in texts[number] & passages.keys()})
        for number, body in found
    )


def _texts(session_id: str, number: int, body: str) -> set[str]:
    """Every text in a receipt; those that are digests name its passages."""
    try:
        return texts_in(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise DamageError(
            f"the receipt of turn {number} of session {session_id!r} cannot be read back ({error}); run verify"
        ) from error


def _touch(transaction: Transaction, turn: Turn, **counts: int) -> tuple[Cursor, Cursor]:
    """Lock the session's row, created if new, and take numbers: the owner's row, and the last number."""
    values = {**_row(turn), **counts, "tenant_id": turn.owner.tenant_id}
    owner_row = add_owner(transaction, turn.owner)
    transaction.send(owner_statements.LOWER_OWNER, values)
    return owner_row, transaction.send(sql.TOUCH_SESSION, values)


def _insert(transaction: Transaction, turn: Turn, receipt: StoredReceipt | None) -> Turn:
    sealed = turn.sealed()
    transaction.send(sql.INSERT_TURN, _row(sealed))
    put_receipt(transaction, sealed, receipt)
    return sealed


def _replace(transaction: Transaction, before: Turn, turn: Turn, receipt: StoredReceipt | None) -> Turn:
    """Write a turn with an addition, and take it out of its block, which does not have the addition."""
    transaction.send(sql.REWRITE_TURN, _row(turn))
    put_receipt(transaction, turn, receipt)
    if before.topic_id and before.answer is None and turn.answer is not None:
        topics.count_answer(transaction, before)
    if before.block_id is None:
        return turn
    topics.leave_block(transaction, before)
    return replace(turn, block_id=None, archived=False)


def _by_id(transaction: Transaction, owner: Owner, turn_id: str) -> Cursor:
    return transaction.send(sql.TURN_BY_ID, {"owner": owner.key, "turn_id": turn_id})


def _one(owner: Owner, cursor: Cursor) -> Turn | None:
    turns = to_turns(owner, cursor)
    return turns[0] if turns else None


def _row(turn: Turn) -> Values:
    return {"owner": turn.owner.key, **named(TURN_COLUMNS, turn_to_row(turn))}


def session_row(session: SessionInfo) -> Values:
    """The parameters that write a session's fields."""
    return {"owner": session.owner.key, **SESSION_ROWS.named(session)}

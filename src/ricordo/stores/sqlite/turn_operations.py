"""Writes to turns and session fields, as functions on a connection that is inside a write transaction.

In: what a caller wants to store. Out: what is stored. What happens if something is there already is decided in
`ricordo.stores.write_rules`; here are only the rows.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

from ricordo.errors import DamageError, NotFoundError
from ricordo.records.turns import (
    Message,
    Owner,
    SessionChanges,
    SessionInfo,
    StoredReceipt,
    Turn,
    add_step,
    checksum,
    open_turn,
    passage_digest,
    place,
    the_message,
)
from ricordo.stores import write_rules
from ricordo.stores.archive.receipts import OWN_QUESTION, pack_receipt
from ricordo.stores.group_commit import Joinable
from ricordo.stores.sqlite import topics
from ricordo.stores.sqlite import turn_statements as sql
from ricordo.stores.sqlite.database import WriteConnection
from ricordo.stores.turn_rows import ENDLESS, SESSION_ROWS, micros, turn_to_row

NUMBER, ASKED_AT, CHECKSUM, TOPIC = 2, 5, 16, 17  # where they stand in a row that begins with the owner


class TurnIdTaken(Exception):  # noqa: N818 - not a failure: the slower path has to decide
    """The new turn's id is stored already, or its number is not the expected one."""


class NewTurn(Joinable):
    """A turn that is new, to number and insert: alone, or with those of other callers in one statement.

    What can be worked out before it is served is: serving it holds up all other writers.
    """

    __slots__ = ("expected", "key", "receipt", "row", "times", "turn")

    def __init__(self, turn: Turn, expected: int | None, receipt: StoredReceipt | None) -> None:
        self.turn, self.expected, self.receipt = turn, expected, receipt
        self.key = turn.owner.key.bytes, turn.session_id
        self.row = [self.key[0], *turn_to_row(turn)]
        self.row[TOPIC] = None  # a turn comes in without one
        asked_at = self.row[ASKED_AT]
        self.times = asked_at, _last_said(turn, asked_at)

    def __call__(self, writer: WriteConnection) -> Turn:
        """Number and insert it; the unique key reports when it is not new, at no cost otherwise."""
        number = self._next_number(writer)
        if self.expected is not None and number != self.expected:
            raise TurnIdTaken
        numbered = self._numbered(number)
        try:
            writer.fast_cursor.execute(sql.ADD_TURN, self.row)
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_UNIQUE and "turn_id" in str(error):
                raise TurnIdTaken from error
            raise
        writer.note_last_turn(self.key, number)
        if self.receipt:
            keep_receipt(writer, self.turn.owner, self.receipt, self.turn.session_id, number, self.turn.query)
        return numbered

    def join(self, writer: WriteConnection, operations: "Sequence[NewTurn]") -> list[Turn]:
        """Count the turns of a session in one statement, and insert all turns in few; raises if one is refused."""
        sessions: dict[tuple[bytes, str], list[NewTurn]] = {}
        for each in operations:
            sessions.setdefault(each.key, []).append(each)
        numbers = {key: _first_number(writer, new) for key, new in sessions.items()}
        written: list[Turn] = []
        rows: list[list[Any]] = []
        for each in operations:
            number = numbers[each.key]
            numbers[each.key] = number + 1
            if each.expected not in (None, number):
                raise TurnIdTaken
            written.append(each._numbered(number))
            rows.append(each.row)
        _insert(writer, rows)
        for each, turn in zip(operations, written, strict=True):
            if each.receipt:
                keep_receipt(writer, turn.owner, each.receipt, turn.session_id, turn.turn_number, turn.query)
        for key, number in numbers.items():
            writer.note_last_turn(key, number - 1)
        return written

    def _numbered(self, number: int) -> Turn:
        """The turn as stored, and so its row. Spelled out, not `replace`: this is on the path of every write."""
        turn, seal = self.turn, checksum(self.turn, number)
        self.row[NUMBER], self.row[CHECKSUM] = number, seal
        return Turn(
            turn.id, turn.owner, turn.agent_id, turn.session_id, number, turn.created_at, turn.question, turn.answer,
            turn.steps, turn.metadata, turn.origin, turn.counter, seal,
        )  # fmt: skip

    def _next_number(self, writer: WriteConnection) -> int:
        """Count the turn in its session, which is created if it does not exist.

        Where this connection was the last to write, the number is known and the UPDATE verifies it.
        """
        execute, key = writer.fast_cursor.execute, self.key
        reached = writer.last_turns.get(key)
        if reached is not None and execute(sql.COUNT_TURN_AFTER, (*self.times, *key, reached)).rowcount:
            return reached + 1
        if _opens_session(writer, (*key, self.turn.agent_id, *self.times), self.turn.owner):
            return 1
        ((counted,),) = execute(sql.LAST_TURN_OF_SESSION, key).fetchall()
        execute(sql.COUNT_TURN, (*self.times, *key))
        return int(counted) + 1


def _insert(writer: WriteConnection, rows: Sequence[list[Any]]) -> None:
    """Insert turns, many by a statement: at each statement another thread may take the interpreter for a while."""
    done = 0
    while done < len(rows):
        left = min(len(rows) - done, sql.MOST_ROWS)
        count = left if left < 8 else 1 << left.bit_length() - 1  # few different statements to prepare
        writer.fast_cursor.execute(sql.add_turns(count), tuple(chain.from_iterable(rows[done : done + count])))
        done += count


def _first_number(writer: WriteConnection, new: Sequence[NewTurn]) -> int:
    """Count several turns in their session; the number of the first."""
    reached = writer.last_turns.get(new[0].key)
    if reached is not None and _counted(writer, reached, new):
        return reached + 1
    first = new[0]._next_number(writer)
    if len(new) > 1 and not _counted(writer, first, new[1:]):
        raise TurnIdTaken
    return first


def _counted(writer: WriteConnection, reached: int, new: Sequence[NewTurn]) -> bool:
    """Count turns after a number; False if the session's last turn has another one."""
    said = created = new[0].times[0]
    in_order = True
    for asked_at, said_at in (each.times for each in new):
        in_order = in_order and asked_at >= said
        created, said = min(created, asked_at), max(said, said_at)
    count = len(new)
    values = (count, count, count, in_order, created, said, *new[0].key, reached)
    return writer.fast_cursor.execute(sql.COUNT_TURNS_AFTER, values).rowcount > 0


def _opens_session(writer: WriteConnection, values: tuple[Any, ...], owner: Owner) -> bool:
    """Create the session of a first turn, unless it exists. Most owners exist: the foreign key fails for a new one."""
    try:
        return writer.fast_cursor.execute(sql.OPEN_SESSION, values).rowcount > 0
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
            raise
    _add_owner(writer, owner)
    return writer.fast_cursor.execute(sql.OPEN_SESSION, values).rowcount > 0


def append_known(writer: WriteConnection, turn: Turn, expected: int | None, receipt: StoredReceipt | None) -> Turn:
    """Write a turn whose id may be stored already."""
    stored = find_turn(writer, turn.owner, turn.id)
    if stored:
        merged = write_rules.merge_repeat(turn, stored)
        return stored if merged is stored else _change(writer, stored, merged, receipt)
    counted = writer.execute(sql.LAST_TURN_OF_SESSION, (turn.owner.key.bytes, turn.session_id)).fetchone()
    write_rules.check_expected(expected, (counted[0] if counted else 0) + 1, turn.session_id)
    return NewTurn(turn, None, receipt)(writer)


def answer(
    writer: sqlite3.Connection,
    owner: Owner,
    turn_id: str,
    message: Message,
    metadata: dict[str, object],
    receipt: StoredReceipt | None,
) -> Turn:
    """Close an open turn."""
    stored = find_turn(writer, owner, turn_id)
    if stored is None:
        raise NotFoundError(f"turn {turn_id!r} does not exist for this user; ask first")
    merged = write_rules.merge_answer(stored, message, metadata)
    return stored if merged is stored else _change(writer, stored, merged, receipt)


def mark_failed(writer: sqlite3.Connection, owner: Owner, turn_id: str, failure: dict[str, object]) -> Turn | None:
    """Keep why an open turn has no answer; None if there is no such turn."""
    stored = find_turn(writer, owner, turn_id)
    if stored is None:
        return None
    marked = write_rules.merge_failure(stored, failure)
    return stored if marked is stored else _change(writer, stored, marked, None)


def add_message(writer: WriteConnection, turn: Turn) -> Turn:
    message = the_message(turn)
    newest = _newest(writer, turn.owner, turn.session_id)
    where = place(message, newest)
    if where == "new" or newest is None:
        opened = open_turn(replace(turn, question=None, answer=None, steps=()), message)
        return append_known(writer, opened, None, None)
    if where == "answer":
        return answer(writer, turn.owner, newest.id, message, {}, None)
    return _change(writer, newest, add_step(newest, message).sealed(), None)


def load(writer: sqlite3.Connection, session: SessionInfo, turns: Sequence[Turn]) -> tuple[int, int]:
    """Import a session with its numbered turns; all or nothing."""
    owner = session.owner.key.bytes
    fresh: list[Turn] = []
    for turn in turns:
        key = (owner, session.id, turn.turn_number)
        at_number = _one_turn(writer, session.owner, writer.execute(sql.TURN_BY_NUMBER, key))
        if not write_rules.already_loaded(turn, at_number, find_turn(writer, session.owner, turn.id)):
            fresh.append(turn)
    numbers = [number for (number,) in writer.execute(sql.TURN_NUMBERS, (owner, session.id))]
    write_rules.check_loaded(session.id, numbers, fresh)
    existing = find_session(writer, session.owner, session.id)
    after = write_rules.grown(existing or write_rules.loaded_session(session), fresh)
    if existing is None:
        add_session(writer, after)
    elif fresh:
        _set_session(writer, after)
    if not _in_order(existing, fresh):
        writer.execute(sql.OUT_OF_ORDER, (owner, session.id))
    writer.executemany(sql.ADD_TURN, ((owner, *turn_to_row(turn)) for turn in fresh))
    return len(fresh), len(turns) - len(fresh)


def _in_order(before: SessionInfo | None, fresh: Iterable[Turn]) -> bool:
    """Whether loaded turns surely leave a session's turns in the order of their dates."""
    turns = sorted(fresh, key=lambda turn: turn.turn_number)
    if before and turns:
        first = turns[0]
        if first.turn_number <= before.last_turn or first.created_at < before.last_active_at:
            return False
    return all(earlier.created_at <= later.created_at for earlier, later in pairwise(turns))


def update(writer: sqlite3.Connection, owner: Owner, session_id: str, changes: SessionChanges) -> SessionInfo | None:
    """Set the given fields of a session."""
    stored = find_session(writer, owner, session_id)
    if stored is None:
        return None
    changed = write_rules.changed(stored, changes)
    _set_session(writer, changed)
    return changed


def keep_receipt(
    writer: sqlite3.Connection, owner: Owner, receipt: StoredReceipt, session_id: str, number: int, query: str = ""
) -> None:
    """Write a turn's receipt, and its passages once per user; the turn's own question, `query`, not again."""
    passages, key = dict(receipt.passages), owner.key.bytes
    own = passage_digest(query) if query in passages.values() else ""
    if passages.get(own) == query:
        del passages[own]
    numbers: dict[str, int] = dict(writer.execute(sql.NUMBERS, (key, json.dumps(list(passages)))).fetchall())
    for digest in passages.keys() - numbers.keys():
        values = {"owner": key, "digest": digest, "body": passages[digest]}
        ((numbers[digest],),) = writer.execute(sql.ADD_PASSAGE, values).fetchall()
    use = (number, key, session_id)
    used = writer.execute(sql.USE_PASSAGES, (*use, json.dumps(list(numbers.values())))).rowcount
    for each in numbers.values() if used < len(numbers) else ():
        if writer.execute(sql.ADD_USE, (*use, each)).rowcount:
            writer.execute(sql.COUNT_USE, (key, each))
    if own and own not in passages:
        numbers[own] = OWN_QUESTION
    writer.execute(sql.KEEP_RECEIPT, (key, session_id, number, pack_receipt(receipt.body, numbers)))


def drop_passages(writer: sqlite3.Connection, owner: bytes, unused: Iterable[tuple[int]]) -> None:
    """Delete passages that a session no longer needs, by number, unless another one does."""
    numbers = json.dumps([number for (number,) in unused])
    if numbers != "[]":
        writer.execute(sql.UNCOUNT_USES, (owner, numbers))
        writer.execute(sql.DROP_UNUSED_PASSAGES, (owner, numbers))


def find_turn(connection: sqlite3.Connection, owner: Owner, turn_id: str) -> Turn | None:
    """One turn by id, to be compared with or added to."""
    return _one_turn(connection, owner, connection.execute(sql.TURN_BY_ID, (owner.key.bytes, turn_id)))


def find_session(connection: sqlite3.Connection, owner: Owner, session_id: str) -> SessionInfo | None:
    rows = connection.execute(sql.SESSION, (owner.key.bytes, session_id)).fetchall()
    return SESSION_ROWS.read(rows[0], owner=owner) if rows else None


def _one_turn(connection: sqlite3.Connection, owner: Owner, found: Iterable[Any]) -> Turn | None:
    """The turn of a row, if there is one; DamageError for an archived one whose text is lost."""
    for turn in topics.to_turns(connection, owner, found):
        if turn.damage:
            raise DamageError(turn.damage)
        return turn
    return None


def _newest(writer: sqlite3.Connection, owner: Owner, session_id: str) -> Turn | None:
    """The newest turn, if it can be added to: one whose text is lost must not block the session."""
    rows = writer.execute(sql.TURNS, (owner.key.bytes, session_id, 0, ENDLESS, 1)).fetchall()
    return next((turn for turn in topics.to_turns(writer, owner, rows) if not turn.damage), None)


def add_session(writer: sqlite3.Connection, session: SessionInfo) -> None:
    """Insert a session, and its owner if it is new."""
    _add_owner(writer, session.owner)
    writer.execute(sql.ADD_SESSION, (session.owner.key.bytes, *SESSION_ROWS.write(session)))


def _add_owner(writer: sqlite3.Connection, owner: Owner) -> None:
    writer.execute(sql.ADD_OWNER, (owner.key.bytes, owner.tenant_id, owner.user_id))


def _set_session(writer: sqlite3.Connection, session: SessionInfo) -> None:
    session_id, *values = SESSION_ROWS.write(session)
    writer.execute(sql.SET_SESSION, (*values, session.owner.key.bytes, session_id))


def _change(writer: sqlite3.Connection, before: Turn, turn: Turn, receipt: StoredReceipt | None) -> Turn:
    """Write what was added to a stored turn. A block that holds the turn does not hold that: the turn leaves it."""
    place = (turn.owner.key.bytes, turn.session_id)
    _, _, _, _, _, _, _, answered_at, response, tokens, chunk_ids, metadata, details, _, _, seal, *_ = turn_to_row(turn)
    values = (answered_at, response, tokens, chunk_ids, metadata, details, seal)
    writer.execute(sql.CHANGE_TURN, (*values, *place, turn.turn_number))
    writer.execute(sql.TOUCH_SESSION, (_last_said(turn, micros(turn.created_at)), *place))
    if receipt:
        keep_receipt(writer, turn.owner, receipt, turn.session_id, turn.turn_number, turn.query)
    if before.topic_id and before.answer is None and turn.answer is not None:
        topics.count_answer(writer, before)
    if before.block_id:
        topics.leave_block(writer, before)
        return replace(turn, block_id=None, archived=False)
    return turn


def _last_said(turn: Turn, asked_at: int) -> int:
    asked = turn.created_at
    later = [message.created_at for message in turn.messages if message.created_at is not asked]
    return micros(max(asked, *later)) if later else asked_at

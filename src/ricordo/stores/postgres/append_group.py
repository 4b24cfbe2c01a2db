"""Group commit of new turns: writers that come together share one transaction and one round trip.

In: a turn of an existing session. Out: the turn with its number, once it is committed; or None if it was not written,
and the caller must write it alone. A turn is numbered here, because its checksum covers its number. The number follows
the last one that this process knows, if no other process wrote to the session since; otherwise a first round trip takes
a number. Row-level security applies: the transaction names an owner before each of that owner's statements. If one
write cannot be in the group (a new session, an id that is already stored, a session that another transaction has
locked), the whole group is rolled back and each caller writes alone.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import psycopg

from ricordo.errors import StoreError
from ricordo.records.turns import Owner, StoredReceipt, Turn
from ricordo.stores.group_commit import GroupCommit, Ticket
from ricordo.stores.postgres import turn_statements as sql
from ricordo.stores.postgres.transaction import CONFLICTS, OwnerTransactions, Row, Transaction
from ricordo.stores.turn_rows import TURN_COLUMNS, micros, turn_to_row

LANES = 4  # groups in flight at once: while one waits for the disk, another is filled
KNOWN_SESSIONS = 20_000

Place = tuple[bytes, str]

_COLUMNS = TURN_COLUMNS.split(", ")

# A session may be locked for long, for example by an import; the other writes of the group must not wait for it.
_LOCK_TIMEOUT = "SET LOCAL lock_timeout = '200ms'"
_LEAVE_GROUP = (*CONFLICTS, psycopg.errors.LockNotAvailable, psycopg.IntegrityError, psycopg.DataError)


@dataclass(frozen=True, slots=True)
class UnnumberedTurn:
    """A turn to number and write, the time of its last message, and its receipt."""

    turn: Turn
    active_at: int
    receipt: StoredReceipt | None

    @property
    def place(self) -> Place:
        """Owner and session: groups lock sessions in this order, so that two groups never deadlock."""
        return self.turn.owner.key.bytes, self.turn.session_id


class AppendGroup:
    """Commits the new turns of one process in groups; a session always belongs to the same lane of groups."""

    def __init__(self, transactions: OwnerTransactions) -> None:
        self._transactions = transactions
        self._last: dict[Place, int] = {}  # the last number of sessions that this process wrote to
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lanes = [GroupCommit(self._serve) for _ in range(LANES)]

    def append(self, new: UnnumberedTurn) -> Turn | None:
        """The stored turn; None if it must be written alone."""
        if self._process != os.getpid():  # after a fork the leader of a group may be in the parent process
            self._start()
        ticket = Ticket(new)
        self._lanes[hash(new.place) % LANES].serve(ticket)
        written: Turn | None = ticket.result
        return written

    def _serve(self, tickets: Sequence[Ticket]) -> None:
        ordered = sorted(tickets, key=lambda ticket: ticket.operation.place) if len(tickets) > 1 else list(tickets)
        if self._transactions.security.citus:  # one owner in a transaction: one shard, no two-phase commit
            for _, mine in groupby(ordered, key=lambda ticket: ticket.operation.place[0]):
                self._commit(list(mine), _Numbered)
            return
        if all(each.operation.place in self._last and not each.operation.receipt for each in ordered):
            self._commit(ordered, _Expected)
            ordered = [each for each in ordered if each.result is None]
        if ordered:
            self._commit(ordered, _Numbered)

    def _commit(self, tickets: Sequence[Ticket], kind: type["_Numbered"]) -> None:
        """One transaction; a repeated one finds the ids of the first and is rolled back."""
        turns = [each.operation for each in tickets]
        if len(self._last) > KNOWN_SESSIONS:
            self._last.clear()
        try:
            owners = self._run(turns, kind)
        except StoreError as error:
            if not isinstance(error.__cause__, _LEAVE_GROUP):
                raise
            owners = []
        finally:
            for owner in {new.turn.owner.key for new in turns} if self._transactions.replica else ():
                self._transactions.note_write(owner)
        written = [turn for each in owners for turn in each.written()] or [None] * len(turns)
        for ticket, new, turn in zip(tickets, turns, written, strict=True):
            ticket.result = turn
            if turn is None:
                self._last.pop(new.place, None)
            else:
                self._last[new.place] = turn.turn_number

    def _run(self, turns: list[UnnumberedTurn], kind: type["_Numbered"]) -> list["_Numbered"]:
        fetch = self._transactions.fetch
        if fetch and kind is _Expected and turns[0].turn.owner == turns[-1].turn.owner:  # one statement that commits
            expected = _Expected(turns[0].turn.owner, turns, self._last)
            expected.taken = fetch(sql.APPEND_TURNS, expected.values(), resolve=False)
            return [expected]
        return self._transactions.runner.run(
            (), lambda tx: self._write(tx, turns, kind), repeatable=True, resolve=False
        )

    def _write(
        self, transaction: Transaction, turns: list[UnnumberedTurn], kind: type["_Numbered"]
    ) -> list["_Numbered"]:
        security = self._transactions.security
        owners = [kind(owner, list(mine), self._last) for owner, mine in groupby(turns, key=lambda new: new.turn.owner)]
        for each in owners:
            each.citus = security.citus
            transaction.configure(security.for_owner(each.owner.key))
            if len(turns) > 1 and each is owners[0]:  # on Citus it reaches the nodes only after an owner is named
                transaction.configure((_LOCK_TIMEOUT,))
            each.begin(transaction)
        for each in owners:
            if each.trips > 1 and len(owners) > 1:
                transaction.configure(security.for_owner(each.owner.key))
            each.finish(transaction)
        return owners


class _Numbered:
    """The turns of one owner: their numbers are taken first, then they are inserted."""

    trips = 2
    citus = False  # Citus would insert the rows of a query by COPY, which row-level security refuses

    def __init__(self, owner: Owner, turns: list[UnnumberedTurn], last: Mapping[Place, int]) -> None:
        self.owner = owner
        self.turns = turns
        self.sessions = [(name, list(new)) for name, new in groupby(turns, key=lambda new: new.turn.session_id)]
        self.last = last
        self.numbered: list[Turn | None] = []

    def begin(self, transaction: Transaction) -> None:
        """Take the numbers of all turns; sessions that do not exist yet give none."""
        values = {"owner": self.owner.key, "expected": _json(self._counts())}
        self.taken: Iterable[Row] = transaction.send(sql.NEXT_NUMBERS, values)

    def finish(self, transaction: Transaction) -> None:
        last: dict[str, int] = dict(self.taken)
        self._number({name: last[name] - len(new) for name, new in self.sessions if name in last})
        rows = self._rows()
        if len(rows) == 1:
            transaction.send(sql.INSERT_TURN, {"owner": self.owner.key, **rows[0]})
        elif self.citus:
            transaction.send_many(sql.INSERT_TURN, [{"owner": self.owner.key, **row} for row in rows])
        elif rows:
            transaction.send(sql.INSERT_TURNS, {"owner": self.owner.key, "rows": _json(rows)})
        for new, turn in zip(self.turns, self.numbered, strict=True):
            if turn:
                put_receipt(transaction, turn, new.receipt)

    def written(self) -> list[Turn | None]:
        """The turns as they are stored, in order; None for one whose session does not exist."""
        return self.numbered

    def _counts(self) -> list[dict[str, Any]]:
        """What is added to each session."""
        return [
            {
                "session_id": name,
                "last_turn": self.last.get(new[0].place),
                "turns": len(new),
                "open": sum(opened(each.turn) for each in new),
                "receipts": sum(each.receipt is not None for each in new),
                "active_at": max(each.active_at for each in new),
                "oldest_at": min(micros(each.turn.created_at) for each in new),
            }
            for name, new in self.sessions
        ]

    def _number(self, known: dict[str, int]) -> None:
        """Number the turns after the known last numbers of their sessions."""
        for new in self.turns:
            session_id = new.turn.session_id
            if session_id in known:
                known[session_id] += 1
                self.numbered.append(replace(new.turn.as_new(), turn_number=known[session_id]).sealed())
            else:
                self.numbered.append(None)

    def _rows(self) -> list[dict[str, Any]]:
        return [dict(zip(_COLUMNS, turn_to_row(turn), strict=True)) for turn in self.numbered if turn]


class _Expected(_Numbered):
    """The turns of one owner in sessions whose last number this process knows, unless another process wrote to them."""

    trips = 1

    def values(self) -> dict[str, Any]:
        """The parameters of the one statement."""
        counts = self._counts()
        self.numbered = []
        self._number({each["session_id"]: each["last_turn"] for each in counts})
        return {"owner": self.owner.key, "expected": _json(counts), "rows": _json(self._rows())}

    def begin(self, transaction: Transaction) -> None:
        """Insert the turns with the expected numbers."""
        self.taken = transaction.send(sql.APPEND_TURNS, self.values())

    def finish(self, transaction: Transaction) -> None:
        """Nothing is left to send."""

    def written(self) -> list[Turn | None]:
        """The turns as they are stored; None for those of a session that has another number now."""
        taken = {name for (name,) in self.taken}
        return [turn if turn and turn.session_id in taken else None for turn in self.numbered]


def _json(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def put_receipt(transaction: Transaction, turn: Turn, receipt: StoredReceipt | None) -> None:
    """Write the receipt of a turn, and the passages that it names."""
    if receipt is None:
        return
    here = {"owner": turn.owner.key, "session_id": turn.session_id, "turn_number": turn.turn_number}
    transaction.send(sql.PUT_RECEIPT, {**here, "body": receipt.body})
    passages = [{**here, "digest": digest, "body": body} for digest, body in sorted(receipt.passages.items())]
    transaction.send_many(sql.PUT_PASSAGE, passages)


def opened(turn: Turn) -> int:
    """How many open turns a turn adds to its session: 1 or 0."""
    return int(turn.is_open)


def last_said(turn: Turn) -> int:
    """When the last message of a turn was said, in microseconds."""
    said_at = {turn.created_at, *(message.created_at for message in turn.messages)}
    return micros(max(said_at))

"""The turns of the SQLite store: what reads them, what deletes single ones, and the write operations as one call each.

The rows of a write are in `turn_operations`. Reading is the hot path of every prompt, appending that of every turn:
both go from the method to SQLite with as few calls as possible.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from ricordo.records.turns import Message, Owner, SessionInfo, StoredReceipt, Turn
from ricordo.stores import write_rules
from ricordo.stores.archive.codec import UnreadablePayload
from ricordo.stores.archive.export import unpack_receipt
from ricordo.stores.sqlite import topics, turn_operations, vectors
from ricordo.stores.sqlite import turn_statements as sql
from ricordo.stores.sqlite.connections import Connections, one_view
from ricordo.stores.sqlite.database import translated
from ricordo.stores.turn_rows import ENDLESS, row_to_turn


class SqliteTurns:
    """Turns with their receipts."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

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

    def get(self, owner: Owner, turn_id: str) -> Turn | None:
        found = self._read(owner, sql.TURN_BY_ID, (owner.key.bytes, turn_id))
        return found[0] if found else None

    def by_ids(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        return self._read(owner, sql.TURNS_BY_ID, (owner.key.bytes, json.dumps(list(turn_ids))))

    def page(
        self,
        owner: Owner,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Sequence[Turn]:
        bounds = (0 if after is None else after, ENDLESS if before is None else before, -1 if last is None else last)
        found = self._read(owner, sql.TURNS, (owner.key.bytes, session_id, *bounds))
        found.reverse()
        return found

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        key = (owner.key.bytes, session_id)
        values = {"owner": key[0], "session_id": session_id, "turn_number": turn_number, "limit": limit}
        with self._connections.reading() as reader, one_view(reader):
            found = [(number, _unpacked(body)) for number, body in reader.execute(sql.RECEIPTS, values).fetchall()]
            named = [
                dict(reader.execute(sql.PASSAGES_NAMED_BY, (*key, body or "null")).fetchall()) for _, body in found
            ]
        return [StoredReceipt(session_id, *each, passages) for each, passages in zip(found, named, strict=True)]

    def delete(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        key = (owner.key.bytes, session_id)
        numbers = json.dumps(list(turn_numbers))

        def drop(writer: sqlite3.Connection) -> int:
            gone = writer.execute(sql.DROP_NUMBERED_TURNS, (*key, numbers)).fetchall()
            if gone:
                turns_dropped(writer, key, gone)
            return len(gone)

        return self._connections.write(drop)

    def _read(self, owner: Owner, statement: str, values: tuple[object, ...]) -> list[Turn]:
        # No context manager, no generator: see above.
        connections = self._connections
        reader = connections.reader()
        try:
            rows = reader.execute(statement, values).fetchall()
            for row in rows:
                if row[-1] is not None:  # in a block: rows and blocks must be read in one snapshot
                    with one_view(reader):
                        return topics.to_turns(reader, owner, reader.execute(statement, values).fetchall())
        except (sqlite3.Error, UnicodeError) as error:
            raise translated(error, connections.path) from error
        finally:
            connections.give_back(reader)
        return [row_to_turn(owner, row) for row in rows]


def turns_dropped(writer: sqlite3.Connection, key: tuple[bytes, str], gone: Sequence[Any]) -> int:
    """Update a session, its topics, blocks and vectors after turns were deleted; how many turns it still has."""
    writer.execute(sql.DROP_UNUSED_PASSAGES, {"owner": key[0], "session_id": key[1]})
    topics.update_topics(writer, key, gone)
    topics.update_blocks(writer, key, {block_id for _, _, _, block_id, *_ in gone if block_id})
    vectors.drop_turns(writer, key, (number for _, number, *_ in gone))
    (left,) = writer.execute(sql.LESSEN_SESSION, (len(gone), *key)).fetchall()
    return int(left[0])


def _unpacked(body: bytes) -> str:
    """The JSON of a receipt; "" where its bytes are damaged, which its reader reports."""
    try:
        return unpack_receipt(body)
    except UnreadablePayload:
        return ""

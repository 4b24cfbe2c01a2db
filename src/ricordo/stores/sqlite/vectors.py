"""The vectors of turns in the SQLite store, thirty-two turns to a row of the table `traces`.

A row for each turn would repeat owner, session and embedder beside four hundred bytes of vectors and leave a part of
every page empty; in packs the vectors are nearly all that is stored.

    pack = for each turn, by rising number: its place in the pack (one byte) · checksum (eight bytes) ·
           length (four bytes) · vectors; little-endian
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import Struct

from ricordo.records.turns import Owner, TurnVectors
from ricordo.stores.sqlite import topics as sql
from ricordo.stores.sqlite.connections import Connections

TURNS_IN_PACK = 32
_ENTRY = Struct("<B8sI")

Held = dict[int, tuple[bytes, bytes]]  # turn number -> checksum, vectors


class SqliteVectors:
    """Vectors of turns."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        if session_id is None:
            statement, values = sql.TRACES, [owner.key.bytes, embedder]
        else:
            statement, values = sql.TRACES_OF_SESSION, [owner.key.bytes, embedder, session_id]
        with self._connections.reading() as reader:
            found = [
                TurnVectors(session, number, embedder, checksum.hex(), body)
                for session, pack, packed in reader.execute(statement, values)
                for number, (checksum, body) in unpacked(pack, packed).items()
            ]
        return iter(found)

    def write(self, owner: Owner, vectors: Sequence[TurnVectors]) -> None:
        self._connections.write(lambda writer: put(writer, owner, vectors))

    def drop(self, owner: Owner, *, keep: str) -> int:
        return self._connections.write(lambda writer: drop(writer, owner, keep))


def put(writer: sqlite3.Connection, owner: Owner, vectors: Iterable[TurnVectors]) -> None:
    """Write the vectors of turns that exist, over older ones."""
    by_session: dict[str, list[TurnVectors]] = defaultdict(list)
    for each in vectors:
        by_session[each.session_id].append(each)
    for session_id, new in by_session.items():
        key = (owner.key.bytes, session_id)
        numbers = json.dumps([each.turn_number for each in new])
        there = {number for (number,) in writer.execute(sql.NUMBERS_THERE, (*key, numbers))}
        packs: dict[tuple[int, str], Held] = defaultdict(dict)
        for each in new:
            if each.turn_number in there:
                held = packs[_pack_of(each.turn_number), each.embedder]
                held[each.turn_number] = bytes.fromhex(each.checksum), each.body
        for (pack, embedder), held in packs.items():
            stored = writer.execute(sql.TRACE_PACK, (*key, pack, embedder)).fetchall()
            before = unpacked(pack, stored[0][0]) if stored else {}
            _put_pack(writer, key, pack, embedder, before | held)


def drop_turns(writer: sqlite3.Connection, key: tuple[bytes, str], gone: Iterable[int]) -> None:
    """Rewrite packs without turns that were deleted; delete one that lost all of them."""
    lost: dict[int, set[int]] = defaultdict(set)
    for number in gone:
        lost[_pack_of(number)].add(number)
    for pack, embedder, packed in writer.execute(sql.TRACE_PACKS, (*key, json.dumps(list(lost)))).fetchall():
        held = unpacked(pack, packed)
        _put_pack(writer, key, pack, embedder, {number: held[number] for number in held if number not in lost[pack]})


def drop(writer: sqlite3.Connection, owner: Owner, keep: str | None) -> int:
    """Delete the vectors of all embedders but one, or of all; how many."""
    return sum(held for (held,) in writer.execute(sql.DROP_OTHER_TRACES, (owner.key.bytes, keep)).fetchall())


def packed(held: Mapping[int, tuple[bytes, bytes]]) -> bytes:
    """The vectors of one pack as bytes."""
    return b"".join(
        _ENTRY.pack((number - 1) % TURNS_IN_PACK, checksum, len(body)) + body
        for number, (checksum, body) in sorted(held.items())
    )


def unpacked(pack: int, body: bytes) -> Held:
    """The vectors of a pack; an entry that is cut short is left out, because vectors can be computed again."""
    return dict(_entries(pack * TURNS_IN_PACK + 1, body))


def _entries(first: int, body: bytes) -> Iterator[tuple[int, tuple[bytes, bytes]]]:
    start = 0
    while start + _ENTRY.size <= len(body):
        place, checksum, length = _ENTRY.unpack_from(body, start)
        start += _ENTRY.size
        if start + length <= len(body):
            yield first + place, (checksum, body[start : start + length])
        start += length


def _pack_of(number: int) -> int:
    return (number - 1) // TURNS_IN_PACK


def _put_pack(writer: sqlite3.Connection, key: Sequence[bytes | str], pack: int, embedder: str, held: Held) -> None:
    if held:
        writer.execute(sql.PUT_TRACE_PACK, (*key, pack, embedder, len(held), packed(held)))
    else:
        writer.execute(sql.DROP_TRACE_PACK, (*key, pack, embedder))

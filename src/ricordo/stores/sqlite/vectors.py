"""The traces of a session's turns, thirty-two turns to a row, as operations on a connection.

In: traces of single turns. Out: the same. A row of its own for each would repeat owner, session and embedder beside
four hundred bytes of vectors and leave a part of every page empty; in packs the vectors are nearly all that is stored.

    pack = for each turn, by rising number: its place in the pack (one byte) · checksum (eight bytes) ·
           length (four bytes) · vectors; little-endian
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import Struct

from ricordo.records.turns import Owner, TurnVectors
from ricordo.stores.sqlite import statements as sql

TURNS_IN_PACK = 32
_ENTRY = Struct("<B8sI")

Held = dict[int, tuple[bytes, bytes]]  # turn number -> checksum, vectors


def traces(reader: sqlite3.Connection, owner: Owner, embedder: str, session_id: str | None) -> list[TurnVectors]:
    """The traces by one embedder."""
    if session_id is None:
        rows = reader.execute(sql.TRACES, (owner.key.bytes, embedder))
    else:
        rows = reader.execute(sql.TRACES_OF_SESSION, (owner.key.bytes, embedder, session_id))
    return [
        TurnVectors(session, number, embedder, checksum.hex(), body)
        for session, pack, packed in rows
        for number, (checksum, body) in unpacked(pack, packed).items()
    ]


def keep_traces(writer: sqlite3.Connection, owner: Owner, kept: Iterable[TurnVectors]) -> None:
    """Write traces of turns that are still there, each in the place of the one before."""
    by_session: dict[str, list[TurnVectors]] = defaultdict(list)
    for trace in kept:
        by_session[trace.session_id].append(trace)
    for session_id, traces_of in by_session.items():
        key = (owner.key.bytes, session_id)
        numbers = json.dumps([trace.turn_number for trace in traces_of])
        there = {number for (number,) in writer.execute(sql.NUMBERS_THERE, (*key, numbers))}
        packs: dict[tuple[int, str], Held] = defaultdict(dict)
        for trace in traces_of:
            if trace.turn_number in there:
                held = packs[_pack_of(trace.turn_number), trace.embedder]
                held[trace.turn_number] = bytes.fromhex(trace.checksum), trace.body
        for (pack, embedder), held in packs.items():
            stored = writer.execute(sql.TRACE_PACK, (*key, pack, embedder)).fetchall()
            before = unpacked(pack, stored[0][0]) if stored else {}
            _put(writer, key, pack, embedder, before | held)


def tell_traces(writer: sqlite3.Connection, key: tuple[bytes, str], gone: Iterable[int]) -> None:
    """Packs that lost turns are written again without them; one that lost all of them goes."""
    lost: dict[int, set[int]] = defaultdict(set)
    for number in gone:
        lost[_pack_of(number)].add(number)
    for pack, embedder, packed in writer.execute(sql.TRACE_PACKS, (*key, json.dumps(list(lost)))).fetchall():
        held = unpacked(pack, packed)
        _put(writer, key, pack, embedder, {number: held[number] for number in held if number not in lost[pack]})


def drop_traces(writer: sqlite3.Connection, owner: Owner, keep: str | None) -> int:
    """Remove the traces of all embedders but one, or of all; how many went."""
    return sum(held for (held,) in writer.execute(sql.DROP_OTHER_TRACES, (owner.key.bytes, keep)).fetchall())


def packed(held: Mapping[int, tuple[bytes, bytes]]) -> bytes:
    """Traces of one pack as bytes."""
    return b"".join(
        _ENTRY.pack((number - 1) % TURNS_IN_PACK, checksum, len(body)) + body
        for number, (checksum, body) in sorted(held.items())
    )


def unpacked(pack: int, body: bytes) -> Held:
    """The traces of a pack; what is cut short is left out, because traces can always be made again."""
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


def _put(writer: sqlite3.Connection, key: Sequence[bytes | str], pack: int, embedder: str, held: Held) -> None:
    if held:
        writer.execute(sql.PUT_TRACE_PACK, (*key, pack, embedder, len(held), packed(held)))
    else:
        writer.execute(sql.DROP_TRACE_PACK, (*key, pack, embedder))

"""The vectors and words of turns in the SQLite store, thirty-two turns to a row of the table `traces`.

A row for each turn would repeat owner, session and embedder beside four hundred bytes of vectors and leave a part of
every page empty; in packs the vectors are nearly all that is stored.

    pack  = for each turn, by rising number: its place in the pack (one byte) · checksum (eight bytes) ·
            length (four bytes) · vectors; little-endian
    words = for each turn that has them: its place (one byte) · length (four bytes) · words; all of it compressed with
            zlib, because the turns of a pack say the same words again and again
"""

import json
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import Struct
from typing import Any

from ricordo.records.turns import IndexedTurn, Owner, TurnVectors
from ricordo.stores.sqlite import topics as sql
from ricordo.stores.sqlite.connections import Connections, SqlitePart, one_view
from ricordo.stores.write_rules import grouped

TURNS_IN_PACK = 32
_ENTRY = Struct("<B8sI")
_NOTHING = b"", b""
_WORDS = Struct("<BI")

Held = dict[int, tuple[bytes, bytes]]  # turn number -> checksum, vectors


class SqliteVectors(SqlitePart[Connections]):
    """Vectors of turns."""

    def read(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        if session_id is None:
            statement, values = sql.TRACES, [owner.key.bytes, embedder]
        else:
            statement, values = sql.TRACES_OF_SESSION, [owner.key.bytes, embedder, session_id]
        with self._database.reading() as reader:
            found = [
                TurnVectors(session, number, embedder, checksum.hex(), body, words.get(number, b""))
                for session, pack, packed, packed_words in reader.execute(statement, values)
                for words in (unpacked_words(pack, packed_words),)
                for number, (checksum, body) in unpacked(pack, packed).items()
            ]
        return iter(found)

    def turns(self, owner: Owner, embedder: str) -> Iterator[IndexedTurn]:
        with self._database.reading() as reader, one_view(reader):
            found = reader.execute(sql.TRACES, [owner.key.bytes, embedder])
            packs = {(session, pack): held for session, pack, *held in found}
            rows = reader.execute(sql.INDEXED_TURNS, [owner.key.bytes]).fetchall()
        return _with_bodies(rows, packs)

    def write(self, owner: Owner, vectors: Sequence[TurnVectors]) -> None:
        self._database.write(lambda writer: put(writer, owner, vectors))

    def drop(self, owner: Owner, *, keep: str) -> int:
        return self._database.write(lambda writer: drop(writer, owner, keep))


def _with_bodies(rows: Iterable[Any], packs: Mapping[tuple[str, int], Sequence[bytes]]) -> Iterator[IndexedTurn]:
    """Turns with the vectors and words that were made of them as they are."""
    current: tuple[str, int] | None = None
    held: Held = {}
    words: dict[int, bytes] = {}
    for row in rows:
        number = row[1]
        place = row[0], _pack_of(number)
        if place != current:
            current, (body, packed_words) = place, packs.get(place, _NOTHING)
            held, words = unpacked(place[1], body), unpacked_words(place[1], packed_words)
        checksum, body = held.get(number, _NOTHING)
        if checksum.hex() == row[6]:
            yield IndexedTurn._make((*row, body, words.get(number, b"")))
        else:
            yield IndexedTurn._make((*row, *_NOTHING))


def put(writer: sqlite3.Connection, owner: Owner, vectors: Iterable[TurnVectors]) -> None:
    """Write the vectors of turns that exist, over older ones."""
    for session_id, new in grouped(vectors, lambda each: each.session_id).items():
        key = (owner.key.bytes, session_id)
        numbers = json.dumps([each.turn_number for each in new])
        there = {number for (number,) in writer.execute(sql.NUMBERS_THERE, (*key, numbers))}
        packs: dict[tuple[int, str], dict[int, TurnVectors]] = defaultdict(dict)
        for each in new:
            if each.turn_number in there:
                packs[_pack_of(each.turn_number), each.embedder][each.turn_number] = each
        for (pack, embedder), added in packs.items():
            [(body, words)] = writer.execute(sql.TRACE_PACK, (*key, pack, embedder)).fetchall() or [_NOTHING]
            fresh = {number: (bytes.fromhex(each.checksum), each.body) for number, each in added.items()}
            said = {number: each.words for number, each in added.items()}
            _put_pack(writer, key, pack, embedder, unpacked(pack, body) | fresh, unpacked_words(pack, words) | said)


def drop_turns(writer: sqlite3.Connection, key: tuple[bytes, str], gone: Iterable[int]) -> None:
    """Rewrite packs without turns that were deleted; delete one that lost all of them."""
    lost: dict[int, set[int]] = defaultdict(set)
    for number in gone:
        lost[_pack_of(number)].add(number)
    for pack, embedder, body, words in writer.execute(sql.TRACE_PACKS, (*key, json.dumps(list(lost)))).fetchall():
        held = {number: each for number, each in unpacked(pack, body).items() if number not in lost[pack]}
        _put_pack(writer, key, pack, embedder, held, unpacked_words(pack, words))


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
    found: Held = {}
    unpack, head, first = _ENTRY.unpack_from, _ENTRY.size, pack * TURNS_IN_PACK + 1
    end, last = 0, len(body) - head
    while end <= last:
        place, checksum, length = unpack(body, end)
        start, end = end + head, end + head + length
        if end <= len(body):
            found[first + place] = checksum, body[start:end]
    return found


def packed_words(words: Mapping[int, bytes]) -> bytes | None:
    """The words of one pack as bytes; None if no turn has any."""
    said = [
        _WORDS.pack((number - 1) % TURNS_IN_PACK, len(each)) + each for number, each in sorted(words.items()) if each
    ]
    return zlib.compress(b"".join(said)) if said else None


def unpacked_words(pack: int, body: bytes | None) -> dict[int, bytes]:
    """The words of a pack; none of them if the bytes are damaged, because words can be made again."""
    try:
        said = zlib.decompress(body) if body else b""
    except zlib.error:
        return {}
    found: dict[int, bytes] = {}
    unpack, head, first = _WORDS.unpack_from, _WORDS.size, pack * TURNS_IN_PACK + 1
    end, last = 0, len(said) - head
    while end <= last:
        place, length = unpack(said, end)
        start, end = end + head, end + head + length
        found[first + place] = said[start:end]
    return found


def _pack_of(number: int) -> int:
    return (number - 1) // TURNS_IN_PACK


def _put_pack(
    writer: sqlite3.Connection,
    key: Sequence[bytes | str],
    pack: int,
    embedder: str,
    held: Held,
    words: Mapping[int, bytes],
) -> None:
    if held:
        said = packed_words({number: words.get(number, b"") for number in held})
        writer.execute(sql.PUT_TRACE_PACK, (*key, pack, embedder, len(held), packed(held), said))
    else:
        writer.execute(sql.DROP_TRACE_PACK, (*key, pack, embedder))

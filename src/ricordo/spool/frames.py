"""Records in a file, each with its length and its checksum, so that whatever a crash left can be told from the rest.

In: bytes. Out: the records that are whole, and the places that are not. A frame is the mark `RSP1`, the length of the
record (4 bytes, big-endian), 8 bytes of BLAKE2b over it, and the record. No text can forge one: JSON has no control
characters, and a length has one in front.
"""

import hashlib
from dataclasses import dataclass

MARK = b"RSP1"
_HEAD = len(MARK) + 4 + 8


@dataclass(frozen=True, slots=True)
class Found:
    """What a file holds. `damaged` are pieces between whole records; `torn` is what follows the last whole one."""

    records: tuple[bytes, ...]
    damaged: tuple[bytes, ...]
    torn: bytes


def frame(record: bytes) -> bytes:
    """The record as it lies in the file."""
    return MARK + len(record).to_bytes(4, "big") + _digest(record) + record


def read_frames(data: bytes) -> Found:
    """Every whole record, in order. What cannot be read is stepped over, up to the next mark of a whole record."""
    records: list[bytes] = []
    damaged: list[bytes] = []
    position = good = 0
    while True:
        start = data.find(MARK, position)
        if start < 0:
            return Found(tuple(records), tuple(damaged), data[good:])
        record = _record_at(data, start)
        if record is None:
            position = start + 1
            continue
        if start > good:
            damaged.append(data[good:start])
        records.append(record)
        position = good = start + _HEAD + len(record)


def _record_at(data: bytes, start: int) -> bytes | None:
    length = int.from_bytes(data[start + len(MARK) : start + len(MARK) + 4], "big")
    record = data[start + _HEAD : start + _HEAD + length]
    whole = len(record) == length and _digest(record) == data[start + len(MARK) + 4 : start + _HEAD]
    return record if whole else None


def _digest(record: bytes) -> bytes:
    return hashlib.blake2b(record, digest_size=8).digest()

"""The stored form of a receipt: ids, digests and counts of its JSON are moved to columns, then all is compressed.

`pack_receipt` gives the bytes and `unpack_receipt` the same JSON back, checked by its checksum.
"""

import re
import threading
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

import zstandard

from ricordo.errors import DamageError
from ricordo.stores.archive.block import ByteReader, put_number
from ricordo.stores.archive.codec import UnreadablePayload

OWN_QUESTION = 0  # number of the question of the receipt's own turn; passages have numbers from 1 on
LARGEST = 64 * 1024 * 1024
_LEVEL = 9
# Form -> sha256 of its dictionary, `receipts-<form>.txt`. New receipts have the last form; all forms can be read.
_DIGESTS = {
    1: "d8ab6cb0ed8fba30e224e707e08218d496af02beadd79e90469f2bcda76c4ab1",
    2: "413630a1ffe5894031def703577009a107fb0a32221e1591b994101108f76a1d",
}
# What differs between receipts (ids and digests, counts, the digits of the fence) is moved out of the JSON, so that
# most of the rest is in the dictionary. Bytes above 0xF7, which UTF-8 does not use, mark the places. The mark of an id
# or a digest is followed by its number in the order of first mention.
_NUMBER = rb"([1-9][0-9]{0,8})"
_VARIES = re.compile(
    rb'"(?:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-f]{24})(?![0-9a-f])'
    rb'|(chunks","[^"]{0,99}?[-#])' + _NUMBER + rb'(?=")|(,)' + _NUMBER + rb"(?=,[tf])|(:)" + _NUMBER + rb"(?=[,}]))"
)
_FENCE = re.compile(rb" ([0-9a-f]{8})>>")
_MARKED = re.compile(rb"[\xf8-\xfb].|[\xfc\xfd]", re.DOTALL)
_NAMED, _FENCED, _COUNT = 0xFB, b"\xfc", b"\xfd"
_MARKS = {36: 0xF8, 64: 0xF9, 24: 0xFA}
_SIZES = {0xF8: 16, 0xF9: 32, 0xFA: 12}


def pack_receipt(body: str, numbers: Mapping[str, int] = MappingProxyType({})) -> bytes:
    """The bytes to store. Digests that are in `numbers` are stored as the number of their passage."""
    raw = body.encode()
    marked, *columns = split_columns(raw, numbers)
    packed = bytearray((2, *zlib.crc32(raw).to_bytes(4, "little")))
    for column in columns:
        put_number(packed, len(column))
        packed += column
    return bytes(packed + _tools(2).packer.compress(marked))


def split_columns(body: bytes, numbers: Mapping[str, int]) -> tuple[bytes, bytearray, bytearray, bytearray]:
    """The JSON with marks, and what was moved out: numbers of passages, counts, ids and digests."""
    named, counts, atoms, marks = bytearray(), bytearray(), bytearray(), dict[bytes, bytes]()
    if fence := _FENCE.search(body):
        atoms += bytes.fromhex(fence[1].decode())
        body = body.replace(fence[0], _FENCED)

    def mark(match: re.Match[bytes]) -> bytes:
        found, last = match[1], match.lastindex or 0
        if last > 1:
            put_number(counts, int(match[last]))
            return b'"%b\xfd' % match[last - 1]
        if found not in marks:
            if len(marks) == 256:
                return match[0]
            number = numbers.get(found.decode())
            marks[found] = bytes((0x22, _MARKS[len(found)] if number is None else _NAMED, len(marks)))
            if number is None:
                atoms.extend(bytes.fromhex(found.replace(b"-", b"").decode()))
            else:
                put_number(named, number)
        return marks[found]

    return _VARIES.sub(mark, body), named, counts, atoms


def unpack_receipt(packed: bytes, digests: Callable[[list[int]], Mapping[int, str]] = lambda numbers: {}) -> str:
    """The JSON of a packed receipt, or UnreadablePayload. `digests` looks up the digests of passage numbers."""
    try:
        if packed[0] not in _DIGESTS:
            raise UnreadablePayload(f"form {packed[0]} of receipts is not known")
        if packed[0] == 1:
            return _unpacked(packed[1:], 1).decode()
        reader = ByteReader(packed[5:])
        named, counts, atoms = (reader.take(reader.number()) for _ in range(3))
        numbers, marked = _numbers(named), _unpacked(reader.take(reader.left), 2)
        found = digests(numbers) if numbers else {}
        body = _filled(marked, [found[number] for number in numbers], _numbers(counts), ByteReader(atoms))
        if zlib.crc32(body).to_bytes(4, "little") != packed[1:5]:
            raise UnreadablePayload("the receipt does not match its checksum")
        return body.decode()
    except (LookupError, ValueError, zstandard.ZstdError) as error:
        raise UnreadablePayload(f"the receipt cannot be unpacked ({error})") from error


def _filled(marked: bytes, digests: list[str], counts: list[int], atoms: ByteReader) -> bytes:
    """The JSON with the columns in their places."""
    fence = b" %b>>" % atoms.take(4).hex().encode() if _FENCED in marked else b""
    said: list[bytes] = []

    def place(match: re.Match[bytes]) -> bytes:
        if len(match[0]) == 1:
            return fence if match[0] == _FENCED else b"%d" % counts.pop(0)
        kind, at = match[0]
        if at == len(said):
            atom = b"" if kind == _NAMED else atoms.take(_SIZES[kind])
            said.append(
                (digests.pop(0) if kind == _NAMED else str(UUID(bytes=atom)) if kind == 0xF8 else atom.hex()).encode()
            )
        return said[at]

    return _MARKED.sub(place, marked)


def _numbers(column: bytes) -> list[int]:
    reader, found = ByteReader(column), list[int]()
    while reader.left:
        found.append(reader.number())
    return found


def _unpacked(frame: bytes, form: int) -> bytes:
    tools = _tools(form)
    if zstandard.get_frame_parameters(frame, format=tools.format).content_size > LARGEST:
        raise UnreadablePayload("it declares more bytes than a receipt may have")
    return tools.unpacker.decompress(frame, allow_extra_data=False)


@cache
def _dictionary(form: int) -> zstandard.ZstdCompressionDict:
    raw = Path(__file__).with_name(f"receipts-{form}.txt").read_bytes()
    if sha256(raw).hexdigest() != _DIGESTS[form]:
        raise DamageError(f"the dictionary of receipts, receipts-{form}.txt, was changed: reinstall ricordo")
    known = zstandard.ZstdCompressionDict(raw, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    known.precompute_compress(level=_LEVEL)
    return known


class _Compressors(threading.local):
    """A compressor and a decompressor for each thread. Frames of form 1 have a magic number."""

    def __init__(self, form: int) -> None:
        self.format = zstandard.FORMAT_ZSTD1 if form == 1 else zstandard.FORMAT_ZSTD1_MAGICLESS
        parameters = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL, format=self.format, write_content_size=True, write_checksum=False, write_dict_id=False
        )
        self.packer = zstandard.ZstdCompressor(dict_data=_dictionary(form), compression_params=parameters)
        self.unpacker = zstandard.ZstdDecompressor(dict_data=_dictionary(form), format=self.format)


_tools = cache(_Compressors)

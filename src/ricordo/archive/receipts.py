"""A receipt as few bytes: the JSON of a stored receipt goes in, a sixth of it comes out, and back.

Receipts are long because they say the same things in the same order, so a text that says them once, with no name, id or
word of anybody in it, serves as dictionary (`receipts-1.txt`; once released it never changes, a better one gets the
next number). Level 3, because receipts are packed while somebody waits for a write.

    number of the dictionary (one byte) · one zstd frame with content size and checksum
"""

import threading
from functools import cache
from hashlib import sha256
from importlib.resources import files

import zstandard

from ricordo.archive.codec import Unreadable
from ricordo.errors import DamageError

NUMBER = 1
LEVEL = 3
LARGEST = 64 * 1024 * 1024
_DIGEST = "d8ab6cb0ed8fba30e224e707e08218d496af02beadd79e90469f2bcda76c4ab1"


def pack_receipt(body: str) -> bytes:
    """The bytes to store."""
    return bytes((NUMBER,)) + _tools().packer.compress(body.encode())


def unpack_receipt(packed: bytes) -> str:
    """What `pack_receipt` was given; Unreadable if these are not its bytes."""
    try:
        if packed[0] != NUMBER:
            raise Unreadable(f"dictionary {packed[0]} of receipts is not known")
        frame = packed[1:]
        if zstandard.get_frame_parameters(frame).content_size > LARGEST:
            raise Unreadable("more is declared than a receipt may hold")
        return _tools().unpacker.decompress(frame, allow_extra_data=False).decode()
    except (IndexError, UnicodeDecodeError, zstandard.ZstdError) as error:
        raise Unreadable(f"the receipt cannot be unpacked ({error})") from error


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    raw = files("ricordo.archive").joinpath(f"receipts-{NUMBER}.txt").read_bytes()
    if sha256(raw).hexdigest() != _DIGEST:
        raise DamageError(f"the dictionary of receipts, receipts-{NUMBER}.txt, was altered: reinstall ricordo")
    known = zstandard.ZstdCompressionDict(raw, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    known.precompute_compress(level=LEVEL)
    return known


class _Tools(threading.local):
    """A compressor and a decompressor for each thread: they serve one at a time."""

    def __init__(self) -> None:
        self.packer = zstandard.ZstdCompressor(dict_data=_dictionary(), write_checksum=True, write_dict_id=False)
        self.unpacker = zstandard.ZstdDecompressor(dict_data=_dictionary())


@cache
def _tools() -> _Tools:
    return _Tools()

"""A block: messages compressed together, once, with all that is needed to read them back or to know they are damaged.

Messages go in, bytes come out, and back without loss. A block is never changed: what a topic archives later becomes
another block, so nothing is compressed twice. The bytes are documented in docs/archive.md.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.archive.codec import Unreadable, codec_for, offered_codecs
from ricordo.archive.plain import decode, encode
from ricordo.errors import DamageError, ValidationError
from ricordo.records import Message

FORMAT_VERSION = 1
MAX_PLAIN_BYTES = 256 * 1024 * 1024  # far above any topic; a header that declares more is not believed

_MAGIC = b"RIB"
# magic, format version, codec, dictionary, message count, plain size, checksum: little-endian, no padding
_HEADER = struct.Struct("<3sBBHII8s")
_SUMMED = struct.Struct("<3sBBHII")


class DamagedBlock(DamageError):  # noqa: N818 - a finding, not a fault of the caller
    """A block cannot be read back whole, so nothing of it is; `block_id` names it, `reason` says what is wrong."""

    def __init__(self, block_id: str, reason: str) -> None:
        super().__init__(f"archive block {block_id}: {reason}; run verify, and restore the block from a backup")
        self.block_id = block_id
        self.reason = reason


@dataclass(frozen=True, slots=True)
class BlockInfo:
    """What a block's header declares, and its size on disk."""

    format_version: int
    codec: int
    dictionary: int
    message_count: int
    plain_bytes: int
    block_bytes: int
    checksum: str


def pack(messages: Sequence[Message]) -> bytes:
    """The messages, in the order given, as one block. The same messages always give the same bytes."""
    plain = encode(messages)
    if len(plain) > MAX_PLAIN_BYTES:
        raise ValidationError("messages", f"{len(plain)} bytes in one block; pack at most {MAX_PLAIN_BYTES}")
    # Trying all of them costs a few milliseconds off the write path; the smallest wins, the plainest among equals.
    tried = [(codec, codec.compress(plain)) for codec in offered_codecs(len(plain))]
    codec, payload = min(tried, key=lambda pair: len(pair[1]))
    summed = _SUMMED.pack(_MAGIC, FORMAT_VERSION, codec.number, codec.dictionary, len(messages), len(plain))
    return summed + _checksum(summed, plain) + payload


def unpack(block: bytes, block_id: str = "(unnamed)") -> tuple[Message, ...]:
    """The messages of a block, exactly as they were packed, or DamagedBlock: never a part, never another text."""
    info = inspect(block, block_id)
    try:
        plain = codec_for(info.codec, info.dictionary).decompress(block[_HEADER.size :], info.plain_bytes)
    except Unreadable as cause:
        raise DamagedBlock(block_id, str(cause)) from cause
    if _checksum(block[: _SUMMED.size], plain).hex() != info.checksum:
        raise DamagedBlock(block_id, "its content does not match its checksum")
    try:
        return decode(plain, info.message_count)
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as cause:
        raise DamagedBlock(block_id, f"its checksum is right but its layout is not ({cause})") from cause


def inspect(block: bytes, block_id: str = "(unnamed)") -> BlockInfo:
    """What the header says, without decompressing; DamagedBlock when it is not a header of ours."""
    if len(block) < _HEADER.size:
        raise DamagedBlock(block_id, f"it is cut short: {len(block)} bytes")
    magic, version, codec, dictionary, count, size, checksum = _HEADER.unpack_from(block)
    if magic != _MAGIC:
        raise DamagedBlock(block_id, "it does not begin like a block")
    if version != FORMAT_VERSION:
        raise DamagedBlock(block_id, f"its format version {version} is unknown here (this reads {FORMAT_VERSION})")
    if size > MAX_PLAIN_BYTES:
        raise DamagedBlock(block_id, f"it declares {size} bytes of text, more than any block may hold")
    return BlockInfo(version, codec, dictionary, count, size, len(block), checksum.hex())


def _checksum(summed: bytes, plain: bytes) -> bytes:
    """Eight bytes over the header's declarations and the plain text: a wrong bit in either is found."""
    return hashlib.blake2b(summed + plain, digest_size=8).digest()

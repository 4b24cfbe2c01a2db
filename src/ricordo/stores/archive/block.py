"""The bytes of a block: messages compressed together, with a header and a checksum that finds damage.

Messages go in, bytes come out, and back without loss. A block is never changed: what a topic archives later becomes
another block, so nothing is compressed twice. The layout is documented in docs/archive.md; `codec` has the compressors
and their dictionaries, `export` a form for other programs.
"""

import hashlib
import json
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any
from uuid import UUID

from ricordo.errors import DamageError, ValidationError
from ricordo.records.turns import ROLES, Message
from ricordo.records.values import record
from ricordo.stores.archive.codec import UnreadablePayload, codec_for, offered_codecs

# Messages as plain bytes, before compression: one column per field, because similar values compress well together.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PARTS = ("query", "response")

# Forms of a message id: plain text, a UUID with a part, or the UUID of the previous message with a part.
_ID_TEXT, _ID_UUID, _ID_SAME = 0, 1, 2


def encode(messages: Sequence[Message]) -> bytes:
    """The messages as bytes: small columns first, the texts last."""
    out = bytearray()
    extras: list[list[object]] = []
    for index, message in enumerate(messages):
        extra = _extra_of(message)
        if extra:
            extras.append([index, extra])
    texts = [message.content.encode("utf-8", "surrogatepass") for message in messages]
    for message in messages:
        out.append(ROLES.index(message.role))
    for text in texts:
        put_number(out, len(text))
    for message in messages:
        _put_signed(out, message.tokens)
    before = 0
    for message in messages:
        moment = (message.created_at - _EPOCH) // _MICROSECOND
        _put_signed(out, moment - before)
        before = moment
    _put_ids(out, [message.id for message in messages])
    _put_text(out, _json(extras) if extras else "")
    out += b"".join(texts)
    return bytes(out)


MessageRow = tuple[Any, ...]  # the fields of a message, in order, up to the last one that has a value


def decode(plain: bytes, count: int) -> list[MessageRow]:
    """The `count` messages that `encode` wrote; ValueError if it cannot have written these bytes."""
    if count > len(plain):  # every message takes at least one byte
        raise ValueError(f"{count} messages cannot fit in {len(plain)} bytes")
    reader = ByteReader(plain)
    roles = [ROLES[byte] for byte in reader.take(count)]
    lengths, tokens = reader.numbers(count), map(_signed, reader.numbers(count))
    moments = [_EPOCH + each * _MICROSECOND for each in accumulate(map(_signed, reader.numbers(count)))]
    ids = list(_ids(reader, count))
    raw = reader.text()
    extras: dict[int, dict[str, Any]] = dict(json.loads(raw)) if raw else {}
    contents = [reader.take(length).decode("utf-8", "surrogatepass") for length in lengths]
    if reader.left:
        raise ValueError(f"{reader.left} bytes too many")
    rows = list(zip(ids, roles, contents, moments, tokens, strict=True))
    if not extras:
        return rows
    return [(*row, *_fields_of(extras[index])) if index in extras else row for index, row in enumerate(rows)]


def _extra_of(message: Message) -> dict[str, object]:
    """The fields that most messages leave empty, under one-letter names."""
    extra: dict[str, object] = {}
    if message.chunk_ids:
        extra["c"] = list(message.chunk_ids)
    if message.metadata:
        extra["m"] = message.metadata
    if message.tool_calls:
        extra["t"] = list(message.tool_calls)
    if message.tool_call_id is not None:
        extra["r"] = message.tool_call_id
    if message.name is not None:
        extra["n"] = message.name
    return extra


def _fields_of(extra: dict[str, Any]) -> MessageRow:
    return (
        tuple(extra.get("c", ())), extra.get("m", {}), tuple(extra.get("t", ())), extra.get("r"), extra.get("n"),
    )  # fmt: skip


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=dict)


def _put_ids(out: bytearray, ids: Sequence[str]) -> None:
    """Write message ids. Those of one turn begin with the same UUID, which is written once, in sixteen bytes."""
    before: UUID | None = None
    for text in ids:
        head, _, part = text.rpartition(":")
        turn = _uuid(head)
        if turn is None:
            out.append(_ID_TEXT)
            _put_text(out, text)
            continue
        same = turn == before
        number = _PARTS.index(part) if part in _PARTS else len(_PARTS)
        out.append((_ID_SAME if same else _ID_UUID) | number << 2)
        if not same:
            out += turn.bytes
        if number == len(_PARTS):
            _put_text(out, part)
        before = turn


def _ids(reader: "ByteReader", count: int) -> Iterator[str]:
    before: str | None = None
    for _ in range(count):
        tag = reader.take(1)[0]
        if tag == _ID_TEXT:
            yield reader.text()
            continue
        if tag & 3 == _ID_UUID:
            head = reader.take(16).hex()
            before = f"{head[:8]}-{head[8:12]}-{head[12:16]}-{head[16:20]}-{head[20:]}"
        number = tag >> 2
        part = reader.text() if number == len(_PARTS) else _PARTS[number]
        yield f"{before}:{part}"


def _uuid(text: str) -> UUID | None:
    """The UUID whose text is exactly `text`; None if there is none, because the id must be read back unchanged."""
    if len(text) != 36:
        return None
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None


def put_number(out: bytearray, number: int) -> None:
    """Write seven bits in each byte, the lowest first; the high bit says that another byte follows."""
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _put_signed(out: bytearray, number: int) -> None:
    put_number(out, number << 1 if number >= 0 else -number << 1 | 1)


def _signed(number: int) -> int:
    return -(number >> 1) if number & 1 else number >> 1


def _put_text(out: bytearray, text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    put_number(out, len(raw))
    out += raw


class ByteReader:
    """Reads bytes in order; ValueError at the end."""

    __slots__ = ("_at", "_bytes")

    def __init__(self, raw: bytes) -> None:
        self._bytes = raw
        self._at = 0

    @property
    def left(self) -> int:
        """How many bytes are not read yet."""
        return len(self._bytes) - self._at

    def take(self, size: int) -> bytes:
        at, end = self._at, self._at + size
        if end > len(self._bytes):
            raise ValueError(f"{size} bytes expected, {self.left} left")
        self._at = end
        return self._bytes[at:end]

    def number(self) -> int:
        """The next number, as `put_number` wrote it."""
        return self.numbers(1)[0]

    def numbers(self, count: int) -> list[int]:
        raw, at, found = self._bytes, self._at, []
        try:
            for _ in range(count):
                value = shift = 0
                while (byte := raw[at]) > 0x7F:
                    value |= (byte & 0x7F) << shift
                    at, shift = at + 1, shift + 7
                found.append(value | byte << shift)
                at += 1
        except IndexError as error:
            raise ValueError("a number runs past the end") from error
        self._at = at
        return found

    def text(self) -> str:
        """The next text: its number of bytes, then UTF-8."""
        return self.take(self.number()).decode("utf-8", "surrogatepass")


FORMAT_VERSION = 1
MAX_PLAIN_BYTES = 256 * 1024 * 1024  # far above any topic; a header that declares more is refused

_MAGIC = b"RIB"
# magic, format version, codec, dictionary, message count, plain size, checksum: little-endian, no padding
_HEADER = struct.Struct("<3sBBHII8s")
_SUMMED = struct.Struct("<3sBBHII")


class DamagedBlock(DamageError):  # noqa: N818 - a finding, not a mistake of the caller
    """A block is damaged, and no part of it is returned; `reason` says what is wrong."""

    def __init__(self, block_id: str, reason: str) -> None:
        super().__init__(f"archive block {block_id}: {reason}; run verify, and restore the block from a backup")
        self.block_id = block_id
        self.reason = reason


@record
class BlockInfo:
    """The values of a block's header, and its size on disk."""

    format_version: int
    codec: int
    dictionary: int
    message_count: int
    plain_bytes: int
    block_bytes: int
    checksum: str


def pack(messages: Sequence[Message]) -> bytes:
    """The messages in the given order as one block. The same messages always give the same bytes."""
    plain = encode(messages)
    if len(plain) > MAX_PLAIN_BYTES:
        raise ValidationError("messages", f"{len(plain)} bytes in one block; pack at most {MAX_PLAIN_BYTES}")
    # All codecs are tried, which takes a few milliseconds in the background. Of equal sizes the simplest codec is used.
    tried = [(codec, codec.compress(plain)) for codec in offered_codecs(len(plain))]
    codec, payload = min(tried, key=lambda pair: len(pair[1]))
    summed = _SUMMED.pack(_MAGIC, FORMAT_VERSION, codec.number, codec.dictionary, len(messages), len(plain))
    return summed + _checksum(summed, plain) + payload


def unpack(block: bytes, block_id: str = "(unnamed)") -> tuple[Message, ...]:
    """The messages of a block, exactly as they were packed; DamagedBlock if any part of it is damaged."""
    return tuple([Message(*row) for row in unpack_rows(block, block_id)])


def unpack_rows(block: bytes, block_id: str) -> list[MessageRow]:
    """The same as plain tuples, which take half the memory and hardly any time of the garbage collector."""
    info = inspect(block, block_id)
    try:
        plain = codec_for(info.codec, info.dictionary).decompress(block[_HEADER.size :], info.plain_bytes)
    except UnreadablePayload as cause:
        raise DamagedBlock(block_id, str(cause)) from cause
    if _checksum(block[: _SUMMED.size], plain).hex() != info.checksum:
        raise DamagedBlock(block_id, "its content does not match its checksum")
    try:
        return decode(plain, info.message_count)
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as cause:
        raise DamagedBlock(block_id, f"its checksum is right but its layout is wrong ({cause})") from cause


def inspect(block: bytes, block_id: str = "(unnamed)") -> BlockInfo:
    """The header, without decompressing; DamagedBlock if it is not the header of a block."""
    if len(block) < _HEADER.size:
        raise DamagedBlock(block_id, f"it is truncated: {len(block)} bytes")
    magic, version, codec, dictionary, count, size, checksum = _HEADER.unpack_from(block)
    if magic != _MAGIC:
        raise DamagedBlock(block_id, "it does not begin with the signature of a block")
    if version != FORMAT_VERSION:
        raise DamagedBlock(block_id, f"its format version {version} is unknown (this version reads {FORMAT_VERSION})")
    if size > MAX_PLAIN_BYTES:
        raise DamagedBlock(block_id, f"it declares {size} bytes of text, more than any block may hold")
    return BlockInfo(version, codec, dictionary, count, size, len(block), checksum.hex())


def _checksum(summed: bytes, plain: bytes) -> bytes:
    """Eight bytes over the values of the header and the plain text; they find a wrong bit in either."""
    return hashlib.blake2b(summed + plain, digest_size=8).digest()

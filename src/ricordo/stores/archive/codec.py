"""The codecs of blocks: they compress plain bytes to a payload, and decompress it to no more than the declared size.

A block's header names its codec by two numbers, of the compressor and of its dictionary. A number never changes its
meaning; new ones may be added. A new block uses the codec that gives the smallest payload.
"""

import threading
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import zstandard

from ricordo.errors import DamageError

# Number -> sha256 of `dictionary-<number>.zstd`; the hash is checked at load, because another dictionary would give
# wrong text.
SHIPPED: dict[int, str] = {
    1: "a78800b5ec1600efdcc2376f6605b0859830429742a8e5ec2001a90484d81b82",
    2: "874cf25eb766c15de4abdd2289e69c7f39d6469dbe091f595164e538ad7bf55a",
}

# The dictionaries for new blocks; 0 is none. The smallest result is used, so a dictionary never makes a block larger.
OFFERED = (0, 1, 2)


@cache
def dictionary_bytes(number: int) -> bytes:
    """The dictionary with this number; KeyError if there is none, DamageError if its file was changed."""
    expected = SHIPPED[number]
    raw = Path(__file__).with_name(f"dictionary-{number}.zstd").read_bytes()
    if sha256(raw).hexdigest() != expected:
        raise DamageError(f"archive dictionary {number} was changed: reinstall ricordo")
    return raw


# Compaction runs in the background, so it may take time for a better ratio; measured in docs/archive.md. Above LARGE
# bytes the best level would take seconds, and a dictionary of common phrases gains nothing.
LEVEL, LEVEL_FOR_LARGE = 19, 9
LARGE = 256 * 1024


class UnreadablePayload(Exception):  # noqa: N818 - becomes DamagedBlock, which names the block
    """This codec cannot have written the payload."""


class Codec(Protocol):
    """A compressor with its dictionary."""

    @property
    def number(self) -> int:
        """The number of the compressor in a block's header."""
        ...

    @property
    def dictionary(self) -> int:
        """The number of the dictionary in a block's header; 0 for none."""
        ...

    def compress(self, plain: bytes) -> bytes:
        """The payload; always the same for the same bytes."""
        ...

    def decompress(self, payload: bytes, size: int) -> bytes:
        """Exactly `size` plain bytes, or UnreadablePayload. It never allocates more than `size`."""
        ...


class Stored:
    """Codec 0: the payload is the plain bytes."""

    number = 0
    dictionary = 0

    def compress(self, plain: bytes) -> bytes:
        return plain

    def decompress(self, payload: bytes, size: int) -> bytes:
        if len(payload) != size:
            raise UnreadablePayload(f"{size} bytes were declared, {len(payload)} are there")
        return payload


class Zstd:
    """Codec 1: a zstd frame without magic, size, checksum and dictionary id, which the block's header has."""

    number = 1

    def __init__(self, dictionary: int) -> None:
        self.dictionary = dictionary
        raw = dictionary_bytes(dictionary) if dictionary else None
        self._dictionary = zstandard.ZstdCompressionDict(raw) if raw else None
        # A zstd context is for one thread at a time, and creating one takes longer than using it.
        self._local = threading.local()

    def compress(self, plain: bytes) -> bytes:
        level = LEVEL if len(plain) <= LARGE else LEVEL_FOR_LARGE
        made: dict[int, zstandard.ZstdCompressor] = self._local.__dict__.setdefault("compressors", {})
        if level not in made:
            parameters = zstandard.ZstdCompressionParameters.from_level(
                level, format=zstandard.FORMAT_ZSTD1_MAGICLESS, write_content_size=False, write_checksum=False,
                write_dict_id=False,
            )  # fmt: skip
            made[level] = zstandard.ZstdCompressor(dict_data=self._dictionary, compression_params=parameters)
        return made[level].compress(plain)

    def decompress(self, payload: bytes, size: int) -> bytes:
        decompressor: zstandard.ZstdDecompressor | None = getattr(self._local, "decompressor", None)
        if decompressor is None:
            decompressor = zstandard.ZstdDecompressor(
                dict_data=self._dictionary, format=zstandard.FORMAT_ZSTD1_MAGICLESS
            )
            self._local.decompressor = decompressor
        try:
            plain = decompressor.decompress(payload, max_output_size=max(size, 1), allow_extra_data=False)
        except zstandard.ZstdError as cause:
            raise UnreadablePayload(f"its payload does not decompress ({cause})") from cause
        if len(plain) != size:
            raise UnreadablePayload(f"{size} bytes were declared, {len(plain)} came out")
        return plain


_CODECS: dict[tuple[int, int], Codec] = {(0, 0): Stored()}
_LOCK = threading.Lock()


def offered_codecs(size: int) -> tuple[Codec, ...]:
    """The codecs for a new block of `size` plain bytes, the simplest first."""
    dictionaries = OFFERED if size <= LARGE else (0,)
    return (codec_for(Stored.number, 0), *(codec_for(Zstd.number, dictionary) for dictionary in dictionaries))


def codec_for(number: int, dictionary: int) -> Codec:
    """The codec that a header names; UnreadablePayload if this version does not have it or its dictionary."""
    found = _CODECS.get((number, dictionary))
    if found is not None:
        return found
    if number != Zstd.number:
        raise UnreadablePayload(f"its codec {number} with dictionary {dictionary} is unknown")
    try:
        made: Codec = Zstd(dictionary)
    except KeyError as cause:
        raise UnreadablePayload(f"its dictionary {dictionary} is unknown") from cause
    with _LOCK:
        return _CODECS.setdefault((number, dictionary), made)

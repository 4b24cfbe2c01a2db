"""The dictionaries that blocks are compressed with: a number goes in, the bytes that were shipped under it come out.

Short chats repeat little within themselves, so common phrases of Italian and English talk are known beforehand. A
dictionary is part of the stored format: a file, once released, never changes; a better one gets the next number.
"""

from functools import cache
from hashlib import sha256
from importlib.resources import files

# Number -> sha256 of `dictionary-<number>.zstd`; the hash is checked at load, since other bytes would read nonsense.
SHIPPED: dict[int, str] = {}

NEWEST = max(SHIPPED, default=0)


@cache
def dictionary_bytes(number: int) -> bytes:
    """The dictionary of that number; KeyError when it was never shipped, ValueError when its file was altered."""
    expected = SHIPPED[number]
    raw = files("ricordo.archive").joinpath(f"dictionary-{number}.zstd").read_bytes()
    if sha256(raw).hexdigest() != expected:
        raise ValueError(f"archive dictionary {number} was altered: reinstall ricordo")
    return raw

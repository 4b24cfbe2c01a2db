"""The dictionaries that blocks are compressed with: a number goes in, the bytes that were shipped under it come out.

Short chats repeat little within themselves, so common phrases of Italian and English talk are known beforehand. A
dictionary is part of the stored format: a file, once released, never changes; a better one gets the next number.
"""

from functools import cache
from hashlib import sha256
from importlib.resources import files

from ricordo.errors import DamageError

# Number -> sha256 of `dictionary-<number>.zstd`; the hash is checked at load, since other bytes would read nonsense.
SHIPPED: dict[int, str] = {
    1: "a78800b5ec1600efdcc2376f6605b0859830429742a8e5ec2001a90484d81b82",
    2: "874cf25eb766c15de4abdd2289e69c7f39d6469dbe091f595164e538ad7bf55a",
}

# What new blocks may be written with: 0 is none; the text that fits best wins, so a dictionary never does harm.
OFFERED = (0, 1, 2)


@cache
def dictionary_bytes(number: int) -> bytes:
    """The dictionary of that number; KeyError when it was never shipped, DamageError when its file was altered."""
    expected = SHIPPED[number]
    raw = files("ricordo.archive").joinpath(f"dictionary-{number}.zstd").read_bytes()
    if sha256(raw).hexdigest() != expected:
        raise DamageError(f"archive dictionary {number} was altered: reinstall ricordo")
    return raw

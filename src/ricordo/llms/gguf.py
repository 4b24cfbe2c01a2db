"""What a GGUF file says of itself before it is loaded: which of its tokens steer a chat.

Only the head of the file is read. A token of kind "control" written into a message would be taken for the template's
own mark, so the local model must know how they are spelled.
"""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ricordo.errors import LLMError

_MAGIC = b"GGUF"
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_CONTROL, _USER_DEFINED = 3, 4
_LONGEST = 1 << 27
_MOST = 1 << 24


def control_tokens(path: Path) -> tuple[str, ...]:
    """The tokens that steer a chat, longest first; a file that is not GGUF is an error that says so."""
    try:
        with path.open("rb") as file:
            tokens, kinds = _vocabulary(file)
    except (OSError, ValueError, struct.error) as cause:
        raise LLMError(f"{path.name} cannot be read as a GGUF model ({cause}): name another file") from cause
    found = {
        token
        for token, kind in zip(tokens, kinds, strict=False)
        if kind == _CONTROL or (kind == _USER_DEFINED and token[:1] in "<[" and len(token) > 1)
    }
    return tuple(sorted((token for token in found if token.strip()), key=lambda token: (-len(token), token)))


def _vocabulary(file: BinaryIO) -> tuple[list[str], tuple[int, ...]]:
    if file.read(4) != _MAGIC:
        raise ValueError("it does not begin like one")
    _version, _tensors, pairs = struct.unpack("<IQQ", file.read(20))
    if pairs > _MOST:
        raise ValueError("its head is damaged")
    tokens: list[str] = []
    kinds: tuple[int, ...] = ()
    for _ in range(pairs):
        key = _text(file)
        kind = _number(file, "<I")
        if key == "tokenizer.ggml.tokens" and kind == _ARRAY:
            tokens = _array(file, lambda: _text(file), _STRING)
        elif key == "tokenizer.ggml.token_type" and kind == _ARRAY:
            inner, count = struct.unpack("<IQ", file.read(12))
            if _SIZES.get(inner) != 4 or count > _MOST:
                raise ValueError("its vocabulary is damaged")
            kinds = struct.unpack(f"<{count}i", file.read(4 * count))
        else:
            _skip(file, kind)
    return tokens, kinds


def _array(file: BinaryIO, read: Callable[[], str], expected: int) -> list[str]:
    inner, count = struct.unpack("<IQ", file.read(12))
    if inner != expected or count > _MOST:
        raise ValueError("its vocabulary is damaged")
    return [read() for _ in range(count)]


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        _text(file)
    elif kind == _ARRAY:
        inner, count = struct.unpack("<IQ", file.read(12))
        if count > _MOST:
            raise ValueError("its head is damaged")
        if inner in _SIZES:
            file.seek(_SIZES[inner] * count, 1)
        else:
            for _ in range(count):
                _skip(file, inner)
    elif kind in _SIZES:
        file.seek(_SIZES[kind], 1)
    else:
        raise ValueError("it holds a value of an unknown kind")


def _text(file: BinaryIO) -> str:
    size = _number(file, "<Q")
    if size > _LONGEST:
        raise ValueError("its head is damaged")
    raw = file.read(size)
    if len(raw) < size:
        raise ValueError("it ends too early")
    return raw.decode("utf-8", "replace")


def _number(file: BinaryIO, form: str) -> int:
    (value,) = struct.unpack(form, file.read(struct.calcsize(form)))
    return int(value)

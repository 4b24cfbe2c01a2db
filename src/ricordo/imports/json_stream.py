"""A streaming JSON reader: only the current entry is in memory.

In: a text stream, and the paths of objects and lists whose members are read one by one. Out: entries with their path,
and a problem in place of a damaged entry; reading continues after it. The standard library's decoder parses a buffer
that grows with the entry.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ricordo.imports.conversation import ImportProblem

CHUNK = 256 * 1024
MAX_ENTRY = 64 * 1024 * 1024  # characters
JsonPath = tuple[str | int, ...]
_SPACE = re.compile(r"[ \t\r\n]*")
_MARK = re.compile(r'[{}\[\]"]')
_IN_STRING = re.compile(r'\\.|"', re.DOTALL)
_SCALAR_END = re.compile(r"[,\]}\n]")
_NEXT_VALUE = re.compile(r"\n[{\[]")
_IN_NUMBER = re.compile(r"[-+.eE\d]*")
_NEAR_END = 16  # characters; a token cut at the end of the buffer begins this near to it


class Characters(Protocol):
    """A source of text."""

    def read(self, size: int, /) -> str:
        """The next characters, at most `size`; empty at the end."""
        ...


@dataclass(frozen=True, slots=True)
class JsonEntry:
    """A value and its path of names and indexes."""

    path: JsonPath
    value: Any


class UnreadableJson(Exception):  # noqa: N818 - becomes an ImportProblem
    """A value is not JSON, or is too large."""


def describe_path(name: str, path: JsonPath) -> str:
    """The place of an entry in words; entries of lists are counted from 1."""
    steps = [f"entry {step + 1}" if isinstance(step, int) else f"{step!r}" for step in path]
    return ", ".join([name, *steps]) if name else ", ".join(steps) or "file"


def entries(
    stream: Characters, name: str = "", into: Collection[JsonPath] = (), *, largest: int = MAX_ENTRY
) -> Iterator[JsonEntry | ImportProblem]:
    """The values of a text: the members of one list, or one value after another as in JSON lines.

    `into` are the paths of objects and lists whose members are yielded one by one; a top-level list always is.
    """
    text = _Buffer(stream, largest)
    number = 0
    while text.peek():
        path: JsonPath = () if text.peek() == "[" or () in into else (number,)
        try:
            yield from _walk(text, path, into, name)
        except UnreadableJson as error:
            yield ImportProblem(describe_path(name, path), str(error))
            text.skip_to_next_value()
        number += 1


def _walk(
    text: "_Buffer", path: JsonPath, into: Collection[JsonPath], name: str
) -> Iterator[JsonEntry | ImportProblem]:
    if text.peek() == "[" and (path == () or path in into):
        yield from _members(text, path, into, name, closing="]")
    elif text.peek() == "{" and path in into:
        yield from _members(text, path, into, name, closing="}")
    else:
        yield JsonEntry(path, text.value())


def _members(
    text: "_Buffer", path: JsonPath, into: Collection[JsonPath], name: str, *, closing: str
) -> Iterator[JsonEntry | ImportProblem]:
    text.take()
    number = 0
    while (mark := text.peek()) != closing:
        if not mark:
            raise UnreadableJson(f"is cut off at {text.where()}; what came before was read")
        key: str | int = number
        if closing == "}":
            key = text.key()
        inner = (*path, key)
        try:
            yield from _walk(text, inner, into, name)
        except UnreadableJson as error:
            yield ImportProblem(describe_path(name, inner), str(error))
            text.skip()
        if text.peek() == ",":
            text.take()
        elif text.peek() not in (closing, ""):
            raise UnreadableJson(f"is not JSON at {text.where()}: expected ',' or {closing!r}")
        number += 1
    text.take()


class _Buffer:
    """The characters of a stream that were read and not yet consumed."""

    def __init__(self, stream: Characters, largest: int) -> None:
        self._stream, self._largest = stream, largest
        self._buffer, self._at, self._ended = "", 0, False
        self._base, self._lines = 0, 0  # characters and line ends already discarded
        self._decoder = json.JSONDecoder(strict=False)

    def where(self, at: int | None = None) -> str:
        """The line and character of the next value, or of an index of the buffer."""
        reached = self._at if at is None else at
        line = self._lines + self._buffer.count("\n", 0, reached) + 1
        return f"line {line} (character {self._base + reached})"

    def peek(self) -> str:
        """The next character that is not whitespace; empty at the end."""
        while True:
            found = _SPACE.match(self._buffer, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def take(self) -> None:
        """Consume the next character."""
        self._at += 1

    def key(self) -> str:
        """Consume the name of a member and its colon."""
        found = self.value() if self.peek() == '"' else None
        if not isinstance(found, str) or self.peek() != ":":
            raise UnreadableJson(f"is not JSON at {self.where()}: expected a name and ':'")
        self.take()
        self.peek()
        return found

    def value(self) -> Any:
        """Consume the next value; if it is damaged or too large, raise UnreadableJson and consume nothing."""
        self.peek()
        while True:
            try:
                found, end = self._decoder.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if not self._is_cut(error):
                    raise UnreadableJson(f"is not JSON at {self.where(error.pos)}: {error.msg}") from None
                if len(self._buffer) - self._at > self._largest:
                    raise UnreadableJson(f"is larger than {self._largest} characters; split it") from None
                if not self._more():
                    raise UnreadableJson(f"is cut off at {self.where(len(self._buffer))}") from None
            except RecursionError:
                raise UnreadableJson(
                    f"is nested too deeply to be read, from {self.where()} on; export it flat"
                ) from None
            except ValueError as error:
                raise UnreadableJson(f"cannot be read ({type(error).__name__}) at {self.where()}") from None
            else:
                # A number at the end of the buffer may continue in what is not read yet.
                is_whole = not isinstance(found, int | float) or not _IN_NUMBER.fullmatch(self._buffer, end)
                if is_whole or not self._more():
                    self._at = end
                    return found

    def skip(self) -> None:
        """Skip one value by its brackets and quotes only, however large or damaged it is."""
        depth, first = 0, self.peek()
        if first not in '{["':
            self._find(_SCALAR_END)
            return
        while found := self._find(_MARK):
            self._at += 1
            if found == '"':
                self._end_string()
            else:
                depth += 1 if found in "{[" else -1
            if depth <= 0:
                return

    def skip_to_next_value(self) -> None:
        """Skip to the next line that begins with a value, as in JSON lines."""
        self._find(_NEXT_VALUE)
        self._at = min(self._at + 1, len(self._buffer))

    def _end_string(self) -> None:
        while (found := self._find(_IN_STRING)) not in ('"', ""):
            self._at += len(found)
        self._at += len(found)

    def _find(self, pattern: re.Pattern[str]) -> str:
        """Move to the next match and return it, discarding what is before it; empty at the end."""
        while True:
            found = pattern.search(self._buffer, self._at)
            if found:
                self._at = found.start()
                return found.group()
            self._at = max(self._at, len(self._buffer) - 1)  # the last character may begin a match of two
            if not self._more():
                self._at = len(self._buffer)
                return ""

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the value may continue beyond the buffer."""
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - _NEAR_END

    def _more(self) -> bool:
        """Read as much again as is buffered, so that even a long entry is parsed only a few times."""
        if self._ended:
            return False
        held = self._buffer[self._at :]
        read = self._stream.read(max(CHUNK, len(held)))
        self._ended = not read
        if read:
            self._base += self._at
            self._lines += self._buffer.count("\n", 0, self._at)
            self._buffer, self._at = held + read, 0
        return bool(read)

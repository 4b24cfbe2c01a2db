"""JSON of any size, one entry at a time: no more of a file is in memory than the entry at hand.

In: a text stream, and which objects and lists are to be entered rather than taken whole. Out: what stands in them,
with its path, and a problem in place of what is damaged; reading goes on after it. The decoder of the standard library
does the parsing, on a buffer that grows with the entry, so this needs no other parser.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ricordo.imports.conversation import ImportProblem

CHUNK = 256 * 1024
LARGEST = 64 * 1024 * 1024  # characters of one entry
Path = tuple[str | int, ...]
_SPACE = re.compile(r"[ \t\r\n]*")
_MARK = re.compile(r'[{}\[\]"]')
_IN_STRING = re.compile(r'\\.|"', re.DOTALL)
_SCALAR_END = re.compile(r"[,\]}\n]")
_NEXT_VALUE = re.compile(r"\n[{\[]")
_IN_NUMBER = re.compile(r"[-+.eE\d]*")
_NEAR = 16  # how far from the end of the buffer a token that is cut there may begin


class Characters(Protocol):
    """Where text comes from."""

    def read(self, size: int, /) -> str:
        """The next characters, at most `size`; empty at the end."""
        ...


@dataclass(frozen=True, slots=True)
class JsonEntry:
    """A value and the names and numbers that lead to it."""

    path: Path
    value: Any


class UnreadableJson(Exception):  # noqa: N818 - a finding, turned into a Problem where it is found
    """A value that is not JSON, or is larger than may be."""


def place_of(name: str, path: Path) -> str:
    """Where an entry stands, for people: lists are counted from 1."""
    steps = [f"entry {step + 1}" if isinstance(step, int) else f"{step!r}" for step in path]
    return ", ".join([name, *steps]) if name else ", ".join(steps) or "file"


def entries(
    stream: Characters, name: str = "", into: Collection[Path] = (), *, largest: int = LARGEST
) -> Iterator[JsonEntry | ImportProblem]:
    """The values of a text: of one list, or one after the other as in JSON lines.

    `into` are the paths of objects and lists whose members come one by one; a list at the top always does.
    """
    text = _Text(stream, largest)
    number = 0
    while text.peek():
        path: Path = () if text.peek() == "[" or () in into else (number,)
        try:
            yield from _walk(text, path, into, name)
        except UnreadableJson as error:
            yield ImportProblem(place_of(name, path), str(error))
            text.skip_to_next_value()
        number += 1


def _walk(text: "_Text", path: Path, into: Collection[Path], name: str) -> Iterator[JsonEntry | ImportProblem]:
    if text.peek() == "[" and (path == () or path in into):
        yield from _members(text, path, into, name, closing="]")
    elif text.peek() == "{" and path in into:
        yield from _members(text, path, into, name, closing="}")
    else:
        yield JsonEntry(path, text.value())


def _members(
    text: "_Text", path: Path, into: Collection[Path], name: str, *, closing: str
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
            yield ImportProblem(place_of(name, inner), str(error))
            text.skip()
        if text.peek() == ",":
            text.take()
        elif text.peek() not in (closing, ""):
            raise UnreadableJson(f"is not JSON at {text.where()}: expected ',' or {closing!r}")
        number += 1
    text.take()


class _Text:
    """A window onto a stream: what was read and not yet consumed."""

    def __init__(self, stream: Characters, largest: int) -> None:
        self._stream, self._largest = stream, largest
        self._buffer, self._at, self._ended = "", 0, False
        self._base, self._lines = 0, 0  # characters and line ends that were let go
        self._decoder = json.JSONDecoder(strict=False)

    def where(self, at: int | None = None) -> str:
        """A place in the text for people: what is next, or what stands at a place of the buffer."""
        reached = self._at if at is None else at
        line = self._lines + self._buffer.count("\n", 0, reached) + 1
        return f"line {line} (character {self._base + reached})"

    def peek(self) -> str:
        """The next character that is not space; empty at the end."""
        while True:
            found = _SPACE.match(self._buffer, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def take(self) -> None:
        """Go past the next character."""
        self._at += 1

    def key(self) -> str:
        """The name of a member, and past its colon."""
        found = self.value() if self.peek() == '"' else None
        if not isinstance(found, str) or self.peek() != ":":
            raise UnreadableJson(f"is not JSON at {self.where()}: expected a name and ':'")
        self.take()
        self.peek()
        return found

    def value(self) -> Any:
        """The next value whole; Unreadable, and nothing is consumed, if it is damaged or too large."""
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
                # A number at the very end of the buffer may go on in what is not read yet.
                is_whole = not isinstance(found, int | float) or not _IN_NUMBER.fullmatch(self._buffer, end)
                if is_whole or not self._more():
                    self._at = end
                    return found

    def skip(self) -> None:
        """Go past one value by its brackets and quotes alone, however large and whatever is wrong inside."""
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
        """Go on to the next line that begins with a value, as JSON lines do."""
        self._find(_NEXT_VALUE)
        self._at = min(self._at + 1, len(self._buffer))

    def _end_string(self) -> None:
        while (found := self._find(_IN_STRING)) not in ('"', ""):
            self._at += len(found)
        self._at += len(found)

    def _find(self, pattern: re.Pattern[str]) -> str:
        """Go to the next match, which is given back, letting go of what is passed; empty at the end."""
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
        """Whether the value may merely go on beyond the buffer."""
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - _NEAR

    def _more(self) -> bool:
        """Read on; as much again as is held, so that an entry is parsed few times however long it is."""
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

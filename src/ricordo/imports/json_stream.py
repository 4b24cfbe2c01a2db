"""A streaming JSON reader with only the current entry in memory, and the detection of a format by its first entries.

In: a text stream, and the paths of objects and lists whose members are read one by one. Out: entries with their path,
and a problem in place of a damaged entry; reading continues after it. The standard library's decoder parses a buffer
that grows with the entry.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

from ricordo.imports.chat_messages import is_message
from ricordo.imports.conversation import ImportProblem, mapping, text
from ricordo.imports.messengers import is_telegram, is_whatsapp

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

Format = Literal[
    "chatgpt", "claude", "open-webui", "librechat", "chatbot-ui", "sharegpt", "messages", "llamaindex", "langchain",
    "openai-agents", "mem0", "claude-code", "codex", "whatsapp", "telegram", "ricordo",
]  # fmt: skip
FORMATS: tuple[Format, ...] = get_args(Format)
OWN: Format = "ricordo"
ITEM_FORMAT, FACT_FORMAT = "ricordo-item", "ricordo-fact"  # of our own export, but no conversation
MAX_ENTRIES = 50  # read before giving up
# Lists and objects that hold the conversations, where the file is one object.
CONTAINERS: frozenset[JsonPath] = frozenset(
    {
        ("conversations",),
        ("history",),
        ("store",),
        ("chat_store",),
        ("chat_store", "store"),
        ("results",),
        ("memories",),
        ("messages",),
        ("messagesTree",),
        ("chats",),
        ("chats", "list"),
    }
)
_ENTERED: dict[str, tuple[JsonPath, ...]] = {
    "chatgpt": ((), ("conversations",)),
    "chatbot-ui": ((), ("history",)),
    "llamaindex": ((), ("store",), ("chat_store",), ("chat_store", "store")),
    "mem0": ((), ("results",), ("memories",)),
    "telegram": ((), ("chats",), ("chats", "list")),
}


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
                near_end = error.pos >= len(self._buffer) - _NEAR_END  # the value may continue beyond the buffer
                if not near_end and not error.msg.startswith("Unterminated string"):
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

    def _more(self) -> bool:
        """Read as much again as is buffered, so that even a long entry is parsed only a few times."""
        if self._ended:
            return False
        rest = self._buffer[self._at :]
        read = self._stream.read(max(CHUNK, len(rest)))
        self._ended = not read
        if read:
            self._base += self._at
            self._lines += self._buffer.count("\n", 0, self._at)
            self._buffer, self._at = rest + read, 0
        return bool(read)


@dataclass(frozen=True, slots=True)
class Shape:
    """A format, and the paths to its conversations if the file is one object."""

    format: Format
    into: frozenset[JsonPath] = frozenset()


def detect_shape(stream: Characters) -> Shape | None:
    """The shape of a JSON text, or of the text of a chat."""
    head = _PeekableStream(stream)
    if head.first() not in ("", "{") and is_whatsapp(head.start()):
        return Shape("whatsapp")
    if head.first() == "{":
        whole = _object_format(entries(head, into={(), *CONTAINERS}))
        if whole is not None:
            form, container = whole
            return Shape(form, frozenset(_ENTERED[form]) if container and form in _ENTERED else frozenset())
        return None
    for n, each in enumerate(entries(head)):
        found = format_of(each.value) if isinstance(each, JsonEntry) else None
        if found or n == MAX_ENTRIES:
            return Shape(found) if found else None
    return None


def format_of(value: Any) -> Format | None:
    """The format of a value, which is a conversation or a message."""
    if isinstance(value, list):
        return "messages" if value and is_message(value[0]) else None
    fields = mapping(value)
    messages = fields.get("messages")
    first = mapping(messages[0]) if isinstance(messages, list) and messages else {}
    found: Format | None = None
    if fields.get("format") == "ricordo-session":
        found = OWN
    elif mapping(fields.get("mapping")):
        found = "chatgpt"
    elif is_telegram(fields):
        found = "telegram"
    elif isinstance(fields.get("chat_messages"), list):
        found = "claude"
    elif any(name in mapping(fields.get("chat")) for name in ("history", "messages")):
        found = "open-webui"
    elif (
        "messagesTree" in fields or "isCreatedByUser" in first or ("conversationId" in fields and "messages" in fields)
    ):
        found = "librechat"
    elif _first(fields.get("conversations")).keys() & {"from", "value"} or {"from", "value"} <= fields.keys():
        found = "sharegpt"
    elif isinstance(fields.get("memory"), str) and "role" not in fields:
        found = "mem0"
    elif text(fields.get("type")) and mapping(fields.get("data")).get("content") is not None:
        found = "langchain"
    elif is_message(fields) or is_message(first):
        found = "messages"
    return found


def _first(value: Any) -> dict[str, Any]:
    return dict(mapping(value[0])) if isinstance(value, list) and value else {}


def _object_format(found: Iterator[Any]) -> tuple[Format, bool] | None:
    """The format of an object, from its members in order, and whether its conversations are in a container.

    A second value after the object is ignored: in JSON lines the first line decides.
    """
    whole: dict[str, Any] = {}
    for n, each in enumerate(found):
        if n > MAX_ENTRIES * 10 or not isinstance(each, JsonEntry):
            return None
        if each.path[:-1] in CONTAINERS:
            form = _container_format(each.path, each.value)
            if form:
                return form, True
            whole.setdefault(str(each.path[0]), [each.value])
        elif each.path:
            whole[str(each.path[-1])] = each.value
        form = format_of(whole)
        if form:
            return form, False
    return None


def _container_format(path: JsonPath, value: Any) -> Format | None:
    """The format that has a container of this name, by its first conversation."""
    fields, name = mapping(value), path[-2]
    if name == "conversations" and mapping(fields.get("mapping")):
        return "chatgpt"
    if name == "history" and isinstance(fields.get("messages"), list):
        return "chatbot-ui"
    if name == "store" and isinstance(value, list):
        return "llamaindex"
    if name == "list" and is_telegram(fields):
        return "telegram"
    if name in ("results", "memories") and isinstance(fields.get("memory"), str):
        return "mem0"
    return None


class _PeekableStream:
    """A stream whose first character can be read ahead."""

    def __init__(self, stream: Characters) -> None:
        self._stream, self._rest = stream, ""

    def first(self) -> str:
        """The first character that is not whitespace, without consuming it."""
        while not self._rest:
            read = self._stream.read(4096)
            if not read:
                return ""
            self._rest = read.lstrip()
        return self._rest[0]

    def start(self) -> str:
        """The first characters, without consuming them."""
        return self._rest if self.first() else ""

    def read(self, size: int, /) -> str:
        rest, self._rest = self._rest[:size], self._rest[size:]
        return rest or self._stream.read(size)

"""Detects the format of a JSON text by its content, never by its name.

In: the text. Out: the format and which of its lists hold the conversations, or None if it is unknown. Only as much is
read as the detection needs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ricordo.imports.chat_messages import is_message
from ricordo.imports.json_stream import Characters, JsonEntry, Path, entries
from ricordo.imports.values import mapping, text

Format = Literal[
    "chatgpt", "claude", "open-webui", "librechat", "chatbot-ui", "sharegpt", "messages", "llamaindex", "langchain",
    "openai-agents", "mem0", "ricordo",
]  # fmt: skip
FORMATS: tuple[Format, ...] = get_args(Format)
OWN: Format = "ricordo"
ITEM_FORMAT = "ricordo-item"  # of our own export, but no conversation
MAX_ENTRIES = 50  # read before giving up
# Lists and objects that hold the conversations, where the file is one object.
CONTAINERS: frozenset[Path] = frozenset(
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
    }
)
_ENTERED: dict[str, tuple[Path, ...]] = {
    "chatgpt": ((), ("conversations",)),
    "chatbot-ui": ((), ("history",)),
    "llamaindex": ((), ("store",), ("chat_store",), ("chat_store", "store")),
    "mem0": ((), ("results",), ("memories",)),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A format, and the paths to its conversations if the file is one object."""

    format: Format
    into: frozenset[Path] = frozenset()


def detect_shape(stream: Characters) -> Shape | None:
    """The shape of a JSON text."""
    head = _PeekableStream(stream)
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


def _container_format(path: Path, value: Any) -> Format | None:
    """The format that has a container of this name, by its first conversation."""
    fields, name = mapping(value), path[-2]
    if name == "conversations" and mapping(fields.get("mapping")):
        return "chatgpt"
    if name == "history" and isinstance(fields.get("messages"), list):
        return "chatbot-ui"
    if name == "store" and isinstance(value, list):
        return "llamaindex"
    if name in ("results", "memories") and isinstance(fields.get("memory"), str):
        return "mem0"
    return None


class _PeekableStream:
    """A stream whose first character can be read ahead."""

    def __init__(self, stream: Characters) -> None:
        self._stream, self._held = stream, ""

    def first(self) -> str:
        """The first character that is not whitespace, without consuming it."""
        while not self._held:
            read = self._stream.read(4096)
            if not read:
                return ""
            self._held = read.lstrip()
        return self._held[0]

    def read(self, size: int, /) -> str:
        held, self._held = self._held[:size], self._held[size:]
        return held or self._stream.read(size)

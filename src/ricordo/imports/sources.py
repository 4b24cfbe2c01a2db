"""The files to import: one file, a folder of files, or the members of a zip archive, never unpacked to disk.

In: a path. Out: its files as streams. Names in an archive only select and describe members, nothing is written under
them; a member that unpacks to far more than its compressed size is refused while it is read.
"""

import codecs
import fnmatch
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, get_args

from ricordo.errors import ValidationError
from ricordo.imports.chat_messages import is_message
from ricordo.imports.conversation import ImportProblem, mapping, text
from ricordo.imports.json_stream import Characters, JsonEntry, JsonPath, entries

SQLITE = b"SQLite format 3\x00"
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
MAX_FILES = 10_000
MAX_BYTES = 16 * 1024**3  # of an archive, unpacked
UNCHECKED_BYTES = 64 * 1024**2  # up to this size the compression ratio is not checked
MAX_RATIO = 200  # JSON compresses ten to thirty times; more is a zip bomb
_CONVERSATIONS = "conversations*.json"
_TEXTS = (".json", ".jsonl", ".ndjson")
# Files of known exports that hold no conversations.
_IGNORED = frozenset(
    {
        "export_manifest.json",
        "group_chats.json",
        "message_feedback.json",
        "model_comparisons.json",
        "projects.json",
        "shared_conversations.json",
        "shopping.json",
        "sora.json",
        "user.json",
        "user_settings.json",
        "users.json",
    }
)
Progress = Callable[[int, int], None]


class ArchiveTooLarge(Exception):  # noqa: N818 - becomes an ImportProblem
    """An archive unpacks to more than the limit."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of conversations. `path` is None for a member of an archive."""

    name: str
    size: int
    open: Callable[[], AbstractContextManager[BinaryIO]]
    path: Path | None = None

    def head(self, size: int = 16) -> bytes:
        """Its first bytes."""
        with self.open() as stream:
            return stream.read(size)


def source_files(path: Path, name: str | None = None) -> Iterator[SourceFile | ImportProblem]:
    """The files of a path that may hold conversations, by name. `name` replaces the name of a single file."""
    if path.is_dir():
        yield from _of_folder(path)
    elif not path.is_file():
        raise ValidationError("file", f"{path} does not exist; give a file or a folder")
    elif _first_bytes(path).startswith(ZIP):
        yield from _of_archive(path)
    else:
        yield _file(path, name or path.name)


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(16)


def _file(path: Path, name: str) -> SourceFile:
    return SourceFile(name, path.stat().st_size, lambda: path.open("rb"), path)


def _of_folder(folder: Path) -> Iterator[SourceFile | ImportProblem]:
    """The files of a known export; otherwise every JSON file and database directly in the folder."""
    files = sorted(each for each in folder.iterdir() if each.is_file())
    chosen = [each for each in files if fnmatch.fnmatchcase(each.name, _CONVERSATIONS)]
    if not chosen:
        chosen = [each for each in files if each.name not in _IGNORED]
        chosen = [each for each in chosen if each.suffix.lower() in _TEXTS or _first_bytes(each) == SQLITE]
    if not chosen:
        yield ImportProblem(folder.name, "holds no file of conversations; give the file itself")
    for each in chosen:
        yield _file(each, each.name)


def _of_archive(path: Path) -> Iterator[SourceFile | ImportProblem]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        yield ImportProblem(path.name, f"is a damaged archive ({error}); export it again")
        return
    if len(members) > MAX_FILES:
        yield ImportProblem(path.name, f"holds more than {MAX_FILES} files; unpack it and give the folder")
        return
    if sum(each.file_size for each in members if _is_text(each)) > MAX_BYTES:
        yield ImportProblem(path.name, f"unpacks to more than {MAX_BYTES} bytes; unpack it and give the folder")
        return
    chosen = [each for each in members if fnmatch.fnmatchcase(_base(each), _CONVERSATIONS)]
    chosen = chosen or [each for each in members if _is_text(each) and _base(each) not in _IGNORED]
    if not chosen:
        yield ImportProblem(path.name, "holds no file of conversations; give the file itself")
    for each in sorted(chosen, key=lambda member: member.filename):
        if each.flag_bits & 1:
            yield ImportProblem(_base(each), "is encrypted; unpack it first")
        else:
            yield _member(path, each)


def _base(member: zipfile.ZipInfo) -> str:
    return member.filename.replace("\\", "/").rpartition("/")[2]


def _is_text(member: zipfile.ZipInfo) -> bool:
    return os.path.splitext(_base(member))[1].lower() in _TEXTS


def _member(path: Path, member: zipfile.ZipInfo) -> SourceFile:
    def opened() -> AbstractContextManager[BinaryIO]:
        archive = zipfile.ZipFile(path)
        try:
            packed: IO[bytes] = archive.open(member)
        except BaseException:
            archive.close()
            raise
        most = max(UNCHECKED_BYTES, MAX_RATIO * max(member.compress_size, 1))
        return closing(io.BufferedReader(_LimitedMember(packed, archive, min(most, MAX_BYTES)), 256 * 1024))

    return SourceFile(_base(member), member.file_size, opened)


# Errors of disks, archives, compressed data and file names.
FAILURES = (
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ArchiveTooLarge,
    NotImplementedError,
    RuntimeError,
    UnicodeError,
)


class _LimitedMember(io.RawIOBase):
    """A member of an archive that raises when it unpacks to more than `most` bytes."""

    def __init__(self, packed: IO[bytes], archive: zipfile.ZipFile, most: int) -> None:
        self._packed, self._archive, self._left = packed, archive, most

    def readable(self) -> bool:
        return True

    def readinto(self, target: "bytearray | memoryview[int]") -> int:  # type: ignore[override]
        try:
            read = self._packed.read(len(target))
        except Exception as error:  # each compression method has its own errors
            raise zipfile.BadZipFile(f"it cannot be unpacked: {error}") from error
        self._left -= len(read)
        if self._left < 0:
            raise ArchiveTooLarge("unpacks to far more than such a file should hold; it is not read")
        target[: len(read)] = read
        return len(read)

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
            self._archive.close()
        super().close()


class CountingReader:
    """The text of a binary stream; calls `on_read` with the bytes read so far."""

    def __init__(self, stream: BinaryIO, on_read: Callable[[int], None]) -> None:
        start = stream.read(4)
        encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        self._stream, self._on_read, self._bytes, self._start = stream, on_read, 0, start
        # An invalid byte becomes a lone surrogate, which is replaced and reported when the message is stored.
        errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)

    def read(self, size: int, /) -> str:
        """The next characters; empty at the end."""
        while True:
            raw = self._start + self._stream.read(size)
            self._start = b""
            self._bytes += len(raw)
            self._on_read(self._bytes)
            found = self._decoder.decode(raw, final=not raw)
            if found or not raw:
                return found


Format = Literal[
    "chatgpt", "claude", "open-webui", "librechat", "chatbot-ui", "sharegpt", "messages", "llamaindex", "langchain",
    "openai-agents", "mem0", "ricordo",
]  # fmt: skip
FORMATS: tuple[Format, ...] = get_args(Format)
OWN: Format = "ricordo"
ITEM_FORMAT = "ricordo-item"  # of our own export, but no conversation
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
    }
)
_ENTERED: dict[str, tuple[JsonPath, ...]] = {
    "chatgpt": ((), ("conversations",)),
    "chatbot-ui": ((), ("history",)),
    "llamaindex": ((), ("store",), ("chat_store",), ("chat_store", "store")),
    "mem0": ((), ("results",), ("memories",)),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A format, and the paths to its conversations if the file is one object."""

    format: Format
    into: frozenset[JsonPath] = frozenset()


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


def _container_format(path: JsonPath, value: Any) -> Format | None:
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

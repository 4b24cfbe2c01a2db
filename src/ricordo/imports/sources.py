"""The files to import: one file, a folder, the members of a zip archive (never unpacked to disk), an SQLite database.

In: a path. Out: its files as streams; of a database the conversations of LangChain, OpenAI Agents, LlamaIndex and mem0,
read in a read-only connection. Names in an archive only select and describe members, nothing is written under them; a
member that unpacks to far more than its compressed size is refused while it is read.
"""

import codecs
import fnmatch
import io
import json
import os
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO, Any, BinaryIO

from ricordo.errors import ValidationError
from ricordo.imports.chat_messages import (
    MAX_MESSAGES,
    NOTES_BATCH,
    agents_message,
    chat_message,
    langchain_message,
    memory_note,
    notes_conversation,
)
from ricordo.imports.conversation import (
    Conversation,
    ImportedMessage,
    ImportProblem,
    identifier,
    mapping,
    parse_time,
    text,
)

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


Reader = Callable[[Any, str, Any], ImportedMessage | None]
Columns = dict[str, set[str]]

_READERS: dict[str, Reader] = {
    "openai-agents": agents_message,
    "langchain": langchain_message,
    "llamaindex": lambda value, number, at: chat_message(mapping(value), number, at),
}
_DATES = "SELECT created_at, updated_at FROM agent_sessions WHERE session_id = ?"
_AGENTS = ("agent_messages", {"session_id", "message_data"})
_LANGCHAIN = ("message_store", {"session_id", "message"})
_MEM0 = ("history", {"memory_id", "new_memory"})
_OLD_MEM0 = ("history", {"memory_id", "new_value"})
LOCKED = "is encrypted; unpack it first"
_LLAMA = {"key", "role", "status", "data"}


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
        texts = [each for each in chosen if each.suffix.lower() == ".txt"]
        chosen = [each for each in chosen if each.suffix.lower() in _TEXTS or _first_bytes(each) == SQLITE] or texts
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
    chosen = chosen or [each for each in members if _base(each).lower().endswith(".txt")]
    if not chosen:
        yield ImportProblem(path.name, "holds no file of conversations; give the file itself")
    for each in sorted(chosen, key=lambda member: member.filename):
        if each.flag_bits & 1:
            yield ImportProblem(_base(each), LOCKED)
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

    # In every archive of WhatsApp on iOS the chat has the same name; the archive has that of the other person.
    name = path.name if _base(member) == "_chat.txt" else _base(member)
    return SourceFile(name, member.file_size, opened)


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


def detect_database(path: Path) -> str | None:
    """The format of a database; None if it is unknown."""
    try:
        with closing(_connect_read_only(path)) as database:
            return _format_of(_tables(database))
    except sqlite3.Error:
        return None


def read_database(path: Path, form: str, name: str, progress: Progress) -> Iterator[Conversation | ImportProblem]:
    """The conversations of a database, by session."""
    try:
        with closing(_connect_read_only(path)) as database:
            tables = _tables(database)
            if form in ("openai-agents", "langchain", "llamaindex"):
                yield from _sessions(database, tables, form, name, progress)
            else:
                yield from _mem0_history(database, tables, name, progress)
    except sqlite3.Error as error:
        yield ImportProblem(name, f"cannot be read further ({error}); copy the database again")


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """A read-only connection. A WAL database without a log is opened as immutable.

    Otherwise SQLite would create its own files beside it.
    """
    log = path.with_name(f"{path.name}-wal")
    with path.open("rb") as file:
        in_wal_mode = file.read(20)[18:20] == b"\x02\x02"
    immutable = in_wal_mode and not (log.exists() and log.stat().st_size)
    address = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if immutable else ''}"
    database = sqlite3.connect(address, uri=True, isolation_level=None)
    try:
        for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            database.execute(f"PRAGMA {pragma}")
    except BaseException:
        database.close()
        raise
    database.text_factory = lambda raw: raw.decode(errors="surrogateescape")
    return database


def _tables(database: sqlite3.Connection) -> Columns:
    """The tables and their columns; views and virtual tables can run code and are ignored."""
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'")
    return {name: {row[1] for row in database.execute(f"PRAGMA table_info({_quoted(name)})")} for (name,) in found}


def _format_of(tables: Columns) -> str | None:
    if _has(tables, _AGENTS):
        return "openai-agents"
    if _has(tables, _LANGCHAIN) or _langchain(tables):
        return "langchain"
    if _has(tables, _MEM0) or _has(tables, _OLD_MEM0):
        return "mem0"
    if any(columns >= _LLAMA for columns in tables.values()):
        return "llamaindex"
    return None


def _has(tables: Columns, wanted: tuple[str, set[str]]) -> bool:
    return tables.get(wanted[0], set()) >= wanted[1]


def _langchain(tables: Columns) -> str:
    """The table of LangChain's history, whose name can be configured."""
    if _has(tables, _LANGCHAIN):
        return "message_store"
    return next((name for name, columns in tables.items() if {"id", "session_id", "message"} <= columns), "")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _query(tables: Columns, form: str) -> str:
    """The query for id, session, message and time, by session in order."""
    if form == "llamaindex":
        table = next((name for name, columns in tables.items() if columns >= _LLAMA), "")
        return f"SELECT id, key, data, timestamp FROM {_quoted(table)} ORDER BY key, timestamp, id"
    table, message = ("agent_messages", "message_data") if form == "openai-agents" else (_langchain(tables), "message")
    columns = tables.get(table, set())
    dated = next((each for each in ("created_at", "timestamp") if each in columns), "NULL")
    number = "id" if "id" in columns else "rowid"
    return f"SELECT {number}, session_id, {message}, {dated} FROM {_quoted(table)} ORDER BY session_id, {number}"


def _sessions(
    database: sqlite3.Connection, tables: Columns, form: str, name: str, progress: Progress
) -> Iterator[Conversation | ImportProblem]:
    query = _query(tables, form)
    total = _count(database, query)
    dated = {"session_id", "created_at", "updated_at"} <= tables.get("agent_sessions", set())
    for session, rows in groupby(enumerate(database.execute(query), start=1), key=lambda row: row[1][1]):
        place = f"{name}, session {session!r}"
        path: list[ImportedMessage] = []
        for done, (number, _, message, at) in rows:
            progress(done, total)
            found = _row_message(message, str(number), at, _READERS[form])
            if isinstance(found, str):
                yield ImportProblem(f"{place}, row {number}", found)
            elif found and len(path) < MAX_MESSAGES:
                path.append(found)
            elif found:
                left = f"the conversation ends after {MAX_MESSAGES} messages; this one is left out"
                yield ImportProblem(f"{place}, row {number}", left, "left out")
        first, last = _dates(database, session) if dated else (None, None)
        key = identifier(session) or f"{name}#unnamed"
        yield Conversation(key, place, (tuple(path),), None, parse_time(first), parse_time(last), metadata={"key": key})


def _dates(database: sqlite3.Connection, session: Any) -> tuple[Any, Any]:
    """When a session was created and last used; unknown if its name is not valid text."""
    try:
        return database.execute(_DATES, (session,)).fetchone() or (None, None)
    except UnicodeEncodeError:
        return None, None


def _count(database: sqlite3.Connection, query: str) -> int:
    table = query.partition(" FROM ")[2].partition(" ORDER BY ")[0]
    return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _row_message(written: Any, number: str, at: Any, parse: Reader) -> ImportedMessage | str | None:
    """The message of a row, or its problem."""
    try:
        value = json.loads(written, strict=False) if isinstance(written, str | bytes) else None
    except (ValueError, RecursionError) as error:
        return f"is not JSON ({error})"
    if not mapping(value):
        return "is not a message: expected a JSON object"
    return parse(value, number, parse_time(at))


def _mem0_history(
    database: sqlite3.Connection, tables: Columns, name: str, progress: Progress
) -> Iterator[Conversation | ImportProblem]:
    """The last version of each memory that was not deleted."""
    columns = tables.get("history", set())
    words = "new_memory" if "new_memory" in columns else "new_value"
    dates = [each for each in ("updated_at", "created_at", "timestamp") if each in columns]
    deleted = "is_deleted" if "is_deleted" in columns else "0"
    event = "event" if "event" in columns else "''"
    query = (
        f"SELECT memory_id, {words}, {deleted}, {event}, coalesce({', '.join([*dates, 'NULL', 'NULL'])}), max(rowid) "
        "FROM history GROUP BY memory_id ORDER BY max(rowid)"
    )
    batch: list[ImportedMessage] = []
    for done, (memory, content, deleted_flag, action, at, _) in enumerate(database.execute(query), start=1):
        progress(done, done)
        if deleted_flag or action == "DELETE" or not text(content).strip():
            continue
        batch.append(memory_note(identifier(memory), content, {"created_at": at}))
        if len(batch) == NOTES_BATCH:
            yield notes_conversation(name, name, batch)
            batch = []
    if batch:
        yield notes_conversation(name, name, batch)

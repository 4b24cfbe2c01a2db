"""SQLite files of other programs: LangChain's history, OpenAI Agents sessions, LlamaIndex memory, mem0's history.

In: a database file, opened read-only and not trusted. Out: conversations, one at a time, in the order of the rows; only
one conversation is in memory.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

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
from ricordo.imports.sources import Progress

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
_LLAMA = {"key", "role", "status", "data"}


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
                yield from _memories(database, tables, name, progress)
    except sqlite3.Error as error:
        yield ImportProblem(name, f"cannot be read further ({error}); copy the database again")


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """A read-only connection. A WAL database without a log is opened as immutable.

    Otherwise SQLite would create its own files beside it.
    """
    log = path.with_name(f"{path.name}-wal")
    immutable = _is_wal(path) and not (log.exists() and log.stat().st_size)
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


def _is_wal(path: Path) -> bool:
    """Whether a database is in WAL mode, by its header."""
    with path.open("rb") as file:
        return file.read(20)[18:20] == b"\x02\x02"


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
            found = _message(message, str(number), at, _READERS[form])
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


def _message(written: Any, number: str, at: Any, parse: Reader) -> ImportedMessage | str | None:
    """The message of a row, or its problem."""
    try:
        value = json.loads(written, strict=False) if isinstance(written, str | bytes) else None
    except (ValueError, RecursionError) as error:
        return f"is not JSON ({error})"
    if not mapping(value):
        return "is not a message: expected a JSON object"
    return parse(value, number, parse_time(at))


def _memories(
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

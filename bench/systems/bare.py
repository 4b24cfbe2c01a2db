"""What one writes by hand on the standard library's sqlite3, with the same durability: the floor under every figure.

`Plain` is the least that keeps a turn. `Messages` is the common way, a table with a row for every message: question and
answer are two rows of one transaction. `Careful` numbers turns without a gap, as a careful user would: one immediate
transaction, a counter row, an insert.
"""

import sqlite3
import threading
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.sample_turns import SYSTEM_PROMPT
from bench.systems.trim import Said, trim

LIMIT = 4_096


class Plain:
    """One table, one index, one INSERT that commits by itself."""

    schema = (
        "CREATE TABLE IF NOT EXISTS turns (id INTEGER PRIMARY KEY, session TEXT, query TEXT, response TEXT)",
        "CREATE INDEX IF NOT EXISTS turns_by_session ON turns (session, id)",
    )
    newest = "SELECT query, response FROM turns WHERE session = ? ORDER BY id DESC LIMIT 3"
    oldest_first = "SELECT query, response FROM turns WHERE session = ? ORDER BY id"

    def __init__(self, folder: Path) -> None:
        self._path = folder / "bare.db"
        self._mine = threading.local()
        self._connections: list[sqlite3.Connection] = []
        for statement in self.schema:
            self.connection.execute(statement)

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        if not hasattr(self._mine, "connection"):
            made = sqlite3.connect(self._path, isolation_level=None, timeout=60, check_same_thread=False)
            made.execute("PRAGMA journal_mode = WAL")
            made.execute("PRAGMA synchronous = FULL")
            self._mine.connection = made
            self._connections.append(made)
        found: sqlite3.Connection = self._mine.connection
        return found

    def append(self, session: str, query: str, response: str) -> None:
        self.connection.execute(
            "INSERT INTO turns (session, query, response) VALUES (?, ?, ?)", (session, query, response)
        )

    def window(self, session: str) -> list[Said]:
        return trim(_said(reversed(self.connection.execute(self.newest, (session,)).fetchall())))

    def context(self, session: str, question: str, chunks: list[tuple[str, str]]) -> int:
        """By hand: exact counts; history, then chunks, while they fit 4,096 tokens; no shares, no receipt."""
        texts = [SYSTEM_PROMPT, question, *(text for _, text in self.window(session)), *(text for _, text in chunks)]
        kept, total = [], 0
        for text in texts:
            cost = self._count(text) + 3
            if total + cost <= LIMIT:
                kept.append(text)
                total += cost
        return total if "\n".join(kept) else 0

    def history(self, session: str) -> list[Said]:
        return _said(self.connection.execute(self.oldest_first, (session,)))

    def load(self, session: str, turns: Iterable[Said]) -> None:
        self.connection.execute("BEGIN")
        self.connection.executemany(
            "INSERT INTO turns (session, query, response) VALUES (?, ?, ?)", ((session, *turn) for turn in turns)
        )
        self.connection.execute("COMMIT")

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    @cached_property
    def _counter(self) -> Any:
        from ricordo.engine.tokens import counter_for

        return counter_for("o200k")

    def _count(self, text: str) -> int:
        counted: int = self._counter.count(text)
        return counted


class Messages(Plain):
    """A row for every message, question and answer in one transaction."""

    schema = (
        "CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, session TEXT, role TEXT, content TEXT)",
        "CREATE INDEX IF NOT EXISTS messages_by_session ON messages (session, id)",
    )
    add = "INSERT INTO messages (session, role, content) VALUES (?, ?, ?)"

    def append(self, session: str, query: str, response: str) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(self.add, ((session, "user", query), (session, "assistant", response)))
        self.connection.execute("COMMIT")

    def window(self, session: str) -> list[Said]:
        newest = "SELECT role, content FROM messages WHERE session = ? ORDER BY id DESC LIMIT 6"
        return trim(list(reversed(self.connection.execute(newest, (session,)).fetchall())))

    def history(self, session: str) -> list[Said]:
        said = "SELECT role, content FROM messages WHERE session = ? ORDER BY id"
        return self.connection.execute(said, (session,)).fetchall()

    def load(self, session: str, turns: Iterable[Said]) -> None:
        rows = ((session, *said) for turn in turns for said in zip(("user", "assistant"), turn, strict=True))
        self.connection.execute("BEGIN")
        self.connection.executemany(self.add, rows)
        self.connection.execute("COMMIT")


class Careful(Plain):
    """Gapless numbers from a counter row that the writer holds until it commits."""

    schema = (
        "CREATE TABLE IF NOT EXISTS sessions (session TEXT PRIMARY KEY, last_turn INTEGER NOT NULL) WITHOUT ROWID",
        """CREATE TABLE IF NOT EXISTS turns (
            session TEXT, number INTEGER, query TEXT, response TEXT, created_at REAL DEFAULT (julianday()),
            UNIQUE (session, number))""",
    )
    newest = "SELECT query, response FROM turns WHERE session = ? ORDER BY number DESC LIMIT 3"
    oldest_first = "SELECT query, response FROM turns WHERE session = ? ORDER BY number"
    count_on = """
        INSERT INTO sessions VALUES (?, 1)
        ON CONFLICT (session) DO UPDATE SET last_turn = last_turn + 1 RETURNING last_turn
    """

    def append(self, session: str, query: str, response: str) -> None:
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            ((number,),) = connection.execute(self.count_on, (session,)).fetchall()
            connection.execute(
                "INSERT INTO turns (session, number, query, response) VALUES (?, ?, ?, ?)",
                (session, number, query, response),
            )
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def numbers(self, session: str) -> list[int]:
        """Turn numbers, in order."""
        rows = self.connection.execute("SELECT number FROM turns WHERE session = ? ORDER BY number", (session,))
        return [number for (number,) in rows]

    def load(self, session: str, turns: Iterable[Said]) -> None:
        self.connection.execute("BEGIN")
        self.connection.executemany(
            "INSERT INTO turns (session, number, query, response) VALUES (?, ?, ?, ?)",
            ((session, number, *turn) for number, turn in enumerate(turns, start=1)),
        )
        self.connection.execute(
            "INSERT INTO sessions SELECT session, max(number) FROM turns WHERE session = ?", (session,)
        )
        self.connection.execute("COMMIT")


def _said(rows: Iterable[tuple[str, str]]) -> list[Said]:
    return [said for query, response in rows for said in (("user", query), ("assistant", response))]

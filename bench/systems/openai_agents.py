"""The OpenAI Agents SDK's SQLite session: `get_items` takes a limit, so its window does not read the history."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from agents import SQLiteSession

from bench.systems.trim import TURNS, Said, trim


class System:
    """One session object per session, all on one file, as its documentation shows."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "agents.db"
        self._sessions: dict[str, SQLiteSession] = {}

    async def append(self, session: str, query: str, response: str) -> None:
        await self._session(session).add_items(_items([(query, response)]))

    async def window(self, session: str) -> list[Said]:
        return trim(_said(await self._session(session).get_items(limit=2 * TURNS)))

    async def history(self, session: str) -> list[Said]:
        return _said(await self._session(session).get_items())

    async def load(self, session: str, turns: Iterable[Said]) -> None:
        rest = iter(turns)
        while batch := list(islice(rest, 5_000)):
            await self._session(session).add_items(_items(batch))

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()

    def _session(self, name: str) -> SQLiteSession:
        if name not in self._sessions:
            self._sessions[name] = SQLiteSession(name, self._path)
        return self._sessions[name]


def _items(turns: Iterable[Said]) -> list[Any]:
    return [
        {"role": role, "content": text}
        for turn in turns
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]


def _said(items: Iterable[Any]) -> list[Said]:
    return [(item["role"], item["content"]) for item in items]

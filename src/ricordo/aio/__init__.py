"""The async face: the same names and arguments, each call awaited in a worker thread.

It holds no logic of its own. Writes of many tasks meet in the store, which commits them together, so a
busy event loop gets the throughput of one shared commit. A cancelled call is not undone: a write that had begun ends.
"""

import asyncio
from pathlib import Path
from typing import Any

import ricordo.opening
from ricordo.aio.memory import AsyncMemory
from ricordo.aio.session import AsyncOpenTurn, AsyncSession
from ricordo.aio.topic import AsyncSessionTopic

__all__ = ["AsyncMemory", "AsyncOpenTurn", "AsyncSession", "AsyncSessionTopic", "open"]


async def open(url_or_path: str | Path | None = None, **settings: Any) -> AsyncMemory:  # noqa: A001
    """`async with await ricordo.aio.open("chat.db") as memory: ...`; arguments as in `ricordo.open`."""
    return AsyncMemory(await asyncio.to_thread(ricordo.opening.open, url_or_path, **settings))

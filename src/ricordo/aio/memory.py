"""`Memory` for an event loop: the same calls, each in a worker thread."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ricordo.aio.session import AsyncSession
from ricordo.engine.protocols import Clock, TokenCounter
from ricordo.memory import DEFAULT_AGENT, Memory
from ricordo.records.reports import CleanupResult, EraseReceipt, ImportResult, Stats, Verification
from ricordo.records.turns import SessionInfo
from ricordo.settings import Retention, Settings
from ricordo.stores.protocols import Store

if TYPE_CHECKING:
    from ricordo.engine.protocols import LLM
    from ricordo.recall.embedders.protocol import Embedder
    from ricordo.recall.search import Hits
    from ricordo.records.people import Fact, Flag, FlagState, Profile


class AsyncMemory:
    """`Memory` for an event loop. Progress callbacks are called in the worker thread."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def settings(self) -> Settings:
        """What was chosen."""
        return self._memory.settings

    @property
    def store(self) -> Store:
        """Where it is kept; its own calls block."""
        return self._memory.store

    @property
    def counter(self) -> TokenCounter:
        """How tokens are counted."""
        return self._memory.counter

    @property
    def clock(self) -> Clock:
        """Where now comes from."""
        return self._memory.clock

    @property
    def llm(self) -> "LLM | None":
        """The language model that is set; its own calls block."""
        return self._memory.llm

    @property
    def embedder(self) -> "Embedder":
        """What makes vectors; its own calls block."""
        return self._memory.embedder

    def session(self, session_id: str | None = None, *, user_id: str, agent_id: str = DEFAULT_AGENT) -> AsyncSession:
        """See `Memory.session`. It touches no disk, so there is nothing to await."""
        return AsyncSession(self._memory.session(session_id, user_id=user_id, agent_id=agent_id))

    async def resume(self, session_id: object, *, user_id: str, agent_id: str = DEFAULT_AGENT) -> AsyncSession:
        """See `Memory.resume`."""
        return AsyncSession(
            await asyncio.to_thread(self._memory.resume, session_id, user_id=user_id, agent_id=agent_id)
        )

    async def sessions(
        self,
        *,
        user_id: str,
        limit: int | None = None,
        agent_id: str | None = None,
        before: SessionInfo | None = None,
    ) -> list[SessionInfo]:
        """See `Memory.sessions`."""
        return await asyncio.to_thread(
            self._memory.sessions, user_id=user_id, limit=limit, agent_id=agent_id, before=before
        )

    async def delete_session(self, session_id: str, *, user_id: str) -> int:
        """See `Memory.delete_session`."""
        return await asyncio.to_thread(self._memory.delete_session, session_id, user_id=user_id)

    async def search(
        self,
        query: str,
        *,
        user_id: str,
        limit: int = 10,
        session_id: str | None = None,
        agent_id: str | None = None,
        topic_id: str | None = None,
        role: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        tags: Iterable[str] = (),
        patience: float = 120.0,
    ) -> "Hits":
        """See `Memory.search`."""
        return await asyncio.to_thread(
            self._memory.search,
            query,
            user_id=user_id,
            limit=limit,
            session_id=session_id,
            agent_id=agent_id,
            topic_id=topic_id,
            role=role,
            after=after,
            before=before,
            tags=tags,
            patience=patience,
        )

    async def embed_again(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """See `Memory.embed_again`."""
        return await asyncio.to_thread(self._memory.embed_again, progress=progress)

    async def settle(self, timeout: float | None = None) -> bool:
        """See `Memory.settle`."""
        return await asyncio.to_thread(self._memory.settle, timeout)

    async def profile(self, user_id: str, agent_id: str = DEFAULT_AGENT) -> "Profile":
        """See `Memory.profile`."""
        return await asyncio.to_thread(self._memory.profile, user_id, agent_id)

    async def enhance_prompt(
        self, base: str, *, user_id: str, agent_id: str = DEFAULT_AGENT, safety_rules: str | None = None
    ) -> str:
        """See `Memory.enhance_prompt`."""
        return await asyncio.to_thread(
            self._memory.enhance_prompt, base, user_id=user_id, agent_id=agent_id, safety_rules=safety_rules
        )

    async def facts(
        self, user_id: str, agent_id: str = DEFAULT_AGENT, *, at: datetime | None = None, superseded: bool = False
    ) -> "list[Fact]":
        """See `Memory.facts`."""
        return await asyncio.to_thread(self._memory.facts, user_id, agent_id, at=at, superseded=superseded)

    async def forget_fact(self, fact_id: str, *, user_id: str, agent_id: str = DEFAULT_AGENT) -> None:
        """See `Memory.forget_fact`."""
        await asyncio.to_thread(self._memory.forget_fact, fact_id, user_id=user_id, agent_id=agent_id)

    async def flags(self, user_id: str, *, state: "FlagState | None" = None, limit: int = 1_000) -> "list[Flag]":
        """See `Memory.flags`."""
        return await asyncio.to_thread(self._memory.flags, user_id, state=state, limit=limit)

    async def set_flag(self, flag_id: str, state: "FlagState", *, user_id: str) -> "Flag":
        """See `Memory.set_flag`."""
        return await asyncio.to_thread(self._memory.set_flag, flag_id, state, user_id=user_id)

    async def end_if_idle(self, session_id: str, *, user_id: str) -> bool:
        """See `Memory.end_if_idle`."""
        return await asyncio.to_thread(self._memory.end_if_idle, session_id, user_id=user_id)

    async def catch_up(self, session_id: str, *, user_id: str) -> None:
        """See `Memory.catch_up`."""
        await asyncio.to_thread(self._memory.catch_up, session_id, user_id=user_id)

    async def end_idle(self, *, user_id: str | None = None) -> int:
        """See `Memory.end_idle`."""
        return await asyncio.to_thread(self._memory.end_idle, user_id=user_id)

    async def cleanup(
        self, *, retention: Retention | None = None, progress: Callable[[int, int], None] | None = None
    ) -> CleanupResult:
        """See `Memory.cleanup`."""
        return await asyncio.to_thread(self._memory.cleanup, retention=retention, progress=progress)

    async def erase(self, user_id: str) -> EraseReceipt:
        """See `Memory.erase`."""
        return await asyncio.to_thread(self._memory.erase, user_id)

    async def export(self, user_id: str) -> AsyncIterator[dict[str, Any]]:
        """See `Memory.export`: `async for document in memory.export(user_id)`."""
        documents = self._memory.export(user_id)
        while (document := await asyncio.to_thread(next, documents, None)) is not None:
            yield document

    async def import_documents(
        self,
        documents: Iterable[Mapping[str, Any] | Exception],
        *,
        user_id: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> ImportResult:
        """See `Memory.import_documents`."""
        return await asyncio.to_thread(self._memory.import_documents, documents, user_id=user_id, progress=progress)

    async def stats(self) -> Stats:
        """See `Memory.stats`."""
        return await asyncio.to_thread(self._memory.stats)

    async def verify(self, progress: Callable[[int, int], None] | None = None) -> Verification:
        """See `Memory.verify`."""
        return await asyncio.to_thread(self._memory.verify, progress)

    async def backup(self, path: str | Path, progress: Callable[[int, int], None] | None = None) -> None:
        """See `Memory.backup`."""
        await asyncio.to_thread(self._memory.backup, path, progress)

    async def rest(self) -> None:
        """See `Memory.rest`."""
        await asyncio.to_thread(self._memory.rest)

    async def close(self) -> None:
        """See `Memory.close`."""
        await asyncio.to_thread(self._memory.close)

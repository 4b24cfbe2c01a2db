"""The async face: the same names and arguments, each call awaited in a worker thread.

It holds no logic of its own. Writes of many tasks meet in the store, which commits them together, so a
busy event loop gets the throughput of one shared commit. A cancelled call is not undone: a write that had begun ends.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, overload

import ricordo.memory
from ricordo.context import Context, Remembered
from ricordo.memory import DEFAULT_AGENT, Memory
from ricordo.ports import Store, TokenCounter
from ricordo.receipt import Receipt
from ricordo.records import Message, SessionInfo, Turn
from ricordo.reports import CleanupResult, EraseReceipt, ImportResult, Stats, Verification
from ricordo.session import AnyChunk, Session
from ricordo.settings import BudgetSettings, Retention, Settings
from ricordo.window import Window

__all__ = ["AsyncMemory", "AsyncOpenTurn", "AsyncSession", "open"]


async def open(url_or_path: str | Path | None = None, **settings: Any) -> "AsyncMemory":  # noqa: A001
    """`async with await ricordo.aio.open("chat.db") as memory: ...`; arguments as in `ricordo.open`."""
    return AsyncMemory(await asyncio.to_thread(ricordo.memory.open, url_or_path, **settings))


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

    def session(self, session_id: str | None = None, *, user_id: str, agent_id: str = DEFAULT_AGENT) -> "AsyncSession":
        """See `Memory.session`. It touches no disk, so there is nothing to await."""
        return AsyncSession(self._memory.session(session_id, user_id=user_id, agent_id=agent_id))

    async def resume(self, session_id: object, *, user_id: str, agent_id: str = DEFAULT_AGENT) -> "AsyncSession":
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

    async def close(self) -> None:
        """See `Memory.close`."""
        await asyncio.to_thread(self._memory.close)


class AsyncSession:
    """`Session` for an event loop."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"Async{self._session!r}"

    @property
    def id(self) -> str:
        """The session id."""
        return self._session.id

    @property
    def user_id(self) -> str:
        """Whose memory it is."""
        return self._session.user_id

    @property
    def agent_id(self) -> str:
        """Who answers."""
        return self._session.agent_id

    async def add_turn(
        self,
        query: str,
        response: str,
        *,
        chunk_ids: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        turn_id: str | None = None,
        turn_number: int | None = None,
        receipt: Receipt | None = None,
    ) -> Turn:
        """See `Session.add_turn`."""
        return await asyncio.to_thread(
            self._session.add_turn,
            query,
            response,
            chunk_ids=chunk_ids,
            metadata=metadata,
            created_at=created_at,
            turn_id=turn_id,
            turn_number=turn_number,
            receipt=receipt,
        )

    async def ask(
        self,
        query: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        turn_id: str | None = None,
        receipt: Receipt | None = None,
    ) -> "AsyncOpenTurn":
        """See `Session.ask`."""
        asked = await asyncio.to_thread(
            self._session.ask, query, metadata=metadata, created_at=created_at, turn_id=turn_id, receipt=receipt
        )
        return AsyncOpenTurn(self, asked.turn)

    async def answer(
        self,
        turn: "Turn | AsyncOpenTurn | str",
        response: str,
        *,
        chunk_ids: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        receipt: Receipt | None = None,
    ) -> Turn:
        """See `Session.answer`."""
        return await asyncio.to_thread(
            self._session.answer,
            turn.turn if isinstance(turn, AsyncOpenTurn) else turn,
            response,
            chunk_ids=chunk_ids,
            metadata=metadata,
            created_at=created_at,
            receipt=receipt,
        )

    async def add_message(
        self,
        role: str,
        content: str,
        *,
        created_at: datetime | None = None,
        chunk_ids: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        tool_calls: Iterable[Mapping[str, Any]] = (),
        tool_call_id: str | None = None,
        name: str | None = None,
    ) -> Message:
        """See `Session.add_message`."""
        return await asyncio.to_thread(
            self._session.add_message,
            role,
            content,
            created_at=created_at,
            chunk_ids=chunk_ids,
            metadata=metadata,
            tool_calls=tool_calls,
            tool_call_id=tool_call_id,
            name=name,
        )

    async def history(self, limit: int | None = None, *, before: int | None = None) -> list[Turn]:
        """See `Session.history`."""
        return await asyncio.to_thread(self._session.history, limit, before=before)

    async def window(self) -> Window:
        """See `Session.window`."""
        return await asyncio.to_thread(self._session.window)

    async def context(
        self,
        question: str,
        *,
        chunks: Sequence[AnyChunk] = (),
        budget: int | BudgetSettings | None = None,
        system: str | None = None,
        safety: str | None = None,
        profile: str = "",
        summary: str = "",
        recalled: Sequence[Remembered] = (),
        format_instructions: str | None = None,
    ) -> Context:
        """See `Session.context`."""
        return await asyncio.to_thread(
            self._session.context,
            question,
            chunks=chunks,
            budget=budget,
            system=system,
            safety=safety,
            profile=profile,
            summary=summary,
            recalled=recalled,
            format_instructions=format_instructions,
        )

    async def receipts(self, limit: int = 50) -> list[Receipt]:
        """See `Session.receipts`."""
        return await asyncio.to_thread(self._session.receipts, limit)

    async def rebuild(self, turn_number: int) -> Context:
        """See `Session.rebuild`."""
        return await asyncio.to_thread(self._session.rebuild, turn_number)

    async def info(self) -> SessionInfo:
        """See `Session.info`."""
        return await asyncio.to_thread(self._session.info)

    @overload
    async def export(self, form: Literal["json"] = "json") -> dict[str, Any]: ...
    @overload
    async def export(self, form: Literal["markdown"]) -> str: ...
    async def export(self, form: Literal["json", "markdown"] = "json") -> dict[str, Any] | str:
        """See `Session.export`."""
        return await asyncio.to_thread(self._session.export, form)

    async def update(
        self,
        *,
        title: str | None = None,
        document_ids: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> SessionInfo:
        """See `Session.update`."""
        return await asyncio.to_thread(
            self._session.update, title=title, document_ids=document_ids, tags=tags, metadata=metadata
        )

    async def end(self) -> SessionInfo:
        """See `Session.end`."""
        return await asyncio.to_thread(self._session.end)

    async def clear(self) -> int:
        """See `Session.clear`."""
        return await asyncio.to_thread(self._session.clear)


@dataclass(frozen=True, slots=True)
class AsyncOpenTurn:
    """A question that is kept, with the way to answer it."""

    session: AsyncSession
    turn: Turn

    @property
    def id(self) -> str:
        """The turn's id."""
        return self.turn.id

    @property
    def turn_number(self) -> int:
        """The turn's number in its session."""
        return self.turn.turn_number

    @property
    def query(self) -> str:
        """What was asked."""
        return self.turn.query

    @property
    def response(self) -> str | None:
        """None: it was open when this handle was made."""
        return self.turn.response

    async def answer(
        self,
        response: str,
        *,
        chunk_ids: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        receipt: Receipt | None = None,
    ) -> Turn:
        """See `OpenTurn.answer`."""
        return await self.session.answer(
            self.turn, response, chunk_ids=chunk_ids, metadata=metadata, created_at=created_at, receipt=receipt
        )

"""`Session` and `OpenTurn` for an event loop: the same calls, each in a worker thread."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

from ricordo.aio.topic import AsyncSessionTopic
from ricordo.prompt.context import Asked, Context, Remembered
from ricordo.prompt.receipt import Receipt
from ricordo.prompt.window import Window
from ricordo.records.turns import Message, SessionInfo, Turn
from ricordo.session import AnyChunk, Session
from ricordo.settings import BudgetSettings

if TYPE_CHECKING:
    from ricordo.people.session_end import SessionEnd
    from ricordo.records.people import Summary
    from ricordo.records.topics import Topic


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
        chunks: "Sequence[AnyChunk] | Callable[[Asked], Sequence[AnyChunk]]" = (),
        budget: int | BudgetSettings | None = None,
        standalone: str = "",
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
            standalone=standalone,
            system=system,
            safety=safety,
            profile=profile,
            summary=summary,
            recalled=recalled,
            format_instructions=format_instructions,
        )

    async def topics(self) -> "list[Topic]":
        """See `Session.topics`."""
        return await asyncio.to_thread(self._session.topics)

    async def topic(self, topic_id: str) -> AsyncSessionTopic:
        """See `Session.topic`."""
        return AsyncSessionTopic(await asyncio.to_thread(self._session.topic, topic_id))

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

    async def create(
        self, *, title: str | None = None, tags: Iterable[str] = (), metadata: Mapping[str, Any] | None = None
    ) -> SessionInfo:
        """See `Session.create`."""
        return await asyncio.to_thread(self._session.create, title=title, tags=tags, metadata=metadata)

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

    async def end(self) -> "SessionEnd":
        """See `Session.end`."""
        return await asyncio.to_thread(self._session.end)

    async def condense(self) -> "Summary | None":
        """See `Session.condense`."""
        return await asyncio.to_thread(self._session.condense)

    async def summaries(self, limit: int = 50) -> "list[Summary]":
        """See `Session.summaries`."""
        return await asyncio.to_thread(self._session.summaries, limit)

    async def forget_derived(self) -> int:
        """See `Session.forget_derived`."""
        return await asyncio.to_thread(self._session.forget_derived)

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

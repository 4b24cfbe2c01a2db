"""The async API: the names, arguments and results of the sync classes, each call awaited in a worker thread.

Methods are derived from the sync classes at import time and hold no logic of their own; `ParamSpec` carries each
signature over, so type checkers and editors see it without generated code or a stub. Only what differs is written out:
properties, overloads, and methods that take or return a handle. A cancelled call is not undone: a write that had begun
completes. Progress callbacks run in the worker thread.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload

import ricordo.memory
from ricordo.memory import Memory
from ricordo.prompt.receipt import Receipt
from ricordo.records.turns import DEFAULT_AGENT, Turn
from ricordo.session import OpenTurn, Session
from ricordo.topics.session_topic import SessionTopic

if TYPE_CHECKING:
    pass

__all__ = ["AsyncMemory", "AsyncOpenTurn", "AsyncSession", "AsyncSessionTopic", "open"]

P = ParamSpec("P")
Handle = TypeVar("Handle")
Result = TypeVar("Result")
Wrapped = TypeVar("Wrapped")
AsyncMethod = Callable[Concatenate[Any, P], Coroutine[Any, Any, Result]]


@overload
def _awaited(method: Callable[Concatenate[Handle, P], Result]) -> AsyncMethod[P, Result]: ...
@overload
def _awaited(
    method: Callable[Concatenate[Handle, P], Result], wrap: Callable[[Any, Result], Wrapped]
) -> AsyncMethod[P, Wrapped]: ...
def _awaited(
    method: Callable[Concatenate[Handle, P], Result], wrap: Callable[[Any, Result], Any] | None = None
) -> AsyncMethod[P, Any]:
    """The async form of a sync method; `wrap` makes an async handle of its result."""

    @functools.wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        # By name, so that a wrapper that was set later, such as a span, is called too.
        result = await asyncio.to_thread(getattr(self._sync, method.__name__), *args, **kwargs)
        return wrap(self, result) if wrap else result

    return call


class _Same(Generic[Result]):
    """A property of a sync class, which does no I/O."""

    def __init__(self, getter: Callable[[Any], Result]) -> None:
        self.__doc__ = getter.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, handle: Any, owner: type | None = None) -> Result:
        found: Result = getattr(handle._sync, self._name)
        return found


async def open(url_or_path: str | Path | None = None, **settings: Any) -> "AsyncMemory":
    """`async with await ricordo.aio.open("chat.db") as memory: ...`; arguments as in `ricordo.open`."""
    return AsyncMemory(await asyncio.to_thread(ricordo.memory.open, url_or_path, **settings))


class AsyncSessionTopic:
    """`SessionTopic` for an event loop."""

    def __init__(self, topic: SessionTopic) -> None:
        self._sync = topic
        self.id = topic.id

    read = _awaited(SessionTopic.read)
    stats = _awaited(SessionTopic.stats)
    priority = _awaited(SessionTopic.priority)
    history = _awaited(SessionTopic.history)
    tag = _awaited(SessionTopic.tag)
    weigh = _awaited(SessionTopic.weigh)
    feedback = _awaited(SessionTopic.feedback)
    near = _awaited(SessionTopic.near)
    merge = _awaited(SessionTopic.merge)
    export = _awaited(SessionTopic.export)


class AsyncSession:
    """`Session` for an event loop."""

    def __init__(self, session: Session) -> None:
        self._sync = session

    def __repr__(self) -> str:
        return f"Async{self._sync!r}"

    id = _Same(Session.id)
    user_id = _Same(Session.user_id)
    agent_id = _Same(Session.agent_id)

    def _open_turn(self, opened: OpenTurn) -> "AsyncOpenTurn":
        return AsyncOpenTurn(self, opened.turn)

    def _topic(self, topic: SessionTopic) -> AsyncSessionTopic:
        return AsyncSessionTopic(topic)

    add_turn = _awaited(Session.add_turn)
    ask = _awaited(Session.ask, _open_turn)
    add_message = _awaited(Session.add_message)
    history = _awaited(Session.history)
    window = _awaited(Session.window)
    context = _awaited(Session.context)
    topics = _awaited(Session.topics)
    topic = _awaited(Session.topic, _topic)
    receipts = _awaited(Session.receipts)
    rebuild = _awaited(Session.rebuild)
    ask_back = _awaited(Session.ask_back)
    info = _awaited(Session.info)
    create = _awaited(Session.create)
    update = _awaited(Session.update)
    end = _awaited(Session.end)
    condense = _awaited(Session.condense)
    summaries = _awaited(Session.summaries)
    forget_derived = _awaited(Session.forget_derived)
    clear = _awaited(Session.clear)

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
            self._sync.answer,
            turn.turn if isinstance(turn, AsyncOpenTurn) else turn,
            response,
            chunk_ids=chunk_ids,
            metadata=metadata,
            created_at=created_at,
            receipt=receipt,
        )

    @overload
    async def export(self, form: Literal["json"] = "json") -> dict[str, Any]: ...
    @overload
    async def export(self, form: Literal["markdown"]) -> str: ...
    async def export(self, form: Literal["json", "markdown"] = "json") -> dict[str, Any] | str:
        """See `Session.export`."""
        return await asyncio.to_thread(self._sync.export, form)


@dataclass(frozen=True, slots=True)
class AsyncOpenTurn:
    """`OpenTurn` for an event loop."""

    session: AsyncSession
    turn: Turn

    id = _Same(OpenTurn.id)
    turn_number = _Same(OpenTurn.turn_number)
    query = _Same(OpenTurn.query)
    response = _Same(OpenTurn.response)

    @property
    def _sync(self) -> OpenTurn:
        return OpenTurn(self.session._sync, self.turn)

    answer = _awaited(OpenTurn.answer)


class AsyncMemory:
    """`Memory` for an event loop."""

    def __init__(self, memory: Memory) -> None:
        self._sync = memory

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    settings = _Same(Memory.settings)
    store = _Same(Memory.store)  # its own calls block
    counter = _Same(Memory.counter)
    clock = _Same(Memory.clock)
    llm = _Same(Memory.llm)  # its own calls block
    embedder = _Same(Memory.embedder)  # its own calls block

    def session(
        self,
        session_id: str | None = None,
        *,
        user_id: str,
        agent_id: str = DEFAULT_AGENT,
        project: str | None = None,
    ) -> AsyncSession:
        """See `Memory.session`. It does no I/O, so it is not awaited."""
        return AsyncSession(self._sync.session(session_id, user_id=user_id, agent_id=agent_id, project=project))

    def _session(self, session: Session) -> AsyncSession:
        return AsyncSession(session)

    resume = _awaited(Memory.resume, _session)
    sessions = _awaited(Memory.sessions)
    delete_session = _awaited(Memory.delete_session)
    search = _awaited(Memory.search)
    embed_again = _awaited(Memory.embed_again)
    settle = _awaited(Memory.settle)
    settle_facts = _awaited(Memory.settle_facts)
    profile = _awaited(Memory.profile)
    enhance_prompt = _awaited(Memory.enhance_prompt)
    facts = _awaited(Memory.facts)
    write_fact = _awaited(Memory.write_fact)
    pin_fact = _awaited(Memory.pin_fact)
    forget_fact = _awaited(Memory.forget_fact)
    forget_message = _awaited(Memory.forget_message)
    flags = _awaited(Memory.flags)
    set_flag = _awaited(Memory.set_flag)
    end_if_idle = _awaited(Memory.end_if_idle)
    catch_up = _awaited(Memory.catch_up)
    end_idle = _awaited(Memory.end_idle)
    cleanup = _awaited(Memory.cleanup)
    erase = _awaited(Memory.erase)
    import_documents = _awaited(Memory.import_documents)
    stats = _awaited(Memory.stats)
    verify = _awaited(Memory.verify)
    repair = _awaited(Memory.repair)
    backup = _awaited(Memory.backup)
    rest = _awaited(Memory.rest)
    close = _awaited(Memory.close)

    async def export(self, user_id: str, *, project: str | None = None) -> AsyncIterator[dict[str, Any]]:
        """See `Memory.export`: `async for document in memory.export(user_id)`."""
        documents = self._sync.export(user_id, project=project)
        while (document := await asyncio.to_thread(next, documents, None)) is not None:
            yield document

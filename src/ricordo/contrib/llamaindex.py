"""LlamaIndex on Ricordo: a chat store for its `Memory` and `ChatMemoryBuffer`, a memory block, and a memory class.

In: LlamaIndex's messages. Out: the same messages with blocks, tool calls and extra fields, stored as turns of a session
whose id is LlamaIndex's key. Every object is for one user; nothing is stored in the object itself.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.bridge.pydantic import BaseModel, PrivateAttr
from llama_index.core.memory.memory import BaseMemoryBlock
from llama_index.core.memory.types import BaseMemory
from llama_index.core.storage.chat_store.base import BaseChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus

from ricordo.contrib.history import History, HistoryMessage
from ricordo.contrib.shared import call_of, moment_of, openai_call, openai_calls, paired, sessions_of
from ricordo.errors import BudgetError
from ricordo.languages.registry import memory_words
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.records.turns import DEFAULT_AGENT, Message
from ricordo.safety.fence import close_fence, defuse, marker, open_fence
from ricordo.session import Session

NOTE = "llamaindex"  # Ricordo's key in a message's metadata
ROLES = {
    MessageRole.DEVELOPER: "system",
    MessageRole.FUNCTION: "tool",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
}


def to_words(message: ChatMessage) -> HistoryMessage:
    """A message of LlamaIndex to store; what Ricordo has no field for goes into its metadata."""
    role = ROLES.get(message.role, message.role.value)
    extra: dict[str, Any] = {}
    if message.additional_kwargs:
        extra = message.model_dump(mode="json", include={"additional_kwargs"})["additional_kwargs"]
    text = message.content or ""
    calls = _calls(message, extra) if role == "assistant" else ()
    note: dict[str, Any] = {}
    if role != message.role.value:
        note["role"] = message.role.value
    if extra:
        note["additional_kwargs"] = extra
    plain = len(message.blocks) == 1 and type(message.blocks[0]) is TextBlock and text.strip()
    if not plain:
        note["blocks"] = [block.model_dump(mode="json") for block in message.blocks]
    if not text.strip():
        text = "" if calls else f"[{', '.join(block.block_type for block in message.blocks) or 'empty'}]"
    called = extra.get("tool_call_id") if role == "tool" else None
    return HistoryMessage(
        role,
        text,
        {NOTE: note} if note else {},
        calls,
        called if isinstance(called, str) and called else None,
        created_at=moment_of(extra.get("created_at")),
    )


def from_message(message: Message) -> ChatMessage:
    """A stored message as LlamaIndex's."""
    return from_messages((message,))[0]


def from_messages(messages: Iterable[Message]) -> list[ChatMessage]:
    """The same for many; messages of text only, which are the most, are built inline for speed."""
    return [
        _full_message(each)
        if each.metadata or each.tool_calls or each.tool_call_id
        else ChatMessage(each.content, role=each.role)
        for each in messages
    ]


def _full_message(message: Message) -> ChatMessage:
    """A message with more than text."""
    note = message.metadata.get(NOTE)
    extra: dict[str, Any] = dict(note.get("additional_kwargs", {})) if note else _extra(message)
    role = MessageRole((note or {}).get("role", message.role))
    if note and "blocks" in note:
        return ChatMessage.model_validate({"role": role, "blocks": note["blocks"], "additional_kwargs": extra})
    blocks: list[Any] = [TextBlock(text=message.content)] if message.content or not message.tool_calls else []
    if not note:
        blocks += [_block(call) for call in message.tool_calls]
    return ChatMessage(role=role, blocks=blocks, additional_kwargs=extra)


def _calls(message: ChatMessage, extra: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if blocks:
        return tuple(openai_call(each.tool_name, each.tool_kwargs, each.tool_call_id) for each in blocks)
    return openai_calls(extra.get("tool_calls"))


def _block(call: Any) -> ToolCallBlock:
    name, arguments, call_id = call_of(call)
    return ToolCallBlock(tool_name=name, tool_kwargs=arguments, tool_call_id=call_id)


def _extra(message: Message) -> dict[str, Any]:
    return {"tool_call_id": message.tool_call_id} if message.tool_call_id else {}


def from_context(message: Mapping[str, Any]) -> ChatMessage:
    """A message of a context as LlamaIndex's."""
    blocks: list[Any] = [TextBlock(text=message["content"])] if message["content"] else []
    blocks += [_block(call) for call in message.get("tool_calls", ())]
    extra = {key: message[key] for key in ("tool_call_id", "name") if key in message}
    return ChatMessage(role=MessageRole(message["role"]), blocks=blocks, additional_kwargs=extra)


log = logging.getLogger("ricordo")

OPEN = 256  # cached histories, without their messages


class _Histories(BaseModel):
    """The histories of one user's sessions, by LlamaIndex's key."""

    user_id: str
    agent_id: str = DEFAULT_AGENT
    _memory: Memory = PrivateAttr()
    _histories: Callable[[str], History] = PrivateAttr()

    def __init__(self, memory: Memory, *, user_id: str, agent_id: str = DEFAULT_AGENT) -> None:
        ids: dict[str, Any] = {"user_id": check_id("user_id", user_id), "agent_id": check_id("agent_id", agent_id)}
        super().__init__(**ids)
        self._memory = memory
        self._histories = lru_cache(OPEN)(lambda key: History(memory, key, user_id=user_id, agent_id=agent_id))

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    def history(self, key: str) -> History:
        return self._histories(key)


class RicordoChatStore(_Histories, AsyncDBChatStore):
    """For `Memory.from_defaults(chat_store=...)`. A key is a session of the user."""

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """Messages of a key, oldest first; None as status is both."""
        start = offset or 0
        bounds = slice(start, None if limit is None else start + limit)
        return await asyncio.to_thread(self._messages, key, status, bounds)

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        """How many messages a key has."""
        return len(await asyncio.to_thread(self._read, key, status))

    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE) -> None:
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Add messages, all or none. An empty list changes nothing."""
        words = [to_words(message) for message in messages]
        await asyncio.to_thread(self._append, key, words, status)

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Replace all messages with these, atomically."""
        words = [to_words(message) for message in messages]
        await asyncio.to_thread(self._set, key, words, status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Remove and return the active message at a position."""
        gone = await asyncio.to_thread(self.history(key).remove, idx)
        return from_message(gone.message) if gone else None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Remove all messages of a status, or all."""
        history = self.history(key)
        if status is None:
            await asyncio.to_thread(history.clear)
        elif status is MessageStatus.ARCHIVED:
            await asyncio.to_thread(history.clear_aside)
        else:
            await asyncio.to_thread(history.replace, [])

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Remove and return the oldest active messages."""
        gone = await asyncio.to_thread(self.history(key).remove_oldest, n)
        return [from_message(each.message) for each in gone]

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive and return the oldest active messages."""
        taken = await asyncio.to_thread(self.history(key).set_aside, n)
        return [from_message(each.message) for each in taken]

    async def get_keys(self) -> list[str]:
        """The user's sessions, most recent first."""
        found = await asyncio.to_thread(sessions_of, self._memory, self.user_id, self.agent_id)
        return [session.id for session in found]

    def _messages(self, key: str, status: MessageStatus | None, bounds: slice) -> list[ChatMessage]:
        return from_messages(self._read(key, status)[bounds])

    def _read(self, key: str, status: MessageStatus | None) -> list[Message]:
        history = self.history(key)
        if status is MessageStatus.ARCHIVED:
            return [each.message for each in history.split()[0]]
        return history.messages(aside=status is None)

    def _append(self, key: str, words: Sequence[HistoryMessage], status: MessageStatus) -> None:
        history = self.history(key)
        if status is MessageStatus.ACTIVE:
            history.append(words)
        elif words:
            history.insert(words)
            history.set_aside(len(words))

    def _set(self, key: str, words: Sequence[HistoryMessage], status: MessageStatus) -> None:
        history = self.history(key)
        history.replace(words, with_aside=True)
        if status is MessageStatus.ARCHIVED:
            history.set_aside(len(words))


class RicordoLegacyChatStore(_Histories, BaseChatStore):
    """For `ChatMemoryBuffer` and other users of LlamaIndex's older, synchronous chat stores."""

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Replace all messages with these, atomically."""
        self.history(key).replace([to_words(message) for message in messages], with_aside=True)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """All messages of a key, oldest first."""
        return list(map(from_message, self.history(key).messages(aside=True)))

    def add_message(self, key: str, message: ChatMessage) -> None:
        self.history(key).append([to_words(message)])

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Remove and return all messages of a key; None if there are none."""
        gone = self.get_messages(key)
        self.history(key).clear()
        return gone or None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Remove and return the message at a position."""
        gone = self.history(key).remove(idx)
        return from_message(gone.message) if gone else None

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Remove and return the newest message."""
        return self.delete_message(key, -1)

    def get_keys(self) -> list[str]:
        """The user's sessions, most recent first."""
        return [session.id for session in sessions_of(self._memory, self.user_id, self.agent_id)]


class RicordoMemoryBlock(BaseMemoryBlock[str]):
    """What is known of the user: facts and summary across sessions, this session's summary and topics.

    It reads the session of each call and has none of its own. Give `writes=True` if another store keeps the messages:
    those that leave its queue are then stored here, and facts are learned from them.
    """

    user_id: str
    agent_id: str = DEFAULT_AGENT
    writes: bool = False
    _memory: Memory = PrivateAttr()

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str,
        agent_id: str = DEFAULT_AGENT,
        name: str = "ricordo",
        priority: int = 0,
        writes: bool = False,
    ) -> None:
        ids: dict[str, Any] = {"user_id": check_id("user_id", user_id), "agent_id": check_id("agent_id", agent_id)}
        super().__init__(name=name, description="What is known of the user", priority=priority, **ids)
        self.writes = writes
        self._memory = memory

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        session_id = block_kwargs.get("session_id")
        return await asyncio.to_thread(self._text, session_id if isinstance(session_id, str) else None)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if self.writes:
            for message in messages:
                key = str(message.additional_kwargs.get("session_id") or self.name)
                history = History(self._memory, key, user_id=self.user_id, agent_id=self.agent_id)
                await asyncio.to_thread(history.append, [to_words(message)])

    def _text(self, session_id: str | None) -> str:
        known = self._memory.enhance_prompt("", user_id=self.user_id, agent_id=self.agent_id, safety_rules="").strip()
        if session_id is None:
            return known
        session = self._memory.session(session_id, user_id=self.user_id, agent_id=self.agent_id)
        return "\n\n".join(part for part in (known, self._of(session)) if part)

    def _of(self, session: Session) -> str:
        """The session's own summary and topics, as data between fences."""
        away = {flag.subject_id for flag in self._memory.flags(self.user_id, state="quarantined")}
        locale = self._memory.settings.labels
        lines = [defuse(each.text) for each in session.summaries(1) if each.id not in away]
        titles = [defuse(topic.title) for topic in session.topics()]
        lines += [memory_words(locale).topics, ", ".join(titles)] if titles else []
        if not lines:
            return ""
        word = marker(lines)
        return "\n".join((open_fence(word, locale.code), *lines, close_fence(word, locale.code)))


class RicordoMemory(BaseMemory):
    """A memory whose `get` returns the whole context: what is known, the recent turns, and what was recalled.

    It always fits `token_limit` (by default the settings' budget), never splits a turn, and takes the same time for
    long and short sessions.
    """

    user_id: str
    session_id: str
    agent_id: str = DEFAULT_AGENT
    token_limit: int | None = None
    _memory: Memory = PrivateAttr()

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str,
        session_id: str | None = None,
        agent_id: str = DEFAULT_AGENT,
        token_limit: int | None = None,
    ) -> None:
        session = memory.session(session_id, user_id=user_id, agent_id=agent_id)
        fields = {"user_id": user_id, "session_id": session.id, "agent_id": agent_id, "token_limit": token_limit}
        super().__init__(**fields)
        self._memory = memory

    @classmethod
    def class_name(cls) -> str:
        return "RicordoMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> "RicordoMemory":
        """The same as the class itself: `memory` and `user_id` have no default."""
        return cls(kwargs.pop("memory"), **kwargs)

    def get(self, input: str | None = None, initial_token_count: int = 0, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002
        """The messages for the next answer, without a question that is not stored yet."""
        session = self._session()
        newest = session.history(limit=1)
        asked = newest[-1] if newest and newest[-1].is_open else None
        question = asked.query if asked else (input or "")
        if not question.strip():
            return [from_message(message) for message in session.window().messages]
        budget = max((self.token_limit or self._memory.settings.budget.model_limit) - initial_token_count, 0)
        steps = asked.steps if asked else ()
        after = [from_message(step) for step in steps]
        try:
            context = session.context(question, budget=max(budget - sum(step.tokens for step in steps), 0))
        except BudgetError as error:  # not even the safety rules fit: only the question is sent, and a warning logged
            log.warning("context does not fit: %s", error, extra={"operation": "context", "user_id": self.user_id})
            return [ChatMessage(content=question), *after] if asked else []
        composed = [from_context(each) for each in paired(context.messages)]
        return [*composed, *after] if asked else composed[:-1]

    def get_all(self) -> list[ChatMessage]:
        """Every message of the session, oldest first."""
        return list(map(from_message, self._history().messages(aside=True)))

    def put(self, message: ChatMessage) -> None:
        self._history().append([to_words(message)])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Store messages, all or none."""
        self._history().append([to_words(message) for message in messages])

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace all messages with these, atomically."""
        self._history().replace([to_words(message) for message in messages], with_aside=True)

    def reset(self) -> None:
        """Remove all messages of the session."""
        self._history().clear()

    def _session(self) -> Session:
        return self._memory.session(self.session_id, user_id=self.user_id, agent_id=self.agent_id)

    def _history(self) -> History:
        return History(self._memory, self.session_id, user_id=self.user_id, agent_id=self.agent_id)

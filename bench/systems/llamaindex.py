"""LlamaIndex's Memory over its SQLAlchemy chat store. It trims by tokens when it writes; here also to three turns."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from bench.systems.trim import TOKENS, Said, trim


class System:
    """One memory per session on one shared store, with all 2,000 tokens for history and flushes of 100."""

    def __init__(self, folder: Path) -> None:
        self._store = SQLAlchemyChatStore(
            table_name="memory", async_database_uri=f"sqlite+aiosqlite:///{folder / 'llamaindex.db'}"
        )
        self._memories: dict[str, Memory] = {}

    async def append(self, session: str, query: str, response: str) -> None:
        await self._memory(session).aput_messages(_messages([(query, response)]))

    async def window(self, session: str) -> list[Said]:
        return trim(_said(await self._memory(session).aget()))

    async def history(self, session: str) -> list[Said]:
        return _said(await self._memory(session).aget_all())

    async def load(self, session: str, turns: Iterable[Said]) -> None:
        rest = iter(turns)
        while batch := list(islice(rest, 500)):
            await self._memory(session).aput_messages(_messages(batch))

    async def close(self) -> None:
        if self._store._async_engine is not None:
            await self._store._async_engine.dispose()

    def _memory(self, session: str) -> Memory:
        if session not in self._memories:
            self._memories[session] = Memory.from_defaults(
                session_id=session,
                token_limit=TOKENS,
                chat_history_token_ratio=1.0,
                token_flush_size=100,
                chat_store=self._store,
                tokenizer_fn=lambda text: range((len(text) + 3) // 4),
            )
        return self._memories[session]


def _messages(turns: Iterable[Said]) -> list[ChatMessage]:
    return [
        ChatMessage(role=role, content=text)
        for turn in turns
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]


def _said(messages: Iterable[Any]) -> list[Said]:
    return [(message.role.value, message.content or "") for message in messages]

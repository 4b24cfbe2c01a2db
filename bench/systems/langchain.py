"""LangChain's SQL history with `trim_messages`. Its history has no "last n": every window reads the whole session."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langchain_community.chat_message_histories import SQLChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages
from sqlalchemy import create_engine

from bench.systems.trim import TOKENS, TURNS, Said, tokens


class System:
    """One history per session on one engine. Only the newest six messages are handed to the trimmer."""

    def __init__(self, folder: Path) -> None:
        self._engine = create_engine(f"sqlite:///{folder / 'langchain.db'}")
        self._histories: dict[str, Any] = {}

    def append(self, session: str, query: str, response: str) -> None:
        self.load(session, [(query, response)])

    def window(self, session: str) -> list[Said]:
        newest = self._history(session).messages[-2 * TURNS :]
        return _said(trim_messages(newest, max_tokens=TOKENS, strategy="last", start_on="human", token_counter=_count))

    def history(self, session: str) -> list[Said]:
        return _said(self._history(session).messages)

    def load(self, session: str, turns: Iterable[Said]) -> None:
        self._history(session).add_messages(
            [message for query, response in turns for message in (HumanMessage(query), AIMessage(response))]
        )

    def close(self) -> None:
        self._engine.dispose()

    def _history(self, session: str) -> Any:
        if session not in self._histories:
            self._histories[session] = SQLChatMessageHistory(session, connection=self._engine)
        return self._histories[session]


def _count(messages: list[BaseMessage]) -> int:
    return sum(tokens(str(message.content)) for message in messages)


def _said(messages: Iterable[BaseMessage]) -> list[Said]:
    return [("user" if message.type == "human" else "assistant", str(message.content)) for message in messages]

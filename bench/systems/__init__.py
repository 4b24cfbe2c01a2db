"""What is measured: one small file per system, each with the same few verbs on its own public API.

A system's class is `System(folder)` with `append`, `window`, `history`, `load` and `close`; where they are coroutines
the entry says so. This catalogue holds what must be known before a system's packages are there to be imported.
"""

from dataclasses import dataclass

LONGEST = 10**9


@dataclass(frozen=True, slots=True)
class Entry:
    """One system: where its file is, what it needs, and what a reader must know to judge its figures."""

    name: str
    title: str
    durability: str
    requirements: tuple[str, ...] = ()
    asynchronous: bool = False
    largest: int = LONGEST  # turns; a longer session takes minutes to build or to read


OURS = Entry("ours", "Ricordo", "WAL, FULL")
SHIPPED = Entry("shipped", "Ricordo with recall and topics", "WAL, FULL")
PLAIN = Entry("plain", "bare sqlite3, one INSERT", "WAL, FULL")
MESSAGES = Entry("messages", "bare sqlite3, a row for each message", "WAL, FULL")
CAREFUL = Entry("careful", "bare sqlite3, counter + INSERT", "WAL, FULL")
BY_HAND = (PLAIN, MESSAGES, CAREFUL)

PEERS = (
    Entry(
        "openai_agents",
        "OpenAI Agents SQLiteSession",
        "as shipped: WAL, FULL",
        ("openai-agents==0.24.0",),
        asynchronous=True,
        largest=100_000,
    ),
    Entry(
        "langchain",
        "LangChain SQLChatMessageHistory + trim_messages",
        "as shipped: rollback journal, FULL",
        ("langchain-community==0.4.2", "langchain-core==1.7.2", "sqlalchemy[asyncio]==2.1.8"),
        largest=10_000,
    ),
    Entry(
        "llamaindex",
        "LlamaIndex Memory (SQLAlchemy, aiosqlite)",
        "as shipped: rollback journal, FULL",
        ("llama-index-core==0.14.25", "aiosqlite==0.22.1", "sqlalchemy[asyncio]==2.1.8"),
        asynchronous=True,
        largest=10_000,
    ),
)

ALL = {entry.name: entry for entry in (OURS, SHIPPED, *BY_HAND, *PEERS)}

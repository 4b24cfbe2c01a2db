"""A chat for a test: an answerer that only repeats, a clock that stands still, a store with a switch."""

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from ricordo.chat import Answered, Chat, ChatRequest, ChatResponse, Task
from ricordo.errors import StoreUnavailable
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.records.turns import Owner, Turn
from ricordo.settings import Settings
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.protocols import Store
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import FakeClock, StoreProxy


class Echo:
    """Answers with the question, in two pieces; `asked` holds the tasks."""

    name = "echo"

    def __init__(self) -> None:
        self.asked: list[Task] = []

    def answer(self, task: Task) -> Generator[str, None, Answered]:
        """The answer to a task."""
        self.asked.append(task)
        yield "Answer to: "
        yield task.question
        return Answered(f"Answer to: {task.question}", (), (), 0.5, self.name)


@cache
def settings(**changes: Any) -> Settings:
    """The preset of a talk that lasts a day, without what is done beside the chat."""
    off = dict.fromkeys(("organise", "remember_person", "titles", "condense", "crisis", "suspicious"), "off")
    return settings_from({"preset": "chat24h", "embedder": "light", "recall_messages": 0, **off, **changes}, {})


class Switched(StoreProxy):
    """A store that can be away."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.up = True

    def close(self) -> None:
        """What is kept stays, as in a database that a client leaves."""

    def through(self, call: str, method: Any) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            if not self.up:
                raise StoreUnavailable("switched off")
            return method(*args, **kwargs)

        return called


@dataclass
class Place:
    """Where turns are kept: a file or a database, opened and opened again."""

    where: str
    store: Any = field(init=False)

    def __post_init__(self) -> None:
        self.store = self.opened()

    def opened(self) -> Any:
        """The store, as a program opens it."""
        return PostgresStore(self.where, pool_size=2) if "://" in self.where else SqliteStore(Path(self.where))

    def reopened(self) -> Any:
        """The store after the program has ended and begun again."""
        self.store.close()
        self.store = self.opened()
        return self.store


class Talk:
    """A person with a chat of their own: nobody else is in their tenant, so examples never meet."""

    def __init__(self, store: Any, clock: FakeClock | None = None, owner: Owner | None = None, **changes: Any) -> None:
        self.clock = clock or FakeClock()
        self.owner = owner or Owner(f"tenant-{uuid4()}", "anna")
        self.echo = Echo()
        chosen = replace(settings(**changes), tenant_id=self.owner.tenant_id)
        self.memory = Memory(store, chosen, clock=self.clock)
        self.chat = Chat(self.memory, answerer=self.echo)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.memory.rest()

    def ask(self, query: str, session_id: object = None, **more: Any) -> ChatResponse:
        """Ask, and have it answered."""
        return self.chat.ask(ChatRequest(query, self.owner.user_id, session_id=session_id, **more))

    def turns(self, session_id: str) -> list[Turn]:
        """What a session holds, in order."""
        return list(self.memory.store.turns.page(self.owner, session_id))

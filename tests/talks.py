"""What the tests beyond the window share: memories whose clock stands still, embedders that count, wait or fail."""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import ricordo
from ricordo.chat import Chat, ChatRequest
from ricordo.documents.library import Library
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.recall.embedders.light import DeterministicEmbedder
from ricordo.recall.quantization import Vectors
from ricordo.settings import Settings
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing import FakeClock, MemoryStore


class CountingEmbedder(DeterministicEmbedder):
    """Words as directions, and a list of everything that was embedded."""

    def __init__(self, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        self.passages: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.passages += texts
        return super().embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        return super().embed_passages([text])[0]


class ThemedEmbedder(CountingEmbedder):
    """A text points where its theme does: the same theme is the same, two themes have nothing in common."""

    themes = re.compile(r"gatto|motore|vela|cosa\d+|stenosi|lombalgia|cucina|kitchen")

    def __init__(self) -> None:
        super().__init__()
        self._axes: dict[str, int] = {}

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.passages += texts
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            theme = (self.themes.findall(text) or ["anything else"])[0]
            row[self._axes.setdefault(theme, len(self._axes))] = 1
        return rows


class GatedEmbedder(DeterministicEmbedder):
    """Embeds passages only while its gate is open; `waiting` tells that somebody stands before it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.waiting = threading.Event()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.waiting.set()
        assert self.gate.wait(30)
        return super().embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        return DeterministicEmbedder().embed_passages([text])[0]


class FailingEmbedder(DeterministicEmbedder):
    """Fails as long as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.failing = True

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if self.failing:
            raise ConnectionError("no route to the embeddings of «segreto»")
        return super().embed_passages(texts)


def memory(
    store: Any = None, *, clock: FakeClock | None = None, embedder: Any = None, **settings: Any
) -> ricordo.Memory:
    """A memory in the process, with the deterministic embedder."""
    chosen = settings_from({"embedder": "deterministic", **settings}, {})
    return ricordo.Memory(store or MemoryStore(), chosen, clock=clock or FakeClock(), embedder=embedder)


@contextmanager
def on_file(
    path: Path, *, clock: FakeClock | None = None, embedder: Any = None, **settings: Any
) -> Iterator[ricordo.Memory]:
    """A memory on a SQLite file, closed in the end."""
    opened = memory(SqliteStore(path), clock=clock, embedder=embedder, **settings)
    try:
        yield opened
    finally:
        opened.close()


def fill(session: ricordo.Session, count: int, about: str = "argomento") -> None:
    """Turns that say little."""
    for number in range(count):
        session.add_turn(f"{about} domanda {number}", f"{about} risposta {number}")


def texts(hits: Any) -> list[str]:
    """The words of hits."""
    return [hit.text for hit in hits]


# What every face must answer alike.
TALKS = {
    "it": [
        "Mi chiamo Anna e abito a Gand.",
        "Il mio forno arriva a 240 gradi.",
        "Come mi chiamo?",
        "A quanti gradi arriva il mio forno?",
        "Grazie!",
        "2",
        "Quanto costa un biglietto per la Luna?",
    ],
    "en": [
        "My name is Anna and I live in Ghent.",
        "My dentist appointment is on Friday at nine.",
        "What is my name?",
        "When is my dentist appointment?",
        "Thanks!",
        "ok",
        "How much is a ticket to the Moon?",
    ],
}


def through_python(talk: list[str], store: Any, settings: Settings) -> list[str]:
    """The answers of a chat in this process."""
    with Memory(store, settings) as memory:
        chat = Chat(memory, passages=Library(memory, memory.store.documents))
        said: list[str] = []
        session: str | None = None
        for words in talk:
            answer = chat.ask(ChatRequest(words, "anna", session_id=session))
            memory.settle(20)
            session = answer.session_id
            said.append(answer.message)
        return said

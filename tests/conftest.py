"""How the tests run: laws are tried at least a hundred times, always with the same examples, without a clock."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings

from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.recall.embedders import choose
from ricordo.recall.embedders.selection import _shared as shared_embedders
from ricordo.stores.memory import MemoryStore
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import FakeClock

hypothesis_settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, database=None)
hypothesis_settings.register_profile("explore", max_examples=1000, deadline=None)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Tests that are not about an embedder take the one that needs no weights, whether they read the environment or not.
os.environ.setdefault("RICORDO_EMBEDDER", "light")
shared_embedders["auto"] = choose("light")

pytest_plugins = ["ricordo.testing.postgres"]


def pytest_sessionfinish() -> None:
    """What is still at work beside a chat has nothing to say after the last test."""
    logging.getLogger("ricordo").addHandler(logging.NullHandler())


@pytest.fixture(params=["memory", "sqlite"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The empty store under `opened`; a file may have more kinds."""
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "people.db")


@pytest.fixture
def opened(home: Any) -> Iterator[Any]:
    """Makes memories over one store, with a clock that is moved by hand."""
    clock = FakeClock()
    made: list[Memory] = []

    def make(llm: Any = None, **settings: Any) -> tuple[Memory, FakeClock]:
        chosen = settings_from({"preset": "maestro", "embedder": "light", **settings}, {})
        made.append(Memory(home, chosen, clock=clock, llm=llm))
        return made[-1], clock

    yield make
    for memory in made:
        memory.close()

"""How the tests run: each law with at least a hundred examples, always the same ones, without a clock.

`--fast` (scripts/test-fast) keeps what runs inside this process without a server: a test file that imports a name of
`SLOW`, itself or through a helper, is not collected; a test that asks for PostgreSQL or is marked `slow` is deselected;
a law is tried with a few examples. So a new test finds its place by what it uses.
"""

import logging
import os
import re
from collections.abc import Iterator
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from hypothesis import settings as hypothesis_settings

from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.recall.embedders.selection import _shared as shared_embedders
from ricordo.recall.embedders.selection import choose
from ricordo.stores.memory import MemoryStore
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import FakeClock
from ricordo.worker import WorkQueue

hypothesis_settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, database=None)
hypothesis_settings.register_profile("explore", max_examples=1000, deadline=None)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Tests that are not about an embedder take the one that needs no weights, whether they read the environment or not.
os.environ.setdefault("RICORDO_EMBEDDER", "light")
shared_embedders["auto"] = choose("light")

pytest_plugins = ["ricordo.testing.postgres"]

open_queues: WeakSet[WorkQueue] = WeakSet()
make_queue = WorkQueue.__init__


@wraps(make_queue)
def make_noted_queue(queue: WorkQueue, **parts: Any) -> None:
    """Make a queue and note it."""
    make_queue(queue, **parts)
    open_queues.add(queue)


WorkQueue.__init__ = make_noted_queue  # type: ignore[method-assign]

# What starts processes, servers, browsers or models, opens database files itself, and what takes seconds to import.
SLOW = {"bench", "local", "mcp", "multiprocessing", "openai", "playwright", "psycopg", "schemathesis", "server"}
SLOW |= {"local_llm", "spool", "sqlite3", "starlette", "subprocess"}
FEW_EXAMPLES = 5
IMPORT = re.compile(r"^\s*(?:from|import)\s+([\w.]+)|importorskip\(\"([\w.]+)", re.MULTILINE)
HELPERS = {path.stem: path for path in Path(__file__).parent.rglob("*.py") if not path.stem.startswith("test_")}


@cache
def is_slow(path: Path) -> bool:
    """Whether a test file imports what `--fast` leaves out, itself or through a helper beside the tests."""
    found = IMPORT.findall(path.read_text(encoding="utf-8"))
    names = {name for module, skipped in found for name in (module or skipped).split(".")}
    return bool(names & SLOW) or any(is_slow(HELPERS[name]) for name in names & (HELPERS.keys() - {path.stem}))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--fast`."""
    parser.addoption("--fast", action="store_true", help="only tests without servers, processes, browsers and models")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--fast`, skip a slow test file, and a folder whose conftest is slow, before it is imported."""
    own = collection_path / "conftest.py" if collection_path.is_dir() else collection_path
    if config.getoption("fast") and own.suffix == ".py" and own.exists() and is_slow(own):
        return True
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--fast`, deselect tests that are marked or ask for PostgreSQL, and give a law few examples."""
    if not config.getoption("fast"):
        return
    slow = {
        item
        for item in items
        if item.get_closest_marker("slow")
        or "postgres" in item.name
        or "postgres_server" in getattr(item, "fixturenames", ())
    }
    config.hook.pytest_deselected(items=list(slow))
    items[:] = [item for item in items if item not in slow]
    for item in items:
        shorten(getattr(item, "obj", None), "_hypothesis_internal_use_settings")
        shorten(getattr(item, "cls", None), "settings")  # a state machine


def shorten(law: Any, attribute: str) -> None:
    """Try a law with few examples."""
    own = getattr(law, attribute, None)
    if isinstance(own, hypothesis_settings):
        setattr(getattr(law, "__func__", law), attribute, hypothesis_settings(own, max_examples=FEW_EXAMPLES))


def pytest_sessionfinish() -> None:
    """What is still at work beside a chat has nothing to say after the last test."""
    logging.getLogger("ricordo").addHandler(logging.NullHandler())


@pytest.fixture(autouse=True)
def end_of_work() -> Iterator[None]:
    """Work after a turn ends with the test that made its memory, also where that is left open."""
    before = set(open_queues)
    yield
    for queue in set(open_queues) - before:
        queue.close()
        open_queues.discard(queue)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """The server that `ricordo.testing.postgres` starts, or a Citus cluster; its import would make every test slow."""
    server = import_module("bench.citus").server_for_tests()
    yield server
    server.close()


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

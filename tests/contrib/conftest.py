"""Where the adapters are tried: each on a memory in a file and on one in PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import ricordo
from ricordo import Memory


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a memory, empty and of the test's own; opened again, it is the same one."""
    if request.param == "postgres":
        return str(request.getfixturevalue("own_postgres_url"))
    return str(tmp_path / "chat.db")


@pytest.fixture
def memory(url: str) -> Iterator[Memory]:
    """A memory at that place."""
    with ricordo.open(url) as opened:
        yield opened

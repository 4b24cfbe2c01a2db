"""Tests of this folder speak the protocol as coroutines, on the one loop that the product uses."""

import pytest

pytest.importorskip("mcp", reason="needs the extra ricordo[mcp]")


@pytest.fixture
def anyio_backend() -> str:
    """The loop."""
    return "asyncio"

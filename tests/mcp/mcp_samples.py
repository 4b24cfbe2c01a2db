"""Clients of a memory for a test: in the process, or over HTTP behind a real socket with keys."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra ricordo[mcp]")

import httpx2
import uvicorn
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from ricordo.mcp.http import mount_mcp
from ricordo.mcp.server import server_for
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.records.service import ApiKey
from ricordo.server.app import Server, create_app
from ricordo.server.credentials import generate_key
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.settings import Settings
from ricordo.stores.memory import MemoryStore
from ricordo.stores.protocols import Store
from ricordo.testing.fakes import START, FakeClock

READS = {
    "search_memories",
    "get_memories",
    "get_memory",
    "list_entities",
    "get_context",
    "list_sessions",
    "get_session",
    "list_topics",
    "export_session",
    "search",
    "fetch",
}
ADDS = {"add_memory", "append_messages"}
REMOVES = {"update_memory", "delete_memory", "delete_all_memories", "delete_entities"}


def settings(**changes: Any) -> Settings:
    """Settings for a test: no weights, English."""
    return settings_from({"embedder": "light", "locale": "en", **changes}, {})


@contextmanager
def a_memory(**changes: Any) -> Iterator[Memory]:
    """An empty memory with a clock that stands still."""
    with Memory(MemoryStore(), settings(**changes), clock=FakeClock()) as memory:
        yield memory


@asynccontextmanager
async def client_of(memory: Memory, user_id: str = "anna", **more: Any) -> AsyncIterator[Client]:
    """A client in this process."""
    async with Client(server_for(memory, user_id, **more)) as client:
        yield client


async def call(client: Client, name: str, **arguments: Any) -> Any:
    """What a tool gives back; fails if it is an error."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client: Client, name: str, **arguments: Any) -> str:
    """What a tool says that refuses; fails if it does not."""
    result = await client.call_tool(name, arguments)
    assert result.is_error, result.structured_content
    (told,) = result.content
    return str(told.text)  # type: ignore[union-attr]


def a_key(store: Store, tenant_id: str, user_id: str | None, *scopes: str) -> str:
    """A new key in a store; the secret comes back."""
    key_id, key, digest = generate_key()
    held = scopes or ("chat", "read", "write")
    store.keys.put(ApiKey(key_id, tenant_id, user_id, "a test", digest, START, scopes=held))
    return key


@contextmanager
def served(store: Store, **options: Any) -> Iterator[str]:
    """A server behind a real socket; gives the address of its tools."""
    given = ServerOptions(**{"requests_per_minute": 100_000, "threads": 8, "port": 0, **options})
    service = Service(store, settings(), given)
    app = create_app(service)
    if not hasattr(app.state, "mcp"):
        mount_mcp(app, service)
    ports: list[int] = []
    started = threading.Event()

    def tell(port: int) -> None:
        ports.append(port)
        started.set()

    server = Server(uvicorn.Config(app, port=0, log_config=None, access_log=False), tell)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(20)
    try:
        yield f"http://127.0.0.1:{ports[0]}/mcp"
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@asynccontextmanager
async def remote(url: str, key: str = "", mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    """A client over HTTP that shows a key."""
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    if key:
        shown["Authorization"] = f"Bearer {key}"
    async with (
        httpx2.AsyncClient(headers=shown, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client

"""A server for a test: in the process or behind a real socket; what it streams, as events; and secrets to look for."""

import atexit
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from starlette.testclient import TestClient

from bench import citus
from ricordo.engine import LLM
from ricordo.presets import settings_from
from ricordo.records.service import ApiKey
from ricordo.server.app import Server, create_app, uvicorn_config
from ricordo.server.credentials import generate_key
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.settings import Settings
from ricordo.stores.memory import MemoryStore
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.protocols import Store
from ricordo.testing.fakes import START
from ricordo.testing.postgres import empty

SPOKEN = "quokka"  # a word that messages of these tests hold, and that no log line may
SECRETS: list[str] = []  # keys and tokens that were used, which no log line may hold either


def settings(**changes: Any) -> Settings:
    """Settings for a test: no weights, English."""
    return settings_from({"embedder": "light", "locale": "en", **changes}, {})


def for_chat_alone() -> Settings:
    """Settings with which a model is asked by the chat alone: nobody learns, condenses or names beside it."""
    return settings(remember_person="off", condense="off", titles="off")


class LentStore(PostgresStore):
    """A store that a closed service gives back, open: a test may serve it again, as it may serve one in memory."""

    lent = True

    def close(self) -> None:
        self.lent = False


class ClusterStores:
    """Empty stores on a Citus cluster, for scripts/test-citus: a database is lent again once it was given back."""

    def __init__(self) -> None:
        self._server = citus.server_for_tests()
        self._stores: list[tuple[str, LentStore]] = []
        atexit.register(self._server.close)

    def lend(self) -> Store:
        """A store that no other service of this test uses."""
        for url, store in self._stores:
            if not store.lent:
                empty(url)
                store.lent = True
                return store
        url = self._server.database()
        self._stores.append((url, LentStore(url)))
        return self._stores[-1][1]


@cache
def _cluster() -> ClusterStores | None:
    return ClusterStores() if os.environ.get(citus.URL_VARIABLE) else None


def an_empty_store() -> Store:
    """An empty store: in memory, or on the cluster that scripts/test-citus runs on."""
    cluster = _cluster()
    return cluster.lend() if cluster else MemoryStore()


def service(
    store: Store | None = None, *, llm: LLM | None = None, chosen: Settings | None = None, **options: Any
) -> Service:
    """A service on an empty store, without authentication unless it is asked for."""
    given = ServerOptions(**{"auth": False, "requests_per_minute": 100_000, "threads": 8, **options})
    return Service(store or an_empty_store(), chosen or settings(), given, llm=llm)


@contextmanager
def serving(store: Store | None = None, **more: Any) -> Iterator[TestClient]:
    """A client of a server in this process."""
    with TestClient(create_app(service(store, **more))) as client:
        yield client


@contextmanager
def live(served: Service) -> Iterator[int]:
    """A server behind a real socket; gives its port."""
    ports: list[int] = []
    started = threading.Event()

    def tell(port: int) -> None:
        ports.append(port)
        started.set()

    server = Server(uvicorn_config(served), tell)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(20)
    yield ports[0]
    server.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


def service_of(client: TestClient) -> Service:
    """The service behind a client."""
    found: Service = client.app.state.service  # type: ignore[attr-defined]
    return found


def a_key(store: Store, tenant_id: str = "default", user_id: str | None = None, *scopes: str) -> str:
    """A new key in a store; the secret comes back."""
    key_id, key, digest = generate_key()
    held = scopes or ("chat", "read", "write")
    store.keys.put(ApiKey(key_id, tenant_id, user_id, "a test", digest, START, scopes=held))
    SECRETS.append(key)
    return key


def bearer(credential: str) -> dict[str, str]:
    """The header that shows a credential."""
    return {"Authorization": f"Bearer {credential}"}


@dataclass(frozen=True)
class Event:
    """One event of a stream."""

    id: str
    name: str
    data: Any


def events(text: str) -> list[Event]:
    """The events of a stream, comments left out."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in block.splitlines() if line and not line.startswith(":"))
        if fields:
            found.append(Event(fields.get("id", ""), fields.get("event", "message"), json.loads(fields["data"])))
    return found


def a_problem(response: Any, status: int) -> Mapping[str, Any]:
    """The problem that a response is; fails unless it is one, with this status."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: Mapping[str, Any] = response.json()
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert body["code"].replace("_", "").isalnum()
    return body


def ask(client: TestClient, words: str = f"What does a {SPOKEN} eat?", **more: Any) -> dict[str, Any]:
    """A question that is answered."""
    headers = more.pop("headers", {})
    response = client.post("/chat", json={"query": words, "user_id": "anna", **more}, headers=headers)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer

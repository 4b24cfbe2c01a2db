"""The tools over streamable HTTP, behind a real socket: who is let in, and that nothing leaks between those who are."""

import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from mcp_samples import a_key, call, refusal, remote, served

from ricordo.server.credentials import ANONYMOUS
from ricordo.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio

SECRET = "0123456789abcdef0123456789abcdef"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def everything(client: Any) -> str:
    """All that a client can get to see without knowing an id."""
    told = [
        await call(client, "get_memories"),
        await call(client, "search_memories", query="Where do I live?", limit=100),
        await call(client, "search", query="Oslo Turin Rome"),
        await call(client, "list_sessions"),
        await call(client, "list_entities"),
        await call(client, "get_context", query="Where do I live?"),
    ]
    for each in told[3]["sessions"]:
        told.append(await call(client, "get_session", session_id=each["id"]))
        told.append(await call(client, "export_session", session_id=each["id"]))
        told.append(str(await client.read_resource(f"session://{each['id']}")))
    told.append(str(await client.get_prompt("about_me")))
    return json.dumps(told)


async def test_nothing_leaks_between_users_and_tenants() -> None:
    """Two users of a tenant and a namesake in another each see their own words, and cannot touch the others'."""
    store = MemoryStore()
    people = {
        "Turin": a_key(store, "school", "anna"),
        "Oslo": a_key(store, "school", "bob"),
        "Rome": a_key(store, "office", "anna"),
    }
    with served(store) as url:
        ids: dict[str, str] = {}
        for town, key in people.items():
            async with remote(url, key) as client:
                kept = await call(client, "add_memory", text=f"I live in {town}.")
                ids[town] = kept["ids"][0]
        for town, key in people.items():
            async with remote(url, key) as client:
                seen = (await everything(client)).replace("Oslo Turin Rome", "")
                assert town in seen
                for other in people.keys() - {town}:
                    assert other not in seen
                    assert "there is no message" in await refusal(client, "get_memory", memory_id=ids[other])
                    assert "there is no message" in await refusal(client, "delete_memory", memory_id=ids[other])
        async with remote(url, people["Turin"]) as client:
            await call(client, "delete_all_memories")
            assert (await call(client, "get_memories"))["total"] == 0
        for town in ("Oslo", "Rome"):
            async with remote(url, people[town]) as client:
                assert town in await everything(client)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_clients_of_both_generations_are_served(mode: str) -> None:
    """A client that shakes hands first and one that asks at once both get answers."""
    store = MemoryStore()
    with served(store) as url:
        async with remote(url, a_key(store, "school", "anna"), mode) as client:
            assert len((await client.list_tools()).tools) == 10
            kept = await call(client, "add_memory", text="I like tea.")
            assert (await call(client, "get_memory", memory_id=kept["ids"][0]))["memory"] == "I like tea."
            assert "user_id" in await refusal(client, "list_sessions", user_id="bob")


async def test_all_tools_are_listed_where_that_is_set() -> None:
    """`mcp_tools` lists everything, with output schemas."""
    store = MemoryStore()
    with served(store, mcp_tools="all") as url:
        async with remote(url, a_key(store, "school", "anna")) as client:
            assert len((await client.list_tools()).tools) == 17


async def test_without_a_good_credential_nobody_comes_in() -> None:
    """No key, a wrong key and a revoked one are answered 401 before any message is read."""
    store = MemoryStore()
    revoked = a_key(store, "school", "anna")
    (held,) = store.keys.page("school")
    assert store.keys.revoke("school", held.id, datetime.now(UTC))
    with served(store) as url:
        async with httpx2.AsyncClient(timeout=60) as http:
            for shown in ({}, {"Authorization": "Bearer rk_wrong_key"}, {"Authorization": f"Bearer {revoked}"}):
                refused = await http.post(url, json=PING, headers=shown)
                assert refused.status_code == 401
                assert refused.headers["www-authenticate"] == "Bearer"
                assert refused.json()["status"] == 401


async def test_scopes_of_a_key_are_kept() -> None:
    """A key that may only read can list and search, and changes nothing."""
    store = MemoryStore()
    with served(store) as url:
        async with remote(url, a_key(store, "school", "anna", "read")) as client:
            assert (await call(client, "list_sessions"))["sessions"] == []
            assert "lacks the scope 'write'" in await refusal(client, "add_memory", text="I like tea.")
            assert "lacks the scope 'write'" in await refusal(client, "delete_all_memories")
        async with remote(url, a_key(store, "school", "anna", "write")) as client:
            await call(client, "add_memory", text="I like tea.")
            assert "lacks the scope 'read'" in await refusal(client, "get_memories")


async def test_a_token_is_its_subject() -> None:
    """A JSON Web Token stands for the user in it, in the tenant that it names."""
    store = MemoryStore()
    claims = {"sub": "anna", "tenant_id": "school", "exp": datetime.now(UTC) + timedelta(hours=1)}
    with served(store, jwt_secret=SECRET) as url:
        async with remote(url, jwt.encode(claims, SECRET, "HS256")) as client:
            await call(client, "add_memory", text="I live in Turin.")
        async with remote(url, a_key(store, "school", "anna")) as client:
            assert "Turin" in await everything(client)
        async with remote(url, jwt.encode(claims | {"sub": "bob"}, SECRET, "HS256")) as client:
            assert (await call(client, "list_sessions"))["sessions"] == []


async def test_a_key_of_a_whole_tenant_names_its_user_in_a_header() -> None:
    """Such a key speaks for whom the program names, and for nobody without; a bound one cannot be turned."""
    store = MemoryStore()
    whole, bound = a_key(store, "school", None), a_key(store, "school", "bob")
    with served(store) as url:
        async with remote(url, whole) as client:
            assert "X-Ricordo-User" in await refusal(client, "list_sessions")
            assert "X-Ricordo-User" in await refusal(client, "list_sessions", user_id="anna")
        async with remote(url, whole, X_Ricordo_User="anna", X_Ricordo_Agent="coach") as client:
            assert (await call(client, "add_memory", text="I like tea."))["session_id"] == "notes-coach"
            entities = (await call(client, "list_entities"))["results"]
            assert {"type": "user", "id": "anna", "name": None} in entities
        async with remote(url, bound, X_Ricordo_User="anna") as client:
            assert "another user" in await refusal(client, "list_sessions")


async def test_an_erased_user_is_locked_out() -> None:
    """Removing a user removes their key, and the next request with it is refused."""
    store = MemoryStore()
    key = a_key(store, "school", "anna")
    with served(store, mcp_tools="all") as url:  # a client looks an unlisted tool up again after its call
        async with remote(url, key) as client:
            await call(client, "add_memory", text="I like tea.")
            await call(client, "delete_entities", user_id="anna")
        async with httpx2.AsyncClient(timeout=60) as http:
            refused = await http.post(url, json=PING, headers={"Authorization": f"Bearer {key}"})
            assert refused.status_code == 401


async def test_only_pages_that_may_call_do() -> None:
    """A page of another origin is refused; ours, and one that is let in, are not. Only POST is taken."""
    store = MemoryStore()
    key = a_key(store, "school", "anna")
    with served(store, cors_origins=("https://chat.example.org",)) as url:
        shown = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
        host = url.removesuffix("/mcp")
        async with httpx2.AsyncClient(headers=shown, timeout=60) as http:
            for origin, status in (("https://evil.example", 403), ("https://chat.example.org", 200), (host, 200)):
                assert (await http.post(url, json=PING, headers={"Origin": origin})).status_code == status
            for method in ("GET", "DELETE", "PUT", "HEAD"):
                assert (await http.request(method, url)).status_code == 405


async def test_where_everybody_is_let_in_only_names_of_this_machine_lead_here() -> None:
    """Without keys, the caller is the anonymous user; a request by another host name is refused."""
    store = MemoryStore()
    with served(store, auth=False) as url:
        async with remote(url) as client:
            await call(client, "add_memory", text="I like tea.")
            entities = (await call(client, "list_entities"))["results"]
            assert entities[0]["id"] == ANONYMOUS
        async with httpx2.AsyncClient(headers={"Accept": "application/json, text/event-stream"}, timeout=60) as http:
            assert (await http.post(url, json=PING)).status_code == 200
            assert (await http.post(url, json=PING, headers={"Host": "evil.example"})).status_code == 421


async def test_hostile_bodies_are_refused() -> None:
    """What is no message of the protocol is answered with an error of the caller, and the server goes on."""
    store = MemoryStore()
    key = a_key(store, "school", "anna")
    shown = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    with served(store, body_bytes=4096) as url:
        async with httpx2.AsyncClient(headers=shown, timeout=60) as http:
            for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"jsonrpc": "1.0"}', b"[" * 2_000, b"x" * 5_000):
                assert 400 <= (await http.post(url, content=body)).status_code < 500, body[:20]
        async with remote(url, key) as client:
            assert (await call(client, "list_sessions"))["sessions"] == []


LIGHT = """
import sys
from starlette.testclient import TestClient
from ricordo.presets import settings_from
from ricordo.server.app import create_app
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.stores.memory import MemoryStore

service = Service(MemoryStore(), settings_from({"embedder": "light"}, {}), ServerOptions(auth=False))
with TestClient(create_app(service), base_url="http://127.0.0.1") as client:
    assert client.get("/mcp").status_code == 405
    print("mcp" in sys.modules)
    shown = {"Accept": "application/json, text/event-stream"}
    answers = [client.post("/mcp", json={"jsonrpc": "2.0", "id": n, "method": "ping"}, headers=shown) for n in (1, 2)]
    print([int(answer.status_code) for answer in answers], "mcp" in sys.modules)
"""


async def test_the_kit_is_loaded_with_the_first_message() -> None:
    """A server that nobody speaks the protocol to starts without its kit; the first message brings it in."""
    ran = await anyio.run_process([sys.executable, "-c", LIGHT])
    assert ran.stdout.decode().splitlines() == ["False", "[200, 200] True"]


async def test_messages_that_come_together_are_all_answered() -> None:
    """While the kit is loaded for the first of many messages, the others wait for it and none is lost."""
    with served(MemoryStore(), auth=False) as url:
        headers = {"Accept": "application/json, text/event-stream"}
        answers: list[int] = []
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http, anyio.create_task_group() as tasks:

            async def ping() -> None:
                answers.append((await http.post(url, json=PING)).status_code)

            for _ in range(8):
                tasks.start_soon(ping)
        assert answers == [200] * 8

"""The tools over standard input and output: a program of its own, as clients start it."""

import os
import sys
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters
from mcp_samples import call, refusal

import ricordo
from mcp import Client

pytestmark = pytest.mark.anyio


def started(path: Path, user_id: str) -> StdioServerParameters:
    """How a client starts the server."""
    arguments = ["-m", "ricordo", "mcp", "--user", user_id, "--db", str(path), "--set", "embedder=light"]
    return StdioServerParameters(command=sys.executable, args=arguments)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_program_of_its_own_keeps_what_it_is_told(tmp_path: Path, mode: str) -> None:
    """What a client adds is in the file when the program has ended, for the user that it was started for."""
    path = tmp_path / "memory.db"
    async with Client(started(path, "anna"), mode=mode) as client:
        kept = await call(client, "add_memory", text="I live in Turin.")
        assert (await call(client, "get_memory", memory_id=kept["ids"][0]))["memory"] == "I live in Turin."
        assert "user_id" in await refusal(client, "get_memories", user_id="bob")
    async with Client(started(path, "bob"), mode=mode) as client:
        assert (await call(client, "get_memories"))["total"] == 0
        assert "there is no message" in await refusal(client, "get_memory", memory_id=kept["ids"][0])
    with ricordo.open(path) as memory:
        (turn,) = memory.session("notes", user_id="anna").history()
        assert turn.query == "I live in Turin."
        assert memory.sessions(user_id="bob") == []


async def test_without_names_it_is_the_users_own_database(tmp_path: Path) -> None:
    """Started in any folder without options: one database per user of the machine, for the login name."""
    place = {"XDG_DATA_HOME": str(tmp_path / "data"), "USER": "anna", "RICORDO_EMBEDDER": "light"}
    environment = {**os.environ, **place, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for name in ("RICORDO_URL", "RICORDO_USER"):
        environment.pop(name, None)
    server = StdioServerParameters(command=sys.executable, args=["-m", "ricordo", "mcp"], env=environment, cwd=tmp_path)
    async with Client(server) as client:
        await call(client, "add_memory", text="I live in Turin.")
    with ricordo.open(tmp_path / "data" / "ricordo" / "ricordo.db") as memory:
        assert [each.id for each in memory.sessions(user_id="anna")] == ["notes"]
    assert not (tmp_path / "ricordo.db").exists()

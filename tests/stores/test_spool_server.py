"""A real server before a real PostgreSQL: one is killed, then the other, and every answer that was given is kept."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from spool_postgres import kill, pause, resume

from ricordo.testing.postgres import PostgresForTests

pytest.importorskip("uvicorn", reason="needs the extra ricordo[server]")

RICORDO = [sys.executable, "-c", "import sys; from ricordo.cli import main; sys.exit(main())"]


class Served:
    """A server in a process of its own."""

    def __init__(self, url: str, spool: Path) -> None:
        options = ["--no-auth", "--port", "0", "--json", "--set", "embedder=light", "--spool-directory", str(spool)]
        self.process = subprocess.Popen(
            [*RICORDO, "serve", "--db", url, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]

    def ask(self, path: str, body: Any = None) -> tuple[Any, Any]:
        """What a path answers, with its headers."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.loads(response.read()), response.headers

    def until_well(self) -> None:
        """Wait until nothing waits any more."""
        while self.ask("/health")[0]["status"] != "ok":
            sleep(0.05)


@contextmanager
def served(url: str, spool: Path) -> Iterator[Served]:
    """A server that is told to stop in the end, if it is still there."""
    server = Served(url, spool)
    try:
        yield server
    finally:
        server.process.send_signal(signal.SIGTERM)
        server.process.communicate(timeout=60)


@pytest.mark.parametrize("harm", ["killed", "paused"])
def test_a_server_killed_while_its_database_is_away(tmp_path: Path, harm: str) -> None:
    """Each answered question is stored once and in order, though first the database died and then the server did."""
    database = PostgresForTests()
    strike, heal = (kill, PostgresForTests.start) if harm == "killed" else (pause, resume)
    try:
        url = database.database()
        told: list[tuple[str, str]] = []

        def chat(server: Served, session_id: str | None) -> str:
            answer, headers = server.ask(
                "/chat", {"query": f"Question {len(told)}?", "user_id": "anna", "session_id": session_id}
            )
            told.append((answer["query"], answer["message"]))
            degraded.append(headers["X-Ricordo-Degraded"])
            return str(answer["session_id"])

        degraded: list[str | None] = []
        with served(url, tmp_path) as server:
            session_id = chat(server, None)
            chat(server, session_id)
            strike(database)
            for _ in range(4):
                chat(server, session_id)
            os.kill(server.process.pid, signal.SIGKILL)
        with served(url, tmp_path) as server:
            chat(server, session_id)
            assert degraded == [None, None, *degraded[2:6], "1"]
            assert degraded[5] == "1"
            heal(database)
            server.until_well()
            chat(server, session_id)
            turns, _ = server.ask(f"/sessions/{session_id}/messages?user_id=anna")
        assert [turn["turn_number"] for turn in turns["items"]] == list(range(1, len(told) + 1))
        assert [(turn["query"], turn["response"]) for turn in turns["items"]] == told
    finally:
        database.close()

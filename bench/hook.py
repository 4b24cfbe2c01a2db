"""`ricordo hook` as a host runs it: the whole command, warm through the running process and cold without one.

A store of many sessions in one project is made first. Each call is a process of its own with an event on standard
input; beside it runs a Python that does nothing, because on a busy machine that is most of the time. Processor times
change least with the load.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import ricordo
from bench.sample_turns import turns as sample_turns
from ricordo.cli.hook import database
from ricordo.cli.hosts import program

WARM_P50_MS, COLD_P50_MS = 50.0, 400.0
USER = "anna"
PROMPTS = ("How do we deploy the service?", "What did we decide about the database?", "Perché fallisce il test?")


def daemons(db: Path) -> list[int]:
    """The processes that serve the hooks of a database, by their command lines."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"ricordo.cli.hook_daemon" in words and os.fsencode(db) in words:
            found.append(int(each.parent.name))
    return found


class Host:
    """A host with folders of its own, which calls the hook and ends what it started."""

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_RUNTIME_DIR": str(runtime),
            "RICORDO_USER": USER,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),  # as in an installed package
        }
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.environment.pop("RICORDO_URL", None)
        self.db = folder / "data" / "ricordo" / "ricordo.db"

    def call(self, command: Sequence[str], event: dict[str, Any] | None = None) -> tuple[float, float, str]:
        """Milliseconds by the clock and of the processor that one call took, and what it printed."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        body = json.dumps(event).encode() if event else b""
        ran = subprocess.run(command, input=body, capture_output=True, env=self.environment, check=True)
        clock = time.perf_counter() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return clock * 1e3, used * 1e3, ran.stdout.decode()

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """An event of the project."""
        return {"session_id": "now", "transcript_path": "-", "cwd": str(self.folder), "hook_event_name": name, **fields}

    def end(self) -> None:
        """End the process of this host, as a crash would."""
        for pid in daemons(self.db):
            os.kill(pid, signal.SIGKILL)
        while daemons(self.db):
            time.sleep(0.01)


def fill(host: Host, sessions: int, length: int) -> None:
    """Make the database: sessions of one project, a day apart."""
    host.db.parent.mkdir(parents=True, exist_ok=True)
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    with ricordo.open(host.db, project=str(host.folder)) as memory:
        memory.session("decisions", user_id=USER).add_turn(
            "We deploy the service with Ansible and the database is PostgreSQL. Il test fallisce per il fuso orario.",
            "Noted.",
        )
        for number in range(sessions):
            session = memory.session(f"s{number}", user_id=USER)
            for turn, (query, response) in enumerate(sample_turns(session.id, length)):
                moment = begun + timedelta(days=number, minutes=turn)
                session.add_turn(query, response, created_at=moment)
        memory.settle(600)


def measure(host: Host, calls: int, starts: int) -> dict[str, float]:
    """The figures: medians in milliseconds."""
    command = [*program(), "hook", "--host", "claude-code"]
    nothing = [sys.executable, "-c", "pass"]
    cold, warm, bare = [], [], []
    host.call(command, host.event("SessionStart", source="startup"))  # compiles the modules
    time.sleep(2)
    for _ in range(starts):
        host.end()
        cold.append(host.call(command, host.event("SessionStart", source="startup")))
    deadline = time.monotonic() + 60
    while not host.call(command, host.event("UserPromptSubmit", prompt=PROMPTS[0]))[2]:
        if time.monotonic() > deadline:
            raise SystemExit("nothing is recalled; see hook.log in the folder that --keep names")
        time.sleep(0.2)
    for number in range(calls):
        bare.append(host.call(nothing))
        warm.append(host.call(command, host.event("UserPromptSubmit", prompt=PROMPTS[number % len(PROMPTS)])))
    return {
        "warm_p50_ms": statistics.median(each[0] for each in warm),
        "warm_client_cpu_ms": statistics.median(each[1] for each in warm),
        "python_p50_ms": statistics.median(each[0] for each in bare),
        "python_cpu_ms": statistics.median(each[1] for each in bare),
        "cold_p50_ms": statistics.median(each[0] for each in cold),
        "cold_answered": sum(bool(each[2]) for each in cold) / len(cold),
        "load_average": os.getloadavg()[0],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench hook`: warm and cold medians; exit code 1 if either is above its target."""
    parser = argparse.ArgumentParser(prog="ricordo bench hook", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sessions", type=int, default=40, help="default: %(default)s")
    parser.add_argument("--turns", type=int, default=25, help="of each session (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=60, help="warm calls (default: %(default)s)")
    parser.add_argument("--starts", type=int, default=7, help="cold calls (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args(argv)
    runtime = Path(tempfile.mkdtemp(prefix="rh-", dir="/tmp"))  # the address of a socket is short
    with tempfile.TemporaryDirectory(prefix="ricordo-hook-") as folder:
        host = Host(Path(folder), runtime)
        assert database({"db": str(host.db)}) == str(host.db)
        try:
            fill(host, options.sessions, options.turns)
            figures = measure(host, options.calls, options.starts)
        finally:
            host.end()
            shutil.rmtree(runtime, ignore_errors=True)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:20} {value:8.2f}")
    return int(figures["warm_p50_ms"] > WARM_P50_MS or figures["cold_p50_ms"] > COLD_P50_MS)


if __name__ == "__main__":
    raise SystemExit(main())

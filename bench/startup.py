"""Startup cost: the import, opening a large file in a fresh process, the first window, the memory used."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

from bench import store_cache
from bench.results import Row, medians
from bench.scale import Setup
from bench.systems import CAREFUL, MESSAGES, OURS, PLAIN, Entry

WEB = ("fastapi", "starlette", "django", "flask", "uvicorn", "httpx", "aiohttp")


def measure(setup: Setup) -> Iterator[Row]:
    """Fresh processes, the systems taking turns; then the bare import."""
    seen: dict[Entry, list[dict[str, float]]] = {}
    systems = [entry for entry in setup.systems if entry not in (CAREFUL, MESSAGES)]
    for turn in range(setup.scale.openings + 1):
        for entry in systems:
            setup.say(f"open: {entry.title}")
            figures = _once(setup, entry)
            if turn:
                seen.setdefault(entry, []).append(figures)
    for entry, runs in seen.items():
        yield Row("open", f"{_size(setup, entry):,}", entry.name, medians(runs))
    yield from _imports(setup)


def _once(setup: Setup, entry: Entry) -> dict[str, float]:
    size = _size(setup, entry)
    sizes = setup.scale.lengths if entry in (OURS, PLAIN) else setup.scale.sessions
    with setup.start(entry, store_cache.sessions_store(entry, sizes, setup.say)) as child:
        first = child.ask("window", session=f"s{size}", count=1)["seconds"][0]
        whole = child.age
        about = child.ask("about")
    return {
        "open_ms": about["open_s"] * 1e3,
        "first_window_ms": first * 1e3,
        "import_ms": about["import_s"] * 1e3,
        "process_ms": whole * 1e3,
        "rss_mb": about["rss_mb"],
    }


def _size(setup: Setup, entry: Entry) -> int:
    """The longest session that the system's store has."""
    return setup.scale.longest if entry in (OURS, PLAIN) else max(s for s in setup.scale.sessions if s <= entry.largest)


def _children_time() -> float:
    """Processor seconds of all processes that were started and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def _imports(setup: Setup) -> Iterator[Row]:
    lines = {"ours": "from ricordo import open", "plain": "import sqlite3", "nothing": "pass"}
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in lines}
    for turn in range(2 * setup.scale.openings + 1):
        for name, line in lines.items():
            begun, processor = time.perf_counter(), _children_time()
            subprocess.run([sys.executable, "-c", line], check=True)
            whole, used = time.perf_counter() - begun, _children_time() - processor
            if turn:
                seen[name].append({"process_ms": whole * 1e3, "cpu_ms": used * 1e3})
    loaded = subprocess.run(
        [sys.executable, "-c", "from ricordo import open; import sys; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    web = [name for name in WEB if name in loaded]
    for name, runs in seen.items():
        yield Row("import", lines[name], name, medians(runs), f"pulls in {web}" if web and name == "ours" else "ok")

"""Cleanup of a large store with a tenth of its turns past their retention, while others write.

Two writers append a turn every few milliseconds, one in a thread of the cleaning process and one in a process of its
own. Their longest wait during the cleanup stands beside their longest wait in a quiet stretch of the same length.
"""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from bench import sample_turns, store_cache
from bench.results import Row, medians, percentile
from bench.scale import Setup
from bench.systems import OURS
from bench.systems.ours import ALONE, TODAY, USER
from bench.worker import write_paced
from ricordo import CleanupResult, Memory, Retention
from ricordo.presets import settings_from
from ricordo.stores.open import store_for

PAUSE = 0.003
WARM = 5
RETENTION = Retention(turn_ttl=timedelta(hours=24), session_idle=timedelta(days=30))


@dataclass(frozen=True, slots=True)
class _Today:
    """A clock that stands still on the day for which the store was made."""

    def now(self) -> datetime:
        return TODAY


def measure(setup: Setup) -> Iterator[Row]:
    """Clean a fresh copy every time."""
    setup.say("cleanup")
    template = store_cache.wide_store(setup.scale.users, setup.say)
    turns = setup.scale.users * 20 * 50
    idle = -(-setup.scale.users * 20 // 16)
    expected = (idle, 50 * idle + 2 * (setup.scale.users * 20 - idle))
    runs, checks = [], set()
    for _ in range(setup.scale.repeats):
        with store_cache.workplace(template) as folder:
            figures, result = _once(setup, folder)
        runs.append(figures)
        found = (result.sessions_deleted, result.turns_deleted)
        checks.add("ok" if found == expected and not result.errors else f"removed {found}, not {expected}")
    figures = {**medians(runs), "expired_percent": 100 * expected[1] / turns}
    yield Row("cleanup", f"{turns:,}", OURS.name, figures, "; ".join(sorted(checks)))


def _once(setup: Setup, folder: Path) -> tuple[dict[str, float], CleanupResult]:
    results: list[CleanupResult] = []
    settings = replace(settings_from(ALONE, {}), retention=RETENTION)
    with Memory(store_for(folder / "ricordo.db"), settings, clock=_Today()) as memory:
        begun = time.perf_counter()
        busy = _beside_writers(setup, folder, memory, lambda: results.append(memory.cleanup()))
        seconds = time.perf_counter() - begun
        quiet = _beside_writers(setup, folder, memory, lambda: time.sleep(seconds))
    return {
        "seconds": results[0].execution_time,
        **{f"{name}_wait_ms": max(waits) * 1e3 for name, waits in busy.items()},
        **{f"{name}_p99_ms": percentile(waits, 99) * 1e3 for name, waits in busy.items()},
        **{f"{name}_quiet_ms": max(waits) * 1e3 for name, waits in quiet.items()},
    }, results[0]


def _beside_writers(setup: Setup, folder: Path, memory: Memory, work: Callable[[], object]) -> dict[str, list[float]]:
    """Do the work while a thread and a process write; how long each of their turns took."""
    stop = folder / "stop"
    waits: dict[str, list[float]] = {}
    session = memory.session(user_id=USER)
    for number in range(WARM):  # the vocabulary is read with the first count, and is no wait for a cleanup
        session.add_turn(*sample_turns.turn("warm", number))
    done = threading.Event()

    def write() -> None:
        waits["thread"] = write_paced(lambda _, *turn: session.add_turn(*turn), session.id, PAUSE, done.is_set)

    with setup.start(OURS, folder) as child:
        child.ask("append", session="beside", start=0, count=WARM)
        child.tell("paced", session="beside", until=str(stop), pause=PAUSE)
        thread = threading.Thread(target=write)
        thread.start()
        time.sleep(0.2)
        work()
        done.set()
        stop.touch()
        thread.join()
        waits["process"] = child.hear()["seconds"]
    stop.unlink()
    return waits

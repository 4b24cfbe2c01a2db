"""What a database that is away costs a chat: a real PostgreSQL is stopped and paused, and calls are timed meanwhile.

In: nothing; a server of its own is started and thrown away. Out: milliseconds per write and per read of the last turns,
with the database there (without and with the spool before it), stopped, and paused. The slowest call is told apart,
because it is the one that finds out.
"""

import argparse
import json
import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import perf_counter, sleep

from rich.console import Console
from rich.table import Table

from ricordo.records.turns import Owner
from ricordo.stores.memory import MemoryStore
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.protocols import Store
from ricordo.stores.spool import SpooledStore
from ricordo.testing.fakes import a_turn
from ricordo.testing.postgres import PostgresForTests

_ANNA = Owner("bench", "anna")


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of the calls made in one situation."""

    situation: str
    write_p50: float
    write_p99: float
    write_slowest: float
    read_p50: float
    read_slowest: float


def run(calls: int = 300, threads: int = 4) -> list[Cost]:
    """Time calls in every situation."""
    server = PostgresForTests(durable=True)
    costs = []
    try:
        url = server.database()
        plain = PostgresStore(url)
        costs.append(timed("there, no spool", plain, calls, threads))
        plain.close()
        with tempfile.TemporaryDirectory(prefix="ricordo-outage-") as folder:
            store = SpooledStore(
                lambda: PostgresStore(url),
                folder,
                scratch=MemoryStore(),
                open_probe=lambda: PostgresStore(url, pool_size=1, timeout=1.0),
            )
            costs.append(timed("there, with the spool", store, calls, threads))
            for situation, away, back in (
                ("stopped", server.stop, server.start),
                ("paused", lambda: _signal(server, signal.SIGSTOP), lambda: _signal(server, signal.SIGCONT)),
            ):
                costs.append(timed(f"{situation}, while they talk", store, calls, threads, meanwhile=away))
                costs.append(timed(f"{situation}, known by then", store, calls, threads))
                back()
                store.settle(60)
            store.close()
    finally:
        server.close()
    return costs


def timed(
    situation: str,
    store: Store | SpooledStore,
    calls: int,
    threads: int,
    meanwhile: Callable[[], object] | None = None,
) -> Cost:
    """The cost of writes and reads by several threads, each in a session of its own; `meanwhile` comes in between.

    After what happens `meanwhile` as many calls are made again, and those that were under way are counted with them.
    """
    writes: list[float] = []
    reads: list[float] = []
    happened = Event()

    def talk(session_id: str) -> None:
        left = calls // threads
        while left:
            turn = a_turn(_ANNA, f"question {left}", session_id=session_id)
            before = meanwhile is not None and not happened.is_set()
            read = _milliseconds(lambda: store.turns.page(_ANNA, session_id, last=3))
            write = _milliseconds(lambda turn=turn: store.turns.append(turn))  # type: ignore[misc]
            if before and not happened.is_set():
                continue  # nothing has happened yet
            reads.append(read)
            writes.append(write)
            left -= 1

    talkers = [Thread(target=talk, args=(f"talk {n}",)) for n in range(threads)]
    for talker in talkers:
        talker.start()
    if meanwhile:
        sleep(0.3)
        happened.set()
        meanwhile()
    for talker in talkers:
        talker.join()
    writes.sort()
    return Cost(
        situation,
        median(writes),
        writes[int(0.99 * (len(writes) - 1))],
        writes[-1],
        median(reads),
        max(reads),
    )


def _milliseconds(call: Callable[[], object]) -> float:
    began = perf_counter()
    call()
    return (perf_counter() - began) * 1_000


def _signal(server: PostgresForTests, number: signal.Signals) -> None:
    """To all processes of the server, the leading one first."""
    leader = int((server._own()._folder / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{leader}/task/{leader}/children")
    os.kill(leader, number)
    for child in children.read_text().split():
        os.kill(int(child), number)


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench outage`: print the table."""
    parser = argparse.ArgumentParser(prog="ricordo bench outage", description=__doc__)
    parser.add_argument("--calls", type=int, default=300, help="writes in each situation, and as many reads")
    parser.add_argument("--threads", type=int, default=4, help="how many talk at once")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args(argv)
    costs = run(options.calls, options.threads)
    if options.json:
        print(json.dumps([asdict(cost) for cost in costs], indent=2))
        return 0
    table = Table("database", "write p50", "p99", "slowest", "read p50", "slowest", title="milliseconds per call")
    for cost in costs:
        figures = (cost.write_p50, cost.write_p99, cost.write_slowest, cost.read_p50, cost.read_slowest)
        table.add_row(cost.situation, *(f"{figure:.2f}" for figure in figures))
    Console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Cold search: processor time of the first search of a fresh process, over one user's messages, on both stores.

The talks are generated and written as an import does; vectors are made of chance, 896 dimensions each, so that the
embedder's time does not count. The first search of a writing process indexes everything; then fresh processes open the
store and search. What is counted is the search alone: reading, building the index, ranking, reading the hits. `tables`
is what such a search costs over a single turn: word tables and patterns that a process makes once.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import numpy as np

import ricordo
from bench import dialogue, store_cache
from ricordo.presets import settings_from
from ricordo.recall.embedders import EmbedderChoice
from ricordo.recall.indexes import Indexes
from ricordo.recall.quantization import Vectors, unit_rows
from ricordo.records.turns import Message, Owner, SessionInfo, Turn, message_id
from ricordo.stores.open import store_for
from ricordo.testing.postgres import PostgresForTests

USER, NEW = "anna", "bruno"  # the one with all messages, and one with a single turn
TURNS_IN_SESSION = 100
QUESTION = "What did we say about the long run and new shoes?"
_START = datetime(2020, 1, 1, tzinfo=UTC)


class ChanceEmbedder:
    """Vectors of chance with a common part, as real ones have; a question's depends on nothing."""

    name = "chance-896@1, as long as the names of embedders are"
    dimensions = 896

    def __init__(self) -> None:
        self._chance = np.random.default_rng(7)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One vector for each text."""
        made = self._chance.standard_normal((len(texts), self.dimensions), dtype=np.float32)
        return unit_rows(made + np.float32(1))

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question."""
        only: Vectors = self.embed_passages([text])[0]
        return only


def opened(location: str) -> ricordo.Memory:
    """The memory that is measured: nothing is done beside the search."""
    settings = settings_from({"recall_messages": 0, "organise": "off", "remember_person": "off", "spool": "off"}, {})
    return ricordo.Memory(store_for(location, settings.spool), settings, embedder=ChanceEmbedder())


def fill(location: str, messages: int) -> None:
    """Write the talks of one user and index them; another user has a single turn."""
    with opened(location) as memory:
        owner = Owner(memory.settings.tenant_id, USER)
        memory.session("session-0", user_id=NEW).add_turn(*next(dialogue.talk(0, 1)))
        for number in range(messages // (2 * TURNS_IN_SESSION)):
            said = list(_turns(owner, number))
            session = SessionInfo(f"session-{number}", owner, "default", said[0].created_at, said[-1].created_at)
            memory.store.turns.load(session, said)
        indexes = Indexes(memory.store, EmbedderChoice(ChanceEmbedder(), "a benchmark"))
        indexes.read(owner)
        while indexes.embed(owner, most=4_096, unanswered=True):
            pass


def _turns(owner: Owner, number: int) -> Iterator[Turn]:
    for place, (query, response) in enumerate(dialogue.talk(number, TURNS_IN_SESSION), start=1):
        at = _START + timedelta(hours=number, seconds=30 * place)
        name = f"{number:08x}-0000-4000-8000-{place:012x}"
        asked = Message(message_id(name, "query"), "user", query, at)
        answered = Message(message_id(name, "response"), "assistant", response, at + timedelta(seconds=4))
        yield Turn(name, owner, "default", f"session-{number}", place, at, asked, answered).sealed()


def once(location: str, user: str) -> dict[str, float]:
    """Processor and clock milliseconds of the first search of this process, and of a second one."""
    with opened(location) as memory:
        memory.session("session-0", user_id=user).window()  # connections are open, as those of a server
        figures: dict[str, float] = {}
        for what in ("cold", "warm"):
            begun, busy = time.perf_counter(), time.process_time()
            found = memory.search(QUESTION, user_id=user)
            figures |= {f"{what}_cpu_ms": (time.process_time() - busy) * 1e3}
            figures |= {f"{what}_ms": (time.perf_counter() - begun) * 1e3}
            assert found
        return figures


def measure(location: str, runs: int) -> dict[str, float]:
    """The medians of several fresh processes."""
    seen: dict[str, list[dict[str, float]]] = {USER: [], NEW: []}
    for _ in range(runs):
        for user, figures in seen.items():
            command = [sys.executable, "-m", "bench.cold", "--once", location, "--user", user]
            figures.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    found = {name: median(each[name] for each in seen[USER]) for name in seen[USER][0]}
    return found | {"tables_cpu_ms": median(each["cold_cpu_ms"] for each in seen[NEW])}


@contextmanager
def _places(stores: Sequence[str], folder: Path) -> Iterator[dict[str, str]]:
    server = PostgresForTests() if "postgres" in stores else None
    try:
        yield {
            name: str(folder / "cold.db") if name == "sqlite" or server is None else server.database()
            for name in stores
        }
    finally:
        if server:
            server.close()


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench cold`: a line for each store and size."""
    parser = argparse.ArgumentParser(prog="ricordo bench cold", description=__doc__.split("\n")[0])
    parser.add_argument("messages", nargs="*", type=int, default=[10_000, 100_000], help="default: 10000 100000")
    parser.add_argument("--store", choices=("sqlite", "postgres"), action="append", help="default: both")
    parser.add_argument("--runs", type=int, default=5, help="fresh processes; default: %(default)s")
    parser.add_argument("--once", metavar="LOCATION", help=argparse.SUPPRESS)
    parser.add_argument("--user", default=USER, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.once:
        print(json.dumps(once(options.once, options.user)))
        return 0
    for messages in options.messages:
        with store_cache.workplace() as folder, _places(options.store or ("sqlite", "postgres"), folder) as places:
            for name, location in places.items():
                fill(location, messages)
                figures = measure(location, options.runs)
                told = "  ".join(f"{what} {value:,.0f}" for what, value in figures.items())
                print(f"{name:10} {messages:>9,} messages  {told}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""What chats lose when a node of the database dies: every turn that was acknowledged is looked up afterwards.

In: a scenario. `worker`: a Citus cluster (coordinator and two workers) of which one worker crashes and comes back.
`primary`: PostgreSQL with a replica, synchronous or not; the primary is killed and the replica promoted, and the
servers find it by a URL with both hosts. Out: turns that were acknowledged, lost, stored twice or out of order; the
exit code is 1 if there is any where none is allowed. Everything is started on loopback and thrown away.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from urllib.parse import urlsplit

from bench.citus import CitusCluster, CitusMissingError, Nodes, create_database, programs, replicated
from ricordo.records.turns import Owner
from ricordo.settings import Settings
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.postgres.distribute import distribute

NO_CITUS = 3
DEFAULT_TENANT = Settings().tenant_id
SETTLING = 120.0  # seconds for the spools to drain
Stored = tuple[str, int, str]  # session, turn number, question


@dataclass(frozen=True, slots=True)
class Result:
    """What became of the turns of one run."""

    scenario: str
    servers: int
    chats: int
    seconds: float
    acknowledged: int
    spooled: int
    refused: int
    lost: int
    doubled: int
    out_of_order: int

    @property
    def holds(self) -> bool:
        """Whether nothing that was acknowledged was lost, doubled or moved."""
        return not (self.lost or self.doubled or self.out_of_order)


class ServerProcess:
    """`ricordo serve` in a process of its own, with its own spool."""

    def __init__(self, url: str, spool: Path, log: Path) -> None:
        command = [sys.executable, "-m", "ricordo", "serve", "--no-auth", "--port", "0", "--json"]
        command += ["--db", url, "--spool-directory", str(spool), "--log-level", "warning"]
        environment = {**os.environ, "RICORDO_EMBEDDER": "light", "RICORDO_SERVER_REQUESTS_PER_MINUTE": "100000"}
        self._log = log.open("w")
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True, env=environment)
        assert self._process.stdout is not None
        self.address = urlsplit(json.loads(self._process.stdout.readline())["url"]).netloc

    def get(self, path: str) -> dict[str, object]:
        """A JSON answer."""
        connection = http.client.HTTPConnection(self.address, timeout=30)
        connection.request("GET", path)
        answer: dict[str, object] = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def stop(self) -> None:
        """End it as an operator would."""
        self._process.terminate()
        self._process.wait(60)
        self._log.close()


class Chat(Thread):
    """One user's conversation with one server, until it is told to stop."""

    def __init__(self, number: int, address: str, stop: Event) -> None:
        super().__init__(daemon=True)
        self.user, self._address, self._over = f"user {number}", address, stop
        self.session_id: str | None = None
        self.acknowledged: list[str] = []
        self.spooled = self.refused = 0

    def run(self) -> None:
        """Ask one question after another; an answer with status 200 acknowledges its turn."""
        number = 0
        connection = http.client.HTTPConnection(self._address, timeout=60)
        while not self._over.is_set():
            number += 1
            query = f"{self.user} notes that shelf {number} holds {number * 3} boxes."
            asked = {"query": query, "user_id": self.user, "session_id": self.session_id}
            try:
                connection.request("POST", "/chat", json.dumps(asked), {"Content-Type": "application/json"})
                answer = connection.getresponse()
                body = json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                connection.close()
                self.refused += 1
                continue
            if answer.status != 200 or body.get("error"):
                self.refused += 1
                sleep(0.1)
                continue
            self.session_id = body["session_id"]
            self.acknowledged.append(query)
            self.spooled += bool(body["metadata"].get("degraded"))
        connection.close()


def run(scenario: str, *, seconds: float, chats: int, servers: int, synchronous: bool = True) -> Result:
    """Chats on several servers; after a third of the time a node dies, and a sixth later it is replaced."""
    nodes: Nodes
    if scenario == "worker":
        nodes = cluster = CitusCluster(programs(), durable=True)
        address = create_database(cluster.address, "chats")
        distribute(address)
    else:
        nodes, primary, replica = replicated(synchronous=synchronous)
        address = nodes.url(primary, replica)
    with tempfile.TemporaryDirectory(prefix="ricordo-failover-") as folder:
        served: list[ServerProcess] = []
        try:
            for number in range(servers):
                served.append(ServerProcess(address, Path(folder, f"spool{number}"), Path(folder, f"{number}.log")))
            over = Event()
            talking = [Chat(number, served[number % servers].address, over) for number in range(chats)]
            began = monotonic()
            for chat in talking:
                chat.start()
            sleep(seconds / 3)
            if scenario == "worker":
                nodes.stop(cluster.workers[0])
                sleep(seconds / 6)
                nodes.start(cluster.workers[0])
            else:
                nodes.stop(primary)
                sleep(seconds / 6)
                nodes.promote(replica)
                address = nodes.url(replica)
            sleep(max(0.0, seconds - (monotonic() - began)))
            over.set()
            for chat in talking:
                chat.join(120)
            lasted = monotonic() - began
            _settle(served)
        finally:
            for server in served:
                with suppress(subprocess.TimeoutExpired):
                    server.stop()
        try:
            stored = stored_turns(address, talking)
        finally:
            nodes.close()
    name = scenario if scenario == "worker" else f"{scenario}, {'synchronous' if synchronous else 'asynchronous'}"
    return compare(name, servers, lasted, talking, stored)


def stored_turns(address: str, talking: Sequence[Chat]) -> list[Stored]:
    """Every turn of every chat's user, also those whose words are in the archive."""
    store = PostgresStore(address)
    try:
        return [
            (turn.session_id, turn.turn_number, turn.query)
            for owner in (Owner(DEFAULT_TENANT, chat.user) for chat in talking)
            for session in store.sessions.page(owner, limit=1000)
            for turn in store.turns.page(owner, session.id)
        ]
    finally:
        store.close()


def compare(scenario: str, servers: int, lasted: float, talking: Sequence[Chat], stored: Sequence[Stored]) -> Result:
    """Every acknowledged question against what is stored."""
    times = Counter(query for _, _, query in stored)
    lost = doubled = out_of_order = 0
    for chat in talking:
        numbers = {query: number for session, number, query in stored if session == chat.session_id}
        lost += sum(times[query] == 0 for query in chat.acknowledged)
        kept = [numbers[query] for query in chat.acknowledged if query in numbers]
        out_of_order += kept != sorted(kept)
        out_of_order += sorted(numbers.values()) != list(range(1, len(numbers) + 1))
    doubled = sum(count - 1 for count in times.values())
    acknowledged = sum(len(chat.acknowledged) for chat in talking)
    spooled, refused = sum(chat.spooled for chat in talking), sum(chat.refused for chat in talking)
    return Result(
        scenario, servers, len(talking), round(lasted, 1), acknowledged, spooled, refused, lost, doubled, out_of_order
    )


def _settle(served: Sequence[ServerProcess]) -> None:
    """Wait until no server has a write in its spool."""
    until = monotonic() + SETTLING
    while monotonic() < until:
        if all(server.get("/health")["status"] == "ok" for server in served):
            return
        sleep(0.5)
    print("the spools did not drain:", *(server.get("/health") for server in served), sep="\n", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench failover`: run one scenario and print the counts."""
    parser = argparse.ArgumentParser(prog="ricordo bench failover", description=__doc__)
    parser.add_argument("scenario", choices=["worker", "primary"], help="which node dies")
    parser.add_argument("--seconds", type=float, default=60, help="how long the chats last")
    parser.add_argument("--chats", type=int, default=50, help="conversations at once")
    parser.add_argument("--servers", type=int, default=2, help="server processes")
    parser.add_argument("--asynchronous", action="store_true", help="for primary: commits do not wait for the replica")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args(argv)
    try:
        result = run(
            options.scenario,
            seconds=options.seconds,
            chats=options.chats,
            servers=options.servers,
            synchronous=not options.asynchronous,
        )
    except CitusMissingError as error:
        print(f"not run: {error}", file=sys.stderr)
        return NO_CITUS
    print(json.dumps(asdict(result), indent=2) if options.json else result)
    return 0 if result.holds or options.asynchronous else 1


if __name__ == "__main__":
    raise SystemExit(main())

"""A hostile day, on purpose: kills, outages and damage while everything runs, and what must hold all the same.

In: how long, and a seed. Out: for each part how often it struck, and every promise that was broken. Nothing that was
acknowledged is lost or stored twice, nothing that was erased comes back, every backup that was finished verifies, and
damaged bytes are reported, never read as something else. `scripts/torture` runs the hostile tests of the server, too.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

import psycopg
from rich.console import Console
from rich.table import Table

from bench.torture_child import SECRET, TENANT, WORDS, opened
from ricordo.errors import DamageError, RicordoError, StoreUnavailable
from ricordo.records.turns import Owner
from ricordo.stores.memory import MemoryStore
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.spool import SpooledStore, SpoolTimeouts
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import a_turn
from ricordo.testing.postgres import PostgresForTests

HOSTILE_TESTS = ("connections", "credentials", "idempotency", "isolation", "limits", "middleware", "schema")
MOST_PROBLEMS = 20


@dataclass
class Report:
    """One part: how often it struck, what was checked, and what did not hold."""

    part: str
    strikes: int = 0
    checked: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def expect(self, holds: bool, what: str) -> None:
        """Note a promise that was broken."""
        if not holds and len(self.problems) < MOST_PROBLEMS:
            self.problems.append(what)


def check_backup(path: Path, report: Report) -> None:
    """A backup that was finished opens and verifies."""
    report.checked["backups"] += 1
    with opened(SqliteStore(path)) as memory:
        memory.rest()
        damages = memory.verify().damages
    report.expect(not damages, f"the backup {path.name} has {len(damages)} damages, such as {damages[:1]}")


# -- kills: a program that does everything at once is killed again and again --------------------------------------


def kills(seconds: float, seed: int) -> Report:
    """Kill a program that talks, organises, cleans up, erases and backs up, and look at what it leaves."""
    report, chance = Report("kills"), random.Random(seed)
    said: dict[str, tuple[str, int]] = {}
    erased: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="ricordo-torture-") as name:
        folder = Path(name)
        until = monotonic() + seconds
        while monotonic() < until:
            command = [sys.executable, "-m", "bench.torture_child", str(folder), str(report.strikes)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout is not None
                lines = list(islice(child.stdout, chance.randrange(1, 60)))  # in the middle of something
                sleep(chance.uniform(0, 0.05))
                os.kill(child.pid, signal.SIGKILL)
                lines += child.stdout.readlines()
            report.strikes += 1
            backups = []
            for kind, *words in (line.split() for line in lines if line.endswith("\n")):
                if kind == "said":
                    said[words[1]] = (words[0], int(words[2]))
                elif kind == "erased":
                    erased.add(words[0])
                elif kind == "backup":
                    backups.append(folder / words[0])
            _look_after_a_kill(folder, said, erased, report)
            for path in backups:
                check_backup(path, report)
            for path in folder.glob("backup-*"):
                path.unlink()
    report.checked |= Counter({"acknowledged turns": len(said), "erasures": len(erased)})
    return report


def _look_after_a_kill(folder: Path, said: dict[str, tuple[str, int]], erased: set[str], report: Report) -> None:
    with opened(SqliteStore(folder / "memory.db")) as memory:
        memory.rest()
        damages = memory.verify().damages
        report.expect(not damages, f"after kill {report.strikes}: {len(damages)} damages, such as {damages[:1]}")
        stored = {
            turn.id: (session.owner.user_id, turn.turn_number)
            for owner in memory.store.owners(TENANT)
            for session in memory.store.sessions.page(owner, limit=10_000)
            for turn in memory.store.turns.page(owner, session.id)
        }
        lost = [turn_id for turn_id, place in said.items() if stored.get(turn_id) != place]
        report.expect(not lost, f"after kill {report.strikes}: {len(lost)} acknowledged turns are lost or misplaced")
        back = erased & {user for user, _ in stored.values()}
        report.expect(not back, f"after kill {report.strikes}: erased users are back: {sorted(back)}")
    found = [path.name for path in folder.glob("memory.db*") for user in erased if _holds(path, f"{SECRET}-{user}.")]
    report.expect(not found, f"after kill {report.strikes}: words of erased users are in {sorted(set(found))}")


def _holds(path: Path, words: str) -> bool:
    return words.encode() in path.read_bytes()


# -- outages: the database is stopped, paused, cut off and killed, and two machines go on ---------------------------


def outages(seconds: float, seed: int) -> Report:
    """Talk through the spools of two machines while PostgreSQL fails in four ways, erase, and back up."""
    report, server = Report("outages"), PostgresForTests()
    try:
        with tempfile.TemporaryDirectory(prefix="ricordo-torture-") as folder:
            _survive(server, Path(folder), seconds, random.Random(seed), report)
    finally:
        server.close()
    return report


def _survive(server: PostgresForTests, folder: Path, seconds: float, chance: random.Random, report: Report) -> None:
    url = server.database()
    machines = [_machine(url, folder / name) for name in ("one", "two")]
    over, refused = Event(), Counter[str]()
    said: dict[str, str] = {}
    erased: list[Owner] = []
    problems: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                while not over.is_set():
                    work()
            except BaseException as error:
                problems.append(error)

        return run

    def talk(store: SpooledStore, session_id: str) -> Callable[[], None]:
        def once() -> None:
            turn = a_turn(Owner(TENANT, "anna"), f"una domanda {len(said)}", session_id=session_id)
            try:
                said[store.turns.append(turn).id] = session_id
            except StoreUnavailable:
                refused["writes"] += 1
            sleep(0.004)

        return once

    def erase_elsewhere() -> None:
        """Words that the second machine may hold in its spool, erased by the first one."""
        owner = Owner(TENANT, f"gone-{len(erased)}")
        with suppress(StoreUnavailable):
            machines[1].turns.append(a_turn(owner, SECRET))
        while not over.is_set():
            try:
                machines[0].erase(owner)
            except StoreUnavailable:
                sleep(0.05)
            else:
                erased.append(owner)
                return

    def back_up() -> None:
        path = folder / f"backup-{report.checked['backups']}.db"
        try:
            machines[0].backup(path)
        except StoreUnavailable:
            sleep(0.1)
        else:
            check_backup(path, report)

    work = [talk(machine, f"talk {n} {which}") for which, machine in enumerate(machines) for n in range(2)]
    threads = [Thread(target=guarded(each)) for each in (*work, erase_elsewhere, back_up)]
    for thread in threads:
        thread.start()
    until = monotonic() + seconds
    while monotonic() < until and not problems:
        away, back = chance.choice(FAILURES)
        sleep(chance.uniform(0.2, 0.8))
        away(server)
        report.strikes += 1
        sleep(chance.uniform(0.1, 1.0))
        back(server)
    over.set()
    for thread in threads:
        thread.join()
    for machine, name in zip(machines, ("one", "two"), strict=True):
        report.expect(machine.settle(60), f"the spool of machine {name} is not empty a minute after the last failure")
        machine.close()
        left = [path.name for path in (folder / name).glob("*.spool") if _holds(path, SECRET)]
        report.expect(not left, f"words of erased users are in the spool of machine {name}: {left}")
    for problem in problems:
        report.expect(False, f"{type(problem).__name__}: {problem}")
    _look_after_outages(url, said, erased, report)
    report.checked["refused while away"] = refused["writes"]


def _machine(url: str, directory: Path) -> SpooledStore:
    return SpooledStore(
        lambda: PostgresStore(url, timeout=5.0),
        directory,
        scratch=MemoryStore(),
        open_probe=lambda: PostgresStore(url, pool_size=1, timeout=1.0),
        timeouts=SpoolTimeouts(longest_pause=0.3),
    )


def _look_after_outages(url: str, said: dict[str, str], erased: list[Owner], report: Report) -> None:
    with opened(PostgresStore(url)) as memory:
        memory.rest()
        damages = memory.verify().damages
        report.expect(not damages, f"{len(damages)} damages, such as {damages[:1]}")
        owner = Owner(TENANT, "anna")
        stored: Counter[str] = Counter()
        for session_id in set(said.values()):
            turns = memory.store.turns.page(owner, session_id)
            stored.update(turn.id for turn in turns)
            report.expect(
                [turn.turn_number for turn in turns] == list(range(1, len(turns) + 1)), f"{session_id} has gaps"
            )
        lost = [turn_id for turn_id in said if stored[turn_id] != 1]
        report.expect(not lost, f"{len(lost)} of {len(said)} acknowledged turns are not stored once")
        back = [each.user_id for each in erased if memory.store.sessions.page(each, limit=1)]
        report.expect(not back, f"erased users are back: {back}")
    report.checked |= Counter({"acknowledged turns": len(said), "erasures": len(erased)})


def _signal(server: PostgresForTests, number: signal.Signals) -> list[int]:
    """To all processes of the server, the leading one first; which they are."""
    leader = int((server._own()._folder / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
    processes = [leader, *map(int, children)]
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)
    return processes


def _cut(server: PostgresForTests) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")


def _kill(server: PostgresForTests) -> None:
    _signal(server, signal.SIGSTOP)  # so that none is started while the others die
    for process in _signal(server, signal.SIGKILL):
        while Path(f"/proc/{process}").exists() and " Z " not in Path(f"/proc/{process}/stat").read_text():
            sleep(0.005)
    folder = server._own()._folder
    for lock in (folder / "postmaster.pid", *folder.glob(".s.PGSQL.*.lock")):
        lock.unlink(missing_ok=True)


FAILURES: tuple[tuple[Callable[[PostgresForTests], object], Callable[[PostgresForTests], object]], ...] = (
    (PostgresForTests.stop, PostgresForTests.start),
    (lambda server: _signal(server, signal.SIGSTOP), lambda server: _signal(server, signal.SIGCONT)),
    (_cut, lambda _: None),
    (_kill, PostgresForTests.start),
)


# -- damage: bytes of the file change, and nothing else is read instead ---------------------------------------------


def damage(seconds: float, seed: int) -> Report:
    """Damage copies of a file in many ways: what is read is what was said, or it is reported."""
    report, chance = Report("damage"), random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="ricordo-torture-") as name:
        whole, copy = Path(name) / "whole.db", Path(name) / "copy.db"
        with opened(SqliteStore(whole)) as memory:
            session = memory.session("s", user_id="anna")
            for n in range(60):
                word = WORDS[n // 10 % len(WORDS)]
                session.add_turn(f"Parlami di {word} {n}", f"Su {word} si può dire questo: {n}.")
            session.topics()
            said = {turn.id: (turn.query, turn.response) for turn in session.history()}
        until = monotonic() + seconds
        while monotonic() < until:
            shutil.copy(whole, copy)
            how = _damaged(copy, chance)
            report.strikes += 1
            _look_after_damage(copy, how, said, report)
            for path in Path(name).glob("copy.db*"):
                path.unlink()
    return report


def _damaged(path: Path, chance: random.Random) -> str:
    content = bytearray(path.read_bytes())
    how = chance.choice(("a byte", "some bytes", "a page", "the end"))
    start = chance.randrange(len(content))
    if how == "the end":
        content = content[:start]
    else:
        length = {"a byte": 1, "some bytes": chance.randrange(2, 64), "a page": 2048}[how]
        content[start : start + length] = chance.randbytes(min(length, len(content) - start))
    path.write_bytes(content)
    return f"{how} at {start}"


def _look_after_damage(path: Path, how: str, said: dict[str, tuple[str, str | None]], report: Report) -> None:
    try:
        with opened(SqliteStore(path)) as memory:
            memory.rest()
            report.checked["found by verify"] += bool(memory.verify().damages)
            turns = memory.session("s", user_id="anna").history()
            wrong = [turn.id for turn in turns if said.get(turn.id, ("", "")) != (turn.query, turn.response)]
            trusted = [turn for turn in turns if turn.id in wrong and not turn.damage and turn == turn.sealed()]
            report.expect(not trusted, f"{how}: other words are read under a checksum that fits")
    except (DamageError, RicordoError):
        report.checked["refused"] += 1
    except Exception as error:
        report.expect(False, f"{how}: {type(error).__name__}: {error}")


PARTS: dict[str, Callable[[float, int], Report]] = {"kills": kills, "outages": outages, "damage": damage}


def run(seconds: float = 60.0, seed: int = 1, parts: Sequence[str] = tuple(PARTS)) -> list[Report]:
    """Each part for so many seconds."""
    return [PARTS[part](seconds, seed) for part in parts]


def _server_tests() -> int:
    """The hostile tests of the server: raw sockets, JWKS, replay, other tenants' ids, generated requests."""
    files = [f"tests/server/test_server_{name}.py" for name in HOSTILE_TESTS]
    return subprocess.call([sys.executable, "-m", "pytest", "-q", *files], cwd=Path(__file__).parent.parent)


def main(argv: Sequence[str] | None = None) -> int:
    """`scripts/torture`: the parts, a table, and exit code 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=120.0, help="for each part")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="to repeat a run")
    parser.add_argument("--parts", nargs="+", choices=(*PARTS, "server"), default=(*PARTS, "server"), help="which")
    parser.add_argument("--json", action="store_true", help="print the reports as JSON")
    options = parser.parse_args(argv)
    reports = run(options.seconds, options.seed, [part for part in options.parts if part in PARTS])
    if options.json:
        print(json.dumps([vars(report) for report in reports], indent=2))
    else:
        table = Table("part", "strikes", "checked", "problems", title=f"seed {options.seed}")
        for report in reports:
            checked = ", ".join(f"{count} {what}" for what, count in sorted(report.checked.items()))
            table.add_row(report.part, str(report.strikes), checked, "\n".join(report.problems) or "none")
        Console().print(table)
    broken = any(report.problems for report in reports)
    return int(("server" in options.parts and _server_tests() != 0) or broken)


if __name__ == "__main__":
    raise SystemExit(main())

"""A real PostgreSQL goes away under load, and programs are killed meanwhile: every acknowledged turn is stored once."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from time import sleep

import pytest
from spool_postgres import HARMS, kill, open_spooled, pause, resume

from ricordo.records.turns import Owner
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.spool import SpooledStore
from ricordo.testing.contract.base import assert_sound
from ricordo.testing.fakes import a_message, a_turn, an_answer
from ricordo.testing.postgres import PostgresForTests

ANNA = Owner("acme", "anna")
WRITERS = 6


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresForTests]:
    """A server that the tests may harm."""
    server = PostgresForTests()
    yield server
    server.close()


class Writer(Thread):
    """Talks in a session of its own and in one that all share, and remembers what was acknowledged."""

    def __init__(self, store: SpooledStore, name: str, stop: Event) -> None:
        super().__init__()
        self.store, self.own, self.stop = store, name, stop
        self.acknowledged: list[tuple[str, str]] = []
        self.error: Exception | None = None

    def run(self) -> None:
        number = 0
        try:
            while not self.stop.is_set():
                number += 1
                session_id = "all" if number % 3 == 0 else self.own
                self.store.turns.page(ANNA, session_id, last=3)
                if number % 5 == 0:
                    asked = self.store.turns.append(a_turn(ANNA, f"{self.own} {number}", None, session_id=session_id))
                    self.acknowledged.append((session_id, asked.id))
                    self.store.turns.answer(ANNA, asked.id, an_answer("late"), {}, None)
                elif number % 7 == 0 and session_id == self.own:
                    said = a_message(ANNA, "user", f"{self.own} {number}", session_id=session_id)
                    self.acknowledged.append((session_id, self.store.turns.add_message(said).id))
                    self.store.turns.add_message(a_message(ANNA, "assistant", f"re {number}", session_id=session_id))
                else:
                    kept = self.store.turns.append(a_turn(ANNA, f"{self.own} {number}", session_id=session_id))
                    self.acknowledged.append((session_id, kept.id))
                sleep(0.002)
        except Exception as error:
            self.error = error


def check(database: PostgresStore, writers: list[Writer]) -> None:
    """Everything that was acknowledged is stored once, answered, in its writer's order, and numbers have no gap."""
    stored: dict[str, list[str]] = {}
    for session_id in ["all", *(writer.own for writer in writers)]:
        turns = database.turns.page(ANNA, session_id)
        assert [turn.turn_number for turn in turns] == list(range(1, len(turns) + 1))
        assert not any(turn.is_open for turn in turns)
        stored[session_id] = [turn.id for turn in turns]
    for writer in writers:
        for session_id in ("all", writer.own):
            mine = [turn_id for name, turn_id in writer.acknowledged if name == session_id]
            known = set(mine)
            assert [turn_id for turn_id in stored[session_id] if turn_id in known] == mine
    assert sum(map(len, stored.values())) == sum(len(writer.acknowledged) for writer in writers)
    assert_sound(database, ANNA.tenant_id)


@pytest.mark.parametrize("harm", HARMS)
def test_a_database_that_goes_away_under_load(server: PostgresForTests, tmp_path: Path, harm: str) -> None:
    """Stopped, killed or paused twice while many talk: no caller sees an error, and nothing is lost or doubled."""
    url = server.database()
    strike, heal = HARMS[harm]
    store = open_spooled(url, tmp_path / "spool")
    stop = Event()
    writers = [Writer(store, f"s{n}", stop) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(2):
        sleep(0.4)
        strike(server)
        sleep(0.8)
        assert store._spool.pending.wait_for(lambda: store.health().spool.depth > 0, 30)
        heal(server)
        assert store._spool.pending.wait_for(lambda: store._connection.breaker.is_closed, 30)
    stop.set()
    for writer in writers:
        writer.join()
    assert [writer.error for writer in writers if writer.error] == []
    assert store.settle(60)
    assert store.health().spool.refused == 0
    store.close()
    database = PostgresStore(url)
    check(database, writers)
    database.close()


def a_child(url: str, folder: Path, turns: int) -> "subprocess.Popen[str]":
    """A program that talks in the session `child`, and is open."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(Path(__file__).parent / "spool_child.py"), url, str(folder), "child", str(turns)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})
    assert child.stdout is not None
    assert child.stdout.readline() == "open\n"
    return child


def test_a_program_killed_while_its_database_is_away(server: PostgresForTests, tmp_path: Path) -> None:
    """What a killed program had acknowledged is read by the next one at once, and stored once when all is well again.

    The second program is killed as well, in the middle of replaying.
    """
    url = server.database()
    child = a_child(url, tmp_path, 1_000_000)
    assert child.stdout is not None
    acknowledged = [child.stdout.readline().strip() for _ in range(50)]
    kill(server)
    acknowledged += [child.stdout.readline().strip() for _ in range(600)]
    child.kill()
    rest, _ = child.communicate()
    acknowledged += [line for line in rest.split("\n") if len(line) == 36]

    store = open_spooled(url, tmp_path)
    assert store.health().spool.depth >= 560
    assert acknowledged[-1] in [turn.id for turn in store.turns.page(ANNA, "child", last=3)]
    store.close()

    server.start()
    second = a_child(url, tmp_path, 0)
    database = PostgresStore(url)
    while len(database.turns.page(ANNA, "child", last=100)) < 100:
        assert second.poll() is None
    second.kill()
    second.communicate()
    assert list(tmp_path.glob("*.spool")) != [], "it was killed too late to tell anything"

    store = open_spooled(url, tmp_path)
    assert store.settle(60)
    store.close()
    turns = database.turns.page(ANNA, "child")
    assert [turn.turn_number for turn in turns] == list(range(1, len(turns) + 1))
    stored = [turn.id for turn in turns]
    assert stored[: len(acknowledged)] == acknowledged
    assert len(stored) <= len(acknowledged) + 1  # the last one may have been kept and not told
    assert_sound(database, ANNA.tenant_id)
    database.close()
    assert list(tmp_path.glob("*.spool")) == []


def test_a_program_starts_before_a_silent_database(server: PostgresForTests, tmp_path: Path) -> None:
    """While the server takes connections and says nothing, a program opens, talks, and is caught up with later."""
    url = server.database()
    pause(server)
    try:
        store = open_spooled(url, tmp_path)
        kept = [store.turns.append(a_turn(ANNA, f"question {n}", session_id="early")) for n in range(3)]
        assert [turn.turn_number for turn in kept] == [1, 2, 3]
        assert store.health().spool.away
    finally:
        resume(server)
    assert store.settle(30)
    assert [turn.id for turn in store.turns.page(ANNA, "early")] == [turn.id for turn in kept]
    store.close()

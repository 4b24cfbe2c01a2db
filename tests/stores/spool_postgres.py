"""A PostgreSQL that is stopped, killed and paused, and spooled stores before it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from time import sleep

from ricordo.stores.memory import MemoryStore
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.spool import SpooledStore, SpoolTimeouts
from ricordo.testing.postgres import PostgresForTests


def open_spooled(url: str, directory: str | Path, timeouts: SpoolTimeouts | None = None) -> SpooledStore:
    """A store as a program opens it: a pool for the calls, one connection for the watch."""
    return SpooledStore(
        lambda: PostgresStore(url, pool_size=8, timeout=5.0),
        directory,
        scratch=MemoryStore(),
        open_probe=lambda: PostgresStore(url, pool_size=1, timeout=1.0),
        timeouts=timeouts or SpoolTimeouts(longest_pause=0.3),
    )


def processes(server: PostgresForTests) -> list[int]:
    """The server's processes, the first one leading."""
    leader = int((server._own()._folder / "postmaster.pid").read_text().split()[0])
    found = [leader]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == leader:
                found.append(int(entry.name))
    return found


def send(server: PostgresForTests, number: signal.Signals) -> None:
    """A signal to all of the server's processes."""
    for process in processes(server):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            continue


def kill(server: PostgresForTests) -> None:
    """What a power cut is to the server's processes; the files stay as they are."""
    send(server, signal.SIGSTOP)  # so that none is started while the others die
    doomed = processes(server)
    send(server, signal.SIGKILL)
    while any(_lives(process) for process in doomed):
        sleep(0.01)
    folder = server._own()._folder
    for lock in (folder / "postmaster.pid", *folder.glob(".s.PGSQL.*.lock")):
        lock.unlink()  # where nobody buries the dead, their number looks alive


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pause(server: PostgresForTests) -> None:
    """The server is there and says nothing."""
    send(server, signal.SIGSTOP)
    send(server, signal.SIGSTOP)  # those that were started meanwhile


def resume(server: PostgresForTests) -> None:
    """The server goes on as if nothing had been."""
    send(server, signal.SIGCONT)


HARMS: dict[str, tuple[Callable[[PostgresForTests], None], Callable[[PostgresForTests], None]]] = {
    "stopped": (PostgresForTests.stop, PostgresForTests.start),
    "killed": (kill, PostgresForTests.start),
    "paused": (pause, resume),
}

"""Several processes on one file, and processes that are killed: nothing acknowledged is lost, no number twice."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlite_writer import OWNER

from ricordo.stores.sqlite import SqliteStore

WRITER = Path(__file__).with_name("sqlite_writer.py")


@contextmanager
def writer(path: Path, *, threads: int = 1, count: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A child process that has the store open and waits for the word."""
    command = [sys.executable, str(WRITER), str(path), "lesson", str(threads), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def go(child: subprocess.Popen[str]) -> None:
    """Let it write."""
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def acknowledged(child: subprocess.Popen[str], most: int | None = None) -> dict[str, int]:
    """Turn ids and numbers that the child has printed, at least one, at most so many."""
    assert child.stdout is not None
    acks: dict[str, int] = {}
    for line in child.stdout:
        if not line.endswith("\n"):
            break
        turn_id, number = line.split()
        acks[turn_id] = int(number)
        if len(acks) == most:
            break
    return acks


@pytest.mark.parametrize("threads", [1, 8], ids=["one writer", "eight writers in one process"])
def test_killed_in_the_middle_of_writing_nothing_acknowledged_is_lost(tmp_path: Path, threads: int) -> None:
    """After each kill -9 every acknowledged turn is there under its number, 1..N has no gap, the file is sound."""
    path = tmp_path / "memory.db"
    promised: dict[str, int] = {}
    for rounds in range(5):
        with writer(path, threads=threads) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            go(child)
            promised |= acknowledged(child, most=7 + 31 * rounds)
            os.kill(child.pid, signal.SIGKILL)
            promised |= acknowledged(child)
            assert child.wait() == -signal.SIGKILL
        store = SqliteStore(path)
        stored = store.turns.page(OWNER, "lesson")
        assert [turn.turn_number for turn in stored] == list(range(1, len(stored) + 1))
        assert promised.items() <= {turn.id: turn.turn_number for turn in stored}.items()
        assert all(turn == turn.sealed() for turn in stored)
        assert list(store.integrity()) == []
        store.close()
    assert len(promised) > 300


def test_sixteen_processes_on_one_session_leave_no_gap(tmp_path: Path) -> None:
    """All open a new file at once, none is told that it is locked, and together they get 1..N."""
    path, each = tmp_path / "memory.db", 10
    children = []
    for _ in range(16):
        context = writer(path, count=each)
        children.append((context, context.__enter__()))
    try:
        for _, child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for _, child in children:
            go(child)
        numbers = [number for _, child in children for number in acknowledged(child).values()]
        assert [child.wait() for _, child in children] == [0] * 16
    finally:
        for context, _ in children:
            context.__exit__(None, None, None)
    assert sorted(numbers) == list(range(1, 16 * each + 1))
    store = SqliteStore(path)
    assert [turn.turn_number for turn in store.turns.page(OWNER, "lesson")] == sorted(numbers)
    store.close()

"""Work beside the chat: done in small slices while nobody waits, tried again after failures, never in the way."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.background import Background, Worker, WorkerPace

EAGER = WorkerPace(quiet=0.0, starved=0.0, pause=0.0, longest_pause=0.0, patience=10.0)
PATIENT = WorkerPace(quiet=60.0, starved=60.0, pause=60.0, longest_pause=60.0, patience=10.0)


@pytest.fixture
def worker() -> Iterator[Worker]:
    """A worker of its own, ended after the test."""
    made = Worker(idle=0.05)
    yield made
    made.end()
    assert made.thread is None or not made.thread.is_alive()


class Pile:
    """So many slices of work; each one can be made to fail or to wait."""

    def __init__(self, slices: int, *, fail: Callable[[int], bool] = lambda done: False) -> None:
        self.left = slices
        self.tried = 0
        self.fail = fail
        self.done = threading.Event()

    def work(self) -> bool:
        self.tried += 1
        if self.fail(self.tried):
            raise ConnectionError("away")
        self.left -= 1
        if self.left <= 0:
            self.done.set()
        return self.left > 0


def test_no_thread_without_work(worker: Worker) -> None:
    """Making a background, touching it, settling it and closing it starts nothing."""
    pile = Pile(1)
    background = Background(pile.work, worker=worker)
    background.touch()
    assert background.settle(0)
    background.close()
    assert (worker.thread, pile.tried) == (None, 0)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_everybody_is_served_to_the_end(piles: list[int]) -> None:
    """However many have work, each slice is done exactly once, and settling means that all of them are."""
    worker = Worker(idle=0.01)
    made = [Pile(slices) for slices in piles]
    backgrounds = [Background(pile.work, EAGER, worker) for pile in made]
    for background in backgrounds:
        background.call()
    assert all(background.settle(10) for background in backgrounds)
    assert [(pile.left, pile.tried) for pile in made] == [(0, slices) for slices in piles]
    worker.end()


def test_work_waits_for_quiet(worker: Worker) -> None:
    """While the foreground is at work no slice is begun; settling does not wait for quiet."""
    pile = Pile(3)
    background = Background(pile.work, PATIENT, worker)
    background.call()
    assert not background.settle(0)
    assert background.settle(10)
    assert pile.left == 0


def test_work_that_is_starved_is_done_all_the_same(worker: Worker) -> None:
    """A foreground that never rests holds a slice up for a while, not for ever."""
    pile = Pile(3)
    background = Background(pile.work, WorkerPace(quiet=60.0, starved=0.02), worker)
    background.call()
    while not pile.done.wait(0.001):
        background.touch()
    assert background.settle(10)


def test_a_failure_is_shown_and_tried_again(worker: Worker) -> None:
    """After a failed slice `failure` says why and settling says no; the work is tried again and then all is well."""
    pile = Pile(2, fail=lambda tried: tried == 1)
    background = Background(pile.work, PATIENT, worker)
    background.call()
    assert not background.settle(10)
    assert background.failure == "ConnectionError: away"
    assert background.settle(10)
    assert (background.failure, pile.left, pile.tried) == (None, 0, 3)


def test_failures_do_not_hammer(worker: Worker) -> None:
    """Each failed try doubles the pause before the next one, up to a longest pause."""
    background = Background(lambda: True, WorkerPace(quiet=0.0, starved=0.0, pause=1.0, longest_pause=5.0), worker)
    pauses = []
    for failures in range(6):
        background._failures = failures
        pauses.append(background.good_moment(100.0) - 100.0)
    assert pauses[1:] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert pauses[0] <= 0


def test_one_that_fails_does_not_hold_up_another(worker: Worker) -> None:
    """A memory whose work always fails pauses; the work of another one is done."""
    broken = Background(Pile(1, fail=lambda tried: True).work, WorkerPace(quiet=0.0, starved=0.0), worker)
    pile = Pile(5)
    sound = Background(pile.work, EAGER, worker)
    broken.call()
    sound.call()
    assert sound.settle(10)
    assert pile.left == 0
    broken.close()


def test_whoever_is_waited_for_comes_first(worker: Worker) -> None:
    """Settling one memory does not wait for the work of all the others."""
    go_on = threading.Event()
    order: list[str] = []

    def slices(name: str, count: int) -> Callable[[], bool]:
        def work() -> bool:
            order.append(name)
            return order.count(name) < count

        return work

    first = Background(lambda: not go_on.wait(10), EAGER, worker)
    waiting = [Background(slices(name, 50), EAGER, worker) for name in "abcde"]
    background = Background(slices("waited for", 3), PATIENT, worker)
    for each in (first, *waiting, background):
        each.call()
    threading.Timer(0.05, go_on.set).start()
    assert background.settle(10)
    assert order[:3] == ["waited for"] * 3
    assert all(each.settle(10) for each in waiting)
    assert len(order) == 253


def test_closing_finishes_the_slice_at_hand(worker: Worker) -> None:
    """Closing waits for the slice that has begun and begins no other; later calls change nothing."""
    begun, go_on = threading.Event(), threading.Event()
    finished = []

    def work() -> bool:
        begun.set()
        assert go_on.wait(10)
        finished.append(1)
        return True

    background = Background(work, EAGER, worker)
    background.call()
    assert begun.wait(10)
    threading.Timer(0.02, go_on.set).start()
    background.close()
    background.close()
    assert finished == [1]
    background.call()
    assert background.settle(0)
    assert finished == [1]


def test_closing_from_within_does_not_wait_for_itself(worker: Worker) -> None:
    """A slice that closes its own background ends."""
    backgrounds: list[Background] = []
    closed = threading.Event()

    def work() -> bool:
        backgrounds[0].close()
        closed.set()
        return True

    backgrounds.append(Background(work, EAGER, worker))
    backgrounds[0].call()
    assert closed.wait(10)


def test_the_thread_ends_when_there_is_nothing_to_do(worker: Worker) -> None:
    """After a while without work no thread is left, and a new call starts one again."""
    for _ in range(2):
        background = Background(Pile(1).work, EAGER, worker)
        background.call()
        thread = worker.thread
        assert background.settle(10)
        if thread:
            thread.join(10)
        assert worker.thread is None


def test_a_forked_process_begins_anew(worker: Worker) -> None:
    """A worker told that it was forked forgets thread and work, and works again when it is called."""
    background = Background(Pile(1).work, PATIENT, worker)
    background.call()
    before = worker.thread
    worker.begin_anew()
    assert worker.thread is None
    other = Pile(1)
    after = Background(other.work, EAGER, worker)
    after.call()
    assert after.settle(10)
    assert other.left == 0
    assert before is not None


PROGRAM = """
import sys, threading, time
import ricordo
memory = ricordo.open(sys.argv[1], embedder="deterministic")
session = memory.session("s", user_id="anna")
for number in range(40):
    session.add_turn(f"domanda {number} sui gatti", "risposta lunga " * 20)
if sys.argv[2] == "working":
    time.sleep(0.4)  # long enough for the work beside the chat to have begun
print("said")
"""


@pytest.mark.parametrize("moment", ["at once", "working"])
def test_a_program_that_never_closes_ends_cleanly(tmp_path: Path, moment: str) -> None:
    """A program that just ends does so without an error, a warning or a wait, and what it said is there."""
    path = tmp_path / "r.db"
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", PROGRAM, str(path), moment],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "said\n"), ended.stderr
    assert "Error" not in ended.stderr
    assert "Traceback" not in ended.stderr

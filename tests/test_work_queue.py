"""Work beside the chat: done in small slices while nobody waits, tried again after failures, never in the way."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.worker import Lane, WorkerPace, WorkerThread, give_way

EAGER = WorkerPace(quiet=0.0, starved=0.0, pause=0.0, longest_pause=0.0, patience=10.0)
PATIENT = WorkerPace(quiet=60.0, starved=60.0, pause=60.0, longest_pause=60.0, patience=10.0)


@pytest.fixture
def worker() -> Iterator[WorkerThread]:
    """A worker of its own, ended after the test."""
    made = WorkerThread(idle=0.05)
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


def test_no_thread_without_work(worker: WorkerThread) -> None:
    """Making a lane, touching it, settling it and closing it starts nothing."""
    pile = Pile(1)
    lane = Lane(pile.work, worker)
    lane.touch()
    assert lane.settle(0)
    lane.close()
    assert (worker.thread, pile.tried) == (None, 0)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_everybody_is_served_to_the_end(piles: list[int]) -> None:
    """However many have work, each slice is done exactly once, and settling means that all of them are."""
    worker = WorkerThread(idle=0.01)
    made = [Pile(slices) for slices in piles]
    lanes = [Lane(pile.work, worker, EAGER) for pile in made]
    for lane in lanes:
        lane.call()
    assert all(lane.settle(10) for lane in lanes)
    assert [(pile.left, pile.tried) for pile in made] == [(0, slices) for slices in piles]
    worker.end()


@pytest.mark.parametrize("by", ["settle", "close"])
def test_a_slice_gives_way_between_its_steps(worker: WorkerThread, by: str) -> None:
    """While foreground work goes on the next step waits; not when a caller waits for the slice, or closes."""
    give_way()  # in another thread it does nothing
    begun, ended = threading.Event(), threading.Event()

    def work() -> bool:
        begun.set()
        give_way()
        ended.set()
        return False

    lane = Lane(work, worker, WorkerPace(quiet=60.0, starved=0.0, step=60.0))
    lane.call()
    assert begun.wait(10)
    assert not ended.is_set()
    if by == "settle":
        assert lane.settle(10)
    else:
        lane.close()
    assert ended.is_set()


def test_work_waits_for_quiet(worker: WorkerThread) -> None:
    """While the foreground is at work no slice is begun; settling does not wait for quiet."""
    pile = Pile(3)
    lane = Lane(pile.work, worker, PATIENT)
    lane.call()
    assert not any(lane.settle(0) for _ in range(1_000))
    assert pile.tried == 0
    assert lane.settle(10)
    assert pile.left == 0


def test_work_that_is_starved_is_done_all_the_same(worker: WorkerThread) -> None:
    """A foreground that never rests holds a slice up for a while, not for ever."""
    pile = Pile(3)
    lane = Lane(pile.work, worker, WorkerPace(quiet=60.0, starved=0.02))
    lane.call()
    while not pile.done.wait(0.001):
        lane.touch()
    assert lane.settle(10)


def test_a_failure_is_shown_and_tried_again(worker: WorkerThread) -> None:
    """After a failed slice `failure` says why and settling says no; the work is tried again and then all is well."""
    pile = Pile(2, fail=lambda tried: tried == 1)
    lane = Lane(pile.work, worker, PATIENT)
    lane.call()
    assert not lane.settle(10)
    assert lane.failure == "ConnectionError: away"
    assert lane.settle(10)
    assert (lane.failure, pile.left, pile.tried) == (None, 0, 3)


def test_failures_do_not_hammer(worker: WorkerThread) -> None:
    """Each failed try doubles the pause before the next one, up to a longest pause."""
    lane = Lane(lambda: True, worker, WorkerPace(quiet=0.0, starved=0.0, pause=1.0, longest_pause=5.0))
    pauses = []
    for failures in range(6):
        lane._failures = failures
        pauses.append(lane.start_time(100.0) - 100.0)
    assert pauses[1:] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert pauses[0] <= 0


def test_one_that_fails_does_not_hold_up_another(worker: WorkerThread) -> None:
    """A memory whose work always fails pauses; the work of another one is done."""
    broken = Lane(Pile(1, fail=lambda tried: True).work, worker, WorkerPace(quiet=0.0, starved=0.0))
    pile = Pile(5)
    sound = Lane(pile.work, worker, EAGER)
    broken.call()
    sound.call()
    assert sound.settle(10)
    assert pile.left == 0
    broken.close()


def test_whoever_is_waited_for_comes_first(worker: WorkerThread) -> None:
    """Settling one memory does not wait for the work of all the others."""
    go_on = threading.Event()
    order: list[str] = []

    def slices(name: str, count: int) -> Callable[[], bool]:
        def work() -> bool:
            order.append(name)
            return order.count(name) < count

        return work

    first = Lane(lambda: not go_on.wait(10), worker, EAGER)
    waiting = [Lane(slices(name, 50), worker, EAGER) for name in "abcde"]
    lane = Lane(slices("waited for", 3), worker, PATIENT)
    for each in (first, *waiting, lane):
        each.call()
    threading.Timer(0.05, go_on.set).start()
    assert lane.settle(10)
    assert order[:3] == ["waited for"] * 3
    assert all(each.settle(10) for each in waiting)
    assert len(order) == 253


def test_closing_finishes_the_slice_at_hand(worker: WorkerThread) -> None:
    """Closing waits for the slice that has begun and begins no other; later calls change nothing."""
    begun, go_on = threading.Event(), threading.Event()
    finished = []

    def work() -> bool:
        begun.set()
        assert go_on.wait(10)
        finished.append(1)
        return True

    lane = Lane(work, worker, EAGER)
    lane.call()
    assert begun.wait(10)
    threading.Timer(0.02, go_on.set).start()
    lane.close()
    lane.close()
    assert finished == [1]
    lane.call()
    assert lane.settle(0)
    assert finished == [1]


def test_closing_from_within_does_not_wait_for_itself(worker: WorkerThread) -> None:
    """A slice that closes its own lane ends."""
    lanes: list[Lane] = []
    closed = threading.Event()

    def work() -> bool:
        lanes[0].close()
        closed.set()
        return True

    lanes.append(Lane(work, worker, EAGER))
    lanes[0].call()
    assert closed.wait(10)


def test_the_thread_ends_when_there_is_nothing_to_do(worker: WorkerThread) -> None:
    """After a while without work no thread is left, and a new call starts one again."""
    for _ in range(2):
        lane = Lane(Pile(1).work, worker, EAGER)
        lane.call()
        thread = worker.thread
        assert lane.settle(10)
        if thread:
            thread.join(10)
        assert worker.thread is None


def test_a_forked_process_begins_anew(worker: WorkerThread) -> None:
    """A worker told that it was forked forgets thread and work, and works again when it is called."""
    lane = Lane(Pile(1).work, worker, PATIENT)
    lane.call()
    before = worker.thread
    worker.reset()
    assert worker.thread is None
    other = Pile(1)
    after = Lane(other.work, worker, EAGER)
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

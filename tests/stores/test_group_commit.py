"""Whoever comes first commits for all who wait; everybody gets their own result, whatever happens to the others."""

from collections.abc import Sequence
from functools import partial
from threading import Event, Lock, Thread

import pytest

from ricordo.stores.group_commit import CROWD, MOST, GroupCommit, Ticket


class Recorder:
    """Serves batches, and can be made to wait in the middle of one."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.entered = Event()
        self.go_on = Event()
        self.go_on.set()

    def serve(self, tickets: Sequence[Ticket]) -> None:
        self.batches.append(len(tickets))
        self.entered.set()
        self.go_on.wait()
        for ticket in tickets:
            try:
                ticket.result = ticket.operation()
            except Exception as error:
                ticket.error = error


def queued_behind_one(recorder: Recorder, group: GroupCommit, operations: Sequence[Ticket]) -> list[object]:
    """Let the operations queue while a first one is being served; their results or errors, in order."""
    outcomes: list[object] = [None] * len(operations)

    def run(at: int, ticket: Ticket) -> None:
        try:
            outcomes[at] = group.run(ticket.operation, alone=ticket.alone)
        except BaseException as error:
            outcomes[at] = error

    recorder.go_on.clear()
    first = Thread(target=group.run, args=(lambda: None,))
    first.start()
    recorder.entered.wait()
    threads = []
    for at, ticket in enumerate(operations):
        threads.append(Thread(target=run, args=(at, ticket)))
        threads[-1].start()
        while len(group._waiting) < at + 1:
            pass
    recorder.go_on.set()
    for thread in [first, *threads]:
        thread.join()
    return outcomes


def test_a_lone_caller_is_served_at_once() -> None:
    """One operation, one batch, its result; the next caller finds the way free."""
    recorder = Recorder()
    group = GroupCommit(recorder.serve)
    assert [group.run(lambda n=n: n) for n in range(3)] == [0, 1, 2]
    assert recorder.batches == [1, 1, 1]


def test_those_who_wait_are_served_together() -> None:
    """Ten callers behind one commit are one batch, and each gets its own result."""
    recorder = Recorder()
    group = GroupCommit(recorder.serve)
    outcomes = queued_behind_one(recorder, group, [Ticket(lambda n=n: n) for n in range(10)])
    assert outcomes == list(range(10))
    assert recorder.batches == [1, 10]


def test_a_crowd_wakes_one_by_one() -> None:
    """Each wakes the next one, so that all of them come back; one who was interrupted meanwhile is left out."""
    recorder = Recorder()
    outcomes = queued_behind_one(recorder, GroupCommit(recorder.serve), [Ticket(lambda n=n: n) for n in range(80)])
    assert outcomes == list(range(80))
    assert recorder.batches == [1, 80]
    batch = [Ticket(lambda: None) for _ in range(CROWD + 3)]
    batch[0].leads = batch[2].left = True
    for ticket in batch:
        ticket.wake = Lock()
        ticket.wake.acquire()
    GroupCommit(recorder.serve)._lead(batch)
    _, first, _, *others = batch
    assert [ticket for ticket in batch if ticket.wake and not ticket.wake.locked()] == [first]
    woken = first
    for ticket in others:
        assert woken.following is ticket
        woken = ticket


def test_a_leader_waits_for_those_who_came_before() -> None:
    """After a batch of three, the next one is of three again, and a caller who does not come back is not awaited."""
    recorder = Recorder()
    group = GroupCommit(recorder.serve, gathers=True)
    queued_behind_one(recorder, group, [Ticket(lambda: None) for _ in range(3)])
    assert recorder.batches == [1, 3]
    group._patience = 60.0
    threads = [Thread(target=group.run, args=(lambda: None,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.batches == [1, 3, 3]
    group._patience = 0.0
    assert [group.run(lambda n=n: n) for n in range(2)] == [0, 1]
    assert recorder.batches == [1, 3, 3, 1, 1]


@pytest.mark.parametrize("gathers", [False, True])
def test_many_callers_are_each_served_once(gathers: bool) -> None:
    """Whoever leads, gathers or follows: every operation is run once, and nobody is left waiting."""
    recorder = Recorder()
    group = GroupCommit(recorder.serve, gathers=gathers)
    done: list[tuple[int, int]] = []
    work = [[(caller, n) for n in range(50)] for caller in range(12)]

    def run(mine: list[tuple[int, int]]) -> None:
        for each in mine:
            group.run(partial(done.append, each))

    threads = [Thread(target=run, args=(mine,)) for mine in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == sorted(each for mine in work for each in mine)
    assert sum(recorder.batches) == len(done)
    assert not group._led


def test_an_error_is_its_own_callers() -> None:
    """An operation that fails raises where it was asked for; the others do not notice."""
    recorder = Recorder()
    group = GroupCommit(recorder.serve)
    outcomes = queued_behind_one(recorder, group, [Ticket(lambda: 1), Ticket(lambda: 1 // 0), Ticket(lambda: 3)])
    assert outcomes[0::2] == [1, 3]
    assert isinstance(outcomes[1], ZeroDivisionError)


def test_who_wants_to_be_alone_is_alone() -> None:
    """The queue is cut before and after such an operation, in order."""
    recorder = Recorder()
    group = GroupCommit(recorder.serve)
    tickets = [Ticket(lambda n=n: n, alone=n in (2, 3)) for n in range(6)]
    assert queued_behind_one(recorder, group, tickets) == list(range(6))
    assert recorder.batches == [1, 2, 1, 1, 2]


def test_a_batch_has_a_ceiling() -> None:
    """More callers than fit into one commit are served by the next."""
    recorder = Recorder()
    group = GroupCommit(recorder.serve)
    group._waiting = [Ticket(lambda: None) for _ in range(MOST + 5)]
    assert [len(group._take()), len(group._take())] == [MOST, 5]


def test_a_server_that_breaks_fails_everybody_and_blocks_nobody() -> None:
    """An interrupt in the middle of a commit reaches the leader, the others get an error, and work goes on."""
    recorder = Recorder()

    def serve(tickets: Sequence[Ticket]) -> None:
        if len(tickets) > 1:
            raise KeyboardInterrupt
        recorder.serve(tickets)

    group = GroupCommit(serve)
    outcomes = queued_behind_one(recorder, group, [Ticket(lambda: 1), Ticket(lambda: 2)])
    assert all(isinstance(outcome, KeyboardInterrupt) for outcome in outcomes)
    assert group.run(lambda: "still working") == "still working"


class _InterruptedSleep:
    """A lock whose sleeper is interrupted, as by Ctrl-C."""

    def acquire(self, timeout: float = -1) -> None:
        raise KeyboardInterrupt

    def release(self) -> None:
        """Nobody sleeps."""


@pytest.mark.parametrize("leads", [False, True], ids=["while following", "when just called to lead"])
def test_an_interrupted_sleeper_leaves_the_queue_in_order(leads: bool) -> None:
    """Its operation is withdrawn, and if it was to lead, the next one leads."""
    group = GroupCommit(Recorder().serve)
    sleeper, behind = Ticket(lambda: None), Ticket(lambda: None)
    sleeper.leads = leads
    group._led = True
    group._waiting = [sleeper, behind]
    with pytest.raises(KeyboardInterrupt):
        group._follow(sleeper, _InterruptedSleep())  # type: ignore[arg-type]
    assert group._waiting == [behind]
    assert behind.leads == leads

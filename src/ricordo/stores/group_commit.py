"""Group commit without a writer thread: one caller, the leader, commits for all waiting callers; for both SQL stores.

In: operations from many threads. Out: the result or error of each, after its commit. A caller that finds no leader
becomes the leader at once, so that a single caller needs no thread switch. The others wait, each on its own lock, until
their result is ready or they become the leader of the next commit. If many wait, each one wakes the next: all at once
they would only compete for the interpreter.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 256  # operations in one commit: bounds how long the first of them waits for the last
CROWD = 32  # callers; more are not woken at once
PATIENCE = 0.005  # most seconds that a leader waits for other callers: a flush of a slow disk


class Joinable:
    """An operation that is faster together with others of its class than one by one."""

    __slots__ = ()

    def join(self, writer: Any, operations: Sequence[Any]) -> Sequence[Any]:
        """Their results, in order; raises, whatever was done so far, if one of them has to be served by itself."""
        raise NotImplementedError


class Ticket:
    """A caller's operation, its place in the queue, and its result."""

    result: Any = None
    error: BaseException | None = None
    leads = False
    wake: "Lock | None" = None
    left = False  # its caller was interrupted and waits no more
    following: "Ticket | None" = None  # whom it wakes once it is awake itself

    def __init__(self, operation: Any, *, alone: bool = False) -> None:
        self.operation = operation
        self.alone = alone


class GroupCommit:
    """Queues operations and lets one caller at a time serve a batch of them.

    `serve` gets the batch, runs every operation, commits, and fills in `result` or `error` of each ticket.
    An `alone` ticket is a batch by itself. With `gathers`, the leader after a batch of several callers waits until as
    many callers wait again, at most as long as that batch took, because they often call again together.
    """

    def __init__(self, serve: Callable[[Sequence[Ticket]], None], *, gathers: bool = False) -> None:
        self._serve = serve
        self._gathers = gathers
        self._mutex = Lock()
        self._waiting: list[Ticket] = []  # the first of them leads
        self._led = False
        self._expected, self._patience = 1, 0.0  # callers in the last batch, and the seconds that it took
        self._gathering: Lock | None = None  # its leader sleeps until so many are there

    def run(self, operation: Callable[..., T], *, alone: bool = False) -> T:
        """Run an operation in a batch; returns or raises after its commit."""
        ticket = Ticket(operation, alone=alone)
        self.serve(ticket)
        result: T = ticket.result
        return result

    def serve(self, ticket: Ticket) -> None:
        """Wait until a ticket is served, or lead; raises its error."""
        with self._mutex:
            if self._led:
                ticket.wake = Lock()
                ticket.wake.acquire()
            else:
                self._led = ticket.leads = True
            lonely = ticket.leads and self._expected == 1
            if not lonely:
                self._waiting.append(ticket)
                if self._gathering is not None and len(self._waiting) >= self._expected:
                    self._gathering.release()
                    self._gathering = None
        if lonely:
            try:
                self._serve((ticket,))
            finally:
                with self._mutex:
                    self._pass_on()
        else:
            if ticket.wake is not None:
                try:
                    self._follow(ticket, ticket.wake)
                finally:
                    if ticket.following is not None:
                        _wake(ticket.following)
            if ticket.leads:
                if self._expected > 1 and not ticket.alone:
                    self._gather(ticket)
                self._lead(self._take())
        if ticket.error is not None:
            raise ticket.error

    def _lead(self, batch: list[Ticket]) -> None:
        """Serve the batch, then wake the next leader and the callers that were served."""
        gathers = self._gathers and len(batch) > 1
        begun = monotonic() if gathers else 0.0
        try:
            self._serve(batch)
        except BaseException as error:
            for ticket in batch:
                ticket.error = ticket.error or error
            raise
        finally:
            with self._mutex:
                self._expected = len(batch) if gathers else 1
                if gathers:
                    self._patience = min(monotonic() - begun, PATIENCE)
                self._pass_on()
                served = [ticket for ticket in batch if not (ticket.leads or ticket.left)]
                if crowded := len(served) > CROWD:
                    for ticket, following in pairwise(served):
                        ticket.following = following
            for ticket in served[:1] if crowded else served:
                _wake(ticket)

    def _gather(self, ticket: Ticket) -> None:
        """Wait for the callers of the last batch before the next one."""
        with self._mutex:
            if len(self._waiting) >= self._expected:
                return
            enough = self._gathering = Lock()
            enough.acquire()
        self._follow(ticket, enough, self._patience)

    def _follow(self, ticket: Ticket, wake: Lock, patience: float = -1) -> None:
        """Sleep until served or called to lead; an interrupted sleeper leaves the queue in order."""
        try:
            wake.acquire(timeout=patience)
        except BaseException:
            with self._mutex:
                ticket.left = True
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                    if ticket.leads:
                        self._pass_on()
            raise

    def _take(self) -> list[Ticket]:
        """The waiting tickets, that of the new leader first, up to one that must be alone."""
        with self._mutex:
            self._gathering = None
            alone = next((at for at, ticket in enumerate(self._waiting) if ticket.alone), MOST)
            batch = self._waiting[: max(1, min(alone, MOST))]
            del self._waiting[: len(batch)]
        return batch

    def _pass_on(self) -> None:
        """Call the first one waiting to lead; the mutex is held."""
        if self._waiting:
            successor = self._waiting[0]
            successor.leads = True
            if successor.wake is not None:
                successor.wake.release()
        else:
            self._led = False


def _wake(ticket: Ticket) -> None:
    if ticket.wake is not None:
        ticket.wake.release()

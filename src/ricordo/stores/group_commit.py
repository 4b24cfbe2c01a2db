"""Group commit without a writer thread: the first caller commits for all callers that wait, in both SQL stores.

In: operations from many threads. Out: each one's result or error, after the commit that holds it. A caller
that finds no leader leads at once, so a single caller pays no thread switch; the others wait on a lock of their own
and are woken one by one when their result is ready, or to lead the next commit.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 256  # operations in one commit: bounds how long the first of them waits for the last


class Joinable:
    """An operation that is cheaper together with others of its class than one by one."""

    __slots__ = ()

    def join(self, writer: Any, operations: Sequence[Any]) -> Sequence[Any]:
        """Their results, in order; raises, whatever was done so far, if one of them has to be served by itself."""
        raise NotImplementedError


class Ticket:
    """One caller's operation, its place in the queue and what came of it."""

    __slots__ = ("alone", "error", "leads", "operation", "result", "wake")

    def __init__(self, operation: Any, *, alone: bool = False) -> None:
        self.operation = operation
        self.alone = alone
        self.result: Any = None
        self.error: BaseException | None = None
        self.leads = False
        self.wake: Lock | None = None


class GroupCommit:
    """Queues operations and lets one caller at a time serve a batch of them.

    `serve` gets the batch, runs every operation, commits, and fills in `result` or `error` of each ticket.
    An `alone` ticket is a batch by itself.
    """

    def __init__(self, serve: Callable[[Sequence[Ticket]], None]) -> None:
        self._serve = serve
        self._mutex = Lock()
        self._waiting: list[Ticket] = []  # behind the leader; the first of them leads next
        self._led = False

    def run(self, operation: Callable[..., T], *, alone: bool = False) -> T:
        """Have the operation served; returns or raises when its commit is done."""
        ticket = Ticket(operation, alone=alone)
        self.serve(ticket)
        result: T = ticket.result
        return result

    def serve(self, ticket: Ticket) -> None:
        """Have a ticket served, whatever its operation is to `serve`; raises its error."""
        with self._mutex:
            if self._led:
                ticket.wake = Lock()
                ticket.wake.acquire()
                self._waiting.append(ticket)
            else:
                self._led = ticket.leads = True
        if ticket.wake is None:
            self._lead([ticket])
        else:
            self._follow(ticket, ticket.wake)
            if ticket.leads:
                self._lead(self._take())
        if ticket.error is not None:
            raise ticket.error

    def _lead(self, batch: list[Ticket]) -> None:
        """Serve the batch, then wake the next leader and the callers that were served."""
        try:
            self._serve(batch)
        except BaseException as error:
            for ticket in batch:
                ticket.error = ticket.error or error
            raise
        finally:
            with self._mutex:
                self._pass_on()
            for ticket in batch:
                if ticket.wake is not None and not ticket.leads:
                    ticket.wake.release()

    def _follow(self, ticket: Ticket, wake: Lock) -> None:
        """Sleep until served or called to lead; an interrupted sleeper leaves the queue in order."""
        try:
            wake.acquire()
        except BaseException:
            with self._mutex:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                    if ticket.leads:
                        self._pass_on()
            raise

    def _take(self) -> list[Ticket]:
        """Those who wait, the new leader first, up to one who wants to be alone."""
        with self._mutex:
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

"""The writes that wait, in order: one queue for replaying, and for every session how many of them are its own.

In: entries with the segment that holds them. Out: the oldest one, again and again until it is done. Nothing here
touches a disk or a database; whoever adds or removes holds the lock of the session.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from threading import Condition, Lock, RLock
from time import monotonic
from uuid import UUID

from ricordo.records import Owner
from ricordo.spool.codec import Entry
from ricordo.spool.segments import Segment
from ricordo.spool.writes import Scope, Write

STRIPES = 256


LEFT = 15.0  # seconds for a call that was left under way: a little more than a store's own patience


class UnderWay:
    """A call that somebody left: until it has ended, nobody knows whether the database has done it."""

    def __init__(self, call: "Future[object]") -> None:
        self._call, self._until = call, monotonic() + LEFT

    def pending(self, seconds: float = 0.0) -> bool:
        """Whether it may still be done, after waiting for a moment. One that takes too long is not waited for."""
        if not self._call.done() and monotonic() < self._until:
            wait([self._call], seconds)
        return not self._call.done() and monotonic() < self._until

    @property
    def result(self) -> object:
        """What came of it; None if it failed, or was never begun."""
        call = self._call
        return None if not call.done() or call.cancelled() or call.exception() else call.result()


@dataclass(eq=False)
class Waiting:
    """An entry on disk. `sent` tells that it was given to the database before, `under_way` that this may go on."""

    entry: Entry
    segment: Segment
    sent: bool = False
    under_way: UnderWay | None = None

    @property
    def scope(self) -> Scope:
        return self.entry.write.scope

    @property
    def unsure(self) -> bool:
        """Whether the database may have it already."""
        return self.sent or self.entry.unsure


class Backlog:
    """Everything that waits, in the order in which it was acknowledged."""

    def __init__(self) -> None:
        self._queue: deque[Waiting] = deque()
        self._of_session: dict[tuple[UUID, str], int] = {}
        self._of_owner: dict[UUID, int] = {}
        self._mutex = Lock()
        self._locks = [RLock() for _ in range(STRIPES)]
        self.changed = Condition(self._mutex)

    @property
    def depth(self) -> int:
        """How many wait."""
        return len(self._queue)

    def lock(self, scope: Scope) -> RLock:
        """The lock of a session: held from the decision about a write until it is on disk and in the queue."""
        return self._locks[hash((scope[0].key, scope[1])) % STRIPES]

    def has(self, scope: Scope) -> bool:
        """Whether writes of a session wait."""
        return (scope[0].key, scope[1]) in self._of_session

    def is_last(self, waiting: Waiting) -> bool:
        """Whether nothing else of its session waits."""
        return self._of_session.get((waiting.scope[0].key, waiting.scope[1])) == 1

    def has_any_of(self, owner: Owner) -> bool:
        """Whether writes of an owner wait."""
        return owner.key in self._of_owner

    def add(self, waiting: Waiting) -> None:
        """One more, behind all others."""
        with self._mutex:
            self._queue.append(waiting)
            self._count(waiting, 1)
            self.changed.notify_all()

    def first(self) -> Waiting | None:
        """The oldest one."""
        with self._mutex:
            return self._queue[0] if self._queue else None

    def remove(self, waiting: Waiting) -> None:
        """It is done."""
        with self._mutex:
            self._queue.remove(waiting)  # it is the first one, as a rule
            self._count(waiting, -1)
            self.changed.notify_all()

    def writes_of(self, scope: Scope) -> list[Write]:
        """What waits of a session, in order."""
        with self._mutex:
            return [each.entry.write for each in self._queue if each.scope == scope]

    def in_segment(self, segment: Segment) -> list[Waiting]:
        """What waits in a file, in order."""
        with self._mutex:
            return [each for each in self._queue if each.segment is segment]

    def of_owner(self, owner: Owner) -> list[Waiting]:
        """What waits of an owner."""
        with self._mutex:
            return [each for each in self._queue if each.scope[0] == owner]

    def wait_for(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until something holds that changes with what waits."""
        deadline = None if timeout is None else monotonic() + timeout
        with self.changed:
            while not condition():
                left = None if deadline is None else deadline - monotonic()
                if left is not None and left <= 0:
                    return False
                self.changed.wait(left)
            return True

    def wake(self) -> None:
        """Have everybody who waits look again."""
        with self.changed:
            self.changed.notify_all()

    def _count(self, waiting: Waiting, step: int) -> None:
        owner, session_id = waiting.scope
        _counted(self._of_session, (owner.key, session_id), step)
        _counted(self._of_owner, owner.key, step)


def _counted(counts: dict, key: object, step: int) -> None:  # type: ignore[type-arg]
    counts[key] = counts.get(key, 0) + step
    if not counts[key]:
        del counts[key]

"""Sessions as they will be once the spool is stored: what is at hand, with the waiting writes done on top.

In: what is known of a session, and its waiting writes. Out: turns and fields that can be read at once, with numbers
that go on from what is known and are provisional until the database decides. The rules of writing are those of a store
that keeps everything in the process, which is passed in.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Condition, Lock, RLock
from time import monotonic
from uuid import UUID

from ricordo.errors import RicordoError
from ricordo.records.turns import Owner, SessionInfo, StoredReceipt, Turn
from ricordo.stores.protocols import Store
from ricordo.stores.spool.recent_turns import KnownSession, with_turn
from ricordo.stores.spool.segments import Segment
from ricordo.stores.spool.writes import AddMessage, Scope, WaitingWrite, Write


@dataclass(frozen=True, slots=True)
class Base:
    """What a shadow stands on: how many turns are missing below it, and whether nothing is.

    `known` goes on with what the database takes meanwhile, for a shadow that is made anew; `shown` is the number from
    which on turns are read.
    """

    known: KnownSession | None
    whole: bool = False
    missing: int = 0
    revision: int = 0
    shown: int = 0

    def reaches(self, after: int | None) -> bool:
        """Whether nothing is missing of the turns after a number."""
        turns = self.known.turns if self.known else ()
        return after is not None and bool(turns) and after + 1 >= turns[0].turn_number


class Shadow:
    """The sessions with waiting writes, in a store of their own."""

    def __init__(self, scratch: Store) -> None:
        self._scratch = scratch
        self._bases: dict[tuple[UUID, str], Base] = {}
        self._lock = RLock()

    def base(self, scope: Scope) -> Base | None:
        """What a session's shadow stands on; None if it has none."""
        return self._bases.get(_key(scope))

    def open(self, scope: Scope, known: KnownSession | None) -> None:
        """Begin the shadow of a session, unless there is one."""
        with self._lock:
            if _key(scope) in self._bases:
                return
            info = known.described() if known else None
            if info is None or known is None:
                self._bases[_key(scope)] = Base(known, known is not None and known.whole)
                return
            self._scratch.load(info, known.every)
            if info.last_turn > (known.turns[-1].turn_number if known.turns else 0):
                self._count_on(info)
            missing = max(0, info.turn_count - len(known.every))
            shown = known.turns[0].turn_number if known.apart and known.turns else 0
            self._bases[_key(scope)] = Base(known, known.whole, missing, info.revision, shown)

    def apply(self, write: Write) -> tuple[Write, Turn | SessionInfo]:
        """Do a write on its session's shadow; returns it with what was decided on the way, and its result."""
        with self._lock:
            base = self._bases[_key(write.scope)]
            if isinstance(write, AddMessage):
                newest = self._scratch.turns(*write.scope, last=1)
                write = write.placed(newest[-1] if newest else None, known=base.whole)
            result = write.apply(self._scratch)
            return write, self._described(result, base) if isinstance(result, SessionInfo) else result

    def note(self, scope: Scope, result: Turn | SessionInfo) -> None:
        """What the database has of a session now; it is read here when the shadow is made anew."""
        with self._lock:
            if base := self._bases.get(_key(scope)):
                known = base.known or KnownSession(*scope)
                grown = with_turn(known, result) if isinstance(result, Turn) else replace(known, info=result)
                self._bases[_key(scope)] = replace(base, known=grown)

    def rebuild(self, scope: Scope, writes: Iterable[Write]) -> None:
        """Make it anew from what is known, with these writes alone: one was not acknowledged, or one came before."""
        with self._lock:
            base = self._bases[_key(scope)]
            self.close(scope)
            self.open(scope, base.known)
            for write in writes:
                with suppress(RicordoError):  # one that was adopted and stands on what is not at hand
                    write.apply(self._scratch)

    def close(self, scope: Scope) -> None:
        """Let go of a session's shadow."""
        with self._lock:
            if self._bases.pop(_key(scope), None) is None:
                return
            owner = scope[0]
            self._scratch.delete_session(*scope)
            if not any(key == owner.key for key, _ in self._bases):
                self._scratch.erase(owner)

    def turns(self, scope: Scope, last: int | None, before: int | None, after: int | None) -> Sequence[Turn]:
        """The turns that are at hand."""
        base = self.base(scope)
        if base is not None and base.shown:
            after = max(after or 0, base.shown - 1)
        return self._scratch.turns(*scope, last=last, before=before, after=after)

    def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        """One turn by id."""
        with self._lock:
            return self._scratch.turn(owner, turn_id) if any(key == owner.key for key, _ in self._bases) else None

    def session(self, scope: Scope) -> SessionInfo | None:
        """The fields of a session."""
        with self._lock:
            base, info = self._bases.get(_key(scope)), self._scratch.session(*scope)
            return self._described(info, base) if info and base else None

    def receipts(self, scope: Scope, turn_number: int | None, limit: int) -> Sequence[StoredReceipt]:
        """The receipts of waiting turns."""
        return self._scratch.receipts(*scope, turn_number=turn_number, limit=limit)

    def _described(self, info: SessionInfo, base: Base) -> SessionInfo:
        return replace(info, turn_count=info.turn_count + base.missing, revision=info.revision + base.revision)

    def _count_on(self, info: SessionInfo) -> None:
        """Numbers go on from the session's counter, also where its newest turns are gone or not at hand."""
        number = info.last_turn
        last = Turn(f"{info.id}:{number}", info.owner, info.agent_id, info.id, number, info.created_at, None, None)
        self._scratch.load(info, [last])
        self._scratch.delete_turns(info.owner, info.id, [number])


def _key(scope: Scope) -> tuple[UUID, str]:
    return scope[0].key, scope[1]


# The writes that wait, in order: one queue for replaying, and for every session how many of them are its own.

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

    entry: WaitingWrite
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

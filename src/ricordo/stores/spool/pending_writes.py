"""The queue of pending writes, and provisional sessions: sessions as they will be once their writes are stored.

In: the cached part of a session and its pending writes. Out: turns and fields that can be read at once. Their numbers
continue the cached ones and are provisional until the database has stored them. An in-memory store, which is passed in,
applies the writes.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from threading import Condition, Lock, RLock
from time import monotonic
from uuid import UUID

from ricordo.errors import RicordoError
from ricordo.records.turns import Owner, SessionInfo, StoredReceipt, Turn
from ricordo.stores.protocols import Store
from ricordo.stores.spool.cache import CachedSession, with_turn
from ricordo.stores.spool.segments import Segment
from ricordo.stores.spool.writes import AddMessage, Scope, SpoolRecord, Write


@dataclass(frozen=True, slots=True)
class Baseline:
    """The cached session from which a provisional session starts; `whole` if no turns are missing before it.

    `cached` is updated with what the database stores meanwhile, for a rebuild. Turns are readable from number `first`
    on.
    """

    cached: CachedSession | None
    whole: bool = False
    missing: int = 0
    revision: int = 0
    first: int = 0

    def reaches(self, after: int | None) -> bool:
        """Whether it has all turns after a number."""
        turns = self.cached.turns if self.cached else ()
        return after is not None and bool(turns) and after + 1 >= turns[0].turn_number


class ProvisionalSessions:
    """The sessions with pending writes, in an in-memory store of their own."""

    def __init__(self, scratch: Store) -> None:
        self._scratch = scratch
        self._baselines: dict[tuple[UUID, str], Baseline] = {}
        self._lock = RLock()

    def baseline(self, scope: Scope) -> Baseline | None:
        """The baseline of a session; None if it has no provisional session."""
        return self._baselines.get(_key(scope))

    def open(self, scope: Scope, cached: CachedSession | None) -> None:
        """Start a provisional session, unless there is one."""
        with self._lock:
            if _key(scope) in self._baselines:
                return
            info = cached.described() if cached else None
            if info is None or cached is None:
                self._baselines[_key(scope)] = Baseline(cached, cached is not None and cached.whole)
                return
            self._scratch.turns.load(info, cached.every)
            if info.last_turn > (cached.turns[-1].turn_number if cached.turns else 0):
                self._skip_numbers(info)
            missing = max(0, info.turn_count - len(cached.every))
            first = cached.turns[0].turn_number if cached.apart and cached.turns else 0
            self._baselines[_key(scope)] = Baseline(cached, cached.whole, missing, info.revision, first)

    def apply(self, write: Write) -> tuple[Write, Turn | SessionInfo]:
        """Apply a write. Returns the write, in which the place of a message is decided now, and its result."""
        with self._lock:
            baseline = self._baselines[_key(write.scope)]
            if isinstance(write, AddMessage):
                newest = self._scratch.turns.page(*write.scope, last=1)
                write = write.placed(newest[-1] if newest else None, known=baseline.whole)
            result = write.apply(self._scratch)
            return write, self._described(result, baseline) if isinstance(result, SessionInfo) else result

    def note(self, scope: Scope, result: Turn | SessionInfo) -> None:
        """Record what the database has stored, for a rebuild."""
        with self._lock:
            if baseline := self._baselines.get(_key(scope)):
                cached = baseline.cached or CachedSession(*scope)
                grown = with_turn(cached, result) if isinstance(result, Turn) else replace(cached, info=result)
                self._baselines[_key(scope)] = replace(baseline, cached=grown)

    def rebuild(self, scope: Scope, writes: Iterable[Write]) -> None:
        """Start again from the baseline with these writes, after one was not acknowledged or was stored."""
        with self._lock:
            baseline = self._baselines[_key(scope)]
            self.close(scope)
            self.open(scope, baseline.cached)
            for write in writes:
                with suppress(RicordoError):  # an adopted write that depends on turns that are not cached
                    write.apply(self._scratch)

    def close(self, scope: Scope) -> None:
        with self._lock:
            if self._baselines.pop(_key(scope), None) is None:
                return
            owner = scope[0]
            self._scratch.sessions.delete(*scope)
            if not any(key == owner.key for key, _ in self._baselines):
                self._scratch.erase(owner)

    def turns(self, scope: Scope, last: int | None, before: int | None, after: int | None) -> Sequence[Turn]:
        """The turns that can be read."""
        baseline = self.baseline(scope)
        if baseline is not None and baseline.first:
            after = max(after or 0, baseline.first - 1)
        return self._scratch.turns.page(*scope, last=last, before=before, after=after)

    def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        with self._lock:
            if not any(key == owner.key for key, _ in self._baselines):
                return None
            return self._scratch.turns.get(owner, turn_id)

    def session(self, scope: Scope) -> SessionInfo | None:
        with self._lock:
            baseline, info = self._baselines.get(_key(scope)), self._scratch.sessions.get(*scope)
            return self._described(info, baseline) if info and baseline else None

    def receipts(self, scope: Scope, turn_number: int | None, limit: int) -> Sequence[StoredReceipt]:
        return self._scratch.turns.receipts(*scope, turn_number=turn_number, limit=limit)

    def _described(self, info: SessionInfo, baseline: Baseline) -> SessionInfo:
        return replace(info, turn_count=info.turn_count + baseline.missing, revision=info.revision + baseline.revision)

    def _skip_numbers(self, info: SessionInfo) -> None:
        """Continue at the session's counter, also where its newest turns are deleted or not cached."""
        number = info.last_turn
        last = Turn(f"{info.id}:{number}", info.owner, info.agent_id, info.id, number, info.created_at, None, None)
        self._scratch.turns.load(info, [last])
        self._scratch.turns.delete(info.owner, info.id, [number])


def _key(scope: Scope) -> tuple[UUID, str]:
    return scope[0].key, scope[1]


LOCKS = 256  # shared by all sessions
CALL_IN_PROGRESS = 15.0  # seconds to wait for an abandoned call: a little more than a store's own timeout


class CallInProgress:
    """An abandoned call. Until it has ended, the database may still store its write."""

    def __init__(self, call: "Future[object]") -> None:
        self._call, self._until = call, monotonic() + CALL_IN_PROGRESS

    def pending(self, seconds: float = 0.0) -> bool:
        """Whether it may still write, after waiting for `seconds`. False once it takes too long."""
        if not self._call.done() and monotonic() < self._until:
            wait([self._call], seconds)
        return not self._call.done() and monotonic() < self._until

    @property
    def result(self) -> object:
        """What it returned; None if it failed or never started."""
        call = self._call
        return None if not call.done() or call.cancelled() or call.exception() else call.result()


@dataclass(eq=False)
class PendingWrite:
    """A record on disk. `sent`: it was sent to the database before; `call`: the call for that, which may still run."""

    record: SpoolRecord
    segment: Segment
    sent: bool = False
    call: CallInProgress | None = None

    @property
    def scope(self) -> Scope:
        return self.record.write.scope

    @property
    def maybe_stored(self) -> bool:
        """Whether the database may have it already."""
        return self.sent or self.record.maybe_stored


class PendingWrites:
    """The pending writes of all sessions, each in the order in which they were acknowledged.

    Sessions take turns, the one that has waited longest first. A session that a caller waits for is always next.
    """

    def __init__(self) -> None:
        self._sessions: dict[tuple[UUID, str], deque[PendingWrite]] = {}  # the longest waiting first
        self._of_owner: Counter[UUID] = Counter()
        self._awaited: Counter[tuple[UUID, str]] = Counter()
        self._depth = 0
        self._mutex = Lock()
        self._locks = [RLock() for _ in range(LOCKS)]
        self.changed = Condition(self._mutex)

    @property
    def depth(self) -> int:
        return self._depth

    def lock(self, scope: Scope) -> RLock:
        """The lock of a session: held from the decision about a write until it is on disk and in the queue."""
        return self._locks[hash(_key(scope)) % LOCKS]

    def has(self, scope: Scope) -> bool:
        return _key(scope) in self._sessions

    def is_last(self, pending: PendingWrite) -> bool:
        """Whether it is the only pending write of its session."""
        return len(self._sessions.get(_key(pending.scope), ())) == 1

    def has_any_of(self, owner: Owner) -> bool:
        return owner.key in self._of_owner

    def add(self, pending: PendingWrite) -> None:
        """Append to the writes of its session."""
        with self._mutex:
            self._sessions.setdefault(_key(pending.scope), deque()).append(pending)
            self._of_owner[pending.scope[0].key] += 1
            self._depth += 1
            self.changed.notify_all()

    def remove(self, pending: PendingWrite) -> None:
        key, owner = _key(pending.scope), pending.scope[0].key
        with self._mutex:
            self._sessions[key].remove(pending)  # usually the first
            if not self._sessions[key]:
                del self._sessions[key]
            self._of_owner[owner] -= 1
            if not self._of_owner[owner]:
                del self._of_owner[owner]
            self._depth -= 1
            self.changed.notify_all()

    def next_sessions(self, most: int) -> list[PendingWrite]:
        """The oldest write of each of the sessions whose turn it is; these sessions go to the end of the queue."""
        with self._mutex:
            awaited = [key for key in self._awaited if key in self._sessions]
            chosen = [*awaited, *islice((key for key in self._sessions if key not in self._awaited), most)][:most]
            for key in chosen:
                self._sessions[key] = self._sessions.pop(key)
            return [self._sessions[key][0] for key in chosen]

    def first_of(self, scope: Scope) -> PendingWrite | None:
        """The oldest write of a session."""
        with self._mutex:
            waiting = self._sessions.get(_key(scope))
            return waiting[0] if waiting else None

    def writes_of(self, scope: Scope) -> list[Write]:
        """The pending writes of a session, in order."""
        with self._mutex:
            return [each.record.write for each in self._sessions.get(_key(scope), ())]

    def of_owner(self, owner: Owner) -> list[PendingWrite]:
        with self._mutex:
            return [each for key, waiting in self._sessions.items() if key[0] == owner.key for each in waiting]

    def wait_for_session(self, scope: Scope, stop: Callable[[], bool], timeout: float) -> bool:
        """Wait until no write of a session is pending, and serve it first; False after `timeout` or `stop`."""
        key = _key(scope)
        with self._mutex:
            self._awaited[key] += 1
        try:
            self.wait_for(lambda: key not in self._sessions or stop(), timeout)
        finally:
            with self._mutex:
                self._awaited[key] -= 1
                if not self._awaited[key]:
                    del self._awaited[key]
        return not self.has(scope)

    def wait_for(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until a condition on the queue or the breaker holds; False after the timeout."""
        deadline = None if timeout is None else monotonic() + timeout
        with self.changed:
            while not condition():
                left = None if deadline is None else deadline - monotonic()
                if left is not None and left <= 0:
                    return False
                self.changed.wait(left)
            return True

    def wake(self) -> None:
        """Let all waiting threads check their conditions again."""
        with self.changed:
            self.changed.notify_all()

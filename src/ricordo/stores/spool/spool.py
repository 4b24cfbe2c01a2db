"""The spool: writes are acknowledged once they are on disk, and removed when the database has stored them.

In: writes that the database could not store. Out: their provisional results. Segments, queue and provisional sessions
are changed together here, under the lock of the session, and nowhere else. Writes that the database refuses are moved
to a file of their own.
"""

import fcntl
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock, Thread

from ricordo.errors import DamageError, NotFoundError, StoreUnavailable
from ricordo.records.turns import Owner, SessionInfo, Turn, log_details
from ricordo.stores.protocols import Store
from ricordo.stores.spool.cache import RecentTurns
from ricordo.stores.spool.connection import CallAbandoned, StoreConnection
from ricordo.stores.spool.pending_writes import CallInProgress, PendingWrite, PendingWrites, ProvisionalSessions
from ricordo.stores.spool.segments import (
    Segment,
    SegmentContents,
    Segments,
    frame,
    read_frames,
    replace_file,
    sync_directory,
)
from ricordo.stores.spool.writes import Scope, SpoolRecord, TurnWrite, UpdateSession, Write, decode, encode, owner_of
from ricordo.stores.write_rules import OwnerErased

log = logging.getLogger("ricordo")


class RefusedWrites:
    """The file of writes that the database refused: they are kept, and do not block the others."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "refused.spool"
        self._lock = directory / "refused.lock"

    def add(self, record: SpoolRecord, cause: str) -> None:
        """Write a refused record; it is on disk when this returns."""
        self.add_bytes(encode(record, cause=cause))

    def add_bytes(self, record: bytes) -> None:
        """Write bytes as they are, readable or not."""
        with self._locked():
            new = not self._path.exists()
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "ab") as file:
                file.write(frame(record))
                file.flush()
                os.fsync(file.fileno())
            if new:
                sync_directory(self._path.parent)

    def records(self) -> tuple[bytes, ...]:
        """All refused records: JSON with `cause`."""
        return read_frames(self._path.read_bytes()).records if self._path.exists() else ()

    def forget(self, owner: Owner) -> int:
        """Delete the records of an owner, and unreadable ones that may be; returns how many."""
        with self._locked():
            if not self._path.exists():
                return 0
            found = read_frames(self._path.read_bytes())
            staying = [record for record in found.records if owner_of(record) not in (owner, None)]
            if staying:
                replace_file(self._path, b"".join(map(frame, staying)))
            else:
                self._path.unlink()
                sync_directory(self._path.parent)
            return len(found.records) - len(staying)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


class Spool:
    """Acknowledged writes that the database does not have yet."""

    def __init__(
        self, directory: Path, scratch: Store, recent: RecentTurns, now: Callable[[], float] = time.time
    ) -> None:
        self.segments = Segments(directory)
        self.refused = RefusedWrites(directory)
        self.pending = PendingWrites()
        self.provisional = ProvisionalSessions(scratch)
        self._recent, self._now = recent, now
        self._adopting = Lock()
        self.refusals = len(self.refused.records())
        self.last_refusal = ""

    def add_turn(self, write: TurnWrite, *, maybe_stored: bool, call: CallInProgress | None = None) -> Turn:
        """Acknowledge a write: on disk, at the end of the queue, and readable. Returns the provisional turn."""
        result = self._add(write, maybe_stored, call)
        assert isinstance(result, Turn)
        return result

    def add_fields(
        self, write: UpdateSession, *, maybe_stored: bool, call: CallInProgress | None = None
    ) -> SessionInfo:
        """The same for fields of a session."""
        result = self._add(write, maybe_stored, call)
        assert isinstance(result, SessionInfo)
        return result

    def _add(self, write: Write, maybe_stored: bool, call: CallInProgress | None) -> Turn | SessionInfo:
        with self.pending.lock(write.scope):
            self.provisional.open(write.scope, self._recent.get(*write.scope))
            baseline = self.provisional.baseline(write.scope)
            try:
                placed, result = self.provisional.apply(write)
                record = SpoolRecord(placed, self._now(), maybe_stored)
                segment = self.segments.append(encode(record))
                self.pending.add(PendingWrite(record, segment, call=call))
            except NotFoundError as error:
                self._undo(write.scope)
                if baseline is not None and baseline.whole:
                    raise
                raise StoreUnavailable(f"{error}, as far as is known while the database is away") from error
            except BaseException:
                self._undo(write.scope)
                raise
            return result

    def written(self, scope: Scope, result: Turn | SessionInfo | None) -> None:
        """The database stored a write directly. Writes spooled meanwhile are applied after it."""
        with self.pending.lock(scope):
            self._note(scope, result)
            if self.pending.has(scope):
                self.provisional.rebuild(scope, self.pending.writes_of(scope))

    def stored(self, pending: PendingWrite, result: Turn | SessionInfo) -> None:
        """The database stored a pending write: remove it."""
        with self.pending.lock(pending.scope):
            self._note(pending.scope, result)
            self._remove(pending)

    def set_aside(self, pending: PendingWrite, error: Exception) -> None:
        """Move a pending write, which the database has refused for good, to the file of refused writes."""
        cause = f"{type(error).__name__}: {error}"
        self.refused.add(pending.record, cause)
        self._count_refusal(cause)
        log.error(
            "a spooled write was refused and set aside: %s",
            cause,
            extra={**log_details(pending.record.write.operation, *pending.scope), "cause": cause},
        )
        self._remove(pending)

    def adopt(self) -> int:
        """Take over writes of processes that died, in the order of acknowledgement; returns how many."""
        with self._adopting:
            found = [
                (segment, each)
                for segment, content in self.segments.adopt()
                for each in self._records(segment, content)
            ]
            for segment, record in sorted(found, key=lambda each: each[1].at):
                self._take_over(segment, record)
            return len(found)

    def forget(self, owner: Owner, until: datetime | None = None) -> int:
        """Delete all writes of an owner from the files, or those acknowledged until a time; returns how many.

        The caller makes sure that none of them is being sent.
        """

        def is_erased(at: float) -> bool:
            return until is None or at <= until.timestamp()

        erased = [pending for pending in self.pending.of_owner(owner) if is_erased(pending.record.at)]
        counts = Counter(pending.segment.path for pending in erased)
        self.segments.remove(lambda record: _is_of(record, owner, is_erased), counts)
        gone = self.refused.forget(owner)
        self.refusals = len(self.refused.records())
        for pending in erased:  # the queue last: a write that is not in the queue is nowhere else
            with self.pending.lock(pending.scope):
                last = self.pending.is_last(pending)
                self.pending.remove(pending)
                if last:
                    self.provisional.close(pending.scope)
                else:
                    self.provisional.rebuild(pending.scope, self.pending.writes_of(pending.scope))
        return len(erased) + gone

    def close(self) -> None:
        """Close the files; pending writes stay in them."""
        self.segments.close()

    def _note(self, scope: Scope, result: Turn | SessionInfo | None) -> None:
        """Cache what the database has stored, also for a rebuild of the provisional session."""
        if isinstance(result, Turn):
            self._recent.note_turn(result)
        else:
            self._recent.note_fields(*scope, result)
        if result is not None:
            self.provisional.note(scope, result)

    def _remove(self, pending: PendingWrite) -> None:
        """Remove a write from the disk first, from the queue last: what is not in the queue is nowhere else."""
        with self.pending.lock(pending.scope):
            try:
                self.segments.done(pending.segment)
            except OSError as error:  # it stays on disk; when it is sent again, the database has it already
                log.error("a spool file cannot be removed: %s", error, extra={"operation": "replay"})
            if self.pending.is_last(pending):
                self.provisional.close(pending.scope)
            self.pending.remove(pending)

    def _undo(self, scope: Scope) -> None:
        """Restore a provisional session after a write that was not acknowledged."""
        if self.pending.has(scope):
            self.provisional.rebuild(scope, self.pending.writes_of(scope))
        else:
            self.provisional.close(scope)

    def _records(self, segment: Segment, content: SegmentContents) -> list[SpoolRecord]:
        records, damaged, latest = [], list(content.damaged), 0.0
        for data in content.records:
            try:
                record = decode(data)
            except DamageError:
                damaged.append(data)
                continue
            latest = max(latest, record.at)  # keep the order of the file, even if the clock was set back
            records.append(SpoolRecord(record.write, latest, maybe_stored=True))
        for data in damaged:
            self.refused.add_bytes(data)
            self._count_refusal("a damaged record")
            log.error("a damaged record of the spool was set aside", extra={"operation": "adopt"})
        segment.left = len(records)
        if not records:
            self.segments.drop(segment)
        return records

    def _take_over(self, segment: Segment, record: SpoolRecord) -> None:
        scope = record.write.scope
        with self.pending.lock(scope):
            self.provisional.open(scope, self._recent.get(*scope))
            self.pending.add(PendingWrite(record, segment))
            try:
                self.provisional.apply(record.write)
            except Exception as error:  # it cannot be read before the database has it; it is not lost
                log.warning(
                    "a spooled write cannot be read yet: %s",
                    type(error).__name__,
                    extra=log_details("adopt", *scope),
                )

    def _count_refusal(self, cause: str) -> None:
        self.refusals += 1
        self.last_refusal = cause


def _is_of(record: bytes, owner: Owner, is_erased: Callable[[float], bool]) -> bool:
    """Whether a record is of this owner and an erased time; True if it cannot be read."""
    try:
        read = decode(record)
    except DamageError:
        return True
    return read.write.scope[0] == owner and is_erased(read.at)


ADOPT_INTERVAL = 5.0  # idle seconds between searches for files of processes that died
RETRY_INTERVAL = 1.0  # seconds before a refused write is set aside again, as on a full disk
CALL_CHECK = 0.05  # seconds to wait for a call in progress, before the breaker is checked again
SESSIONS_AT_ONCE = 6  # sessions whose writes are sent concurrently; the pool has more connections, for chats
WRITES_AT_ONCE = 8  # writes of one session before the next session


class Replay:
    """A thread that sends pending writes while the breaker is closed.

    Several sessions are sent concurrently, so that their commits share the database's flushes. The writes of one
    session are sent one by one, in their order.
    """

    def __init__(self, spool: Spool, connection: StoreConnection) -> None:
        self._spool, self._pending, self._connection = spool, spool.pending, connection
        self._stopped = False
        self.sending = Lock()  # held while writes are sent
        self._erased: dict[Owner, datetime] = {}  # owners found to be erased, to be deleted once nothing is being sent
        self._senders = ThreadPoolExecutor(SESSIONS_AT_ONCE, thread_name_prefix="ricordo-send")
        self._thread = Thread(target=self._run, name="ricordo-replay", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finish the current writes and stop."""
        self._stopped = True
        self._pending.wake()
        if self._thread.is_alive():
            self._thread.join()
        self._senders.shutdown(wait=False)

    def _run(self) -> None:
        while True:
            if not self._pending.wait_for(lambda: self._stopped or self._ready(), ADOPT_INTERVAL):
                self._adopt()
                continue
            if self._stopped:
                return
            while self._ready() and not self._stopped:
                with self.sending:
                    waits_for = self._send_some()
                if waits_for is not None:
                    waits_for.pending(CALL_CHECK)

    def _adopt(self) -> None:
        """Take over the files of processes that died meanwhile."""
        try:
            self._spool.adopt()
        except OSError as error:
            log.error("spool files of other processes cannot be read: %s", error, extra={"operation": "adopt"})

    def _ready(self) -> bool:
        return self._pending.depth > 0 and self._connection.breaker.is_closed

    def _send_some(self) -> CallInProgress | None:
        """Send writes of some sessions; returns a call to wait for if none of them could be sent yet."""
        first = self._pending.next_sessions(SESSIONS_AT_ONCE)
        scopes = [pending.scope for pending in first if not (pending.call and pending.call.pending())]
        if not scopes:
            return next((pending.call for pending in first), None)
        try:
            sent = [self._senders.submit(self._send_session, scope) for scope in scopes[1:]]
        except RuntimeError:  # the interpreter is shutting down
            sent = []
        self._send_session(scopes[0])
        for each in sent:
            each.result()
        while self._erased:
            self._spool.forget(*self._erased.popitem())
        return None

    def _send_session(self, scope: Scope) -> None:
        """Send the oldest writes of a session, up to one that cannot be sent now."""
        for _ in range(WRITES_AT_ONCE):
            pending = self._pending.first_of(scope)
            if self._stopped or pending is None or (pending.call and pending.call.pending()):
                return
            if not self._send(pending):
                return

    def _send(self, pending: PendingWrite) -> bool:
        """Send one write; returns whether the next one of its session may follow."""
        done = pending.call.result if pending.call else None
        if isinstance(done, Turn | SessionInfo):
            self._spool.stored(pending, done)
            return True
        record, maybe_stored = pending.record, pending.maybe_stored
        pending.sent, pending.call = True, None
        try:
            result = self._connection.call(
                lambda store: record.write.apply(
                    store, maybe_stored=maybe_stored, acknowledged_at=record.acknowledged_at
                )
            )
        except CallAbandoned as abandoned:
            pending.call = CallInProgress(abandoned.call)
        except StoreUnavailable:
            pass  # it stays the first of its session
        except OwnerErased as error:
            self._erased[pending.scope[0]] = error.erased_at
        except Exception as error:
            if not self._stopped:  # the error of a store that was closed meanwhile is no refusal
                return self._set_aside(pending, error)
        else:
            self._spool.stored(pending, result)
            return True
        return False

    def _set_aside(self, pending: PendingWrite, cause: Exception) -> bool:
        try:
            self._spool.set_aside(pending, cause)
        except OSError as error:
            log.error("a refused write cannot be set aside: %s", error, extra={"operation": "replay"})
            self._pending.wait_for(lambda: self._stopped, RETRY_INTERVAL)
            return False
        return True

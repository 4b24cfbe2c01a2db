"""The spool: writes that are acknowledged once they are on disk, and leave when the database has stored them.

In: writes that the database did not take. Out: their provisional results. Segments, queue and provisional sessions
change together here, under the lock of the session, and nowhere else. Refused writes and erasures have files beside.
"""

import fcntl
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Thread

from ricordo.errors import DamageError, NotFoundError, StoreUnavailable
from ricordo.records.turns import Owner, SessionInfo, Turn
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
from ricordo.stores.spool.writes import (
    Scope,
    SpoolRecord,
    TurnWrite,
    UpdateSession,
    Write,
    decode,
    encode,
    owner_of,
)

log = logging.getLogger("ricordo")


class Erasures:
    """Which owners were erased and when, for all processes that use a directory: older writes must not come back."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        if not any(directory.glob("*.spool")):
            for path in directory.glob("*.erased"):
                path.unlink(missing_ok=True)

    def note(self, owner: Owner, at: float) -> None:
        """Record that the owner is erased at this time."""
        replace_file(self._path(owner), repr(at).encode())

    def after(self, owner: Owner, at: float) -> bool:
        """Whether the owner was erased at that time or later."""
        path = self._path(owner)
        return os.path.exists(path) and at <= float(path.read_bytes())

    def _path(self, owner: Owner) -> Path:
        return self._directory / f"{owner.key}.erased"


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
        self.erasures = Erasures(directory)
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
                raise StoreUnavailable(f"{error}, as far as can be told while the database is away") from error
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
        """The database refused a pending write for good: move it to the file of refused writes."""
        cause = f"{type(error).__name__}: {error}"
        self.refused.add(pending.record, cause)
        self._count_refusal(cause)
        owner, session_id = pending.scope
        log.error(
            "a spooled write was refused and set aside: %s",
            cause,
            extra={
                "operation": pending.record.write.operation,
                "tenant_id": owner.tenant_id,
                "user_id": owner.user_id,
                "session_id": session_id,
                "cause": cause,
            },
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

    def forget(self, owner: Owner) -> int:
        """Delete every byte of an owner from the files; returns how many writes. None may be being sent meanwhile."""
        doomed = self.pending.of_owner(owner)
        for pending in doomed:
            with self.pending.lock(pending.scope):
                self.pending.remove(pending)
                self.provisional.close(pending.scope)
        counts = Counter(pending.segment.path for pending in doomed)
        self.segments.remove(lambda record: owner_of(record) in (owner, None), counts)
        gone = self.refused.forget(owner)
        self.refusals = len(self.refused.records())
        return len(doomed) + gone

    def erase(self, owner: Owner) -> int:
        """`forget`, and make the other processes that use the directory do the same before they send anything."""
        self.erasures.note(owner, self._now())
        return self.forget(owner)

    def was_erased(self, pending: PendingWrite) -> bool:
        """Whether its owner was erased, by any process, after the write was acknowledged."""
        return self.erasures.after(pending.scope[0], pending.record.at)

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
        """From the disk first, from the queue last: what is gone from the queue is gone everywhere."""
        with self.pending.lock(pending.scope):
            try:
                self.segments.done(pending.segment)
            except OSError as error:  # it stays on disk; when it is sent again, the database has it already
                log.error("a spool file cannot be removed: %s", error, extra={"operation": "replay"})
            if self.pending.is_last(pending):
                self.provisional.close(pending.scope)
            self.pending.remove(pending)

    def _undo(self, scope: Scope) -> None:
        """A write was not acknowledged: restore the provisional session to what it was before."""
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
            latest = max(latest, record.at)  # the order in a file counts more than a clock that was set back
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
                    extra={"operation": "adopt", "tenant_id": scope[0].tenant_id, "user_id": scope[0].user_id}
                    | {"session_id": scope[1]},
                )

    def _count_refusal(self, cause: str) -> None:
        self.refusals += 1
        self.last_refusal = cause


ADOPT_INTERVAL = 5.0  # idle seconds between searches for files of processes that died
RETRY_INTERVAL = 1.0  # seconds before a refused write is set aside again, as on a full disk
CALL_CHECK = 0.05  # seconds to wait for a call in progress, before the breaker is checked again


class Replay:
    """A thread that empties the queue while the breaker is closed."""

    def __init__(self, spool: Spool, connection: StoreConnection) -> None:
        self._spool, self._pending, self._connection = spool, spool.pending, connection
        self._stopped = False
        self.sending = Lock()  # held while a write is sent; an erasure takes it, so that none is
        self._thread = Thread(target=self._run, name="ricordo-replay", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the current write and stop."""
        self._stopped = True
        self._pending.wake()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            if not self._pending.wait_for(lambda: self._stopped or self._ready(), ADOPT_INTERVAL):
                self._adopt()
                continue
            if self._stopped:
                return
            while self._ready() and not self._stopped:
                first = self._pending.first()
                if first is None or (first.call and first.call.pending(CALL_CHECK)):
                    continue
                with self.sending:
                    self._send_first()

    def _adopt(self) -> None:
        """Take over the files of processes that died meanwhile."""
        try:
            self._spool.adopt()
        except OSError as error:
            log.error("spool files of other processes cannot be read: %s", error, extra={"operation": "adopt"})

    def _ready(self) -> bool:
        return self._pending.depth > 0 and self._connection.breaker.is_closed

    def _send_first(self) -> None:
        pending = self._pending.first()
        if pending is None or (pending.call and pending.call.pending()):
            return
        if self._spool.was_erased(pending):
            self._spool.forget(pending.scope[0])
            return
        done = pending.call.result if pending.call else None
        if isinstance(done, Turn | SessionInfo):
            self._spool.stored(pending, done)
            return
        write, maybe_stored = pending.record.write, pending.maybe_stored
        pending.sent, pending.call = True, None
        try:
            result = self._connection.call(lambda store: write.apply(store, maybe_stored=maybe_stored))
        except CallAbandoned as abandoned:
            pending.call = CallInProgress(abandoned.call)
        except StoreUnavailable:
            return  # it stays the first
        except Exception as error:
            if not self._stopped:  # a store that was closed meanwhile refuses nothing for good
                self._set_aside(pending, error)
        else:
            self._spool.stored(pending, result)

    def _set_aside(self, pending: PendingWrite, cause: Exception) -> None:
        try:
            self._spool.set_aside(pending, cause)
        except OSError as error:
            log.error("a refused write cannot be set aside: %s", error, extra={"operation": "replay"})
            self._pending.wait_for(lambda: self._stopped, RETRY_INTERVAL)

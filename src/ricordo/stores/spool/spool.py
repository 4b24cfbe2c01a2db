"""The spool as one thing: writes go in, are on disk, readable and in order, and leave when the database has them.

In: writes that the database did not take, and the database when it is back. Out: their provisional results. Segments,
backlog and shadow change together here, under the lock of the session concerned, and nowhere else.
"""

import fcntl
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from ricordo.errors import DamageError, NotFoundError, StoreUnavailable
from ricordo.records.turns import Owner, SessionInfo, Turn
from ricordo.stores.protocols import Store
from ricordo.stores.spool.pending_writes import Backlog, Shadow, UnderWay, Waiting
from ricordo.stores.spool.recent_turns import RecentTurns
from ricordo.stores.spool.segments import (
    Segment,
    SegmentContents,
    Segments,
    frame,
    read_frames,
    replace_file,
    sync_directory,
)
from ricordo.stores.spool.writes import Scope, WaitingWrite, Write, decode, encode, owner_of

# Who was erased and when, for all processes that spool into one directory: what waits from before must not come back.


class Erasures:
    """The erasures of a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        if not any(directory.glob("*.spool")):
            for path in directory.glob("*.erased"):
                path.unlink(missing_ok=True)

    def note(self, owner: Owner, at: float) -> None:
        """The owner is erased at this moment."""
        replace_file(self._path(owner), repr(at).encode())

    def after(self, owner: Owner, at: float) -> bool:
        """Whether the owner was erased at that moment or later."""
        path = self._path(owner)
        return os.path.exists(path) and at <= float(path.read_bytes())

    def _path(self, owner: Owner) -> Path:
        return self._directory / f"{owner.key}.erased"


# What the database would not have, kept in a file beside the spool: never lost, never in the way of the rest.


class Refused:
    """The file of refused writes of a directory."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "refused.spool"
        self._lock = directory / "refused.lock"

    def add(self, entry: WaitingWrite, cause: str) -> None:
        """Keep a write that was refused; it is on disk when this returns."""
        self.keep(encode(entry, cause=cause))

    def keep(self, record: bytes) -> None:
        """Keep bytes as they are, also such as cannot be read."""
        with self._alone():
            new = not self._path.exists()
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "ab") as file:
                file.write(frame(record))
                file.flush()
                os.fsync(file.fileno())
            if new:
                sync_directory(self._path.parent)

    def records(self) -> tuple[bytes, ...]:
        """Everything that was refused, as it lies there: JSON with `cause`."""
        return read_frames(self._path.read_bytes()).records if self._path.exists() else ()

    def forget(self, owner: Owner) -> int:
        """Remove what is an owner's, and what cannot be read and may be; how many went."""
        with self._alone():
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
    def _alone(self) -> Iterator[None]:
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


log = logging.getLogger("ricordo")


class Spool:
    """Acknowledged writes that the database does not have yet."""

    def __init__(
        self, directory: Path, scratch: Store, at_hand: RecentTurns, now: Callable[[], float] = time.time
    ) -> None:
        self.segments = Segments(directory)
        self.refused = Refused(directory)
        self.erasures = Erasures(directory)
        self.backlog = Backlog()
        self.shadow = Shadow(scratch)
        self._at_hand, self._now = at_hand, now
        self._adopting = Lock()
        self.refusals = len(self.refused.records())
        self.last_refusal = ""

    def keep(self, write: Write, *, unsure: bool, under_way: UnderWay | None = None) -> Turn | SessionInfo:
        """Acknowledge a write: on disk, in its place behind what waits, and readable. Returns what it will make."""
        with self.backlog.lock(write.scope):
            self.shadow.open(write.scope, self._at_hand.get(*write.scope))
            base = self.shadow.base(write.scope)
            try:
                placed, result = self.shadow.apply(write)
                entry = WaitingWrite(placed, self._now(), unsure)
                segment = self.segments.append(encode(entry))
                self.backlog.add(Waiting(entry, segment, under_way=under_way))
            except NotFoundError as error:
                self._unused(write.scope)
                if base is not None and base.whole:
                    raise
                raise StoreUnavailable(f"{error}, as far as can be told while the database is away") from error
            except BaseException:
                self._unused(write.scope)
                raise
            return result

    def passed(self, scope: Scope, result: Turn | SessionInfo | None) -> None:
        """The database took a write directly. What began to wait meanwhile stands on it, and follows it."""
        with self.backlog.lock(scope):
            self._note(scope, result)
            if self.backlog.has(scope):
                self.shadow.rebuild(scope, self.backlog.writes_of(scope))

    def stored(self, waiting: Waiting, result: Turn | SessionInfo) -> None:
        """The database has it."""
        with self.backlog.lock(waiting.scope):
            self._note(waiting.scope, result)
            self._leave(waiting)

    def put_aside(self, waiting: Waiting, error: Exception) -> None:
        """The database will never have it: keep it beside, and go on."""
        cause = f"{type(error).__name__}: {error}"
        self.refused.add(waiting.entry, cause)
        self._count_refusal(cause)
        owner, session_id = waiting.scope
        log.error(
            "a write that waited was refused and put aside: %s",
            cause,
            extra={
                "operation": type(waiting.entry.write).__name__.lower(),
                "tenant_id": owner.tenant_id,
                "user_id": owner.user_id,
                "session_id": session_id,
                "cause": cause,
            },
        )
        self._leave(waiting)

    def adopt(self) -> int:
        """Take over what processes that are gone have left, in the order in which it was acknowledged; how much."""
        with self._adopting:
            found = [
                (segment, each)
                for segment, content in self.segments.adopt()
                for each in self._entries(segment, content)
            ]
            for segment, entry in sorted(found, key=lambda each: each[1].at):
                self._take_over(segment, entry)
            return len(found)

    def forget(self, owner: Owner) -> int:
        """Remove every byte of an owner from our files; how many writes went. Nothing may be on its way meanwhile."""
        doomed = self.backlog.of_owner(owner)
        for waiting in doomed:
            with self.backlog.lock(waiting.scope):
                self.backlog.remove(waiting)
                self.shadow.close(waiting.scope)
        counts = Counter(waiting.segment.path for waiting in doomed)
        self.segments.strip(lambda record: owner_of(record) in (owner, None), counts)
        gone = self.refused.forget(owner)
        self.refusals = len(self.refused.records())
        return len(doomed) + gone

    def erase(self, owner: Owner) -> int:
        """`forget`, and let the other processes that use the directory do the same before they replay."""
        self.erasures.note(owner, self._now())
        return self.forget(owner)

    def was_erased(self, waiting: Waiting) -> bool:
        """Whether its owner was erased, by whichever process, after the write was acknowledged."""
        return self.erasures.after(waiting.scope[0], waiting.entry.at)

    def close(self) -> None:
        """Let go of the files; what waits stays in them."""
        self.segments.close()

    def _note(self, scope: Scope, result: Turn | SessionInfo | None) -> None:
        """What the database has now is at hand, also for a shadow that is made anew."""
        if isinstance(result, Turn):
            self._at_hand.note_turn(result)
        else:
            self._at_hand.note_fields(*scope, result)
        if result is not None:
            self.shadow.note(scope, result)

    def _leave(self, waiting: Waiting) -> None:
        """The disk first, the queue last: whoever sees it gone from the queue sees it gone everywhere."""
        with self.backlog.lock(waiting.scope):
            try:
                self.segments.done(waiting.segment)
            except OSError as error:  # it stays on disk and is found stored when it is replayed again
                log.error("a spool file cannot be removed: %s", error, extra={"operation": "replay"})
            if self.backlog.is_last(waiting):
                self.shadow.close(waiting.scope)
            self.backlog.remove(waiting)

    def _unused(self, scope: Scope) -> None:
        """A write was not acknowledged: the shadow is what it was before it."""
        if self.backlog.has(scope):
            self.shadow.rebuild(scope, self.backlog.writes_of(scope))
        else:
            self.shadow.close(scope)

    def _entries(self, segment: Segment, content: SegmentContents) -> list[WaitingWrite]:
        entries, damaged, latest = [], list(content.damaged), 0.0
        for record in content.records:
            try:
                entry = decode(record)
            except DamageError:
                damaged.append(record)
                continue
            latest = max(latest, entry.at)  # order in a file counts more than a clock that was set back
            entries.append(WaitingWrite(entry.write, latest, unsure=True))
        for piece in damaged:
            self.refused.keep(piece)
            self._count_refusal("a damaged record")
            log.error("a damaged record of the spool was put aside", extra={"operation": "adopt"})
        segment.left = len(entries)
        if not entries:
            self.segments.drop(segment)
        return entries

    def _take_over(self, segment: Segment, entry: WaitingWrite) -> None:
        scope = entry.write.scope
        with self.backlog.lock(scope):
            self.shadow.open(scope, self._at_hand.get(*scope))
            self.backlog.add(Waiting(entry, segment))
            try:
                self.shadow.apply(entry.write)
            except Exception as error:  # it cannot be shown before the database has it; it is not lost
                log.warning(
                    "a write that waits cannot be read yet: %s",
                    type(error).__name__,
                    extra={"operation": "adopt", "tenant_id": scope[0].tenant_id, "user_id": scope[0].user_id}
                    | {"session_id": scope[1]},
                )

    def _count_refusal(self, cause: str) -> None:
        self.refusals += 1
        self.last_refusal = cause

"""The spool as one thing: writes go in, are on disk, readable and in order, and leave when the database has them.

In: writes that the database did not take, and the database when it is back. Out: their provisional results. Segments,
backlog and shadow change together here, under the lock of the session concerned, and nowhere else.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from ricordo.errors import DamageError, NotFoundError, StoreUnavailable
from ricordo.ports import Store
from ricordo.records import Owner, SessionInfo, Turn
from ricordo.spool.at_hand import AtHand
from ricordo.spool.backlog import Backlog, UnderWay, Waiting
from ricordo.spool.codec import Entry, decode, encode, owner_of
from ricordo.spool.erasures import Erasures
from ricordo.spool.frames import Found
from ricordo.spool.refused import Refused
from ricordo.spool.segments import Segment, Segments
from ricordo.spool.shadow import Shadow
from ricordo.spool.writes import Scope, Write

log = logging.getLogger("ricordo")


class Spool:
    """Acknowledged writes that the database does not have yet."""

    def __init__(self, directory: Path, scratch: Store, at_hand: AtHand, now: Callable[[], float] = time.time) -> None:
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
                entry = Entry(placed, self._now(), unsure)
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

    def _entries(self, segment: Segment, content: Found) -> list[Entry]:
        entries, damaged, latest = [], list(content.damaged), 0.0
        for record in content.records:
            try:
                entry = decode(record)
            except DamageError:
                damaged.append(record)
                continue
            latest = max(latest, entry.at)  # order in a file counts more than a clock that was set back
            entries.append(Entry(entry.write, latest, unsure=True))
        for piece in damaged:
            self.refused.keep(piece)
            self._count_refusal("a damaged record")
            log.error("a damaged record of the spool was put aside", extra={"operation": "adopt"})
        segment.left = len(entries)
        if not entries:
            self.segments.drop(segment)
        return entries

    def _take_over(self, segment: Segment, entry: Entry) -> None:
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

"""A store that goes on while its database is away: writes wait in a spool on disk, chats read what is at hand.

In: a way to open the store, and a directory. Out: a store with the same promises, whose writes to sessions are
acknowledged in any case once they are durable, here or there. Everything else says StoreUnavailable until the database
is back, and waits for the spool where it would otherwise overtake what was said before.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar, cast

from ricordo.errors import ConflictError, RicordoError, StoreError, StoreUnavailable
from ricordo.records.reports import Damage, Expired, SpoolState, StoreStats
from ricordo.records.turns import Message, Owner, SessionChanges, SessionInfo, StoredReceipt, Turn
from ricordo.stores.protocols import Store
from ricordo.stores.spool.circuit_breaker import Breaker, SpoolTimeouts
from ricordo.stores.spool.connection import Left, Silent, StoreConnection
from ricordo.stores.spool.derived import Told
from ricordo.stores.spool.pending_writes import UnderWay
from ricordo.stores.spool.reads import SpooledReads
from ricordo.stores.spool.recent_turns import RecentTurns
from ricordo.stores.spool.replay import Replay
from ricordo.stores.spool.spool import Spool
from ricordo.stores.spool.writes import AddMessage, AnswerWrite, Append, Scope, Update, Write

T = TypeVar("T")
log = logging.getLogger("ricordo")


class SpooledStore(SpooledReads):
    """Any store, with a spool before it.

    `open_store` is called until it succeeds, so that a program can start while the database is away; `open_probe`, if
    given, opens the same database once more, for the one question that is asked all the time (a pool of one
    connection and a short timeout will do). `scratch` is an empty store in the process, such as a MemoryStore.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        directory: str | Path,
        *,
        scratch: Store,
        open_probe: Callable[[], Store] | None = None,
        pace: SpoolTimeouts | None = None,
        location: str = "a database that is away",
    ) -> None:
        self._pace = pace or SpoolTimeouts()
        self._location, self._process = location, os.getpid()
        self._since: datetime | None = None
        self._last_error = ""
        self._closed = False
        self._at_hand, self._told = RecentTurns(), Told()
        self._spool = Spool(Path(directory), scratch, self._at_hand)
        self._line = StoreConnection(open_store, open_probe, self._pace, self._line_changed)
        self._replay = Replay(self._spool, self._line)
        try:
            self._spool.adopt()
            self._line.start()
        except BaseException:
            self._line.close()
            self._spool.close()
            raise
        if not self._line.breaker.passes:
            self._line_changed(self._line.breaker)
        self._replay.start()

    # What is told

    @property
    def location(self) -> str:
        return self._line.store.location if self._line.store else self._location

    @property
    def erase_notes(self) -> tuple[str, ...]:
        return self._line.store.erase_notes if self._line.store else ()

    @property
    def state(self) -> SpoolState:
        """Whether the database is away, since when, and what waits for it."""
        away, depth = not self._line.breaker.passes, self._spool.backlog.depth
        return SpoolState(
            degraded=away or depth > 0,
            away=away,
            since=self._since if away or depth else None,
            depth=depth,
            bytes=self._spool.segments.size,
            refused=self._spool.refusals,
            last_error=self._spool.last_refusal or self._last_error,
        )

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until the database is there and has everything; False if it takes longer."""
        return self._spool.backlog.wait_for(lambda: not self.state.degraded, timeout)

    # Writing

    def append(self, turn: Turn, *, expected: int | None = None, receipt: StoredReceipt | None = None) -> Turn:
        write = Append(turn, receipt)
        if expected is None:
            return cast(Turn, self._write(write, write.apply))
        return self._expecting(write, expected)

    def answer(
        self,
        owner: Owner,
        turn_id: str,
        answer: Message,
        metadata: dict[str, object],
        receipt: StoredReceipt | None,
    ) -> Turn:
        session_id = self._session_of(owner, turn_id)
        if session_id is not None:
            write = AnswerWrite(owner, session_id, turn_id, answer, metadata, receipt)
            return cast(Turn, self._write(write, write.apply))
        # A turn that is not at hand belongs to no session that we could name, so its answer cannot wait.
        answered = self._ask(lambda store: store.answer(owner, turn_id, answer, metadata, receipt))
        self._spool.passed((owner, answered.session_id), answered)
        return answered

    def add_message(self, turn: Turn) -> Turn:
        return cast(Turn, self._write(AddMessage(turn), lambda store: store.add_message(turn)))

    def update_session(self, owner: Owner, session_id: str, changes: SessionChanges) -> SessionInfo | None:
        scope, under_way = (owner, session_id), None

        def knows() -> bool:
            return self._known_info(scope) is not None

        if not self._spool.backlog.has(scope):
            try:
                changed = self._ask(lambda store: store.update_session(owner, session_id, changes), knows)
            except StoreUnavailable as error:
                if self._known_info(scope) is None:
                    raise
                under_way = _left_by(error)
            else:
                self._spool.passed(scope, changed)
                return changed
        write = Update(owner, session_id, changes)
        return cast(SessionInfo, self._spool.keep(write, unsure=True, under_way=under_way))

    def _write(self, write: Write, work: Callable[[Store], T]) -> T | Turn | SessionInfo:
        """Through the line if nothing of the session waits; else, or if the line breaks, into the spool.

        A line that is silent for a moment may yet do it: it is kept in the spool all the same, and acknowledged from
        there, with the call that is under way. It is sent once more if that call fails, and only after it has ended.
        """
        self._check_process()
        scope, sent, under_way = write.scope, False, None
        if not self._spool.backlog.has(scope):
            sent = self._line.breaker.passes
            try:
                done = self._line.call(work, lambda: self._counts_on(scope))
            except Silent as silent:
                return self._beside(write, silent)
            except StoreUnavailable as error:
                self._note_away(write, error, sent=sent)
                under_way = _left_by(error)
            else:
                return self._done(scope, done)
        return self._spool.keep(write, unsure=sent, under_way=under_way)

    def _beside(self, write: Write, silent: Silent) -> Turn | SessionInfo:
        """Keep a write whose call is under way; where that cannot be, the call is waited for after all."""
        if self._counts_on(write.scope):
            with suppress(RicordoError):
                return self._spool.keep(write, unsure=True, under_way=UnderWay(silent.call))
        return self._done(write.scope, cast(Turn, self._line.stay(silent)))

    def _done(self, scope: Scope, done: T) -> T:
        if isinstance(done, Turn):
            self._spool.passed(scope, done)
        return done

    def _counts_on(self, scope: Scope) -> bool:
        """Whether what is at hand of a session tells the number of its next turn."""
        known = self._at_hand.get(*scope)
        return known is not None and (known.whole or bool(known.turns) or known.info is not None)

    def _expecting(self, write: Append, expected: int) -> Turn:
        """A write that counts on a number: while it must wait, on the number that follows what is at hand."""
        under_way = None
        if not self._spool.backlog.has(write.scope):
            sent = self._line.breaker.passes
            try:
                kept = self._ask(lambda store: store.append(write.turn, expected=expected, receipt=write.receipt))
            except StoreUnavailable as error:
                self._note_away(write, error, sent=sent)
                under_way = _left_by(error)
            else:
                self._spool.passed(write.scope, kept)
                return kept
        info = self._known_info(write.scope)
        repeated = self._at_hand.session_of(write.turn.owner, write.turn.id) or self._shadow_turn(write.turn)
        if not repeated and expected != (info.last_turn if info else 0) + 1:
            raise ConflictError(
                f"turn_number {expected} is not the next of session {write.turn.session_id!r}, as far as can be told "
                "while the database is away; read the session again or leave the number out"
            )
        return cast(Turn, self._spool.keep(write, unsure=True, under_way=under_way))

    def _shadow_turn(self, turn: Turn) -> Turn | None:
        return self._spool.shadow.turn(turn.owner, turn.id)

    def _session_of(self, owner: Owner, turn_id: str) -> str | None:
        waiting = self._spool.shadow.turn(owner, turn_id)
        return waiting.session_id if waiting else self._at_hand.session_of(owner, turn_id)

    # What cannot wait

    def load(self, session: SessionInfo, turns: Iterable[Turn]) -> tuple[int, int]:
        self._settled(session.owner, session.id)
        result = self._line.direct(lambda store: store.load(session, turns))
        self._forget(session.owner, session.id)
        return result

    def clear(self, owner: Owner, session_id: str) -> int | None:
        self._settled(owner, session_id)
        gone = self._line.direct(lambda store: store.clear(owner, session_id))
        self._forget(owner, session_id)
        return gone

    def delete_session(self, owner: Owner, session_id: str) -> int | None:
        self._settled(owner, session_id)
        gone = self._line.direct(lambda store: store.delete_session(owner, session_id))
        self._forget(owner, session_id)
        return gone

    def expire(
        self, owner: Owner, *, turns_before: datetime | None, idle_before: datetime | None, batch: int
    ) -> Expired:
        self._settled(owner)
        expired = self._line.direct(
            lambda store: store.expire(owner, turns_before=turns_before, idle_before=idle_before, batch=batch)
        )
        if expired.turns or expired.sessions:
            self._forget(owner)
        return expired

    def erase(self, owner: Owner) -> dict[str, int]:
        self._check_process()
        if not self._line.breaker.passes:
            raise StoreUnavailable(
                f"user {owner.user_id!r} cannot be erased while the database is away; nothing was removed, try later"
            )
        with self._replay.sending:
            if not self._line.await_left(self._pace.patience):
                raise StoreUnavailable(
                    f"user {owner.user_id!r} cannot be erased while calls are under way that might write; nothing was "
                    "removed, try later"
                )
            spooled = self._spool.erase(owner)
            self._forget(owner)
            removed = self._line.direct(lambda store: store.erase(owner))
            spooled += self._spool.erase(owner)  # what came in between
            self._forget(owner)
        return removed | ({"spooled": spooled} if spooled else {})

    def owners(self, tenant_id: str) -> Iterator[Owner]:
        return self._line.direct(lambda store: store.owners(tenant_id))

    def stats(self, tenant_id: str) -> StoreStats:
        return self._line.direct(lambda store: store.stats(tenant_id))

    def integrity(self) -> Sequence[Damage]:
        return self._line.direct(lambda store: store.integrity())

    def backup(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        if not self.settle(self._pace.patience):
            raise StoreUnavailable("writes wait in the spool, which a backup would miss; try again later")
        self._line.direct(lambda store: store.backup(path, progress))

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._process != os.getpid():
            return  # threads and files are the parent's
        if self._line.breaker.passes:
            self.settle(self._pace.patience)
        self._replay.stop()
        self._line.close()
        self._spool.close()

    # Telling

    def _note_away(self, write: Write, error: StoreUnavailable, *, sent: bool) -> None:
        """One line for each call that was under way when the database went; those that follow are not news."""
        owner, session_id = write.scope
        self._last_error = str(error)
        log.log(
            logging.WARNING if sent else logging.DEBUG,
            "the database is away, a write waits: %s",
            error,
            extra={
                "operation": type(write).__name__.lower(),
                "tenant_id": owner.tenant_id,
                "user_id": owner.user_id,
                "session_id": session_id,
                "cause": str(error),
            },
        )

    def _line_changed(self, breaker: Breaker) -> None:
        details = {"operation": "spool", "depth": self._spool.backlog.depth, "cause": breaker.cause}
        if breaker.passes:
            log.info("the database answers again; %d writes wait", self._spool.backlog.depth, extra=details)
        else:
            self._last_error = breaker.cause
            if self._since is None or not self._spool.backlog.depth:
                self._since = datetime.now(UTC)
            log.warning("the database is away: %s", breaker.cause, extra=details)
        self._spool.backlog.wake()

    def _check_process(self) -> None:
        if self._closed:
            raise StoreError(f"{self.location} was closed; open it again")
        if self._process != os.getpid():
            raise StoreError(f"{self.location} was opened before this process was forked; open it again in the child")


def _left_by(error: StoreUnavailable) -> UnderWay | None:
    """The call that an error leaves under way."""
    return UnderWay(error.call) if isinstance(error, Left) else None

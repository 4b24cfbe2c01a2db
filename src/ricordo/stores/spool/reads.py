"""Reading while the database may be away: from the database, or from what is at hand with what waits on top.

In: the same questions as any store gets. Out: the same answers; while the database is away, those that a chat needs, as
far as they are at hand, and `notes` that say what is missing. What would be wrong for being incomplete is refused.
"""

from collections.abc import Sequence

from ricordo.errors import StoreUnavailable
from ricordo.records.turns import Owner, SessionInfo, StoredReceipt, Turn
from ricordo.stores.spool.circuit_breaker import SpoolTimeouts, in_a_hurry
from ricordo.stores.spool.derived import Derived
from ricordo.stores.spool.recent_turns import KnownSession, select
from ricordo.stores.spool.spool import Spool
from ricordo.stores.spool.writes import Scope


class SpooledReads(Derived):
    """Turns and sessions, wherever they are."""

    _spool: Spool
    _pace: SpoolTimeouts

    def turns(
        self,
        owner: Owner,
        session_id: str,
        *,
        last: int | None = None,
        before: int | None = None,
        after: int | None = None,
    ) -> Sequence[Turn]:
        scope = (owner, session_id)
        if self._spool.backlog.has(scope):
            return self._waiting_turns(scope, last, before, after)
        since = self._at_hand.moment
        try:
            found = self._ask(
                lambda store: store.turns(owner, session_id, last=last, before=before, after=after),
                lambda: self._has_all(scope, last, before, after),
            )
        except StoreUnavailable:
            if self._spool.backlog.has(scope):
                return self._waiting_turns(scope, last, before, after)
            known = self._at_hand.get(owner, session_id)
            if known is None or not (known.turns or known.whole):
                raise
            if last is None and not self._has_all(scope, last, before, after):
                raise
            return select(known.turns, last, before, after)
        if before is None and not after and last != 0:
            whole = last is None or len(found) < last
            self._at_hand.read_tail(owner, session_id, found, whole=whole, since=since)
        return found

    def turn(self, owner: Owner, turn_id: str) -> Turn | None:
        waiting = self._spool.shadow.turn(owner, turn_id)
        if waiting:
            return waiting
        try:
            at_hand = self._at_hand.session_of(owner, turn_id) is not None
            return self._ask(lambda store: store.turn(owner, turn_id), lambda: at_hand)
        except StoreUnavailable:
            known = self._at_hand.get(owner, self._at_hand.session_of(owner, turn_id) or "")
            found = next((turn for turn in known.every if turn.id == turn_id), None) if known else None
            if found is None:
                raise
            return found

    def turns_by_id(self, owner: Owner, turn_ids: Sequence[str]) -> Sequence[Turn]:
        waiting = {turn_id: turn for turn_id in turn_ids if (turn := self._spool.shadow.turn(owner, turn_id))}
        others = [turn_id for turn_id in turn_ids if turn_id not in waiting]
        found = self._ask(lambda store: store.turns_by_id(owner, others)) if others else ()
        return [*waiting.values(), *found]

    def session(self, owner: Owner, session_id: str) -> SessionInfo | None:
        scope = (owner, session_id)
        if not self._spool.backlog.has(scope):
            since = self._at_hand.moment
            try:
                info = self._ask(lambda store: store.session(owner, session_id), lambda: self._has_fields(scope))
            except StoreUnavailable:
                known = self._at_hand.get(owner, session_id)
                if self._known_info(scope) is None and not (known and known.is_new):
                    raise
            else:
                self._at_hand.read_fields(owner, session_id, info, since=since)
                return info
        return self._known_info(scope)

    def sessions(
        self, owner: Owner, *, limit: int, agent_id: str | None = None, before: SessionInfo | None = None
    ) -> Sequence[SessionInfo]:
        try:
            self._settled(owner)
            return self._ask(lambda store: store.sessions(owner, limit=limit, agent_id=agent_id, before=before))
        except StoreUnavailable:
            if in_a_hurry():
                return ()  # a chat looks for talks that were left; there is time for that later
            raise

    def sessions_at_hand(self, owner: Owner, *, limit: int) -> list[SessionInfo]:
        """The sessions of an owner that can be talked in while the database is away, most recently active first."""
        scopes = {(owner, known.session_id) for known in self._at_hand.of(owner)}
        scopes |= {waiting.scope for waiting in self._spool.backlog.of_owner(owner)}
        infos = [info for info in map(self._known_info, scopes) if info]
        return sorted(infos, key=lambda info: (info.last_active_at, info.id), reverse=True)[:limit]

    def receipts(
        self, owner: Owner, session_id: str, *, turn_number: int | None = None, limit: int = 50
    ) -> Sequence[StoredReceipt]:
        scope = (owner, session_id)
        if self._spool.backlog.has(scope) and turn_number is not None:
            waiting = self._spool.shadow.receipts(scope, turn_number, limit)
            if waiting:
                return waiting
        self._settled(owner, session_id)
        return self._ask(lambda store: store.receipts(owner, session_id, turn_number=turn_number, limit=limit))

    def notes(self, owner: Owner, session_id: str) -> tuple[str, ...]:
        """What is to be said about a session's memory now, in sentences; empty while all is well."""
        away = not self._line.breaker.passes or self._line.in_doubt
        waits = self._spool.backlog.has((owner, session_id))
        base = self._spool.shadow.base((owner, session_id))
        known = base.known if base else self._at_hand.get(owner, session_id)
        said = []
        if away:
            said.append("the database is away: what is said now is kept on disk and stored later")
        elif waits:
            said.append("what was said while the database was away is being stored")
        if (away or waits) and (known is None or not (known.whole or known.turns)):
            said.append(
                "what was said earlier in this session, if anything, is not at hand; turn numbers are provisional"
            )
        elif (away or waits) and known is not None and not known.whole:
            said.append(f"only the last {len(known.turns)} turns from before are at hand")
        return tuple(said)

    def _waiting_turns(self, scope: Scope, last: int | None, before: int | None, after: int | None) -> Sequence[Turn]:
        """What is at hand of a session with waiting writes; the whole of it only if nothing is missing."""
        with self._spool.backlog.lock(scope):
            base = self._spool.shadow.base(scope)
            if base is not None and (base.whole or last is not None or base.reaches(after)):
                return self._spool.shadow.turns(scope, last, before, after)
        self._settled(*scope)
        return self._ask(lambda store: store.turns(*scope, last=last, before=before, after=after))

    def _has_all(self, scope: Scope, last: int | None, before: int | None, after: int | None) -> bool:
        """Whether the turns that are asked for are at hand, as far as this process can know."""
        known = self._at_hand.get(*scope)
        if known is None or known.whole or self._spool.backlog.has(scope):
            return known is not None
        if after is not None and known.turns:
            return after + 1 >= known.turns[0].turn_number
        return last is not None and before is None and last <= len(known.turns)

    def _has_fields(self, scope: Scope) -> bool:
        known = self._at_hand.get(*scope)
        return known is not None and (known.info is not None or known.is_new)

    def _known_info(self, scope: Scope) -> SessionInfo | None:
        with self._spool.backlog.lock(scope):
            if self._spool.backlog.has(scope):
                return self._spool.shadow.session(scope)
        known: KnownSession | None = self._at_hand.get(*scope)
        return known.described() if known else None

    def _settled(self, owner: Owner, session_id: str | None = None) -> None:
        """Wait until nothing of the owner, or of the session, waits; StoreUnavailable if it takes too long."""
        backlog = self._spool.backlog

        def nothing_waits() -> bool:
            return not (backlog.has_any_of(owner) if session_id is None else backlog.has((owner, session_id)))

        if nothing_waits():
            return
        if not in_a_hurry():
            backlog.wait_for(lambda: nothing_waits() or not self._line.breaker.passes, self._pace.patience)
        if not nothing_waits():
            raise StoreUnavailable("writes wait in the spool, which this must not overtake; try again later")

"""The caches that a chat reads while the database is away: the newest turns of sessions, and last known values.

In: every result that the database returns. Out: the newest turns of a session as last read, and the last result of the
same call. Both caches are bounded; the least recently used entry is evicted first.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any
from uuid import UUID

from ricordo.records.turns import Owner, SessionInfo, Turn

SESSIONS = 2_000
TURNS = 32
CHARACTERS = 64 * 2**20
OWNERS = 1_000
VALUES = 32  # for each owner


@dataclass(frozen=True, slots=True)
class CachedSession:
    """The cached part of a session: its newest `turns`, in order; `whole` if there are no others.

    `apart` are older turns, with turns missing between them and `turns`. They can be answered, but no read returns
    them.
    """

    owner: Owner
    session_id: str
    turns: tuple[Turn, ...] = ()
    whole: bool = False
    info: SessionInfo | None = None
    apart: tuple[Turn, ...] = ()

    @property
    def every(self) -> tuple[Turn, ...]:
        return (*self.apart, *self.turns)

    @property
    def is_new(self) -> bool:
        """Whether the database reported that there is no such session."""
        return self.whole and not self.turns and self.info is None

    def described(self) -> SessionInfo | None:
        """The session's fields; derived from its turns where the fields were never read."""
        if self.info or not self.turns:
            return self.info
        first, last = self.turns[0], self.turns[-1]
        active = max(message.created_at for turn in self.turns for message in turn.messages)
        number = last.turn_number
        return SessionInfo(self.session_id, self.owner, first.agent_id, first.created_at, active, number, number)


def with_turn(known: CachedSession, turn: Turn) -> CachedSession:
    """The cached session after a turn was written.

    If its number does not follow, turns are missing, of other writers or not received yet. Then the older turns are set
    apart until the missing turns are known.
    """
    turns, apart, whole, number = known.turns, known.apart, known.whole, turn.turn_number
    if not turns:
        turns, whole = (turn,), number == 1
    elif number == turns[-1].turn_number + 1:
        turns = (*turns, turn)
    elif number > turns[-1].turn_number:
        turns, apart, whole = (turn,), (*apart, *turns), False
    elif number >= turns[0].turn_number:
        turns = _placed(turns, turn)
    else:
        turns, apart = _joined(_placed(apart, turn), turns)
        whole = turns[0].turn_number == 1
    return _bounded(replace(known, turns=turns, whole=whole, info=_touched(known.info, turn), apart=apart))


def with_tail(known: CachedSession, turns: Sequence[Turn], *, whole: bool) -> CachedSession:
    """The cached session after its newest turns were read.

    Cached turns stay if they directly precede them, or are open.
    """
    first = turns[0].turn_number if turns and not whole else 0
    before = tuple(turn for turn in known.turns if turn.turn_number < first)
    same = next((turn.id for turn in known.turns if turn.turn_number == first), None)
    joins = turns[0].id == same if same else bool(before) and before[-1].turn_number == first - 1
    if not joins:
        before = ()
    older = tuple(turn for turn in known.every if turn.is_open and turn.turn_number < first and turn not in before)
    return _bounded(replace(known, turns=(*before, *turns), whole=whole or (joins and known.whole), apart=older))


def _placed(turns: tuple[Turn, ...], turn: Turn) -> tuple[Turn, ...]:
    """The turns with one added or replaced."""
    others = [each for each in turns if each.turn_number != turn.turn_number]
    return tuple(sorted([*others, turn], key=lambda each: each.turn_number))


def _joined(apart: tuple[Turn, ...], turns: tuple[Turn, ...]) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """The tail with the turns that directly precede it, and those still apart."""
    while apart and apart[-1].turn_number == turns[0].turn_number - 1:
        turns, apart = (apart[-1], *turns), apart[:-1]
    return turns, apart


def _bounded(known: CachedSession) -> CachedSession:
    """At most TURNS turns; open ones that do not fit are set apart."""
    gone, apart = known.turns[:-TURNS], known.apart
    if not gone and len(apart) <= TURNS:
        return known
    waiting = tuple(turn for turn in (*apart, *gone) if turn.is_open)
    return replace(
        known, turns=known.turns[-TURNS:], whole=known.whole and not gone, apart=waiting[max(0, len(waiting) - TURNS) :]
    )


def select(turns: Sequence[Turn], last: int | None, before: int | None, after: int | None) -> tuple[Turn, ...]:
    """The turns that a store would return."""
    found = [
        turn
        for turn in turns
        if (before is None or turn.turn_number < before) and (after is None or turn.turn_number > after)
    ]
    return tuple(found if last is None else found[max(0, len(found) - last) :])


def _touched(info: SessionInfo | None, turn: Turn) -> SessionInfo | None:
    """The fields after a turn was written; skipped numbers count as turns of other writers."""
    if info is None:
        return None
    last = max(info.last_turn, turn.turn_number)
    return replace(
        info, last_turn=last, turn_count=info.turn_count + last - info.last_turn, revision=info.revision + 1,
        last_active_at=max(info.last_active_at, *(message.created_at for message in turn.messages)), ended_at=None,
    )  # fmt: skip


class RecentTurns:
    """A bounded cache of recently used sessions.

    Results may arrive in any order. A reader gets the `version` before it reads, and passes it with the result. The
    result is ignored if the session was written or forgotten since, because it may be out of date.
    """

    def __init__(self, sessions: int = SESSIONS, characters: int = CHARACTERS) -> None:
        self._most_sessions, self._most_characters = sessions, characters
        self._known: OrderedDict[tuple[UUID, str], CachedSession] = OrderedDict()
        self._session_ids: dict[tuple[UUID, str], str] = {}
        self._sizes: dict[tuple[UUID, str], int] = {}
        self._written: dict[tuple[UUID, str], int] = {}
        self._evicted = 0  # the version of the last write to any session that is no longer cached
        self._version = 0
        self._characters = 0
        self._lock = Lock()

    @property
    def version(self) -> int:
        """A counter of writes."""
        return self._version

    def get(self, owner: Owner, session_id: str) -> CachedSession | None:
        with self._lock:
            key = (owner.key, session_id)
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def session_of(self, owner: Owner, turn_id: str) -> str | None:
        with self._lock:
            return self._session_ids.get((owner.key, turn_id))

    def of(self, owner: Owner) -> list[CachedSession]:
        """The cached sessions of an owner."""
        with self._lock:
            return [known for (key, _), known in self._known.items() if key == owner.key]

    def note_turn(self, turn: Turn) -> None:
        """Cache a turn that was just written."""
        with self._lock:
            self._write(with_turn(self._of(turn.owner, turn.session_id), turn))

    def note_fields(self, owner: Owner, session_id: str, info: SessionInfo | None) -> None:
        """Cache fields that were just written, or None: there is no such session."""
        with self._lock:
            self._write(self._with_fields(owner, session_id, info))

    def read_tail(self, owner: Owner, session_id: str, turns: Sequence[Turn], *, whole: bool, since: int) -> None:
        """Cache the newest turns of a session, read at version `since`."""
        with self._lock:
            if self._is_current((owner.key, session_id), since):
                self._put(with_tail(self._of(owner, session_id), turns, whole=whole))

    def read_fields(self, owner: Owner, session_id: str, info: SessionInfo | None, *, since: int) -> None:
        """Cache a session's fields, or None, read at version `since`."""
        with self._lock:
            if self._is_current((owner.key, session_id), since):
                self._put(self._with_fields(owner, session_id, info))

    def forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Drop a session, or all of an owner; results that are still on their way are ignored."""
        with self._lock:
            for key in list(self._known):
                if key[0] == owner.key and session_id in (None, key[1]):
                    self._drop(key)
            self._version += 1
            self._evicted = self._version

    def _of(self, owner: Owner, session_id: str) -> CachedSession:
        return self._known.get((owner.key, session_id)) or CachedSession(owner, session_id)

    def _with_fields(self, owner: Owner, session_id: str, info: SessionInfo | None) -> CachedSession:
        return replace(self._of(owner, session_id), info=info) if info else CachedSession(owner, session_id, whole=True)

    def _is_current(self, key: tuple[UUID, str], since: int) -> bool:
        return self._written.get(key, self._evicted) <= since

    def _write(self, known: CachedSession) -> None:
        self._version += 1
        self._written[known.owner.key, known.session_id] = self._version
        self._put(known)

    def _put(self, known: CachedSession) -> None:
        key = (known.owner.key, known.session_id)
        before = self._known.get(key)
        self._known[key] = known
        self._known.move_to_end(key)
        self._written.setdefault(key, self._evicted)
        if before is None or before.turns is not known.turns or before.apart is not known.apart:
            for turn in before.every if before else ():
                self._session_ids.pop((key[0], turn.id), None)
            for turn in known.every:
                self._session_ids[key[0], turn.id] = known.session_id
            size = sum(len(message.content) for turn in known.every for message in turn.messages)
            self._characters += size - self._sizes.get(key, 0)
            self._sizes[key] = size
        while len(self._known) > 1 and (
            len(self._known) > self._most_sessions or self._characters > self._most_characters
        ):
            self._drop(next(iter(self._known)))

    def _drop(self, key: tuple[UUID, str]) -> None:
        for turn in self._known.pop(key).every:
            self._session_ids.pop((key[0], turn.id), None)
        self._characters -= self._sizes.pop(key, 0)
        self._evicted = max(self._evicted, self._written.pop(key))


@dataclass
class _OwnerValues:
    """The values of an owner, and the version at which the last were forgotten."""

    forgotten: int = 0
    values: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)


class LastKnownValues:
    """The last result of each call about an owner, bounded.

    As in `RecentTurns`, a reader passes the `version` from before it read: nothing forgotten since comes back.
    """

    def __init__(self, owners: int = OWNERS, values: int = VALUES) -> None:
        self._most_owners, self._most_values = owners, values
        self._owners: OrderedDict[UUID, _OwnerValues] = OrderedDict()
        self._evicted = 0  # the last version at which anything was forgotten of an evicted owner
        self._version = 0
        self._lock = Lock()

    @property
    def version(self) -> int:
        """A counter of what was forgotten."""
        return self._version

    def get(self, owner: Owner, question: Hashable) -> tuple[Any, ...]:
        """The value alone in a tuple; an empty one if it is not known."""
        with self._lock:
            known = self._owners.get(owner.key)
            return (known.values[question],) if known and question in known.values else ()

    def note(self, owner: Owner, question: Hashable, value: Any, *, since: int) -> None:
        """Keep a value that was read at version `since`."""
        with self._lock:
            known = self._of(owner)
            if known.forgotten <= since:
                known.values[question] = value
                known.values.move_to_end(question)
                while len(known.values) > self._most_values:
                    known.values.popitem(last=False)

    def knows(self, owner: Owner) -> bool:
        """Whether any value of an owner is known."""
        with self._lock:
            known = self._owners.get(owner.key)
            return known is not None and bool(known.values)

    def forget(self, owner: Owner, question: Hashable | None = None) -> None:
        """Drop all values of an owner, or one; values that are still being read are ignored."""
        with self._lock:
            self._version += 1
            known = self._of(owner)
            known.forgotten = self._version
            if question is None:
                known.values.clear()
            else:
                known.values.pop(question, None)

    def _of(self, owner: Owner) -> _OwnerValues:
        known = self._owners.setdefault(owner.key, _OwnerValues(self._evicted))
        self._owners.move_to_end(owner.key)
        while len(self._owners) > self._most_owners:
            self._evicted = max(self._evicted, self._owners.popitem(last=False)[1].forgotten)
        return known

"""The newest turns of sessions in use, kept in the process: what a chat reads while the database is away.

In: whatever passes between callers and the database. Out: the tail of a session as last seen, with how much of it is
missing. Bounded by sessions, turns and characters; the session that was used longest ago goes first.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from uuid import UUID

from ricordo.records.turns import Owner, SessionInfo, Turn

SESSIONS = 2_000
TURNS = 32
CHARACTERS = 64 * 2**20


@dataclass(frozen=True, slots=True)
class KnownSession:
    """What is known of a session. `turns` are its newest, in order; `whole` if there are no others.

    `apart` are older ones that do not join them: something between is not known, or not known yet. They are kept for
    being answered, and are not shown.
    """

    owner: Owner
    session_id: str
    turns: tuple[Turn, ...] = ()
    whole: bool = False
    info: SessionInfo | None = None
    apart: tuple[Turn, ...] = ()

    @property
    def every(self) -> tuple[Turn, ...]:
        """All that is kept, in order."""
        return (*self.apart, *self.turns)

    @property
    def is_new(self) -> bool:
        """Whether the database has said that there is no such session."""
        return self.whole and not self.turns and self.info is None

    def described(self) -> SessionInfo | None:
        """The session's fields, as far as its turns tell them where the fields themselves were never read."""
        if self.info or not self.turns:
            return self.info
        first, last = self.turns[0], self.turns[-1]
        active = max(message.created_at for turn in self.turns for message in turn.messages)
        number = last.turn_number
        return SessionInfo(self.session_id, self.owner, first.agent_id, first.created_at, active, number, number)


def with_turn(known: KnownSession, turn: Turn) -> KnownSession:
    """What is known after a turn was written.

    A number that does not follow tells that others write too, or that their results are still on their way: what was
    known is set apart, until the turns between have come.
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


def with_tail(known: KnownSession, turns: Sequence[Turn], *, whole: bool) -> KnownSession:
    """What is known after the newest turns were read.

    Of what was known before, turns stay that stand directly before them, and open ones that are older.
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
    """Turns with one more, or with one as it is now."""
    others = [each for each in turns if each.turn_number != turn.turn_number]
    return tuple(sorted([*others, turn], key=lambda each: each.turn_number))


def _joined(apart: tuple[Turn, ...], turns: tuple[Turn, ...]) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """The tail with what turned out to stand directly before it, and what is still apart."""
    while apart and apart[-1].turn_number == turns[0].turn_number - 1:
        turns, apart = (apart[-1], *turns), apart[:-1]
    return turns, apart


def _bounded(known: KnownSession) -> KnownSession:
    """No more turns than there is room for; of those that would go, the open ones are set apart."""
    gone, apart = known.turns[:-TURNS], known.apart
    if not gone and len(apart) <= TURNS:
        return known
    waiting = tuple(turn for turn in (*apart, *gone) if turn.is_open)
    return replace(
        known, turns=known.turns[-TURNS:], whole=known.whole and not gone, apart=waiting[max(0, len(waiting) - TURNS) :]
    )


def select(turns: Sequence[Turn], last: int | None, before: int | None, after: int | None) -> tuple[Turn, ...]:
    """Those of the turns that a store would give."""
    found = [
        turn
        for turn in turns
        if (before is None or turn.turn_number < before) and (after is None or turn.turn_number > after)
    ]
    return tuple(found if last is None else found[max(0, len(found) - last) :])


def _touched(info: SessionInfo | None, turn: Turn) -> SessionInfo | None:
    """The fields after a turn was written: numbers that were passed over are other turns that were written."""
    if info is None:
        return None
    last = max(info.last_turn, turn.turn_number)
    return replace(
        info,
        last_turn=last,
        turn_count=info.turn_count + last - info.last_turn,
        revision=info.revision + 1,
        last_active_at=max(info.last_active_at, *(message.created_at for message in turn.messages)),
        ended_at=None,
    )


class RecentTurns:
    """What is known of the sessions in use, within bounds.

    Results arrive in any order. Whoever reads takes the `moment` before asking and gives it along with what was read,
    which is not noted where something was written or forgotten since: it would take the place of what is newer.
    """

    def __init__(self, sessions: int = SESSIONS, characters: int = CHARACTERS) -> None:
        self._most, self._room = sessions, characters
        self._known: OrderedDict[tuple[UUID, str], KnownSession] = OrderedDict()
        self._homes: dict[tuple[UUID, str], str] = {}
        self._sizes: dict[tuple[UUID, str], int] = {}
        self._written: dict[tuple[UUID, str], int] = {}
        self._lost = 0  # the last write to anything that is no longer at hand
        self._moment = 0
        self._characters = 0
        self._lock = Lock()

    @property
    def moment(self) -> int:
        """Now, counted in writes."""
        return self._moment

    def get(self, owner: Owner, session_id: str) -> KnownSession | None:
        """What is known of a session."""
        with self._lock:
            key = (owner.key, session_id)
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def session_of(self, owner: Owner, turn_id: str) -> str | None:
        """The session of a turn that is at hand."""
        with self._lock:
            return self._homes.get((owner.key, turn_id))

    def of(self, owner: Owner) -> list[KnownSession]:
        """What is known of an owner's sessions."""
        with self._lock:
            return [known for (key, _), known in self._known.items() if key == owner.key]

    def note_turn(self, turn: Turn) -> None:
        """A turn as it was just written."""
        with self._lock:
            self._write(with_turn(self._of(turn.owner, turn.session_id), turn))

    def note_fields(self, owner: Owner, session_id: str, info: SessionInfo | None) -> None:
        """A session's fields as they were just written, or that there is no such session to write to."""
        with self._lock:
            self._write(self._with_fields(owner, session_id, info))

    def read_tail(self, owner: Owner, session_id: str, turns: Sequence[Turn], *, whole: bool, since: int) -> None:
        """The newest turns of a session, asked for at the moment `since`."""
        with self._lock:
            if self._is_news((owner.key, session_id), since):
                self._put(with_tail(self._of(owner, session_id), turns, whole=whole))

    def read_fields(self, owner: Owner, session_id: str, info: SessionInfo | None, *, since: int) -> None:
        """A session's fields, or that there is none, asked for at the moment `since`."""
        with self._lock:
            if self._is_news((owner.key, session_id), since):
                self._put(self._with_fields(owner, session_id, info))

    def forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Let go of a session, or of all of an owner, and of what was asked about them and is still on its way."""
        with self._lock:
            for key in list(self._known):
                if key[0] == owner.key and session_id in (None, key[1]):
                    self._drop(key)
            self._moment += 1
            self._lost = self._moment

    def _of(self, owner: Owner, session_id: str) -> KnownSession:
        return self._known.get((owner.key, session_id)) or KnownSession(owner, session_id)

    def _with_fields(self, owner: Owner, session_id: str, info: SessionInfo | None) -> KnownSession:
        return replace(self._of(owner, session_id), info=info) if info else KnownSession(owner, session_id, whole=True)

    def _is_news(self, key: tuple[UUID, str], since: int) -> bool:
        return self._written.get(key, self._lost) <= since

    def _write(self, known: KnownSession) -> None:
        self._moment += 1
        self._written[known.owner.key, known.session_id] = self._moment
        self._put(known)

    def _put(self, known: KnownSession) -> None:
        key = (known.owner.key, known.session_id)
        before = self._known.get(key)
        self._known[key] = known
        self._known.move_to_end(key)
        self._written.setdefault(key, self._lost)
        if before is None or before.turns is not known.turns or before.apart is not known.apart:
            for turn in before.every if before else ():
                self._homes.pop((key[0], turn.id), None)
            for turn in known.every:
                self._homes[key[0], turn.id] = known.session_id
            size = sum(len(message.content) for turn in known.every for message in turn.messages)
            self._characters += size - self._sizes.get(key, 0)
            self._sizes[key] = size
        while len(self._known) > 1 and (len(self._known) > self._most or self._characters > self._room):
            self._drop(next(iter(self._known)))

    def _drop(self, key: tuple[UUID, str]) -> None:
        for turn in self._known.pop(key).every:
            self._homes.pop((key[0], turn.id), None)
        self._characters -= self._sizes.pop(key, 0)
        self._lost = max(self._lost, self._written.pop(key))

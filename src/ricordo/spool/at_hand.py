"""The newest turns of sessions in use, kept in the process: what a chat reads while the database is away.

In: whatever passes between callers and the database. Out: the tail of a session as last seen, with how much of it is
missing. Bounded by sessions, turns and characters; the session that was used longest ago goes first.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from uuid import UUID

from ricordo.records import Owner, SessionInfo, Turn

SESSIONS = 2_000
TURNS = 32
CHARACTERS = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a session. `turns` are its newest, in order; `whole` if there are no others."""

    owner: Owner
    session_id: str
    turns: tuple[Turn, ...] = ()
    whole: bool = False
    info: SessionInfo | None = None

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


def with_turn(known: Known, turn: Turn) -> Known:
    """What is known after a turn was written. A number that does not follow tells that others write too."""
    turns, number = known.turns, turn.turn_number
    is_next = number == (turns[-1].turn_number if turns else 0) + 1
    if turns and turns[0].turn_number <= number <= turns[-1].turn_number:
        seen = tuple(turn if each.turn_number == number else each for each in turns)
        return replace(known, turns=seen, info=_touched(known.info, turn, more=0))
    if turns and number < turns[0].turn_number:
        return known
    kept = (*turns, turn) if is_next else (turn,)
    whole = number == 1 or (known.whole and is_next)
    return replace(
        known, turns=kept[-TURNS:], whole=whole and len(kept) <= TURNS, info=_touched(known.info, turn, more=1)
    )


def with_tail(known: Known, turns: Sequence[Turn], *, whole: bool) -> Known:
    """What is known after the newest turns were read."""
    return replace(known, turns=tuple(turns)[-TURNS:], whole=whole and len(turns) <= TURNS)


def select(turns: Sequence[Turn], last: int | None, before: int | None, after: int | None) -> tuple[Turn, ...]:
    """Those of the turns that a store would give."""
    found = [
        turn
        for turn in turns
        if (before is None or turn.turn_number < before) and (after is None or turn.turn_number > after)
    ]
    return tuple(found if last is None else found[max(0, len(found) - last) :])


def _touched(info: SessionInfo | None, turn: Turn, *, more: int) -> SessionInfo | None:
    if info is None:
        return None
    return replace(
        info,
        last_turn=max(info.last_turn, turn.turn_number),
        turn_count=info.turn_count + more,
        revision=info.revision + 1,
        last_active_at=max(info.last_active_at, *(message.created_at for message in turn.messages)),
        ended_at=None,
    )


class AtHand:
    """What is known of the sessions in use, within bounds."""

    def __init__(self, sessions: int = SESSIONS, characters: int = CHARACTERS) -> None:
        self._most, self._room = sessions, characters
        self._known: OrderedDict[tuple[UUID, str], Known] = OrderedDict()
        self._homes: dict[tuple[UUID, str], str] = {}
        self._sizes: dict[tuple[UUID, str], int] = {}
        self._characters = 0
        self._lock = Lock()

    def get(self, owner: Owner, session_id: str) -> Known | None:
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

    def of(self, owner: Owner) -> list[Known]:
        """What is known of an owner's sessions."""
        with self._lock:
            return [known for (key, _), known in self._known.items() if key == owner.key]

    def note_turn(self, turn: Turn) -> None:
        """A turn as it is stored now."""
        with self._lock:
            self._put(with_turn(self._of(turn.owner, turn.session_id), turn))

    def note_tail(self, owner: Owner, session_id: str, turns: Sequence[Turn], *, whole: bool) -> None:
        """The newest turns of a session."""
        with self._lock:
            self._put(with_tail(self._of(owner, session_id), turns, whole=whole))

    def note_session(self, owner: Owner, session_id: str, info: SessionInfo | None) -> None:
        """A session's fields, or that there is none."""
        with self._lock:
            known = self._of(owner, session_id)
            self._put(replace(known, info=info) if info else Known(owner, session_id, whole=True))

    def forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Let go of a session, or of all of an owner."""
        with self._lock:
            for key in list(self._known):
                if key[0] == owner.key and session_id in (None, key[1]):
                    self._drop(key)

    def _of(self, owner: Owner, session_id: str) -> Known:
        return self._known.get((owner.key, session_id)) or Known(owner, session_id)

    def _put(self, known: Known) -> None:
        key = (known.owner.key, known.session_id)
        before = self._known.get(key)
        self._known[key] = known
        self._known.move_to_end(key)
        if before is None or before.turns is not known.turns:
            for turn in before.turns if before else ():
                self._homes.pop((key[0], turn.id), None)
            for turn in known.turns:
                self._homes[key[0], turn.id] = known.session_id
            size = sum(len(message.content) for turn in known.turns for message in turn.messages)
            self._characters += size - self._sizes.get(key, 0)
            self._sizes[key] = size
        while len(self._known) > 1 and (len(self._known) > self._most or self._characters > self._room):
            self._drop(next(iter(self._known)))

    def _drop(self, key: tuple[UUID, str]) -> None:
        for turn in self._known.pop(key).turns:
            self._homes.pop((key[0], turn.id), None)
        self._characters -= self._sizes.pop(key, 0)

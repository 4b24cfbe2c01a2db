"""A session as a list of messages that other libraries append to, replace, and take from the front.

In: messages of any role. Out: the same messages, in order, stored as ordinary turns. A replacement is atomic: the new
turns are written hidden, one write then shows them and hides the old ones, and the old ones are deleted. Reading takes
time in proportion to the active messages, not to all that were ever stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from threading import RLock
from typing import Any
from weakref import WeakValueDictionary

from ricordo.contrib.shared import owner_of
from ricordo.engine.core import new_id
from ricordo.engine.tokens import content_tokens
from ricordo.errors import ConflictError
from ricordo.limits import check_id, check_metadata, check_text, check_time, check_tool_calls
from ricordo.memory import Memory
from ricordo.records.turns import (
    DEFAULT_AGENT,
    ROLES,
    Json,
    Message,
    Owner,
    Role,
    SessionChanges,
    SessionInfo,
    Turn,
    add_step,
    message_id,
    open_turn,
    place,
)
from ricordo.session import Session

NOTE = "ricordo:history"  # Ricordo's key in the metadata of a session and of a turn
ATTEMPTS = 8
FEW = 4  # messages that are added one by one
LATEST = 100  # turns that are searched for an unfinished replacement


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """One message of a library. `metadata` holds what Ricordo has no field for, and is returned unchanged."""

    role: str
    content: str
    metadata: Json
    tool_calls: tuple[Json, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    created_at: datetime | None = None

    def add_to(self, session: Session) -> Message:
        """Store it as the next message of a session."""
        return session.add_message(
            self.role,
            self.content,
            created_at=self.created_at,
            metadata=self.metadata or None,
            tool_calls=self.tool_calls,
            tool_call_id=self.tool_call_id,
            name=self.name,
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """A stored message, the turn it is in and its position there."""

    message: Message
    turn_number: int
    position: int
    turn_metadata: Json


@dataclass(frozen=True, slots=True)
class _Mark:
    """The history's entry in a session's metadata: which turns are shown, and which messages are set aside.

    Turns of a later `generation` are not shown yet; those from `hidden_from` to `hidden_to` are no longer shown.
    Messages before `turn` and the first `messages` of it are set aside.
    """

    generation: int = 0
    hidden_from: int = 0
    hidden_to: int = 0
    turn: int = 0
    messages: int = 0

    @classmethod
    def of(cls, session: SessionInfo | None) -> "_Mark":
        noted = session.metadata.get(NOTE) if session else None
        return cls(*noted) if isinstance(noted, list) and len(noted) == 5 else cls()

    def shows(self, turn: Turn) -> bool:
        if self.hidden_from <= turn.turn_number <= self.hidden_to:
            return False
        return not turn.metadata or turn.metadata.get(NOTE, 0) <= self.generation

    def sets_aside(self, placed: Placed) -> bool:
        return (placed.turn_number, placed.position) < (self.turn, self.messages)

    def as_json(self) -> list[int]:
        return [self.generation, self.hidden_from, self.hidden_to, self.turn, self.messages]


_UNMARKED = _Mark()


class History:
    """The messages of one session of one user. Thread-safe."""

    def __init__(self, memory: Memory, session_id: str, *, user_id: str, agent_id: str = DEFAULT_AGENT) -> None:
        self._memory = memory
        self._session = memory.session(session_id, user_id=user_id, agent_id=agent_id)
        self._owner = owner_of(memory, user_id)
        self._held: HistoryLock | None = None

    def read(self, *, aside: bool = False) -> list[Placed]:
        """The active messages in order; with `aside` also those set aside."""
        mark = _Mark.of(self._info())
        return self._read(mark, aside=aside)

    def turns(self) -> list[Turn] | None:
        """The turns if all their messages are active, which is the usual case; else None."""
        info = self._info()
        if info is not None and NOTE in info.metadata and _Mark.of(info) != _UNMARKED:
            return None
        turns = self._memory.store.turns.page(self._owner, self._session.id)
        return [turn for turn in turns if not turn.metadata or _UNMARKED.shows(turn)]

    def messages(self, *, aside: bool = False) -> list[Message]:
        """The messages of `read`, without their positions."""
        turns = self.turns()
        if turns is None:
            return [each.message for each in self.read(aside=aside)]
        return [message for turn in turns for message in turn.messages]

    def split(self) -> tuple[list[Placed], list[Placed]]:
        """Messages that were set aside, and those that are active."""
        mark = _Mark.of(self._info())
        everything = self._read(mark, aside=True)
        return [each for each in everything if mark.sets_aside(each)], [
            each for each in everything if not mark.sets_aside(each)
        ]

    def append(self, messages: Sequence[HistoryMessage]) -> None:
        """Add messages at the end, in order. All of them are checked before one is written."""
        if not messages:
            return
        if len(messages) == 1:  # `add_message` checks it
            messages[0].add_to(self._session)
            return
        with self._lock().lock:
            if len(messages) <= FEW:
                for each in messages[1:]:  # `add_message` checks the first before any is written
                    self._checked(each)
                for each in messages:
                    each.add_to(self._session)
                return
            said = [self._checked(each) for each in messages]
            last = len(said) - 1
            first = next((n for n, each in enumerate(said) if each.role == "user"), last)
            for each in messages[:first]:  # they may belong to the open turn
                each.add_to(self._session)
            self._load(said[first:last], 0)
            messages[last].add_to(self._session)  # added, not loaded, so that the background work begins

    def replace(self, messages: Sequence[HistoryMessage], *, keep: int = 0, with_aside: bool = False) -> None:
        """Replace the active messages after the first `keep` with these, atomically.

        With `with_aside` they replace all messages, also those set aside.
        """
        said = [self._checked(each) for each in messages]
        with self._lock().lock:
            self._replace(said, keep, with_aside=with_aside)

    def insert(self, messages: Sequence[HistoryMessage]) -> None:
        """Insert messages before the first active one."""
        said = [self._checked(each) for each in messages]
        with self._lock().lock:
            self._replace([*said, *(each.message for each in self.read())], 0)

    def remove(self, position: int) -> Placed | None:
        """Remove and return the active message at a position; None if there is none."""
        with self._lock().lock:
            active = self.read()
            if not -len(active) <= position < len(active):
                return None
            gone = active[position]
            at = position % len(active)
            self._replace([each.message for each in active[at + 1 :]], at)
            return gone

    def remove_oldest(self, count: int) -> list[Placed]:
        """Remove and return active messages from the front."""
        with self._lock().lock:
            active = self.read()
            gone, left = active[: max(count, 0)], active[max(count, 0) :]
            if not gone:
                return []
            if gone[0].position == 0 and (not left or left[0].turn_number != gone[-1].turn_number):
                numbers = sorted({each.turn_number for each in gone})
                self._memory.store.turns.delete(self._owner, self._session.id, numbers)
            else:
                self._replace([each.message for each in left], 0)
            return gone

    def set_aside(self, count: int) -> list[Placed]:
        """Set aside active messages from the front, and return them."""
        with self._lock().lock:
            info = self._info()
            mark = _Mark.of(info)
            active = self._read(mark, aside=False)
            taken, left = active[: max(count, 0)], active[max(count, 0) :]
            if taken:
                last = taken[-1]
                bound = (left[0].turn_number, left[0].position) if left else (last.turn_number, last.position + 1)
                self._note(info, replace(mark, turn=bound[0], messages=bound[1]))
            return taken

    def clear(self) -> None:
        """Remove all messages, those set aside too; the session stays."""
        with self._lock().lock:
            info = self._info()
            if info is not None:
                self._session.clear()
                self._note(info, _Mark())

    def clear_aside(self) -> None:
        """Remove the messages that were set aside."""
        with self._lock().lock:
            aside, active = self.split()
            if aside and (not active or active[0].turn_number != aside[-1].turn_number):
                numbers = sorted({each.turn_number for each in aside})
                self._memory.store.turns.delete(self._owner, self._session.id, numbers)
            elif aside:
                self._replace([each.message for each in active], 0, with_aside=True)

    def _lock(self) -> "HistoryLock":
        """The lock for changes of stored messages; adding one message needs none."""
        if self._held is None:
            self._held = lock_of(self._owner, self._session.id)
        return self._held

    def _info(self) -> SessionInfo | None:
        return self._memory.store.sessions.get(self._owner, self._session.id)

    def _read(self, mark: _Mark, *, aside: bool) -> list[Placed]:
        after = None if aside or not mark.turn else mark.turn - 1
        turns = self._memory.store.turns.page(self._owner, self._session.id, after=after)
        placed = [
            Placed(message, turn.turn_number, position, turn.metadata)
            for turn in turns
            if mark.shows(turn)
            for position, message in enumerate(turn.messages)
        ]
        return placed if aside else [each for each in placed if not mark.sets_aside(each)]

    def _replace(self, said: Sequence[Message], keep: int, *, with_aside: bool = False) -> None:
        """Write the new turns, show them and hide the old ones, remove the old ones."""
        info = self._info()
        mark = _Mark.of(info)
        self._sweep(mark, info)
        placed = self._read(mark, aside=True)
        first = sum(mark.sets_aside(each) for each in placed)
        cut = 0 if with_aside else first + keep
        kept_whole, again = _cut_point(placed, cut)
        new = [*(each.message for each in again), *said]
        last = info.last_turn if info else 0
        if new:
            self._load(new, mark.generation + 1)
        hidden = (kept_whole + 1, last) if kept_whole < last else (0, 0)
        after = replace(mark, generation=mark.generation + bool(new), hidden_from=hidden[0], hidden_to=hidden[1])
        if with_aside:
            after = replace(after, turn=0, messages=0)
        elif mark.turn > kept_whole:  # the mark is in a turn that was written again
            after = replace(after, turn=last + 1, messages=sum(mark.sets_aside(each) for each in again))
        session = self._info()
        if session is not None:
            self._note(session, after)
            self._sweep(after, session)

    def _sweep(self, mark: _Mark, info: SessionInfo | None) -> None:
        """Delete hidden turns: replaced ones, and those of a replacement that was not completed."""
        if info is None:
            return
        store, session_id = self._memory.store, self._session.id
        if mark.hidden_from:
            bounds = {"after": mark.hidden_from - 1, "before": mark.hidden_to + 1}
            gone = [turn.turn_number for turn in store.turns.page(self._owner, session_id, **bounds)]
            if gone:
                store.turns.delete(self._owner, session_id, gone)
        stale = [
            turn.turn_number
            for turn in store.turns.page(self._owner, session_id, last=LATEST)
            if turn.metadata.get(NOTE, 0) > mark.generation
        ]
        if stale:
            store.turns.delete(self._owner, session_id, stale)

    def _load(self, said: Sequence[Message], generation: int) -> None:
        """Write messages as whole turns at the end, all of them or none."""
        if not said:
            return
        now = self._memory.clock.now()
        for left in reversed(range(ATTEMPTS)):
            info = self._info()
            turns = self._turns(said, (info.last_turn if info else 0) + 1, generation, now)
            session = info or SessionInfo(
                self._session.id,
                self._owner,
                self._session.agent_id,
                created_at=turns[0].created_at,
                last_active_at=turns[-1].created_at,
            )
            try:
                self._memory.store.turns.load(session, turns)
                return
            except ConflictError:  # another writer has taken the number
                if not left:
                    raise

    def _turns(self, said: Sequence[Message], number: int, generation: int, now: datetime) -> list[Turn]:
        turns: list[Turn] = []
        counter = self._memory.counter
        for each in said:
            message = replace(each, tokens=content_tokens(each.content, each.tool_calls, counter, each.name))
            newest = turns[-1] if turns else None
            where = place(message, newest)
            if where == "new" or newest is None:
                turn_id = new_id(now)
                blank = Turn(turn_id, self._owner, self._session.agent_id, self._session.id, number + len(turns),
                             message.created_at, None, None, counter=self._memory.counter.name,
                             metadata={NOTE: generation} if generation else {})  # fmt: skip
                turns.append(open_turn(blank, message))
            elif where == "answer":
                turns[-1] = replace(newest, answer=replace(message, id=message_id(newest.id, "response")))
            else:
                turns[-1] = add_step(newest, message)
        return [turn.sealed() for turn in turns]

    def _note(self, info: SessionInfo | None, mark: _Mark) -> None:
        if info is not None:
            metadata: dict[str, Any] = {**info.metadata, NOTE: mark.as_json()}
            self._memory.store.sessions.update(self._owner, self._session.id, SessionChanges(metadata=metadata))

    def _checked(self, words: HistoryMessage) -> Message:
        """The message; a ValidationError names the field that cannot be stored."""
        limits = self._memory.settings.limits
        role: Role = next(role for role in ROLES if role == words.role)
        calls = check_tool_calls("tool_calls", words.tool_calls, role, limits)
        content = words.content if calls and words.content == "" else check_text("content", words.content, limits)
        return Message(
            "",
            role,
            content,
            self._memory.clock.now() if words.created_at is None else check_time("created_at", words.created_at),
            0,
            (),
            check_metadata("metadata", words.metadata, limits),
            calls,
            None if words.tool_call_id is None else check_id("tool_call_id", words.tool_call_id),
            None if words.name is None else check_id("name", words.name),
        )


class HistoryLock:
    """A lock within this process; between processes the numbers of turns detect conflicts."""

    def __init__(self) -> None:
        self.lock = RLock()


_locks: "WeakValueDictionary[tuple[Any, str], HistoryLock]" = WeakValueDictionary()


def lock_of(owner: Owner, session_id: str) -> HistoryLock:
    """The lock of a session, shared by all its objects while any of them refers to it."""
    return _locks.setdefault((owner, session_id), HistoryLock())


def _cut_point(placed: Sequence[Placed], cut: int) -> tuple[int, Sequence[Placed]]:
    """Where to cut: the last turn that stays whole, and the messages after it that must be written again."""
    if cut <= 0:
        return 0, ()
    if cut >= len(placed):
        return placed[-1].turn_number if placed else 0, ()
    last, following = placed[cut - 1], placed[cut]
    if last.turn_number != following.turn_number:
        return last.turn_number, ()
    whole = max((each.turn_number for each in placed[:cut] if each.turn_number < last.turn_number), default=0)
    return whole, [each for each in placed[:cut] if each.turn_number == last.turn_number]

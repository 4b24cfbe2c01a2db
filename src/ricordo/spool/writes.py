"""The writes that can wait: each knows whose session it belongs to and how to do it on a store, now or later.

Doing one twice is doing it once: turns by their id, answers by their content, fields by being set. Only a step in the
middle of a turn has no name of its own; a write that may have been done already is looked for before it is repeated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ricordo.errors import ConflictError, NotFoundError
from ricordo.placing import open_turn, place, the_message
from ricordo.ports import TurnStore
from ricordo.records import Message, Owner, SessionChanges, SessionInfo, StoredReceipt, Turn

TAIL = 64  # turns that are looked through for a message that may be there already

Scope = tuple[Owner, str]


@dataclass(frozen=True, slots=True)
class Append:
    """A turn to keep. The number it gets is the store's to decide."""

    turn: Turn
    receipt: StoredReceipt | None = None

    @property
    def scope(self) -> Scope:
        return self.turn.owner, self.turn.session_id

    def apply(self, store: TurnStore, *, unsure: bool = False) -> Turn:
        return store.append(self.turn, receipt=self.receipt)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of an open turn."""

    owner: Owner
    session_id: str
    turn_id: str
    answer: Message
    metadata: Mapping[str, Any]
    receipt: StoredReceipt | None = None

    @property
    def scope(self) -> Scope:
        return self.owner, self.session_id

    def apply(self, store: TurnStore, *, unsure: bool = False) -> Turn:
        return store.answer(self.owner, self.turn_id, self.answer, dict(self.metadata), self.receipt)


@dataclass(frozen=True, slots=True)
class AddMessage:
    """A single message. `where` is its place as it was decided when it was acknowledged, `answers` the turn it closed.

    `open` stands for a place that only the store can tell, because the newest turn was not at hand.
    """

    turn: Turn
    where: Literal["new", "answer", "step", "open"] = "open"
    answers: str = ""

    @property
    def scope(self) -> Scope:
        return self.turn.owner, self.turn.session_id

    def placed(self, newest: Turn | None, *, known: bool) -> "AddMessage":
        """This message with its place, seen from the newest turn that is at hand."""
        where = place(the_message(self.turn), newest)
        if not known and the_message(self.turn).role != "user" and newest is None:
            return self
        return replace(self, where=where, answers=newest.id if newest and where == "answer" else "")

    def apply(self, store: TurnStore, *, unsure: bool = False) -> Turn:
        message = the_message(self.turn)
        if self.where == "new":
            return store.append(open_turn(replace(self.turn, question=None, answer=None, steps=()), message))
        if self.where == "answer":
            try:
                return store.answer(self.turn.owner, self.answers, message, {}, None)
            except (ConflictError, NotFoundError):  # somebody else was faster: the message stands for itself
                return self._once(store, message)
        return self._once(store, message) if unsure else store.add_message(self.turn)

    def _once(self, store: TurnStore, message: Message) -> Turn:
        """Add the message unless the session's last turns have it, said in the same microsecond."""
        for turn in reversed(store.turns(*self.scope, last=TAIL)):
            if turn.id == self.turn.id or any(_is(message, each) for each in turn.messages):
                return turn
        return store.add_message(self.turn)


@dataclass(frozen=True, slots=True)
class Update:
    """Fields of a session to set."""

    owner: Owner
    session_id: str
    changes: SessionChanges

    @property
    def scope(self) -> Scope:
        return self.owner, self.session_id

    def apply(self, store: TurnStore, *, unsure: bool = False) -> SessionInfo:
        changed = store.update_session(self.owner, self.session_id, self.changes)
        if changed is None:
            raise NotFoundError(f"session {self.session_id!r} does not exist for this user")
        return changed


Write = Append | Answer | AddMessage | Update


def _is(message: Message, stored: Message) -> bool:
    return message.created_at == stored.created_at and message.says_the_same(stored)

"""The writes that can be spooled, and their form on disk: one JSON object each, from which the write is read again.

Each write has its session and can be applied to a store, now or later. Applying it twice has the same effect as once:
a turn is recognised by its id, an answer by its content, and fields are set to the same values. Only a step of a turn
has no id: if it may be stored already, the session is searched for it first.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from ricordo.errors import ConflictError, DamageError, NotFoundError
from ricordo.records.turns import (
    Message,
    Owner,
    SessionChanges,
    SessionInfo,
    StoredReceipt,
    Turn,
    message_id,
    open_turn,
    place,
    the_message,
)
from ricordo.stores.protocols import Store
from ricordo.stores.write_rules import OwnerErased

TURNS_SEARCHED = 64  # for a message that may be stored already

Scope = tuple[Owner, str]


@dataclass(frozen=True, slots=True)
class AppendTurn:
    """A turn to append. The store decides its number."""

    operation: ClassVar[str] = "append"

    turn: Turn
    receipt: StoredReceipt | None = None

    @property
    def scope(self) -> Scope:
        return self.turn.owner, self.turn.session_id

    def apply(self, store: Store, *, maybe_stored: bool = False, acknowledged_at: datetime | None = None) -> Turn:
        return store.turns.append(self.turn, receipt=self.receipt, acknowledged_at=acknowledged_at)


@dataclass(frozen=True, slots=True)
class AnswerTurn:
    """The answer of an open turn."""

    operation: ClassVar[str] = "answer"

    owner: Owner
    session_id: str
    turn_id: str
    answer: Message
    metadata: Mapping[str, Any]
    receipt: StoredReceipt | None = None

    @property
    def scope(self) -> Scope:
        return self.owner, self.session_id

    def apply(self, store: Store, *, maybe_stored: bool = False, acknowledged_at: datetime | None = None) -> Turn:
        return store.turns.answer(
            self.owner, self.turn_id, self.answer, dict(self.metadata), self.receipt, acknowledged_at=acknowledged_at
        )


@dataclass(frozen=True, slots=True)
class AddMessage:
    """A single message. `where` is its place as decided when it was acknowledged, `answers` the turn it closed.

    `open` means that only the store can decide, because the newest turn was not cached.
    """

    operation: ClassVar[str] = "addmessage"

    turn: Turn
    where: Literal["new", "answer", "step", "open"] = "open"
    answers: str = ""

    @property
    def scope(self) -> Scope:
        return self.turn.owner, self.turn.session_id

    def placed(self, newest: Turn | None, *, known: bool) -> "AddMessage":
        """This message with its place after the newest cached turn."""
        where = place(the_message(self.turn), newest)
        if not known and the_message(self.turn).role != "user" and newest is None:
            return self
        return replace(self, where=where, answers=newest.id if newest and where == "answer" else "")

    def apply(self, store: Store, *, maybe_stored: bool = False, acknowledged_at: datetime | None = None) -> Turn:
        message, at = the_message(self.turn), acknowledged_at
        if self.where == "new":
            opened = open_turn(replace(self.turn, question=None, answer=None, steps=()), message)
            return store.turns.append(opened, acknowledged_at=at)
        if self.where == "answer":
            try:
                return store.turns.answer(self.turn.owner, self.answers, message, {}, None, acknowledged_at=at)
            except OwnerErased:
                raise
            except (ConflictError, NotFoundError):  # another writer was faster: the message opens a turn or is a step
                return self._once(store, message, at)
        return (
            self._once(store, message, at) if maybe_stored else store.turns.add_message(self.turn, acknowledged_at=at)
        )

    def _once(self, store: Store, message: Message, acknowledged_at: datetime | None) -> Turn:
        """Add the message unless the session's last turns contain it, with the same microsecond."""
        for turn in reversed(store.turns.page(*self.scope, last=TURNS_SEARCHED)):
            if turn.id == self.turn.id or any(_is(message, each) for each in turn.messages):
                return turn
        return store.turns.add_message(self.turn, acknowledged_at=acknowledged_at)


@dataclass(frozen=True, slots=True)
class UpdateSession:
    """Fields of a session to set."""

    operation: ClassVar[str] = "update"

    owner: Owner
    session_id: str
    changes: SessionChanges

    @property
    def scope(self) -> Scope:
        return self.owner, self.session_id

    def apply(
        self, store: Store, *, maybe_stored: bool = False, acknowledged_at: datetime | None = None
    ) -> SessionInfo:
        changed = store.sessions.update(self.owner, self.session_id, self.changes, acknowledged_at=acknowledged_at)
        if changed is None:
            raise NotFoundError(f"session {self.session_id!r} does not exist for this user")
        return changed


TurnWrite = AppendTurn | AnswerTurn | AddMessage
Write = TurnWrite | UpdateSession


def _is(message: Message, stored: Message) -> bool:
    return message.created_at == stored.created_at and message.says_the_same(stored)


@dataclass(frozen=True, slots=True)
class SpoolRecord:
    """A write as it is spooled: acknowledged `at` a time, and perhaps stored already."""

    write: Write
    at: float
    maybe_stored: bool = False

    @property
    def acknowledged_at(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)


def encode(record: SpoolRecord, **more: str) -> bytes:
    """The record as bytes, with more fields, such as the reason of a refusal."""
    write = record.write
    owner, session_id = write.scope
    fields: dict[str, Any] = {
        "at": record.at,
        "unsure": record.maybe_stored,
        "tenant_id": owner.tenant_id,
        "user_id": owner.user_id,
        "session_id": session_id,
        **more,
    }
    match write:
        case AppendTurn(turn, receipt):
            fields |= {"do": "append", "turn": _turn(turn), "receipt": _receipt(receipt)}
        case AnswerTurn(_, _, turn_id, answer, metadata, receipt):
            fields |= {"do": "answer", "turn_id": turn_id, "answer": _message(answer), "metadata": dict(metadata)}
            fields |= {"receipt": _receipt(receipt)}
        case AddMessage(turn, where, answers):
            fields |= {"do": "add_message", "turn": _turn(turn), "where": where, "answers": answers}
        case UpdateSession(_, _, changes):
            fields |= {"do": "update_session", "changes": _changes(changes)}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def decode(record: bytes) -> SpoolRecord:
    """The record from its bytes; DamageError if they hold none."""
    try:
        fields = json.loads(record.decode("utf-8", "surrogatepass"))
        owner = Owner(fields["tenant_id"], fields["user_id"])
        return SpoolRecord(_write(fields, owner, fields["session_id"]), fields["at"], fields["unsure"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamageError(f"a record of the spool cannot be read ({type(error).__name__})") from error


def owner_of(record: bytes) -> Owner | None:
    """The owner of a record; None if it cannot be read."""
    try:
        return decode(record).write.scope[0]
    except DamageError:
        return None


def _write(fields: Mapping[str, Any], owner: Owner, session_id: str) -> Write:
    receipt = fields.get("receipt")
    kept = StoredReceipt(session_id, 0, receipt["body"], receipt["passages"]) if receipt else None
    match fields["do"]:
        case "append":
            return AppendTurn(_read_turn(fields["turn"], owner, session_id), kept)
        case "answer":
            turn_id = fields["turn_id"]
            answer = _read_message(fields["answer"], message_id(turn_id, "response"))
            return AnswerTurn(owner, session_id, turn_id, answer, fields["metadata"], kept)
        case "add_message":
            turn = _read_turn(fields["turn"], owner, session_id)
            return AddMessage(turn, fields["where"], fields["answers"])
        case "update_session":
            return UpdateSession(owner, session_id, _read_changes(fields["changes"]))
    raise ValueError(fields["do"])


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.id,
        "agent_id": turn.agent_id,
        "created_at": turn.created_at.isoformat(),
        "question": turn.question and _message(turn.question),
        "answer": turn.answer and _message(turn.answer),
        "steps": [_message(step) for step in turn.steps],
        "metadata": dict(turn.metadata),
        "origin": turn.origin,
        "counter": turn.counter,
    }


def _read_turn(fields: Mapping[str, Any], owner: Owner, session_id: str) -> Turn:
    turn_id = fields["id"]
    question, answer = fields["question"], fields["answer"]
    return Turn(
        id=turn_id,
        owner=owner,
        agent_id=fields["agent_id"],
        session_id=session_id,
        turn_number=0,
        created_at=datetime.fromisoformat(fields["created_at"]),
        question=_read_message(question, message_id(turn_id, "query")) if question else None,
        answer=_read_message(answer, message_id(turn_id, "response")) if answer else None,
        steps=tuple(_read_message(step, message_id(turn_id, n)) for n, step in enumerate(fields["steps"], start=1)),
        metadata=fields["metadata"],
        origin=fields["origin"],
        counter=fields["counter"],
    )


def _message(message: Message) -> dict[str, Any]:
    fields = {key: value for key, value in asdict(message).items() if value and key != "id"}
    return fields | {"created_at": message.created_at.isoformat()}


def _read_message(fields: Mapping[str, Any], address: str) -> Message:
    return Message(
        id=address, role=fields["role"], content=fields.get("content", ""),
        created_at=datetime.fromisoformat(fields["created_at"]), tokens=fields.get("tokens", 0),
        chunk_ids=tuple(fields.get("chunk_ids", ())), metadata=fields.get("metadata", {}),
        tool_calls=tuple(fields.get("tool_calls", ())), tool_call_id=fields.get("tool_call_id"),
        name=fields.get("name"),
    )  # fmt: skip


def _receipt(receipt: StoredReceipt | None) -> dict[str, Any] | None:
    return {"body": receipt.body, "passages": dict(receipt.passages)} if receipt else None


def _changes(changes: SessionChanges) -> dict[str, Any]:
    fields = {key: value for key, value in asdict(changes).items() if value is not None}
    return fields | ({"ended_at": changes.ended_at.isoformat()} if changes.ended_at else {})


def _read_changes(fields: Mapping[str, Any]) -> SessionChanges:
    return SessionChanges(
        title=fields.get("title"),
        document_ids=tuple(fields["document_ids"]) if "document_ids" in fields else None,
        tags=tuple(fields["tags"]) if "tags" in fields else None,
        metadata=fields.get("metadata"),
        ended_at=datetime.fromisoformat(fields["ended_at"]) if "ended_at" in fields else None,
    )

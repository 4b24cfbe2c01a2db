"""A write as one line of JSON and back, with nothing lost: what lies in the spool.

Times are ISO text with their zone. `at` is when the write was acknowledged; `unsure` tells that the database may have
it already, because it was sent and no answer came.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from ricordo.errors import DamageError
from ricordo.records import Message, Owner, SessionChanges, StoredReceipt, Turn, message_id
from ricordo.spool.writes import AddMessage, Answer, Append, Update, Write


@dataclass(frozen=True, slots=True)
class Entry:
    """A write that waits."""

    write: Write
    at: float
    unsure: bool = False


def encode(entry: Entry, **more: str) -> bytes:
    """The entry as bytes; `more` is laid beside it, as the reason of a refusal."""
    write = entry.write
    owner, session_id = write.scope
    fields: dict[str, Any] = {
        "at": entry.at,
        "unsure": entry.unsure,
        "tenant_id": owner.tenant_id,
        "user_id": owner.user_id,
        "session_id": session_id,
        **more,
    }
    match write:
        case Append(turn, receipt):
            fields |= {"do": "append", "turn": _turn(turn), "receipt": _receipt(receipt)}
        case Answer(_, _, turn_id, answer, metadata, receipt):
            fields |= {"do": "answer", "turn_id": turn_id, "answer": _message(answer), "metadata": dict(metadata)}
            fields |= {"receipt": _receipt(receipt)}
        case AddMessage(turn, where, answers):
            fields |= {"do": "add_message", "turn": _turn(turn), "where": where, "answers": answers}
        case Update(_, _, changes):
            fields |= {"do": "update_session", "changes": _changes(changes)}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def decode(record: bytes) -> Entry:
    """The entry behind bytes; DamageError if they are none."""
    try:
        fields = json.loads(record.decode("utf-8", "surrogatepass"))
        owner = Owner(fields["tenant_id"], fields["user_id"])
        return Entry(_write(fields, owner, fields["session_id"]), fields["at"], fields["unsure"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamageError(f"a record of the spool cannot be read ({type(error).__name__})") from error


def owner_of(record: bytes) -> Owner | None:
    """Whose write it is; None if it cannot be read."""
    try:
        return decode(record).write.scope[0]
    except DamageError:
        return None


def _write(fields: Mapping[str, Any], owner: Owner, session_id: str) -> Write:
    receipt = fields.get("receipt")
    kept = StoredReceipt(session_id, 0, receipt["body"], receipt["passages"]) if receipt else None
    match fields["do"]:
        case "append":
            return Append(_read_turn(fields["turn"], owner, session_id), kept)
        case "answer":
            turn_id = fields["turn_id"]
            answer = _read_message(fields["answer"], message_id(turn_id, "response"))
            return Answer(owner, session_id, turn_id, answer, fields["metadata"], kept)
        case "add_message":
            turn = _read_turn(fields["turn"], owner, session_id)
            return AddMessage(turn, fields["where"], fields["answers"])
        case "update_session":
            return Update(owner, session_id, _read_changes(fields["changes"]))
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
        id=address,
        role=fields["role"],
        content=fields.get("content", ""),
        created_at=datetime.fromisoformat(fields["created_at"]),
        tokens=fields.get("tokens", 0),
        chunk_ids=tuple(fields.get("chunk_ids", ())),
        metadata=fields.get("metadata", {}),
        tool_calls=tuple(fields.get("tool_calls", ())),
        tool_call_id=fields.get("tool_call_id"),
        name=fields.get("name"),
    )


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

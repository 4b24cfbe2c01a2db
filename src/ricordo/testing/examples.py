"""Plain records for worked examples: somebody new, a turn, a single message."""

from datetime import datetime
from uuid import uuid4

from ricordo.placing import open_turn
from ricordo.records import Json, Message, Owner, Role, Turn, message_id
from ricordo.testing.clock import START


def an_owner(user_id: str = "anna") -> Owner:
    """A user of a tenant that nobody else has: examples that share a store never meet."""
    return Owner(f"tenant-{uuid4()}", user_id)


def a_turn(
    owner: Owner,
    query: str = "What is a fugue?",
    response: str | None = "A piece in which voices enter one after another.",
    *,
    session_id: str = "lesson",
    turn_id: str | None = None,
    agent_id: str = "tutor",
    created_at: datetime = START,
    metadata: Json | None = None,
) -> Turn:
    """A question and its answer; open when the response is None."""
    turn_id = turn_id or str(uuid4())
    question = Message(message_id(turn_id, "query"), "user", query, created_at, tokens=5)
    answer = None
    if response is not None:
        answer = Message(message_id(turn_id, "response"), "assistant", response, created_at, tokens=9)
    return Turn(turn_id, owner, agent_id, session_id, 0, created_at, question, answer, metadata=metadata or {})


def an_answer(text: str, created_at: datetime = START) -> Message:
    """The words of an answer that comes later."""
    return Message("", "assistant", text, created_at, tokens=3)


def a_message(
    owner: Owner, role: Role, content: str, *, session_id: str = "lesson", created_at: datetime = START, **more: object
) -> Turn:
    """A turn that carries one message, as `Store.add_message` takes it."""
    message = Message("", role, content, created_at, tokens=2, **more)  # type: ignore[arg-type]
    empty = Turn(str(uuid4()), owner, "tutor", session_id, 0, created_at, None, None)
    return open_turn(empty, message)

"""The shapes of chats, sessions, turns, contexts and topics, and of a problem."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from ricordo.server.schemas.people import FactOut, SummaryOut


class OfferedOut(BaseModel):
    """A passage that was found."""

    chunk_id: str
    text: str
    score: float | None = None
    document_id: str | None = None
    title: str | None = None


class ChatOut(BaseModel):
    """The answer, with everything that is known about it in `metadata`."""

    query: str
    message: str
    data: list[OfferedOut]
    intent: str
    confidence: float
    session_id: str
    metadata: dict[str, Any]
    error: str | None = None


class SessionOut(BaseModel):
    """A conversation as the list shows it."""

    id: str
    user_id: str
    agent_id: str
    title: str | None
    created_at: datetime
    last_active_at: datetime
    ended_at: datetime | None
    turn_count: int
    document_ids: list[str]
    tags: list[str]
    metadata: dict[str, Any]
    archived: bool


class MessageOut(BaseModel):
    """One role's words."""

    id: str
    role: str
    content: str
    created_at: datetime
    tokens: int
    chunk_ids: list[str]
    metadata: dict[str, Any]
    tool_calls: list[dict[str, Any]]
    tool_call_id: str | None
    name: str | None


class TurnOut(BaseModel):
    """A question and its answer."""

    id: str
    session_id: str
    turn_number: int
    query: str
    response: str | None
    created_at: datetime
    answered_at: datetime | None
    chunk_ids: list[str]
    metadata: dict[str, Any]
    tokens: dict[str, int]
    topic_id: str | None
    archived: bool
    open: bool
    damage: str
    messages: list[MessageOut]


class TurnsOut(BaseModel):
    """A page of turns, oldest first; `next_before` goes on towards the beginning."""

    items: list[TurnOut]
    next_before: int | None
    total: int


class SessionsOut(BaseModel):
    """A page of sessions, most recently active first."""

    items: list[SessionOut]
    next_cursor: str | None


class Deleted(BaseModel):
    """How many turns went."""

    deleted_turns: int


class Problem(BaseModel):
    """An error: what went wrong, where, and which field it was."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None
    field: str | None = None


class Stopped(BaseModel):
    """Whether an answer was under way and will end."""

    stopped: bool


class Reference(BaseModel):
    """What a follow-up points at."""

    turn_number: int
    kind: str
    label: str
    text: str
    chunk_ids: list[str]
    confidence: float


class Option(BaseModel):
    """One of the things that could be meant."""

    label: str
    text: str


class Clarification(BaseModel):
    """What is asked back where it is not clear what is meant."""

    question: str
    options: list[Option]


class ContextOut(BaseModel):
    """What would be sent to a model, with the receipt that says why."""

    messages: list[dict[str, Any]]
    prompt: str
    question: str
    references: list[Reference]
    clarification: Clarification | None
    receipt: dict[str, Any]


class RebuiltOut(BaseModel):
    """A past context, to the byte."""

    receipt: dict[str, Any]
    messages: list[dict[str, Any]]
    prompt: str


class ReceiptsOut(BaseModel):
    """Receipts of past turns, newest first."""

    items: list[dict[str, Any]]


class EndOut(BaseModel):
    """A session that ended, and what was learned in it."""

    session: SessionOut
    summary: SummaryOut | None
    facts: list[FactOut]
    topics: list[str]
    made_by: str | None


class CurvePoint(BaseModel):
    """What a topic will be worth at a moment, should nobody come back to it."""

    at: datetime
    priority: float


class TopicOut(BaseModel):
    """A group of messages about one thing, and how it fades."""

    id: str
    title: str
    tags: list[str]
    importance: float
    access_count: int
    half_life_days: float
    priority: float
    memory_type: str
    state: str
    created_at: datetime
    last_active_at: datetime
    message_count: int
    active_messages: int
    archived_messages: int
    archived_bytes: int
    summary: str | None
    curve: list[CurvePoint]


class TopicsOut(BaseModel):
    """The topics of a session in the order they began."""

    items: list[TopicOut]
    degraded: list[str]

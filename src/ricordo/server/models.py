"""The shapes of requests and responses: what OpenAPI shows and what is checked at the door."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Id = Annotated[str, Field(min_length=1, max_length=255)]


class Given(BaseModel):
    """A request body: unknown fields are refused, so that a misspelt one is not silently lost."""

    model_config = ConfigDict(extra="forbid")


class ChunkIn(Given):
    """A passage of the caller's own."""

    id: Id
    text: Annotated[str, Field(min_length=1)]


class ChatIn(Given):
    """One question to the chat."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "Quali sono i gradi di un'ustione?", "user_id": "anna"}]},
    )

    query: str
    user_id: str | None = None
    role: str | None = None
    session_id: str | None = None
    agent_id: Id = "default"
    turn_id: Id | None = None
    chunks: list[ChunkIn] | None = None
    document_ids: list[Id] | None = None
    stream: bool = False
    understood_as: str = ""


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


class SessionIn(Given):
    """A new session."""

    user_id: str | None = None
    agent_id: Id = "default"
    title: str | None = None
    tags: list[Id] = []
    metadata: dict[str, Any] = {}


class SessionPatch(Given):
    """What to change of a session."""

    title: str | None = None
    tags: list[Id] | None = None
    metadata: dict[str, Any] | None = None
    document_ids: list[Id] | None = None
    archived: bool | None = None


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


class MessageIn(Given):
    """A message, or a question with its answer."""

    role: Id | None = None
    content: str | None = None
    query: str | None = None
    response: str | None = None
    created_at: datetime | None = None
    turn_id: Id | None = None
    chunk_ids: list[Id] = []
    metadata: dict[str, Any] | None = None
    tool_calls: list[dict[str, Any]] = []
    tool_call_id: Id | None = None
    name: Id | None = None
    user_id: str | None = None
    agent_id: Id = "default"


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


class TopicPatch(Given):
    """What to change of a topic."""

    tags: list[Id] | None = None
    importance: Annotated[float, Field(ge=0, le=1)] | None = None


class MergeIn(Given):
    """The topic to merge into."""

    into: Id


class FeedbackIn(Given):
    """Whether a topic was of help."""

    helpful: bool


class FlagPatch(Given):
    """Release a memory from quarantine, or put it back."""

    state: Literal["released", "quarantined", "flagged"]


class DocumentIn(Given):
    """A text to add."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"title": "Ustioni", "text": "# Gradi\n\nPrimo grado…"}]}
    )

    title: Annotated[str, Field(min_length=1, max_length=500)]
    text: Annotated[str, Field(min_length=1)]
    kind: Literal["text", "markdown"] = "markdown"
    id: Id | None = None


class KeyIn(Given):
    """A new API key."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    user_id: Id | None = None
    scopes: list[Literal["chat", "read", "write", "admin"]] = ["chat", "read", "write"]


class MemoryOut(BaseModel):
    """What is known of a user, as a tutor's page asks for it."""

    recentSummary: str | None  # noqa: N815 - the shape that pages expect
    keyFacts: list[str]  # noqa: N815
    topics: list[str]
    lastSessionDate: str | None  # noqa: N815


class Problem(BaseModel):
    """An error."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None
    field: str | None = None

"""Pydantic models of the tools' arguments and results: the schemas that clients see.

A *memory* is a fact that was learned, or a message; its id says which.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["fact", "message"]


class ToolMessage(BaseModel):
    """A message to keep. Roles are user, assistant, system and tool; any other is the name of a speaker."""

    model_config = ConfigDict(extra="forbid")

    role: str = "user"
    content: str
    name: str | None = None
    created_at: datetime | None = Field(default=None, description="When it was said, with a time zone; default: now")
    metadata: dict[str, Any] | None = None
    tool_calls: list[dict[str, Any]] = []
    tool_call_id: str | None = None


class ToolSource(BaseModel):
    """Where a fact was said."""

    memory_id: str
    session_id: str
    quote: str


class ToolMemory(BaseModel):
    """A fact or a message. `score` and `reasons` are those of a search; `valid_to` is set on what is no longer true."""

    id: str
    kind: Kind
    memory: str = Field(description="The words")
    agent_id: str
    created_at: datetime
    session_id: str | None = None
    role: str | None = None
    fact_kind: str | None = None
    valid_to: datetime | None = None
    sources: list[ToolSource] = []
    metadata: dict[str, Any] = {}
    score: float | None = None
    reasons: list[str] = []


class FoundOut(BaseModel):
    """Memories that were found, best first; `degraded` says what the answer does not cover."""

    results: list[ToolMemory]
    degraded: list[str] = []


class MemoriesOut(BaseModel):
    """A page of memories."""

    results: list[ToolMemory]
    page: int
    page_size: int
    total: int


class KeptOut(BaseModel):
    """What was kept. Facts are learned from it in the background: get_memories shows them a moment later."""

    session_id: str
    ids: list[str]


class UpdatedOut(BaseModel):
    """A memory that took the place of another."""

    id: str
    replaced: str
    session_id: str


class DeletedOut(BaseModel):
    """What went, by kind and by id."""

    removed: dict[str, int]
    ids: list[str] = []
    notes: list[str] = []


class EntityOut(BaseModel):
    """An owner of memories: the user, an agent, a session (`run`)."""

    type: Literal["user", "agent", "run"]
    id: str
    name: str | None = None


class EntitiesOut(BaseModel):
    """The owners of memories; the only user is the caller."""

    results: list[EntityOut]


class ToolSession(BaseModel):
    """A session as the list shows it."""

    id: str
    agent_id: str
    title: str | None
    created_at: datetime
    last_active_at: datetime
    ended_at: datetime | None
    turn_count: int
    tags: list[str]


class ToolSessions(BaseModel):
    """Sessions, most recently active first. `next_before` is the `before` of the next page."""

    sessions: list[ToolSession]
    next_before: str | None = None


class SpokenOut(BaseModel):
    """A message in its session."""

    id: str
    turn_number: int
    role: str
    content: str
    created_at: datetime
    name: str | None = None
    tool_calls: list[dict[str, Any]] = []
    tool_call_id: str | None = None
    metadata: dict[str, Any] = {}


class TalkOut(BaseModel):
    """A session with its messages in order. `next_before` is the `before` of the page of older ones."""

    session: ToolSession
    messages: list[SpokenOut]
    next_before: int | None = None


class ToolContext(BaseModel):
    """All that a model needs for a question, within the budget, and what went into it."""

    prompt: str
    messages: list[dict[str, Any]]
    question: str = Field(description="The question as it reads without the talk")
    notice: str | None = Field(default=None, description="Say this first: the user may be in distress or danger")
    clarification: str | None = Field(default=None, description="What is better asked back before answering")
    tokens: int
    token_budget: int
    sections: dict[str, int]
    dropped: int = Field(description="How many items did not fit")
    degraded: list[str] = []


class ToolTopic(BaseModel):
    """What a session has been about."""

    id: str
    title: str
    priority: float
    importance: float
    state: str
    message_count: int
    tags: list[str]
    summary: str | None
    created_at: datetime
    last_active_at: datetime


class ToolTopics(BaseModel):
    """The topics of a session, in the order they began."""

    topics: list[ToolTopic]
    degraded: list[str] = []


class ExportOut(BaseModel):
    """A session to take along: `document` can be imported again, `markdown` is for reading."""

    session_id: str
    format: Literal["json", "markdown"]
    document: dict[str, Any] | None = None
    markdown: str | None = None


class ResultOut(BaseModel):
    """A result of `search`."""

    id: str
    title: str
    url: str


class ResultsOut(BaseModel):
    """What `search` finds."""

    results: list[ResultOut]


class PageOut(BaseModel):
    """What `fetch` gives."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str] = {}

"""Schemas of the OpenAPI document: chats, sessions, turns, contexts and topics."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from ricordo.limits import PROJECT_LENGTH
from ricordo.server.tenant_schemas import DerivedOut, FactOut, Id, SummaryOut

Title = Annotated[str, Field(min_length=1)]
Project = Annotated[str, Field(min_length=1, max_length=PROJECT_LENGTH)]
AnySession = Annotated[
    Any,
    Field(description="The session to continue; an unknown id, or none, starts a new one"),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
]


class ChunkIn(BaseModel):
    """A passage that the caller provides."""

    model_config = ConfigDict(extra="forbid")

    id: Id
    text: Annotated[str, Field(min_length=1)]


class SaidIn(BaseModel):
    """An earlier turn of a temporary chat."""

    model_config = ConfigDict(extra="forbid")

    query: Annotated[str, Field(min_length=1)]
    response: str


class ChatIn(BaseModel):
    """A question to the chat."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "Quali sono i gradi di un'ustione?", "user_id": "anna"}]},
    )

    query: Annotated[str, Field(min_length=1, description="The question")]
    user_id: Annotated[Id | None, Field(description="The user, if the credential is not bound to one")] = None
    role: Id | None = None
    session_id: AnySession = None
    agent_id: Id = "default"
    turn_id: Annotated[Id | None, Field(description="A repeated request with this id is answered once")] = None
    chunks: Annotated[list[ChunkIn] | None, Field(description="Passages to use instead of retrieved ones")] = None
    document_ids: list[Id] | None = None
    stream: bool = False
    understood_as: str = ""
    project: Annotated[Project | None, Field(description="The project of a new session; its answers stay in it")] = None
    model: Annotated[Id | None, Field(description="One of `GET /v1/models`; the first by default")] = None
    again_of: Annotated[Id | None, Field(description="The turn that this question asks again or replaces")] = None
    temporary: Annotated[bool, Field(description="Keep nothing of this question and its answer; no session")] = False
    history: Annotated[list[SaidIn], Field(max_length=50, description="The earlier turns of a temporary chat")] = []


class SessionIn(BaseModel):
    """A new session."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"user_id": "anna", "title": "Ustioni", "tags": ["corso"]}]}
    )

    user_id: Id | None = None
    agent_id: Id = "default"
    title: Title | None = None
    project: Annotated[Project | None, Field(description="The project that it belongs to, kept as a tag")] = None
    tags: list[Id] = []
    metadata: dict[str, Any] = {}
    document_ids: Annotated[list[Id], Field(description="Answers use these documents alone; empty: all")] = []


class SessionPatch(BaseModel):
    """Changes to a session."""

    model_config = ConfigDict(extra="forbid")

    title: Title | None = None
    project: Annotated[Project | None, Field(description="Moves it to this project")] = None
    tags: list[Id] | None = None
    metadata: dict[str, Any] | None = None
    document_ids: list[Id] | None = None
    archived: bool | None = None


class MessageIn(BaseModel):
    """A message, or a question with its answer; `importance` is that of the topic which the question joins."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"role": "user", "content": "Che cos'è una fuga?"},
                {"query": "Che cos'è una fuga?", "response": "Un brano a più voci."},
            ]
        },
    )

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
    importance: Annotated[float, Field(ge=0, le=1)] | None = None
    user_id: Id | None = None


class TopicPatch(BaseModel):
    """Changes to a topic."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"importance": 0.9, "tags": ["esame"]}]})

    tags: list[Id] | None = None
    importance: Annotated[float, Field(ge=0, le=1)] | None = None


class MergeIn(BaseModel):
    """The topic to merge into."""

    model_config = ConfigDict(extra="forbid")

    into: Id


class FeedbackIn(BaseModel):
    """Whether a topic, or an answer, was helpful."""

    model_config = ConfigDict(extra="forbid")

    helpful: bool


class OfferedOut(BaseModel):
    """A passage that was retrieved."""

    chunk_id: str
    text: str
    score: float | None = None
    document_id: str | None = None
    title: str | None = None


class ChatOut(BaseModel):
    """The answer; `metadata` has its turn, tokens, citations and timings."""

    query: str
    message: str
    data: list[OfferedOut]
    intent: str
    confidence: float
    session_id: str
    metadata: dict[str, Any]
    error: str | None = None


class SessionOut(BaseModel):
    """A session. In a list the counts are null for sessions whose turns were not read, because there were too many.

    `opening` is the beginning of its first question, where it has no title.
    """

    id: str
    user_id: str
    agent_id: str
    title: str | None
    opening: str | None = None
    created_at: datetime
    last_active_at: datetime
    ended_at: datetime | None
    turn_count: int
    message_count: int | None = None
    token_count: int | None = None
    condensation_count: int | None = None
    document_ids: list[str]
    project: str | None = None
    tags: list[str]
    metadata: dict[str, Any]
    archived: bool
    derived: list[DerivedOut] | None = None


class MessageOut(BaseModel):
    """A message of one role."""

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


class FailureOut(BaseModel):
    """Why the last attempt to answer a question failed; `message` is for the user, in the language of the question."""

    cause: str
    status: int | None
    message: str
    at: datetime


class TurnOut(BaseModel):
    """A question and its answer; an open turn whose model failed has a `failure` and can be asked again.

    `helpful` is the feedback on its answer, null if none was given.
    """

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
    failure: FailureOut | None
    helpful: bool | None = None
    damage: str
    messages: list[MessageOut]


class TurnsOut(BaseModel):
    """A page of turns, oldest first; `next_before` is the `before` of the page with older ones."""

    items: list[TurnOut]
    next_before: int | None
    total: int


class SessionsOut(BaseModel):
    """A page of sessions, most recently active first."""

    items: list[SessionOut]
    next_cursor: str | None


class Deleted(BaseModel):
    """How many turns were deleted."""

    deleted_turns: int


class Stopped(BaseModel):
    """Whether an answer was running and was asked to stop."""

    stopped: bool


class Reference(BaseModel):
    """What a follow-up refers to."""

    turn_number: int
    kind: str
    label: str
    text: str
    chunk_ids: list[str]
    confidence: float


class Option(BaseModel):
    """One possible meaning of an ambiguous follow-up."""

    label: str
    text: str


class Clarification(BaseModel):
    """The question to ask back if a follow-up is ambiguous."""

    question: str
    options: list[Option]


class ContextOut(BaseModel):
    """The prompt for a model, with its receipt."""

    messages: list[dict[str, Any]]
    prompt: str
    question: str
    references: list[Reference]
    clarification: Clarification | None
    receipt: dict[str, Any]


class RebuiltOut(BaseModel):
    """A past context, rebuilt byte for byte."""

    receipt: dict[str, Any]
    messages: list[dict[str, Any]]
    prompt: str


class NamedItem(BaseModel):
    """An item of a receipt as a reader knows it; a passage has a `chunk_id`, a message its session and turn."""

    title: str
    snippet: str
    cited: bool
    score: float | None = None
    reasons: list[str] = []
    chunk_id: str | None = None
    session_id: str | None = None
    turn_number: int | None = None
    role: str | None = None
    said_at: datetime | None = None


class AnswerTrace(BaseModel):
    """Who answered a turn, with what tokens, and how long each step took in milliseconds."""

    answerer: str
    intent: str
    tokens: dict[str, float]
    timings_ms: dict[str, float]
    answer_tokens: int


class TraceOut(BaseModel):
    """The receipt of a turn with the names of its items, and how it was answered."""

    receipt: dict[str, Any]
    items: dict[str, NamedItem]
    answer: AnswerTrace


class ReceiptsOut(BaseModel):
    """Receipts of past turns, newest first."""

    items: list[dict[str, Any]]


class EndOut(BaseModel):
    """A session that ended, with its summary, facts and topics."""

    session: SessionOut
    summary: SummaryOut | None
    facts: list[FactOut]
    topics: list[str]
    made_by: str | None


class CurvePoint(BaseModel):
    """The priority of a topic at a time, if it is not used until then."""

    at: datetime
    priority: float


class TopicOut(BaseModel):
    """A topic, with its figures and the curve of its decay; `turns` are the numbers of its turns in working memory."""

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
    turns: list[int]
    summary: str | None
    curve: list[CurvePoint]


class TopicsOut(BaseModel):
    """The topics of a session in the order of their creation."""

    items: list[TopicOut]
    degraded: list[str]

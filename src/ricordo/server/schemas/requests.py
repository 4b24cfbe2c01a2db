"""The shapes of request bodies, checked at the door: unknown fields, NUL characters and lone surrogates are refused."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

Id = Annotated[str, Field(min_length=1, max_length=255)]
Words = Annotated[str, Field(min_length=1)]


AnySession = Annotated[
    Any,
    Field(description="The session to go on with; one that is unknown, or no id at all, begins a new one"),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
]


class RequestBody(BaseModel):
    """A request body: unknown fields are refused, so that a misspelt one is not silently lost."""

    model_config = ConfigDict(extra="forbid")


class ChunkIn(RequestBody):
    """A passage of the caller's own."""

    id: Id
    text: Annotated[str, Field(min_length=1)]


class ChatIn(RequestBody):
    """One question to the chat."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "Quali sono i gradi di un'ustione?", "user_id": "anna"}]},
    )

    query: Annotated[str, Field(min_length=1, description="What is asked")]
    user_id: Annotated[Id | None, Field(description="The user, where the credential is not bound to one")] = None
    role: Id | None = None
    session_id: AnySession = None
    agent_id: Id = "default"
    turn_id: Annotated[Id | None, Field(description="Sent twice, it is answered once")] = None
    chunks: Annotated[list[ChunkIn] | None, Field(description="The caller's own passages")] = None
    document_ids: list[Id] | None = None
    stream: bool = False
    understood_as: str = ""


class SessionIn(RequestBody):
    """A new session."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"user_id": "anna", "title": "Ustioni", "tags": ["corso"]}]}
    )

    user_id: Id | None = None
    agent_id: Id = "default"
    title: Words | None = None
    tags: list[Id] = []
    metadata: dict[str, Any] = {}


class SessionPatch(RequestBody):
    """What to change of a session."""

    title: Words | None = None
    tags: list[Id] | None = None
    metadata: dict[str, Any] | None = None
    document_ids: list[Id] | None = None
    archived: bool | None = None


class MessageIn(RequestBody):
    """A message, or a question with its answer."""

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
    user_id: Id | None = None


class TopicPatch(RequestBody):
    """What to change of a topic."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"importance": 0.9, "tags": ["esame"]}]})

    tags: list[Id] | None = None
    importance: Annotated[float, Field(ge=0, le=1)] | None = None


class MergeIn(RequestBody):
    """The topic to merge into."""

    into: Id


class FeedbackIn(RequestBody):
    """Whether a topic was of help."""

    helpful: bool


class FlagPatch(RequestBody):
    """Release a memory from quarantine, or put it back."""

    state: Literal["released", "quarantined", "flagged"]


class DocumentIn(RequestBody):
    """A text to add."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"title": "Ustioni", "text": "# Gradi\n\nPrimo grado…"}]}
    )

    title: Annotated[str, Field(min_length=1, max_length=500)]
    text: Annotated[str, Field(min_length=1)]
    kind: Literal["text", "markdown"] = "markdown"
    id: Id | None = None


class KeyIn(RequestBody):
    """A new API key."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "the course", "user_id": None}]})

    name: Annotated[str, Field(min_length=1, max_length=255)]
    user_id: Id | None = None
    scopes: list[Literal["chat", "read", "write", "admin"]] = ["chat", "read", "write"]

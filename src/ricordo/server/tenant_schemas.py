"""Schemas of the OpenAPI document: users, documents, search and imports; caller, statistics, health, API keys, errors.

Request bodies forbid unknown fields, so that a misspelt field is an error.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Id = Annotated[str, Field(min_length=1, max_length=255)]


class FlagPatch(BaseModel):
    """Release a memory from quarantine, or put it back."""

    model_config = ConfigDict(extra="forbid")

    state: Literal["released", "quarantined", "flagged"]


class DocumentIn(BaseModel):
    """A document to add."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"title": "Ustioni", "text": "# Gradi\n\nPrimo grado…"}]}
    )

    title: Annotated[str, Field(min_length=1, max_length=500)]
    text: Annotated[str, Field(min_length=1)]
    kind: Literal["text", "markdown"] = "markdown"
    id: Id | None = None


class MemoryOut(BaseModel):
    """A user's profile in the format that tutor pages expect."""

    recentSummary: str | None  # noqa: N815 - the format that pages expect
    keyFacts: list[str]  # noqa: N815
    topics: list[str]
    lastSessionDate: str | None  # noqa: N815


class SourceOut(BaseModel):
    """The message that a fact comes from."""

    message_id: str
    session_id: str
    turn_number: int | None
    quote: str


class FactOut(BaseModel):
    """One claim about a user, with its sources and period of validity; `sentence` is for the user."""

    id: str
    kind: str
    text: str
    sentence: str
    about: str
    language: str
    valid_from: datetime
    valid_to: datetime | None
    superseded_by: str | None
    recorded_at: datetime
    made_by: str
    origin: str
    pinned: bool
    confidence: float
    sources: list[SourceOut]


class FactsOut(BaseModel):
    """Facts about a user."""

    items: list[FactOut]


class SummaryOut(BaseModel):
    """A summary of the turns `first_turn` to `last_turn`."""

    id: str
    session_id: str
    agent_id: str
    kind: str
    text: str
    first_turn: int
    last_turn: int
    topics: list[str]
    created_at: datetime
    tokens: int
    counter: str
    made_by: str
    origin: str


class SummariesOut(BaseModel):
    """Summaries, newest first."""

    items: list[SummaryOut]


class ProfileOut(BaseModel):
    """A user's profile for an agent, and the system prompt with it."""

    recent_summary: str | None
    key_facts: list[str]
    topics: list[str]
    last_session_date: datetime | None
    prompt: str
    tokens: int


class DerivedOut(BaseModel):
    """A topic or a summary of a session; `turn_number` is the turn to link to."""

    kind: Literal["topic", "summary"]
    id: str
    at: datetime
    text: str
    turn_number: int


class FlagOut(BaseModel):
    """A flagged message or fact, with the rules that matched, without its text."""

    id: str
    subject: str
    subject_id: str
    session_id: str
    rules: list[str]
    origin: str
    state: str
    created_at: datetime


class FlagsOut(BaseModel):
    """Flags, newest first."""

    items: list[FlagOut]


class EraseOut(BaseModel):
    """The receipt of an erasure."""

    user_id: str
    tenant_id: str
    erased_at: datetime
    removed: dict[str, int]
    notes: list[str]


class Removed(BaseModel):
    """How many records were removed."""

    removed: int


class ImportOut(BaseModel):
    """The result of an import."""

    format: str
    sessions_added: int
    turns_added: int
    turns_known: int
    errors: list[str]
    dry_run: bool


class DocumentOut(BaseModel):
    """A document that answers are based on."""

    id: str
    title: str
    kind: str
    created_at: datetime
    chunk_count: int
    bytes: int
    shared: bool


class DocumentsOut(BaseModel):
    """A page of documents, newest first."""

    items: list[DocumentOut]
    next_cursor: str | None


class ChunkOut(BaseModel):
    """A passage of a document."""

    id: str
    document_id: str
    title: str
    heading: str
    text: str
    page: int | None
    start: int
    end: int
    position: int


class ChunksOut(BaseModel):
    """The passages of a document in order."""

    items: list[ChunkOut]


class PassageOut(ChunkOut):
    """A passage with the text before and after it."""

    before: str
    after: str


class SnippetPart(BaseModel):
    """Part of a snippet; `hit` marks the words of the query."""

    text: str
    hit: bool


class HitOut(BaseModel):
    """A past message that matches a query."""

    message_id: str
    session_id: str
    session_title: str | None
    turn_number: int
    role: str
    text: str
    snippet: list[SnippetPart]
    created_at: datetime
    score: float
    reasons: list[str]
    archived: bool


class HitsOut(BaseModel):
    """Past messages, best first."""

    items: list[HitOut]
    degraded: list[str]


class KeyIn(BaseModel):
    """A new API key."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "the course", "user_id": None}]})

    name: Annotated[str, Field(min_length=1, max_length=255)]
    user_id: Id | None = None
    scopes: list[Literal["chat", "read", "write", "admin"]] = ["chat", "read", "write"]


class Problem(BaseModel):
    """An error (RFC 9457); `detail` says what is wrong, `code` its kind, `field` which input.

    `cause` is how a model failed.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    instance: str | None = None
    field: str | None = None
    cause: str | None = None
    upstream_status: int | None = None


class MeOut(BaseModel):
    """The caller, and what answers here."""

    tenant_id: str
    user_id: str | None
    scopes: list[str]
    authenticated: bool
    locale: str
    answerer: str
    version: str


class JobsOut(BaseModel):
    """Background jobs."""

    pending: int
    leased: int
    failed: int
    retrying: int
    oldest: datetime | None


class SpoolOut(BaseModel):
    """Writes that wait on disk during an outage of the database."""

    degraded: bool
    away: bool
    since: datetime | None
    depth: int
    bytes: int
    refused: int
    last_error: str = ""


class StatsOut(BaseModel):
    """Statistics: stored data, configured parts, waiting jobs, latency."""

    store: str
    tenant_id: str
    preset: str
    counter: str
    counter_exact: bool
    embedder: str
    llm: str
    holds: dict[str, int | None]
    degraded: list[str]
    jobs: JobsOut
    spool: SpoolOut | None
    latency_ms: dict[str, float | None]
    build: dict[str, str]


class DayOut(BaseModel):
    """Counts of one day, in UTC."""

    day: str
    sessions: int
    turns: int
    tokens: int
    condensations: int
    facts: int


class StorageOut(BaseModel):
    """The size of the store on a day."""

    day: str
    bytes: int
    estimated: bool = False


class SeriesOut(BaseModel):
    """Counts by day, up to today; `complete` is false if there was too much to count."""

    days: list[DayOut]
    storage_bytes: list[StorageOut]
    complete: bool


class HealthOut(BaseModel):
    """The health of the service."""

    status: str
    store: str | None = None
    spool: SpoolOut | None = None
    since: datetime | None = None
    replication: str | None = Field(
        None,
        description="`asynchronous`: a write that was acknowledged is lost if the primary is, before a replica has it",
    )
    read_replica: str | None = Field(
        None, description="`ok`, `behind` or `away`: whether searches read from the replica; otherwise from the primary"
    )


class KeyOut(BaseModel):
    """An API key without its secret."""

    id: str
    tenant_id: str
    user_id: str | None
    name: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    scopes: list[str]


class NewKeyOut(KeyOut):
    """An API key with its secret, which is shown only once."""

    key: str


class KeysOut(BaseModel):
    """A tenant's keys, oldest first."""

    items: list[KeyOut]

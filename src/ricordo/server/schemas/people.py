"""The shapes of what is known of a person: profile, facts, summaries, flags, and the proof that it is gone."""

from datetime import datetime

from pydantic import BaseModel


class MemoryOut(BaseModel):
    """What is known of a user, as a tutor's page asks for it."""

    recentSummary: str | None  # noqa: N815 - the shape that pages expect
    keyFacts: list[str]  # noqa: N815
    topics: list[str]
    lastSessionDate: str | None  # noqa: N815


class SourceOut(BaseModel):
    """Where a fact was said."""

    message_id: str
    session_id: str
    turn_number: int | None
    quote: str


class FactOut(BaseModel):
    """One claim about a user, with its sources and the time in which it holds."""

    id: str
    kind: str
    text: str
    about: str
    language: str
    valid_from: datetime
    valid_to: datetime | None
    superseded_by: str | None
    recorded_at: datetime
    made_by: str
    origin: str
    sources: list[SourceOut]


class FactsOut(BaseModel):
    """What is known of a user."""

    items: list[FactOut]


class SummaryOut(BaseModel):
    """A condensed view of named turns."""

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
    """What an agent knows of a user, and the system prompt that it becomes part of."""

    recent_summary: str | None
    key_facts: list[str]
    topics: list[str]
    last_session_date: datetime | None
    prompt: str
    tokens: int


class FlagOut(BaseModel):
    """What was flagged and why, never with the text."""

    id: str
    subject: str
    subject_id: str
    session_id: str
    rules: list[str]
    origin: str
    state: str
    created_at: datetime


class FlagsOut(BaseModel):
    """What was flagged, newest first."""

    items: list[FlagOut]


class EraseOut(BaseModel):
    """Proof of an erasure."""

    user_id: str
    tenant_id: str
    erased_at: datetime
    removed: dict[str, int]
    notes: list[str]


class Removed(BaseModel):
    """How many things went."""

    removed: int


# The shapes of documents, passages, search hits and imports.


class ImportOut(BaseModel):
    """What an import brought in."""

    format: str
    sessions_added: int
    turns_added: int
    turns_known: int
    errors: list[str]
    dry_run: bool


class DocumentOut(BaseModel):
    """A text that answers are drawn from."""

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
    """A passage with what stands around it."""

    before: str
    after: str


class SnippetPart(BaseModel):
    """Part of a snippet; `hit` marks the words that were asked for."""

    text: str
    hit: bool


class HitOut(BaseModel):
    """A past message that speaks to a query."""

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

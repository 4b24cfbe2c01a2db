"""The shapes of documents, passages, search hits and imports."""

from datetime import datetime

from pydantic import BaseModel


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

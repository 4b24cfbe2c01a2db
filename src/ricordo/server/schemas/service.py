"""The shapes of what the service says about itself: who is calling, figures, health, keys."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel


class MeOut(BaseModel):
    """Who is calling, and what answers."""

    tenant_id: str
    user_id: str | None
    scopes: list[str]
    authenticated: bool
    locale: str
    answerer: str
    version: str


class JobsOut(BaseModel):
    """Work beside the chat."""

    pending: int
    leased: int
    failed: int
    retrying: int
    oldest: datetime | None


class SpoolOut(BaseModel):
    """Writes that wait on disk while the database is away."""

    degraded: bool
    away: bool
    since: datetime | None
    depth: int
    bytes: int
    refused: int
    last_error: str = ""


class StatsOut(BaseModel):
    """How much is kept, with which parts, what waits and how long things take."""

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
    """What came on one day, in UTC."""

    day: str
    sessions: int
    turns: int
    tokens: int
    condensations: int
    facts: int


class StorageOut(BaseModel):
    """How large the store was on a day."""

    day: str
    bytes: int
    estimated: bool = False


class SeriesOut(BaseModel):
    """Days in order, the last one today; `complete` is False where there was too much to count."""

    days: list[DayOut]
    storage_bytes: list[StorageOut]
    complete: bool


class HealthOut(BaseModel):
    """Whether chats are answered."""

    status: str
    store: str | None = None
    spool: SpoolOut | None = None
    since: datetime | None = None


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
    """An API key with its secret, shown this once."""

    key: str


class KeysOut(BaseModel):
    """A tenant's keys, oldest first."""

    items: list[KeyOut]


class ModelOut(BaseModel):
    """A model, as OpenAI's endpoint lists it."""

    id: str
    object: str
    created: int
    owned_by: str


class ModelsOut(BaseModel):
    """The models that answer here."""

    object: str
    data: list[ModelOut]


class CompletionOut(BaseModel):
    """An answer of OpenAI's shape."""

    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, Any]
    metadata: dict[str, Any]


class OpenAIError(BaseModel):
    """An error of OpenAI's shape."""

    error: dict[str, Any]

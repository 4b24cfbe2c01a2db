"""Schemas of the service itself: caller, statistics, health, API keys, models, errors."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ricordo.server.schemas import Id


class KeyIn(BaseModel):
    """A new API key."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "the course", "user_id": None}]})

    name: Annotated[str, Field(min_length=1, max_length=255)]
    user_id: Id | None = None
    scopes: list[Literal["chat", "read", "write", "admin"]] = ["chat", "read", "write"]


class Problem(BaseModel):
    """An error (RFC 9457); `detail` says what is wrong, `field` which input."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None
    field: str | None = None


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


class ModelOut(BaseModel):
    """A model in OpenAI's format."""

    id: str
    object: str
    created: int
    owned_by: str


class ModelsOut(BaseModel):
    """The models that answer here."""

    object: str
    data: list[ModelOut]


class CompletionOut(BaseModel):
    """A completion in OpenAI's format."""

    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, Any]
    metadata: dict[str, Any]


class OpenAIError(BaseModel):
    """An error in OpenAI's format."""

    error: dict[str, Any]

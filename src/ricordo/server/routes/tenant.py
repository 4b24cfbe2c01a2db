"""Routes of a tenant: profile, facts, flags, search and erasure of a user; caller, statistics, health and API keys."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

import ricordo
from ricordo.errors import NotFoundError, StoreError, ValidationError
from ricordo.limits import Limits, check_text
from ricordo.people.profile import profile_json
from ricordo.recall.evidence import snowball_stems
from ricordo.records.derived import FactKind
from ricordo.records.service import ApiKey, as_json
from ricordo.records.turns import Owner
from ricordo.server import tenant_schemas as schemas
from ricordo.server.credentials import check_user_id, generate_key
from ricordo.server.presenters import fact_out, hit_out, turn_numbers
from ricordo.server.service import CallerDep, Limit, Project, Service, ServiceDep, UserDep, path_id

router = APIRouter()

PERSON: list[str | Enum] = ["person"]
SEARCH: list[str | Enum] = ["search"]
SERVICE: list[str | Enum] = ["service"]
KEYS: list[str | Enum] = ["keys"]
_DOWN: Any = {503: {"model": schemas.HealthOut, "description": "Chats cannot be answered"}}
INDEX_WAIT_SECONDS = 5.0  # for an index that is behind
Filter = Annotated[str | None, Query(min_length=1, max_length=255)]
Agent = Annotated[str, Query(min_length=1, max_length=255)]


class FactIn(BaseModel):
    """A fact written by hand; `instruction` is a standing wish for all later answers."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"text": "Vivo a Torino"}]})

    text: Annotated[str, Field(min_length=1, max_length=200)]
    kind: Literal[FactKind, "instruction"] | None = None


class FactPatch(BaseModel):
    """The new words of a fact, or whether it comes first."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    pinned: bool | None = None


@router.get("/api/conversations/memory", response_model=schemas.MemoryOut, tags=PERSON)
def memory(user: UserDep, maestro_id: Annotated[str, Query(alias="maestroId", min_length=1, max_length=255)]) -> Any:
    """The profile in the format that tutor pages expect."""
    return profile_json(user.memory.profile(user.id, maestro_id))


@router.get("/profile", response_model=schemas.ProfileOut, tags=PERSON)
def profile(user: UserDep, agent_id: Agent = "default", project: Project = None) -> dict[str, Any]:
    """The profile, and the exact system prompt with it."""
    memory = user.memory
    known = memory.profile(user.id, agent_id, project=project)
    base = memory.settings.system_prompt
    prompt = memory.enhance_prompt(base, user_id=user.id, agent_id=agent_id, project=project)
    return {**asdict(known), "prompt": prompt, "tokens": memory.counter.count(prompt)}


@router.get("/facts", response_model=schemas.FactsOut, tags=PERSON)
def facts(
    user: UserDep,
    agent_id: Agent = "default",
    at: datetime | None = None,
    all: bool = False,  # noqa: A002 - the public name
    project: Project = None,
) -> dict[str, Any]:
    """The facts that are valid now, were valid at a time, or all."""
    known = user.memory.facts(user.id, agent_id, at=at, superseded=all, project=project)
    numbers = turn_numbers(user.memory.store, user.owner, known)
    return {"items": [fact_out(fact, numbers) for fact in known]}


@router.post("/facts", status_code=201, response_model=schemas.FactOut, tags=PERSON)
def write_fact(body: FactIn, user: UserDep, agent_id: Agent = "default") -> dict[str, Any]:
    """Write a fact, or with the kind `instruction` a standing wish, by hand."""
    fact = user.memory.write_fact(body.text, user_id=user.id, agent_id=agent_id, kind=body.kind or "")
    return fact_out(fact, {})


@router.patch("/facts/{fact_id}", response_model=schemas.FactOut, tags=PERSON)
def edit_fact(fact_id: str, body: FactPatch, user: UserDep, agent_id: Agent = "default") -> dict[str, Any]:
    """Replace a fact by a new one, which supersedes it; or pin or unpin a fact."""
    memory, found = user.memory, path_id("fact", fact_id)
    if body.text is None and body.pinned is None:
        raise ValidationError("text", "is missing; give new words, or pinned")
    if body.text is not None:
        found = memory.write_fact(body.text, user_id=user.id, agent_id=agent_id, replaces=found).id
    if body.pinned is not None:
        memory.pin_fact(found, user_id=user.id, agent_id=agent_id, pinned=body.pinned)
    (fact,) = (each for each in memory.facts(user.id, agent_id, superseded=True) if each.id == found)
    return fact_out(fact, turn_numbers(memory.store, user.owner, [fact]))


@router.delete("/facts/{fact_id}", status_code=204, tags=PERSON)
def forget_fact(fact_id: str, user: UserDep, agent_id: Agent = "default") -> None:
    """Delete one fact; it is not learned again."""
    user.memory.forget_fact(path_id("fact", fact_id), user_id=user.id, agent_id=agent_id)


@router.get("/flags", response_model=schemas.FlagsOut, tags=PERSON)
def flags(
    user: UserDep, state: Literal["flagged", "quarantined", "released"] | None = None, limit: Limit = 200
) -> dict[str, Any]:
    """Flags, newest first, without the text."""
    found = user.memory.flags(user.id, state=state, limit=limit)
    return {"items": [as_json(flag) for flag in found]}


@router.patch("/flags/{flag_id}", response_model=schemas.FlagOut, tags=PERSON)
def set_flag(flag_id: str, body: schemas.FlagPatch, user: UserDep) -> dict[str, Any]:
    """Release a memory from quarantine, or put it back."""
    return as_json(user.memory.set_flag(path_id("flag", flag_id), body.state, user_id=user.id))


@router.delete("/users/{named}", response_model=schemas.EraseOut, tags=PERSON)
def erase(named: str, user: UserDep) -> dict[str, Any]:
    """Erase everything of a user; the receipt says what was removed."""
    user = user.override(check_user_id("user_id", named))
    user.service.forget(user.owner)
    receipt = user.memory.erase(user.id)
    user.service.forget(user.owner)  # answers that were running meanwhile
    user.service.api_keys.clear_cache()
    return asdict(receipt) | {"notes": list(receipt.notes)}


_LINES: Any = {200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}


@router.get("/users/{named}/export", response_class=StreamingResponse, responses=_LINES, tags=PERSON)
def export(named: str, user: UserDep, project: Project = None) -> StreamingResponse:
    """All sessions of a user or of one project, one JSON document a line."""
    documents = user.memory.export(user.override(named).id, project=project)

    def lines() -> Iterator[str]:
        for document in documents:
            if "session" in document:
                yield json.dumps(document, ensure_ascii=False, default=str) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@router.get("/search", response_model=schemas.HitsOut, tags=SEARCH)
def search(
    user: UserDep,
    q: Annotated[str, Query(min_length=1, max_length=2_000, examples=["ustione di secondo grado"])],
    limit: Limit = 20,
    session_id: Filter = None,
    agent_id: Filter = None,
    topic_id: Filter = None,
    role: Filter = None,
    after: datetime | None = None,
    before: datetime | None = None,
    tags: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    project: Project = None,
) -> dict[str, Any]:
    """Past messages that match the query, best first, each with the reasons for its rank."""
    hits = user.memory.search(
        q,
        user_id=user.id,
        limit=limit,
        session_id=session_id,
        agent_id=agent_id,
        topic_id=topic_id,
        role=role,
        after=after,
        before=before,
        tags=tags,
        project=project,
        patience=INDEX_WAIT_SECONDS,
    )
    query_stems = set(snowball_stems(q))
    items = [hit_out(user.memory.store, user.owner, hit, query_stems) for hit in hits]
    return {"items": items, "degraded": list(hits.degraded)}


@router.get("/me", response_model=schemas.MeOut, tags=SERVICE)
def me(service: ServiceDep, caller: CallerDep) -> dict[str, Any]:
    """The caller, and what answers here."""
    chat = service.chat(caller.tenant_id)
    return {
        "tenant_id": caller.tenant_id,
        "user_id": caller.user_id,
        "scopes": sorted(caller.scopes),
        "authenticated": caller.authenticated,
        "locale": service.settings.locale.code,
        "answerer": chat.answerer.name,
        "version": ricordo.__version__,
    }


@router.get("/stats", response_model=schemas.StatsOut, tags=SERVICE)
def stats(service: ServiceDep, caller: CallerDep) -> dict[str, Any]:
    """Statistics: stored data, configured parts, waiting jobs, latency."""
    caller.require_scope("read")
    memory = service.memory(caller.tenant_id)
    jobs = service.store.jobs.stats(caller.tenant_id, memory.clock.now())
    figures = memory.stats()
    return as_json(figures) | {
        "jobs": as_json(jobs),
        "spool": _spool(service),
        "latency_ms": service.metrics.latency(),
        "degraded": [*figures.degraded, *service.degraded, *_write_failure(service)],
        "build": {"version": ricordo.__version__},
    }


@router.get("/stats/series", response_model=schemas.SeriesOut, tags=SERVICE)
def series(user: UserDep, days: Annotated[int, Query(ge=1, le=366)] = 30) -> dict[str, Any]:
    """Counts by day, of the user of the credential or of the request, else of the whole tenant."""
    return user.service.series(user.caller.tenant_id, user.explicit_id, days)


@router.get("/health/live", response_model=schemas.HealthOut, response_model_exclude_unset=True, tags=SERVICE)
def live() -> dict[str, str]:
    """Liveness: the process runs."""
    return {"status": "ok"}


@router.get("/health", response_model=schemas.HealthOut, responses=_DOWN, tags=SERVICE)
@router.get("/health/ready", response_model=schemas.HealthOut, responses=_DOWN, tags=SERVICE)
def ready(service: ServiceDep) -> Response:
    """Readiness: 200 if chats are answered, with status `degraded` if writes wait on disk or fail; else 503."""
    spool = _spool(service)
    if spool:
        del spool["last_error"]  # only in /stats, which needs a credential
    health = service.store.health()
    details: dict[str, Any] = {"store": health.kind, "spool": spool}
    if health.replication:
        details["replication"] = health.replication
    if health.read_replica:
        details["read_replica"] = health.read_replica
    if spool and spool["degraded"]:
        return JSONResponse({"status": "degraded", "since": spool["since"]} | details)
    try:
        service.store.sessions.get(Owner(service.settings.tenant_id, "health"), "health")
    except StoreError:
        return JSONResponse({"status": "down"} | details, 503)
    if since := service.not_kept_since:  # for example a full disk, which can still be read
        return JSONResponse({"status": "degraded", "since": since.isoformat()} | details)
    return JSONResponse({"status": "ok"} | details)


@router.get("/metrics", response_class=PlainTextResponse, tags=SERVICE)
def metrics(service: ServiceDep) -> Response:
    """Metrics in the text format of Prometheus."""
    service.measure()
    return Response(service.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _write_failure(service: Service) -> list[str]:
    since = service.not_kept_since
    note = f"no write has succeeded since {since}: answers are given but not stored; the log has the cause"
    return [note] if since else []


def _spool(service: Service) -> dict[str, Any] | None:
    state = service.store.health().spool
    return None if state is None else as_json(state)


@router.post("/keys", status_code=201, response_model=schemas.NewKeyOut, tags=KEYS)
def make(body: schemas.KeyIn, service: ServiceDep, caller: CallerDep, response: Response) -> dict[str, Any]:
    """Create an API key. The key is shown only once."""
    response.headers["Cache-Control"] = "no-store"
    caller.require_admin()
    check_text("name", body.name, Limits())
    user_id = None if body.user_id is None else check_user_id("user_id", body.user_id)
    key_id, key, digest = generate_key()
    now = service.memory(caller.tenant_id).clock.now()
    stored = ApiKey(key_id, caller.tenant_id, user_id, body.name, digest, now, scopes=tuple(dict.fromkeys(body.scopes)))
    service.store.keys.put(stored)
    service.api_keys.clear_cache()
    return _key_out(stored) | {"key": key}


@router.get("/keys", response_model=schemas.KeysOut, tags=KEYS)
def keys(service: ServiceDep, caller: CallerDep) -> dict[str, Any]:
    """The tenant's keys, without their secrets."""
    caller.require_admin()
    return {"items": [_key_out(key) for key in service.store.keys.page(caller.tenant_id)]}


@router.delete("/keys/{key_id}", status_code=204, tags=KEYS)
def revoke(key_id: str, service: ServiceDep, caller: CallerDep) -> None:
    """Revoke a key: refused at once by this process, and within five seconds by others."""
    caller.require_admin()
    now = service.memory(caller.tenant_id).clock.now()
    if not service.store.keys.revoke(caller.tenant_id, path_id("key", key_id), now):
        raise NotFoundError("there is no such key")
    service.api_keys.clear_cache()


def _key_out(key: ApiKey) -> dict[str, Any]:
    plain = asdict(key)
    del plain["digest"]
    return plain | {"scopes": list(key.scopes)}

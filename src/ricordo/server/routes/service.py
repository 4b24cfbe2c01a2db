"""Routes of the service itself: caller, statistics, health, metrics, API keys."""

from dataclasses import asdict
from enum import Enum
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response

import ricordo
from ricordo.errors import NotFoundError, StoreError
from ricordo.limits import Limits, check_text
from ricordo.records.service import ApiKey, as_json
from ricordo.records.turns import Owner
from ricordo.server.credentials import check_user_id, generate_key
from ricordo.server.schemas.service import HealthOut, KeyIn, KeysOut, MeOut, NewKeyOut, SeriesOut, StatsOut
from ricordo.server.service import CallerDep, Service, ServiceDep, UserDep, path_id

router = APIRouter()

SERVICE: list[str | Enum] = ["service"]
KEYS: list[str | Enum] = ["keys"]
_DOWN: Any = {503: {"model": HealthOut, "description": "Chats cannot be answered"}}


@router.get("/me", response_model=MeOut, tags=SERVICE)
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


@router.get("/stats", response_model=StatsOut, tags=SERVICE)
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


@router.get("/stats/series", response_model=SeriesOut, tags=SERVICE)
def series(user: UserDep, days: Annotated[int, Query(ge=1, le=366)] = 30) -> dict[str, Any]:
    """Counts by day, of the user of the credential or of the request, else of the whole tenant."""
    return user.service.series(user.caller.tenant_id, user.explicit_id, days)


@router.get("/health/live", response_model=HealthOut, response_model_exclude_unset=True, tags=SERVICE)
def live() -> dict[str, str]:
    """Liveness: the process runs."""
    return {"status": "ok"}


@router.get("/health", response_model=HealthOut, responses=_DOWN, tags=SERVICE)
@router.get("/health/ready", response_model=HealthOut, responses=_DOWN, tags=SERVICE)
def ready(service: ServiceDep) -> Response:
    """Readiness: 200 if chats are answered, with status `degraded` if writes wait on disk or fail; else 503."""
    spool = _spool(service)
    if spool:
        del spool["last_error"]  # only in /stats, which needs a credential
    details = {"store": service.store.health().kind, "spool": spool}
    if spool and spool["degraded"]:
        return JSONResponse({"status": "degraded", "since": spool["since"]} | details)
    try:
        service.store.sessions.get(Owner(service.settings.tenant_id, "health"), "health")
    except StoreError:
        return JSONResponse({"status": "down"} | details, 503)
    if since := service.not_kept_since:  # such as a full disk, which can still be read
        return JSONResponse({"status": "degraded", "since": since.isoformat()} | details)
    return JSONResponse({"status": "ok"} | details)


@router.get("/metrics", response_class=PlainTextResponse, tags=SERVICE)
def metrics(service: ServiceDep) -> Response:
    """Metrics in the text format of Prometheus."""
    service.measure()
    return Response(service.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _write_failure(service: Service) -> list[str]:
    since = service.not_kept_since
    note = f"nothing can be written since {since}: answers are given and not kept; the log has the cause"
    return [note] if since else []


def _spool(service: Service) -> dict[str, Any] | None:
    state = service.store.health().spool
    return None if state is None else as_json(state)


@router.post("/keys", status_code=201, response_model=NewKeyOut, tags=KEYS)
def make(body: KeyIn, service: ServiceDep, caller: CallerDep, response: Response) -> dict[str, Any]:
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


@router.get("/keys", response_model=KeysOut, tags=KEYS)
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

"""The service itself: who is calling, health, figures."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response

import ricordo
from ricordo.errors import NotFoundError, StoreError
from ricordo.limits import Limits, check_text
from ricordo.records.reports import as_json
from ricordo.records.service import ApiKey
from ricordo.records.turns import Owner
from ricordo.server.caller import check_user
from ricordo.server.credentials import make_key
from ricordo.server.dependencies import Asking, Calling, Serving, known_id
from ricordo.server.schemas.requests import KeyIn
from ricordo.server.schemas.service import HealthOut, KeysOut, MeOut, NewKeyOut, SeriesOut, StatsOut
from ricordo.server.service import Service

service_router = APIRouter(tags=["service"])


@service_router.get("/me", response_model=MeOut)
def me(service: Serving, caller: Calling) -> dict[str, Any]:
    """Who is calling, and what answers."""
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


@service_router.get("/stats", response_model=StatsOut)
def stats(service: Serving, caller: Calling) -> dict[str, Any]:
    """How much is kept, with which parts, what waits and how long things take."""
    caller.must("read")
    memory = service.memory(caller.tenant_id)
    jobs = service.store.jobs.stats(caller.tenant_id, memory.clock.now())
    figures = memory.stats()
    return as_json(figures) | {
        "jobs": as_json(jobs),
        "spool": _spool(service),
        "latency_ms": service.metrics.latency(),
        "degraded": [*figures.degraded, *service.degraded, *_not_kept(service)],
        "build": {"version": ricordo.__version__},
    }


@service_router.get("/stats/series", response_model=SeriesOut)
def series(person: Asking, days: Annotated[int, Query(ge=1, le=366)] = 30) -> dict[str, Any]:
    """What came day by day: of the user that a credential is bound to or that is named, else of the whole tenant."""
    return person.service.series(person.caller.tenant_id, person.named_user, days)


@service_router.get("/health/live", response_model=HealthOut, response_model_exclude_unset=True)
def live() -> dict[str, str]:
    """The process runs."""
    return {"status": "ok"}


_DOWN: Any = {503: {"model": HealthOut, "description": "Chats cannot be answered"}}


@service_router.get("/health", response_model=HealthOut, responses=_DOWN)
@service_router.get("/health/ready", response_model=HealthOut, responses=_DOWN)
def ready(service: Serving) -> Response:
    """Whether chats are answered: 200 also while writes wait on disk, or nothing can be written, which is said."""
    spool = _spool(service)
    if spool:
        del spool["last_error"]  # for those who may read the figures
    told = {"store": service.store.health().kind, "spool": spool}
    if spool and spool["degraded"]:
        return JSONResponse({"status": "degraded", "since": spool["since"]} | told)
    try:
        service.store.sessions.get(Owner(service.settings.tenant_id, "health"), "health")
    except StoreError:
        return JSONResponse({"status": "down"} | told, 503)
    if since := service.not_kept_since:  # a full disk can still be read
        return JSONResponse({"status": "degraded", "since": since.isoformat()} | told)
    return JSONResponse({"status": "ok"} | told)


@service_router.get("/metrics", response_class=PlainTextResponse)
def metrics(service: Serving) -> Response:
    """Figures for Prometheus."""
    service.measure()
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _not_kept(service: Service) -> list[str]:
    since = service.not_kept_since
    why = f"nothing can be written since {since}: answers are given and not kept; the log has the cause"
    return [why] if since else []


def _spool(service: Service) -> dict[str, Any] | None:
    state = service.store.health().spool
    return None if state is None else as_json(state)


# API keys of a tenant: made, listed and revoked by whoever may care for the tenant as a whole.

keys_router = APIRouter(prefix="/keys", tags=["keys"])


@keys_router.post("", status_code=201, response_model=NewKeyOut)
def make(body: KeyIn, service: Serving, caller: Calling) -> dict[str, Any]:
    """Make an API key. The key is shown this once."""
    caller.must_rule()
    check_text("name", body.name, Limits())
    user = None if body.user_id is None else check_user("user_id", body.user_id)
    key_id, key, digest = make_key()
    now = service.memory(caller.tenant_id).clock.now()
    kept = ApiKey(key_id, caller.tenant_id, user, body.name, digest, now, scopes=tuple(dict.fromkeys(body.scopes)))
    service.store.keys.put(kept)
    service.keyring.forget()
    return _key(kept) | {"key": key}


@keys_router.get("", response_model=KeysOut)
def keys(service: Serving, caller: Calling) -> dict[str, Any]:
    """The tenant's keys, without their secrets."""
    caller.must_rule()
    return {"items": [_key(key) for key in service.store.keys.page(caller.tenant_id)]}


@keys_router.delete("/{key_id}", status_code=204)
def revoke(key_id: str, service: Serving, caller: Calling) -> None:
    """Revoke a key: refused here from now on, and by other processes within five seconds."""
    caller.must_rule()
    now = service.memory(caller.tenant_id).clock.now()
    if not service.store.keys.revoke(caller.tenant_id, known_id("key", key_id), now):
        raise NotFoundError("there is no such key")
    service.keyring.forget()


def _key(key: ApiKey) -> dict[str, Any]:
    plain = asdict(key)
    del plain["digest"]
    return plain | {"scopes": list(key.scopes)}

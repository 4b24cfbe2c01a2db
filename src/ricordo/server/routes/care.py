"""The service itself: who is calling, health, figures."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response

import ricordo
from ricordo.errors import StoreError
from ricordo.records import Owner
from ricordo.reports import as_json
from ricordo.server.asking import Asking, Calling, Serving
from ricordo.server.service import Service
from ricordo.server.shapes.care import HealthOut, MeOut, SeriesOut, StatsOut

router = APIRouter(tags=["service"])


@router.get("/me", response_model=MeOut)
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


@router.get("/stats", response_model=StatsOut)
def stats(service: Serving, caller: Calling) -> dict[str, Any]:
    """How much is kept, with which parts, what waits and how long things take."""
    caller.must("read")
    memory = service.memory(caller.tenant_id)
    jobs = service.store.jobs_stats(caller.tenant_id, memory.clock.now())
    figures = memory.stats()
    return as_json(figures) | {
        "jobs": as_json(jobs),
        "spool": _spool(service),
        "latency_ms": service.metrics.latency(),
        "degraded": [*figures.degraded, *service.degraded, *_not_kept(service)],
        "build": {"version": ricordo.__version__},
    }


@router.get("/stats/series", response_model=SeriesOut)
def series(person: Asking, days: Annotated[int, Query(ge=1, le=366)] = 30) -> dict[str, Any]:
    """What came day by day: of the user that a credential is bound to or that is named, else of the whole tenant."""
    return person.service.series(person.caller.tenant_id, person.named_user, days)


@router.get("/health/live", response_model=HealthOut, response_model_exclude_unset=True)
def live() -> dict[str, str]:
    """The process runs."""
    return {"status": "ok"}


_DOWN: Any = {503: {"model": HealthOut, "description": "Chats cannot be answered"}}


@router.get("/health", response_model=HealthOut, responses=_DOWN)
@router.get("/health/ready", response_model=HealthOut, responses=_DOWN)
def ready(service: Serving) -> Response:
    """Whether chats are answered: 200 also while writes wait on disk, or nothing can be written, which is said."""
    spool = _spool(service)
    if spool:
        del spool["last_error"]  # for those who may read the figures
    told = {"store": _kind(service), "spool": spool}
    if spool and spool["degraded"]:
        return JSONResponse({"status": "degraded", "since": spool["since"]} | told)
    try:
        service.store.session(Owner(service.settings.tenant_id, "health"), "health")
    except StoreError:
        return JSONResponse({"status": "down"} | told, 503)
    if since := service.not_kept_since:  # a full disk can still be read
        return JSONResponse({"status": "degraded", "since": since.isoformat()} | told)
    return JSONResponse({"status": "ok"} | told)


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(service: Serving) -> Response:
    """Figures for Prometheus."""
    service.measure()
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _not_kept(service: Service) -> list[str]:
    since = service.not_kept_since
    why = f"nothing can be written since {since}: answers are given and not kept; the log has the cause"
    return [why] if since else []


def _spool(service: Service) -> dict[str, Any] | None:
    state = getattr(service.store, "state", None)
    return None if state is None else as_json(state)


def _kind(service: Service) -> str:
    """What kind of store it is; where it lies is nobody's business here."""
    place = service.store.location
    if place.startswith("memory:"):
        return "memory"
    return "postgresql" if "://" in place or getattr(service.store, "state", None) is not None else "sqlite"

"""The service itself: search over everything said, health, figures, keys, who is calling."""

import re
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response

import ricordo
from ricordo.errors import NotFoundError, StoreError
from ricordo.limits import check_id
from ricordo.recall.words import stems
from ricordo.records import Owner, turn_id_of
from ricordo.reports import as_json
from ricordo.server import models
from ricordo.server.asking import Asking, Calling, Person, Serving
from ricordo.server.keys import make_key
from ricordo.server.routes.sessions import Limit
from ricordo.service import ApiKey

router = APIRouter(tags=["service"])

SNIPPET = 240
_WORD = re.compile(r"\w+", re.UNICODE)


@router.get("/search")
def search(
    person: Asking,
    q: Annotated[str, Query(min_length=1, max_length=2_000)],
    limit: Limit = 20,
    session_id: str | None = None,
    agent_id: str | None = None,
    topic_id: str | None = None,
    role: str | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
    tags: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
) -> dict[str, Any]:
    """Past messages that speak to the query, best first, each with its reasons."""
    hits = person.memory.search(
        q,
        user_id=person.id,
        limit=limit,
        session_id=session_id,
        agent_id=agent_id,
        topic_id=topic_id,
        role=role,
        after=after,
        before=before,
        tags=tags,
        patience=5.0,
    )
    asked = set(stems(q))
    return {"items": [_hit(person, hit, asked) for hit in hits], "degraded": list(hits.degraded)}


def _hit(person: Person, hit: Any, asked: set[str]) -> dict[str, Any]:
    turn = person.memory.store.turn(person.owner, turn_id_of(hit.message_id))
    session = person.memory.store.session(person.owner, hit.session_id)
    return {
        "message_id": hit.message_id,
        "session_id": hit.session_id,
        "session_title": session.title if session else None,
        "turn_number": hit.turn_number,
        "role": hit.message.role,
        "text": hit.text,
        "snippet": snippet(hit.text, asked),
        "created_at": hit.message.created_at,
        "score": hit.score,
        "reasons": list(hit.reasons),
        "archived": bool(turn and turn.archived),
    }


def snippet(text: str, asked: set[str]) -> list[dict[str, Any]]:
    """A passage of a text around the first word that was asked for, with those words marked."""
    words = [(match, bool(set(stems(match[0])) & asked)) for match in _WORD.finditer(text)]
    first = next((match.start() for match, hit in words if hit), 0)
    start = max(0, first - SNIPPET // 3)
    end = min(len(text), start + SNIPPET)
    parts: list[dict[str, Any]] = [{"text": "…", "hit": False}] if start else []
    at = start
    for match, hit in words:
        if hit and match.start() >= at and match.end() <= end:
            parts += [{"text": text[at : match.start()], "hit": False}, {"text": match[0], "hit": True}]
            at = match.end()
    parts.append({"text": text[at:end] + ("…" if end < len(text) else ""), "hit": False})
    return [part for part in parts if part["text"]]


@router.get("/me")
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


@router.get("/stats")
def stats(service: Serving, caller: Calling) -> dict[str, Any]:
    """How much is kept, with which parts, what waits and how long things take."""
    caller.must("read")
    memory = service.memory(caller.tenant_id)
    jobs = service.store.jobs_stats(caller.tenant_id, memory.clock.now())
    return as_json(memory.stats()) | {
        "jobs": as_json(jobs),
        "spool": _spool(service),
        "latency_ms": service.metrics.latency(),
        "degraded": [*memory.stats().degraded, *service.degraded],
        "build": {"version": ricordo.__version__},
    }


def _spool(service: Any) -> dict[str, Any] | None:
    state = getattr(service.store, "state", None)
    return None if state is None else as_json(state)


@router.get("/health/live")
def live() -> dict[str, str]:
    """The process runs."""
    return {"status": "ok"}


@router.get("/health")
@router.get("/health/ready")
def ready(service: Serving) -> Response:
    """Whether chats are answered: 200 also while the database is away and writes wait on disk, which is said."""
    spool = _spool(service)
    if spool and spool["degraded"]:
        return JSONResponse({"status": "degraded", "store": service.store.location, "spool": spool})
    try:
        service.store.session(Owner(service.settings.tenant_id, "health"), "health")
    except StoreError as error:
        return JSONResponse({"status": "down", "store": service.store.location, "detail": str(error)}, 503)
    return JSONResponse({"status": "ok", "store": service.store.location, "spool": spool})


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(service: Serving) -> Response:
    """Figures for Prometheus."""
    service.measure()
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.post("/keys", status_code=201)
def make(body: models.KeyIn, service: Serving, caller: Calling) -> dict[str, Any]:
    """Make an API key. The key is shown this once."""
    caller.must("admin")
    key_id, key, digest = make_key()
    now = service.memory(caller.tenant_id).clock.now()
    kept = ApiKey(key_id, caller.tenant_id, body.user_id, body.name, digest, now, scopes=tuple(body.scopes))
    service.store.put_key(kept)
    return _key(kept) | {"key": key}


@router.get("/keys")
def keys(service: Serving, caller: Calling) -> dict[str, Any]:
    """The tenant's keys, without their secrets."""
    caller.must("admin")
    return {"items": [_key(key) for key in service.store.keys(caller.tenant_id)]}


@router.delete("/keys/{key_id}", status_code=204)
def revoke(key_id: str, service: Serving, caller: Calling) -> None:
    """Revoke a key; it is refused from now on."""
    caller.must("admin")
    now = service.memory(caller.tenant_id).clock.now()
    if not service.store.revoke_key(caller.tenant_id, check_id("key_id", key_id), now):
        raise NotFoundError("there is no such key")


def _key(key: ApiKey) -> dict[str, Any]:
    plain = asdict(key)
    del plain["digest"]
    return plain | {"scopes": list(key.scopes)}

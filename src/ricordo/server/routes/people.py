"""A person: what is known, where it was said, what was flagged, and how to have it forgotten."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from ricordo.people.profile import as_document
from ricordo.recall.search import Hit
from ricordo.recall.terms import stems
from ricordo.records.turns import turn_id_of
from ricordo.server.caller import check_user
from ricordo.server.dependencies import Asking, Limit, RequestUser, known_id
from ricordo.server.presenters import fact_out, flag_out, turn_numbers
from ricordo.server.schemas import people, requests
from ricordo.server.schemas.people import HitsOut

people_router = APIRouter(tags=["person"])

Agent = Annotated[str, Query(min_length=1, max_length=255)]


@people_router.get("/api/conversations/memory", response_model=people.MemoryOut)
def memory(person: Asking, maestro_id: Annotated[str, Query(alias="maestroId", min_length=1, max_length=255)]) -> Any:
    """What a teacher knows of a user from earlier sessions."""
    return as_document(person.memory.profile(person.id, maestro_id))


@people_router.get("/profile", response_model=people.ProfileOut)
def profile(person: Asking, agent_id: Agent = "default") -> dict[str, Any]:
    """The profile, and the exact system prompt that it becomes part of."""
    memory = person.memory
    known = memory.profile(person.id, agent_id)
    prompt = memory.enhance_prompt(memory.settings.system_prompt, user_id=person.id, agent_id=agent_id)
    return {**asdict(known), "prompt": prompt, "tokens": memory.counter.count(prompt)}


@people_router.get("/facts", response_model=people.FactsOut)
def facts(
    person: Asking,
    agent_id: Agent = "default",
    at: datetime | None = None,
    all: bool = False,  # noqa: A002 - the public name
) -> dict[str, Any]:
    """What is known now, was known at a moment, or ever was."""
    known = person.memory.facts(person.id, agent_id, at=at, superseded=all)
    where = turn_numbers(person.memory.store, person.owner, known)
    return {"items": [fact_out(fact, where) for fact in known]}


@people_router.delete("/facts/{fact_id}", status_code=204)
def forget_fact(fact_id: str, person: Asking, agent_id: Agent = "default") -> None:
    """Forget one fact for good."""
    person.memory.forget_fact(known_id("fact", fact_id), user_id=person.id, agent_id=agent_id)


@people_router.get("/flags", response_model=people.FlagsOut)
def flags(
    person: Asking, state: Literal["flagged", "quarantined", "released"] | None = None, limit: Limit = 200
) -> dict[str, Any]:
    """What was flagged, newest first; never with the text."""
    found = person.memory.flags(person.id, state=state, limit=limit)
    return {"items": [flag_out(flag) for flag in found]}


@people_router.patch("/flags/{flag_id}", response_model=people.FlagOut)
def set_flag(flag_id: str, body: requests.FlagPatch, person: Asking) -> dict[str, Any]:
    """Release a memory from quarantine, or put it back."""
    return flag_out(person.memory.set_flag(known_id("flag", flag_id), body.state, user_id=person.id))


@people_router.delete("/users/{named}", response_model=people.EraseOut)
def erase(named: str, person: Asking) -> dict[str, Any]:
    """Remove everything of a user; the receipt says what went."""
    user = person.named(check_user("user_id", named)).id
    person.service.forget(person.owner)
    receipt = person.memory.erase(user)
    person.service.forget(person.owner)  # what was answered in between
    person.service.keyring.forget()
    return asdict(receipt) | {"notes": list(receipt.notes)}


_LINES: Any = {200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}


@people_router.get("/users/{named}/export", response_class=StreamingResponse, responses=_LINES)
def export(named: str, person: Asking) -> StreamingResponse:
    """Every session of a user, one JSON document a line."""
    documents = person.memory.export(person.named(named).id)

    def lines() -> Iterator[str]:
        for document in documents:
            if "session" in document:
                yield json.dumps(document, ensure_ascii=False, default=str) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


# Search over everything that was said, with the words that were asked for marked.

search_router = APIRouter(tags=["search"])

SNIPPET = 240
PATIENCE = 5.0  # seconds to wait for an index that is behind
_WORD = re.compile(r"\w+", re.UNICODE)

Filter = Annotated[str | None, Query(min_length=1, max_length=255)]


@search_router.get("/search", response_model=HitsOut)
def search(
    person: Asking,
    q: Annotated[str, Query(min_length=1, max_length=2_000, examples=["ustione di secondo grado"])],
    limit: Limit = 20,
    session_id: Filter = None,
    agent_id: Filter = None,
    topic_id: Filter = None,
    role: Filter = None,
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
        patience=PATIENCE,
    )
    asked = set(stems(q))
    return {"items": [_hit(person, hit, asked) for hit in hits], "degraded": list(hits.degraded)}


def _hit(person: RequestUser, hit: Hit, asked: set[str]) -> dict[str, Any]:
    turn = person.memory.store.turns.get(person.owner, turn_id_of(hit.message_id))
    session = person.memory.store.sessions.get(person.owner, hit.session_id)
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

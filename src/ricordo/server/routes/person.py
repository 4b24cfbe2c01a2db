"""A person: what is known, where it was said, what was flagged, and how to have it forgotten."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from ricordo.errors import ValidationError
from ricordo.profile.building import as_document
from ricordo.server import models
from ricordo.server.asking import Asking
from ricordo.server.caller import NotAllowed
from ricordo.server.routes.sessions import Limit, numbers
from ricordo.server.showing import fact_out, flag_out

router = APIRouter(tags=["person"])

Agent = Annotated[str, Query(min_length=1, max_length=255)]


@router.get("/api/conversations/memory", response_model=models.MemoryOut)
def memory(person: Asking, maestro_id: Annotated[str, Query(alias="maestroId", min_length=1, max_length=255)]) -> Any:
    """What a teacher knows of a user from earlier sessions."""
    return as_document(person.memory.profile(person.id, maestro_id))


@router.get("/profile")
def profile(person: Asking, agent_id: Agent = "default") -> dict[str, Any]:
    """The profile, and the exact system prompt that it becomes part of."""
    memory = person.memory
    known = memory.profile(person.id, agent_id)
    prompt = memory.enhance_prompt(memory.settings.system_prompt, user_id=person.id, agent_id=agent_id)
    return {**asdict(known), "prompt": prompt, "tokens": memory.counter.count(prompt)}


@router.get("/facts")
def facts(
    person: Asking,
    agent_id: Agent = "default",
    at: datetime | None = None,
    all: bool = False,  # noqa: A002 - the public name
) -> dict[str, Any]:
    """What is known now, was known at a moment, or ever was."""
    if at is not None and at.tzinfo is None:
        raise ValidationError("at", "give a time with its offset, such as 2026-01-31T12:00:00+01:00")
    known = person.memory.facts(person.id, agent_id, at=at, superseded=all)
    where = numbers(person, known)
    return {"items": [fact_out(fact, where) for fact in known]}


@router.delete("/facts/{fact_id}", status_code=204)
def forget_fact(fact_id: str, person: Asking, agent_id: Agent = "default") -> None:
    """Forget one fact for good."""
    person.caller.must("write")
    person.memory.forget_fact(fact_id, user_id=person.id, agent_id=agent_id)


@router.get("/flags")
def flags(
    person: Asking, state: Literal["flagged", "quarantined", "released"] | None = None, limit: Limit = 200
) -> dict[str, Any]:
    """What was flagged, newest first; never with the text."""
    found = person.memory.flags(person.id, state=state, limit=limit)
    return {"items": [flag_out(flag) for flag in found]}


@router.patch("/flags/{flag_id}")
def set_flag(flag_id: str, body: models.FlagPatch, person: Asking) -> dict[str, Any]:
    """Release a memory from quarantine, or put it back."""
    person.caller.must("write")
    return flag_out(person.memory.set_flag(flag_id, body.state, user_id=person.id))


@router.delete("/users/{named}")
def erase(named: str, person: Asking) -> dict[str, Any]:
    """Remove everything of a user; the receipt says what went."""
    person.caller.must("write")
    if person.caller.user_id is not None and named != person.caller.user_id:
        raise NotAllowed("this credential belongs to another user")
    receipt = person.memory.erase(named)
    return asdict(receipt) | {"notes": list(receipt.notes)}


@router.get("/users/{named}/export")
def export(named: str, person: Asking) -> StreamingResponse:
    """Every session of a user, one JSON document a line."""
    user = person.named(named).id
    documents = person.memory.export(user)

    def lines() -> Iterator[str]:
        for document in documents:
            yield json.dumps(document, ensure_ascii=False, default=str) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")

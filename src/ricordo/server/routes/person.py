"""A person: what is known, where it was said, what was flagged, and how to have it forgotten."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from ricordo.profile.building import as_document
from ricordo.server.asking import Asking, Limit, known_id
from ricordo.server.caller import check_user
from ricordo.server.shapes import inputs, people
from ricordo.server.showing import fact_out, flag_out, turn_numbers

router = APIRouter(tags=["person"])

Agent = Annotated[str, Query(min_length=1, max_length=255)]


@router.get("/api/conversations/memory", response_model=people.MemoryOut)
def memory(person: Asking, maestro_id: Annotated[str, Query(alias="maestroId", min_length=1, max_length=255)]) -> Any:
    """What a teacher knows of a user from earlier sessions."""
    return as_document(person.memory.profile(person.id, maestro_id))


@router.get("/profile", response_model=people.ProfileOut)
def profile(person: Asking, agent_id: Agent = "default") -> dict[str, Any]:
    """The profile, and the exact system prompt that it becomes part of."""
    memory = person.memory
    known = memory.profile(person.id, agent_id)
    prompt = memory.enhance_prompt(memory.settings.system_prompt, user_id=person.id, agent_id=agent_id)
    return {**asdict(known), "prompt": prompt, "tokens": memory.counter.count(prompt)}


@router.get("/facts", response_model=people.FactsOut)
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


@router.delete("/facts/{fact_id}", status_code=204)
def forget_fact(fact_id: str, person: Asking, agent_id: Agent = "default") -> None:
    """Forget one fact for good."""
    person.memory.forget_fact(known_id("fact", fact_id), user_id=person.id, agent_id=agent_id)


@router.get("/flags", response_model=people.FlagsOut)
def flags(
    person: Asking, state: Literal["flagged", "quarantined", "released"] | None = None, limit: Limit = 200
) -> dict[str, Any]:
    """What was flagged, newest first; never with the text."""
    found = person.memory.flags(person.id, state=state, limit=limit)
    return {"items": [flag_out(flag) for flag in found]}


@router.patch("/flags/{flag_id}", response_model=people.FlagOut)
def set_flag(flag_id: str, body: inputs.FlagPatch, person: Asking) -> dict[str, Any]:
    """Release a memory from quarantine, or put it back."""
    return flag_out(person.memory.set_flag(known_id("flag", flag_id), body.state, user_id=person.id))


@router.delete("/users/{named}", response_model=people.EraseOut)
def erase(named: str, person: Asking) -> dict[str, Any]:
    """Remove everything of a user; the receipt says what went."""
    user = person.named(check_user("user_id", named)).id
    person.service.forget(person.owner)
    receipt = person.memory.erase(user)
    person.service.forget(person.owner)  # what was answered in between
    person.service.keyring.forget()
    return asdict(receipt) | {"notes": list(receipt.notes)}


_LINES: Any = {200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}


@router.get("/users/{named}/export", response_class=StreamingResponse, responses=_LINES)
def export(named: str, person: Asking) -> StreamingResponse:
    """Every session of a user, one JSON document a line."""
    documents = person.memory.export(person.named(named).id)

    def lines() -> Iterator[str]:
        for document in documents:
            yield json.dumps(document, ensure_ascii=False, default=str) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")

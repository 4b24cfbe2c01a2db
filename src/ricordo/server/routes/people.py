"""Routes of a user: profile, facts, flags, export and erasure."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from ricordo.people.profile import profile_json
from ricordo.server.credentials import check_user_id
from ricordo.server.presenters import fact_out, flag_out, turn_numbers
from ricordo.server.schemas import people
from ricordo.server.service import Limit, UserDep, path_id

router = APIRouter(tags=["person"])

Agent = Annotated[str, Query(min_length=1, max_length=255)]


@router.get("/api/conversations/memory", response_model=people.MemoryOut)
def memory(user: UserDep, maestro_id: Annotated[str, Query(alias="maestroId", min_length=1, max_length=255)]) -> Any:
    """The profile in the format that tutor pages expect."""
    return profile_json(user.memory.profile(user.id, maestro_id))


@router.get("/profile", response_model=people.ProfileOut)
def profile(user: UserDep, agent_id: Agent = "default") -> dict[str, Any]:
    """The profile, and the exact system prompt with it."""
    memory = user.memory
    known = memory.profile(user.id, agent_id)
    prompt = memory.enhance_prompt(memory.settings.system_prompt, user_id=user.id, agent_id=agent_id)
    return {**asdict(known), "prompt": prompt, "tokens": memory.counter.count(prompt)}


@router.get("/facts", response_model=people.FactsOut)
def facts(
    user: UserDep,
    agent_id: Agent = "default",
    at: datetime | None = None,
    all: bool = False,  # noqa: A002 - the public name
) -> dict[str, Any]:
    """The facts that are valid now, were valid at a time, or all."""
    known = user.memory.facts(user.id, agent_id, at=at, superseded=all)
    numbers = turn_numbers(user.memory.store, user.owner, known)
    return {"items": [fact_out(fact, numbers) for fact in known]}


@router.delete("/facts/{fact_id}", status_code=204)
def forget_fact(fact_id: str, user: UserDep, agent_id: Agent = "default") -> None:
    """Delete one fact; it is not learned again."""
    user.memory.forget_fact(path_id("fact", fact_id), user_id=user.id, agent_id=agent_id)


@router.get("/flags", response_model=people.FlagsOut)
def flags(
    user: UserDep, state: Literal["flagged", "quarantined", "released"] | None = None, limit: Limit = 200
) -> dict[str, Any]:
    """Flags, newest first, without the text."""
    found = user.memory.flags(user.id, state=state, limit=limit)
    return {"items": [flag_out(flag) for flag in found]}


@router.patch("/flags/{flag_id}", response_model=people.FlagOut)
def set_flag(flag_id: str, body: people.FlagPatch, user: UserDep) -> dict[str, Any]:
    """Release a memory from quarantine, or put it back."""
    return flag_out(user.memory.set_flag(path_id("flag", flag_id), body.state, user_id=user.id))


@router.delete("/users/{named}", response_model=people.EraseOut)
def erase(named: str, user: UserDep) -> dict[str, Any]:
    """Erase everything of a user; the receipt says what was removed."""
    user = user.override(check_user_id("user_id", named))
    user.service.forget(user.owner)
    receipt = user.memory.erase(user.id)
    user.service.forget(user.owner)  # answers that were running meanwhile
    user.service.api_keys.clear_cache()
    return asdict(receipt) | {"notes": list(receipt.notes)}


_LINES: Any = {200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}


@router.get("/users/{named}/export", response_class=StreamingResponse, responses=_LINES)
def export(named: str, user: UserDep) -> StreamingResponse:
    """All sessions of a user, one JSON document a line."""
    documents = user.memory.export(user.override(named).id)

    def lines() -> Iterator[str]:
        for document in documents:
            if "session" in document:
                yield json.dumps(document, ensure_ascii=False, default=str) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")

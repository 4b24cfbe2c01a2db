"""Search over everything that was said, with the words that were asked for marked."""

import re
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from ricordo.recall.words import stems
from ricordo.records import turn_id_of
from ricordo.server.asking import Asking, Limit, Person
from ricordo.server.shapes.material import HitsOut
from ricordo.verbs.recall import Hit

router = APIRouter(tags=["search"])

SNIPPET = 240
PATIENCE = 5.0  # seconds to wait for an index that is behind
_WORD = re.compile(r"\w+", re.UNICODE)

Filter = Annotated[str | None, Query(min_length=1, max_length=255)]


@router.get("/search", response_model=HitsOut)
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


def _hit(person: Person, hit: Hit, asked: set[str]) -> dict[str, Any]:
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

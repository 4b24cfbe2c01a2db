"""Sessions: list, make, read, change, export, and let go; and the turns in them."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from ricordo.errors import ValidationError
from ricordo.limits import LARGEST
from ricordo.records import SessionInfo
from ricordo.server.asking import Asking, Limit
from ricordo.server.repeats import id_of
from ricordo.server.shapes import inputs, talks
from ricordo.server.showing import ARCHIVED, cursor_of, message_out, session_at, session_out, turn_out

router = APIRouter(prefix="/sessions", tags=["sessions"])

Key = Annotated[str, Header(alias="Idempotency-Key", include_in_schema=False)]
PAGES = 20  # pages that a filter may look through in one request
_EXPORTED: Any = {
    200: {
        "content": {"application/json": {"schema": {"type": "object"}}, "text/markdown": {"schema": {"type": "string"}}}
    }
}


@router.post("", status_code=201, response_model=talks.SessionOut)
def create(body: inputs.SessionIn, person: Asking, idempotency_key: Key = "") -> dict[str, Any]:
    """Make an empty session."""
    person.named(body.user_id)
    session_id = id_of(person.owner, "session", idempotency_key) if idempotency_key else None
    session = person.memory.session(session_id, user_id=person.id, agent_id=body.agent_id)
    info = session.create(title=body.title, tags=body.tags, metadata=body.metadata)
    return session_out(info)


@router.get("", response_model=talks.SessionsOut)
def listing(
    person: Asking,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(description="The next_cursor of the page before")] = None,
    agent_id: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
    archived: Annotated[bool | None, Query(description="Only the archived ones, or only the others")] = None,
    tag: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
) -> dict[str, Any]:
    """A user's sessions, most recently active first."""
    before = None if cursor is None else session_at(cursor, person.owner)
    kept: list[SessionInfo] = []
    for _ in range(PAGES):
        page = person.memory.sessions(user_id=person.id, limit=limit, agent_id=agent_id, before=before)
        for each in page:
            before = each
            if _wanted(each, archived, tag):
                kept.append(each)
            if len(kept) == limit:
                break
        if len(kept) == limit or len(page) < limit:
            break
    more = len(kept) == limit or (before is not None and len(page) == limit)
    cursor = cursor_of(before) if more and before else None
    return {"items": [session_out(each) for each in kept], "next_cursor": cursor}


def _wanted(session: SessionInfo, archived: bool | None, tag: str | None) -> bool:
    hidden = bool(session.metadata.get(ARCHIVED))
    return (archived is None or hidden == archived) and (tag is None or tag in session.tags)


@router.get("/{session_id}", response_model=talks.SessionOut)
def read(session_id: str, person: Asking) -> dict[str, Any]:
    """One session."""
    return session_out(person.info(session_id))


@router.patch("/{session_id}", response_model=talks.SessionOut)
def change(session_id: str, body: inputs.SessionPatch, person: Asking) -> dict[str, Any]:
    """Rename, tag, archive."""
    info = person.info(session_id)
    metadata = None
    if body.metadata is not None or body.archived is not None:
        hidden = bool(info.metadata.get(ARCHIVED)) if body.archived is None else body.archived
        own = {key: value for key, value in info.metadata.items() if key != ARCHIVED}
        metadata = (own if body.metadata is None else body.metadata) | ({ARCHIVED: True} if hidden else {})
    changed = person.session(session_id).update(
        title=body.title, tags=body.tags, metadata=metadata, document_ids=body.document_ids
    )
    return session_out(changed)


@router.delete("/{session_id}", response_model=talks.Deleted)
def delete(session_id: str, person: Asking) -> dict[str, int]:
    """Remove a session with everything in it."""
    person.info(session_id)
    person.service.forget(person.owner, session_id)
    return {"deleted_turns": person.memory.delete_session(session_id, user_id=person.id)}


@router.delete("/{session_id}/history", response_model=talks.Deleted)
def clear(session_id: str, person: Asking) -> dict[str, int]:
    """Remove a session's turns, keep the session."""
    session = person.session(session_id)
    person.service.forget(person.owner, session.id)
    return {"deleted_turns": session.clear()}


@router.post("/{session_id}/messages", status_code=201, response_model=talks.MessageOut | talks.TurnOut)
def add(session_id: str, body: inputs.MessageIn, person: Asking, idempotency_key: Key = "") -> dict[str, Any]:
    """Keep a message (`role`, `content`), or a question with its answer (`query`, `response`)."""
    session = person.named(body.user_id).session(session_id)
    if body.role is not None and body.content is not None and body.query is None and body.response is None:
        said = session.add_message(
            body.role,
            body.content,
            created_at=body.created_at,
            chunk_ids=body.chunk_ids,
            metadata=body.metadata,
            tool_calls=body.tool_calls,
            tool_call_id=body.tool_call_id,
            name=body.name,
        )
        person.service.wish(person.owner, session.id)
        return message_out(said)
    if body.query is None or body.role is not None or body.content is not None:
        raise ValidationError("body", "give role and content, or query and response")
    turn_id = body.turn_id
    if turn_id is None and idempotency_key:
        turn_id = id_of(person.owner, f"turn of {session.id}", idempotency_key)
    details: dict[str, Any] = {"metadata": body.metadata, "created_at": body.created_at, "turn_id": turn_id}
    if body.response is None:
        turn = session.ask(body.query, **details).turn
    else:
        turn = session.add_turn(body.query, body.response, chunk_ids=body.chunk_ids, **details)
    person.service.wish(person.owner, session.id)
    return turn_out(turn)


@router.get("/{session_id}/messages", response_model=talks.TurnsOut)
def turns(
    session_id: str,
    person: Asking,
    limit: Limit = 50,
    before: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    after: Annotated[int | None, Query(ge=0, le=LARGEST - 201)] = None,
) -> dict[str, Any]:
    """Turns in order: the newest page, or the one before a number, or those after one."""
    info = person.info(session_id)
    store, owner = person.memory.store, person.owner
    if after is not None:
        before = min(before or after + limit + 1, after + limit + 1)
    page = store.turns(owner, info.id, last=limit, before=before, after=after)
    more = bool(page) and page[0].turn_number > 1 and after is None
    return {
        "items": [turn_out(turn) for turn in page],
        "next_before": page[0].turn_number if more else None,
        "total": info.turn_count,
    }


@router.get("/{session_id}/export", response_class=JSONResponse, responses=_EXPORTED)
def export(
    session_id: str,
    person: Asking,
    format: Literal["json", "markdown"] = "json",  # noqa: A002 - the public name
) -> Response:
    """The session as JSON that can be imported again, or as Markdown to read."""
    session = person.session(session_id)
    if format == "markdown":
        return PlainTextResponse(session.export("markdown"), media_type="text/markdown; charset=utf-8")
    return JSONResponse(session.export("json"))

"""Sessions: list, make, read, change, end, export, forget."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from ricordo.errors import ValidationError
from ricordo.limits import check_ids
from ricordo.records import SessionInfo, turn_id_of
from ricordo.server import models
from ricordo.server.asking import Asking, Person
from ricordo.server.showing import (
    ARCHIVED,
    cursor_of,
    fact_out,
    message_out,
    session_at,
    session_out,
    summary_out,
    turn_out,
)

router = APIRouter(prefix="/sessions", tags=["sessions"])

Limit = Annotated[int, Query(ge=1, le=200)]
PAGES = 20  # pages that a filter may look through in one request


@router.post("", status_code=201, response_model=models.SessionOut)
def create(body: models.SessionIn, person: Asking) -> dict[str, Any]:
    """Make an empty session."""
    person.caller.must("write")
    person.named(body.user_id)
    session = person.memory.session(user_id=person.id, agent_id=body.agent_id)
    info = session.create(title=body.title, tags=body.tags, metadata=body.metadata)
    return session_out(info)


@router.get("", response_model=models.SessionsOut)
def listing(
    person: Asking,
    limit: Limit = 50,
    cursor: str | None = None,
    agent_id: str | None = None,
    archived: bool | None = None,
    tag: str | None = None,
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


@router.get("/{session_id}", response_model=models.SessionOut)
def read(session_id: str, person: Asking) -> dict[str, Any]:
    """One session."""
    return session_out(person.info(session_id))


@router.patch("/{session_id}", response_model=models.SessionOut)
def change(session_id: str, body: models.SessionPatch, person: Asking) -> dict[str, Any]:
    """Rename, tag, archive."""
    person.caller.must("write")
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


@router.delete("/{session_id}", response_model=models.Deleted)
def delete(session_id: str, person: Asking) -> dict[str, int]:
    """Remove a session with everything in it."""
    person.caller.must("write")
    person.info(session_id)
    return {"deleted_turns": person.memory.delete_session(session_id, user_id=person.id)}


@router.delete("/{session_id}/history", response_model=models.Deleted)
def clear(session_id: str, person: Asking) -> dict[str, int]:
    """Remove a session's turns, keep the session."""
    person.caller.must("write")
    return {"deleted_turns": person.session(session_id).clear()}


@router.post("/{session_id}/messages", status_code=201)
def add(session_id: str, body: models.MessageIn, person: Asking) -> dict[str, Any]:
    """Keep a message (`role`, `content`), or a question with its answer (`query`, `response`)."""
    person.caller.must("write")
    person.named(body.user_id)
    known = person.memory.store.session(person.owner, _checked(session_id))
    agent = known.agent_id if known else body.agent_id
    session = person.memory.session(session_id, user_id=person.id, agent_id=agent)
    person.service.wish(person.owner, session.id)
    if body.role is not None and body.content is not None and body.query is None and body.response is None:
        message = session.add_message(
            body.role,
            body.content,
            created_at=body.created_at,
            chunk_ids=body.chunk_ids,
            metadata=body.metadata,
            tool_calls=body.tool_calls,
            tool_call_id=body.tool_call_id,
            name=body.name,
        )
        return {"message": message_out(message)}
    if body.query is None or body.role is not None or body.content is not None:
        raise ValidationError("body", "give role and content, or query and response")
    details: dict[str, Any] = {"metadata": body.metadata, "created_at": body.created_at, "turn_id": body.turn_id}
    if body.response is None:
        return {"turn": turn_out(session.ask(body.query, **details).turn)}
    return {"turn": turn_out(session.add_turn(body.query, body.response, chunk_ids=body.chunk_ids, **details))}


def _checked(session_id: str) -> str:
    return check_ids("session_id", [session_id])[0]


@router.get("/{session_id}/messages", response_model=models.TurnsOut)
def turns(
    session_id: str,
    person: Asking,
    limit: Limit = 50,
    before: Annotated[int | None, Query(ge=1)] = None,
    after: Annotated[int | None, Query(ge=0)] = None,
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


@router.post("/{session_id}/end")
def end(session_id: str, person: Asking) -> dict[str, Any]:
    """End a session: its summary, the facts learned in it, its topics. Safe to repeat."""
    person.caller.must("write")
    ended = person.session(session_id).end()
    return {
        "session": session_out(ended.session),
        "summary": summary_out(ended.summary) if ended.summary else None,
        "facts": [fact_out(fact, numbers(person, [fact])) for fact in ended.facts],
        "topics": list(ended.topics),
        "made_by": ended.made_by,
    }


@router.get("/{session_id}/context")
def context(
    session_id: str,
    person: Asking,
    question: Annotated[str, Query(min_length=1)],
    budget: Annotated[int | None, Query(ge=1)] = None,
) -> dict[str, Any]:
    """What would be sent to a model for this question, with the receipt. Nothing is kept."""
    session = person.session(session_id)
    built = session.context(question, budget=budget)
    pending = built.clarification
    return {
        "messages": list(built.messages),
        "prompt": built.prompt,
        "question": built.question,
        "references": [
            {
                "turn_number": each.turn_number,
                "kind": each.kind,
                "label": each.item.label if each.item else "",
                "text": each.text,
                "chunk_ids": list(each.chunk_ids),
                "confidence": each.confidence,
            }
            for each in built.references
        ],
        "clarification": pending
        and {"question": pending.prompt, "options": [{"label": o.name, "text": o.text} for o in pending.options]},
        "receipt": built.receipt.as_json(),
    }


@router.get("/{session_id}/export")
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


@router.get("/{session_id}/receipts")
def receipts(session_id: str, person: Asking, limit: Limit = 50) -> dict[str, Any]:
    """What past contexts held and why, newest first."""
    session = person.session(session_id)
    return {"items": [receipt.as_json() for receipt in session.receipts(limit=limit)]}


@router.get("/{session_id}/receipts/{turn_number}")
def receipt(session_id: str, turn_number: int, person: Asking) -> dict[str, Any]:
    """The context of a past turn, rebuilt to the byte, with its receipt."""
    rebuilt = person.session(session_id).rebuild(turn_number)
    return {"receipt": rebuilt.receipt.as_json(), "messages": list(rebuilt.messages), "prompt": rebuilt.prompt}


@router.get("/{session_id}/summaries")
def summaries(session_id: str, person: Asking, limit: Limit = 50) -> dict[str, Any]:
    """Summaries with the turns that they cover, newest first."""
    return {"items": [summary_out(each) for each in person.session(session_id).summaries(limit=limit)]}


@router.post("/{session_id}/forget-derived")
def forget_derived(session_id: str, person: Asking) -> dict[str, int]:
    """Undo what was derived from a session: summaries, and facts that were said nowhere else."""
    person.caller.must("write")
    return {"removed": person.session(session_id).forget_derived()}


def numbers(person: Person, facts: list[Any]) -> dict[str, int]:
    """The turn number of every message that facts quote."""
    found: dict[str, int] = {}
    for source in (source for fact in facts for source in fact.sources):
        turn = person.memory.store.turn(person.owner, turn_id_of(source.message_id))
        if turn:
            found[source.message_id] = turn.turn_number
    return found

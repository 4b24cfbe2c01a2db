"""Sessions: list, make, read, change, export, and let go; and the turns in them."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from ricordo.errors import ValidationError
from ricordo.limits import LARGEST
from ricordo.records.topics import Topic
from ricordo.records.turns import Block, SessionInfo
from ricordo.server.dependencies import Asking, Limit, RequestUser, known_id
from ricordo.server.idempotency import id_of
from ricordo.server.presenters import (
    ARCHIVED,
    clarification_out,
    cursor_of,
    fact_out,
    message_out,
    reference_out,
    session_at,
    session_out,
    summary_out,
    topic_out,
    turn_numbers,
    turn_out,
)
from ricordo.server.schemas import chat, people, requests
from ricordo.topics.archive import fading_of

sessions_router = APIRouter(prefix="/sessions", tags=["sessions"])

Key = Annotated[str, Header(alias="Idempotency-Key", include_in_schema=False)]
PAGES = 20  # pages that a filter may look through in one request
_EXPORTED: Any = {
    200: {
        "content": {"application/json": {"schema": {"type": "object"}}, "text/markdown": {"schema": {"type": "string"}}}
    }
}


@sessions_router.post("", status_code=201, response_model=chat.SessionOut)
def create(body: requests.SessionIn, person: Asking, idempotency_key: Key = "") -> dict[str, Any]:
    """Make an empty session."""
    person.named(body.user_id)
    session_id = id_of(person.owner, "session", idempotency_key) if idempotency_key else None
    session = person.memory.session(session_id, user_id=person.id, agent_id=body.agent_id)
    info = session.create(title=body.title, tags=body.tags, metadata=body.metadata)
    return session_out(info)


@sessions_router.get("", response_model=chat.SessionsOut)
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


@sessions_router.get("/{session_id}", response_model=chat.SessionOut)
def read(session_id: str, person: Asking) -> dict[str, Any]:
    """One session."""
    return session_out(person.info(session_id))


@sessions_router.patch("/{session_id}", response_model=chat.SessionOut)
def change(session_id: str, body: requests.SessionPatch, person: Asking) -> dict[str, Any]:
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


@sessions_router.delete("/{session_id}", response_model=chat.Deleted)
def delete(session_id: str, person: Asking) -> dict[str, int]:
    """Remove a session with everything in it."""
    person.info(session_id)
    person.service.forget(person.owner, session_id)
    return {"deleted_turns": person.memory.delete_session(session_id, user_id=person.id)}


@sessions_router.delete("/{session_id}/history", response_model=chat.Deleted)
def clear(session_id: str, person: Asking) -> dict[str, int]:
    """Remove a session's turns, keep the session."""
    session = person.session(session_id)
    person.service.forget(person.owner, session.id)
    return {"deleted_turns": session.clear()}


@sessions_router.post("/{session_id}/messages", status_code=201, response_model=chat.MessageOut | chat.TurnOut)
def add(session_id: str, body: requests.MessageIn, person: Asking, idempotency_key: Key = "") -> dict[str, Any]:
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
        person.service.jobs.note(person.owner, session.id)
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
    person.service.jobs.note(person.owner, session.id)
    return turn_out(turn)


@sessions_router.get("/{session_id}/messages", response_model=chat.TurnsOut)
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
    page = store.turns.page(owner, info.id, last=limit, before=before, after=after)
    more = bool(page) and page[0].turn_number > 1 and after is None
    return {
        "items": [turn_out(turn) for turn in page],
        "next_before": page[0].turn_number if more else None,
        "total": info.turn_count,
    }


@sessions_router.get("/{session_id}/export", response_class=JSONResponse, responses=_EXPORTED)
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


# What a session comes to: the context of its next question, receipts of past ones, its end, its summaries.

contexts_router = APIRouter(prefix="/sessions/{session_id}", tags=["sessions"])


@contexts_router.get("/context", response_model=chat.ContextOut)
def context(
    session_id: str,
    person: Asking,
    question: Annotated[str, Query(min_length=1)],
    budget: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
) -> dict[str, Any]:
    """What would be sent to a model for this question, with the receipt. Nothing is kept."""
    built = person.session(session_id).context(question, budget=budget)
    return {
        "messages": list(built.messages),
        "prompt": built.prompt,
        "question": built.question,
        "references": [reference_out(each) for each in built.references],
        "clarification": clarification_out(built.clarification),
        "receipt": built.receipt.as_json(),
    }


@contexts_router.get("/receipts", response_model=chat.ReceiptsOut)
def receipts(session_id: str, person: Asking, limit: Limit = 50) -> dict[str, Any]:
    """What past contexts held and why, newest first."""
    session = person.session(session_id)
    return {"items": [receipt.as_json() for receipt in session.receipts(limit=limit)]}


@contexts_router.get("/receipts/{turn_number}", response_model=chat.RebuiltOut)
def receipt(session_id: str, turn_number: Annotated[int, Path(ge=1, le=LARGEST)], person: Asking) -> dict[str, Any]:
    """The context of a past turn, rebuilt to the byte, with its receipt."""
    rebuilt = person.session(session_id).rebuild(turn_number)
    return {"receipt": rebuilt.receipt.as_json(), "messages": list(rebuilt.messages), "prompt": rebuilt.prompt}


@contexts_router.get("/summaries", response_model=people.SummariesOut)
def summaries(session_id: str, person: Asking, limit: Limit = 50) -> dict[str, Any]:
    """Summaries with the turns that they cover, newest first."""
    return {"items": [summary_out(each) for each in person.session(session_id).summaries(limit=limit)]}


@contexts_router.post("/forget-derived", response_model=people.Removed)
def forget_derived(session_id: str, person: Asking) -> dict[str, int]:
    """Undo what was derived from a session: summaries, and facts that were said nowhere else."""
    return {"removed": person.session(session_id).forget_derived()}


@contexts_router.post("/end", response_model=chat.EndOut)
def end(session_id: str, person: Asking) -> dict[str, Any]:
    """End a session: its summary, the facts learned in it, its topics. Safe to repeat."""
    ended = person.session(session_id).end()
    where = turn_numbers(person.memory.store, person.owner, ended.facts)
    return {
        "session": session_out(ended.session),
        "summary": summary_out(ended.summary) if ended.summary else None,
        "facts": [fact_out(fact, where) for fact in ended.facts],
        "topics": list(ended.topics),
        "made_by": ended.made_by,
    }


# Topics of a session: what they are worth, how they fade, and what a person may do about it.

topics_router = APIRouter(prefix="/sessions/{session_id}/topics", tags=["topics"])


@topics_router.get("", response_model=chat.TopicsOut)
def list_topics(session_id: str, person: Asking) -> dict[str, Any]:
    """The topics in the order they began, each with the curve of its fading."""
    session = person.session(session_id)
    found = session.topics()
    blocks = person.memory.store.topics.blocks(person.owner, session.id)
    return {"items": [_out(person, topic, blocks) for topic in found], "degraded": list(found.degraded)}


@topics_router.patch("/{topic_id}", response_model=chat.TopicOut)
def change_topic(session_id: str, topic_id: str, body: requests.TopicPatch, person: Asking) -> dict[str, Any]:
    """Tag a topic, or set its importance."""
    topic = person.session(session_id).topic(known_id("topic", topic_id))
    if body.tags is not None:
        topic.tag(*body.tags)
    if body.importance is not None:
        topic.weigh(body.importance)
    return _out(person, topic.read(), ())


@topics_router.post("/{topic_id}/merge", response_model=chat.TopicOut)
def merge(session_id: str, topic_id: str, body: requests.MergeIn, person: Asking) -> dict[str, Any]:
    """Make a topic part of another."""
    session = person.session(session_id)
    return _out(person, session.topic(body.into).merge(known_id("topic", topic_id)), ())


@topics_router.post("/{topic_id}/feedback", response_model=chat.TopicOut)
def feedback(session_id: str, topic_id: str, body: requests.FeedbackIn, person: Asking) -> dict[str, Any]:
    """Learn a topic's importance from a word of feedback."""
    return _out(
        person,
        person.session(session_id).topic(known_id("topic", topic_id)).feedback(1.0 if body.helpful else -1.0),
        (),
    )


def _out(person: RequestUser, topic: Topic, blocks: Any) -> dict[str, Any]:
    held: list[Block] = [block for block in blocks if block.topic_id == topic.id]
    fading = fading_of(person.memory.settings.topics)
    return topic_out(topic, person.memory.clock.now(), fading, sum(len(block.body) for block in held))

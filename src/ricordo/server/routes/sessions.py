"""Routes of sessions, their turns, contexts and receipts, and their topics."""

from contextlib import suppress
from enum import Enum
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from ricordo.chat.response import ChatRequest
from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import LARGEST
from ricordo.prompt.receipt import from_stored
from ricordo.records.derived import Topic
from ricordo.records.service import as_json
from ricordo.records.turns import Block, Owner, SessionInfo
from ricordo.server import chat_schemas as chat
from ricordo.server import tenant_schemas as tenant
from ricordo.server.idempotency import id_for
from ricordo.server.presenters import (
    ARCHIVED,
    FEEDBACK,
    answer_out,
    clarification_out,
    decode_cursor,
    derived_out,
    encode_cursor,
    fact_out,
    named_items,
    opening_of,
    reference_out,
    session_out,
    topic_out,
    turn_numbers,
    turn_out,
)
from ricordo.server.service import Limit, Project, RequestUser, UserDep, path_id
from ricordo.topics.decay import fading_of

router = APIRouter(prefix="/sessions")

SESSIONS: list[str | Enum] = ["sessions"]
TOPICS: list[str | Enum] = ["topics"]

Key = Annotated[str, Header(alias="Idempotency-Key", include_in_schema=False)]
MOST_FEEDBACK = 500  # answers of one session whose feedback is remembered
PAGES = 20  # pages that a filter may read in one request
_EXPORTED: Any = {
    200: {
        "content": {"application/json": {"schema": {"type": "object"}}, "text/markdown": {"schema": {"type": "string"}}}
    }
}


@router.post("", status_code=201, response_model=chat.SessionOut, tags=SESSIONS)
def create(body: chat.SessionIn, user: UserDep, idempotency_key: Key = "") -> dict[str, Any]:
    """Create an empty session."""
    user.override(body.user_id)
    session_id = id_for(user.owner, "session", idempotency_key) if idempotency_key else None
    session = user.memory.session(session_id, user_id=user.id, agent_id=body.agent_id, project=body.project)
    made = session.create(title=body.title, document_ids=body.document_ids, tags=body.tags, metadata=body.metadata)
    return session_out(made)


@router.get("", response_model=chat.SessionsOut, tags=SESSIONS)
def listing(
    user: UserDep,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(description="The next_cursor of the page before")] = None,
    agent_id: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
    archived: Annotated[bool | None, Query(description="Only the archived ones, or only the others")] = None,
    tag: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
    project: Project = None,
    derived: Annotated[bool, Query(description="With their topics and summaries")] = False,
) -> dict[str, Any]:
    """A user's sessions, most recently active first."""
    before = None if cursor is None else _cursor_session(cursor, user.owner)
    found: list[SessionInfo] = []
    for _ in range(PAGES):
        page = user.memory.sessions(
            user_id=user.id, limit=limit, agent_id=agent_id, before=before, project=project, counts=True
        )
        for each in page:
            before = each
            hidden = bool(each.metadata.get(ARCHIVED))
            if archived in (None, hidden) and (tag is None or tag in each.tags):
                found.append(each)
            if len(found) == limit:
                break
        if len(found) == limit or len(page) < limit:
            break
    more = len(found) == limit or (before is not None and len(page) == limit)
    cursor = encode_cursor(before.id, before.last_active_at) if more and before else None
    store = user.memory.store
    items = [session_out(each, opening_of(store, each)) for each in found]
    if derived:
        items = [item | {"derived": derived_out(store, each)} for item, each in zip(items, found, strict=True)]
    return {"items": items, "next_cursor": cursor}


def _cursor_session(cursor: str, owner: Owner) -> SessionInfo:
    """The session before the page, as far as the store needs it."""
    session_id, active_at = decode_cursor(cursor)
    return SessionInfo(session_id, owner, "default", active_at, active_at)


@router.get("/{session_id}", response_model=chat.SessionOut, tags=SESSIONS)
def read(session_id: str, user: UserDep) -> dict[str, Any]:
    """One session, with the number of its messages, tokens and condensations."""
    info = user.session(session_id).info()
    return session_out(info, opening_of(user.memory.store, info))


@router.patch("/{session_id}", response_model=chat.SessionOut, tags=SESSIONS)
def change(session_id: str, body: chat.SessionPatch, user: UserDep) -> dict[str, Any]:
    """Change the title, project, tags, metadata, documents or the archived state."""
    info = user.session_info(session_id)
    metadata = None
    if body.metadata is not None or body.archived is not None:
        hidden = bool(info.metadata.get(ARCHIVED)) if body.archived is None else body.archived
        kept = {key: value for key, value in info.metadata.items() if key == FEEDBACK}
        own = {key: value for key, value in info.metadata.items() if key not in (ARCHIVED, FEEDBACK)}
        metadata = (own if body.metadata is None else body.metadata) | kept | ({ARCHIVED: True} if hidden else {})
    fields = body.model_dump(include={"title", "tags", "document_ids", "project"})
    changed = user.session(session_id).update(**fields, metadata=metadata)
    return session_out(changed, opening_of(user.memory.store, changed))


@router.delete("/{session_id}", response_model=chat.Deleted, tags=SESSIONS)
def delete(session_id: str, user: UserDep) -> dict[str, int]:
    """Delete a session with everything in it."""
    user.session_info(session_id)
    user.service.forget(user.owner, session_id)
    return {"deleted_turns": user.memory.delete_session(session_id, user_id=user.id)}


@router.delete("/{session_id}/history", response_model=chat.Deleted, tags=SESSIONS)
def clear(session_id: str, user: UserDep) -> dict[str, int]:
    """Delete the turns of a session and keep the session."""
    session = user.session(session_id)
    user.service.forget(user.owner, session.id)
    return {"deleted_turns": session.clear()}


@router.post(
    "/{session_id}/messages",
    status_code=201,
    response_model=chat.MessageOut | chat.TurnOut,
    tags=SESSIONS,
)
def add(session_id: str, body: chat.MessageIn, user: UserDep, idempotency_key: Key = "") -> dict[str, Any]:
    """Store a message (`role`, `content`), or a question with its answer (`query`, `response`)."""
    session = user.override(body.user_id).session(session_id)
    if body.role is not None and body.content is not None and body.query is None and body.response is None:
        if body.importance is not None:
            raise ValidationError("importance", "belongs to a turn; give query and response")
        message = session.add_message(
            **body.model_dump(exclude={"query", "response", "turn_id", "importance", "user_id"})
        )
        user.service.jobs.note(user.owner, session.id)
        return as_json(message)
    if body.query is None or body.role is not None or body.content is not None:
        raise ValidationError("body", "give role and content, or query and response")
    turn_id = body.turn_id
    if turn_id is None and idempotency_key:
        turn_id = id_for(user.owner, f"turn of {session.id}", idempotency_key)
    details: dict[str, Any] = {
        "metadata": body.metadata,
        "created_at": body.created_at,
        "turn_id": turn_id,
        "importance": body.importance,
    }
    if body.response is None:
        turn = session.ask(body.query, **details).turn
    else:
        turn = session.add_turn(body.query, body.response, chunk_ids=body.chunk_ids, **details)
    user.service.jobs.note(user.owner, session.id)
    return turn_out(turn)


@router.get("/{session_id}/messages", response_model=chat.TurnsOut, tags=SESSIONS)
def turns(
    session_id: str,
    user: UserDep,
    limit: Limit = 50,
    before: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    after: Annotated[int | None, Query(ge=0, le=LARGEST - 201)] = None,
) -> dict[str, Any]:
    """Turns in order: the newest page, or those before or after a turn number."""
    info = user.session_info(session_id)
    store, owner = user.memory.store, user.owner
    if after is not None:
        before = min(before or after + limit + 1, after + limit + 1)
    page = store.turns.page(owner, info.id, last=limit, before=before, after=after)
    more = bool(page) and page[0].turn_number > 1 and after is None
    return {
        "items": [turn_out(turn, info.metadata.get(FEEDBACK) or {}) for turn in page],
        "next_before": page[0].turn_number if more else None,
        "total": info.turn_count,
    }


@router.post("/{session_id}/messages/{turn_number}/feedback", response_model=chat.TurnOut, tags=SESSIONS)
def rate(
    session_id: str, turn_number: Annotated[int, Path(ge=1, le=LARGEST)], body: chat.FeedbackIn, user: UserDep
) -> dict[str, Any]:
    """Say whether an answer was helpful, which changes the importance of its topic. Repeating it changes nothing."""
    info = user.session_info(session_id)
    turn = next(iter(user.memory.store.turns.page(user.owner, info.id, last=1, before=turn_number + 1)), None)
    if turn is None or turn.turn_number != turn_number:
        raise NotFoundError("there is no such turn in this session")
    given: dict[str, bool] = dict(info.metadata.get(FEEDBACK) or {})
    if given.pop(turn.id, None) is not body.helpful:
        session = user.session(session_id)
        with suppress(NotFoundError):  # its topic was merged into another, or is not known yet
            session.topic(turn.topic_id or "").feedback(1.0 if body.helpful else -1.0)
        newest = list(given.items())[-MOST_FEEDBACK + 1 :]
        session.update(metadata=dict(info.metadata) | {FEEDBACK: dict([*newest, (turn.id, body.helpful)])})
    return turn_out(turn, {turn.id: body.helpful})


@router.get("/{session_id}/export", response_class=JSONResponse, responses=_EXPORTED, tags=SESSIONS)
def export(
    session_id: str,
    user: UserDep,
    format: Literal["json", "markdown"] = "json",  # noqa: A002 - the public name
) -> Response:
    """The session as JSON that can be imported again, or as Markdown."""
    session = user.session(session_id)
    if format == "markdown":
        return PlainTextResponse(session.export("markdown"), media_type="text/markdown; charset=utf-8")
    return JSONResponse(session.export("json"))


@router.get("/{session_id}/context", response_model=chat.ContextOut, tags=SESSIONS)
def context(
    session_id: str,
    user: UserDep,
    question: Annotated[str, Query(min_length=1)],
    budget: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
) -> dict[str, Any]:
    """The prompt that `POST /chat` would send for this question, documents included, with its receipt.

    Nothing is stored.
    """
    session = user.session(session_id)
    built = user.chat.preview(ChatRequest(question, user.id, session.agent_id, session.id), budget=budget)
    return {
        "messages": list(built.messages),
        "prompt": built.prompt,
        "question": built.question,
        "references": [reference_out(each) for each in built.references],
        "clarification": clarification_out(built.clarification),
        "receipt": built.receipt.as_json(),
    }


@router.get("/{session_id}/receipts", response_model=chat.ReceiptsOut, tags=SESSIONS)
def receipts(session_id: str, user: UserDep, limit: Limit = 50) -> dict[str, Any]:
    """Receipts of past contexts, newest first."""
    session = user.session(session_id)
    return {"items": [receipt.as_json() for receipt in session.receipts(limit=limit)]}


@router.get("/{session_id}/receipts/{turn_number}", response_model=chat.RebuiltOut, tags=SESSIONS)
def receipt(session_id: str, turn_number: Annotated[int, Path(ge=1, le=LARGEST)], user: UserDep) -> dict[str, Any]:
    """The context of a past turn, rebuilt byte for byte, with its receipt."""
    rebuilt = user.session(session_id).rebuild(turn_number)
    return {"receipt": rebuilt.receipt.as_json(), "messages": list(rebuilt.messages), "prompt": rebuilt.prompt}


@router.get("/{session_id}/receipts/{turn_number}/trace", response_model=chat.TraceOut, tags=SESSIONS)
def trace(session_id: str, turn_number: Annotated[int, Path(ge=1, le=LARGEST)], user: UserDep) -> dict[str, Any]:
    """The receipt of a past turn with the names and first words of its items, who answered, and how long it took."""
    info, store, owner = user.session_info(session_id), user.memory.store, user.owner
    stored = store.turns.receipts(owner, info.id, turn_number=turn_number)
    turns = store.turns.page(owner, info.id, after=turn_number - 1, before=turn_number + 1)
    if not stored or not turns:
        raise NotFoundError("there is no receipt of this turn")
    receipt = from_stored(stored[0])
    library = user.service.library(user.caller.tenant_id)
    return {
        "receipt": receipt.as_json(),
        "items": named_items(store, library, owner, info.id, receipt, turns[0]),
        "answer": answer_out(turns[0]),
    }


@router.get("/{session_id}/summaries", response_model=tenant.SummariesOut, tags=SESSIONS)
def summaries(session_id: str, user: UserDep, limit: Limit = 50) -> dict[str, Any]:
    """The summaries of a session with the turns that they cover, newest first."""
    return {"items": [as_json(each) for each in user.session(session_id).summaries(limit=limit)]}


@router.post("/{session_id}/forget-derived", response_model=tenant.Removed, tags=SESSIONS)
def forget_derived(session_id: str, user: UserDep) -> dict[str, int]:
    """Delete what was derived from a session: its summaries, and facts with no other source."""
    return {"removed": user.session(session_id).forget_derived()}


@router.post("/{session_id}/end", response_model=chat.EndOut, tags=SESSIONS)
def end(session_id: str, user: UserDep) -> dict[str, Any]:
    """End a session; returns its summary, facts and topics. Safe to repeat."""
    ended = user.session(session_id).end()
    numbers = turn_numbers(user.memory.store, user.owner, ended.facts)
    return {
        "session": session_out(ended.session),
        "summary": as_json(ended.summary) if ended.summary else None,
        "facts": [fact_out(fact, numbers) for fact in ended.facts],
        "topics": list(ended.topics),
        "made_by": ended.made_by,
    }


@router.get("/{session_id}/topics", response_model=chat.TopicsOut, tags=TOPICS)
def list_topics(session_id: str, user: UserDep) -> dict[str, Any]:
    """The topics in the order of their creation, each with its decay curve."""
    session = user.session(session_id)
    found = session.topics()
    blocks = user.memory.store.topics.blocks(user.owner, session.id)
    return {"items": [_topic_out(user, topic, blocks) for topic in found], "degraded": list(found.degraded)}


@router.patch("/{session_id}/topics/{topic_id}", response_model=chat.TopicOut, tags=TOPICS)
def change_topic(session_id: str, topic_id: str, body: chat.TopicPatch, user: UserDep) -> dict[str, Any]:
    """Tag a topic, or set its importance."""
    topic = user.session(session_id).topic(path_id("topic", topic_id))
    if body.tags is not None:
        topic.tag(*body.tags)
    if body.importance is not None:
        topic.weigh(body.importance)
    return _topic_out(user, topic.read(), ())


@router.post("/{session_id}/topics/{topic_id}/merge", response_model=chat.TopicOut, tags=TOPICS)
def merge(session_id: str, topic_id: str, body: chat.MergeIn, user: UserDep) -> dict[str, Any]:
    """Merge a topic into another."""
    session = user.session(session_id)
    return _topic_out(user, session.topic(body.into).merge(path_id("topic", topic_id)), ())


@router.post("/{session_id}/topics/{topic_id}/feedback", response_model=chat.TopicOut, tags=TOPICS)
def feedback(session_id: str, topic_id: str, body: chat.FeedbackIn, user: UserDep) -> dict[str, Any]:
    """Adjust a topic's importance by feedback."""
    topic = user.session(session_id).topic(path_id("topic", topic_id)).feedback(1.0 if body.helpful else -1.0)
    return _topic_out(user, topic, ())


def _topic_out(user: RequestUser, topic: Topic, blocks: Any) -> dict[str, Any]:
    own: list[Block] = [block for block in blocks if block.topic_id == topic.id]
    fading = fading_of(user.memory.settings.topics)
    return topic_out(topic, user.memory.clock.now(), fading, sum(len(block.body) for block in own))

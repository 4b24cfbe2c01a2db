"""Records as the shapes that go out: sessions, turns, messages, topics, facts. Plain dictionaries, nothing decided."""

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from ricordo.errors import ValidationError
from ricordo.followups.clarify import Pending
from ricordo.followups.resolve import Resolved
from ricordo.limits import check_id, check_time
from ricordo.records.people import Fact, Flag, Summary
from ricordo.records.topics import Topic
from ricordo.records.turns import Message, Owner, SessionInfo, Turn, turn_id_of
from ricordo.stores.protocols import Store
from ricordo.topics.decay import Fading

ARCHIVED = "archived"  # the key in a session's metadata that a sidebar hides it by
POINTS = 30


def session_out(session: SessionInfo) -> dict[str, Any]:
    """A session."""
    return {
        "id": session.id,
        "user_id": session.owner.user_id,
        "agent_id": session.agent_id,
        "title": session.title,
        "created_at": session.created_at,
        "last_active_at": session.last_active_at,
        "ended_at": session.ended_at,
        "turn_count": session.turn_count,
        "document_ids": list(session.document_ids),
        "tags": list(session.tags),
        "metadata": {key: value for key, value in session.metadata.items() if key != ARCHIVED},
        "archived": bool(session.metadata.get(ARCHIVED)),
    }


def message_out(message: Message) -> dict[str, Any]:
    """A message."""
    return {
        "id": message.id,
        "role": message.role,
        "content": message.content,
        "created_at": message.created_at,
        "tokens": message.tokens,
        "chunk_ids": list(message.chunk_ids),
        "metadata": dict(message.metadata),
        "tool_calls": [dict(call) for call in message.tool_calls],
        "tool_call_id": message.tool_call_id,
        "name": message.name,
    }


def turn_out(turn: Turn) -> dict[str, Any]:
    """A turn with its messages."""
    question, answer = turn.question, turn.answer
    return {
        "id": turn.id,
        "session_id": turn.session_id,
        "turn_number": turn.turn_number,
        "query": turn.query,
        "response": turn.response,
        "created_at": turn.created_at,
        "answered_at": answer.created_at if answer else None,
        "chunk_ids": list(turn.chunk_ids),
        "metadata": dict(turn.metadata),
        "tokens": {"query": question.tokens if question else 0, "response": answer.tokens if answer else 0},
        "topic_id": turn.topic_id,
        "archived": turn.archived,
        "open": turn.is_open,
        "damage": turn.damage,
        "messages": [message_out(message) for message in turn.messages],
    }


def topic_out(topic: Topic, now: datetime, fading: Fading, archived_bytes: int = 0) -> dict[str, Any]:
    """A topic with the curve of its fading, from now over three half-lives."""
    figures = topic.stats(now, fading)
    step = 3 * figures.half_life_days / (POINTS - 1)
    curve = [now + timedelta(days=index * step) for index in range(POINTS)]
    return {
        "id": topic.id,
        "title": topic.title,
        "tags": list(topic.tags),
        "importance": topic.importance,
        "access_count": topic.access_count,
        "half_life_days": figures.half_life_days,
        "priority": topic.priority(now, fading),
        "memory_type": figures.memory_type,
        "state": topic.state,
        "created_at": topic.created_at,
        "last_active_at": topic.last_active_at,
        "message_count": topic.message_count,
        "active_messages": topic.message_count - topic.archived_count,
        "archived_messages": topic.archived_count,
        "archived_bytes": archived_bytes,
        "summary": topic.summary,
        "curve": [{"at": at, "priority": topic.priority(at, fading)} for at in curve],
    }


def fact_out(fact: Fact, turn_numbers: Mapping[str, int]) -> dict[str, Any]:
    """A fact with where it was said."""
    return {
        "id": fact.id,
        "kind": fact.kind,
        "text": fact.text,
        "about": fact.about,
        "language": fact.language,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
        "superseded_by": fact.superseded_by,
        "recorded_at": fact.recorded_at,
        "made_by": fact.made_by,
        "origin": fact.origin,
        "sources": [
            {
                "message_id": source.message_id,
                "session_id": source.session_id,
                "turn_number": turn_numbers.get(source.message_id),
                "quote": source.quote,
            }
            for source in fact.sources
        ],
    }


def summary_out(summary: Summary) -> dict[str, Any]:
    """A summary with the turns that it covers."""
    return asdict(summary) | {"topics": list(summary.topics)}


def flag_out(flag: Flag) -> dict[str, Any]:
    """What was flagged, and why."""
    return asdict(flag) | {"rules": list(flag.rules)}


def reference_out(reference: Resolved) -> dict[str, Any]:
    """What a follow-up points at."""
    return {
        "turn_number": reference.turn_number,
        "kind": reference.kind,
        "label": reference.item.label if reference.item else "",
        "text": reference.text,
        "chunk_ids": list(reference.chunk_ids),
        "confidence": reference.confidence,
    }


def clarification_out(pending: Pending | None) -> dict[str, Any] | None:
    """What is asked back."""
    if pending is None:
        return None
    return {"question": pending.prompt, "options": [{"label": o.name, "text": o.text} for o in pending.options]}


def turn_numbers(store: Store, owner: Owner, facts: Iterable[Fact]) -> dict[str, int]:
    """The turn number of every message that facts quote."""
    found: dict[str, int] = {}
    for source in (source for fact in facts for source in fact.sources):
        turn = store.turns.get(owner, turn_id_of(source.message_id))
        if turn:
            found[source.message_id] = turn.turn_number
    return found


def cursor_of(session: SessionInfo) -> str:
    """Where the next page of sessions begins."""
    place = [session.id, session.last_active_at.isoformat()]
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def session_at(cursor: str, owner: Owner) -> SessionInfo:
    """The session that a cursor stands for, as far as paging needs it."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        session_id, active = json.loads(text)
        moment = datetime.fromisoformat(active)
        check_id("cursor", session_id)
        check_time("cursor", moment)
    except (ValueError, TypeError, RecursionError, ValidationError, binascii.Error) as error:
        raise ValidationError("cursor", "give the next_cursor of the page before") from error
    return SessionInfo(session_id, owner, "default", moment, moment)

"""Records as plain JSON values, with the glossary's names: what `--json` prints."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ricordo.cli.meaning import meaning_json
from ricordo.context import Context
from ricordo.person import Fact, Flag, Profile, Summary
from ricordo.receipt import chat_message
from ricordo.records import Message, SessionInfo, Turn
from ricordo.reports import as_json

if TYPE_CHECKING:
    from ricordo.session_topic import SessionTopic


def session_json(session: SessionInfo) -> dict[str, Any]:
    """A session as the list shows it."""
    return {
        "session_id": session.id,
        "user_id": session.owner.user_id,
        "agent_id": session.agent_id,
        "title": session.title,
        "created_at": session.created_at.isoformat(),
        "last_active_at": session.last_active_at.isoformat(),
        "ended_at": session.ended_at.isoformat() if session.ended_at else None,
        "turn_count": session.turn_count,
        "document_ids": list(session.document_ids),
        "tags": list(session.tags),
        "metadata": dict(session.metadata),
    }


def turn_json(turn: Turn) -> dict[str, Any]:
    """A turn with everything that was said in it."""
    return {
        "turn_id": turn.id,
        "session_id": turn.session_id,
        "user_id": turn.owner.user_id,
        "agent_id": turn.agent_id,
        "turn_number": turn.turn_number,
        "created_at": turn.created_at.isoformat(),
        "query": turn.query,
        "response": turn.response,
        "open": turn.is_open,
        "chunk_ids": list(turn.chunk_ids),
        "metadata": dict(turn.metadata),
        "tokens": turn.tokens,
        "messages": [message_json(message) for message in turn.messages],
    }


def message_json(message: Message) -> dict[str, Any]:
    """A message as chat APIs take it, with its address, time and cost."""
    return {
        "message_id": message.id,
        **chat_message(message),
        "created_at": message.created_at.isoformat(),
        "tokens": message.tokens,
        "chunk_ids": list(message.chunk_ids),
        "metadata": dict(message.metadata),
    }


def context_json(context: Context) -> dict[str, Any]:
    """Both forms of a context, what its question was understood as, and its receipt."""
    return {
        "question": context.question,
        **meaning_json(context),
        "messages": list(context.messages),
        "prompt": context.prompt,
        "receipt": context.receipt.as_json(),
    }


def fact_json(fact: Fact) -> dict[str, Any]:
    """A fact with the words it was taken from."""
    plain = as_json(fact)
    return {"fact_id": plain.pop("id"), **plain}


def profile_json(profile: Profile) -> dict[str, Any]:
    """A profile part by part."""
    return as_json(profile)


def summary_json(summary: Summary) -> dict[str, Any]:
    """A summary with what it covers."""
    plain = as_json(summary)
    return {"summary_id": plain.pop("id"), **plain}


def flag_json(flag: Flag) -> dict[str, Any]:
    """A flag, without the text that it is about."""
    plain = as_json(flag)
    return {"flag_id": plain.pop("id"), **plain}


def topic_json(handle: "SessionTopic") -> dict[str, Any]:
    """A topic in figures, with what it is worth now."""
    topic = handle.read()
    return {
        **asdict(handle.stats()),
        "priority": handle.priority(),
        "state": topic.state,
        "tags": list(topic.tags),
        "summary": topic.summary,
    }

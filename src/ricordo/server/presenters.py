"""Records as JSON for responses (plain dictionaries), and the cursors of paged lists.

A dictionary may hold more than its response shows: the schema of the route leaves out the rest.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from ricordo.documents.library import Library
from ricordo.errors import NotFoundError, ValidationError
from ricordo.followups.reference import Pending, Resolved
from ricordo.limits import check_id, check_time
from ricordo.people.facts.clauses import retold
from ricordo.prompt.receipt import Receipt, ReceiptItem
from ricordo.recall.evidence import snowball_stems
from ricordo.recall.search import Hit
from ricordo.records.derived import Fact, Topic
from ricordo.records.service import Document, StoredChunk, as_json
from ricordo.records.turns import Owner, SessionInfo, Turn, turn_id_of
from ricordo.stores.protocols import Store
from ricordo.topics.decay import Fading

ARCHIVED = "archived"  # the key in a session's metadata that hides it from the list
FEEDBACK = "feedback"  # the key in a session's metadata with what users said about its answers, by turn id
OPENING_LENGTH = 80
MOST_SUMMARIES = 20  # of a session in a list of sessions
CURVE_POINTS = 30
SNIPPET_LENGTH = 240
STEPS = ("load", "understand", "retrieve", "compose", "answer", "store")  # in order; stores sort metadata by name
_POINTED = re.compile(r"turn-(\d{1,9}):")
_WORD = re.compile(r"\w+", re.UNICODE)


def session_out(session: SessionInfo, opening: str | None = None) -> dict[str, Any]:
    """A session; `opening` is the beginning of its first question, where it has no title."""
    return as_json(session) | {
        "user_id": session.owner.user_id,
        "opening": opening,
        "project": session.project or None,
        "metadata": {key: value for key, value in session.metadata.items() if key not in (ARCHIVED, FEEDBACK)},
        "archived": bool(session.metadata.get(ARCHIVED)),
    }


def derived_out(store: Store, session: SessionInfo) -> list[dict[str, Any]]:
    """The topics and summaries of a session, each with its time, its text and a turn number to link to."""
    topics = store.topics.load(session.owner, session.id).topics
    summaries = store.people.summaries(session.owner, session_id=session.id, limit=MOST_SUMMARIES)
    return [
        {"kind": "topic", "id": each.id, "at": each.last_active_at, "text": each.title, "turn_number": max(each.hot)}
        for each in topics
        if each.hot
    ] + [
        {"kind": "summary", "id": each.id, "at": each.created_at, "text": each.text, "turn_number": each.first_turn}
        for each in summaries
    ]


def opening_of(store: Store, session: SessionInfo) -> str | None:
    """The beginning of a session's first question; None if it has a title or no turn."""
    if session.title:
        return None
    first = next(iter(store.turns.page(session.owner, session.id, last=1, before=2)), None)
    return " ".join(first.query.split())[:OPENING_LENGTH] or None if first else None


def turn_out(turn: Turn, feedback: Mapping[str, bool] = MappingProxyType({})) -> dict[str, Any]:
    """A turn with its messages; `feedback` says by turn id which answers were helpful."""
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
        "failure": turn.failure,
        "helpful": feedback.get(turn.id),
        "damage": turn.damage,
        "messages": [as_json(message) for message in turn.messages],
    }


def topic_out(topic: Topic, now: datetime, fading: Fading, archived_bytes: int = 0) -> dict[str, Any]:
    """A topic with its decay curve, from now over three half-lives."""
    figures = topic.stats(now, fading)
    step = 3 * figures.half_life_days / (CURVE_POINTS - 1)
    curve = [now + timedelta(days=index * step) for index in range(CURVE_POINTS)]
    return asdict(topic) | {
        "half_life_days": figures.half_life_days,
        "priority": topic.priority(now, fading),
        "memory_type": figures.memory_type,
        "active_messages": topic.message_count - topic.archived_count,
        "archived_messages": topic.archived_count,
        "archived_bytes": archived_bytes,
        "turns": list(topic.hot),
        "curve": [{"at": at, "priority": topic.priority(at, fading)} for at in curve],
    }


def fact_out(fact: Fact, turn_numbers: Mapping[str, int]) -> dict[str, Any]:
    sources = [as_json(each) | {"turn_number": turn_numbers.get(each.message_id)} for each in fact.sources]
    return as_json(fact) | {"kind": fact.shown_kind, "sentence": fact_sentence(fact), "sources": sources}


def fact_sentence(fact: Fact) -> str:
    """A fact as a sentence for the user, in the second person if the rules can make one: "You live in Turin."."""
    said = None if fact.is_instruction or not fact.sources else fact.sources[-1].quote
    sentence = (said and retold(said, fact.language, "second")) or fact.text.strip('«»“”"')
    sentence = f"{sentence[:1].upper()}{sentence[1:]}"
    return sentence if not sentence or sentence[-1] in ".!?…" else f"{sentence}."


def reference_out(reference: Resolved) -> dict[str, Any]:
    """What a follow-up refers to."""
    return {
        "turn_number": reference.turn_number,
        "kind": reference.kind,
        "label": reference.item.label if reference.item else "",
        "text": reference.text,
        "chunk_ids": list(reference.chunk_ids),
        "confidence": reference.confidence,
    }


def clarification_out(pending: Pending | None) -> dict[str, Any] | None:
    """The question to ask back."""
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


def document_out(document: Document, owner: Owner) -> dict[str, Any]:
    """A document; `shared` if it is in the tenant's library."""
    return as_json(document) | {"shared": owner.is_reserved}


def chunk_out(chunk: StoredChunk, document: Document) -> dict[str, Any]:
    return asdict(chunk) | {"document_id": document.id, "title": document.title}


def hit_out(store: Store, owner: Owner, hit: Hit, query_stems: set[str]) -> dict[str, Any]:
    """A search result with its session's title and a snippet."""
    turn = store.turns.get(owner, turn_id_of(hit.message_id))
    session = store.sessions.get(owner, hit.session_id)
    return {
        "message_id": hit.message_id,
        "session_id": hit.session_id,
        "session_title": session.title if session else None,
        "turn_number": hit.turn_number,
        "role": hit.message.role,
        "text": hit.text,
        "snippet": snippet(hit.text, query_stems),
        "created_at": hit.message.created_at,
        "score": hit.score,
        "reasons": list(hit.reasons),
        "archived": bool(turn and turn.archived),
    }


def snippet(text: str, query_stems: set[str]) -> list[dict[str, Any]]:
    """The part of a text around the first word of the query, with the words of the query marked."""
    words = [(match, bool(set(snowball_stems(match[0])) & query_stems)) for match in _WORD.finditer(text)]
    first = next((match.start() for match, hit in words if hit), 0)
    start = max(0, first - SNIPPET_LENGTH // 3)
    end = min(len(text), start + SNIPPET_LENGTH)
    parts: list[dict[str, Any]] = [{"text": "…", "hit": False}] if start else []
    at = start
    for match, hit in words:
        if hit and match.start() >= at and match.end() <= end:
            parts += [{"text": text[at : match.start()], "hit": False}, {"text": match[0], "hit": True}]
            at = match.end()
    parts.append({"text": text[at:end] + ("…" if end < len(text) else ""), "hit": False})
    return [part for part in parts if part["text"]]


def named_items(
    store: Store, library: Library, owner: Owner, session_id: str, receipt: Receipt, turn: Turn | None
) -> dict[str, Any]:
    """The items of a receipt by id: a title, the first words, where each is stored, and whether it is cited."""
    cited = set(turn.chunk_ids) if turn else set()
    known = turn.metadata if turn else {}
    scores = _numbers(known.get("scores"))
    quoted: Any = known.get("memory_sources")
    cited |= {str(each.get("message_id")) for each in quoted or () if isinstance(each, dict)}
    found: dict[str, Any] = {}
    for item in receipt.items:
        if item.id not in found and (named := _named_item(store, library, owner, session_id, item)):
            score = scores.get(item.id, item.score)
            found[item.id] = named | {"cited": item.id in cited, "score": score, "reasons": list(item.reasons)}
    return found


def _named_item(
    store: Store, library: Library, owner: Owner, session_id: str, item: ReceiptItem
) -> dict[str, Any] | None:
    if item.section == "chunks":
        try:
            chunk, document, _ = library.chunk(owner, item.id)
        except NotFoundError:  # given by the caller, or deleted since
            return None
        title = f"{document.title} · {chunk.heading}" if chunk.heading else document.title
        return {"title": title, "snippet": _first_words(chunk.text), "chunk_id": chunk.id}
    if item.section not in ("history", "topic", "recalled"):
        return None
    pointed = _POINTED.match(item.id)
    if pointed:
        turns = store.turns.page(owner, session_id, after=int(pointed[1]) - 1, before=int(pointed[1]) + 1)
        turn = turns[0] if turns else None
    else:
        turn = store.turns.get(owner, turn_id_of(item.id) if ":" in item.id else item.id)
    if turn is None:
        return None
    said = next((each for each in turn.messages if each.id == item.id), None)
    session = None if turn.session_id == session_id else store.sessions.get(owner, turn.session_id)
    return {
        "title": session.title or "" if session else "",
        "snippet": _first_words(said.content if said else (turn.response or "") if pointed else turn.query),
        "session_id": turn.session_id,
        "turn_number": turn.turn_number,
        "role": said.role if said else "assistant" if pointed else "user",
        "said_at": said.created_at if said else turn.created_at,
    }


def _first_words(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SNIPPET_LENGTH else f"{line[:SNIPPET_LENGTH].rsplit(' ', 1)[0]}…"


def answer_out(turn: Turn) -> dict[str, Any]:
    """The answerer of a turn, the time of each step, and the tokens."""
    known = turn.metadata
    took = _numbers(known.get("timings_ms"))
    return {
        "answerer": str(known.get("answerer") or ""),
        "intent": str(known.get("intent") or ""),
        "tokens": _numbers(known.get("tokens")),
        "timings_ms": {step: took[step] for step in (*STEPS, *took) if step in took},
        "answer_tokens": sum(each.tokens for each in turn.messages if each.role == "assistant"),
    }


def _numbers(value: object) -> dict[str, float]:
    """The numbers of a mapping in the metadata of a turn, which callers may fill as they like."""
    found = value.items() if isinstance(value, Mapping) else ()
    return {str(name): each for name, each in found if isinstance(each, int | float)}


def encode_cursor(item_id: str, moment: datetime) -> str:
    """The cursor of the page after an item."""
    text = json.dumps([item_id, moment.isoformat()])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[str, datetime]:
    """The id and time of the item that a cursor stands for."""
    try:
        item_id, moment = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return check_id("cursor", item_id), check_time("cursor", datetime.fromisoformat(moment))
    except (ValueError, TypeError, RecursionError, ValidationError, binascii.Error) as error:
        raise ValidationError("cursor", "give the next_cursor of the page before") from error

"""Export and import of sessions: JSON from which the same records are read again, or Markdown for reading.

In: a session and its turns. Out: JSON values or text. A document that is imported is checked field by field like any
other input, and an error names the wrong field.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from threading import Lock
from typing import Any

from ricordo.engine.core import EVERY, LRU, Engine, Scope
from ricordo.errors import NotFoundError, ValidationError
from ricordo.languages.registry import Locale
from ricordo.limits import (
    Limits,
    check_id,
    check_ids,
    check_list,
    check_metadata,
    check_number,
    check_text,
    check_time,
    check_tool_calls,
)
from ricordo.prompt.window import label, said
from ricordo.records.turns import ROLES, Json, Message, Owner, Role, SessionInfo, Turn, message_id, project_tag
from ricordo.records.values import record

FORMAT = "ricordo-session"
VERSION = 1
MOST_TURNS = 10_000_000
MOST_LISTED = 10_000  # turns that a list of sessions reads to count messages


def to_document(session: SessionInfo, turns: Iterable[Turn]) -> dict[str, Any]:
    """The whole session as JSON values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "user_id": session.owner.user_id,
        "session": {
            "id": session.id,
            "agent_id": session.agent_id,
            "created_at": session.created_at.isoformat(),
            "last_active_at": session.last_active_at.isoformat(),
            "title": session.title,
            "document_ids": list(session.document_ids),
            "tags": list(session.tags),
            "metadata": session.metadata,
            "ended_at": session.ended_at.isoformat() if session.ended_at else None,
        },
        "turns": [_turn_to_json(turn) for turn in turns],
    }


def from_document(
    document: Mapping[str, Any], tenant_id: str, user_id: str | None, limits: Limits
) -> tuple[SessionInfo, list[Turn]]:
    """The session and turns of a document; `user_id` replaces the user that it names."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise ValidationError("format", f"expected a document of format {FORMAT!r}")
    if document.get("version") != VERSION:
        raise ValidationError("version", f"expected {VERSION}, got {document.get('version')!r}; upgrade Ricordo")
    owner = Owner(tenant_id, check_id("user_id", user_id if user_id is not None else document.get("user_id")))
    fields = _mapping("session", document.get("session"))
    session = SessionInfo(
        id=check_id("session.id", fields.get("id")),
        owner=owner,
        agent_id=check_id("session.agent_id", fields.get("agent_id")),
        created_at=_time("session.created_at", fields.get("created_at")),
        last_active_at=_time("session.last_active_at", fields.get("last_active_at")),
        title=None if fields.get("title") is None else check_text("session.title", fields["title"], limits),
        document_ids=check_ids("session.document_ids", fields.get("document_ids", ())),
        tags=check_ids("session.tags", fields.get("tags", ())),
        metadata=check_metadata("session.metadata", fields.get("metadata"), limits),
        ended_at=None if fields.get("ended_at") is None else _time("session.ended_at", fields["ended_at"]),
    )
    listed = document.get("turns")
    if not isinstance(listed, list):
        raise ValidationError("turns", "expected a list")
    turns = [
        _turn_from_json(f"turns[{index}]", each, session, limits)
        for index, each in enumerate(listed)
        if not _is_lost(each)
    ]
    return session, turns


def lost_turns(document: Mapping[str, Any]) -> list[str]:
    """A sentence for each turn of a document whose text was lost before the export; `from_document` leaves it out."""
    return [
        f"turn {each.get('turn_number')!r} has no words: {' '.join(each['damage'].split())}"
        for each in document["turns"]
        if _is_lost(each)
    ]


def _is_lost(turn: Any) -> bool:
    """Whether a turn was damaged when it was exported: then it has `damage` instead of its text."""
    if not isinstance(turn, Mapping) or not isinstance(turn.get("damage"), str) or not turn["damage"].strip():
        return False
    return not (turn.get("question") or turn.get("answer") or turn.get("steps"))


def to_markdown(session: SessionInfo, turns: Sequence[Turn], locale: Locale) -> str:
    lines = [f"# {' '.join((session.title or session.id).split())}", "", *_facts_of(session), ""]
    for turn in turns:
        lines += [f"## {turn.turn_number}", ""]
        if turn.damage:
            lines += [f"> {' '.join(turn.damage.split())}", ""]
        for message in turn.messages:
            who = label(message, locale).rstrip(": ")
            lines += [f"**{who}** ({_minute(message.created_at)})", "", said(message), ""]
            if message.chunk_ids:
                lines += [locale.sources.format(ids=", ".join(message.chunk_ids)).strip(), ""]
    return "\n".join(lines)


def _facts_of(session: SessionInfo) -> list[str]:
    """Id, dates and counts of a session, one line each."""
    counts = f"turns: {session.turn_count}, messages: {session.message_count}, tokens: {session.token_count}"
    facts = [
        f"id: {session.id}",
        f"created: {_minute(session.created_at)} UTC",
        f"last active: {_minute(session.last_active_at)} UTC",
        f"ended: {_minute(session.ended_at)} UTC" if session.ended_at else "",
        f"{counts}, condensations: {session.condensation_count}" if session.condensation_count else counts,
        f"documents: {', '.join(session.document_ids)}" if session.document_ids else "",
        f"tags: {', '.join(session.tags)}" if session.tags else "",
    ]
    return [f"- {' '.join(fact.split())}" for fact in facts if fact]


def _minute(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="minutes")[:16]


def _turn_to_json(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.id,
        "turn_number": turn.turn_number,
        "agent_id": turn.agent_id,
        "created_at": turn.created_at.isoformat(),
        "question": _message_to_json(turn.question) if turn.question else None,
        "steps": [_message_to_json(step) for step in turn.steps],
        "answer": _message_to_json(turn.answer) if turn.answer else None,
        "metadata": turn.metadata,
        "origin": turn.origin,
        "counter": turn.counter,
        **({"damage": turn.damage} if turn.damage else {}),
    }


def _message_to_json(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "role": message.role,
        "content": message.content,
        "created_at": message.created_at.isoformat(),
        "tokens": message.tokens,
    }
    extra = {
        "chunk_ids": list(message.chunk_ids),
        "metadata": message.metadata,
        "tool_calls": list(message.tool_calls),
        "tool_call_id": message.tool_call_id,
        "name": message.name,
    }
    return plain | {key: value for key, value in extra.items() if value}


def _turn_from_json(where: str, value: Any, session: SessionInfo, limits: Limits) -> Turn:
    fields = _mapping(where, value)
    turn_id = check_id(f"{where}.id", fields.get("id"))
    question, answer = fields.get("question"), fields.get("answer")
    steps = check_list(f"{where}.steps", fields.get("steps", ()))
    if question is None and answer is None and not steps:
        raise ValidationError(where, "has neither question, answer nor steps")
    counter = fields.get("counter", "")
    origin = fields.get("origin")
    if origin not in ("chat", "import"):
        raise ValidationError(f"{where}.origin", f"expected 'chat' or 'import', got {origin!r}")
    return Turn(
        id=turn_id,
        owner=session.owner,
        agent_id=check_id(f"{where}.agent_id", fields.get("agent_id")),
        session_id=session.id,
        turn_number=_turn_number(f"{where}.turn_number", fields.get("turn_number")),
        created_at=_time(f"{where}.created_at", fields.get("created_at")),
        question=_spoken("user", f"{where}.question", question, message_id(turn_id, "query"), limits),
        answer=_spoken("assistant", f"{where}.answer", answer, message_id(turn_id, "response"), limits),
        steps=tuple(
            _message(f"{where}.steps[{n}]", step, message_id(turn_id, n + 1), limits) for n, step in enumerate(steps)
        ),
        metadata=check_metadata(f"{where}.metadata", fields.get("metadata"), limits),
        origin=origin,
        counter="" if counter == "" else check_id(f"{where}.counter", counter),
    ).sealed()


def _message(where: str, value: Any, address: str, limits: Limits) -> Message:
    fields = _mapping(where, value)
    role = _role(f"{where}.role", fields.get("role"))
    calls = check_tool_calls(f"{where}.tool_calls", fields.get("tool_calls", ()), role, limits)
    content = fields.get("content")
    call_id, name = fields.get("tool_call_id"), fields.get("name")
    return Message(
        id=address,
        role=role,
        content="" if calls and content == "" else check_text(f"{where}.content", content, limits),
        created_at=_time(f"{where}.created_at", fields.get("created_at")),
        tokens=check_number(f"{where}.tokens", fields.get("tokens"), least=0),
        chunk_ids=check_ids(f"{where}.chunk_ids", fields.get("chunk_ids", ())),
        metadata=check_metadata(f"{where}.metadata", fields.get("metadata"), limits),
        tool_calls=calls,
        tool_call_id=None if call_id is None else check_id(f"{where}.tool_call_id", call_id),
        name=None if name is None else check_id(f"{where}.name", name),
    )


def _spoken(role: Role, where: str, value: Any, address: str, limits: Limits) -> Message | None:
    """The question, which must have the role user, or the answer, which must have the role assistant."""
    if value is None:
        return None
    message = _message(where, value, address, limits)
    if message.role != role:
        raise ValidationError(f"{where}.role", f"expected {role!r}, got {message.role!r}")
    if message.tool_calls:
        raise ValidationError(f"{where}.tool_calls", "a message that calls tools is a step of its turn")
    return message


def _turn_number(where: str, value: Any) -> int:
    """A turn number within `MOST_TURNS`, so that no loop over the numbers runs too long."""
    number = check_number(where, value)
    if number > MOST_TURNS:
        raise ValidationError(where, f"expected at most {MOST_TURNS}, got {number}")
    return number


def _role(where: str, value: Any) -> Role:
    for role in ROLES:
        if value == role:
            return role
    raise ValidationError(where, f"expected one of {', '.join(ROLES)}, got {value!r}")


def _time(where: str, value: Any) -> datetime:
    try:
        return check_time(where, datetime.fromisoformat(value))
    except (TypeError, ValueError) as error:
        raise ValidationError(where, f"expected an ISO time with a zone, got {value!r}") from error


def _mapping(where: str, value: Any) -> Json:
    if not isinstance(value, Mapping):
        raise ValidationError(where, "expected a mapping")
    return value


# Documents from the store, and counts of sessions.

PAGE = 200
MOST_COUNTED = 1_024  # sessions whose counts are cached


def export_session(engine: Engine, scope: Scope) -> dict[str, Any]:
    """A session as JSON values."""
    session = found_session(engine, scope)
    return to_document(session, engine.store.turns.page(scope.owner, scope.session_id))


def export_markdown(engine: Engine, scope: Scope) -> str:
    """A session as Markdown, with the role labels of the locale."""
    session = counted_session(engine, scope)
    return to_markdown(session, engine.store.turns.page(scope.owner, scope.session_id), engine.settings.locale)


def export_user(engine: Engine, owner: Owner, project: str = "") -> Iterator[dict[str, Any]]:
    """Every session of a user, most recent first, then pinned facts, facts written by hand, and adapter items.

    Yields one document at a time. With a project only its sessions.
    """
    tag = project_tag(project)
    page = engine.store.sessions.page(owner, limit=PAGE, tag=tag)
    while page:
        for session in page:
            yield to_document(session, engine.store.turns.page(owner, session.id))
        page = engine.store.sessions.page(owner, limit=PAGE, tag=tag, before=page[-1])
    if not project:
        from ricordo.turns import export_items

        yield from export_items.export_facts(engine, owner)
        yield from export_items.export_items(engine, owner)


def found_session(engine: Engine, scope: Scope) -> SessionInfo:
    """The session's fields, or NotFoundError."""
    session = engine.store.sessions.get(scope.owner, scope.session_id)
    if session is None:
        raise NotFoundError(
            f"session {scope.session_id!r} does not exist for user {scope.owner.user_id!r}; list the sessions"
        )
    return session


class SessionCounts:
    """Counts messages and tokens of sessions; a turn that cannot change any more is counted once. Thread-safe."""

    def __init__(self, _: Engine) -> None:
        self._known: LRU[tuple[Owner, str], _Counted] = LRU(MOST_COUNTED)
        self._lock = Lock()

    def of(self, engine: Engine, session: SessionInfo) -> tuple[int, int]:
        """The messages and the tokens of a session."""
        key, known = (session.owner, session.id), self._counted(session)
        messages, tokens = known.messages, known.tokens
        kept, settled = known, True
        for start in range(known.final, session.last_turn, PAGE):
            for turn in engine.store.turns.page(session.owner, session.id, after=start, before=start + PAGE + 1):
                messages, tokens = messages + len(turn.messages), tokens + turn.tokens
                # An open turn may be answered, and the newest one gets more messages.
                settled = settled and not turn.is_open and turn.turn_number < session.last_turn
                if settled:
                    kept = replace(kept, final=turn.turn_number, messages=messages, tokens=tokens)
        with self._lock:
            self._known.put(key, replace(kept, last_turn=session.last_turn, turn_count=session.turn_count))
        return messages, tokens

    def unread(self, session: SessionInfo) -> int:
        """The turns that must be read to count a session."""
        return session.last_turn - self._counted(session).final

    def _counted(self, session: SessionInfo) -> "_Counted":
        """The earlier counts, if they are still right."""
        with self._lock:
            known = self._known.get((session.owner, session.id))
        added = session.last_turn - known.last_turn if known else 0
        removed = known is None or added < 0 or session.turn_count - known.turn_count != added
        return _Counted() if known is None or removed else known

    def forget(self, owner: Owner) -> None:
        with self._lock:
            self._known.remove_where(lambda key: key[0] == owner)


@record
class _Counted:
    """The counts up to the turn `final`, and the number of turns that the session had."""

    final: int = 0
    messages: int = 0
    tokens: int = 0
    last_turn: int = 0
    turn_count: int = 0


def counted_sessions(engine: Engine, sessions: Sequence[SessionInfo]) -> list[SessionInfo]:
    """Sessions of one owner with their counts; counts stay None once `MOST_LISTED` turns were read.

    Counted turns are not read again, so the next list can count the remaining sessions.
    """
    if not sessions:
        return []
    made = engine.store.people.summaries(sessions[0].owner, kind="condensation", limit=EVERY)
    condensed, counts, left = Counter(each.session_id for each in made), engine.part(SessionCounts), MOST_LISTED
    found = []
    for each in sessions:
        unread = counts.unread(each)
        if unread <= left:
            left -= unread
            messages, tokens = counts.of(engine, each)
            each = replace(each, message_count=messages, token_count=tokens, condensation_count=condensed[each.id])
        found.append(each)
    return found


def counted_session(engine: Engine, scope: Scope) -> SessionInfo:
    """The session's fields with its counts, or NotFoundError."""
    session = found_session(engine, scope)
    messages, tokens = engine.part(SessionCounts).of(engine, session)
    made = engine.store.people.summaries(scope.owner, session_id=session.id, kind="condensation", limit=EVERY)
    return replace(session, message_count=messages, token_count=tokens, condensation_count=len(made))

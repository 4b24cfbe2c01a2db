"""Google ADK on Ricordo: a memory service that recalls, and a session service that keeps events and state.

`RicordoMemoryService` stores the messages of a session as turns and searches them. `RicordoSessionService` stores every
event byte for byte. Both need the user that ADK passes in each call; nothing is ever listed for all users.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any
from uuid import UUID

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from ricordo.contrib.adk_sessions import RicordoSessionService
from ricordo.contrib.history import History, HistoryMessage
from ricordo.contrib.shared import (
    ItemCollection,
    body_of,
    call_of,
    moment_of,
    openai_call,
    owner_of,
    path,
    sessions_of,
)
from ricordo.engine.core import LRU, new_id
from ricordo.errors import ValidationError
from ricordo.limits import ID_LENGTH, Limits, check_metadata
from ricordo.memory import Memory
from ricordo.records.service import SessionState, StoredItem
from ricordo.records.turns import Json, Message, Owner, turn_id_of
from ricordo.session import Session as Talk  # a session is also what ADK calls its own
from ricordo.stores.service_protocols import ItemTransaction

# Events of Google ADK as messages of a memory, and a message as the content it was. Pure.

NOTE = "adk"


def words_of(event: Event, custom: Json, limits: Limits) -> list[HistoryMessage]:
    """The messages of an event: none, one, or one for each tool response."""
    parts = (event.content.parts if event.content else None) or []
    role = "user" if event.author == "user" else "assistant"
    if len(parts) == 1 and not custom and (content := _text_alone(parts[0], limits)):  # the usual case
        note = {"event": event.id, "author": event.author}
        return [
            HistoryMessage(role, content, {NOTE: note}, (), None, None, datetime.fromtimestamp(event.timestamp, UTC))
        ]
    said = [part.text for part in parts if part.text and part.text.strip() and not part.thought]
    calls = tuple(_call(part.function_call, limits) for part in parts if part.function_call)
    made: list[HistoryMessage] = []
    if said or calls:
        content = _clean("\n".join(said), limits)
        content = content if content.strip() else "" if calls else "(no words)"
        made.append(_words(event, custom, limits, role if not calls else "assistant", content, calls))
    for part in parts:
        if part.function_response:
            answer = part.function_response
            text = _clean(json.dumps(answer.response or {}, ensure_ascii=False, default=str), limits)
            made.append(
                _words(event, custom, limits, "tool", text, (), (answer.id or answer.name or "tool")[:ID_LENGTH])
            )
    return made


def event_of(message: Message) -> str | None:
    """The id of the event that a message came from."""
    note = message.metadata.get(NOTE)
    return note.get("event") if isinstance(note, dict) else None


def content_of(message: Message) -> types.Content:
    """A message as content; the original content if it was stored."""
    whole = message.metadata.get(NOTE, {}).get("content")
    if whole:
        return types.Content.model_validate(whole)
    parts = [types.Part(text=message.content)] if message.content else []
    for call in message.tool_calls:
        name, arguments, call_id = call_of(call)
        parts.append(types.Part(function_call=types.FunctionCall(name=name, args=arguments, id=call_id)))
    return types.Content(role="user" if message.role == "user" else "model", parts=parts)


def _text_alone(part: types.Part, limits: Limits) -> str:
    """The text of a part that is only text; else empty."""
    if not part.text or part.thought or part.function_call or part.function_response:
        return ""
    content = _clean(part.text, limits)
    return content if content.strip() else ""


def _call(call: types.FunctionCall, limits: Limits) -> Json:
    """The call, without arguments that are too large."""
    whole = openai_call(call.name or "", call.args or {}, call.id)
    try:
        return check_metadata("tool_calls", whole, limits)
    except ValidationError:
        return openai_call(call.name or "", {}, call.id)


def _words(
    event: Event, custom: Json, limits: Limits, role: str, content: str, calls: tuple[Any, ...], call: str | None = None
) -> HistoryMessage:
    moment = datetime.fromtimestamp(event.timestamp, UTC)
    note: dict[str, Any] = {"event": event.id, "author": event.author}
    note |= {"custom": dict(custom)} if custom else {}
    assert event.content is not None
    simple = len(event.content.parts or ()) == 1 and not calls and role != "tool"
    whole = {} if simple else {"content": event.content.model_dump(mode="json", exclude_none=True)}
    return HistoryMessage(role, content, _fitting(note, whole, limits), calls, call, None, moment)


def _fitting(note: dict[str, Any], whole: dict[str, Any], limits: Limits) -> Json:
    try:
        return check_metadata("metadata", {NOTE: note | whole}, limits)
    except ValidationError:
        return check_metadata("metadata", {NOTE: note}, limits)


def _clean(text: str, limits: Limits) -> str:
    """Text that can be stored, cut if it is too long; the session service has the whole event."""
    if text.isascii() and "\x00" not in text and len(text) <= limits.text_bytes // 2:
        return text
    plain = text.replace("\x00", " ").encode(errors="replace")[: limits.text_bytes // 2]
    return plain.decode(errors="ignore")


__all__ = ["RicordoMemoryService", "RicordoSessionService"]

COLLECTION = "adk.memory"
EVERYTHING = "everything"  # the session of memories without one
FEW = 4  # messages that are added one by one
MOST = 10  # memories found for a query
PORTION = 500  # events per lookup
SESSIONS = 256  # cached, with the events that they hold


@dataclass(slots=True)
class _Known:
    """A session of the memory, the events in it that are known, and how far it was read.

    `standing` is the state of the session when `events` was complete. If it is unchanged, there was no other writer.
    """

    session: Talk
    events: set[str] = field(default_factory=set)
    number: int = 0
    turn_id: str = ""
    standing: SessionState | None = None


class RicordoMemoryService(BaseMemoryService):
    """Recall over past sessions: `Runner(memory_service=RicordoMemoryService(memory))`.

    A session of ADK is the session `<app>/<id>` of the memory, and the app is its agent. Adding a session again adds
    only what is new. A deleted memory is not added again.
    """

    def __init__(self, memory: Memory, *, limit: int = MOST) -> None:
        self._memory = memory
        self._limit = limit
        self._items = ItemCollection(memory, COLLECTION)
        self._lock = Lock()
        self._sessions: LRU[tuple[UUID, str], _Known] = LRU(SESSIONS)

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events of a session that the memory does not have."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events, each once, with their times; `custom_metadata` is stored with the messages."""
        limits = self._memory.settings.limits
        custom = dict(custom_metadata or {})
        said = {event.id: words_of(event, custom, limits) for event in events if not event.partial}
        await asyncio.to_thread(self._add, app_name, user_id, session_id or EVERYTHING, said)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories as messages of their author."""
        said = {}
        for memory in memories:
            name = memory.id or new_id(self._memory.clock.now())
            moment = moment_of(memory.timestamp) or self._memory.clock.now()
            event = Event(id=name, author=memory.author or "user", content=memory.content, timestamp=moment.timestamp())
            given = {**memory.custom_metadata, **(custom_metadata or {})}
            said[name] = words_of(event, given, self._memory.settings.limits)
        await asyncio.to_thread(self._add, app_name, user_id, EVERYTHING, said)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The messages of this user in this app that match the query, best first, with reasons."""
        if not query.strip():
            return SearchMemoryResponse()
        hits = await asyncio.to_thread(
            self._memory.search, query, user_id=user_id, agent_id=app_name, limit=self._limit
        )
        entries = []
        for hit in hits:
            found_by = {"session_id": hit.session_id.removeprefix(_place(app_name)), "score": hit.score}
            entries.append(_entry(hit.message, found_by | {"reasons": list(hit.reasons)}))
        return SearchMemoryResponse(memories=entries)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Remove one memory for good."""
        if memory_id is None:
            raise ValidationError("memory_id", "is missing; give the id of a search result")
        await asyncio.to_thread(self._delete, app_name, user_id, memory_id)

    def _add(self, app: str, user_id: str, session_id: str, said: Mapping[str, Sequence[HistoryMessage]]) -> None:
        owner = owner_of(self._memory, user_id)
        if any(said.values()):
            known, deleted = self._known(owner, app, _place(app) + session_id), path("deleted", app)
            self._items.exclusive(owner, lambda items: self._take_in(items, owner, known, deleted, said))

    def _take_in(
        self,
        items: ItemTransaction,
        owner: Owner,
        known: _Known,
        deleted: str,
        said: Mapping[str, Sequence[HistoryMessage]],
    ) -> None:
        """Store what is neither in the session nor deleted; other writers of the owner wait until it is written."""
        asked = [event for event in said if event not in known.events][:PORTION]
        standing, gone = items.probe(known.session.id, deleted, asked)
        if standing is None or standing != known.standing:
            self._read(owner, known)
        known.standing = standing
        if len(asked) < len(said):
            left = sorted(said.keys() - known.events - set(asked))
            for at in range(0, len(left), PORTION):
                gone |= items.probe(known.session.id, deleted, left[at : at + PORTION])[1]
        new = [
            (event, each) for event in said if event not in known.events and event not in gone for each in said[event]
        ]
        if len(new) > FEW:  # a whole session, in few commits
            session = known.session
            history = History(self._memory, session.id, user_id=session.user_id, agent_id=session.agent_id)
            history.append([each for _, each in new])
            return
        for event, each in new:
            kept = each.add_to(known.session)
            known.events.add(event)
            if standing is not None:  # true if no other writer wrote; checked at the next read
                known.standing = standing = standing[0] + 1, turn_id_of(kept.id)

    def _known(self, owner: Owner, app: str, session_id: str) -> _Known:
        """The cached events of a session."""
        key = (owner.key, session_id)
        with self._lock:
            known = self._sessions.get(key)
            if known is None:
                known = _Known(self._memory.session(session_id, user_id=owner.user_id, agent_id=app))
                self._sessions.put(key, known)
        return known

    def _read(self, owner: Owner, known: _Known) -> None:
        """Find the events that a session has; only turns that were not read before are read."""
        store, session_id = self._memory.store, known.session.id
        turns = store.turns.page(owner, session_id, after=known.number - 1) if known.number else ()
        if not turns or turns[0].id != known.turn_id:  # never read, or emptied meanwhile
            known.events, known.number, known.turn_id = set(), 0, ""
            turns = store.turns.page(owner, session_id)
        known.events.update(event for turn in turns for message in turn.messages if (event := event_of(message)))
        if turns:
            known.number, known.turn_id = turns[-1].turn_number, turns[-1].id

    def _delete(self, app: str, user_id: str, memory_id: str) -> None:
        owner = owner_of(self._memory, user_id)
        forgotten = StoredItem(path("deleted", app), memory_id, b"")
        self._items.write(owner, lambda items: items.put(forgotten))
        self._items.exclusive(owner, lambda items: self._remove(items, app, user_id, forgotten))

    def _remove(self, items: ItemTransaction, app: str, user_id: str, forgotten: StoredItem) -> None:
        """Remove a memory from all sessions. It is marked as forgotten, so that no writer adds it again."""
        if body_of(items, forgotten.place, forgotten.key) is None:  # its user was erased meanwhile
            return
        for session in sessions_of(self._memory, user_id, app):
            history = History(self._memory, session.id, user_id=user_id, agent_id=app)
            placed = history.read()
            for position in reversed(range(len(placed))):
                if forgotten.key in (event_of(placed[position].message), placed[position].message.id):
                    history.remove(position)


def _place(app: str) -> str:
    """The prefix of an app's session ids; unique even for app names with slashes."""
    return app.replace("%", "%25").replace("/", "%2F") + "/"


def _entry(message: Message, found_by: dict[str, Any]) -> MemoryEntry:
    note = message.metadata.get(NOTE, {})
    return MemoryEntry(
        id=event_of(message) or message.id,
        content=content_of(message),
        author=note.get("author") or message.role,
        timestamp=message.created_at.astimezone(UTC).isoformat(),
        custom_metadata=note.get("custom", {}) | found_by,
    )

"""Google ADK on Ricordo: a memory service that recalls, and a session service that keeps events and state.

`RicordoMemoryService` takes what was said in a session into the memory as turns and finds it again.
`RicordoSessionService` keeps every event to the byte. Both need the user that ADK names in each call; nothing is ever
listed for all users.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from functools import partial
from threading import Lock
from typing import Any
from uuid import UUID

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session

from ricordo.errors import ValidationError
from ricordo.integrations.adk_events import NOTE, content_of, event_of, words_of
from ricordo.integrations.adk_sessions import RicordoSessionService
from ricordo.integrations.calls import moment_of
from ricordo.integrations.history import History, Words, sessions_of
from ricordo.integrations.shelf import Desk, Item, Shelf, path
from ricordo.integrations.whose import owner_of
from ricordo.memory import Memory
from ricordo.records import Message, Owner
from ricordo.verbs.ids import new_id

__all__ = ["RicordoMemoryService", "RicordoSessionService"]

SHELF = "adk.memory"
EVERYTHING = "everything"  # the session of what was not said in one
FEW = 4  # messages that are added one by one
MOST = 10  # memories found for a query
PORTION = 500  # events looked for at once
SEEN = 256  # sessions of which it is known what was taken in


@dataclass(slots=True)
class _Seen:
    """How far a session of the memory was read, and the events that were in it up to there; it grows as that does."""

    number: int = 0
    turn_id: str = ""
    events: set[str] = field(default_factory=set)


class RicordoMemoryService(BaseMemoryService):
    """What was said in sessions, found again: `Runner(memory_service=RicordoMemoryService(memory))`.

    A session of ADK is the session `<app>/<id>` of the memory, and the app its agent. Taking a session in again adds
    what is new. A memory that was deleted does not come back.
    """

    def __init__(self, memory: Memory, *, limit: int = MOST, shelf: Shelf | None = None) -> None:
        self._memory = memory
        self._limit = limit
        self._given_shelf = shelf
        self._lock = Lock()
        self._seen: OrderedDict[tuple[UUID, str], _Seen] = OrderedDict()

    async def add_session_to_memory(self, session: Session) -> None:
        """Take in what a session holds and the memory does not."""
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
        """Take in events, each once, with their times; `custom_metadata` stays with the messages."""
        limits = self._memory.settings.limits
        words = [
            (event.id, each)
            for event in events
            if not event.partial
            for each in words_of(event, dict(custom_metadata or {}), limits)
        ]
        await asyncio.to_thread(self._add, app_name, user_id, session_id or EVERYTHING, words)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep memories as they are given, as said by their author."""
        words = []
        for memory in memories:
            name = memory.id or new_id(self._memory.clock.now())
            moment = moment_of(memory.timestamp) or self._memory.clock.now()
            event = Event(id=name, author=memory.author or "user", content=memory.content, timestamp=moment.timestamp())
            given = {**memory.custom_metadata, **(custom_metadata or {})}
            words += [(name, each) for each in words_of(event, given, self._memory.settings.limits)]
        await asyncio.to_thread(self._add, app_name, user_id, EVERYTHING, words)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """What this user said, or was told, in this app, that speaks to the query; best first, with reasons."""
        if not query.strip():
            return SearchMemoryResponse()
        hits = await asyncio.to_thread(
            self._memory.search, query, user_id=user_id, agent_id=app_name, limit=self._limit
        )
        entries = []
        for hit in hits:
            told = {"session_id": hit.session_id.removeprefix(f"{app_name}/"), "score": hit.score}
            entries.append(_entry(hit.message, told | {"reasons": list(hit.reasons)}))
        return SearchMemoryResponse(memories=entries)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Remove one memory for good."""
        if memory_id is None:
            raise ValidationError("memory_id", "is missing; give the id of a memory that was found")
        await asyncio.to_thread(self._delete, app_name, user_id, memory_id)

    def _add(self, app: str, user_id: str, session_id: str, words: Sequence[tuple[str, Words]]) -> None:
        owner = owner_of(self._memory, user_id)
        if not words:
            return
        wanted = [(path("deleted", app), event) for event in dict.fromkeys(event for event, _ in words)]
        name = f"{app}/{session_id}"
        with self._lock:
            known = self._known(owner, name)
            fresh = [pair for pair in wanted if pair[1] not in known]
            look = self._shelf.look if len(fresh) <= PORTION else self._shelf.read
            gone = {item.key for item in look(owner, SHELF, partial(_found, fresh))} if fresh else set()
            new = [each for event, each in words if event not in known and event not in gone]
            if len(new) > FEW:  # a whole session: in as few commits as can be
                History(self._memory, name, user_id=user_id, agent_id=app).append(new)
                return
            session = self._memory.session(name, user_id=user_id, agent_id=app)
            for each in new:
                session.add_message(
                    each.role,
                    each.content,
                    created_at=each.created_at,
                    metadata=each.metadata,
                    tool_calls=each.tool_calls,
                    tool_call_id=each.tool_call_id,
                )

    def _known(self, owner: Owner, session_id: str) -> set[str]:
        """The events that a session of the memory has; only turns that were not seen before are read."""
        key = (owner.key, session_id)
        seen = self._seen.pop(key, _Seen())
        turns = self._memory.store.turns(owner, session_id, after=seen.number - 1 if seen.number else None)
        if seen.number and (not turns or turns[0].id != seen.turn_id):  # emptied meanwhile
            seen, turns = _Seen(), self._memory.store.turns(owner, session_id)
        seen.events.update(event for turn in turns for message in turn.messages if (event := event_of(message)))
        if turns:
            seen.number, seen.turn_id = turns[-1].turn_number, turns[-1].id
            self._seen[key] = seen
        if len(self._seen) > SEEN:
            self._seen.popitem(last=False)
        return seen.events

    def _delete(self, app: str, user_id: str, memory_id: str) -> None:
        owner = owner_of(self._memory, user_id)
        forgotten = Item(path("deleted", app), memory_id, b"")
        self._shelf.write(owner, SHELF, lambda desk: desk.put(forgotten))
        for session in sessions_of(self._memory, user_id, app):
            history = History(self._memory, session.id, user_id=user_id, agent_id=app)
            placed = history.read()
            for position in reversed(range(len(placed))):
                if memory_id in (event_of(placed[position].message), placed[position].message.id):
                    history.remove(position)

    @property
    def _shelf(self) -> Shelf:
        return self._given_shelf or Shelf.beside(self._memory)


def _found(wanted: Sequence[tuple[str, str]], desk: Desk) -> list[Item]:
    """The items at these places, asked for in portions that every database takes."""
    return [item for at in range(0, len(wanted), PORTION) for item in desk.get_all(wanted[at : at + PORTION])]


def _entry(message: Message, told: dict[str, Any]) -> MemoryEntry:
    note = message.metadata.get(NOTE, {})
    return MemoryEntry(
        id=event_of(message) or message.id,
        content=content_of(message),
        author=note.get("author") or message.role,
        timestamp=message.created_at.astimezone(UTC).isoformat(),
        custom_metadata=note.get("custom", {}) | told,
    )

"""Google ADK on Ricordo: a session service that keeps events and state, and a memory service that recalls.

`RicordoSessionService` keeps every event to the byte on the shelf of its user, together with the state it changes, in
one transaction. `RicordoMemoryService` takes what was said in a session into the memory as turns and finds it again.
Both need the user that ADK names in each call; nothing is ever listed for all users.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from threading import Lock
from typing import Any, TypeVar
from uuid import UUID

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ricordo.errors import ValidationError
from ricordo.integrations.adk_events import NOTE, content_of, event_of, words_of
from ricordo.integrations.calls import moment_of
from ricordo.integrations.history import History, Words, sessions_of
from ricordo.integrations.shelf import Desk, Item, Shelf, path
from ricordo.integrations.whose import owner_of
from ricordo.memory import Memory
from ricordo.records import RESERVED, Message, Owner
from ricordo.verbs.ids import new_id

SHELF = "adk"
STATE = "state"
EVERYTHING = "everything"  # the session of what was not said in one
MOST = 10  # memories found for a query
SEEN = 256  # sessions of which it is known what was taken in

T = TypeVar("T")
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Record:
    """What is kept of a session beside its events."""

    state: Values
    updated: float
    revision: int = 0

    @classmethod
    def read(cls, item: Item) -> "_Record":
        return cls(**json.loads(item.body))

    def item(self, app: str, session_id: str) -> Item:
        fields = {"state": self.state, "updated": self.updated, "revision": self.revision}
        return Item(path("sessions", app), session_id, json.dumps(fields).encode())


@dataclass(frozen=True, slots=True)
class _Seen:
    """How far a session of the memory was read, and the events that were in it up to there."""

    number: int = 0
    turn_id: str = ""
    events: frozenset[str] = frozenset()


class RicordoSessionService(BaseSessionService):
    """Sessions, events and state in a memory's database: `Runner(session_service=RicordoSessionService(memory))`.

    State of the whole app (`app:`) is shared by its users, as ADK means it; all else is each user's own.
    """

    def __init__(self, memory: Memory, *, shelf: Shelf | None = None) -> None:
        self._memory = memory
        self._shelf = shelf or Shelf.beside(memory)
        self._app = Owner(memory.settings.tenant_id, f"{RESERVED}adk")

    async def create_session(
        self, *, app_name: str, user_id: str, state: Values | None = None, session_id: str | None = None
    ) -> Session:
        """A new session; AlreadyExistsError if this user has one of that id."""
        now = self._memory.clock.now()
        name = (session_id or "").strip() or new_id(now)
        app, user, own = _split(_json(state or {}))
        record = _Record(own, now.timestamp())

        def write(desk: Desk) -> None:
            _one_at_a_time(desk)
            if desk.get(path("sessions", app_name), name) is not None:
                raise AlreadyExistsError(f"Session with id {name} already exists.")
            desk.put(record.item(app_name, name))
            _merge(desk, path("user", app_name), user)

        await self._write(user_id, write)
        await self._write_app(app_name, app)
        session = await self.get_session(app_name=app_name, user_id=user_id, session_id=name)
        assert session is not None
        return session

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A session with its events, all or the newest; the cost is that of the events that are asked for."""
        most = config.num_recent_events if config else None
        since = config.after_timestamp if config else None

        def read(desk: Desk) -> tuple[_Record, Values, list[Item]] | None:
            found = desk.get(path("sessions", app_name), session_id.strip())
            if found is None:
                return None
            events = _events(desk, path("events", app_name, session_id.strip()), most)
            return _Record.read(found), _values(desk, path("user", app_name)), events

        found = await self._read(user_id, read)
        if found is None:
            return None
        record, user, items = found
        events = [Event.model_validate_json(item.body) for item in items]
        events = [event for event in events if since is None or event.timestamp >= since]
        return self._session(
            app_name, user_id, session_id.strip(), record, user, await self._app_state(app_name), events
        )

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of a user, the most recently active last, without events. Refused without a user."""
        if user_id is None:
            raise ValidationError("user_id", "is missing; sessions are listed for one user, never for all")

        def read(desk: Desk) -> tuple[list[tuple[str, _Record]], Values]:
            found = desk.under(path("sessions", app_name))
            return [(item.key, _Record.read(item)) for item in found], _values(desk, path("user", app_name))

        records, user = await self._read(user_id, read)
        app = await self._app_state(app_name)
        records.sort(key=lambda pair: (pair[1].updated, pair[0]))
        return ListSessionsResponse(
            sessions=[self._session(app_name, user_id, name, record, user, app, []) for name, record in records]
        )

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Remove a session with its events; nothing happens if there is none."""

        def write(desk: Desk) -> None:
            desk.remove(path("sessions", app_name), session_id.strip())
            desk.remove_under(path("events", app_name, session_id.strip()))

        await self._write(user_id, write)

    async def get_user_state(self, *, app_name: str, user_id: str) -> Values:
        """What is known of a user across sessions, without the prefix."""
        return await self._read(user_id, lambda desk: _values(desk, path("user", app_name)))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Keep an event and the state it changes; the same event again changes nothing.

        StaleSessionError, and nothing is changed, if the session was written since it was read.
        """
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        app, user, own = _split(_json(event.actions.state_delta if event.actions else {}))
        body = event.model_dump_json(by_alias=True, exclude_none=True).encode()
        place, name = path("events", session.app_name, session.id), session.id

        def write(desk: Desk) -> int | None:
            _one_at_a_time(desk)
            found = desk.get(path("sessions", session.app_name), name)
            if found is None:
                raise SessionNotFoundError(f"Session {name} not found.")
            if any(each.body == body for each in desk.under(place, tag=event.id)):
                return None
            record = _Record.read(found)
            known = session._storage_update_marker
            if known is not None and known != str(record.revision):
                raise StaleSessionError(f"session {name!r} was written since it was read; get it again")
            after = replace(record, state=record.state | own, updated=event.timestamp, revision=record.revision + 1)
            desk.put(Item(place, f"{after.revision:012d}", body, event.id))
            desk.put(after.item(session.app_name, name))
            _merge(desk, path("user", session.app_name), user)
            return after.revision

        revision = await self._write(session.user_id, write)
        if revision is not None:
            await self._write_app(session.app_name, app)
            self._commit_event_to_session(session, event)
            session.last_update_time = event.timestamp
            session._storage_update_marker = str(revision)
        return event

    # Inside

    def _session(
        self, app_name: str, user_id: str, name: str, record: _Record, user: Values, app: Values, events: list[Event]
    ) -> Session:
        state = dict(record.state)
        state |= {f"{State.APP_PREFIX}{key}": value for key, value in app.items()}
        state |= {f"{State.USER_PREFIX}{key}": value for key, value in user.items()}
        session = Session(
            id=name, app_name=app_name, user_id=user_id, state=state, events=events, last_update_time=record.updated
        )
        session._storage_update_marker = str(record.revision)
        return session

    async def _app_state(self, app_name: str) -> Values:
        place = path("app", app_name)
        return await asyncio.to_thread(self._shelf.read, self._app, SHELF, lambda desk: _values(desk, place))

    async def _write_app(self, app_name: str, values: Values) -> None:
        def write(desk: Desk) -> None:
            _one_at_a_time(desk)
            _merge(desk, path("app", app_name), values)

        if values:
            await asyncio.to_thread(self._shelf.write, self._app, SHELF, write)

    async def _read(self, user_id: str, work: Callable[[Desk], T]) -> T:
        return await asyncio.to_thread(self._shelf.read, owner_of(self._memory, user_id), SHELF, work)

    async def _write(self, user_id: str, work: Callable[[Desk], T]) -> T:
        return await asyncio.to_thread(self._shelf.write, owner_of(self._memory, user_id), SHELF, work)


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
        gone = {item.key for item in self._shelf.read(owner, SHELF, lambda desk: desk.under(path("deleted", app)))}
        name = f"{app}/{session_id}"
        with self._lock:
            known = gone | self._known(owner, name)
            history = History(self._memory, name, user_id=user_id, agent_id=app)
            history.append([each for event, each in words if event not in known])

    def _known(self, owner: Owner, session_id: str) -> frozenset[str]:
        """The events that a session of the memory has; only turns that were not seen before are read."""
        key = (owner.key, session_id)
        seen = self._seen.pop(key, _Seen())
        turns = self._memory.store.turns(owner, session_id, after=seen.number - 1 if seen.number else None)
        if seen.number and (not turns or turns[0].id != seen.turn_id):  # emptied meanwhile
            seen, turns = _Seen(), self._memory.store.turns(owner, session_id)
        found = {event for turn in turns for message in turn.messages if (event := event_of(message))}
        if turns:
            seen = _Seen(turns[-1].turn_number, turns[-1].id, seen.events | found)
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


def _entry(message: Message, told: Values) -> MemoryEntry:
    note = message.metadata.get(NOTE, {})
    return MemoryEntry(
        id=event_of(message) or message.id,
        content=content_of(message),
        author=note.get("author") or message.role,
        timestamp=message.created_at.astimezone(UTC).isoformat(),
        custom_metadata=note.get("custom", {}) | told,
    )


def _one_at_a_time(desk: Desk) -> None:
    """Let writers of one user follow each other, also where a database would let them look first and write later."""
    desk.put(Item(path("order"), "", b""))


def _events(desk: Desk, place: str, most: int | None) -> list[Item]:
    if most == 0:
        return []
    return desk.under(place) if most is None else desk.under(place, newest_first=True, limit=most)[::-1]


def _values(desk: Desk, place: str) -> Values:
    found = desk.get(place, STATE)
    values: Values = json.loads(found.body) if found else {}
    return values


def _merge(desk: Desk, place: str, values: Values) -> None:
    if values:
        desk.put(Item(place, STATE, json.dumps(_values(desk, place) | values).encode()))


def _split(state: Values) -> tuple[Values, Values, Values]:
    """State of the app, of the user, of the session. What is temporary is kept by nobody."""
    kinds = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)
    app, user, _ = (
        {key.removeprefix(kind): value for key, value in state.items() if key.startswith(kind)} for kind in kinds
    )
    return app, user, {key: value for key, value in state.items() if not key.startswith(kinds)}


def _json(state: Values) -> Values:
    try:
        values: Values = to_jsonable_python(state)
    except PydanticSerializationError as error:
        raise ValidationError("state", f"is not JSON ({error}); keep text, numbers, lists and mappings") from error
    return values

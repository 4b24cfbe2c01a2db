"""Sessions of Google ADK among the items of their user: events byte for byte, and the state they change.

In: the calls of a session service. Out: ADK's sessions. An event and the state it changes are one transaction; a write
to a session that has changed since it was read raises StaleSessionError.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ricordo.contrib.shared import ItemCollection, owner_of, path
from ricordo.engine.core import new_id
from ricordo.errors import ValidationError
from ricordo.memory import Memory
from ricordo.records.service import StoredItem
from ricordo.records.turns import RESERVED, Owner
from ricordo.stores.service_protocols import ItemTransaction

COLLECTION = "adk.sessions"
STATE = "state"

T = TypeVar("T")
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Record:
    """What is stored of a session besides its events."""

    state: Values
    updated: float
    revision: int = 0

    @classmethod
    def read(cls, item: StoredItem) -> "_Record":
        return cls(**json.loads(item.body))

    def item(self, app: str, session_id: str) -> StoredItem:
        fields = {"state": self.state, "updated": self.updated, "revision": self.revision}
        return StoredItem(path("sessions", app), session_id, json.dumps(fields).encode())


class RicordoSessionService(BaseSessionService):
    """Sessions, events and state in a memory's database: `Runner(session_service=RicordoSessionService(memory))`.

    State of the whole app (`app:`) is shared by its users, as ADK defines it; all other state is the user's own.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._items = ItemCollection(memory, COLLECTION)
        self._app = Owner(memory.settings.tenant_id, f"{RESERVED}adk")

    async def create_session(
        self, *, app_name: str, user_id: str, state: Values | None = None, session_id: str | None = None
    ) -> Session:
        """A new session; AlreadyExistsError if this user has one of that id."""
        now = self._memory.clock.now()
        name = (session_id or "").strip() or new_id(now)
        app, user, own = _split(_json(state or {}))
        record = _Record(own, now.timestamp())

        def write(items: ItemTransaction) -> None:
            items.serialize()
            if items.get(path("sessions", app_name), name) is not None:
                raise AlreadyExistsError(f"Session with id {name} already exists.")
            items.put(record.item(app_name, name))
            _merge(items, path("user", app_name), user)

        await self._write(user_id, write)
        await self._write_app(app_name, app)
        session = await self.get_session(app_name=app_name, user_id=user_id, session_id=name)
        assert session is not None
        return session

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A session with all its events or the newest ones; only those are read."""
        most = config.num_recent_events if config else None
        since = config.after_timestamp if config else None

        def read(items: ItemTransaction) -> tuple[_Record, Values, list[bytes]] | None:
            found = items.get(path("sessions", app_name), session_id.strip())
            if found is None:
                return None
            events = _events(items, path("events", app_name, session_id.strip()), most)
            return _Record.read(found), _values(items, path("user", app_name)), events

        def made() -> Session | None:
            found = self._items.read(owner_of(self._memory, user_id), read)
            if found is None:
                return None
            record, user, bodies = found
            events = [Event.model_validate_json(body) for body in bodies]
            events = events if since is None else [event for event in events if event.timestamp >= since]
            app = self._shared(app_name)
            return self._session(app_name, user_id, session_id.strip(), record, user, app, events)

        return await asyncio.to_thread(made)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of a user without events, the most recently active last. `user_id` is required."""
        if user_id is None:
            raise ValidationError("user_id", "is missing; sessions are listed for one user, never for all")

        def read(items: ItemTransaction) -> tuple[list[tuple[str, _Record]], Values]:
            found = items.find(path("sessions", app_name))
            return [(item.key, _Record.read(item)) for item in found], _values(items, path("user", app_name))

        records, user = await self._read(user_id, read)
        app = await asyncio.to_thread(self._shared, app_name)
        records.sort(key=lambda pair: (pair[1].updated, pair[0]))
        return ListSessionsResponse(
            sessions=[self._session(app_name, user_id, name, record, user, app, []) for name, record in records]
        )

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Remove a session with its events, if it exists."""

        def write(items: ItemTransaction) -> None:
            items.remove(path("sessions", app_name), session_id.strip())
            items.remove_under(path("events", app_name, session_id.strip()))

        await self._write(user_id, write)

    async def get_user_state(self, *, app_name: str, user_id: str) -> Values:
        """The user's state across sessions, without the prefix."""
        return await self._read(user_id, lambda items: _values(items, path("user", app_name)))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event and the state it changes; the same event again changes nothing.

        StaleSessionError, and nothing is changed, if the session was written since it was read.
        """
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        app, user, own = _split(_json(event.actions.state_delta if event.actions else {}))
        body = event.model_dump_json(by_alias=True, exclude_none=True).encode()
        place, name = path("events", session.app_name, session.id), session.id

        def write(items: ItemTransaction) -> int | None:
            items.serialize()
            found = items.get(path("sessions", session.app_name), name)
            if found is None:
                raise SessionNotFoundError(f"Session {name} not found.")
            if any(each.body == body for each in items.find(place, tag=event.id)):
                return None
            record = _Record.read(found)
            known = session._storage_update_marker
            if known is not None and known != str(record.revision):
                raise StaleSessionError(f"session {name!r} was written since it was read; get it again")
            after = replace(record, state=record.state | own, updated=event.timestamp, revision=record.revision + 1)
            items.put(StoredItem(place, f"{after.revision:012d}", body, event.id))
            items.put(after.item(session.app_name, name))
            _merge(items, path("user", session.app_name), user)
            return after.revision

        revision = await self._write(session.user_id, write)
        if revision is not None:
            await self._write_app(session.app_name, app)
            self._commit_event_to_session(session, event)
            session.last_update_time = event.timestamp
            session._storage_update_marker = str(revision)
        return event

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

    def _shared(self, app_name: str) -> Values:
        return self._items.read(self._app, lambda items: _values(items, path("app", app_name)))

    async def _write_app(self, app_name: str, values: Values) -> None:
        def write(items: ItemTransaction) -> None:
            items.serialize()
            _merge(items, path("app", app_name), values)

        if values:
            await asyncio.to_thread(self._items.write, self._app, write)

    async def _read(self, user_id: str, work: Callable[[ItemTransaction], T]) -> T:
        return await asyncio.to_thread(self._items.read, owner_of(self._memory, user_id), work)

    async def _write(self, user_id: str, work: Callable[[ItemTransaction], T]) -> T:
        return await asyncio.to_thread(self._items.write, owner_of(self._memory, user_id), work)


def _events(items: ItemTransaction, place: str, most: int | None) -> list[bytes]:
    """The bodies of all events, or of the newest, oldest first."""
    if most is None:
        return [item.body for item in items.find(place)]
    newest = items.find(place, newest_first=True, limit=most) if most else []
    return [item.body for item in reversed(newest)]


def _values(items: ItemTransaction, place: str) -> Values:
    found = items.get(place, STATE)
    values: Values = json.loads(found.body) if found else {}
    return values


def _merge(items: ItemTransaction, place: str, values: Values) -> None:
    if values:
        items.put(StoredItem(place, STATE, json.dumps(_values(items, place) | values).encode()))


def _split(state: Values) -> tuple[Values, Values, Values]:
    """The state of the app, of the user and of the session; temporary state is dropped."""
    kinds = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)
    app, user, _ = (
        {key.removeprefix(kind): value for key, value in state.items() if key.startswith(kind)} for kind in kinds
    )
    return app, user, {key: value for key, value in state.items() if not key.startswith(kinds)}


def _json(state: Values) -> Values:
    try:
        values: Values = to_jsonable_python(state)
    except PydanticSerializationError as error:
        raise ValidationError("state", f"is not JSON ({error}); use text, numbers, lists and mappings") from error
    return values

"""A session of the OpenAI Agents SDK on a memory: its items are the messages of one user's session.

In: the items of a run (messages, tool calls and their outputs, reasoning). Out: the same items, in order. They are
stored as ordinary turns, so they can be searched, recalled and summarised. Fields that Ricordo does not have are stored
in the metadata of the message, or as an adapter item if they are too large.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

from agents import RunContextWrapper, TResponseInputItem
from agents.memory import SessionSettings
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

from ricordo.contrib.agents_items import KeptItem, items_of, kept_as, turn_of
from ricordo.contrib.history import HistoryLock, lock_of
from ricordo.contrib.shared import ItemCollection, UserSource, body_of, check_user_source, owner_of, path, user_of
from ricordo.engine.core import new_id
from ricordo.errors import ConflictError, NotFoundError, ValidationError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.records.service import StoredItem
from ricordo.records.turns import DEFAULT_AGENT, Message, Owner, Turn, turn_id_of
from ricordo.session import Session
from ricordo.stores.service_protocols import ItemTransaction

COLLECTION = "openai.agents"
REPLACES = "openai.agents:replaces"  # the number of the turn that a turn was written in place of
ATTEMPTS = 8
OUTPUT = "_output"

T = TypeVar("T")
Wrapper: TypeAlias = RunContextWrapper[Any]


class RicordoSession:
    """The `Session` of one conversation. Thread-safe.

    `user_id` is an id, or a function that reads it from the context of the run (`lambda context: context.user`); then
    one object can serve many users, each with a conversation of this id, and a call without a run is refused.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        user_id: UserSource[Any],
        agent_id: str = DEFAULT_AGENT,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        check_user_source(user_id)
        self.session_id = check_id("session_id", session_id)
        self.session_settings = coerce_session_settings(session_settings or {})
        self._memory = memory
        self._user_source = user_id
        self._agent = agent_id
        self._items = ItemCollection(memory, COLLECTION)
        self._only: Session | None = None
        self._held: HistoryLock | None = None
        if not callable(user_id):
            self._only = memory.session(session_id, user_id=user_id, agent_id=agent_id)
            self._held = self._lock(self._only)

    async def get_items(self, limit: int | None = None, *, wrapper: Wrapper | None = None) -> list[TResponseInputItem]:
        """The latest items in order. An output is returned only together with its call."""
        most = resolve_session_limit(limit, self.session_settings)
        return await asyncio.to_thread(self._read, self._session(wrapper), most)

    async def add_items(self, items: list[TResponseInputItem], *, wrapper: Wrapper | None = None) -> None:
        """Store items; each is on disk when this returns. All are checked before one is written."""
        await _to_the_end(self._add, self._session(wrapper), items)

    async def pop_item(self, *, wrapper: Wrapper | None = None) -> TResponseInputItem | None:
        """Remove and return the latest item; None if there is none."""
        return await _to_the_end(self._pop, self._session(wrapper))

    async def clear_session(self, *, wrapper: Wrapper | None = None) -> None:
        """Remove all items; the session stays, with its title and tags."""
        await _to_the_end(self._clear, self._session(wrapper))

    def _session(self, wrapper: Wrapper | None) -> Session:
        if self._only is not None:
            return self._only
        user_id = _user(self._user_source, wrapper)
        return self._memory.session(self.session_id, user_id=user_id, agent_id=self._agent)

    def _read(self, session: Session, most: int | None) -> list[TResponseInputItem]:
        if most is not None and most <= 0:
            return []
        spilled = partial(self._spilled, session)
        items: list[TResponseInputItem] = []
        for message in _latest(session, most):
            items += items_of(message, spilled)
        return items if most is None else _with_their_calls(items[-most:])

    def _add(self, session: Session, items: Sequence[TResponseInputItem]) -> None:
        limits = self._memory.settings.limits
        others = [kept_as(item, limits) for item in items[1:]]
        history_lock = self._lock(session)
        with history_lock.lock:
            for item in items[:1]:  # `add_message` checks it; the others are checked already
                try:
                    session.add_message(**kept_as(item, limits, checked_later=True).fields)
                except ValidationError:
                    self._keep(session, kept_as(item, limits))
            for each in others:
                self._keep(session, each)

    def _keep(self, session: Session, kept: KeptItem) -> None:
        if kept.spilled is None:
            session.add_message(**kept.fields)
        else:
            self._spill(session, kept)

    def _spill(self, session: Session, kept: KeptItem) -> None:
        """Add an item that is too large: stored as an item first, which goes with its session, then its turn."""
        session.create()
        key, owner, place = str(uuid4()), self._owner(session), path(session.id)
        item = StoredItem(place, key, json.dumps(kept.spilled).encode(), session_id=session.id)
        self._items.write(owner, lambda items: items.put(item))
        message = session.add_message(**kept.fields | {"metadata": kept.pointing(key)})
        self._items.write(owner, lambda items: items.attach(place, key, turn_id_of(message.id)))

    def _pop(self, session: Session) -> TResponseInputItem | None:
        history_lock = self._lock(session)
        with history_lock.lock:
            for left in reversed(range(ATTEMPTS)):
                turns = session.history(2)
                shown = _shown(turns)
                if not shown:
                    return None
                newest = shown[-1]
                gone = newest.messages[-1]
                items = items_of(gone, lambda key: self._spilled(session, key))
                stale = [turn.turn_number for turn in turns if turn not in shown]
                try:
                    self._shorten(session, newest, stale)
                except ConflictError:  # another writer has added a message
                    if not left:
                        raise
                    continue
                self._forget(session, gone)
                item: TResponseInputItem = items[-1]
                return item
        return None

    def _shorten(self, session: Session, turn: Turn, stale: Sequence[int]) -> None:
        """Remove a turn's last message: write the rest as a turn that replaces it, then delete the old turn.

        If it is interrupted between the two, the session reads the same.
        """
        store, owner = self._memory.store, turn.owner
        left = turn.messages[:-1]
        if left:
            number = max(turn.turn_number, *stale, session.info().last_turn) + 1
            turn_id = new_id(self._memory.clock.now())
            store.turns.load(session.info(), [_turn_of(left, turn, number, turn_id)])
            for key in filter(None, map(KeptItem.pointer, left)):
                self._items.write(owner, partial(_attach, path(session.id), key, turn_id))
        store.turns.delete(owner, session.id, [turn.turn_number, *stale])

    def _clear(self, session: Session) -> None:
        history_lock = self._lock(session)
        with history_lock.lock:
            try:
                session.clear()
            except NotFoundError:
                return
            self._items.write(self._owner(session), lambda items: items.remove_under(path(session.id)))

    def _lock(self, session: Session) -> HistoryLock:
        """The lock that keeps items of one call together, for all objects of this process."""
        return self._held or lock_of(self._owner(session), session.id)

    def _owner(self, session: Session) -> Owner:
        return owner_of(self._memory, session.user_id)

    def _spilled(self, session: Session, key: str) -> Mapping[str, Any] | None:
        found = self._items.read(self._owner(session), lambda items: body_of(items, path(session.id), key))
        return None if found is None else json.loads(found)

    def _forget(self, session: Session, message: Message) -> None:
        key = KeptItem.pointer(message)
        if key is not None:
            self._items.write(self._owner(session), lambda items: items.remove(path(session.id), key))


async def _to_the_end(change: Callable[..., T], *given: Any) -> T:
    """Run a change in a worker thread; a cancellation is raised only after the change has ended."""
    changing = asyncio.ensure_future(asyncio.to_thread(change, *given))
    try:
        return await asyncio.shield(changing)
    except asyncio.CancelledError:
        await asyncio.wait([changing])
        raise


def _attach(place: str, key: str, turn_id: str, items: ItemTransaction) -> None:
    items.attach(place, key, turn_id)


def instructions(
    memory: Memory, base: str = "", *, user_id: UserSource[Any], agent_id: str = DEFAULT_AGENT
) -> Callable[[Wrapper, Any], Awaitable[str]]:
    """For `Agent(instructions=…)`: the base prompt with the safety rules and what is known of the user."""
    check_user_source(user_id)

    async def enhanced(wrapper: Wrapper, agent: Any) -> str:
        user = _user(user_id, wrapper)
        return await asyncio.to_thread(memory.enhance_prompt, base, user_id=user, agent_id=agent_id)

    return enhanced


def _user(source: UserSource[Any], wrapper: Wrapper | None) -> str:
    if not callable(source):
        return source
    if wrapper is None:
        raise ValidationError("user_id", "is read from the context of a run; this call has none")
    try:
        return user_of(source, wrapper.context)
    except AttributeError as error:
        raise ValidationError("user_id", f"the context of this run does not name it ({error})") from error


def _latest(session: Session, most: int | None) -> list[Message]:
    """The newest messages. Most turns have two or more, so half as many turns are read first."""
    wanted = None if most is None else (most + 1) // 2
    while True:
        turns = session.history(wanted)
        messages = [message for turn in _shown(turns) for message in turn.messages]
        if most is None or wanted is None:
            return messages
        if len(messages) >= most or len(turns) < wanted:
            return messages[-most:]
        wanted = most + 1 if wanted <= most else wanted * 2


def _shown(turns: Sequence[Turn]) -> list[Turn]:
    """The turns without those that a later turn replaces."""
    replaced = {turn.metadata[REPLACES] for turn in turns if REPLACES in turn.metadata}
    return [turn for turn in turns if turn.turn_number not in replaced] if replaced else list(turns)


def _turn_of(messages: Sequence[Message], old: Turn, number: int, turn_id: str) -> Turn:
    """The beginning of a turn as a turn of its own."""
    metadata = {**old.metadata, REPLACES: old.turn_number}
    empty = replace(old, id=turn_id, turn_number=number, question=None, answer=None, steps=(), metadata=metadata)
    return turn_of(messages, replace(empty, topic_id=None, block_id=None, archived=False))


def _with_their_calls(items: list[TResponseInputItem]) -> list[TResponseInputItem]:
    """The items without outputs whose call is missing, because models refuse these."""
    known: set[object] = set()
    whole: list[TResponseInputItem] = []
    for item in items:
        call, kind = item.get("call_id"), str(item.get("type", ""))
        if call is not None and kind.endswith(OUTPUT) and call not in known:
            continue
        known.add(call)
        whole.append(item)
    return whole

"""Conversations in OpenAI's format: a conversation is a session, and its items are the messages of the session's turns.

In: items (messages, tool calls and their outputs, anything else that is JSON). Out: the same items in order, each with
an id. They are stored as ordinary turns, so they are recalled, summarised and learned from; and turns that were
written in another way are items too. The id of an item contains that of its message, unless the client chose the id.
"""

import json
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ricordo.contrib.agents_items import KEY, WHOLE, KeptItem, items_of, kept_as, turn_of
from ricordo.contrib.shared import ItemCollection, body_of, path
from ricordo.errors import ValidationError
from ricordo.limits import is_id
from ricordo.records.service import StoredItem
from ricordo.records.turns import Message, Owner, SessionInfo, Turn, turn_id_of
from ricordo.server.openai_objects import as_list, check_pairs
from ricordo.server.problems import ObjectNotFound
from ricordo.server.sent_messages import CONVERSATION

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.stores.service_protocols import ItemTransaction

SPILLED = "openai.agents"  # collection of the items that are too large for a message
MOST_ITEMS = 20  # in one request
TURNS_READ = 50  # at once
PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}
TEXT_TYPES = {"assistant": "output_text"}  # of a role; else input_text
_LOCKS = tuple(threading.Lock() for _ in range(64))  # so that the items of one request are consecutive

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlacedItem:
    """An item, the turn that it is in, its message there, and its position among the items of the message."""

    value: dict[str, Any]
    turn: Turn
    message: Message
    position: int


class Conversations:
    """The conversations of one user. Thread-safe."""

    def __init__(self, memory: "Memory", owner: Owner) -> None:
        self._memory = memory
        self._owner = owner
        self._spill = ItemCollection(memory, SPILLED)

    def create(self, conversation_id: str, items: Sequence[Json], metadata: Json | None) -> dict[str, Any]:
        """A new conversation with its first items; a repeated request returns the existing one."""
        pairs = check_pairs(metadata)
        known = self._memory.store.sessions.get(self._owner, conversation_id)
        if known is not None:
            return shown_conversation(known)
        checked = self._checked(items)
        session = self._memory.session(conversation_id, user_id=self._owner.user_id)
        info = session.create(metadata={CONVERSATION: pairs})
        self._add(info, checked)
        return shown_conversation(info)

    def get(self, conversation_id: str) -> SessionInfo:
        """The session behind a conversation, or NotFoundError."""
        known = self._memory.store.sessions.get(self._owner, conversation_id) if is_id(conversation_id) else None
        if known is None:
            raise ObjectNotFound("conversation", f"there is no conversation {conversation_id!r} for this user")
        return known

    def update(self, conversation_id: str, metadata: Json | None) -> dict[str, Any]:
        info, pairs = self.get(conversation_id), check_pairs(metadata)
        session = self._memory.session(info.id, user_id=self._owner.user_id, agent_id=info.agent_id)
        return shown_conversation(session.update(metadata={**info.metadata, CONVERSATION: pairs}))

    def add(self, conversation_id: str, items: Sequence[Json]) -> dict[str, Any]:
        """Append items; all are checked before one is written."""
        info, checked = self.get(conversation_id), self._checked(items)
        added = self._add(info, checked)
        return as_list(added, has_more=False)

    def items(
        self, conversation_id: str, *, after: str | None = None, limit: int = 20, order: str = "desc"
    ) -> dict[str, Any]:
        """A page of the items; `after` is the id of the last item of the previous page."""
        info, forward = self.get(conversation_id), order == "asc"
        start = None if after is None else self._find(info, after, field="after")
        found: list[dict[str, Any]] = []
        passed = start is None
        for placed in self._walk(info.id, forward=forward, at=start.turn.turn_number if start else None):
            if passed:
                found.append(placed.value)
                if len(found) > limit:
                    return as_list(found[:limit], has_more=True)
            passed = passed or placed.value["id"] == after
        return as_list(found, has_more=False)

    def item(self, conversation_id: str, item_id: str) -> dict[str, Any]:
        return self._find(self.get(conversation_id), item_id).value

    def delete_item(self, conversation_id: str, item_id: str) -> dict[str, Any]:
        """Delete one item: its turn is written again without it. The other items keep their ids."""
        info = self.get(conversation_id)
        with self._lock(info.id):
            gone = self._find(info, item_id)
            turn, spilled = gone.turn, self._spilled_of(gone.turn)
            left = self._without(gone)
            again = [turn_of(left, replace(turn.as_new(), question=None, answer=None, steps=()))] if left else []
            self._memory.store.turns.delete(self._owner, info.id, [turn.turn_number])
            self._memory.store.turns.load(info, again)
            pointers = set(map(KeptItem.pointer, left))
            self._write([each for each in spilled if each.key in pointers])
        return shown_conversation(info)

    def _checked(self, items: Sequence[Json]) -> list[KeptItem]:
        if len(items) > MOST_ITEMS:
            raise ValidationError("items", f"has {len(items)} items; at most {MOST_ITEMS} are taken at once")
        checked = []
        for at, item in enumerate(items):
            if "role" not in item and not isinstance(item.get("type"), str):
                raise ValidationError(f"items.{at}.type", "an item has a type, or it is a message with a role")
            if "id" in item and not is_id(item["id"]):
                raise ValidationError(f"items.{at}.id", "must be a text")
            checked.append(kept_as(plain_item(item), self._memory.settings.limits))
        return checked

    def _add(self, info: SessionInfo, items: Sequence[KeptItem]) -> list[dict[str, Any]]:
        session = self._memory.session(info.id, user_id=self._owner.user_id, agent_id=info.agent_id)
        added: list[dict[str, Any]] = []
        with self._lock(info.id):
            for kept in items:
                if kept.spilled is None:
                    message = self._answered_already(info.id, kept) or session.add_message(**kept.fields)
                else:
                    body = json.dumps(kept.spilled).encode()
                    item = StoredItem(path(info.id), str(uuid4()), body, session_id=info.id)
                    self._write([item])
                    message = session.add_message(**kept.fields | {"metadata": KeptItem.pointing(item.key)})
                    self._write([replace(item, turn_id=turn_id_of(message.id))])
                added += self._items(message, info.id)
        return added

    def _answered_already(self, session_id: str, kept: KeptItem) -> Message | None:
        """The newest answer, if the client adds the same text: then it was generated here and is stored already."""
        if kept.fields["role"] != "assistant" or kept.fields.get("tool_calls"):
            return None
        newest = next(iter(self._memory.store.turns.page(self._owner, session_id, last=1)), None)
        given_here = newest is not None and "answerer" in newest.metadata
        return newest.answer if newest and given_here and newest.response == kept.fields["content"] else None

    def _walk(self, session_id: str, *, forward: bool, at: int | None) -> Iterator[PlacedItem]:
        """The items from a turn on, in either direction; turns are read in pages."""
        store, edge, last = self._memory.store.turns, at, self.get(session_id).last_turn
        while True:
            if forward:
                first = 0 if edge is None else edge - 1
                turns = list(store.page(self._owner, session_id, after=first, before=first + TURNS_READ + 1))
                edge = first + TURNS_READ + 1
            else:
                before = None if edge is None else edge + 1
                turns = list(reversed(store.page(self._owner, session_id, last=TURNS_READ, before=before)))
                edge = turns[-1].turn_number - 1 if turns else 0
            for turn in turns:
                placed = [
                    PlacedItem(value, turn, message, position)
                    for message in turn.messages
                    for position, value in enumerate(self._items(message, session_id))
                ]
                yield from placed if forward else reversed(placed)
            if (forward and edge > last) or (not forward and len(turns) < TURNS_READ):
                return

    def _find(self, info: SessionInfo, item_id: str, field: str = "") -> PlacedItem:
        """The item of an id: in the turn that the id names, or else anywhere in the conversation."""
        named = turn_of_item(item_id)
        turn = self._memory.store.turns.get(self._owner, named) if named else None
        at = turn.turn_number if turn and turn.session_id == info.id else None
        for placed in self._walk(info.id, forward=False, at=at):
            if placed.value["id"] == item_id:
                return placed
        if field:
            raise ValidationError(field, f"no item of this conversation has the id {item_id!r}")
        raise ObjectNotFound("item_id", f"there is no item {item_id!r} in this conversation")

    def _items(self, message: Message, session_id: str) -> list[dict[str, Any]]:
        found = items_of(message, lambda key: self._spilled(session_id, key))
        return [shown_item(item, message.id, position) for position, item in enumerate(found)]

    def _spilled(self, session_id: str, key: str) -> Json | None:
        found = self._spill.read(self._owner, lambda items: body_of(items, path(session_id), key))
        return None if found is None else json.loads(found)

    def _spilled_of(self, turn: Turn) -> list[StoredItem]:
        keys = [(path(turn.session_id), key) for key in map(KeptItem.pointer, turn.messages) if key]
        return self._spill.read(self._owner, lambda items: items.get_all(keys)) if keys else []

    def _write(self, items: Sequence[StoredItem]) -> None:
        for item in items:
            self._spill.write(self._owner, partial(_put, item))

    def _without(self, gone: PlacedItem) -> list[Message]:
        """The messages of a turn without one item.

        Steps after a removed step get other numbers; an item that is alone in its step keeps its id.
        """
        left: list[Message] = []
        moves = False
        for message in gone.turn.messages:
            if message is gone.message:
                rest = _shrunk(message, gone.position, len(self._items(message, gone.turn.session_id)))
                moves = rest is None and message in gone.turn.steps
                left += [rest] if rest else []
            elif moves and message in gone.turn.steps and not KeptItem.pointer(message):
                items = self._items(message, gone.turn.session_id)
                note = {KEY: {WHOLE: items[0]}} if len(items) == 1 else {}
                left.append(replace(message, metadata={**message.metadata, **note}))
            else:
                left.append(message)
        return left

    def _lock(self, session_id: str) -> threading.Lock:
        return _LOCKS[hash((self._owner, session_id)) % len(_LOCKS)]


def shown_conversation(info: SessionInfo) -> dict[str, Any]:
    metadata = info.metadata.get(CONVERSATION)
    return {
        "id": info.id,
        "object": "conversation",
        "created_at": int(info.created_at.timestamp()),
        "metadata": dict(metadata) if isinstance(metadata, Mapping) else {},
    }


def plain_item(item: Json) -> dict[str, Any]:
    """An item as it is stored. Of a message with one text only role and text are kept."""
    parts = item.get("content")
    if item.get("type", "message") != "message" or not isinstance(parts, list) or len(parts) != 1:
        return {key: value for key, value in item.items() if not (key == "type" and value == "message")}
    part, role = parts[0], str(item.get("role"))
    own = {key: value for key, value in item.items() if key not in ("type", "status")}
    extra = set(part) - {"type", "text", "annotations", "logprobs"} if isinstance(part, Mapping) else {"part"}
    plain = not extra and part.get("type") == text_type(role) and isinstance(part.get("text"), str)
    if not plain or part.get("annotations") or part.get("logprobs"):
        return own | ({"status": item["status"]} if "status" in item else {})
    return own | {"content": part["text"]}


def shown_item(item: Json, stored_in: str, position: int = 0) -> dict[str, Any]:
    """An item as clients get it: with its id, its status, and the content of a message in parts."""
    kind = str(item.get("type") or "message")
    value = {"id": item_id_of(stored_in, position, kind), "type": kind, **item}
    if kind == "message":
        role, content = str(item.get("role")), item.get("content")
        value["content"] = content if isinstance(content, list) else [text_part(role, str(content or ""))]
    if kind in ("message", "function_call", "function_call_output"):
        value["status"] = item.get("status") or "completed"
    return value


def text_type(role: str) -> str:
    return TEXT_TYPES.get(role, "input_text")


def text_part(role: str, text: str) -> dict[str, Any]:
    more: dict[str, Any] = {"annotations": [], "logprobs": []} if role in TEXT_TYPES else {}
    return {"type": text_type(role), "text": text, **more}


def item_id_of(stored_in: str, position: int = 0, kind: str = "message") -> str:
    """The id of an item, from the id of its message."""
    name = urlsafe_b64encode(f"{position}/{stored_in}".encode()).decode().rstrip("=")
    return f"{PREFIXES.get(kind, 'item')}_{name}"


def turn_of_item(item_id: str) -> str | None:
    """The turn that the id of an item names; None if the client chose the id."""
    name = item_id.partition("_")[2]
    try:
        stored_in = urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode().partition("/")[2]
    except ValueError:
        return None
    named = turn_id_of(stored_in)
    return named if is_id(named) else None


def _shrunk(message: Message, position: int, items: int) -> Message | None:
    """A message without one of its items; None if it has no other."""
    if items == 1:
        return None
    words = items - len(message.tool_calls)  # 1 if there is text before the calls
    if position < words:
        return replace(message, content="")
    calls = tuple(call for at, call in enumerate(message.tool_calls) if at != position - words)
    return replace(message, tool_calls=calls)


def _put(item: StoredItem, items: "ItemTransaction") -> None:
    items.put(item)

"""What adapters share: tool calls and times in the form that is stored, the user of a call, items, async methods.

Tool calls are stored in the form of the chat API. An async method is its sync one in a worker thread.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from ricordo.errors import ValidationError
from ricordo.limits import check_id
from ricordo.records.turns import Owner, SessionInfo
from ricordo.stores.items import PART_END
from ricordo.stores.service_protocols import ItemTransaction

if TYPE_CHECKING:
    from ricordo.memory import Memory


def openai_call(name: str, arguments: Any, call_id: str | None) -> dict[str, Any]:
    """A tool call in the form of chat APIs."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": call_id or "", "type": "function", "function": {"name": name, "arguments": text}}


def openai_calls(given: object) -> tuple[dict[str, Any], ...]:
    """Those of the given tool calls that have the form of chat APIs already."""
    calls = given if isinstance(given, list) else []
    return tuple(
        dict(call) for call in calls if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping)
    )


def call_of(call: Mapping[str, Any]) -> tuple[str, dict[str, Any], str | None]:
    """Name, arguments and id of a stored call; arguments that are not a mapping are put under `input`."""
    function = call.get("function", call)
    arguments = function.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            arguments = {"input": arguments}
    mapping = dict(arguments) if isinstance(arguments, Mapping) else {"input": arguments}
    return str(function.get("name", "")), mapping, call.get("id") or None


def moment_of(given: object) -> datetime | None:
    """An aware time, from a datetime, ISO text or seconds since 1970; None for anything else."""
    try:
        if isinstance(given, str):
            given = datetime.fromisoformat(given)
        elif isinstance(given, int | float) and not isinstance(given, bool):
            given = datetime.fromtimestamp(given, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return given if isinstance(given, datetime) and given.utcoffset() is not None else None


def paired(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages without unanswered tool calls and without results of no call, which chat APIs refuse.

    They come from turns that were interrupted between a call and its result.
    """
    kept: list[Mapping[str, Any]] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        end = position + 1
        while end < len(messages) and messages[end]["role"] == "tool":
            end += 1
        called = [call.get("id") for call in message.get("tool_calls", ())]
        answers = messages[position + 1 : end]
        if called:
            answered = {each.get("tool_call_id") for each in answers}
            if set(called) <= answered:
                kept += [message, *(each for each in answers if each.get("tool_call_id") in called)]
        elif message["role"] != "tool":
            kept.append(message)
        position = end
    return kept


PAGE = 100  # sessions listed at once

G = TypeVar("G")

UserSource = str | Callable[[G], str]


def check_user_source(source: object) -> None:
    """Raise ValidationError for an id that is not valid; a function is checked when it is called."""
    if not callable(source):
        check_id("user_id", source)


def user_of(source: UserSource[G], given: G) -> str:
    """The id of the user of a call; `given` is what the library passes along."""
    if not callable(source):
        return source
    try:
        found = source(given)
    except (KeyError, IndexError, TypeError) as error:
        raise ValidationError("user_id", f"this call does not name its user ({error!r})") from error
    return check_id("user_id", found)


def owner_of(memory: "Memory", user_id: str) -> Owner:
    """The owner with this user id in a memory's tenant."""
    return _owner(memory.settings.tenant_id, check_id("user_id", user_id))


@lru_cache(maxsize=1_024)
def _owner(tenant_id: str, user_id: str) -> Owner:
    """Cached, because deriving the owner's key takes time."""
    owner = Owner(tenant_id, user_id)
    if owner.is_reserved:
        raise ValidationError("user_id", f"{user_id!r} has a reserved prefix; choose another")
    return owner


def sessions_of(memory: "Memory", user_id: str, agent_id: str | None = None) -> list[SessionInfo]:
    """All sessions of a user, most recent first."""
    found = memory.sessions(user_id=user_id, agent_id=agent_id, limit=PAGE)
    page: list[SessionInfo] = found
    while len(page) == PAGE:
        page = memory.sessions(user_id=user_id, agent_id=agent_id, limit=PAGE, before=page[-1])
        found += page
    return found


T = TypeVar("T")
P = ParamSpec("P")


def awaited(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The async form of a method."""

    @wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self, *args, **kwargs)

    return call


class ItemCollection:
    """One collection of items in the store of a memory. Thread-safe."""

    def __init__(self, memory: "Memory", name: str) -> None:
        self._memory = memory
        self._name = name

    def read(self, owner: Owner, work: Callable[[ItemTransaction], T]) -> T:
        """The result of `work`, which reads one snapshot."""
        return self._memory.store.items.read(owner, self._name, self._memory.clock.now(), work)

    def write(self, owner: Owner, work: Callable[[ItemTransaction], T]) -> T:
        """Run `work` in one transaction: all of it is written, or nothing."""
        return self._memory.store.items.write(owner, self._name, self._memory.clock.now(), work)

    def exclusive(self, owner: Owner, work: Callable[[ItemTransaction], T]) -> T:
        """Run `work`, which reads items and may write to the memory, while no other such work of the owner runs."""
        return self._memory.store.items.exclusive(owner, self._name, self._memory.clock.now(), work)

    def sweep(self, owner: Owner) -> int:
        """Delete the owner's expired items, of every collection; returns how many."""
        return self._memory.store.items.sweep(owner, self._memory.clock.now())


def body_of(items: ItemTransaction, place: str, key: str) -> bytes | None:
    item = items.get(place, key)
    return item.body if item else None


def path(*parts: str) -> str:
    """Parts as a place. No part may contain the character that ends it."""
    for part in parts:
        if PART_END in part or "\x00" in part:
            raise ValidationError("place", f"{part!r} holds a control character; leave it out")
    return "".join(f"{part}{PART_END}" for part in parts)


def parts(place: str) -> tuple[str, ...]:
    return tuple(place.split(PART_END)[:-1])

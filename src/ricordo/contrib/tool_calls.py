"""Tool calls and times in the many spellings of other libraries, as Ricordo keeps them: the chat protocol's own."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar

from ricordo.errors import ValidationError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.records.turns import Owner


def openai_call(name: str, arguments: Any, call_id: str | None) -> dict[str, Any]:
    """A tool call as chat APIs take it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": call_id or "", "type": "function", "function": {"name": name, "arguments": text}}


def openai_calls(given: object) -> tuple[dict[str, Any], ...]:
    """Tool calls that are in that shape already; anything else is left to whoever keeps it beside."""
    calls = given if isinstance(given, list) else []
    return tuple(
        dict(call) for call in calls if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping)
    )


def call_of(call: Mapping[str, Any]) -> tuple[str, dict[str, Any], str | None]:
    """Name, arguments and id of a stored call; arguments that are no mapping stand under `input`."""
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
    """A time as libraries write it: aware, ISO text, or seconds since 1970; None for anything else."""
    try:
        if isinstance(given, str):
            given = datetime.fromisoformat(given)
        elif isinstance(given, int | float) and not isinstance(given, bool):
            given = datetime.fromtimestamp(given, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return given if isinstance(given, datetime) and given.utcoffset() is not None else None


def paired(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Messages of a chat without calls that were never answered and answers to no call: APIs refuse both.

    A turn that broke off between the two is the only place where they come from.
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


# Whose memory a call is about: an id, or a function that reads it from what the library passes along.

G = TypeVar("G")

Whose = str | Callable[[G], str]


def check_whose(whose: object) -> None:
    """Refuse what can name nobody, before anything is opened."""
    if not callable(whose):
        check_id("user_id", whose)


def user_of(whose: Whose[G], given: G) -> str:
    """The id of the user that a call is for."""
    if not callable(whose):
        return whose
    try:
        found = whose(given)
    except (KeyError, IndexError, TypeError) as error:
        raise ValidationError("user_id", f"this call does not say whose memory it is about ({error!r})") from error
    return check_id("user_id", found)


def owner_of(memory: Memory, user_id: str) -> Owner:
    """The owner of that id in a memory's tenant."""
    return _owner(memory.settings.tenant_id, check_id("user_id", user_id))


@lru_cache(maxsize=1_024)
def _owner(tenant_id: str, user_id: str) -> Owner:
    """Kept for a while, because its key is derived at some cost."""
    owner = Owner(tenant_id, user_id)
    if owner.is_reserved:
        raise ValidationError("user_id", f"{user_id!r} begins like a name that is not for users; choose another")
    return owner

"""Converts tool calls and times of other libraries to the form that Ricordo stores, which is the chat API's."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any


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

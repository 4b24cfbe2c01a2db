"""Token counts for session documents, so that what is brought in is not counted again with every window. Pure.

In: a document of any origin and the counter of a memory. Out: the document with that counter's numbers. What is not
shaped like a turn passes as it is: whoever reads the document refuses it by the name of its field.
"""

from collections.abc import Mapping
from typing import Any

from ricordo.ports import TokenCounter
from ricordo.tokens import content_tokens

SPOKEN = ("question", "answer")


def counted(document: Mapping[str, Any], counter: TokenCounter) -> Mapping[str, Any]:
    """The document with every turn counted; one that says it was counted so already is believed later, or not."""
    turns = document.get("turns")
    if not isinstance(turns, list):
        return document
    return {**document, "turns": [_turn(turn, counter) for turn in turns]}


def _turn(turn: Any, counter: TokenCounter) -> Any:
    if not isinstance(turn, Mapping) or turn.get("counter") == counter.name:
        return turn
    try:
        said = {key: _message(turn[key], counter) for key in SPOKEN if turn.get(key)}
        steps = [_message(step, counter) for step in turn.get("steps") or ()]
    except (TypeError, ValueError, AttributeError, KeyError, RecursionError):
        return turn
    return {**turn, **said, **({"steps": steps} if steps else {}), "counter": counter.name}


def _message(message: Mapping[str, Any], counter: TokenCounter) -> dict[str, Any]:
    calls, name = message.get("tool_calls", ()), message.get("name")
    return {**message, "tokens": content_tokens(message["content"], calls, counter, name)}

"""Converts messages of Pydantic AI to turns, and a context to messages of Pydantic AI. Pure functions.

In: model messages and their parts. Out: the steps of a turn, with tool calls and times; the newest whole turns; the
composed context before the messages of the current run.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.messages import (
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from ricordo.contrib.shared import paired
from ricordo.prompt.context import Context

Step = Mapping[str, Any]
_anything = TypeAdapter(Any)


def asked_text(prompt: Any) -> str:
    """The text of a prompt; other parts are named in brackets."""
    if prompt is None or isinstance(prompt, str):
        return (prompt or "").strip() and str(prompt)
    words = [part if isinstance(part, str) else str(getattr(part, "content", f"({_kind(part)})")) for part in prompt]
    return "\n".join(word for word in words if word.strip())


def answer_text(output: Any) -> str:
    """An output as text; anything else as JSON."""
    text = output if isinstance(output, str) else _anything.dump_json(output, fallback=str).decode()
    return text if text.strip() else ""


def steps_of(messages: Sequence[ModelMessage]) -> list[Step]:
    """The steps of a run between question and answer, as arguments of `add_message`."""
    steps: list[Step] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [_call(part) for part in message.parts if isinstance(part, ToolCallPart)]
            if calls:
                words = "\n".join(part.content for part in message.parts if isinstance(part, TextPart))
                content = words if words.strip() else ""
                steps.append(
                    {"role": "assistant", "content": content, "tool_calls": calls, "created_at": message.timestamp}
                )
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart) or (isinstance(part, RetryPromptPart) and part.tool_name):
                words = _returned(part)
                steps.append({"role": "tool", "content": words if words.strip() else "(no output)",
                              "tool_call_id": part.tool_call_id, "created_at": part.timestamp})  # fmt: skip
    return steps


def composed(context: Context, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The context, then this run's messages after the question; the agent's own system prompts stay."""
    start = _newest_question(messages)
    if start is None:
        return list(messages)
    current, after = messages[start], messages[start + 1 :]
    own = [part for message in messages for part in message.parts if isinstance(part, SystemPromptPart)]
    paired_messages = list(paired(context.messages))
    system = [
        SystemPromptPart(str(each["content"]))
        for each in paired_messages
        if each["role"] == "system" and each["content"]
    ]
    assert isinstance(current, ModelRequest)
    question = (
        paired_messages.pop()["content"] if paired_messages and paired_messages[-1]["role"] == "user" else None
    )  # it may not fit
    past = [_message(each) for each in paired_messages if each["role"] != "system"]
    asking = _asking(current, None if question is None else str(question))
    if past and isinstance(past[0], ModelRequest):
        past[0] = replace(past[0], parts=[*own, *system, *past[0].parts])
    elif past:
        past = [ModelRequest(parts=[*own, *system]), *past] if own or system else past
    else:
        asking = replace(asking, parts=[*own, *system, *asking.parts])
    return [*past, asking, *after]


def last_turns(messages: Sequence[ModelMessage], limit: int, count: Callable[[str], int]) -> list[ModelMessage]:
    """The newest whole turns within the tokens, at least one, with the system prompt of the dropped ones."""
    starts = [position for position, message in enumerate(messages) if _asks(message)]
    if not starts:
        return list(messages)
    own = [part for message in messages for part in message.parts if isinstance(part, SystemPromptPart)]
    room = limit - sum(count(part.content) for part in own)
    first, end = starts[-1], len(messages)
    for start in reversed(starts):
        room -= sum(count(_words(message)) for message in messages[start:end])
        if room < 0 and start != starts[-1]:
            break
        first, end = start, start
    if first == starts[0]:
        return list(messages)
    head = messages[first]
    assert isinstance(head, ModelRequest)
    parts = [part for part in head.parts if not isinstance(part, SystemPromptPart)]
    return [replace(head, parts=[*own, *parts]), *messages[first + 1 :]]


def _asks(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts)


def _newest_question(messages: Sequence[ModelMessage]) -> int | None:
    return next((position for position in reversed(range(len(messages))) if _asks(messages[position])), None)


def _asking(current: ModelRequest, text: str | None) -> ModelRequest:
    """The request with the composed question; images and files stay, its own system prompt is moved before it."""
    parts: list[Any] = []
    for part in current.parts:
        if isinstance(part, UserPromptPart) and text is not None:
            others = [] if isinstance(part.content, str) else [each for each in part.content if not _is_text(each)]
            parts.append(replace(part, content=[text, *others] if others else text))
        elif not isinstance(part, SystemPromptPart):
            parts.append(part)
    return replace(current, parts=parts)


def _message(said: Mapping[str, Any]) -> ModelMessage:
    if said["role"] == "user":
        return ModelRequest(parts=[UserPromptPart(str(said["content"]))])
    if said["role"] == "tool":
        name, call = str(said.get("name") or "tool"), str(said.get("tool_call_id"))
        return ModelRequest(parts=[ToolReturnPart(name, said["content"], tool_call_id=call)])
    words = [TextPart(str(said["content"]))] if said.get("content") else []
    functions = [(call.get("id"), call.get("function", {})) for call in said.get("tool_calls", ())]
    calls = [ToolCallPart(each.get("name", ""), each.get("arguments"), tool_call_id=str(of)) for of, each in functions]
    return ModelResponse(parts=[*words, *calls])


def _call(part: ToolCallPart) -> dict[str, Any]:
    function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
    return {"id": part.tool_call_id, "type": "function", "function": function}


def _returned(part: ToolReturnPart | RetryPromptPart) -> str:
    return part.model_response_str() if isinstance(part, ToolReturnPart) else part.model_response()


def _words(message: ModelMessage) -> str:
    """The tokens of a message: text, calls with their arguments, results."""
    texts = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            texts.append(json.dumps([part.tool_name, part.args_as_json_str()]))
        elif isinstance(part, ToolReturnPart | RetryPromptPart):
            texts.append(_returned(part))
        elif not isinstance(part, SystemPromptPart):
            content = getattr(part, "content", "")
            texts.append(content if isinstance(content, str) else asked_text(content))
    return "\n".join(texts)


def _is_text(part: Any) -> bool:
    return isinstance(part, str) or _kind(part) == "text-content"


def _kind(part: Any) -> str:
    return str(getattr(part, "kind", type(part).__name__))

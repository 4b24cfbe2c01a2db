"""The Responses API of OpenAI in terms of chat completions: requests in, response objects and stream events out.

Everything here is a pure conversion. Input items become messages of the chat protocol, an answer becomes a response
with its output items, and the events of a running answer become those that OpenAI's clients expect, in their order.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from zlib import compress, decompressobj
from zlib import error as ZlibError  # noqa: N812 - a class

from ricordo.errors import ValidationError
from ricordo.records.turns import Message, Owner, Turn, message_id
from ricordo.server.openai_conversations import item_id_of, shown_item, text_part
from ricordo.server.problems import openai_error
from ricordo.server.sent_messages import text_of
from ricordo.server.streams import AnswerStream

HOSTED = ("prompt", "moderation")  # fields that only OpenAI's own servers support
MOST_SUMMARY = 1 << 20  # bytes of a summary that a client sends back
_PASSED = {"temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_tokens", "seed": "seed"}
_PARTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "text"}
_STATUS = {"length": "max_output_tokens", "content_filter": "content_filter"}  # why a response is incomplete

Json = Mapping[str, Any]


def messages_of(items: Sequence[Json], field: str = "input") -> list[dict[str, Any]]:
    """Items as messages of the chat protocol; calls that follow each other are one message."""
    messages: list[dict[str, Any]] = []
    for at, item in enumerate(items):
        kind = item.get("type") or ("message" if "role" in item else None)
        if kind == "message":
            role, content = item.get("role"), item.get("content")
            if role not in ("user", "assistant", "system", "developer"):
                raise ValidationError(f"{field}.{at}.role", "expected user, assistant, system or developer")
            messages.append({"role": role, "content": _content(content, f"{field}.{at}.content")})
        elif kind == "function_call":
            function = {"name": str(item.get("name")), "arguments": str(item.get("arguments") or "{}")}
            call = {"id": str(item.get("call_id")), "type": "function", "function": function}
            if messages and messages[-1].get("tool_calls"):
                messages[-1]["tool_calls"].append(call)
            else:
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif kind == "function_call_output":
            output = item.get("output")
            words = output if isinstance(output, str) else _content(output, f"{field}.{at}.output")
            messages.append({"role": "tool", "tool_call_id": str(item.get("call_id")), "content": words})
        elif kind == "compaction":
            messages.append({"role": "assistant", "content": unsealed(item, f"{field}.{at}.encrypted_content")})
        elif kind != "reasoning":  # only of use for the model that wrote it
            raise ValidationError(f"{field}.{at}.type", f"{kind!r} is not supported; send messages and function calls")
    return messages


def _content(content: object, field: str) -> Any:
    """The content of a message: a string if it is only text, which every server understands; else parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, Mapping) for part in content):
        raise ValidationError(field, "must be a text or a list of parts")
    parts = [_part(part, f"{field}.{at}") for at, part in enumerate(content)]
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _part(part: Json, field: str) -> dict[str, Any]:
    kind = part.get("type")
    if kind in _PARTS:
        return {"type": "text", "text": str(part.get("text") or part.get("refusal") or "")}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        detail = {"detail": part["detail"]} if part.get("detail") else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
    if kind == "input_file":
        file = {key: part[key] for key in ("file_data", "file_id", "filename") if part.get(key)}
        return {"type": "file", "file": file}
    if kind == "input_audio":
        return {"type": "input_audio", "input_audio": part.get("input_audio")}
    raise ValidationError(f"{field}.type", f"a part of the type {kind!r} is not supported")


def options_of(body: Json) -> dict[str, Any]:
    """The options of a request as those of the chat protocol; ValidationError for those that only OpenAI supports."""
    for name in HOSTED:
        if body.get(name) is not None:
            raise ValidationError(name, "is kept on OpenAI's own servers; send the text itself")
    options = {theirs: body[ours] for ours, theirs in _PASSED.items() if body.get(ours) is not None}
    text = body.get("text") or {}
    wanted = text.get("format") or {"type": "text"}
    if not isinstance(wanted, Mapping):
        raise ValidationError("text.format", "must be an object with a type")
    if wanted.get("type") != "text":
        named = {key: value for key, value in wanted.items() if key != "type"}
        shape = {"json_schema": named} if wanted.get("type") == "json_schema" else {}
        options["response_format"] = {"type": wanted.get("type"), **shape}
    if text.get("verbosity"):
        options["verbosity"] = text["verbosity"]
    if (effort := (body.get("reasoning") or {}).get("effort")) is not None:
        options["reasoning_effort"] = effort
    if body.get("tools"):
        options["tools"] = [_tool(tool, at) for at, tool in enumerate(body["tools"])]
        if body.get("parallel_tool_calls") is not None:
            options["parallel_tool_calls"] = body["parallel_tool_calls"]
        if (choice := body.get("tool_choice")) is not None:
            options["tool_choice"] = _tool_choice(choice)
    return options


def _tool(tool: Json, at: int) -> dict[str, Any]:
    if tool.get("type") != "function" or not isinstance(tool.get("name"), str):
        raise ValidationError(f"tools.{at}.type", f"{tool.get('type')!r} is not supported; use function tools")
    known = ("name", "description", "parameters", "strict")
    return {"type": "function", "function": {key: tool[key] for key in known if tool.get(key) is not None}}


def _tool_choice(choice: object) -> Any:
    if isinstance(choice, str):
        return choice
    if isinstance(choice, Mapping) and choice.get("type") == "function" and "name" in choice:
        return {"type": "function", "function": {"name": choice["name"]}}
    raise ValidationError("tool_choice", "expected none, auto, required or one function")


def response_head(response_id: str, created_at: int, model: str, body: Json) -> dict[str, Any]:
    """A response without output yet, with the options of its request."""
    named = body.get("conversation")
    conversation = {"id": named["id"] if isinstance(named, Mapping) else named} if named else None
    return {
        "id": response_id,
        "object": "response",
        "created_at": created_at,
        "status": "in_progress",
        "background": bool(body.get("background")),
        "conversation": conversation,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": dict(body.get("metadata") or {}),
        "model": model,
        "output": [],
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": (body.get("reasoning") or {}).get("effort"), "summary": None},
        "store": body.get("store") is not False,
        "temperature": body.get("temperature"),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": [{"strict": None, "parameters": None, **tool} for tool in body.get("tools") or ()],
        "top_p": body.get("top_p"),
        "truncation": "auto",
        "usage": None,
    }


def completed(head: Json, answer: Json) -> dict[str, Any]:
    """The response with its answer, which is the JSON of a chat's response."""
    known = answer["metadata"]
    reason = _STATUS.get(known["finish_reason"])
    status = "incomplete" if reason else "completed"
    if known.get("stopped"):
        status = "cancelled"
    stored_in = known["message_id"]
    words = [_message_item(stored_in, answer["message"], status)] if answer["message"] else []
    calls = [_call_item(stored_in, at + len(words), call) for at, call in enumerate(known["tool_calls"])]
    return {
        **head,
        "status": status,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": [*words, *calls],
        "usage": usage_of(known["tokens"]["prompt"], known["tokens"]["completion"]),
    }


def usage_of(prompt: int, completion: int) -> dict[str, Any]:
    """The token usage of a response."""
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + completion,
    }


def failed(head: Json, problem: dict[str, Any], status: str = "failed") -> dict[str, Any]:
    """The response whose model did not answer."""
    error = openai_error(problem)["error"]
    return {**head, "status": status, "error": {"code": "server_error", "message": error["message"]}}


def _message_item(stored_in: str, text: str, status: str = "completed") -> dict[str, Any]:
    item = {"type": "message", "role": "assistant", "content": [text_part("assistant", text)]}
    return shown_item(item, stored_in) | {"status": "incomplete" if status != "completed" else status}


def _call_item(stored_in: str, position: int, call: Json) -> dict[str, Any]:
    function = call.get("function") or {}
    named = {"call_id": call.get("id"), "name": function.get("name"), "arguments": function.get("arguments")}
    return shown_item({"type": "function_call", **named}, stored_in, position)


def sealed(summary: str, item_id: str) -> dict[str, Any]:
    """The item with the summary of a condensed conversation; clients send it back unchanged."""
    body = urlsafe_b64encode(compress(summary.encode("utf-8", "replace"))).decode()
    return {"type": "compaction", "id": item_id, "encrypted_content": body}


def unsealed(item: Json, field: str) -> str:
    """The summary in such an item."""
    try:
        unpacked = decompressobj().decompress(urlsafe_b64decode(str(item.get("encrypted_content"))), MOST_SUMMARY)
        return unpacked.decode()
    except (ValueError, ZlibError) as error:
        raise ValidationError(field, "was not made by this server") from error


def turns_of(messages: Sequence[Json], owner: Owner, moment: datetime) -> list[Turn]:
    """Messages of user and assistant as turns with one message each, to be summarised."""
    turns: list[Turn] = []
    for at, each in enumerate(messages, 1):
        role, text = each["role"], text_of(each).strip()
        if text and (role == "user" or role == "assistant"):
            said = Message(message_id(str(at), role), role, text, moment)
            asked, answer = (said, None) if role == "user" else (None, said)
            turns.append(Turn(str(at), owner, "", "", at, moment, asked, answer))
    return turns


def said_in(turn: Turn) -> list[dict[str, Any]]:
    """The messages of an open turn in the chat protocol."""
    said: list[dict[str, Any]] = [{"role": "user", "content": turn.query}]
    for step in turn.steps:
        if step.role == "tool":
            said.append({"role": "tool", "tool_call_id": step.tool_call_id, "content": step.content})
        elif step.tool_calls:
            calls = [dict(call) for call in step.tool_calls]
            said.append({"role": "assistant", "content": step.content or None, "tool_calls": calls})
    return said


class EventWriter:
    """Writes the events of one response, numbered from 0; those up to `after` are left out."""

    def __init__(self, after: int = -1) -> None:
        self._next = 0
        self._after = after

    def write(self, kind: str, **fields: Any) -> str:
        """One event as text; empty if it is left out."""
        number, self._next = self._next, self._next + 1
        if number <= self._after:
            return ""
        data = {"type": kind, "sequence_number": number, **fields}
        return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

    def begin(self, head: Json) -> list[str]:
        """The events before any output."""
        return [self.write(f"response.{kind}", response=head) for kind in ("created", "in_progress")]

    def begin_text(self, item_id: str) -> list[str]:
        """The events before the first text."""
        item = {"id": item_id, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        at = {"item_id": item_id, "output_index": 0, "content_index": 0}
        return [
            self.write("response.output_item.added", output_index=0, item=item),
            self.write("response.content_part.added", part=text_part("assistant", ""), **at),
        ]

    def delta(self, item_id: str, text: str) -> str:
        at = {"item_id": item_id, "output_index": 0, "content_index": 0}
        return self.write("response.output_text.delta", delta=text, logprobs=[], **at)

    def end_output(self, response: Json) -> list[str]:
        """The events that end the text, and those of tool calls."""
        events: list[str] = []
        for index, item in enumerate(response["output"]):
            if item["type"] == "message":
                at = {"item_id": item["id"], "output_index": index, "content_index": 0}
                part = item["content"][0]
                events.append(self.write("response.output_text.done", text=part["text"], logprobs=[], **at))
                events.append(self.write("response.content_part.done", part=part, **at))
            else:
                at = {"item_id": item["id"], "output_index": index}
                begun = {**item, "arguments": "", "status": "in_progress"}
                said = item["arguments"] or ""
                events.append(self.write("response.output_item.added", output_index=index, item=begun))
                events.append(self.write("response.function_call_arguments.delta", delta=said, **at))
                events.append(
                    self.write("response.function_call_arguments.done", arguments=said, name=item["name"], **at)
                )
            events.append(self.write("response.output_item.done", output_index=index, item=item))
        return events

    def end(self, response: Json) -> str:
        status = response["status"]
        kind = status if status in ("failed", "incomplete") else "completed"
        return self.write(f"response.{kind}", response=response)


async def live_events(head: Json, turn_id: str, answer: AnswerStream, after: int = -1) -> AsyncIterator[str]:
    writer = EventWriter(after)
    for event in writer.begin(head):
        yield event
    item_id, begun = item_id_of(message_id(turn_id, "response")), False
    async for event_of in answer.follow():
        if event_of.name == "delta":
            for event in () if begun else writer.begin_text(item_id):
                yield event
            begun = True
            yield writer.delta(item_id, event_of.data["text"])
        elif event_of.name == "done":
            response = completed(head, event_of.data)
            if begun and response["output"] and response["output"][0]["type"] == "message":
                response["output"][0]["id"] = item_id
            for event in (*writer.end_output(response), writer.end(response)):
                yield event
        elif event_of.name == "error":
            yield writer.end(failed(head, event_of.data))


def past_events(response: Json, after: int = -1) -> list[str]:
    """The events of a response that has ended, with its text in one piece."""
    writer = EventWriter(after)
    events = writer.begin({**response, "status": "in_progress", "output": [], "usage": None})
    if response["output"] and response["output"][0]["type"] == "message":
        item = response["output"][0]
        events += [*writer.begin_text(item["id"]), writer.delta(item["id"], item["content"][0]["text"])]
    return [*events, *writer.end_output(response), writer.end(response)]

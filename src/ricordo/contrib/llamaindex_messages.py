"""Converts messages of LlamaIndex to Ricordo's and back, without loss."""

from collections.abc import Iterable, Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock

from ricordo.contrib.history import HistoryMessage
from ricordo.contrib.tool_calls import call_of, moment_of, openai_call, openai_calls
from ricordo.records.turns import Message

NOTE = "llamaindex"  # Ricordo's key in a message's metadata
ROLES = {
    MessageRole.DEVELOPER: "system",
    MessageRole.FUNCTION: "tool",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
}


def to_words(message: ChatMessage) -> HistoryMessage:
    """A message of LlamaIndex to store; what Ricordo has no field for goes into its metadata."""
    role = ROLES.get(message.role, message.role.value)
    extra: dict[str, Any] = {}
    if message.additional_kwargs:
        extra = message.model_dump(mode="json", include={"additional_kwargs"})["additional_kwargs"]
    text = message.content or ""
    calls = _calls(message, extra) if role == "assistant" else ()
    note: dict[str, Any] = {}
    if role != message.role.value:
        note["role"] = message.role.value
    if extra:
        note["additional_kwargs"] = extra
    plain = len(message.blocks) == 1 and type(message.blocks[0]) is TextBlock and text.strip()
    if not plain:
        note["blocks"] = [block.model_dump(mode="json") for block in message.blocks]
    if not text.strip():
        text = "" if calls else f"[{', '.join(block.block_type for block in message.blocks) or 'empty'}]"
    called = extra.get("tool_call_id") if role == "tool" else None
    return HistoryMessage(
        role,
        text,
        {NOTE: note} if note else {},
        calls,
        called if isinstance(called, str) and called else None,
        created_at=moment_of(extra.get("created_at")),
    )


def from_message(message: Message) -> ChatMessage:
    """A stored message as LlamaIndex's."""
    return from_messages((message,))[0]


def from_messages(messages: Iterable[Message]) -> list[ChatMessage]:
    """The same for many; messages of text only, which are the most, are built inline for speed."""
    return [
        _full_message(each)
        if each.metadata or each.tool_calls or each.tool_call_id
        else ChatMessage(each.content, role=each.role)
        for each in messages
    ]


def _full_message(message: Message) -> ChatMessage:
    """A message with more than text."""
    note = message.metadata.get(NOTE)
    extra: dict[str, Any] = dict(note.get("additional_kwargs", {})) if note else _extra(message)
    role = MessageRole((note or {}).get("role", message.role))
    if note and "blocks" in note:
        return ChatMessage.model_validate({"role": role, "blocks": note["blocks"], "additional_kwargs": extra})
    blocks: list[Any] = [TextBlock(text=message.content)] if message.content or not message.tool_calls else []
    if not note:
        blocks += [_block(call) for call in message.tool_calls]
    return ChatMessage(role=role, blocks=blocks, additional_kwargs=extra)


def _calls(message: ChatMessage, extra: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if blocks:
        return tuple(openai_call(each.tool_name, each.tool_kwargs, each.tool_call_id) for each in blocks)
    return openai_calls(extra.get("tool_calls"))


def _block(call: Any) -> ToolCallBlock:
    name, arguments, call_id = call_of(call)
    return ToolCallBlock(tool_name=name, tool_kwargs=arguments, tool_call_id=call_id)


def _extra(message: Message) -> dict[str, Any]:
    return {"tool_call_id": message.tool_call_id} if message.tool_call_id else {}


def from_context(message: Mapping[str, Any]) -> ChatMessage:
    """A message of a context as LlamaIndex's."""
    blocks: list[Any] = [TextBlock(text=message["content"])] if message["content"] else []
    blocks += [_block(call) for call in message.get("tool_calls", ())]
    extra = {key: message[key] for key in ("tool_call_id", "name") if key in message}
    return ChatMessage(role=MessageRole(message["role"]), blocks=blocks, additional_kwargs=extra)

"""Messages of LangChain as Ricordo keeps them, and back: one loses nothing on the way to the other."""

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)

from ricordo.integrations.calls import call_of, moment_of, openai_call
from ricordo.integrations.history import Words
from ricordo.records import Json, Message, Role, Turn

NOTE = "langchain"  # our key in a message's metadata
ROLES: Mapping[str, Role] = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
PLAIN = {"content", "type", "tool_calls", "tool_call_id"}
_PLAIN_ROLES: Mapping[type, Role] = {HumanMessage: "user", AIMessage: "assistant", SystemMessage: "system"}
_PLAIN_CLASSES: Mapping[str, type[HumanMessage | AIMessage | SystemMessage]] = {
    "user": HumanMessage,
    "assistant": AIMessage,
    "system": SystemMessage,
}


def to_words(message: BaseMessage) -> Words:
    """A message of LangChain for the store; what Ricordo has no field for goes into its metadata."""
    plain = _PLAIN_ROLES.get(type(message))
    if plain and isinstance(message.content, str) and message.content.strip() and not _has_more(message):
        return Words(plain, message.content, {})
    given = message_to_dict(message)
    kind, data = given["type"].removesuffix("Chunk").removesuffix("MessageChunk").lower(), given["data"]
    role = ROLES.get(kind) or ROLES.get(_kind(message), "user")
    calls = getattr(message, "tool_calls", None) or []
    text = str(message.text)
    whole = isinstance(message.content, str) and (bool(text.strip()) or (not text and bool(calls)))
    note = {key: value for key, value in data.items() if key not in PLAIN and value != _usual(message, key)}
    if not whole:
        note["content"] = data["content"]
    if kind not in ("human", "ai", "system", "tool"):
        note["type"] = given["type"]
    if not text.strip():
        text = "" if calls and role == "assistant" else f"[{_kinds(message) or 'empty'}]"
    return Words(
        role,
        text,
        {NOTE: note} if note else {},
        tuple(openai_call(call["name"], call["args"], call["id"]) for call in calls) if role == "assistant" else (),
        getattr(message, "tool_call_id", None) or None,
        created_at=moment_of(message.additional_kwargs.get("created_at")),
    )


def from_message(message: Message, turn_metadata: Json | None = None) -> BaseMessage:
    """A stored message as LangChain's, whoever wrote it; an agent's turn keeps what belongs to its messages."""
    return _from_messages((message,), turn_metadata)[0]


def from_turns(turns: Iterable[Turn]) -> list[BaseMessage]:
    """All that turns say."""
    return [made for turn in turns for made in _from_messages(turn.messages, turn.metadata)]


def _from_messages(messages: Iterable[Message], noted: Json | None) -> list[BaseMessage]:
    """Messages of one turn; words alone, which are nearly all of them, without a call for each."""
    return [
        _dressed(each, noted)
        if noted or each.metadata or each.tool_calls or each.name or (simple := _PLAIN_CLASSES.get(each.role)) is None
        else simple(each.content)
        for each in messages
    ]


def _dressed(message: Message, turn_metadata: Json | None) -> BaseMessage:
    """A message that is more than its words, or of a role that has fields of its own."""
    part = message.id.rpartition(":")[2]
    note: dict[str, Any] = dict(message.metadata.get(NOTE) or (turn_metadata or {}).get(NOTE, {}).get(part, {}))
    kind: str = note.pop("type", None) or next(each for each, role in ROLES.items() if role == message.role)
    data: dict[str, Any] = {"content": message.content, "type": kind, **note}
    if message.tool_calls:
        data["tool_calls"] = [_call(call) for call in message.tool_calls]
    if kind == "tool":
        data["tool_call_id"] = message.tool_call_id or ""
    if message.name and "name" not in data:
        data["name"] = message.name
    return messages_from_dict([{"type": kind, "data": data}])[0]


def from_context(message: Mapping[str, Any]) -> AnyMessage:
    """A message of a context as LangChain's."""
    if message["role"] == "tool":
        return ToolMessage(message["content"], tool_call_id=message.get("tool_call_id", ""))
    extra = {"name": message["name"]} if "name" in message else {}
    if message["role"] == "assistant":
        calls = [_call(call) for call in message.get("tool_calls", ())]
        return AIMessage(message["content"], tool_calls=calls, **extra)
    if message["role"] == "system":
        return SystemMessage(message["content"], **extra)
    return HumanMessage(message["content"], **extra)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    name, arguments, call_id = call_of(call)
    return {"name": name, "args": arguments, "id": call_id, "type": "tool_call"}


def _has_more(message: BaseMessage) -> bool:
    """Whether anything but the content was set: nearly every message has no more, and needs no more work."""
    return any(field not in ("content", "type") and value for field, value in message)


def _usual(message: BaseMessage, field: str) -> Any:
    """What a field is where nobody set it."""
    known = type(message).model_fields.get(field)
    return known.get_default(call_default_factory=True) if known else None


def _kind(message: BaseMessage) -> str:
    """What a message is at heart: a chunk is one of its own kind, a chat message of the role it names."""
    for kind, found in (("human", HumanMessage), ("ai", AIMessage), ("system", SystemMessage), ("tool", ToolMessage)):
        if isinstance(message, found):
            return kind
    spoken = str(getattr(message, "role", ""))
    return {"user": "human", "assistant": "ai"}.get(spoken, spoken)


def _kinds(message: BaseMessage) -> str:
    blocks = message.content if isinstance(message.content, list) else []
    return ", ".join(str(block.get("type", "text")) for block in blocks if isinstance(block, dict))

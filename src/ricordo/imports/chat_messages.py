"""Messages of chat APIs: lists, ChatbotUI, ShareGPT, LlamaIndex, LangChain and OpenAI Agents; memories of mem0.

In: one message, or one conversation, as JSON. Out: imported messages. Each of these formats is a list in order, so a
conversation has one path; a message without an id is named by its index. mem0's memories become notes of an assistant
named mem0, so that no facts are learned from them; a changed memory is another note.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from ricordo.imports.conversation import (
    Conversation,
    ImportedMessage,
    ImportProblem,
    content_of,
    identifier,
    listed,
    mapping,
    message_problems,
    other_fields,
    parse_time,
    role_of,
    text,
    tool_call,
    tool_calls_of,
)
from ricordo.records.turns import Json
from ricordo.records.values import canonical

MAX_MESSAGES = 100_000  # of one conversation
_MESSAGE = (
    "id", "role", "content", "name", "tool_calls", "function_call", "tool_call_id", "created_at", "createdAt",
    "timestamp", "create_time", "model", "additional_kwargs", "blocks",
)  # fmt: skip
_CONVERSATION = ("id", "conversation_id", "session_id", "thread_id", "title", "name", "messages", "metadata", "tags")
MEM0 = "mem0"
NOTES_BATCH = 500
_MEM0_KNOWN = ("id", "memory", "text", "content", "hash", "created_at", "updated_at", "event", "score")


def is_message(value: Any) -> bool:
    """Whether a value is one message and not a conversation."""
    fields = mapping(value)
    return isinstance(fields.get("role"), str) and "messages" not in fields


def chat_message(fields: Json, name: str, at: datetime | None) -> ImportedMessage:
    """A message of a chat API, with LlamaIndex's additions."""
    role, speaker = role_of(fields.get("role"))
    extra = mapping(fields.get("additional_kwargs"))
    blocks = fields.get("blocks")
    words, attached = content_of(blocks if isinstance(blocks, list) else _or_blank(fields.get("content")))
    calls = tool_calls_of(fields) or tool_calls_of(extra)
    if any(mapping(each).get("block_type") == "tool_call" for each in attached):
        calls = calls or tool_calls_of(
            {"tool_calls": [p for p in attached if mapping(p).get("block_type") == "tool_call"]}
        )
        words, attached = content_of([part for part in listed(blocks) if part not in attached])
    return ImportedMessage(
        id=name,
        role=role,
        content=words,
        created_at=at or _dated(fields),
        tool_calls=calls if role == "assistant" else (),
        tool_call_id=identifier(fields.get("tool_call_id"), extra.get("tool_call_id")) or None,
        name=identifier(fields.get("name"), extra.get("name")) or speaker,
        metadata={"model": text(fields.get("model")) or None, "attachments": attached or None},
        raw={
            **other_fields(fields, *_MESSAGE),
            **other_fields(extra, "tool_calls", "function_call", "tool_call_id", "name"),
        },
    )


def _or_blank(content: Any) -> Any:
    return "" if content is None else content


def _dated(fields: Json) -> datetime | None:
    names = ("created_at", "createdAt", "timestamp", "create_time")
    return parse_time(*[fields.get(name) for name in names])


def fallback_id(place: str, messages: Iterable[ImportedMessage]) -> str:
    """An id for a conversation that has none: its place, and a digest of its messages up to the first of a user.

    A longer version of the same conversation gets the same id.
    """
    opening = []
    for message in messages:
        opening.append([message.role, message.content])
        if message.role == "user":
            break
    digest = hashlib.blake2b(canonical(opening).encode(errors="surrogatepass"), digest_size=12).hexdigest()
    return f"{place}:{digest}"


def message_list(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """A conversation: a list of messages, or an object with such a list."""
    fields = mapping(value)
    found = value if isinstance(value, list) else fields.get("messages")
    if not isinstance(found, list):
        return ImportProblem(place, "is not a conversation: expected a list of messages, or an object with 'messages'")
    path = tuple(chat_message(mapping(each), _id(each, n), None) for n, each in enumerate(found) if mapping(each))
    named = identifier(*[fields.get(key) for key in ("conversation_id", "session_id", "thread_id", "id")])
    return Conversation(
        id=named or fallback_id(fallback, path),
        place=place,
        paths=(path,),
        title=text(fields.get("title")) or text(fields.get("name")),
        created_at=_dated(fields),
        tags=tuple(tag for each in listed(fields.get("tags")) if (tag := identifier(each))),
        metadata=dict(mapping(fields.get("metadata"))),
        raw=other_fields(fields, *_CONVERSATION, "created_at", "createdAt", "timestamp", "create_time"),
        problems=message_problems(place, enumerate(found)),
    )


def _id(message: Any, number: int) -> str:
    return identifier(mapping(message).get("id")) or f"#{number}"


def sharegpt(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """A conversation in ShareGPT's format: messages with `from` and `value`."""
    fields = mapping(value)
    found = fields.get("conversations", fields.get("items"))
    if not isinstance(found, list):
        return ImportProblem(place, "is not a conversation: expected an object with 'conversations'")
    path = tuple(message for n, each in enumerate(found) if (message := sharegpt_message(each, f"#{n}", None)))
    return Conversation(
        id=identifier(fields.get("id"), fields.get("conversation_id")) or fallback_id(fallback, path),
        place=place,
        paths=(path,),
        title=text(fields.get("title")),
        created_at=_dated(fields),
        raw=other_fields(fields, "id", "conversation_id", "conversations", "items", "title"),
        problems=message_problems(place, enumerate(found)),
    )


def chatbot_ui(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """One conversation of ChatbotUI; None for one without messages."""
    fields = mapping(value)
    if not isinstance(fields.get("messages"), list):
        return ImportProblem(place, "is not a conversation: expected an object with 'messages'")
    path = tuple(
        chat_message(mapping(each), f"#{n}", None) for n, each in enumerate(fields["messages"]) if mapping(each)
    )
    return Conversation(
        id=identifier(fields.get("id")) or fallback,
        place=place,
        paths=(path,),
        title=text(fields.get("name")),
        metadata={"model": identifier(mapping(fields.get("model")).get("id"), fields.get("model")) or None},
        raw=other_fields(fields, "id", "name", "messages", "model"),
        problems=message_problems(place, enumerate(fields["messages"])),
    )


def chat_store(key: str, value: Any, place: str) -> Conversation | ImportProblem | None:
    """One key of a LlamaIndex chat store."""
    if not isinstance(value, list):
        return ImportProblem(place, "is not a list of messages")
    path = tuple(chat_message(mapping(each), f"#{n}", None) for n, each in enumerate(value) if mapping(each))
    return Conversation(
        id=key, place=place, paths=(path,), metadata={"key": key}, problems=message_problems(place, enumerate(value))
    )


def langchain_message(value: Any, name: str, at: datetime | None) -> ImportedMessage | None:
    """A message as LangChain stores it: a type and its data."""
    fields = mapping(value)
    data = mapping(fields.get("data"))
    if not data:
        return None
    kind = text(fields.get("type"))
    role = data.get("role") if kind in ("chat", "ChatMessageChunk") else kind
    return chat_message({**data, "role": text(role).removesuffix("MessageChunk"), "type": None}, name, at)


def agents_message(value: Any, name: str, at: datetime | None) -> ImportedMessage | None:
    """An item of the OpenAI Agents SDK: a message, a call, or the result of a call; None for reasoning."""
    fields = mapping(value)
    kind = text(fields.get("type"))
    called = identifier(fields.get("call_id"), fields.get("id"))
    if kind.endswith("_call_output"):
        output = fields.get("output")
        words = output if isinstance(output, str) else content_of(output)[0]
        return ImportedMessage(
            name, "tool", words, at, tool_call_id=called or None, raw=other_fields(fields, "type", "call_id", "output")
        )
    if kind.endswith("_call"):
        tool = text(fields.get("name")) or kind.removesuffix("_call")
        arguments = fields.get("arguments", fields.get("action", {}))
        made = tool_call(tool, arguments, called)
        raw = other_fields(fields, "type", "call_id", "name", "arguments", "action")
        return ImportedMessage(name, "assistant", "", at, tool_calls=(made,), raw=raw)
    if "role" not in fields:
        return None  # reasoning and the like
    return chat_message({key: inner for key, inner in fields.items() if key not in ("type", "status")}, name, at)


def bare_message(value: Any, name: str, at: datetime | None) -> ImportedMessage | None:
    """A message of a chat API outside a list; None for anything else."""
    return chat_message(mapping(value), name, at) if is_message(value) else None


def sharegpt_message(value: Any, name: str, at: datetime | None) -> ImportedMessage | None:
    """A message in ShareGPT's format; None for anything else."""
    fields = mapping(value)
    if not fields.keys() & {"from", "role"}:
        return None
    role, speaker = role_of(fields.get("from", fields.get("role")))
    words, attached = content_of(_or_blank(fields.get("value", fields.get("content"))))
    extra = {"attachments": attached} if attached else {}
    raw = other_fields(fields, "from", "value", "role", "content")
    return ImportedMessage(name, role, words, at, name=speaker, metadata=extra, raw=raw)


def collect_messages(
    entries: Iterable[tuple[Any, str]], name: str, parse: Callable[[Any, str, datetime | None], ImportedMessage | None]
) -> Iterator[Conversation | ImportProblem]:
    """Messages outside a list as one conversation of at most MAX_MESSAGES."""
    path: list[ImportedMessage] = []
    for n, (value, place) in enumerate(entries):
        if len(path) == MAX_MESSAGES:
            yield ImportProblem(
                place, f"a conversation ends after {MAX_MESSAGES} messages; the rest is left out", "left out"
            )
            break
        found = parse(value, _id(value, n), None)
        if found is None:
            yield ImportProblem(place, "is not a message: expected an object with its speaker's role")
        else:
            path.append(found)
    if path:
        yield Conversation(id=fallback_id(name, path), place=name, paths=(tuple(path),))


def memories(entries: Iterable[tuple[Any, str]], name: str) -> Iterator[Conversation | ImportProblem]:
    """mem0's memories as conversations of notes, one for each user they are about."""
    batches: dict[str, list[ImportedMessage]] = {}
    for value, place in entries:
        fields = mapping(value)
        words = text(fields.get("memory")) or text(fields.get("text")) or text(fields.get("content"))
        if not words.strip():
            yield ImportProblem(place, "is not a memory: expected an object with 'memory'")
            continue
        about = identifier(fields.get("user_id"), fields.get("agent_id"), fields.get("run_id")) or name
        batch = batches.setdefault(about, [])
        batch.append(memory_note(identifier(fields.get("id")), words, fields))
        if len(batch) == NOTES_BATCH:
            yield notes_conversation(about, name, batches.pop(about))
    for about, batch in batches.items():
        yield notes_conversation(about, name, batch)


def memory_note(memory_id: str, words: str, fields: Json) -> ImportedMessage:
    digest = hashlib.blake2b(words.encode(errors="surrogatepass"), digest_size=12).hexdigest()
    return ImportedMessage(
        id=f"{memory_id}:{digest}",
        role="assistant",
        content=words,
        created_at=parse_time(fields.get("updated_at"), fields.get("created_at")),
        name=MEM0,
        metadata={"memory_id": memory_id or None},
        raw=other_fields(fields, *_MEM0_KNOWN),
    )


def notes_conversation(about: str, place: str, notes: list[ImportedMessage]) -> Conversation:
    """Notes about one user as a conversation to which more may be added."""
    return Conversation(id=about, place=place, paths=(tuple(notes),), title=f"Notes from mem0 ({about})", notes=True)

"""Messages in the form of chat APIs, and what is stored in it: message lists, LlamaIndex, LangChain, OpenAI Agents.

In: one message, or one conversation, as JSON. Out: what was said. Each of these is a list in the order of the talk,
so a conversation has one path; a message without an id is known by its place in the list.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from ricordo.imports.conversation import Conversation, ImportedMessage, ImportProblem, unread
from ricordo.imports.values import call, calls_of, content_of, identifier, listed, mapping, moment, rest, role_of, text
from ricordo.records.turns import Json, canonical

MOST_MESSAGES = 100_000  # of one conversation
_MESSAGE = (
    "id", "role", "content", "name", "tool_calls", "function_call", "tool_call_id", "created_at", "createdAt",
    "timestamp", "create_time", "model", "additional_kwargs", "blocks",
)  # fmt: skip
_CONVERSATION = ("id", "conversation_id", "session_id", "thread_id", "title", "name", "messages", "metadata", "tags")


def is_message(value: Any) -> bool:
    """Whether a value is one message and not a conversation."""
    fields = mapping(value)
    return isinstance(fields.get("role"), str) and "messages" not in fields


def said_in_api(fields: Json, name: str, at: datetime | None) -> ImportedMessage:
    """A message of a chat API; what LlamaIndex adds to one is read too."""
    role, speaker = role_of(fields.get("role"))
    extra = mapping(fields.get("additional_kwargs"))
    blocks = fields.get("blocks")
    words, attached = content_of(blocks if isinstance(blocks, list) else _or_blank(fields.get("content")))
    calls = calls_of(fields) or calls_of(extra)
    if any(mapping(each).get("block_type") == "tool_call" for each in attached):
        calls = calls or calls_of({"tool_calls": [p for p in attached if mapping(p).get("block_type") == "tool_call"]})
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
        raw={**rest(fields, *_MESSAGE), **rest(extra, "tool_calls", "function_call", "tool_call_id", "name")},
    )


def _or_blank(content: Any) -> Any:
    return "" if content is None else content


def _dated(fields: Json) -> datetime | None:
    names = ("created_at", "createdAt", "timestamp", "create_time")
    return moment(*[fields.get(name) for name in names])


def fallback_id(place: str, messages: Iterable[ImportedMessage]) -> str:
    """What names a conversation that has no id: its file and place there, and how it begins.

    How it begins reaches to the first words of a user, so that a longer version of it keeps its name.
    """
    opening = []
    for said in messages:
        opening.append([said.role, said.content])
        if said.role == "user":
            break
    # What is no character has to be named too.
    digest = hashlib.blake2b(canonical(opening).encode(errors="surrogatepass"), digest_size=12).hexdigest()
    return f"{place}:{digest}"


def message_list(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """A conversation as a list of messages, or as an object that holds one; None for one without messages."""
    fields = mapping(value)
    found = value if isinstance(value, list) else fields.get("messages")
    if not isinstance(found, list):
        return ImportProblem(place, "is not a conversation: expected a list of messages, or an object with 'messages'")
    path = tuple(said_in_api(mapping(each), _id(each, n), None) for n, each in enumerate(found) if mapping(each))
    named = identifier(*[fields.get(key) for key in ("conversation_id", "session_id", "thread_id", "id")])
    return Conversation(
        id=named or fallback_id(fallback, path),
        place=place,
        paths=(path,),
        title=text(fields.get("title")) or text(fields.get("name")),
        created_at=_dated(fields),
        tags=tuple(tag for each in listed(fields.get("tags")) if (tag := identifier(each))),
        metadata=dict(mapping(fields.get("metadata"))),
        raw=rest(fields, *_CONVERSATION, "created_at", "createdAt", "timestamp", "create_time"),
        unread=unread(place, enumerate(found)),
    )


def _id(message: Any, number: int) -> str:
    return identifier(mapping(message).get("id")) or f"#{number}"


def sharegpt(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """A conversation of the ShareGPT form: `from` and `value`; None for one without messages."""
    fields = mapping(value)
    found = fields.get("conversations", fields.get("items"))
    if not isinstance(found, list):
        return ImportProblem(place, "is not a conversation: expected an object with 'conversations'")
    path = tuple(said for n, each in enumerate(found) if (said := sharegpt_said(each, f"#{n}", None)))
    return Conversation(
        id=identifier(fields.get("id"), fields.get("conversation_id")) or fallback_id(fallback, path),
        place=place,
        paths=(path,),
        title=text(fields.get("title")),
        created_at=_dated(fields),
        raw=rest(fields, "id", "conversation_id", "conversations", "items", "title"),
        unread=unread(place, enumerate(found)),
    )


def chat_store(key: str, value: Any, place: str) -> Conversation | ImportProblem | None:
    """One key of a LlamaIndex chat store."""
    if not isinstance(value, list):
        return ImportProblem(place, "is not a list of messages")
    path = tuple(said_in_api(mapping(each), f"#{n}", None) for n, each in enumerate(value) if mapping(each))
    return Conversation(
        id=key, place=place, paths=(path,), metadata={"key": key}, unread=unread(place, enumerate(value))
    )


def langchain_said(value: Any, name: str, at: datetime | None) -> ImportedMessage | None:
    """A message as LangChain writes one: its kind, and its data."""
    fields = mapping(value)
    data = mapping(fields.get("data"))
    if not data:
        return None
    kind = text(fields.get("type"))
    role = data.get("role") if kind in ("chat", "ChatMessageChunk") else kind
    return said_in_api({**data, "role": text(role).removesuffix("MessageChunk"), "type": None}, name, at)


def agent_said(value: Any, name: str, at: datetime | None) -> ImportedMessage | None:
    """An item as the OpenAI Agents SDK writes one: a message, a call, or the result of a call."""
    fields = mapping(value)
    kind = text(fields.get("type"))
    called = identifier(fields.get("call_id"), fields.get("id"))
    if kind.endswith("_call_output"):
        output = fields.get("output")
        words = output if isinstance(output, str) else content_of(output)[0]
        return ImportedMessage(
            name, "tool", words, at, tool_call_id=called or None, raw=rest(fields, "type", "call_id", "output")
        )
    if kind.endswith("_call"):
        tool = text(fields.get("name")) or kind.removesuffix("_call")
        arguments = fields.get("arguments", fields.get("action", {}))
        made = call(tool, arguments, called)
        raw = rest(fields, "type", "call_id", "name", "arguments", "action")
        return ImportedMessage(name, "assistant", "", at, tool_calls=(made,), raw=raw)
    if "role" not in fields:
        return None  # reasoning and the like: nobody said it
    return said_in_api({key: inner for key, inner in fields.items() if key not in ("type", "status")}, name, at)


def api_said(value: Any, name: str, at: datetime | None) -> ImportedMessage | None:
    """A message of a chat API that stands alone; None for anything else."""
    return said_in_api(mapping(value), name, at) if is_message(value) else None


def sharegpt_said(value: Any, name: str, at: datetime | None) -> ImportedMessage | None:
    """A message of the ShareGPT form; None for anything else."""
    said = mapping(value)
    if not said.keys() & {"from", "role"}:
        return None
    role, speaker = role_of(said.get("from", said.get("role")))
    words, attached = content_of(_or_blank(said.get("value", said.get("content"))))
    extra = {"attachments": attached} if attached else {}
    raw = rest(said, "from", "value", "role", "content")
    return ImportedMessage(name, role, words, at, name=speaker, metadata=extra, raw=raw)


def gathered(
    entries: Iterable[tuple[Any, str]], name: str, said: Callable[[Any, str, datetime | None], ImportedMessage | None]
) -> Iterator[Conversation | ImportProblem]:
    """Messages that stand alone, one after the other, as one conversation; no more than can be held."""
    path: list[ImportedMessage] = []
    for n, (value, place) in enumerate(entries):
        if len(path) == MOST_MESSAGES:
            yield ImportProblem(
                place, f"a conversation ends after {MOST_MESSAGES} messages; the rest is left out", "left out"
            )
            break
        found = said(value, _id(value, n), None)
        if found is None:
            yield ImportProblem(place, "is not a message: expected an object with its speaker's role")
        else:
            path.append(found)
    if path:
        yield Conversation(id=fallback_id(name, path), place=name, paths=(tuple(path),))

"""Chats exported from self-hosted pages: Open WebUI, LibreChat and ChatbotUI.

In: one chat of an export. Out: its branches as messages. Open WebUI says which branch was shown; LibreChat lists its
messages flat or inside each other, and the one that was written last ends the branch; ChatbotUI has one line of them.
"""

from collections.abc import Iterator
from typing import Any

from ricordo.imports.chat_messages import said_in_api
from ricordo.imports.conversation import Conversation, ImportedMessage, ImportProblem, branches, own_name, unread
from ricordo.imports.values import content_of, identifier, joined, listed, mapping, moment, rest, role_of, text
from ricordo.records.turns import Json

_NO_PARENT = "00000000-0000-0000-0000-000000000000"
_WEBUI = ("id", "user_id", "title", "chat", "created_at", "updated_at")
_LIBRE = ("conversationId", "title", "exportAt", "messages", "messagesTree", "branches", "recursive")
_LIBRE_MESSAGE = (
    "messageId", "parentMessageId", "conversationId", "sender", "isCreatedByUser", "text", "content", "model",
    "createdAt", "updatedAt", "children", "siblingIndex",
)  # fmt: skip


def open_webui(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """One chat of Open WebUI; None for one without messages."""
    fields = mapping(value)
    chat = mapping(fields.get("chat"))
    if not chat:
        return ImportProblem(place, "is not a chat: expected an object with 'chat'")
    history = mapping(chat.get("history"))
    messages = {name: mapping(each) for name, each in mapping(history.get("messages")).items() if mapping(each)}
    parents = {name: identifier(each.get("parentId")) or None for name, each in messages.items()}
    if not messages:  # older chats are one line
        lines = [mapping(each) for each in listed(chat.get("messages"))]
        for n, each in enumerate(lines):
            if each:
                messages[own_name(identifier(each.get("id")) or f"#{n}", each, messages)] = each
        names = list(messages)
        parents = {name: names[n - 1] if n else None for n, name in enumerate(names)}
    paths = branches(parents, identifier(history.get("currentId")), lambda name: messages[name].get("role") == "user")
    tags = [*listed(mapping(fields.get("meta")).get("tags")), *listed(chat.get("tags"))]
    return Conversation(
        id=identifier(fields.get("id"), chat.get("id")) or fallback,
        place=place,
        paths=tuple(tuple(_webui_said(name, messages[name]) for name in path) for path in paths),
        title=text(fields.get("title")) or text(chat.get("title")),
        created_at=moment(fields.get("created_at"), chat.get("timestamp")),
        updated_at=moment(fields.get("updated_at")),
        tags=tuple(tag for each in tags if (tag := identifier(each, mapping(each).get("name")))),
        metadata={"models": listed(chat.get("models")) or None},
        raw={
            **rest(fields, *_WEBUI),
            **rest(chat, "history", "messages", "title", "models", "tags", "timestamp", "id"),
        },
        unread=unread(place, mapping(history.get("messages")).items() or enumerate(listed(chat.get("messages")))),
    )


def _webui_said(name: str, message: Json) -> ImportedMessage:
    known = ("parentId", "childrenIds", "timestamp", "done", "models", "modelName", "modelIdx", "statusHistory")
    plain = {key: value for key, value in message.items() if key not in known}
    return said_in_api(plain, name, moment(message.get("timestamp")))


def librechat(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """One conversation of LibreChat, its messages flat or as a tree; None for one without messages."""
    fields = mapping(value)
    if not fields or not ("messages" in fields or "messagesTree" in fields):
        return ImportProblem(place, "is not a conversation: expected an object with 'messages' or 'messagesTree'")
    found: dict[str, Json] = {}
    parents: dict[str, str | None] = {}
    for n, (message, above) in enumerate(_flat(fields)):
        name = own_name(identifier(message.get("messageId")) or f"#{n}", message, found)
        found[name] = message
        named = identifier(message.get("parentMessageId"))
        parents[name] = (named if named and named != _NO_PARENT else None) or above
    if not found:
        return None
    dated = [name for name in found if moment(found[name].get("createdAt"))]
    newest = max(dated, key=lambda name: str(moment(found[name].get("createdAt")))) if dated else None
    said = {name: _libre_said(name, message) for name, message in found.items()}
    return Conversation(
        id=identifier(fields.get("conversationId")) or fallback,
        place=place,
        paths=tuple(
            tuple(said[name] for name in path)
            for path in branches(parents, newest, lambda name: said[name].role == "user")
        ),
        title=text(fields.get("title")),
        created_at=moment(fields.get("createdAt")),
        updated_at=moment(fields.get("updatedAt")),
        raw=rest(fields, *_LIBRE, "createdAt", "updatedAt"),
        unread=unread(place, enumerate(listed(fields.get("messages")) or listed(fields.get("messagesTree")))),
    )


def _flat(fields: Json) -> Iterator[tuple[Json, str | None]]:
    """Every message and the one it was found inside, from the top down."""
    first = listed(fields.get("messages")) or listed(fields.get("messagesTree"))
    waiting: list[tuple[Any, str | None]] = [(each, None) for each in reversed(first)]
    flat = not any(mapping(each).get("children") or "parentMessageId" in mapping(each) for each in first)
    previous: str | None = None
    while waiting:
        each, above = waiting.pop()
        message = mapping(each)
        if not message:
            continue
        name = identifier(message.get("messageId")) or None
        yield message, previous if flat else above
        previous = name
        waiting += [(child, name) for child in reversed(listed(message.get("children")))]


def _libre_said(name: str, message: Json) -> ImportedMessage:
    words, attached = content_of(message.get("content")) if listed(message.get("content")) else ("", [])
    shown = [part for part in attached if mapping(part).get("type") not in ("think", "tool_call")]
    if attached and not shown:
        words = joined(text(mapping(part).get("text")) for part in listed(message.get("content")))
    role = "user" if message.get("isCreatedByUser") is True else role_of(message.get("role") or "assistant")[0]
    return ImportedMessage(
        id=name,
        role=role,
        content=text(message.get("text")) or words,
        created_at=moment(message.get("createdAt")),
        metadata={"model": text(message.get("model")) or None, "parts": attached or None},
        raw=rest(message, *_LIBRE_MESSAGE),
    )


def chatbot_ui(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """One conversation of ChatbotUI; None for one without messages."""
    fields = mapping(value)
    if not isinstance(fields.get("messages"), list):
        return ImportProblem(place, "is not a conversation: expected an object with 'messages'")
    path = tuple(
        said_in_api(mapping(each), f"#{n}", None) for n, each in enumerate(fields["messages"]) if mapping(each)
    )
    return Conversation(
        id=identifier(fields.get("id")) or fallback,
        place=place,
        paths=(path,),
        title=text(fields.get("name")),
        metadata={"model": identifier(mapping(fields.get("model")).get("id"), fields.get("model")) or None},
        raw=rest(fields, "id", "name", "messages", "model"),
        unread=unread(place, enumerate(fields["messages"])),
    )

"""Exports of chat applications: ChatGPT, Claude, Open WebUI and LibreChat.

In: one conversation of an export. Out: its branches as messages. ChatGPT and Open WebUI name the current branch; for
LibreChat and Claude it is the one with the newest message; older exports have one branch. Messages that ChatGPT hides
(marked as hidden, or an empty system message) are skipped; tool calls and their results are kept.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ricordo.imports.chat_messages import chat_message
from ricordo.imports.conversation import (
    Conversation,
    ImportedMessage,
    ImportProblem,
    branches,
    content_of,
    identifier,
    join_lines,
    listed,
    mapping,
    message_problems,
    nearest_visible,
    other_fields,
    parse_time,
    role_of,
    split_reasoning,
    text,
    tool_call,
    unique_name,
    without_hidden,
    without_marks,
)
from ricordo.records.turns import Json

_NO_PARENT = "00000000-0000-0000-0000-000000000000"
_WEBUI = ("id", "user_id", "title", "chat", "created_at", "updated_at")
_LIBRE = ("conversationId", "title", "exportAt", "messages", "messagesTree", "branches", "recursive")
_LIBRE_MESSAGE = (
    "messageId", "parentMessageId", "conversationId", "sender", "isCreatedByUser", "text", "content", "model",
    "createdAt", "updatedAt", "children", "siblingIndex",
)  # fmt: skip
_CLAUDE = ("uuid", "name", "created_at", "updated_at", "chat_messages")
_CLAUDE_MESSAGE = ("uuid", "sender", "text", "content", "created_at", "updated_at", "parent_message_uuid")


_CHATGPT = (
    "id",
    "conversation_id",
    "title",
    "create_time",
    "update_time",
    "mapping",
    "current_node",
    "moderation_results",
)
_CHATGPT_MESSAGE = (
    "id",
    "author",
    "create_time",
    "update_time",
    "content",
    "status",
    "weight",
    "end_turn",
    "recipient",
)
_MAX_THOUGHTS = 20  # messages of thoughts before a visible one
_CITED = re.compile(r"【[^【】]*】")


def open_webui(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """One chat of Open WebUI; None for one without messages."""
    fields = mapping(value)
    chat = mapping(fields.get("chat"))
    if not chat:
        return ImportProblem(place, "is not a chat: expected an object with 'chat'")
    history = mapping(chat.get("history"))
    messages = {name: mapping(each) for name, each in mapping(history.get("messages")).items() if mapping(each)}
    parents = {name: identifier(each.get("parentId")) or None for name, each in messages.items()}
    if not messages:  # older chats have no branches
        lines = [mapping(each) for each in listed(chat.get("messages"))]
        for n, each in enumerate(lines):
            if each:
                messages[unique_name(identifier(each.get("id")) or f"#{n}", each, messages)] = each
        names = list(messages)
        parents = {name: names[n - 1] if n else None for n, name in enumerate(names)}
    paths = branches(parents, identifier(history.get("currentId")), lambda name: messages[name].get("role") == "user")
    tags = [*listed(mapping(fields.get("meta")).get("tags")), *listed(chat.get("tags"))]
    return Conversation(
        id=identifier(fields.get("id"), chat.get("id")) or fallback,
        place=place,
        paths=tuple(tuple(_webui_message(name, messages[name]) for name in path) for path in paths),
        title=text(fields.get("title")) or text(chat.get("title")),
        created_at=parse_time(fields.get("created_at"), chat.get("timestamp")),
        updated_at=parse_time(fields.get("updated_at")),
        tags=tuple(tag for each in tags if (tag := identifier(each, mapping(each).get("name")))),
        metadata={"models": listed(chat.get("models")) or None},
        raw={
            **other_fields(fields, *_WEBUI),
            **other_fields(chat, "history", "messages", "title", "models", "tags", "timestamp", "id"),
        },
        problems=message_problems(
            place, mapping(history.get("messages")).items() or enumerate(listed(chat.get("messages")))
        ),
    )


def _webui_message(name: str, message: Json) -> ImportedMessage:
    known = ("parentId", "childrenIds", "timestamp", "done", "models", "modelName", "modelIdx", "statusHistory")
    plain = {key: value for key, value in message.items() if key not in known}
    read = chat_message(plain, name, parse_time(message.get("timestamp")))
    words, thoughts = split_reasoning(read.content) if read.role == "assistant" else (read.content, "")
    return replace(read, content=words, metadata={**read.metadata, "thoughts": thoughts}) if thoughts else read


def librechat(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """One conversation of LibreChat, its messages flat or as a tree; None for one without messages."""
    fields = mapping(value)
    if not fields or not ("messages" in fields or "messagesTree" in fields):
        return ImportProblem(place, "is not a conversation: expected an object with 'messages' or 'messagesTree'")
    found: dict[str, Json] = {}
    parents: dict[str, str | None] = {}
    for n, (message, above) in enumerate(_libre_flat(fields)):
        name = unique_name(identifier(message.get("messageId")) or f"#{n}", message, found)
        found[name] = message
        named = identifier(message.get("parentMessageId"))
        parents[name] = (named if named and named != _NO_PARENT else None) or above
    if not found:
        return None
    dated = [name for name in found if parse_time(found[name].get("createdAt"))]
    newest = max(dated, key=lambda name: str(parse_time(found[name].get("createdAt")))) if dated else None
    read = {name: _libre_message(name, message) for name, message in found.items()}
    return Conversation(
        id=identifier(fields.get("conversationId")) or fallback,
        place=place,
        paths=tuple(
            tuple(read[name] for name in path)
            for path in branches(parents, newest, lambda name: read[name].role == "user")
        ),
        title=text(fields.get("title")),
        created_at=parse_time(fields.get("createdAt")),
        updated_at=parse_time(fields.get("updatedAt")),
        raw=other_fields(fields, *_LIBRE, "createdAt", "updatedAt"),
        problems=message_problems(
            place, enumerate(listed(fields.get("messages")) or listed(fields.get("messagesTree")))
        ),
    )


def _libre_flat(fields: Json) -> Iterator[tuple[Json, str | None]]:
    """Every message with the id of its parent, parents first."""
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


def _libre_message(name: str, message: Json) -> ImportedMessage:
    words, attached = content_of(message.get("content")) if listed(message.get("content")) else ("", [])
    visible = [part for part in attached if mapping(part).get("type") not in ("think", "tool_call")]
    if attached and not visible:
        words = join_lines(text(mapping(part).get("text")) for part in listed(message.get("content")))
    role = "user" if message.get("isCreatedByUser") is True else role_of(message.get("role") or "assistant")[0]
    return ImportedMessage(
        id=name,
        role=role,
        content=text(message.get("text")) or words,
        created_at=parse_time(message.get("createdAt")),
        metadata={"model": text(message.get("model")) or None, "parts": attached or None},
        raw=other_fields(message, *_LIBRE_MESSAGE),
    )


def claude(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """One conversation; None for an entry without messages."""
    fields = mapping(value)
    if not isinstance(fields.get("chat_messages"), list):
        return ImportProblem(place, "is not a conversation: expected an object with 'chat_messages'")
    messages: dict[str, Json] = {}
    for n, each in enumerate(fields["chat_messages"]):
        if mapping(each):
            name = identifier(mapping(each).get("uuid")) or f"#{n}"
            messages[unique_name(name, each, messages)] = each
    if not messages:
        return None
    return Conversation(
        id=identifier(fields.get("uuid")) or fallback,
        place=place,
        paths=tuple(
            tuple(said for name in path for said in _claude_messages(name, messages[name]))
            for path in _claude_paths(messages)
        ),
        title=text(fields.get("name")),
        created_at=parse_time(fields.get("created_at")),
        updated_at=parse_time(fields.get("updated_at")),
        raw=other_fields(fields, *_CLAUDE),
        problems=message_problems(place, enumerate(fields["chat_messages"])),
    )


def _claude_paths(messages: dict[str, Json]) -> list[list[str]]:
    if not any("parent_message_uuid" in each for each in messages.values()):
        return [list(messages)]
    parents = {name: identifier(each.get("parent_message_uuid")) or None for name, each in messages.items()}
    dates = {name: parse_time(each.get("created_at")) for name, each in messages.items()}
    dated = [name for name in messages if dates[name]]
    # The export does not name the current branch; the newest message is taken as its end.
    newest = max(dated, key=lambda name: str(dates[name])) if dated else None
    return branches(parents, newest, lambda name: messages[name].get("sender") == "human")


def _claude_messages(name: str, message: Json) -> Iterator[ImportedMessage]:
    """A message, preceded by the tool calls and results that its content holds."""
    role, speaker = role_of(message.get("sender"))
    at = parse_time(message.get("created_at"), message.get("updated_at"))
    words, thoughts, called = [], [], ""
    for n, each in enumerate(listed(message.get("content"))):
        block = mapping(each)
        kind = block.get("type")
        if kind == "thinking":
            thoughts.append(text(block.get("thinking")))
        elif kind == "tool_use" and role == "assistant":
            called = identifier(block.get("id")) or f"{name}#{n}"
            made = tool_call(text(block.get("name")), block.get("input", {}), called)
            yield ImportedMessage(f"{name}#{n}", "assistant", "", at, tool_calls=(made,))
        elif kind == "tool_result" and role == "assistant":
            result, _ = content_of(block.get("content"))
            answers = identifier(block.get("tool_use_id")) or called or None
            yield ImportedMessage(
                f"{name}#{n}", "tool", result, at, tool_call_id=answers, name=text(block.get("name")) or None
            )
        elif kind in ("text", None):
            words.append(text(block.get("text")))
    attached = [*listed(message.get("attachments")), *listed(message.get("files"))]
    content = join_lines(words) or text(message.get("text"))
    yield ImportedMessage(
        id=name,
        role=role,
        content=join_lines([content, *_claude_files(attached)]),
        created_at=at,
        name=speaker,
        metadata={"thoughts": join_lines(thoughts) or None},
        raw=other_fields(message, *_CLAUDE_MESSAGE, "attachments", "files"),
    )


def _claude_files(attached: list[Any]) -> Iterator[str]:
    """Attached files: their names and extracted text."""
    for each in attached:
        file = mapping(each)
        name = text(file.get("file_name"))
        if name or file.get("extracted_content"):
            yield join_lines([f"[file: {name or 'unnamed'}]", text(file.get("extracted_content"))])


def chatgpt(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """One conversation; None for another kind of entry, such as a folder."""
    fields = mapping(value)
    if not fields:
        return ImportProblem(place, "is not a conversation: expected an object with 'mapping'")
    nodes = mapping(fields.get("mapping"))
    if not nodes:
        return None
    if fields.get("is_do_not_remember") is True:
        return ImportProblem(place, "is marked as not to be remembered; left out", "left out")
    messages = _with_unique_ids({name: _chatgpt_message(name, node, nodes) for name, node in nodes.items()})
    parents = {name: _chatgpt_parent(node) for name, node in nodes.items()}

    def hidden(name: str) -> bool:
        return messages[name] is None

    thought = {name: _thoughts(node) for name, node in nodes.items() if messages[name] is None}
    for name, each in messages.items():
        messages[name] = _with_thoughts(each, parents[name], parents, thought)
    current = nearest_visible(parents, identifier(fields.get("current_node")), hidden)
    visible = without_hidden(parents, hidden)
    paths = branches(visible, current, lambda name: (said := messages[name]) is not None and said.role == "user")
    return Conversation(
        id=identifier(fields.get("conversation_id"), fields.get("id")) or fallback,
        place=place,
        paths=tuple(tuple(each for name in path if (each := messages[name])) for path in paths),
        title=text(fields.get("title")),
        created_at=parse_time(fields.get("create_time")),
        updated_at=parse_time(fields.get("update_time")),
        metadata={"model": identifier(fields.get("default_model_slug")) or None},
        raw=other_fields(fields, *_CHATGPT, "default_model_slug"),
        problems=message_problems(place, nodes.items()),
    )


def _with_unique_ids(messages: dict[str, ImportedMessage | None]) -> dict[str, ImportedMessage | None]:
    """The messages of the nodes; a message whose id was used before gets the name of its node as its id."""
    first: dict[str, str] = {}
    for name, each in messages.items():
        if each is not None and first.setdefault(each.id, name) != name:
            messages[name] = replace(each, id=name)
    return messages


def _chatgpt_parent(node: Any) -> str | None:
    return identifier(mapping(node).get("parent")) or None


def _chatgpt_message(name: str, node: Any, nodes: Json) -> ImportedMessage | None:
    """The message of a node; None if it has none or the site hides it."""
    message = mapping(mapping(node).get("message"))
    details = mapping(message.get("metadata"))
    author = mapping(message.get("author"))
    role, speaker = role_of(author.get("role"))
    content = mapping(message.get("content"))
    instructions = details.get("is_user_system_message") is True
    if not message or (details.get("is_visually_hidden_from_conversation") is True and not instructions):
        return None
    words, attached = _chatgpt_words(content, details)
    words = without_marks(words) if role in ("assistant", "tool") else words
    recipient = text(message.get("recipient"))
    calls: tuple[Json, ...] = ()
    if instructions:
        role = "system"  # the user's custom instructions
    elif role == "assistant" and recipient not in ("", "all"):
        calls, words = (tool_call(recipient, words, name),), ""
    if not words.strip() and not calls:
        return None
    return ImportedMessage(
        id=identifier(message.get("id")) or name,
        role=role,
        content=words,
        created_at=parse_time(message.get("create_time")),
        tool_calls=calls,
        tool_call_id=_called_by(node, nodes) if role == "tool" else None,
        name=(text(author.get("name")) or None) if role == "tool" else speaker,
        metadata={
            "model": text(details.get("model_slug")) or None,
            "attachments": [*listed(details.get("attachments")), *attached] or None,
        },
        raw={
            **other_fields(message, *_CHATGPT_MESSAGE, "metadata", "channel"),
            **other_fields(details, "model_slug", "attachments", "is_user_system_message", "parent_id", "request_id"),
        },
    )


def _thoughts(node: Any) -> str:
    """The thoughts of a hidden message, or their summary."""
    content = mapping(mapping(mapping(node).get("message")).get("content"))
    kind = text(content.get("content_type"))
    if kind == "thoughts":
        each = [mapping(thought) for thought in listed(content.get("thoughts"))]
        return join_lines(text(one.get("content")) or text(one.get("summary")) for one in each)
    return text(content.get("content")) if kind == "reasoning_recap" else ""


def _with_thoughts(
    message: ImportedMessage | None, above: str | None, parents: dict[str, str | None], thought: dict[str, str]
) -> ImportedMessage | None:
    """A message with the thoughts right before it, as metadata."""
    found: list[str] = []
    while message is not None and above in thought and len(found) < _MAX_THOUGHTS:
        found.append(thought[above])
        above = parents.get(above)
    thoughts = join_lines(reversed(found))
    return replace(message, metadata={**message.metadata, "thoughts": thoughts}) if message and thoughts else message


def _chatgpt_words(content: Json, details: Json) -> tuple[str, list[Any]]:
    """The text of a message's content by its type, and its attachments."""
    kind = text(content.get("content_type"))
    if kind in ("thoughts", "reasoning_recap"):
        return "", []
    if kind == "user_editable_context":
        parts = [text(content.get("user_profile")), text(content.get("user_instructions"))]
        data = mapping(details.get("user_context_message_data"))
        about = [text(data.get("about_user_message")), text(data.get("about_model_message"))]
        return join_lines(about) or join_lines(parts), []
    if "parts" in content:
        words, attached = content_of(content.get("parts"))
        return _with_citations(words, details), attached
    return next((words for field in ("text", "result", "content") if (words := text(content.get(field)))), ""), []


def _with_citations(words: str, details: Json) -> str:
    """The text with each citation mark replaced by a link to its source."""
    marks = []
    for each in listed(details.get("citations")):
        fields, source = mapping(each), mapping(mapping(each).get("metadata"))
        start, end = fields.get("start_ix"), fields.get("end_ix")
        url, title = text(source.get("url")), text(source.get("title"))
        if isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(words) and (url or title):
            marks.append((start, end, f"[{title or url}]({url})" if url else f"[{title}]"))
    last = len(words)
    for start, end, shown in sorted(marks, reverse=True):
        if end <= last and _CITED.fullmatch(words[start:end]):
            words, last = words[:start] + shown + words[end:], start
    for each in listed(details.get("content_references")):
        mark, shown = text(mapping(each).get("matched_text")), text(mapping(each).get("alt"))
        if "\ue200" in mark and shown:
            words = words.replace(mark, shown)
    return words


def _called_by(node: Any, nodes: Json) -> str | None:
    """The nearest call above a tool's result; other results may stand between."""
    name, left = _chatgpt_parent(node), 8
    while name is not None and left:
        message = mapping(mapping(nodes.get(name)).get("message"))
        role = mapping(message.get("author")).get("role")
        if role == "assistant" and text(message.get("recipient")) not in ("", "all"):
            return name
        if role == "user":
            return None
        name, left = _chatgpt_parent(nodes.get(name)), left - 1
    return None

"""ChatGPT's export: each conversation is a tree of nodes with one current branch.

In: one conversation of `conversations.json`, or of its numbered shards. Out: its branches as messages. Messages that
the site hides (marked as hidden, or an empty system message) are skipped; tool calls and their results are kept.
"""

import re
from dataclasses import replace
from typing import Any

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
    text,
    tool_call,
    without_hidden,
)
from ricordo.records.turns import Json

_KNOWN = (
    "id",
    "conversation_id",
    "title",
    "create_time",
    "update_time",
    "mapping",
    "current_node",
    "moderation_results",
)
_KNOWN_OF_MESSAGE = (
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
    messages = _with_unique_ids({name: _message(name, node, nodes) for name, node in nodes.items()})
    parents = {name: _parent(node) for name, node in nodes.items()}

    def hidden(name: str) -> bool:
        return messages[name] is None

    thought = {name: _thoughts(node) for name, node in nodes.items() if messages[name] is None}
    for name, each in messages.items():
        messages[name] = _with_thoughts(each, parents[name], parents, thought)
    current = nearest_visible(parents, identifier(fields.get("current_node")), hidden)
    visible = without_hidden(parents, hidden)
    paths = branches(visible, current, lambda name: _is_user(messages[name]))
    return Conversation(
        id=identifier(fields.get("conversation_id"), fields.get("id")) or fallback,
        place=place,
        paths=tuple(tuple(each for name in path if (each := messages[name])) for path in paths),
        title=text(fields.get("title")),
        created_at=parse_time(fields.get("create_time")),
        updated_at=parse_time(fields.get("update_time")),
        metadata={"model": identifier(fields.get("default_model_slug")) or None},
        raw=other_fields(fields, *_KNOWN, "default_model_slug"),
        problems=message_problems(place, nodes.items()),
    )


def _with_unique_ids(messages: dict[str, ImportedMessage | None]) -> dict[str, ImportedMessage | None]:
    """The messages of the nodes; a message whose id was used before gets the name of its node as its id."""
    first: dict[str, str] = {}
    for name, each in messages.items():
        if each is not None and first.setdefault(each.id, name) != name:
            messages[name] = replace(each, id=name)
    return messages


def _parent(node: Any) -> str | None:
    return identifier(mapping(node).get("parent")) or None


def _is_user(message: ImportedMessage | None) -> bool:
    return message is not None and message.role == "user"


def _message(name: str, node: Any, nodes: Json) -> ImportedMessage | None:
    """The message of a node; None if it has none or the site hides it."""
    message = mapping(mapping(node).get("message"))
    details = mapping(message.get("metadata"))
    author = mapping(message.get("author"))
    role, speaker = role_of(author.get("role"))
    content = mapping(message.get("content"))
    instructions = details.get("is_user_system_message") is True
    if not message or (details.get("is_visually_hidden_from_conversation") is True and not instructions):
        return None
    words, attached = _words(content, details)
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
            **other_fields(message, *_KNOWN_OF_MESSAGE, "metadata", "channel"),
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


def _words(content: Json, details: Json) -> tuple[str, list[Any]]:
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
        return _cited(words, details), attached
    return next((words for field in ("text", "result", "content") if (words := text(content.get(field)))), ""), []


def _cited(words: str, details: Json) -> str:
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
    return words


def _called_by(node: Any, nodes: Json) -> str | None:
    """The nearest call above a tool's result; other results may stand between."""
    name, left = _parent(node), 8
    while name is not None and left:
        message = mapping(mapping(nodes.get(name)).get("message"))
        role = mapping(message.get("author")).get("role")
        if role == "assistant" and text(message.get("recipient")) not in ("", "all"):
            return name
        if role == "user":
            return None
        name, left = _parent(nodes.get(name)), left - 1
    return None

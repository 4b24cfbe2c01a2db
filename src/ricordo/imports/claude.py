"""Claude's export: a list of conversations whose messages answer each other by `parent_message_uuid`.

In: one conversation. Out: its branches as messages. Older exports have no parents: there the order of the list is the
order of the talk. Thinking is kept beside the message, tools as calls and results before it.
"""

from collections.abc import Iterator
from typing import Any

from ricordo.imports.conversation import Conversation, ImportedMessage, ImportProblem, branches, own_name, unread
from ricordo.imports.values import call, content_of, identifier, joined, listed, mapping, moment, rest, role_of, text
from ricordo.records.turns import Json

_KNOWN = ("uuid", "name", "created_at", "updated_at", "chat_messages")
_KNOWN_OF_MESSAGE = ("uuid", "sender", "text", "content", "created_at", "updated_at", "parent_message_uuid")


def claude(value: Any, place: str, fallback: str) -> Conversation | ImportProblem | None:
    """One conversation; None for an entry without messages."""
    fields = mapping(value)
    if not isinstance(fields.get("chat_messages"), list):
        return ImportProblem(place, "is not a conversation: expected an object with 'chat_messages'")
    messages: dict[str, Json] = {}
    for n, each in enumerate(fields["chat_messages"]):
        if mapping(each):
            messages[own_name(_id(each, n), each, messages)] = each
    if not messages:
        return None
    return Conversation(
        id=identifier(fields.get("uuid")) or fallback,
        place=place,
        paths=tuple(tuple(said for name in path for said in _said(name, messages[name])) for path in _paths(messages)),
        title=text(fields.get("name")),
        created_at=moment(fields.get("created_at")),
        updated_at=moment(fields.get("updated_at")),
        raw=rest(fields, *_KNOWN),
        unread=unread(place, enumerate(fields["chat_messages"])),
    )


def _id(message: Any, number: int) -> str:
    return identifier(mapping(message).get("uuid")) or f"#{number}"


def _paths(messages: dict[str, Json]) -> list[list[str]]:
    if not any("parent_message_uuid" in each for each in messages.values()):
        return [list(messages)]
    parents = {name: identifier(each.get("parent_message_uuid")) or None for name, each in messages.items()}
    dates = {name: moment(each.get("created_at")) for name, each in messages.items()}
    dated = [name for name in messages if dates[name]]
    # The export does not say which branch was last shown: the one that was written last is taken for it.
    newest = max(dated, key=lambda name: str(dates[name])) if dated else None
    return branches(parents, newest, lambda name: messages[name].get("sender") == "human")


def _said(name: str, message: Json) -> Iterator[ImportedMessage]:
    """A message, before it the tools that were used for it."""
    role, speaker = role_of(message.get("sender"))
    at = moment(message.get("created_at"), message.get("updated_at"))
    words, thoughts, called = [], [], ""
    for n, each in enumerate(listed(message.get("content"))):
        block = mapping(each)
        kind = block.get("type")
        if kind == "thinking":
            thoughts.append(text(block.get("thinking")))
        elif kind == "tool_use" and role == "assistant":
            called = identifier(block.get("id")) or f"{name}#{n}"
            made = call(text(block.get("name")), block.get("input", {}), called)
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
    content = joined(words) or text(message.get("text"))
    yield ImportedMessage(
        id=name,
        role=role,
        content=joined([content, *_files(attached)]),
        created_at=at,
        name=speaker,
        metadata={"thoughts": joined(thoughts) or None},
        raw=rest(message, *_KNOWN_OF_MESSAGE, "attachments", "files"),
    )


def _files(attached: list[Any]) -> Iterator[str]:
    """What was attached, by name and with the words that were read from it."""
    for each in attached:
        file = mapping(each)
        name = text(file.get("file_name"))
        if name or file.get("extracted_content"):
            yield joined([f"[file: {name or 'unnamed'}]", text(file.get("extracted_content"))])

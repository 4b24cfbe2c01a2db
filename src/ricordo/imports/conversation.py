"""The records between a foreign format and session documents: conversations, messages and problems; and message trees.

A format's reader returns a conversation as paths of messages, or a problem with its place. How messages become turns,
and under which ids, is decided for all formats in `ricordo.imports.session_documents`.
"""

import html
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, Literal

from ricordo.limits import EARLIEST, LATEST
from ricordo.records.turns import Json, Role

# A conversation or message that could not be read; a part that was left out; text that was repaired to be stored;
# a stored turn that is different in the export.
ProblemKind = Literal["damaged", "left out", "mended", "changed"]


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """A problem and its place. Reading continues after it."""

    place: str
    problem: str
    kind: ProblemKind = "damaged"

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message as it was read, not yet checked. `id` is its id in the export, or its place."""

    id: str
    role: Role
    content: str
    created_at: datetime | None = None
    tool_calls: tuple[Json, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    metadata: Json = field(default_factory=dict)
    raw: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation. `paths` are the current branch, then the others from where they leave it.

    With `notes` the order of messages has no meaning and new ones are appended. `problems` are those of its messages.
    """

    id: str
    place: str
    paths: tuple[tuple[ImportedMessage, ...], ...]
    title: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    tags: tuple[str, ...] = ()
    metadata: Json = field(default_factory=dict)
    raw: Json = field(default_factory=dict)
    notes: bool = False
    problems: tuple[ImportProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """A session document for `Memory.import_documents`, with its place and format."""

    format: str
    place: str
    document: Mapping[str, Any]
    notes: bool = False


def message_problems(place: str, messages: Iterable[tuple[int | str, Any]]) -> tuple[ImportProblem, ...]:
    """A problem for each message, by its number or name, that is not an object."""
    found = [name for name, message in messages if not isinstance(message, Mapping)]
    return tuple(ImportProblem(f"{place}, message {name!r}", "is not a message: expected an object") for name in found)


def unique_name(name: str, message: Json, named: Mapping[str, Json]) -> str:
    """A name for a message among those of its conversation: its id, with a suffix if another message has that id."""
    own, number = name, len(named)
    while own in named and named[own] != message:
        own, number = f"{name}#{number}", number + 1
    return own


Parents = Mapping[str, str | None]
MAX_SHARED = 4  # messages that branches may repeat from each other, as a multiple of the tree's messages


def branches(parents: Parents, current: str | None, opens_turn: Callable[[str], bool]) -> list[list[str]]:
    """The paths of a tree: the one that ends in `current`, then those of the other leaves, the latest first.

    `parents` is in the order of the file. Without a `current`, its last leaf is the current one.
    """
    answered = {parent for parent in parents.values() if parent is not None}
    leaves = [node for node in parents if node not in answered]
    ends = [*([current] if current in parents else []), *reversed(leaves)]
    taken: set[str] = set()
    paths = []
    left = MAX_SHARED * len(parents)  # otherwise one turn with a branch at each step would need quadratic space
    # After the leaves: the nodes of cycles, which no leaf leads to.
    for end in chain(ends, reversed(list(parents))):
        if end is not None and end not in taken:
            path = _climb(end, parents, taken, opens_turn, left)
            left -= sum(node in taken for node in path)
            taken.update(path)
            paths.append(path)
    return paths


def without_hidden(parents: Parents, hidden: Callable[[str], bool]) -> dict[str, str | None]:
    """The tree without its hidden nodes: a child of one becomes a child of its nearest visible ancestor."""
    above: dict[str, str | None] = {}

    def visible(node: str | None) -> str | None:
        passed = []
        while node is not None and node in parents and hidden(node):
            if node in above:
                node = above[node]
                break
            above[node] = None  # ends a cycle of hidden nodes
            passed.append(node)
            node = parents[node]
        found = node if node is not None and node in parents else None
        above.update(dict.fromkeys(passed, found))
        return found

    return {node: visible(parent) for node, parent in parents.items() if not hidden(node)}


def nearest_visible(parents: Parents, node: str | None, hidden: Callable[[str], bool]) -> str | None:
    """The node itself, or its nearest ancestor that is not hidden."""
    passed: set[str] = set()
    while node is not None and node in parents and node not in passed:
        if not hidden(node):
            return node
        passed.add(node)
        node = parents[node]
    return None


def _climb(
    end: str, parents: Parents, taken: set[str], opens_turn: Callable[[str], bool], most_shared: int
) -> list[str]:
    """The path to an end, from the root, or from the start of the turn in which it leaves the nodes already taken."""
    path: list[str] = []
    shared = 0
    passed: set[str] = set()
    node: str | None = end
    while node is not None and node in parents and node not in passed:
        if node in taken:
            if opens_turn(path[-1]) or shared == most_shared:
                break
            shared += 1
        passed.add(node)
        path.append(node)
        node = parents[node]
    return path[::-1]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FINER_FROM = 1e11  # as seconds this is the year 5138, as milliseconds 1973; and so on for micro- and nanoseconds
_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessagechunk": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
}


def mapping(value: Any) -> Json:
    return value if isinstance(value, Mapping) else {}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def identifier(*candidates: Any) -> str:
    """The first value that can be an id: text that is not blank, or an integer."""
    for each in candidates:
        if isinstance(each, str) and each.strip():
            return each
        if isinstance(each, int) and not isinstance(each, bool):
            return str(each)
    return ""


def parse_time(*candidates: Any) -> datetime | None:
    """The first value that is a time, in UTC to the microsecond."""
    for each in candidates:
        found = _parse_time(each)
        if found is not None and EARLIEST <= found <= LATEST:
            return found
    return None


def _parse_time(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, int | float):
            return _from_number(float(value))
        if isinstance(value, str) and value.strip():
            return _from_text(value.strip())
    except (ValueError, OverflowError):
        return None
    return None


def _from_number(number: float) -> datetime | None:
    if not math.isfinite(number) or number <= 0:
        return None
    for _ in range(3):
        number = number / 1_000 if number >= _FINER_FROM else number
    return _EPOCH + timedelta(microseconds=round(number * 1_000_000))


def _from_text(value: str) -> datetime | None:
    if value.replace(".", "", 1).isdigit():
        return _from_number(float(value))
    found = datetime.fromisoformat(value)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def role_of(value: Any) -> tuple[Role, str | None]:
    """The role for a foreign word; an unknown word is the name of a speaker with the role user."""
    word = text(value).strip()
    known = _ROLES.get(word.lower())
    return (known, None) if known else ("user", word or None)


def other_fields(fields: Json, *known: str) -> dict[str, Any]:
    """The fields that are not `known`, without empty ones."""
    return {key: value for key, value in fields.items() if key not in known and value not in (None, "", [], {}, False)}


def tool_call(name: str, arguments: Any, call_id: str) -> dict[str, Any]:
    """A tool call in the form that is stored."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    function = {"name": name or "unknown", "arguments": written}
    return {**({"id": call_id} if call_id else {}), "type": "function", "function": function}


def tool_calls_of(fields: Json) -> tuple[Json, ...]:
    """The tool calls of a message: of chat APIs, LangChain, or the older single `function_call`."""
    found = []
    for each in listed(fields.get("tool_calls")):
        inner = mapping(mapping(each).get("function"))
        if inner:
            found.append({**each, "type": "function"})
        elif mapping(each):
            name = text(each.get("name")) or text(each.get("tool_name"))
            arguments = each.get("args", each.get("arguments", each.get("tool_kwargs", {})))
            found.append(tool_call(name, arguments, identifier(each.get("id"), each.get("tool_id"))))
    older = mapping(fields.get("function_call"))
    if not found and older:
        found.append(tool_call(text(older.get("name")), older.get("arguments", ""), ""))
    return tuple(found)


def join_lines(parts: Iterable[str]) -> str:
    """The parts that are not blank, one per line."""
    return "\n".join(part for part in parts if part.strip())


def content_of(content: Any) -> tuple[str, list[Any]]:
    """The text of a message's content, with other parts (images, files) named in brackets; and those parts."""
    if isinstance(content, str):
        return content, []
    words, others = [], []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            words.append(part)
            continue
        fields = mapping(part)
        inner = fields.get("text")
        if isinstance(inner, Mapping):
            inner = inner.get("value")
        if isinstance(inner, str):
            words.append(inner)
        elif isinstance(fields.get("refusal"), str):
            words.append(fields["refusal"])
        elif fields:
            words.append(f"[{_kind_of(fields)}]")
            others.append(part)
    return join_lines(words), others


def _kind_of(part: Json) -> str:
    """The kind of a part that is not text, in one word."""
    kind = text(part.get("type")) or text(part.get("block_type")) or text(part.get("content_type"))
    for word in ("image", "audio", "video", "file", "document"):
        if word in kind:
            return word
    return kind.replace("]", " ").strip()[:40] or "attachment"


MAX_THOUGHTS = 8_000  # characters
# What the site shows as a link or a picture: 【3†source】, :contentReference[oaicite:0]{index=0}, and names between
# private characters, of which an entity is shown by its name.
_MARKS = re.compile(
    r"[ \t]*(?:【[^【】\n]*(?:†|oaicite)[^【】\n]*】|:contentReference\[oaicite:\d+\])(?:\{index=\d+\})?"
    "|[ \\t]*\ue200(?!entity)[^\ue200\ue201]*(?:\ue201|$)"
)
_ENTITY = re.compile("\ue200entity\ue202([^\ue200\ue201]*)\ue201")
_PRIVATE = re.compile("[\ue200-\ue20f]")
_REASONING = re.compile(
    r"<details\s[^<>]*type=\"reasoning\"[^<>]*>(.*?)(?:</details>|\Z)\s*"
    r"|<(think|thinking|reason|reasoning|thought)>(.*?)(?:</\2>|\Z)\s*"
    r"|<\|begin_of_thought\|>(.*?)(?:<\|end_of_thought\|>|\Z)\s*",
    re.DOTALL | re.IGNORECASE,
)
_SUMMARY = re.compile(r"<summary>.*?</summary>\s*", re.DOTALL)


def without_marks(words: str) -> str:
    """The text without the marks that only the site can show."""
    if "【" in words or "oaicite" in words or _PRIVATE.search(words):
        words = _PRIVATE.sub("", _ENTITY.sub(_entity, _MARKS.sub("", words)))
    return words


def _entity(found: re.Match[str]) -> str:
    """The name of an entity: the second of its fields."""
    try:
        fields = json.loads(found[1])
    except ValueError:
        return ""
    return text(fields[1]) if isinstance(fields, list) and len(fields) > 1 else ""


def split_reasoning(words: str) -> tuple[str, str]:
    """An answer without the blocks in which a model thought aloud, and those thoughts."""
    blocks = list(_REASONING.finditer(words))
    if not blocks:
        return words, ""
    thoughts = (next((group for group in (each[1], each[3], each[4]) if group), "") for each in blocks)
    reasoning = join_lines(html.unescape(_SUMMARY.sub("", each)).strip() for each in thoughts)
    return _REASONING.sub("", words).strip(), reasoning[:MAX_THOUGHTS] or "(empty)"

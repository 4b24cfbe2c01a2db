"""The records between a foreign format and session documents: conversations, messages and problems; and message trees.

A format's reader returns a conversation as paths of messages, or a problem with its place. How messages become turns,
and under which ids, is decided for all formats in `ricordo.imports.document`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, Literal

from ricordo.records.turns import Json, Role

# A conversation or message that could not be read; a part that was left out; text that was repaired to be stored;
# a stored turn that is different in the export.
ProblemKind = Literal["damaged", "left out", "mended", "changed"]


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """A problem and its place; reading continues after it."""

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
    left = MAX_SHARED * len(parents)  # else one endless turn with a branch at each step would grow quadratically
    # After the leaves come nodes that no leaf leads to: those of a cycle.
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

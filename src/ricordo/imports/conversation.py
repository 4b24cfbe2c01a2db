"""What every reader gives, whatever it reads: a conversation as paths of messages, or a problem with its place.

In: nothing. Out: the records between a foreign format and our documents. A reader says what it found and in which
order; how messages become turns, and under which ids, is decided once for all formats in `ricordo.imports.document`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ricordo.records.turns import Json, Role

# What stands in for a conversation that could not be read, for a part of it that was left out, for text that was
# mended so that it can be stored, and for words that are stored already and have changed since.
ProblemKind = Literal["damaged", "left out", "mended", "changed"]


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """What is wrong with one thing, and where it stands; everything else is still read."""

    place: str
    problem: str
    kind: ProblemKind = "damaged"

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message as a reader found it, not checked yet. `id` is the one it has over there, or its place."""

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
    """One conversation. `paths` are the branch that was last shown, then the others from where they leave it.

    `notes` tells that the order of its messages means nothing: what is new may simply be added at the end. `unread`
    are the problems with what stands among its messages and is none.
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
    unread: tuple[ImportProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """A session document, as `Memory.import_documents` takes it, where it was found and in which format."""

    format: str
    place: str
    document: Mapping[str, Any]
    notes: bool = False


def unread(place: str, messages: Iterable[tuple[int | str, Any]]) -> tuple[ImportProblem, ...]:
    """A problem for each of the numbered or named things that should be a message and is no object."""
    found = [name for name, message in messages if not isinstance(message, Mapping)]
    return tuple(ImportProblem(f"{place}, message {name!r}", "is not a message: expected an object") for name in found)


def own_name(name: str, message: Json, named: Mapping[str, Json]) -> str:
    """What to call a message among those of its talk: its id, or one more where another message has that id already."""
    own, number = name, len(named)
    while own in named and named[own] != message:
        own, number = f"{name}#{number}", number + 1
    return own


# A conversation that was edited and asked again is a tree; here it becomes paths that can be read one by one.

Parents = Mapping[str, str | None]
MOST_SHARED = 4  # times the messages of a tree, that its branches take along of each other; people's trees take less


def branches(parents: Parents, current: str | None, opens_turn: Callable[[str], bool]) -> list[list[str]]:
    """The paths of a tree: the one that ends in `current`, then those of the other leaves, the latest first.

    `parents` is in the order of the file. Without a `current`, its last leaf is the current one.
    """
    answered = {parent for parent in parents.values() if parent is not None}
    leaves = [node for node in parents if node not in answered]
    ends = [*([current] if current in parents else []), *reversed(leaves)]
    taken: set[str] = set()
    paths = []
    left = MOST_SHARED * len(parents)  # or a turn without end, left at every step, would be its own square
    # After the leaves come nodes that none of them leads to: those of a circle.
    for end in _each(ends, reversed(list(parents))):
        if end is not None and end not in taken:
            path = _climb(end, parents, taken, opens_turn, left)
            left -= sum(node in taken for node in path)
            taken.update(path)
            paths.append(path)
    return paths


def without(parents: Parents, hidden: Callable[[str], bool]) -> dict[str, str | None]:
    """The tree without some nodes: who answered one of them answers the nearest that is left above it."""
    above: dict[str, str | None] = {}

    def visible(node: str | None) -> str | None:
        passed = []
        while node is not None and node in parents and hidden(node):
            if node in above:
                node = above[node]
                break
            above[node] = None  # a circle of hidden nodes ends here
            passed.append(node)
            node = parents[node]
        found = node if node is not None and node in parents else None
        above.update(dict.fromkeys(passed, found))
        return found

    return {node: visible(parent) for node, parent in parents.items() if not hidden(node)}


def nearest(parents: Parents, node: str | None, hidden: Callable[[str], bool]) -> str | None:
    """The node itself, or the first above it that is not hidden."""
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
    """From an end up to the root, or into what is taken as far as the turn reaches; returned from the top down."""
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


def _each(*lists: Iterable[str | None]) -> Iterable[str | None]:
    for each in lists:
        yield from each

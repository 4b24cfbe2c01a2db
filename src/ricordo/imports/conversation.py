"""What every reader gives, whatever it reads: a conversation as paths of messages, or a problem with its place.

In: nothing. Out: the records between a foreign format and our documents. A reader says what it found and in which
order; how messages become turns, and under which ids, is decided once for all formats in `ricordo.imports.document`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ricordo.records import Json, Role

# What stands in for a conversation that could not be read, for a part of it that was left out, for text that was
# mended so that it can be stored, and for words that are stored already and have changed since.
ProblemKind = Literal["damaged", "left out", "mended", "changed"]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one thing, and where it stands; everything else is still read."""

    place: str
    problem: str
    kind: ProblemKind = "damaged"

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Said:
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
    paths: tuple[tuple[Said, ...], ...]
    title: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    tags: tuple[str, ...] = ()
    metadata: Json = field(default_factory=dict)
    raw: Json = field(default_factory=dict)
    notes: bool = False
    unread: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """A session document, as `Memory.import_documents` takes it, where it was found and in which format."""

    format: str
    place: str
    document: Mapping[str, Any]
    notes: bool = False


def unread(place: str, messages: Iterable[tuple[int | str, Any]]) -> tuple[Problem, ...]:
    """A problem for each of the numbered or named things that should be a message and is no object."""
    found = [name for name, message in messages if not isinstance(message, Mapping)]
    return tuple(Problem(f"{place}, message {name!r}", "is not a message: expected an object") for name in found)


def own_name(name: str, message: Json, named: Mapping[str, Json]) -> str:
    """What to call a message among those of its talk: its id, or one more where another message has that id already."""
    own, number = name, len(named)
    while own in named and named[own] != message:
        own, number = f"{name}#{number}", number + 1
    return own

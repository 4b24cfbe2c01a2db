"""What goes into a chat and what comes out: the request, the events of an answer in order, and the response.

Every interface (HTTP, command line, OpenAI-compatible endpoint) reads the same records.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.records.turns import DEFAULT_AGENT

if TYPE_CHECKING:
    from ricordo.documents.library import Passage
    from ricordo.records.prompt import Asked
    from ricordo.records.turns import Json
    from ricordo.session import AnyChunk


def never_stop() -> bool:
    """The default `stop`: the answer runs to its end."""
    return False


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a chat.

    `chunks` are the caller's own; without them the documents in `document_ids` are searched, or all that the user may
    read. `understood_as` is the user's own standalone question. `stop` is called between the pieces of the answer.
    """

    query: str
    user_id: str
    agent_id: str = DEFAULT_AGENT
    session_id: object = None
    turn_id: str | None = None
    chunks: Sequence["AnyChunk"] | None = None
    document_ids: Sequence[str] | None = None
    understood_as: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    stop: Callable[[], bool] = never_stop


class PassageSource(Protocol):
    """Finds passages for a question: the library, or the application's own search."""

    def find(self, request: ChatRequest, asked: "Asked", limit: int) -> Sequence["Passage"]:
        """At most `limit` passages, best first."""
        ...


@dataclass(frozen=True, slots=True)
class OfferedChunk:
    """A chunk that the answer may cite."""

    chunk_id: str
    text: str
    score: float | None = None
    document_id: str | None = None
    title: str | None = None

    @classmethod
    def of(cls, passage: "Passage") -> "OfferedChunk":
        """A passage as the response shows it."""
        return cls(passage.chunk.id, passage.chunk.text, passage.score, passage.document_id, passage.title)


@dataclass(frozen=True, slots=True)
class ReferenceInfo:
    """A resolved reference of a follow-up, as the response shows it."""

    turn_number: int
    kind: str
    label: str
    text: str
    chunk_ids: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """The complete answer. docs/answering.md says how `intent` and `confidence` are computed."""

    query: str
    message: str
    data: tuple[OfferedChunk, ...]
    intent: str
    confidence: float
    session_id: str
    metadata: "Json" = field(default_factory=dict)
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Started:
    """The question is stored; its session and turn."""

    session_id: str
    turn_id: str
    is_new_session: bool
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Understood:
    """The standalone question, its references and its intent."""

    standalone: str
    references: tuple[ReferenceInfo, ...]
    intent: str


@dataclass(frozen=True, slots=True)
class Clarify:
    """The reference is ambiguous: the clarification to ask."""

    question: str
    options: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class CrisisNotice:
    """A crisis was detected: the fixed notice. No model is called."""

    tier: int
    category: str
    notice: str
    helplines: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """The chunks that were found."""

    data: tuple[OfferedChunk, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is complete and stored."""

    response: ChatResponse


Event = Started | Understood | Clarify | CrisisNotice | Sources | Delta | Done

NAMES: Mapping[type, str] = {
    Started: "start",
    Understood: "understood",
    Clarify: "clarification",
    CrisisNotice: "crisis",
    Sources: "sources",
    Delta: "delta",
    Done: "done",
}


def as_json(event: Event) -> dict[str, Any]:
    """An event as plain JSON values."""
    return event.response.as_json() if isinstance(event, Done) else asdict(event)

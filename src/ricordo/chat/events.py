"""What happens while a chat answers, one frozen record each, in the order they come; every face reads the same."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ricordo.records.turns import Json


@dataclass(frozen=True, slots=True)
class Offered:
    """A passage that the answer may cite."""

    chunk_id: str
    text: str
    score: float | None = None
    document_id: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Pointed:
    """What a follow-up points at."""

    turn_number: int
    kind: str
    label: str
    text: str
    chunk_ids: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """The whole answer. `intent` and `confidence` are computed (docs/answering.md says how), never constants."""

    query: str
    message: str
    data: tuple[Offered, ...]
    intent: str
    confidence: float
    session_id: str
    metadata: Json = field(default_factory=dict)
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Started:
    """The question is kept; this is its session and turn."""

    session_id: str
    turn_id: str
    is_new_session: bool
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Understood:
    """What the question was taken to mean."""

    standalone: str
    references: tuple[Pointed, ...]
    intent: str


@dataclass(frozen=True, slots=True)
class Clarify:
    """It is not clear what is meant: this is asked back."""

    question: str
    options: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class CrisisNotice:
    """A sign of a crisis: the fixed notice, before any model."""

    tier: int
    category: str
    notice: str
    helplines: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """The passages that were found."""

    data: tuple[Offered, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is whole, and kept."""

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
    """What an event says, as plain JSON values."""
    return event.response.as_json() if isinstance(event, Done) else asdict(event)

"""What other rooms bring to a prompt: passages of stored messages, what was recalled, and what a question asks for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ricordo.records.turns import Message

if TYPE_CHECKING:
    from ricordo.followups.reference import Resolved

Reason = Literal["always", "recent", "referenced", "recalled", "fact", "summary", "cited", "asked"]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage of a stored message behind a label, kept by address like a line; without an `end`, to the end."""

    message: Message
    label: str = ""
    start: int = 0
    end: int | None = None

    @property
    def text(self) -> str:
        """The passage as it stands in the prompt."""
        return self.label + self.message.content[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A past message or fact brought back for this question; `excerpt` tells where its text is stored, if it is."""

    id: str
    text: str
    reason: Reason = "recalled"
    excerpt: Excerpt | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What to find chunks for: the question as it reads without the talk, and what it points at."""

    question: str
    references: "tuple[Resolved, ...]" = ()


@dataclass(frozen=True, slots=True)
class KnownContext:
    """The profile of the person, and the summary that covers the session's turns up to `covered`."""

    profile: str = ""
    summary: str = ""
    covered: int = 0
    degraded: tuple[str, ...] = ()

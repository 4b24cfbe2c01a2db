"""What a question turned out to mean, as records: what is bound, what competes, and the question that stands alone."""

from dataclasses import dataclass

from ricordo.followups.items import Item
from ricordo.followups.reference import Kind, Reference, main_kind
from ricordo.followups.standalone import Addition


@dataclass(frozen=True, slots=True)
class Resolved:
    """A reference bound to its turn: the item in full (or the whole answer) and the chunks it cites."""

    kind: Kind
    turn_number: int
    item: Item | None
    text: str
    chunk_ids: tuple[str, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the things an ambiguous reference may mean, named as the user would name it."""

    name: str
    turn_number: int
    item: Item | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a question means; with `candidates` it must be asked which, without references it is complete in itself."""

    question: str
    language: str
    references: tuple[Reference, ...]
    resolved: tuple[Resolved, ...]
    candidates: tuple[Candidate, ...]
    standalone: str
    additions: tuple[Addition, ...]
    rewritten_by: str = "rules"

    @property
    def kind(self) -> Kind | None:
        """The kind that decides how the question is read, None when it is complete in itself."""
        return main_kind(self.references)

    @property
    def ambiguous(self) -> bool:
        """Whether the user must say which is meant."""
        return bool(self.candidates)

"""The records of follow-ups: items of an answer, cues in a question, what they resolve to, and clarifications."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ricordo.languages.registry import language as language_by_code

if TYPE_CHECKING:
    from ricordo.languages.followup_words import FollowUpWords
    from ricordo.languages.text import WordSpans

LONGEST_FOLLOW_UP = 400
MOST_CANDIDATES = 6
ItemKind = Literal["number", "letter", "roman", "bullet", "heading", "row", "inline", "prose"]


@dataclass(frozen=True, slots=True)
class Item:
    """One point of an answer: `position` counts from 1 in its own list, `parent` is an index into the same tuple."""

    position: int
    label: str
    kind: ItemKind
    level: int
    text: str
    start: int
    end: int
    chunk_ids: tuple[str, ...] = ()
    parent: int | None = None


Origin = Literal["question", "answer", "item"]


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A stored turn as the rules need it; `items` are derived from the response if None.

    `told`: the answer only took note of what the user told, or gave it back, and so says nothing of its own.
    """

    turn_number: int
    query: str
    response: str = ""
    chunk_ids: tuple[str, ...] = ()
    items: tuple[Item, ...] | None = None
    told: bool = False


FindAnswer = Callable[[str], Sequence[PastTurn]]


@dataclass(frozen=True, slots=True)
class Talk:
    """The conversation, passed to every rule."""

    history: Sequence[PastTurn]
    language: "FollowUpWords"
    find_answer: FindAnswer | None = None
    question: str = ""
    # Misspelt words of the question and how the talk writes them.
    mended: Mapping[str, str] = field(default_factory=dict)

    def until(self, turn_number: int) -> "Talk":
        return Talk([t for t in self.history if t.turn_number <= turn_number], self.language)


Kind = Literal["comparison", "ordinal", "statement", "back", "continuation", "pronoun", "ellipsis"]


# When several kinds are found, the first of these is what the question is about.
KINDS: tuple[Kind, ...] = ("statement", "comparison", "ordinal", "back", "continuation", "pronoun", "ellipsis")


@dataclass(frozen=True, slots=True)
class Pick:
    """Which items of a list: places from 1 (negative: from the end, 0: the middle), a label, all, none, the next."""

    positions: tuple[int, ...] = ()
    label: str = ""
    every: bool = False
    count: int = 0
    negated: bool = False
    step: int = 0
    # All but `positions`; without any, all but the item last talked about.
    rest: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceCue:
    """A sign in a question that it refers to the conversation; `question[start:end]` are the words.

    One that `must_match` counts only if its `content` is found in the conversation; `one`: the content describes one
    item of a list. `part` is a new part for the last question (`corrects`: the last one was a mistake, `instead_of`:
    these words of it); `whole` takes the last question over as it is.
    """

    kind: Kind
    confidence: float
    start: int
    end: int
    text: str
    pick: Pick | None = None
    noun: str = ""
    content: str = ""
    plural: bool = False
    person: bool = False
    gender: str = ""
    must_match: bool = False
    one: bool = False
    # An ellipsis that replaces a part of the last question, or takes all of it over.
    part: str = ""
    instead_of: str = ""
    corrects: bool = False
    whole: bool = False
    # A verb without its subject.
    zero: bool = False
    # Words of the last answer are asked about; `noun` is the last of them.
    about: bool = False

    @classmethod
    def at(cls, span: tuple[int, int], line: "WordSpans", kind: Kind, confidence: float, **told: Any) -> "ReferenceCue":
        """The cue that stands at these offsets of a question."""
        return cls(kind, confidence, *span, line.original[slice(*span)], **told)


def main_kind(references: tuple[ReferenceCue, ...]) -> Kind | None:
    """The kind that decides how the question is read, None for a question complete in itself."""
    found = {reference.kind for reference in references}
    return next((kind for kind in KINDS if kind in found), None)


@dataclass(frozen=True, slots=True)
class Addition:
    """Words added to a standalone question, and where they come from."""

    text: str
    turn_number: int
    origin: Origin
    # What stood before the words in the talk; needed only where they take the place of a pronoun.
    article: str = field(default="", compare=False)


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
    """One of the meanings of an ambiguous reference, with the name to show."""

    name: str
    turn_number: int
    item: Item | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a question means; with `candidates` a clarification is needed, without references it is complete."""

    question: str
    language: str
    references: tuple[ReferenceCue, ...]
    resolved: tuple[Resolved, ...]
    candidates: tuple[Candidate, ...]
    standalone: str
    additions: tuple[Addition, ...]
    rewritten_by: str = "rules"

    @property
    def kind(self) -> Kind | None:
        """The kind that decides how the question is read, None when it is complete in itself."""
        return main_kind(self.references)


PATIENCE = timedelta(minutes=5)


OutcomeKind = Literal["answered", "unclear", "cancelled", "expired"]


@dataclass(frozen=True, slots=True)
class ClarificationKey:
    """Identifies a clarification: one session of one user of one tenant."""

    tenant_id: str
    user_id: str
    session_id: str


@dataclass(frozen=True, slots=True)
class ClarificationOption:
    """One of the options; `text` is the full text of an item."""

    name: str
    turn_number: int
    text: str = ""
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pending:
    """A clarification that waits for the user's answer."""

    question: str
    options: tuple[ClarificationOption, ...]
    language: str
    last_active_at: datetime
    patience: timedelta = PATIENCE

    @property
    def expires_at(self) -> datetime:
        """When it expires without an answer."""
        return self.last_active_at + self.patience

    @property
    def prompt(self) -> str:
        """The text to show: "Quale: A, B o C?"."""
        wording = followup_words(self.language).clarifying
        names = [option.name for option in self.options]
        options = f"{', '.join(names[:-1])} {wording.joiner} {names[-1]}" if len(names) > 1 else "".join(names)
        return wording.which.format(options=options)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effect of a message on a clarification; `question` is the completed question if it was answered."""

    kind: OutcomeKind
    chosen: tuple[ClarificationOption, ...] = ()
    question: str = ""
    pending: Pending | None = None


class ClarificationStates(Protocol):
    """A store of pending clarifications, shared by all processes that serve a session."""

    def may_be_pending(self, session_id: str) -> bool:
        """Whether a session of that id may have one, or any session if the id is empty; answers at once."""
        ...

    def get(self, key: ClarificationKey, now: datetime) -> Pending | None:
        """The pending clarification, possibly an expired one; None when there is none."""
        ...

    def put(self, key: ClarificationKey, pending: Pending) -> None:
        """Store a clarification, replacing another of the same session."""
        ...

    def delete(self, key: ClarificationKey) -> bool:
        """Remove it; True for exactly one of several callers."""
        ...

    def forget(self, tenant_id: str, user_id: str) -> int:
        """Remove everything of one user; returns how many."""
        ...


def followup_words(code: str) -> "FollowUpWords":
    """The follow-up table of a language by its code."""
    return language_by_code(code).followups

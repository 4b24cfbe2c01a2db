"""What is known of a person, as frozen records: facts, summaries, what was flagged, and the profile made of them.

Everything here is derived from turns and names the turns it came from; nothing here replaces them. `made_by` says
who derived it (`patterns`, `extractive`, `truncated`, or the name of a model), `origin` is the least trusted source.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

FactKind = Literal["name", "preference", "difficulty", "goal", "place", "date", "relation", "other"]
Trust = Literal["operator", "user_said", "user_edit", "assistant_said", "import", "tool", "document"]
SummaryKind = Literal["condensation", "session"]
FlagState = Literal["flagged", "quarantined", "released"]
Subject = Literal["message", "fact", "summary", "title", "tag", "chunk"]

FACT_KINDS: tuple[FactKind, ...] = ("name", "preference", "difficulty", "goal", "place", "date", "relation", "other")
TRUST: tuple[Trust, ...] = ("operator", "user_said", "user_edit", "assistant_said", "import", "tool", "document")


@dataclass(frozen=True, slots=True)
class Source:
    """Where something was said: a message of the user, and the words of it, verbatim."""

    message_id: str
    session_id: str
    quote: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One claim about a user in one sentence, heard by one agent, true from when it was said until it was not.

    `about` names what the claim decides ("name", "place:home"): of two facts about the same thing only the newer is
    true now. It is empty where nothing else can contradict the claim. A fact that was forgotten keeps its `digest`
    alone, so that it is not learned again, and no word of it.
    """

    id: str
    agent_id: str
    kind: FactKind
    text: str
    about: str
    digest: str
    language: str
    sources: tuple[Source, ...]
    recorded_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    superseded_by: str | None = None
    made_by: str = "patterns"
    origin: Trust = "user_said"
    forgotten: bool = False

    @property
    def is_instruction(self) -> bool:
        """Whether this is a standing wish for all later answers ("no emojis, ever")."""
        return self.about.startswith("instruction:")

    @property
    def shown_kind(self) -> str:
        """The kind as people see it: `instruction` for a standing wish."""
        return "instruction" if self.is_instruction else self.kind

    def known_at(self, moment: datetime) -> bool:
        """Whether this was what was known at that moment."""
        return not self.forgotten and self.valid_from <= moment and (self.valid_to is None or moment < self.valid_to)


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """All facts that one agent has of one owner, oldest first, and their revision."""

    facts: tuple[Fact, ...] = ()
    revision: int = 0


@dataclass(frozen=True, slots=True)
class FactChange:
    """What to write of an agent's facts, if they are still at `revision`.

    `learned` is, per session, the last turn that facts were extracted from.
    """

    revision: int
    put: tuple[Fact, ...] = ()
    learned: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """A condensed view of the turns `first_turn` to `last_turn` of a session; it never replaces them."""

    id: str
    session_id: str
    agent_id: str
    kind: SummaryKind
    text: str
    first_turn: int
    last_turn: int
    topics: tuple[str, ...]
    created_at: datetime
    tokens: int
    counter: str
    made_by: str
    origin: Trust = "user_said"


@dataclass(frozen=True, slots=True)
class Flag:
    """Something stored that looks suspicious: what, why, and whether it is kept away from prompts.

    Never with the text: `subject_id` is the id of the message, fact, summary or chunk. `rules` are the names of the
    signals. A crisis is noted the same way, with rules that begin with `crisis:`.
    """

    id: str
    subject: Subject
    subject_id: str
    session_id: str
    rules: tuple[str, ...]
    origin: Trust
    state: FlagState
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a user by an agent across sessions, ready for a prompt.

    `recent_summary` is of the last sessions together, `last_summary` of the last one alone.
    """

    recent_summary: str = ""
    key_facts: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    last_session_date: datetime | None = None
    last_summary: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self.recent_summary or self.key_facts or self.topics)

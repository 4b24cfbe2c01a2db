"""What is derived from turns, as records: facts, summaries, flags, profiles and topics.

Each record names the turns that it comes from and never replaces them. `made_by` is what derived it (`patterns`,
`extractive`, `truncated`, or the name of a model); `origin` is the trust level of its least trusted source.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Literal, get_args

from ricordo.records.values import record
from ricordo.topics.decay import DAY_SECONDS, DEFAULT_FADING, Fading, MemoryType, half_life, memory_type, priority

FactKind = Literal["name", "preference", "difficulty", "goal", "place", "date", "relation", "other"]
Trust = Literal["operator", "user_said", "user_edit", "assistant_said", "import", "tool", "document"]
SummaryKind = Literal["condensation", "session"]
FlagState = Literal["flagged", "quarantined", "released"]
Subject = Literal["message", "fact", "summary", "title", "tag", "chunk"]

FACT_KINDS: tuple[FactKind, ...] = get_args(FactKind)
TRUST: tuple[Trust, ...] = get_args(Trust)


@record
class Source:
    """Where a fact was said: a message of the user, and a verbatim quote of it."""

    message_id: str
    session_id: str
    quote: str


@record
class Fact:
    """One claim about a user in one sentence, known to one agent, valid from `valid_from` until `valid_to`.

    `about` is the subject that has one value at a time ("name", "place:home"): of two facts with the same `about` only
    the newer is true now. It is empty if no other fact can contradict the claim. A forgotten fact has lost its words
    and keeps its `digest`, so that it is not learned again. A `pinned` one is listed first. `confidence`, from 0 to 1,
    is that of its extractor.
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
    pinned: bool = False
    confidence: float = 1.0

    @property
    def is_instruction(self) -> bool:
        """Whether this is a standing wish for all later answers ("no emojis, ever")."""
        return self.about.startswith("instruction:")

    @property
    def shown_kind(self) -> str:
        """The kind that users are shown: `instruction` for a standing wish."""
        return "instruction" if self.is_instruction else self.kind

    def known_at(self, moment: datetime) -> bool:
        """Whether the fact was valid at that moment."""
        return not self.forgotten and self.valid_from <= moment and (self.valid_to is None or moment < self.valid_to)


@record
class KnownFacts:
    """All facts that an agent knows about an owner, oldest first, and their revision."""

    facts: tuple[Fact, ...] = ()
    revision: int = 0


@record
class FactChange:
    """A change of an agent's facts, which is applied only if they still have this `revision`.

    `learned` is the last turn, for each session, that facts were extracted from.
    """

    revision: int
    put: tuple[Fact, ...] = ()
    learned: tuple[tuple[str, int], ...] = ()


@record
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


@record
class Flag:
    """The note that something stored looks suspicious or shows a crisis; its `state` says whether prompts may have it.

    It never has the text: `subject_id` is the id of the message, fact, summary or chunk. `rules` are the names of the
    signals; those of a crisis begin with `crisis:`.
    """

    id: str
    subject: Subject
    subject_id: str
    session_id: str
    rules: tuple[str, ...]
    origin: Trust
    state: FlagState
    created_at: datetime


@record
class Profile:
    """What an agent knows about a user across sessions, ready for a prompt.

    `recent_summary` covers the last sessions, `last_summary` only the last one.
    """

    recent_summary: str = ""
    key_facts: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    last_session_date: datetime | None = None
    last_summary: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether it has no summary, fact or topic."""
        return not (self.recent_summary or self.key_facts or self.topics)


State = Literal["working", "archived"]
IMPORTANCE = "importance"  # metadata key of a turn: how important its topic is


@record
class Topic:
    """Messages about one thing. `message_count` counts all of them, `archived_count` those that are only in blocks.

    `hot` are the numbers of the turns whose text is in working memory, oldest first. `restored_count` is how many
    archived messages were restored since the last compaction. `embedder` made the centre; centres of two embedders
    must never be compared.
    """

    id: str
    title: str
    centre: bytes
    created_at: datetime
    last_active_at: datetime
    embedder: str = ""
    importance: float = 1.0
    access_count: int = 0
    message_count: int = 0
    archived_count: int = 0
    restored_count: int = 0
    hot: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    summary: str | None = None
    state: State = "working"

    def priority(self, now: datetime, fading: Fading = DEFAULT_FADING) -> float:
        """The priority at `now`: the importance, reduced by the time since its last use."""
        idle = (now - self.last_active_at).total_seconds()
        return priority(self.importance, idle, self.access_count, fading)

    def used(self, now: datetime, *, messages: int = 1, centre: bytes | None = None) -> "Topic":
        """This topic after one more use that added `messages` messages: active now, and in working memory."""
        return replace(
            self, centre=self.centre if centre is None else centre, last_active_at=max(now, self.last_active_at),
            access_count=self.access_count + 1, message_count=self.message_count + messages, state="working",
        )  # fmt: skip

    def weighed(self, importance: float) -> "Topic":
        """This topic with another importance, from 0 to 1."""
        if not 0 <= importance <= 1:
            raise ValueError(f"importance is {importance}, but it must be between 0 and 1")
        return replace(self, importance=importance)

    def tagged(self, tags: Iterable[str]) -> "Topic":
        """This topic with these tags, trimmed, each once, in the given order."""
        return replace(self, tags=tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip())))

    def moved(self, state: State) -> "Topic":
        """This topic with another state."""
        return replace(self, state=state)

    def stats(self, now: datetime, fading: Fading = DEFAULT_FADING) -> "TopicStats":
        """The figures that the command line, the server and the page show."""
        return TopicStats(
            topic_id=self.id, topic_title=self.title, active_messages=self.message_count - self.archived_count,
            compressed_messages=self.archived_count, total_messages=self.message_count,
            has_summary=bool(self.summary), importance_score=self.importance, access_count=self.access_count,
            memory_type=memory_type(self.access_count, fading),
            half_life_days=half_life(self.access_count, fading) / DAY_SECONDS,
            age_seconds=max((now - self.created_at).total_seconds(), 0.0),
            inactive_seconds=max((now - self.last_active_at).total_seconds(), 0.0),
        )  # fmt: skip


@record
class TopicStats:
    """A topic in figures; the names are part of the public contract."""

    topic_id: str
    topic_title: str
    active_messages: int
    compressed_messages: int
    total_messages: int
    has_summary: bool
    importance_score: float
    access_count: int
    memory_type: MemoryType
    half_life_days: float
    age_seconds: float
    inactive_seconds: float


@dataclass(frozen=True)
class TopicShelf:
    """The topics of a session. `through` is the newest turn that was assigned to one."""

    topics: tuple[Topic, ...] = ()
    through: int = 0
    revision: int = 0

    @cached_property
    def active(self) -> Topic | None:
        """The topic of the newest turn; small talk has no topic and does not count."""
        return max(self.topics, key=lambda topic: (max(topic.hot, default=0), topic.last_active_at), default=None)

    @cached_property
    def by_id(self) -> Mapping[str, Topic]:
        """The topics by their ids."""
        return {topic.id: topic for topic in self.topics}

    def topic(self, topic_id: str) -> Topic | None:
        """One topic by id."""
        return self.by_id.get(topic_id)


@record
class TopicChange:
    """A change of a session's topics: what to put, ids to remove, the topic of each assigned turn, the new `through`.

    `counted` is how many messages of each assigned turn are in the topics' counts. If a turn was answered or deleted
    since it was read, the store corrects the counts when it writes the change.
    """

    revision: int
    put: tuple[Topic, ...] = ()
    removed: tuple[str, ...] = ()
    assigned: Mapping[int, str] = field(default_factory=dict)
    through: int | None = None
    counted: Mapping[int, int] = field(default_factory=dict)

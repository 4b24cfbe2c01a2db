"""A topic: a group of a session's messages about one thing, as a frozen record, and its statistics.

The centre travels as bytes (six bits a dimension), the way it is stored, so that a topic is compared by content and a
store needs no conversion; `vectors.vector_of` gives the array. Change is by copy: `used`, `weighed`, `tagged`, `moved`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from ricordo.topics.decay import (
    DAY_SECONDS,
    DEFAULT_FADING,
    Fading,
    MemoryType,
    half_life,
    memory_type,
    priority,
)

State = Literal["working", "archived"]
IMPORTANCE = "importance"  # the metadata of a turn that says how important its topic is


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing talked about. `message_count` counts every message, `archived_count` those that only blocks hold.

    `hot` are the numbers of its turns in working memory, oldest first; the others only blocks hold.
    `restored_count` is how many messages the last restore brought back since the last compaction; `embedder` names
    whose space the centre lies in, because centres of two embedders must never be compared.
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
        """What the topic is worth at `now`."""
        idle = (now - self.last_active_at).total_seconds()
        return priority(self.importance, idle, self.access_count, fading)

    def used(self, now: datetime, *, messages: int = 1, centre: bytes | None = None) -> "Topic":
        """This topic after one more access that brought `messages` messages: refreshed, and back in working memory."""
        return replace(
            self,
            centre=self.centre if centre is None else centre,
            last_active_at=max(now, self.last_active_at),
            access_count=self.access_count + 1,
            message_count=self.message_count + messages,
            state="working",
        )

    def weighed(self, importance: float) -> "Topic":
        """This topic with its importance set by hand, between 0 and 1."""
        if not 0 <= importance <= 1:
            raise ValueError(f"importance is {importance}, but it must be between 0 and 1")
        return replace(self, importance=importance)

    def tagged(self, tags: Iterable[str]) -> "Topic":
        """This topic with these tags: blanks trimmed, doubles dropped, first come first."""
        return replace(self, tags=tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip())))

    def moved(self, state: State) -> "Topic":
        """This topic in working memory or in the archive."""
        return replace(self, state=state)

    def stats(self, now: datetime, fading: Fading = DEFAULT_FADING) -> "TopicStats":
        """The figures shown to people and programs."""
        return TopicStats(
            topic_id=self.id,
            topic_title=self.title,
            active_messages=self.message_count - self.archived_count,
            compressed_messages=self.archived_count,
            total_messages=self.message_count,
            has_summary=bool(self.summary),
            importance_score=self.importance,
            access_count=self.access_count,
            memory_type=memory_type(self.access_count, fading),
            half_life_days=half_life(self.access_count, fading) / DAY_SECONDS,
            age_seconds=max((now - self.created_at).total_seconds(), 0.0),
            inactive_seconds=max((now - self.last_active_at).total_seconds(), 0.0),
        )


@dataclass(frozen=True, slots=True)
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


# A session's topics as they are read and written: the shelf, and a change to it.


@dataclass(frozen=True, slots=True)
class TopicShelf:
    """The topics of a session. `through` is the newest turn that has found its topic."""

    topics: tuple[Topic, ...] = ()
    through: int = 0
    revision: int = 0

    def topic(self, topic_id: str) -> Topic | None:
        """One topic by id."""
        return next((topic for topic in self.topics if topic.id == topic_id), None)


@dataclass(frozen=True, slots=True)
class TopicChange:
    """What to write: topics new or changed, ids removed, turns assigned (number to topic id), how far it reaches.

    `counted` is how many messages of each assigned turn the topics count. A turn that was answered or deleted since it
    was read is counted as it is when the change is written, so that figures and turns never differ.
    """

    revision: int
    put: tuple[Topic, ...] = ()
    removed: tuple[str, ...] = ()
    assigned: Mapping[int, str] = field(default_factory=dict)
    through: int | None = None
    counted: Mapping[int, int] = field(default_factory=dict)

"""A session's topics as they are read and written: the shelf, and a change to it.

A change names the revision it was made from, so that two organisers never overwrite each other: the second one is
told, reads again and decides again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ricordo.topics.topic import Topic


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
    """What to write: topics new or changed, ids removed, turns assigned (number to topic id), how far it reaches."""

    revision: int
    put: tuple[Topic, ...] = ()
    removed: tuple[str, ...] = ()
    assigned: Mapping[int, str] = field(default_factory=dict)
    through: int | None = None

"""How topics fade: uses and idle time go in; half-life, decay factor, priority and the faded topics come out.

Pure functions of numbers in seconds; an age is the time since the topic was last active. The numbers come from the
`topics` settings (`fading_of`); `organise` archives or deletes what has faded.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from ricordo.records.values import record

if TYPE_CHECKING:
    from ricordo.records.derived import Topic
    from ricordo.settings import TopicSettings

MemoryType = Literal["short-term", "transitioning", "long-term"]

DAY_SECONDS = 86_400.0


@record
class Fading:
    """How fast topics fade: half-lives in seconds, uses per doubling, and the priority below which one has faded."""

    base_half_life: float = DAY_SECONDS
    max_half_life: float = 30 * DAY_SECONDS
    accesses_per_doubling: int = 5
    long_term_from: int = 10
    forget_below: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.base_half_life <= self.max_half_life:
            raise ValueError("base_half_life must be above 0 and at most max_half_life (seconds)")
        if self.accesses_per_doubling < 1 or self.long_term_from < self.accesses_per_doubling:
            raise ValueError("accesses_per_doubling must be at least 1 and at most long_term_from")
        if not 0 <= self.forget_below <= 1:
            raise ValueError("forget_below must be between 0 and 1")


DEFAULT_FADING = Fading()


def fading_of(settings: "TopicSettings") -> Fading:
    """The settings of topics as the numbers of decay, in seconds."""
    return Fading(
        base_half_life=settings.base_half_life.total_seconds(),
        max_half_life=max(settings.max_half_life, settings.base_half_life).total_seconds(),
        accesses_per_doubling=settings.access_threshold,
        long_term_from=2 * settings.access_threshold,
    )


def half_life(access_count: int, fading: Fading = DEFAULT_FADING) -> float:
    """Seconds after which a topic used `access_count` times is worth half: doubles every five uses, up to a cap."""
    # The limit of 64 keeps a huge count from overflowing; no cap is that high.
    doublings = min(max(access_count, 0) // fading.accesses_per_doubling, 64)
    return min(fading.base_half_life * 2.0**doublings, fading.max_half_life)


def decay(age: float, half_life: float) -> float:
    """What is left, in [0, 1], after `age` seconds without use. A negative age (a clock set back) counts as none."""
    return float(0.5 ** (max(age, 0.0) / half_life))


def priority(importance: float, age: float, access_count: int, fading: Fading = DEFAULT_FADING) -> float:
    """The topic's worth now: its importance, faded by the time since it was last active."""
    return importance * decay(age, half_life(access_count, fading))


def memory_type(access_count: int, fading: Fading = DEFAULT_FADING) -> MemoryType:
    """The kind of memory that a topic is in by its number of uses."""
    if access_count < fading.accesses_per_doubling:
        return "short-term"
    return "long-term" if access_count >= fading.long_term_from else "transitioning"


MAX_TOPICS = 20


def faded_topics(
    topics: Iterable["Topic"],
    now: datetime,
    *,
    active_id: str | None = None,
    max_topics: int = MAX_TOPICS,
    fading: Fading = DEFAULT_FADING,
) -> tuple[str, ...]:
    """The ids of the faded topics, lowest priority first; none while there are at most `max_topics` of them.

    All faded topics are returned, not only those over the limit, so that the next message need not evict again. Topics
    that have not faded stay however many there are, and so does the active one.
    """
    working = [topic for topic in topics if topic.state == "working"]
    if len(working) <= max_topics:
        return ()
    faded = [
        (worth, topic.last_active_at, topic.id)
        for topic in working
        if topic.id != active_id and (worth := topic.priority(now, fading)) < fading.forget_below
    ]
    return tuple(topic_id for _, _, topic_id in sorted(faded))

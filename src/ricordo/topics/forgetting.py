"""Which topics leave working memory, and in which order.

Topics and the moment go in, topic ids come out, the most faded first. Whether they go to the archive or are deleted is
the caller's policy; this only decides who goes.
"""

from collections.abc import Iterable
from datetime import datetime

from ricordo.topics.decay import DEFAULT_FADING, Fading
from ricordo.topics.topic import Topic

MAX_TOPICS = 20


def leaving(
    topics: Iterable[Topic],
    now: datetime,
    *,
    active_id: str | None = None,
    max_topics: int = MAX_TOPICS,
    fading: Fading = DEFAULT_FADING,
) -> tuple[str, ...]:
    """The ids of the faded topics, lowest priority first; none while there are at most `max_topics` of them.

    Every faded topic goes, not only as many as stand over the limit: the list then has room again, and the next
    message does not have to evict. A topic that has not faded stays however many there are, and so does the active one.
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

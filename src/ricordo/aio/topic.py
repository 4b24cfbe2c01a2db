"""`SessionTopic` for an event loop: the same calls, each in a worker thread."""

import asyncio
from typing import TYPE_CHECKING

from ricordo.records.turns import Turn

if TYPE_CHECKING:
    from ricordo.records.topics import Topic, TopicStats
    from ricordo.topics.session_topic import SessionTopic


class AsyncSessionTopic:
    """A handle on a topic; what it shows is read anew each time."""

    def __init__(self, topic: "SessionTopic") -> None:
        self._topic = topic
        self.id = topic.id

    async def read(self) -> "Topic":
        """See `SessionTopic.read`."""
        return await asyncio.to_thread(self._topic.read)

    async def stats(self) -> "TopicStats":
        """See `SessionTopic.stats`."""
        return await asyncio.to_thread(self._topic.stats)

    async def priority(self) -> float:
        """See `SessionTopic.priority`."""
        return await asyncio.to_thread(self._topic.priority)

    async def history(self) -> list[Turn]:
        """See `SessionTopic.history`."""
        return await asyncio.to_thread(self._topic.history)

    async def tag(self, *tags: str) -> "Topic":
        """See `SessionTopic.tag`."""
        return await asyncio.to_thread(self._topic.tag, *tags)

    async def weigh(self, importance: float) -> "Topic":
        """See `SessionTopic.weigh`."""
        return await asyncio.to_thread(self._topic.weigh, importance)

    async def feedback(self, value: float) -> "Topic":
        """See `SessionTopic.feedback`."""
        return await asyncio.to_thread(self._topic.feedback, value)

    async def near(self) -> list[tuple[str, float]]:
        """See `SessionTopic.near`."""
        return await asyncio.to_thread(self._topic.near)

    async def merge(self, other_id: str) -> "Topic":
        """See `SessionTopic.merge`."""
        return await asyncio.to_thread(self._topic.merge, other_id)

    async def export(self) -> str:
        """See `SessionTopic.export`."""
        return await asyncio.to_thread(self._topic.export)

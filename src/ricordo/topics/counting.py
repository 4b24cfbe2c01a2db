"""What a topic counts, taken from its turns: turns go in, the topic with the right figures comes out.

A topic counts questions and answers; what happened between them (tools, notes) travels with its turn and is not
counted. A turn whose block is damaged has no words to count, so the topic's own figure stands for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ricordo.records import Turn
from ricordo.topics.topic import Topic


def messages_in(turn: Turn) -> int:
    """How many messages of a turn its topic counts."""
    return (turn.question is not None) + (turn.answer is not None)


def with_hot(topic: Topic, hot: Iterable[Turn]) -> Topic:
    """The topic with these turns in working memory and everything else in the archive."""
    plain = sorted((turn for turn in hot if not turn.archived), key=lambda turn: turn.turn_number)
    count = sum(map(messages_in, plain))
    return replace(
        topic,
        hot=tuple(turn.turn_number for turn in plain),
        archived_count=max(topic.message_count - count, 0),
        restored_count=min(topic.restored_count, count),
    )


def counted(topic: Topic, turns: Sequence[Turn]) -> Topic:
    """The topic as all of its turns say."""
    total = sum(map(messages_in, turns))
    if any(turn.damage for turn in turns):
        total = max(total, topic.message_count)
    return with_hot(replace(topic, message_count=total), turns)

"""Topics of a session: what they are worth, how they fade, and what a person may do about it."""

from typing import Any

from fastapi import APIRouter

from ricordo.records import Block
from ricordo.server.asking import Asking, Person, known_id
from ricordo.server.shapes import inputs, talks
from ricordo.server.showing import topic_out
from ricordo.topics.topic import Topic
from ricordo.verbs.compaction import fading_of

router = APIRouter(prefix="/sessions/{session_id}/topics", tags=["topics"])


@router.get("", response_model=talks.TopicsOut)
def listing(session_id: str, person: Asking) -> dict[str, Any]:
    """The topics in the order they began, each with the curve of its fading."""
    session = person.session(session_id)
    found = session.topics()
    blocks = person.memory.store.blocks(person.owner, session.id)
    return {"items": [_out(person, topic, blocks) for topic in found], "degraded": list(found.degraded)}


@router.patch("/{topic_id}", response_model=talks.TopicOut)
def change(session_id: str, topic_id: str, body: inputs.TopicPatch, person: Asking) -> dict[str, Any]:
    """Tag a topic, or set its importance."""
    topic = person.session(session_id).topic(known_id("topic", topic_id))
    if body.tags is not None:
        topic.tag(*body.tags)
    if body.importance is not None:
        topic.weigh(body.importance)
    return _out(person, topic.read(), ())


@router.post("/{topic_id}/merge", response_model=talks.TopicOut)
def merge(session_id: str, topic_id: str, body: inputs.MergeIn, person: Asking) -> dict[str, Any]:
    """Make a topic part of another."""
    session = person.session(session_id)
    return _out(person, session.topic(body.into).merge(known_id("topic", topic_id)), ())


@router.post("/{topic_id}/feedback", response_model=talks.TopicOut)
def feedback(session_id: str, topic_id: str, body: inputs.FeedbackIn, person: Asking) -> dict[str, Any]:
    """Learn a topic's importance from a word of feedback."""
    return _out(
        person,
        person.session(session_id).topic(known_id("topic", topic_id)).feedback(1.0 if body.helpful else -1.0),
        (),
    )


def _out(person: Person, topic: Topic, blocks: Any) -> dict[str, Any]:
    held: list[Block] = [block for block in blocks if block.topic_id == topic.id]
    fading = fading_of(person.memory.settings.topics)
    return topic_out(topic, person.memory.clock.now(), fading, sum(len(block.body) for block in held))

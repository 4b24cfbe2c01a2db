"""Topics, blocks and traces as database rows and back: what both SQL stores share."""

import json
from typing import Any

from ricordo.errors import DamageError
from ricordo.records import Block, SessionMark, Trace, canonical
from ricordo.stores.rows import micros, moment
from ricordo.topics.topic import Topic

TOPIC_COLUMNS = (
    "topic_id, title, centre, embedder, created_at, last_active_at, importance, access_count, message_count, "
    "archived_count, restored_count, hot, tags, summary, state"
)
BLOCK_COLUMNS = "block_id, topic_id, turn_numbers, created_at, body"


def topic_to_row(topic: Topic) -> tuple[Any, ...]:
    """Values for TOPIC_COLUMNS."""
    return (
        topic.id,
        topic.title,
        topic.centre,
        topic.embedder,
        micros(topic.created_at),
        micros(topic.last_active_at),
        topic.importance,
        topic.access_count,
        topic.message_count,
        topic.archived_count,
        topic.restored_count,
        canonical(topic.hot),
        canonical(topic.tags),
        topic.summary,
        topic.state,
    )


def row_to_topic(row: Any) -> Topic:
    """The topic behind one row of TOPIC_COLUMNS."""
    (
        topic_id, title, centre, embedder, created, active, importance, accesses, messages,
        archived, restored, hot, tags, summary, state,
    ) = row  # fmt: skip
    try:
        return Topic(
            topic_id, title, bytes(centre), moment(created), moment(active), embedder, importance, accesses, messages,
            archived, restored, tuple(json.loads(hot)), tuple(json.loads(tags)), summary, state,
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"topic {topic_id!r} cannot be read back ({error}); run verify") from error


def block_to_row(block: Block) -> tuple[Any, ...]:
    """Values for BLOCK_COLUMNS."""
    return block.id, block.topic_id, canonical(block.turn_numbers), micros(block.created_at), block.body


def row_to_block(row: Any) -> Block:
    """The block behind one row of BLOCK_COLUMNS."""
    block_id, topic_id, turn_numbers, created, body = row
    try:
        return Block(block_id, topic_id, tuple(json.loads(turn_numbers)), moment(created), bytes(body))
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"archive block {block_id!r} cannot be read back ({error}); run verify") from error


def row_to_trace(row: Any) -> Trace:
    """The trace behind a row of session, number, embedder, checksum and body."""
    session_id, turn_number, embedder, checksum, body = row
    return Trace(session_id, turn_number, embedder, checksum, bytes(body))


def rows_to_marks(rows: Any) -> dict[str, SessionMark]:
    """Marks by session from rows of session, revision, newest number and count."""
    return {session_id: SessionMark(*numbers) for session_id, *numbers in rows}

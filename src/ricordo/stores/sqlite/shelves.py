"""Topics, blocks and traces as operations on a connection; the writing ones are inside a write transaction.

In: what the verbs of topics and recall want kept. Out: what is stored. What becomes of a topic or a block that loses
turns is decided in `ricordo.stores.shelving`; here are only the rows.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ricordo.records import Block, Owner, SessionMark, Trace
from ricordo.stores.rows import rows_to_turns, turn_to_row
from ricordo.stores.shelving import lessened, rewritten
from ricordo.stores.sqlite import statements as sql
from ricordo.stores.topic_rows import (
    block_to_row,
    row_to_block,
    row_to_topic,
    row_to_trace,
    rows_to_marks,
    topic_to_row,
)
from ricordo.topics.shelf import TopicChange, TopicShelf

Key = tuple[bytes, str]


def key_of(owner: Owner, session_id: str) -> Key:
    """What every statement about a session begins with."""
    return owner.key.bytes, session_id


def shelf(reader: sqlite3.Connection, key: Key) -> TopicShelf:
    """The topics of a session; the caller sees to one view of the file."""
    found = reader.execute(sql.SHELF, key).fetchall()
    if not found:
        return TopicShelf()
    return TopicShelf(tuple(row_to_topic(row) for row in reader.execute(sql.TOPICS, key).fetchall()), *found[0])


def put_topics(writer: sqlite3.Connection, key: Key, change: TopicChange) -> bool:
    """Apply a change, if nobody was faster."""
    if not writer.execute(sql.MOVE_SHELF, (change.through, *key, change.revision)).rowcount:
        return False
    for topic_id in change.removed:
        writer.execute(sql.DROP_TOPIC, (*key, topic_id))
        writer.execute(sql.UNASSIGN_TURNS, (*key, topic_id))
    writer.executemany(sql.PUT_TOPIC, [(*key, *topic_to_row(topic)) for topic in change.put])
    writer.executemany(sql.ASSIGN_TURN, [(topic_id, *key, number) for number, topic_id in change.assigned.items()])
    return True


def turns_of(reader: sqlite3.Connection, key: Key, topic_id: str) -> list[int]:
    """The numbers of a topic's turns."""
    return [number for (number,) in reader.execute(sql.TURNS_OF_TOPIC, (*key, topic_id))]


def archive(writer: sqlite3.Connection, key: Key, block: Block) -> bool:
    """Keep a block instead of the words of its turns: of all of them, or of none."""
    writer.execute("SAVEPOINT archive")
    writer.execute(sql.ADD_BLOCK, (*key, *block_to_row(block)))
    packed = [writer.execute(sql.ARCHIVE_TURN, (block.id, *key, number)).rowcount for number in block.turn_numbers]
    if not all(packed):
        writer.execute("ROLLBACK TO archive")
    writer.execute("RELEASE archive")
    return all(packed)


def blocks(reader: sqlite3.Connection, key: Key, topic_id: str | None) -> list[Block]:
    """The blocks of a session or of a topic."""
    values = {"owner": key[0], "session_id": key[1], "topic_id": topic_id}
    return [row_to_block(row) for row in reader.execute(sql.BLOCKS, values)]


def bodies(
    connection: sqlite3.Connection, owner: Owner, session_id: str, block_ids: Sequence[str]
) -> Mapping[str, bytes]:
    """The bytes of some blocks."""
    wanted = json.dumps(list(block_ids))
    return dict(connection.execute(sql.BLOCK_BODIES, (*key_of(owner, session_id), wanted)).fetchall())


def rehydrate(writer: sqlite3.Connection, owner: Owner, session_id: str, numbers: Iterable[int]) -> int:
    """Write the words of archived turns back into their rows."""
    key, came = key_of(owner, session_id), 0
    for number in numbers:
        rows = writer.execute(sql.TURN_BY_NUMBER, (*key, number)).fetchall()
        for turn in rows_to_turns(owner, rows, lambda session, ids: bodies(writer, owner, session, ids)):
            if not turn.archived or turn.damage:
                continue
            _, _, _, _, _, query, _, _, response, _, _, _, details, *_ = turn_to_row(turn)
            writer.execute(sql.REHYDRATE_TURN, (query, response, details, *key, number))
            came += 1
    return came


def release(writer: sqlite3.Connection, key: Key, numbers: Iterable[int]) -> int:
    """Let go of words that a block holds as well."""
    return sum(writer.execute(sql.RELEASE_TURN, (*key, number)).rowcount for number in numbers)


def tell_topics(writer: sqlite3.Connection, key: Key, gone: Sequence[Any]) -> None:
    """Topics that lost turns count again; one that lost all of them goes."""
    lost: dict[str, list[Any]] = {}
    for row in gone:
        if row[2]:
            lost.setdefault(row[2], []).append(row)
    if not lost:
        return
    for topic in shelf(writer, key).topics:
        rows = lost.get(topic.id, [])
        archived = sum(messages for *_, packed, messages in rows if packed)
        left = lessened(topic, {row[1] for row in rows}, sum(row[-1] for row in rows), archived)
        if left is None:
            writer.execute(sql.DROP_TOPIC, (*key, topic.id))
        elif rows:
            writer.execute(sql.PUT_TOPIC, (*key, *topic_to_row(left)))
    writer.execute(sql.TOUCH_SHELF, key)


def tell_blocks(writer: sqlite3.Connection, key: Key, touched: Iterable[str]) -> None:
    """Blocks that lost turns are written again without them; one that lost all of them goes."""
    for block_id in touched:
        rows = writer.execute(sql.BLOCK, (*key, block_id)).fetchall()
        if not rows:
            continue
        staying = dict(writer.execute(sql.TURNS_IN_BLOCK, (*key, block_id)).fetchall())
        block = rewritten(row_to_block(rows[0]), staying)
        if block is None:
            writer.execute(sql.DROP_BLOCK, (*key, block_id))
        else:
            _, _, turn_numbers, _, body = block_to_row(block)
            writer.execute(sql.SET_BLOCK, (turn_numbers, body, *key, block_id))


def marks(reader: sqlite3.Connection, owner: Owner) -> dict[str, SessionMark]:
    """How far every session has come."""
    return rows_to_marks(reader.execute(sql.MARKS, (owner.key.bytes,)))


def traces(reader: sqlite3.Connection, owner: Owner, embedder: str, session_id: str | None) -> list[Trace]:
    """The traces by one embedder."""
    values = {"owner": owner.key.bytes, "embedder": embedder, "session_id": session_id}
    return [row_to_trace(row) for row in reader.execute(sql.TRACES, values)]


def keep_traces(writer: sqlite3.Connection, owner: Owner, kept: Sequence[Trace]) -> None:
    """Write traces of turns that are still there."""
    writer.executemany(
        sql.KEEP_TRACE,
        [
            {
                "owner": owner.key.bytes,
                "session_id": trace.session_id,
                "turn_number": trace.turn_number,
                "embedder": trace.embedder,
                "checksum": trace.checksum,
                "body": trace.body,
            }
            for trace in kept
        ],
    )


def drop_traces(writer: sqlite3.Connection, owner: Owner, keep: str) -> int:
    """Remove the traces of other embedders."""
    return writer.execute(sql.DROP_OTHER_TRACES, (owner.key.bytes, keep)).rowcount

"""Topics, blocks and traces, as scripts of one transaction each; and turns with the words that only a block holds.

In: a transaction behind its owner's wall. Out: what is stored. What becomes of a topic or a block that loses turns is
decided in `ricordo.stores.topic_rules`; here are only the rows. Every script takes the session's row first.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ricordo.records.topics import Topic, TopicChange, TopicShelf
from ricordo.records.turns import Block, Message, Owner, TurnVectors, Turn, message_id
from ricordo.stores.archive.block import DamagedBlock
from ricordo.stores.derived_rows import (
    BLOCK_COLUMNS,
    TOPIC_COLUMNS,
    block_to_row,
    row_to_block,
    row_to_topic,
    topic_to_row,
)
from ricordo.stores.postgres import statements
from ricordo.stores.postgres import topic_statements as sql
from ricordo.stores.postgres.transaction import Row, Transaction
from ricordo.stores.topic_rules import (
    holds,
    lessened,
    messages_counted,
    recounted,
    replaces,
    returned,
    rewritten,
    unpacked,
)
from ricordo.stores.turn_rows import TURN_COLUMNS, rows_to_turns, turn_to_row

Key = dict[str, Any]
Words = Mapping[str, Mapping[str, Sequence[Message]]]  # block id, turn id -> what was said

_TURN_NAMES = TURN_COLUMNS.split(", ")
_SESSION_ID, _BLOCK_ID = _TURN_NAMES.index("session_id"), _TURN_NAMES.index("block_id")


class Gone(NamedTuple):
    """A turn that was removed, as its row tells; `asked` is a guess where only a block held the question."""

    session_id: str
    turn_number: int
    turn_id: str
    topic_id: str | None
    block_id: str | None
    archived: bool
    asked: bool
    answered: bool

    def messages(self, words: Words) -> int:
        """How many messages its topic counted."""
        asked = self.asked
        if self.archived and self.block_id and self.block_id in words:
            said = words[self.block_id].get(self.turn_id, ())
            asked = any(message.id == message_id(self.turn_id, "query") for message in said)
        return asked + self.answered


def key_of(owner: Owner, session_id: str) -> Key:
    """What every statement about a session is given."""
    return {"owner": owner.key, "session_id": session_id}


def to_turns(owner: Owner, rows: Iterable[Row]) -> list[Turn]:
    """Turns behind rows that end with the bytes of their block, if only the block has the words."""
    found = list(rows)
    bodies: dict[str, dict[str, bytes]] = {}
    for row in found:
        if row[-1] is not None:
            bodies.setdefault(row[_SESSION_ID], {})[row[_BLOCK_ID]] = row[-1]
    return rows_to_turns(owner, [row[:-1] for row in found], lambda session_id, _: bodies.get(session_id, {}))


def to_shelf(rows: Sequence[Row]) -> TopicShelf:
    """The shelf behind rows of its two counters and a topic."""
    if not rows:
        return TopicShelf()
    through, revision, *_ = rows[0]
    return TopicShelf(tuple(row_to_topic(row[2:]) for row in rows if row[2] is not None), through, revision)


def put_topics(transaction: Transaction, key: Key, change: TopicChange) -> bool:
    """Apply a change, if nobody was faster."""
    moved = {**key, "through": change.through, "revision": change.revision}
    if transaction.send(sql.MOVE_SHELF, moved).fetchone() is None:
        transaction.abandon()
        return False
    if change.removed:
        removed = {**key, "topic_ids": list(change.removed)}
        transaction.send(sql.REMOVE_TOPICS, removed)
        transaction.send(sql.UNASSIGN_TURNS, removed)
    _put(transaction, key, change.put)
    if change.assigned:
        numbers, topic_ids = list(change.assigned), list(change.assigned.values())
        transaction.send(sql.ASSIGN_TURNS, {**key, "numbers": numbers, "topic_ids": topic_ids})
    return True


def archive(transaction: Transaction, owner: Owner, session_id: str, block: Block) -> bool:
    """Keep a block instead of the words of its turns: of all of them, or of none."""
    key, numbers = key_of(owner, session_id), list(block.turn_numbers)
    locked = transaction.send(statements.LOCK_SESSION, key)
    rows = transaction.send(statements.TURNS_BY_NUMBER, {**key, "numbers": numbers})
    taken = transaction.send(sql.BLOCKS_BY_ID, {**key, "block_ids": [block.id]})
    found = {turn.turn_number: turn for turn in to_turns(owner, rows)}
    free = locked.fetchone() is not None and taken.fetchone() is None
    if not free or not replaces(block, [found.get(number) for number in numbers]):
        transaction.abandon()
        return False
    transaction.send(sql.KEEP_BLOCK, {**key, **_named(BLOCK_COLUMNS, block_to_row(block))})
    transaction.send(sql.ARCHIVE_TURNS, {**key, "block_id": block.id, "numbers": numbers})
    return True


def rehydrate(transaction: Transaction, owner: Owner, session_id: str, numbers: Sequence[int]) -> int:
    """Write the words of archived turns back into their rows; how many."""
    key = key_of(owner, session_id)
    found = _held_turns(transaction, owner, session_id, numbers)
    back = [turn for turn in found if turn.archived and not turn.damage]
    transaction.send_many(sql.REHYDRATE_TURN, [{**_named(TURN_COLUMNS, turn_to_row(turn)), **key} for turn in back])
    return len(back)


def release(transaction: Transaction, owner: Owner, session_id: str, numbers: Sequence[int]) -> int:
    """Let go of words that a block holds as well: never of the only copy, should the block be damaged."""
    key = key_of(owner, session_id)
    found = _held_turns(transaction, owner, session_id, numbers)
    plain = [turn for turn in found if turn.block_id and not turn.archived]
    if not plain:
        return 0
    went = 0
    for block in _blocks(transaction, key, {turn.block_id for turn in plain}):
        held = sorted(holds(block, [turn for turn in plain if turn.block_id == block.id]))
        transaction.send(sql.ARCHIVE_TURNS, {**key, "block_id": block.id, "numbers": held})
        went += len(held)
    return went


def leave_block(transaction: Transaction, before: Turn) -> None:
    """Make a turn plain because something was added to it; its block and its topic are told."""
    if before.block_id is None:
        return
    key = key_of(before.owner, before.session_id)
    here = {**_named(TURN_COLUMNS, turn_to_row(before)), **key}
    transaction.send(sql.LEAVE_BLOCK, here)
    _rewrite_blocks(transaction, key, _blocks(transaction, key, {before.block_id}))
    if before.archived:
        shelf = to_shelf(transaction.send(sql.SHELF, key).fetchall())
        topic = shelf.topic(before.topic_id or "")
        if topic:
            _put(transaction, key, [returned(topic, before)])
            transaction.send(sql.TOUCH_SHELF, key)


def tell(transaction: Transaction, owner: Owner, session_id: str, gone: Sequence[Gone]) -> None:
    """Topics that lost turns count again, blocks that did are packed again; what has lost all of them goes.

    The session is held already.
    """
    if not any(each.topic_id or each.block_id for each in gone):
        return
    key = key_of(owner, session_id)
    blocks = _blocks(transaction, key, {each.block_id for each in gone})
    _lessen_topics(transaction, owner, key, gone, _words(blocks))
    _rewrite_blocks(transaction, key, blocks)


def keep_traces(transaction: Transaction, owner: Owner, traces: Sequence[TurnVectors]) -> None:
    """Write traces of turns that are still there; in order, so that two who do never wait for each other."""
    session_ids = sorted({trace.session_id for trace in traces})
    transaction.send(sql.HOLD_SESSIONS, {"owner": owner.key, "session_ids": session_ids})
    transaction.send_many(
        sql.KEEP_TRACE,
        [
            {
                "owner": owner.key,
                "session_id": trace.session_id,
                "turn_number": trace.turn_number,
                "embedder": trace.embedder,
                "checksum": trace.checksum,
                "body": trace.body,
            }
            for trace in sorted(traces, key=lambda trace: (trace.session_id, trace.turn_number, trace.embedder))
        ],
    )


def _held_turns(transaction: Transaction, owner: Owner, session_id: str, numbers: Sequence[int]) -> list[Turn]:
    """Turns of a session that is held from now on; none if it is not there to be held."""
    key = key_of(owner, session_id)
    locked = transaction.send(statements.LOCK_SESSION, key)
    rows = transaction.send(statements.TURNS_BY_NUMBER, {**key, "numbers": list(numbers)}, binary=True)
    return to_turns(owner, rows) if locked.fetchone() else []


def _lessen_topics(transaction: Transaction, owner: Owner, key: Key, gone: Sequence[Gone], words: Words) -> None:
    lost: dict[str, list[Gone]] = {}
    for each in gone:
        if each.topic_id:
            lost.setdefault(each.topic_id, []).append(each)
    if not lost:
        return
    shelf = transaction.send(sql.SHELF, key)
    alive = {topic_id for (topic_id,) in transaction.send(sql.TOPICS_WITH_TURNS, {**key, "topic_ids": list(lost)})}
    told = [topic for topic in to_shelf(shelf.fetchall()).topics if topic.id in lost]
    if not told:
        return
    empty = [topic.id for topic in told if topic.id not in alive]
    transaction.send(sql.REMOVE_TOPICS, {**key, "topic_ids": empty})
    numbers = {each.turn_number for each in gone}
    for topic in told:
        if topic.id in alive:
            counts = _counts([(each.archived, each.messages(words)) for each in lost[topic.id]])
            left = lessened(topic, numbers, *counts)
            _put(transaction, key, [left or _recounted(transaction, owner, key, topic, numbers)])
    transaction.send(sql.TOUCH_SHELF, key)


def _recounted(transaction: Transaction, owner: Owner, key: Key, topic: Topic, gone: Collection[int]) -> Topic:
    turns = to_turns(owner, transaction.send(statements.TURNS_BY_TOPIC, {**key, "topic_id": topic.id}))
    return recounted(topic, gone, *_counts([(turn.archived, messages_counted(turn)) for turn in turns]))


def _counts(counted: Sequence[tuple[bool, int]]) -> tuple[int, int]:
    """All messages, and those that only blocks hold."""
    return sum(n for _, n in counted), sum(n for archived, n in counted if archived)


def _blocks(transaction: Transaction, key: Key, block_ids: Iterable[str | None]) -> list[Block]:
    wanted = sorted(block_id for block_id in block_ids if block_id)
    if not wanted:
        return []
    return [row_to_block(row) for row in transaction.send(sql.BLOCKS_BY_ID, {**key, "block_ids": wanted})]


def _rewrite_blocks(transaction: Transaction, key: Key, blocks: Sequence[Block]) -> None:
    """Pack blocks again with the turns that are still in them."""
    if not blocks:
        return
    named = [number for block in blocks for number in block.turn_numbers]
    staying: dict[str, dict[str, int]] = {block.id: {} for block in blocks}
    for block_id, turn_id, number in transaction.send(sql.TURNS_IN_BLOCKS, {**key, "numbers": named}):
        if block_id in staying:
            staying[block_id][turn_id] = number
    for block in blocks:
        left = rewritten(block, staying[block.id])
        if left is not None:
            transaction.send(sql.REWRITE_BLOCK, {**key, **_named(BLOCK_COLUMNS, block_to_row(left))})
        else:
            gone = {**key, "block_id": block.id, "numbers": list(staying[block.id].values())}
            transaction.send(sql.LOSE_BLOCK, gone)
            transaction.send(sql.REMOVE_BLOCK, gone)


def _words(blocks: Sequence[Block]) -> Words:
    words = {}
    for block in blocks:
        with suppress(DamagedBlock):
            words[block.id] = unpacked(block.id, block.body)
    return words


def _put(transaction: Transaction, key: Key, topics: Sequence[Topic]) -> None:
    transaction.send_many(sql.PUT_TOPIC, [{**key, **_named(TOPIC_COLUMNS, topic_to_row(topic))} for topic in topics])


def _named(columns: str, row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(columns.split(", "), row, strict=True))

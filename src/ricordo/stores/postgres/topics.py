"""Topics with their archive, and the vectors of turns: each method is one read or one script.

`ricordo.stores.topic_rules` decides what happens to a topic or a block that loses turns; here are only the rows. Every
script locks the session's row first. Vectors are read in pages, because those of one owner may not fit in memory.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ricordo.records.derived import Topic, TopicChange, TopicShelf
from ricordo.records.turns import Block, IndexedTurn, Owner, Turn, TurnVectors, message_id
from ricordo.stores import topic_rules
from ricordo.stores.archive.block import DamagedBlock, MessageRow
from ricordo.stores.derived_rows import BLOCK_ROWS, TOPIC_ROWS
from ricordo.stores.postgres import derived_statements as sql
from ricordo.stores.postgres import turn_statements
from ricordo.stores.postgres.transaction import PostgresPart, Row, Transaction, long_script, named, script
from ricordo.stores.turn_rows import TURN_COLUMNS, rows_to_turns, turn_to_row
from ricordo.stores.write_rules import grouped

VECTORS_PER_PAGE = 1000
INDEXED_PER_PAGE = 8000

Key = dict[str, Any]
Messages = Mapping[str, Mapping[str, Sequence[MessageRow]]]  # block id, turn id -> messages

_TURN_NAMES = TURN_COLUMNS.split(", ")
_SESSION_ID, _BLOCK_ID = _TURN_NAMES.index("session_id"), _TURN_NAMES.index("block_id")


class PostgresTopics(PostgresPart):
    """`TopicStore` on PostgreSQL."""

    def load(self, owner: Owner, session_id: str) -> TopicShelf:
        return to_shelf(self._transactions.read(owner, sql.TOPICS, session_id=session_id))

    @script()
    def put(self, transaction: Transaction, owner: Owner, session_id: str, change: TopicChange) -> bool:
        key = key_of(owner, session_id)
        moved = {**key, "through": change.through, "revision": change.revision}
        if transaction.send(sql.MOVE_TOPICS, moved).fetchone() is None:
            transaction.rollback()
            return False
        if change.removed:
            removed = {**key, "topic_ids": list(change.removed)}
            transaction.send(sql.DELETE_TOPICS_BY_ID, removed)
            transaction.send(sql.UNASSIGN_TURNS, removed)
            transaction.send(sql.EMPTY_TOPICS, removed)
        put = change.put
        if change.counted:
            rows = transaction.send(sql.MESSAGES_OF_TURNS, {**key, "numbers": list(change.counted)})
            put = topic_rules.as_counted(change, dict(rows.fetchall()))
        put_topics(transaction, key, put)
        if change.assigned:
            numbers, topic_ids = list(change.assigned), list(change.assigned.values())
            transaction.send(sql.LEAVE_TOPICS, {**key, "numbers": numbers})
            transaction.send(sql.ASSIGN_TURNS, {**key, "numbers": numbers, "topic_ids": topic_ids})
            transaction.send(sql.ADD_TO_TOPICS, {**key, "numbers": numbers})
        return True

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        rows = self._transactions.read(owner, sql.TURNS_OF_TOPIC, session_id=session_id, topic_id=topic_id)
        return [number for (number,) in rows]

    @script()
    def archive(self, transaction: Transaction, owner: Owner, session_id: str, block: Block) -> bool:
        key, numbers = key_of(owner, session_id), list(block.turn_numbers)
        locked = transaction.send(turn_statements.LOCK_SESSION, key)
        rows = transaction.send(turn_statements.TURNS_BY_NUMBER, {**key, "numbers": numbers})
        taken = transaction.send(sql.BLOCKS_BY_ID, {**key, "block_ids": [block.id]})
        found = {turn.turn_number: turn for turn in to_turns(owner, rows)}
        free = locked.fetchone() is not None and taken.fetchone() is None
        if not free or not topic_rules.replaces(block, [found.get(number) for number in numbers]):
            transaction.rollback()
            return False
        transaction.send(sql.ADD_BLOCK, {**key, **BLOCK_ROWS.named(block)})
        transaction.send(sql.ARCHIVE_TURNS, {**key, "block_id": block.id, "numbers": numbers})
        _count_open(transaction, key, found.values())
        _change_topics(transaction, key, found.values(), topic_rules.archived)
        return True

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        rows = self._transactions.read(owner, sql.BLOCKS, session_id=session_id, topic_id=topic_id)
        return [BLOCK_ROWS.read(row) for row in rows]

    @long_script
    def rehydrate(self, transaction: Transaction, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        key = key_of(owner, session_id)
        found = _locked_turns(transaction, owner, session_id, turn_numbers)
        back = [turn for turn in found if turn.archived and not turn.damage]
        transaction.send_many(sql.REHYDRATE_TURN, [{**named(TURN_COLUMNS, turn_to_row(turn)), **key} for turn in back])
        _count_open(transaction, key, back)
        _change_topics(transaction, key, back, topic_rules.returned)
        return len(back)

    @long_script
    def release(self, transaction: Transaction, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        key = key_of(owner, session_id)
        found = _locked_turns(transaction, owner, session_id, turn_numbers)
        plain = [turn for turn in found if turn.block_id and not turn.archived]
        if not plain:
            return 0
        went = 0
        for block in _blocks(transaction, key, {turn.block_id for turn in plain}):
            stored = sorted(topic_rules.holds(block, [turn for turn in plain if turn.block_id == block.id]))
            transaction.send(sql.ARCHIVE_TURNS, {**key, "block_id": block.id, "numbers": stored})
            _count_open(transaction, key, plain)
            _change_topics(
                transaction, key, [turn for turn in plain if turn.turn_number in stored], topic_rules.archived
            )
            went += len(stored)
        return went


class PostgresVectors(PostgresPart):
    """`VectorStore` on PostgreSQL."""

    def read(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        statement = sql.VECTORS if session_id is None else sql.SESSION_VECTORS
        for session, number, *rest in self._rows(owner, statement, embedder, VECTORS_PER_PAGE, session_id or ""):
            yield TurnVectors(session, number, embedder, *rest)

    def turns(self, owner: Owner, embedder: str) -> Iterator[IndexedTurn]:
        return map(IndexedTurn._make, self._rows(owner, sql.INDEXED_TURNS, embedder, INDEXED_PER_PAGE))

    def _rows(self, owner: Owner, statement: str, embedder: str, limit: int, session_id: str = "") -> Iterator[Row]:
        after = {"session_id": session_id, "turn_number": 0}
        while True:
            rows = self._transactions.read_lagging(
                owner, statement, embedder=embedder_id(embedder), limit=limit, **after
            )
            yield from rows
            if len(rows) < limit:
                return
            after = {"session_id": rows[-1][0], "turn_number": rows[-1][1]}

    @long_script
    def write(self, transaction: Transaction, owner: Owner, vectors: Sequence[TurnVectors]) -> None:
        # In order, so that two writers never deadlock.
        session_ids = sorted({each.session_id for each in vectors})
        transaction.send(sql.SHARE_SESSIONS, {"owner": owner.key, "session_ids": session_ids})
        transaction.send_many(
            sql.PUT_VECTORS,
            [
                {
                    "owner": owner.key,
                    "session_id": each.session_id,
                    "turn_number": each.turn_number,
                    "embedder": embedder_id(each.embedder),
                    "checksum": each.checksum,
                    "body": each.body,
                    "words": each.words or None,
                }
                for each in sorted(vectors, key=lambda each: (each.session_id, each.turn_number, each.embedder))
            ],
        )

    def drop(self, owner: Owner, *, keep: str) -> int:
        values = {"owner": owner.key, "keep": embedder_id(keep)}
        return self._transactions.run_long(owner, lambda tx: tx.send(sql.DELETE_OTHER_VECTORS, values)).rowcount


def embedder_id(name: str) -> str:
    """The short form of an embedder's name for the rows; migration 0007 has converted older rows to it."""
    return hashlib.sha256(name.encode()).hexdigest()[:12]


class DeletedTurn(NamedTuple):
    """A deleted turn, from its row; `asked` is a guess for an archived turn, until its block is read."""

    session_id: str
    turn_number: int
    turn_id: str
    topic_id: str | None
    block_id: str | None
    archived: bool
    asked: bool
    answered: bool

    def messages(self, archived: Messages) -> int:
        """How many messages its topic counted."""
        asked = self.asked
        if self.archived and self.block_id and self.block_id in archived:
            rows = archived[self.block_id].get(self.turn_id, ())
            asked = any(row[0] == message_id(self.turn_id, "query") for row in rows)
        return asked + self.answered


def key_of(owner: Owner, session_id: str) -> Key:
    """The parameters of every statement about a session."""
    return {"owner": owner.key, "session_id": session_id}


def to_turns(owner: Owner, rows: Iterable[Row]) -> list[Turn]:
    """Turns from rows that end with the bytes of their block, for turns whose text is only there."""
    found = list(rows)
    bodies: dict[str, dict[str, bytes]] = {}
    for row in found:
        if row[-1] is not None:
            bodies.setdefault(row[_SESSION_ID], {})[row[_BLOCK_ID]] = row[-1]
    return rows_to_turns(owner, [row[:-1] for row in found], lambda session_id, _: bodies.get(session_id, {}))


def to_shelf(rows: Sequence[Row]) -> TopicShelf:
    """The topics of a session from rows of its two counters and a topic."""
    if not rows:
        return TopicShelf()
    through, revision, *_ = rows[0]
    return TopicShelf(tuple(TOPIC_ROWS.read(row[2:]) for row in rows if row[2] is not None), through, revision)


def _count_open(transaction: Transaction, key: Key, turns: Iterable[Turn]) -> None:
    """Count the open turns of a session again if some were moved into a block or out of it."""
    if any(turn.is_open for turn in turns):
        transaction.send(turn_statements.COUNT_SESSION, key)


def leave_block(transaction: Transaction, before: Turn) -> None:
    """Take a turn that was added to out of its block, and update its block and its topic."""
    if before.block_id is None:
        return
    key = key_of(before.owner, before.session_id)
    here = {**named(TURN_COLUMNS, turn_to_row(before)), **key}
    transaction.send(sql.LEAVE_BLOCK, here)
    _rewrite_blocks(transaction, key, _blocks(transaction, key, {before.block_id}))
    if before.archived:
        _change_topics(transaction, key, [before], topic_rules.returned)


def count_answer(transaction: Transaction, turn: Turn) -> None:
    """Count the answer of a turn that was answered after it was assigned to a topic."""
    _change_topics(
        transaction, key_of(turn.owner, turn.session_id), [turn], lambda topic, _: topic_rules.answered(topic)
    )


def _change_topics(
    transaction: Transaction, key: Key, turns: Iterable[Turn], change: Callable[[Topic, list[Turn]], Topic]
) -> None:
    """Change the figures of the topics of these turns, in the transaction that changes the turns."""
    groups = grouped(turns, lambda turn: turn.topic_id)
    if not groups:
        return
    shelf = to_shelf(transaction.send(sql.TOPICS, key).fetchall())
    changed = [change(topic, groups[topic.id]) for topic in shelf.topics if topic.id in groups]
    if changed:
        put_topics(transaction, key, changed)
        transaction.send(sql.TOUCH_TOPICS, key)


def after_deletion(transaction: Transaction, owner: Owner, session_id: str, deleted: Sequence[DeletedTurn]) -> None:
    """Count topics and pack blocks again without the deleted turns; those without turns left are deleted.

    The session is locked already.
    """
    if not any(turn.topic_id or turn.block_id for turn in deleted):
        return
    key = key_of(owner, session_id)
    gone = [(turn.topic_id, turn.turn_number) for turn in deleted if turn.topic_id]
    places = {"topic_ids": [topic_id for topic_id, _ in gone], "numbers": [number for _, number in gone]}
    transaction.send(sql.DELETE_FROM_TOPICS, {**key, **places})
    blocks = _blocks(transaction, key, {turn.block_id for turn in deleted})
    _shrink_topics(transaction, owner, key, deleted, _messages(blocks))
    _rewrite_blocks(transaction, key, blocks)


def _locked_turns(transaction: Transaction, owner: Owner, session_id: str, numbers: Sequence[int]) -> list[Turn]:
    """Turns of a session that is locked from now on; none if it does not exist."""
    key = key_of(owner, session_id)
    locked = transaction.send(turn_statements.LOCK_SESSION, key)
    rows = transaction.send(turn_statements.TURNS_BY_NUMBER, {**key, "numbers": list(numbers)}, binary=True)
    return to_turns(owner, rows) if locked.fetchone() else []


def _shrink_topics(
    transaction: Transaction, owner: Owner, key: Key, deleted: Sequence[DeletedTurn], archived: Messages
) -> None:
    lost = grouped(deleted, lambda turn: turn.topic_id)
    if not lost:
        return
    shelf = transaction.send(sql.TOPICS, key)
    alive = {topic_id for (topic_id,) in transaction.send(sql.TOPICS_WITH_TURNS, {**key, "topic_ids": list(lost)})}
    shrunk = [topic for topic in to_shelf(shelf.fetchall()).topics if topic.id in lost]
    if not shrunk:
        return
    empty = [topic.id for topic in shrunk if topic.id not in alive]
    transaction.send(sql.DELETE_TOPICS_BY_ID, {**key, "topic_ids": empty})
    numbers = {turn.turn_number for turn in deleted}
    for topic in shrunk:
        if topic.id in alive:
            counts = _counts([(turn.archived, turn.messages(archived)) for turn in lost[topic.id]])
            left = topic_rules.without_turns(topic, numbers, *counts)
            put_topics(transaction, key, [left or _with_counts(transaction, owner, key, topic, numbers)])
    transaction.send(sql.TOUCH_TOPICS, key)


def _with_counts(transaction: Transaction, owner: Owner, key: Key, topic: Topic, gone: Collection[int]) -> Topic:
    turns = to_turns(owner, transaction.send(turn_statements.TURNS_BY_TOPIC, {**key, "topic_id": topic.id}))
    return topic_rules.with_counts(
        topic, gone, *_counts([(turn.archived, topic_rules.messages_counted(turn)) for turn in turns])
    )


def _counts(counted: Sequence[tuple[bool, int]]) -> tuple[int, int]:
    """All messages, and the archived ones."""
    return sum(n for _, n in counted), sum(n for archived, n in counted if archived)


def _blocks(transaction: Transaction, key: Key, block_ids: Iterable[str | None]) -> list[Block]:
    wanted = sorted(block_id for block_id in block_ids if block_id)
    if not wanted:
        return []
    return [BLOCK_ROWS.read(row) for row in transaction.send(sql.BLOCKS_BY_ID, {**key, "block_ids": wanted})]


def _rewrite_blocks(transaction: Transaction, key: Key, blocks: Sequence[Block]) -> None:
    """Pack blocks again with the turns that are left in them."""
    if not blocks:
        return
    numbers = [number for block in blocks for number in block.turn_numbers]
    staying: dict[str, dict[str, int]] = {block.id: {} for block in blocks}
    for block_id, turn_id, number in transaction.send(sql.TURNS_IN_BLOCKS, {**key, "numbers": numbers}):
        if block_id in staying:
            staying[block_id][turn_id] = number
    for block in blocks:
        left = topic_rules.rewritten(block, staying[block.id])
        if left is not None:
            transaction.send(sql.REWRITE_BLOCK, {**key, **BLOCK_ROWS.named(left)})
        else:
            gone = {**key, "block_id": block.id, "numbers": list(staying[block.id].values())}
            transaction.send(sql.DETACH_FROM_BLOCK, gone)
            transaction.send(sql.DELETE_BLOCK, gone)


def _messages(blocks: Sequence[Block]) -> Messages:
    archived = {}
    for block in blocks:
        with suppress(DamagedBlock):
            archived[block.id] = topic_rules.unpacked(block.id, block.body)
    return archived


def put_topics(transaction: Transaction, key: Key, topics: Sequence[Topic]) -> None:
    transaction.send_many(sql.PUT_TOPIC, [{**key, **TOPIC_ROWS.named(topic)} for topic in topics])

"""Topics with their archive, and the vectors of turns: each method is one read or one script.

Vectors are read a page at a time, because an owner may have more than fit in memory.
"""

from collections.abc import Iterator, Sequence

from ricordo.records.topics import TopicChange, TopicShelf
from ricordo.records.turns import Block, Owner, TurnVectors
from ricordo.stores.derived_rows import row_to_block, row_to_trace
from ricordo.stores.postgres import archive
from ricordo.stores.postgres import derived_statements as sql
from ricordo.stores.postgres.transaction import OwnerTransactions, Transaction

VECTORS_PER_PAGE = 1000


class PostgresTopics:
    """`TopicStore` on PostgreSQL."""

    def __init__(self, transactions: OwnerTransactions) -> None:
        self._transactions = transactions

    def load(self, owner: Owner, session_id: str) -> TopicShelf:
        return archive.to_shelf(self._transactions.read(owner, sql.TOPICS, session_id=session_id))

    def put(self, owner: Owner, session_id: str, change: TopicChange) -> bool:
        return self._transactions.run(owner, lambda tx: _apply(tx, archive.key_of(owner, session_id), change))

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        rows = self._transactions.read(owner, sql.TURNS_OF_TOPIC, session_id=session_id, topic_id=topic_id)
        return [number for (number,) in rows]

    def archive(self, owner: Owner, session_id: str, block: Block) -> bool:
        return self._transactions.run(owner, lambda tx: archive.archive(tx, owner, session_id, block))

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        rows = self._transactions.read(owner, sql.BLOCKS, session_id=session_id, topic_id=topic_id)
        return [row_to_block(row) for row in rows]

    def rehydrate(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._transactions.run_long(owner, lambda tx: archive.rehydrate(tx, owner, session_id, turn_numbers))

    def release(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._transactions.run_long(owner, lambda tx: archive.release(tx, owner, session_id, turn_numbers))


def _apply(transaction: Transaction, key: archive.Key, change: TopicChange) -> bool:
    """Apply a change, unless the topics were written since they were read."""
    moved = {**key, "through": change.through, "revision": change.revision}
    if transaction.send(sql.MOVE_TOPICS, moved).fetchone() is None:
        transaction.rollback()
        return False
    if change.removed:
        removed = {**key, "topic_ids": list(change.removed)}
        transaction.send(sql.DELETE_TOPICS_BY_ID, removed)
        transaction.send(sql.UNASSIGN_TURNS, removed)
    archive.put_topics(transaction, key, change.put)
    if change.assigned:
        numbers, topic_ids = list(change.assigned), list(change.assigned.values())
        transaction.send(sql.ASSIGN_TURNS, {**key, "numbers": numbers, "topic_ids": topic_ids})
    return True


class PostgresVectors:
    """`VectorStore` on PostgreSQL."""

    def __init__(self, transactions: OwnerTransactions) -> None:
        self._transactions = transactions

    def read(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        statement = sql.VECTORS if session_id is None else sql.SESSION_VECTORS
        after = {"session_id": session_id or "", "turn_number": 0}
        while True:
            rows = self._transactions.read(owner, statement, embedder=embedder, limit=VECTORS_PER_PAGE, **after)
            yield from map(row_to_trace, rows)
            if len(rows) < VECTORS_PER_PAGE:
                return
            after = {"session_id": rows[-1][0], "turn_number": rows[-1][1]}

    def write(self, owner: Owner, vectors: Sequence[TurnVectors]) -> None:
        if vectors:
            self._transactions.run_long(owner, lambda tx: _write_vectors(tx, owner, vectors))

    def drop(self, owner: Owner, *, keep: str) -> int:
        values = {"owner": owner.key, "keep": keep}
        return self._transactions.run_long(owner, lambda tx: tx.send(sql.DELETE_OTHER_VECTORS, values)).rowcount


def _write_vectors(transaction: Transaction, owner: Owner, vectors: Sequence[TurnVectors]) -> None:
    """Write vectors of existing turns; in order, so that two writers never deadlock."""
    session_ids = sorted({each.session_id for each in vectors})
    transaction.send(sql.SHARE_SESSIONS, {"owner": owner.key, "session_ids": session_ids})
    transaction.send_many(
        sql.PUT_VECTORS,
        [
            {
                "owner": owner.key,
                "session_id": each.session_id,
                "turn_number": each.turn_number,
                "embedder": each.embedder,
                "checksum": each.checksum,
                "body": each.body,
            }
            for each in sorted(vectors, key=lambda each: (each.session_id, each.turn_number, each.embedder))
        ],
    )

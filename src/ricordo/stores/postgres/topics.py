"""The store's topics and archive: each method is one read or one script of `shelves`."""

from collections.abc import Sequence

from ricordo.records.topics import TopicChange, TopicShelf
from ricordo.records.turns import Block, Owner
from ricordo.stores.derived_rows import row_to_block
from ricordo.stores.postgres import forget, topic_operations
from ricordo.stores.postgres import topic_statements as sql
from ricordo.stores.postgres.row_security import Walled


class PostgresTopics(Walled):
    """Topics and blocks of sessions."""

    def topics(self, owner: Owner, session_id: str) -> TopicShelf:
        return topic_operations.to_shelf(self._read(owner, sql.SHELF, session_id=session_id))

    def put_topics(self, owner: Owner, session_id: str, change: TopicChange) -> bool:
        return self._run(
            owner, lambda tx: topic_operations.put_topics(tx, topic_operations.key_of(owner, session_id), change)
        )

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        rows = self._read(owner, sql.TURNS_OF_TOPIC, session_id=session_id, topic_id=topic_id)
        return [number for (number,) in rows]

    def archive(self, owner: Owner, session_id: str, block: Block) -> bool:
        return self._run(owner, lambda tx: topic_operations.archive(tx, owner, session_id, block))

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        rows = self._read(owner, sql.BLOCKS, session_id=session_id, topic_id=topic_id)
        return [row_to_block(row) for row in rows]

    def rehydrate(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._patiently(owner, lambda tx: topic_operations.rehydrate(tx, owner, session_id, turn_numbers))

    def release(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._patiently(owner, lambda tx: topic_operations.release(tx, owner, session_id, turn_numbers))

    def delete_turns(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._patiently(owner, lambda tx: forget.delete_turns(tx, owner, session_id, turn_numbers))

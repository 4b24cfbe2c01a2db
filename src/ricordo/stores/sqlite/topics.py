"""Topics and archive blocks of the SQLite store: the part, and its operations on a connection.

What happens to a topic or a block that loses turns is decided in `ricordo.stores.topic_rules`; here are only the rows.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ricordo.records.derived import Topic, TopicChange, TopicShelf
from ricordo.records.turns import Block, Owner, Turn
from ricordo.stores import topic_rules
from ricordo.stores.derived_rows import BLOCK_ROWS, INDEXED_COLUMNS, TOPIC_ROWS
from ricordo.stores.sqlite import topics as sql
from ricordo.stores.sqlite.connections import Connections, SqlitePart, one_view, writing
from ricordo.stores.sqlite.database import WriteConnection
from ricordo.stores.sqlite.turn_statements import ARCHIVED, COUNTED, NUMBERED
from ricordo.stores.turn_rows import TURN_COLUMNS, rows_to_turns, turn_to_row
from ricordo.stores.write_rules import grouped

# ── topics and archive ───────────────────────────────────────────────────────────────────────────────

SHELVES_KEPT = 64

# A session that was deleted and is imported again counts its revisions anew, but its topics have other ids.
SHELF = """
SELECT topics_through, topics_revision,
       (SELECT max(topic_id) FROM topics AS t WHERE t.owner = s.owner AND t.session_id = s.session_id)
FROM sessions AS s WHERE owner = ? AND session_id = ?
"""

TOPICS = f"""
SELECT {TOPIC_ROWS.columns} FROM topics WHERE owner = ? AND session_id = ? ORDER BY created_at, topic_id
"""

# If the shelf was written since it was read, this changes no row.
MOVE_SHELF = """
UPDATE sessions
SET topics_revision = topics_revision + 1, topics_through = coalesce(?, topics_through)
WHERE owner = ? AND session_id = ? AND topics_revision = ?
"""

TOUCH_SHELF = "UPDATE sessions SET topics_revision = topics_revision + 1 WHERE owner = ? AND session_id = ?"

# In its place, not as a new row at the end of the table: every turn changes its topic.
PUT_TOPIC = f"""
INSERT INTO topics {TOPIC_ROWS.by_place("owner", "session_id")}
ON CONFLICT (owner, session_id, topic_id) DO UPDATE
SET {TOPIC_ROWS.overwritten("topic_id")}
"""

DROP_TOPIC = "DELETE FROM topics WHERE owner = ? AND session_id = ? AND topic_id = ?"

TOPIC = f"SELECT {TOPIC_ROWS.columns} FROM topics WHERE owner = ? AND session_id = ? AND topic_id = ?"

ASSIGN_TURN = "UPDATE turns SET topic_id = ? WHERE owner = ? AND session_id = ? AND turn_number = ?"

UNASSIGN_TURNS = "UPDATE turns SET topic_id = NULL WHERE owner = ? AND session_id = ? AND topic_id = ?"

TURNS_OF_TOPIC = """
SELECT turn_number FROM turns WHERE owner = ? AND session_id = ? AND topic_id = ? ORDER BY turn_number
"""

ANY_TURN_OF_TOPIC = "SELECT 1 FROM turns WHERE owner = ? AND session_id = ? AND topic_id = ? LIMIT 1"

COUNT_TOPIC = f"""
SELECT total({COUNTED}), total(({COUNTED}) * {ARCHIVED})
FROM turns WHERE owner = ? AND session_id = ? AND topic_id = ?
"""

MESSAGES_OF_TURNS = f"SELECT turn_number, {COUNTED} FROM turns WHERE {NUMBERED}"

TURNS_NUMBERED = f"SELECT {TURN_COLUMNS} FROM turns WHERE {NUMBERED} ORDER BY turn_number"

ADD_BLOCK = f"INSERT INTO blocks {BLOCK_ROWS.by_place('owner', 'session_id')}"

SET_BLOCK = "UPDATE blocks SET turn_numbers = ?, body = ? WHERE owner = ? AND session_id = ? AND block_id = ?"

DROP_BLOCK = "DELETE FROM blocks WHERE owner = ? AND session_id = ? AND block_id = ?"

BLOCKS = f"""
SELECT {BLOCK_ROWS.columns} FROM blocks
WHERE owner = :owner AND session_id = :session_id AND (:topic_id IS NULL OR topic_id = :topic_id)
ORDER BY created_at, block_id
"""

BLOCK = f"SELECT {BLOCK_ROWS.columns} FROM blocks WHERE owner = ? AND session_id = ? AND block_id = ?"

BLOCK_BODIES = """
SELECT block_id, body FROM blocks
WHERE owner = ? AND session_id = ? AND block_id IN (SELECT value FROM json_each(?))
"""

# Which turns are still in a block, found by the numbers that it names.
TURNS_IN_BLOCK = f"SELECT turn_id, turn_number FROM turns WHERE {NUMBERED} AND block_id = ?"

# The words go, everything else of the row stays. Whether they may is decided before.
ARCHIVE_TURNS = f"UPDATE turns SET query = NULL, response = NULL, details = NULL, block_id = ? WHERE {NUMBERED}"

REHYDRATE_TURN = """
UPDATE turns SET query = ?, response = ?, details = ?
WHERE owner = ? AND session_id = ? AND turn_number = ?
"""

# The words are here and in no block.
LEAVE_BLOCK = """
UPDATE turns SET query = ?, block_id = NULL WHERE owner = ? AND session_id = ? AND turn_number = ?
"""

# The block is lost: what is plain may be packed again, what is not stays marked as damaged.
LOSE_BLOCK = f"""
UPDATE turns SET block_id = NULL
WHERE {NUMBERED} AND block_id = ?
  AND (query IS NOT NULL OR response IS NOT NULL OR details IS NOT NULL)
"""

# ── vectors ──────────────────────────────────────────────────────────────────────────────────────────

TRACES = """
SELECT session_id, pack, body, words FROM traces WHERE owner = ? AND embedder = ? ORDER BY session_id, pack
"""

TRACES_OF_SESSION = """
SELECT session_id, pack, body, words FROM traces
WHERE owner = ? AND embedder = ? AND session_id = ? ORDER BY pack
"""

INDEXED_TURNS = f"""
SELECT {INDEXED_COLUMNS} FROM turns WHERE owner = ? ORDER BY session_id, turn_number
"""

NUMBERS_THERE = f"SELECT turn_number FROM turns WHERE {NUMBERED}"

TRACE_PACK = "SELECT body, words FROM traces WHERE owner = ? AND session_id = ? AND pack = ? AND embedder = ?"

TRACE_PACKS = """
SELECT pack, embedder, body, words FROM traces
WHERE owner = ? AND session_id = ? AND pack IN (SELECT value FROM json_each(?))
"""

PUT_TRACE_PACK = """
INSERT OR REPLACE INTO traces (owner, session_id, pack, embedder, held, body, words) VALUES (?, ?, ?, ?, ?, ?, ?)
"""

DROP_TRACE_PACK = "DELETE FROM traces WHERE owner = ? AND session_id = ? AND pack = ? AND embedder = ?"

DROP_OTHER_TRACES = "DELETE FROM traces WHERE owner = ? AND embedder IS NOT ? RETURNING held"


Key = tuple[bytes, str]


def key_of(owner: Owner, session_id: str) -> Key:
    """The key that every statement about a session begins with."""
    return owner.key.bytes, session_id


class SqliteTopics(SqlitePart[Connections]):
    """Topics and blocks of sessions."""

    def __init__(self, database: Connections) -> None:
        super().__init__(database)
        # Every question reads them, and few have changed since: what was read, and the row that tells whether it holds.
        self._shelves: dict[Key, tuple[Any, TopicShelf]] = {}

    def load(self, owner: Owner, session_id: str) -> TopicShelf:
        key = key_of(owner, session_id)
        with self._database.reading() as reader, one_view(reader):
            found = reader.execute(sql.SHELF, key).fetchone()
            if not found:
                self._shelves.pop(key, None)
                return TopicShelf()
            known, shelf = self._shelves.get(key, (None, TopicShelf()))
            if known != found:
                through, revision, _ = found
                topics = tuple(TOPIC_ROWS.read(row) for row in reader.execute(sql.TOPICS, key))
                shelf = TopicShelf(topics, through, revision)
                if len(self._shelves) >= SHELVES_KEPT:
                    self._shelves.clear()
                self._shelves[key] = found, shelf
        return shelf

    def forget_shelves(self) -> None:
        """Keep nothing in memory of the topics that were read."""
        self._shelves.clear()

    @writing
    def put(self, writer: WriteConnection, owner: Owner, session_id: str, change: TopicChange) -> bool:
        return put_topics(writer, key_of(owner, session_id), change)

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        with self._database.reading() as reader:
            rows = reader.execute(sql.TURNS_OF_TOPIC, (*key_of(owner, session_id), topic_id)).fetchall()
        return [number for (number,) in rows]

    @writing
    def archive(self, writer: WriteConnection, owner: Owner, session_id: str, block: Block) -> bool:
        """Store a block instead of the text of its turns: of all of them, or of none."""
        key = key_of(owner, session_id)
        if writer.execute(sql.BLOCK, (*key, block.id)).fetchall():
            return False
        numbers = json.dumps(block.turn_numbers)
        found = to_turns(writer, owner, writer.execute(sql.TURNS_NUMBERED, (*key, numbers)).fetchall())
        by_number = {turn.turn_number: turn for turn in found}
        if not topic_rules.replaces(block, [by_number.get(number) for number in block.turn_numbers]):
            return False
        writer.execute(sql.ADD_BLOCK, (*key, *BLOCK_ROWS.write(block)))
        writer.execute(sql.ARCHIVE_TURNS, (block.id, *key, numbers))
        _change_topics(writer, key, found, topic_rules.archived)
        return True

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        values = {"owner": owner.key.bytes, "session_id": session_id, "topic_id": topic_id}
        with self._database.reading() as reader:
            return [BLOCK_ROWS.read(row) for row in reader.execute(sql.BLOCKS, values)]

    @writing
    def rehydrate(self, writer: WriteConnection, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        """Write the text of archived turns back into their rows."""
        key = key_of(owner, session_id)
        rows = writer.execute(sql.TURNS_NUMBERED, (*key, json.dumps(list(turn_numbers)))).fetchall()
        back = [turn for turn in to_turns(writer, owner, rows) if turn.archived and not turn.damage]
        writer.executemany(sql.REHYDRATE_TURN, [(*_words(turn), *key, turn.turn_number) for turn in back])
        _change_topics(writer, key, back, topic_rules.returned)
        return len(back)

    @writing
    def release(self, writer: WriteConnection, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        """Drop text that a block also holds: never the only copy, should the block be damaged."""
        key = key_of(owner, session_id)
        rows = writer.execute(sql.TURNS_NUMBERED, (*key, json.dumps(list(turn_numbers)))).fetchall()
        plain = [turn for turn in to_turns(writer, owner, rows) if not turn.archived]
        went = 0
        for block_id, turns in grouped(plain, lambda turn: turn.block_id).items():
            for row in writer.execute(sql.BLOCK, (*key, block_id)).fetchall():
                held = sorted(topic_rules.holds(BLOCK_ROWS.read(row), turns))
                went += writer.execute(sql.ARCHIVE_TURNS, (block_id, *key, json.dumps(held))).rowcount
                _change_topics(writer, key, [turn for turn in turns if turn.turn_number in held], topic_rules.archived)
        return went


def put_topics(writer: sqlite3.Connection, key: Key, change: TopicChange) -> bool:
    """Apply a change, unless the shelf was written since it was read."""
    if not writer.execute(sql.MOVE_SHELF, (change.through, *key, change.revision)).rowcount:
        return False
    for topic_id in change.removed:
        writer.execute(sql.DROP_TOPIC, (*key, topic_id))
        writer.execute(sql.UNASSIGN_TURNS, (*key, topic_id))
    put = change.put
    if change.counted:
        numbers = json.dumps(list(change.counted))
        put = topic_rules.as_counted(change, dict(writer.execute(sql.MESSAGES_OF_TURNS, (*key, numbers)).fetchall()))
    writer.executemany(sql.PUT_TOPIC, [(*key, *TOPIC_ROWS.write(topic)) for topic in put])
    writer.executemany(sql.ASSIGN_TURN, [(topic_id, *key, number) for number, topic_id in change.assigned.items()])
    return True


def to_turns(connection: sqlite3.Connection, owner: Owner, rows: Iterable[Any]) -> list[Turn]:
    """The turns of rows, archived ones with their text; rows and blocks must be read in one snapshot."""
    return rows_to_turns(owner, rows, lambda session, ids: _bodies(connection, key_of(owner, session), ids))


def leave_block(writer: sqlite3.Connection, before: Turn) -> None:
    """Take a turn out of its block because something is added to it; update its block and its topic."""
    if before.block_id is None:
        return
    key = key_of(before.owner, before.session_id)
    query, _, _ = _words(before)
    writer.execute(sql.LEAVE_BLOCK, (query, *key, before.turn_number))
    update_blocks(writer, key, {before.block_id})
    if before.archived:
        _change_topics(writer, key, [before], topic_rules.returned)


def count_answer(writer: sqlite3.Connection, turn: Turn) -> None:
    """Count the answer of a turn that came after the turn had found its topic."""
    _change_topics(writer, key_of(turn.owner, turn.session_id), [turn], lambda topic, _: topic_rules.answered(topic))


def _change_topics(
    writer: sqlite3.Connection, key: Key, turns: Iterable[Turn], change: Callable[[Topic, list[Turn]], Topic]
) -> None:
    """Change the figures of the topics of these turns, in the transaction that changes the turns."""
    touched = False
    for topic_id, group in grouped(turns, lambda turn: turn.topic_id).items():
        topic = _topic(writer, key, topic_id)
        if topic is not None:
            writer.execute(sql.PUT_TOPIC, (*key, *TOPIC_ROWS.write(change(topic, group))))
            touched = True
    if touched:
        writer.execute(sql.TOUCH_SHELF, key)


def update_topics(writer: sqlite3.Connection, key: Key, gone: Sequence[Any]) -> None:
    """Recount topics that lost turns; delete one that lost all of them."""
    lost = grouped(gone, lambda row: row[2])
    for topic_id, rows in lost.items():
        topic = _topic(writer, key, topic_id)
        if topic is None:
            continue
        left = _without_turns(writer, key, topic, rows)
        if left is None:
            writer.execute(sql.DROP_TOPIC, (*key, topic_id))
        else:
            writer.execute(sql.PUT_TOPIC, (*key, *TOPIC_ROWS.write(left)))
    if lost:
        writer.execute(sql.TOUCH_SHELF, key)


def update_blocks(writer: sqlite3.Connection, key: Key, touched: Iterable[str]) -> None:
    """Rewrite blocks without turns that were deleted; delete one that lost all of them."""
    for block_id in touched:
        for row in writer.execute(sql.BLOCK, (*key, block_id)).fetchall():
            stored = BLOCK_ROWS.read(row)
            numbers = json.dumps(stored.turn_numbers)
            staying = dict(writer.execute(sql.TURNS_IN_BLOCK, (*key, numbers, block_id)).fetchall())
            block = topic_rules.rewritten(stored, staying)
            if block is None:
                writer.execute(sql.DROP_BLOCK, (*key, block_id))
                writer.execute(sql.LOSE_BLOCK, (*key, numbers, block_id))
            else:
                _, _, turn_numbers, _, body = BLOCK_ROWS.write(block)
                writer.execute(sql.SET_BLOCK, (turn_numbers, body, *key, block_id))


def _without_turns(writer: sqlite3.Connection, key: Key, topic: Topic, gone: Sequence[Any]) -> Topic | None:
    if not writer.execute(sql.ANY_TURN_OF_TOPIC, (*key, topic.id)).fetchall():
        return None
    numbers = {row[1] for row in gone}
    archived = sum(messages for *_, packed, messages in gone if packed)
    left = topic_rules.without_turns(topic, numbers, sum(row[-1] for row in gone), archived)
    if left is not None:
        return left
    counts = writer.execute(sql.COUNT_TOPIC, (*key, topic.id)).fetchone()
    return topic_rules.with_counts(topic, numbers, *map(int, counts))


def _topic(connection: sqlite3.Connection, key: Key, topic_id: str) -> Topic | None:
    return TOPIC_ROWS.first(connection.execute(sql.TOPIC, (*key, topic_id)).fetchall())


def _bodies(connection: sqlite3.Connection, key: Key, block_ids: Sequence[str]) -> Mapping[str, bytes]:
    return dict(connection.execute(sql.BLOCK_BODIES, (*key, json.dumps(block_ids))).fetchall())


def _words(turn: Turn) -> tuple[Any, Any, Any]:
    """The columns that are NULL while a turn is archived."""
    _, _, _, _, _, query, _, _, response, _, _, _, details, *_ = turn_to_row(turn)
    return query, response, details

"""A session written exactly as it was elsewhere: counters, gaps, topics, archive, traces, summaries included.

In: what a backup has read from another store. Out: rows. Nothing is decided here; an archived turn stays archived, and
a damaged block is copied as it is, so that a copy is neither better nor worse than what was copied.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ricordo.person import Summary
from ricordo.records import Block, SessionInfo, StoredReceipt, Trace, Turn
from ricordo.stores.rows import turn_to_row
from ricordo.stores.sqlite import packs, person, shelves, writing
from ricordo.stores.sqlite import statements as sql
from ricordo.stores.topic_rows import block_to_row
from ricordo.topics.shelf import TopicChange, TopicShelf

QUERY, RESPONSE, DETAILS = 5, 8, 12  # where the words are in a row


@dataclass(frozen=True, slots=True)
class SessionCopy:
    """A session with everything in it."""

    session: SessionInfo
    turns: Iterable[Turn]
    receipts: Iterable[StoredReceipt]
    shelf: TopicShelf
    blocks: Iterable[Block]
    traces: Iterable[Trace]
    summaries: Iterable[Summary] = ()
    learned_through: int = 0


def restore(writer: sqlite3.Connection, copy: SessionCopy) -> None:
    """Write a session that is not here yet."""
    session, owner = copy.session, copy.session.owner
    key = shelves.key_of(owner, session.id)
    writing.add_session(writer, session)
    writer.executemany(sql.ADD_BLOCK, ((*key, *block_to_row(block)) for block in copy.blocks))
    writer.executemany(sql.ADD_TURN, ((key[0], *_row(turn)) for turn in copy.turns))
    writer.execute(sql.FIND_ORDER, {"owner": key[0], "session_id": key[1]})
    for receipt in copy.receipts:
        writing.keep_receipt(writer, owner, receipt, session.id, receipt.turn_number)
    shelves.put_topics(writer, key, TopicChange(0, put=copy.shelf.topics, through=copy.shelf.through))
    packs.keep_traces(writer, owner, copy.traces)
    person.restore_session(writer, owner, session.id, copy.learned_through, copy.summaries)


def _row(turn: Turn) -> tuple[Any, ...]:
    row = list(turn_to_row(turn))
    row[-1] = turn.block_id
    if turn.archived:
        row[QUERY] = row[RESPONSE] = row[DETAILS] = None
    return tuple(row)

"""The file as a whole, in one snapshot: its integrity, a copy of it, and a session restored from another store."""

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ricordo.errors import ConflictError
from ricordo.records.derived import Summary, TopicChange, TopicShelf
from ricordo.records.service import Damage
from ricordo.records.turns import Block, SessionInfo, StoredReceipt, Turn, TurnVectors
from ricordo.records.values import record
from ricordo.stores.derived_rows import BLOCK_ROWS
from ricordo.stores.sqlite import people, topics, turn_operations, vectors
from ricordo.stores.sqlite import turn_statements as sql
from ricordo.stores.sqlite.connections import one_view
from ricordo.stores.sqlite.database import make_private, open_examiner, translating
from ricordo.stores.turn_rows import misnamed, turn_to_row

PAGES_AT_ONCE = 1000
MISCOUNTED = "are marked as used by more or fewer sessions than use them, so that they may stay or go too early"
UNORDERED = "is marked as ordered by date, but is not, so that expired turns may stay"


def integrity(path: Path, wait: float) -> Sequence[Damage]:
    """What SQLite finds wrong with pages, indexes, constraints and references, and what only this store keeps."""
    try:
        with closing(open_examiner(path, wait)) as reader, one_view(reader):
            found = Counter(text for (text,) in reader.execute("PRAGMA integrity_check(1000)") if text != "ok")
            dangling = reader.execute("PRAGMA foreign_key_check").fetchall()
            owners = misnamed(reader.execute("SELECT owner, tenant_id, user_id FROM owners"))
            mixed = reader.execute(sql.WRONGLY_IN_ORDER).fetchall()
            counted = reader.execute(sql.WRONGLY_COUNTED).fetchall()
    except sqlite3.DatabaseError as error:
        return [Damage(str(path), f"cannot be read to the end ({error})")]
    return [
        *(Damage(str(path), text if times == 1 else f"{text} ({times} times)") for text, times in found.items()),
        *(Damage(f"table {table}, row {row}", f"belongs to nothing in {parent}") for table, row, parent, _ in dangling),
        *owners,
        *(Damage(f"user {user!r}, session {session!r}", UNORDERED) for user, session in mixed),
        *(Damage(f"user {user!r}", f"{texts} texts of receipts {MISCOUNTED}") for user, texts in counted),
    ]


def backup(reader: sqlite3.Connection, path: Path, progress: Callable[[int, int], None] | None) -> None:
    """Copy the file as it is at this moment; the copy appears under its name when it is whole."""
    if path.exists():
        raise ConflictError(f"{path} exists already; name a new file for the backup")

    def report(_status: int, remaining: int, total: int) -> None:
        if progress:
            progress(total - remaining, total)

    partial = path.with_name(f"{path.name}.partial")
    with translating(path), one_view(reader):
        partial.unlink(missing_ok=True)
        make_private(partial)
        target = sqlite3.connect(partial, isolation_level=None)
        try:
            reader.execute("SELECT 1 FROM sqlite_schema").fetchall()  # the view begins with the first read
            reader.backup(target, pages=PAGES_AT_ONCE, progress=report)
            target.close()
            os.rename(partial, path)
        except BaseException:
            target.close()
            partial.unlink(missing_ok=True)
            raise


QUERY, RESPONSE, DETAILS = 5, 8, 12  # where the text is in a row


@record
class SessionCopy:
    """A session with everything in it, exactly as it was elsewhere: counters, gaps, topics, archive, vectors."""

    session: SessionInfo
    turns: Iterable[Turn]
    receipts: Iterable[StoredReceipt]
    shelf: TopicShelf
    blocks: Iterable[Block]
    vectors: Iterable[TurnVectors]
    summaries: Iterable[Summary] = ()
    learned_through: int = 0


def restore(writer: sqlite3.Connection, copy: SessionCopy) -> None:
    """Write a session that is not here yet."""
    session, owner = copy.session, copy.session.owner
    key = topics.key_of(owner, session.id)
    turn_operations.add_session(writer, session)
    writer.executemany(topics.ADD_BLOCK, ((*key, *BLOCK_ROWS.write(block)) for block in copy.blocks))
    writer.executemany(sql.ADD_TURN, ((key[0], *_row(turn)) for turn in copy.turns))
    writer.execute(sql.FIND_ORDER, {"owner": key[0], "session_id": key[1]})
    for receipt in copy.receipts:
        turn_operations.keep_receipt(writer, owner, receipt, session.id, receipt.turn_number)
    topics.put_topics(writer, key, TopicChange(0, put=copy.shelf.topics, through=copy.shelf.through))
    vectors.put(writer, owner, copy.vectors)
    people.restore_session(writer, owner, session.id, copy.learned_through, copy.summaries)


def _row(turn: Turn) -> tuple[Any, ...]:
    row = list(turn_to_row(turn))
    row[-1] = turn.block_id
    if turn.archived:
        row[QUERY] = row[RESPONSE] = row[DETAILS] = None
    return tuple(row)

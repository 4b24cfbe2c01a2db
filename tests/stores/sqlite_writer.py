"""A program that writes turns and says so after each: `sqlite_writer.py PATH SESSION THREADS COUNT`.

Prints `ready`, waits for a line, then one line `turn_id number` per acknowledged turn. COUNT 0 writes until killed.
"""

import itertools
import os
import sys
from datetime import UTC, datetime
from threading import Thread
from uuid import uuid4

from ricordo.records.turns import Message, Owner, Turn, message_id
from ricordo.stores.sqlite import SqliteStore

OWNER = Owner("tenant", "anna")


def a_turn(session_id: str) -> Turn:
    """A plain turn, made without the test kit: this program has to start fast."""
    turn_id, now = str(uuid4()), datetime.now(UTC)
    question = Message(message_id(turn_id, "query"), "user", "Che cos'è una fuga? " * 10, now)
    answer = Message(message_id(turn_id, "response"), "assistant", "Voci che entrano a turno. " * 10, now)
    return Turn(turn_id, OWNER, "tutor", session_id, 0, now, question, answer)


def write(store: SqliteStore, session_id: str, count: int) -> None:
    for _ in itertools.repeat(None, count) if count else itertools.count():
        kept = store.turns.append(a_turn(session_id))
        os.write(1, f"{kept.id} {kept.turn_number}\n".encode())


def main() -> None:
    path, session_id, threads, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    store = SqliteStore(path)
    os.write(1, b"ready\n")
    sys.stdin.readline()
    writers = [Thread(target=write, args=(store, session_id, count)) for _ in range(threads)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    store.close()


if __name__ == "__main__":
    main()

"""The program that `bench.torture` kills: it talks, organises, erases, backs up and cleans up at once.

`python -m bench.torture_child FOLDER SEED`: each line that it prints names something that it was told is done.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock, Thread
from time import sleep
from typing import Any

import ricordo
from ricordo.presets import settings_from
from ricordo.records.turns import Message, Owner, Turn, message_id
from ricordo.stores.protocols import Store
from ricordo.stores.sqlite import SqliteStore

TENANT = "torture"
SECRET = "swordfish"
SETTINGS = {"embedder": "deterministic", "tenant_id": TENANT, "max_topics": 1, "max_messages_per_topic": 4}
WORDS = ["luce", "acqua", "vento", "pietra", "radice", "seme", "foglia", "ramo", "nebbia", "fiume", "lago", "monte"]


@contextmanager
def opened(store: Store, **settings: Any) -> Iterator[ricordo.Memory]:
    """A memory that forgets early and archives soon."""
    memory = ricordo.Memory(store, settings_from({**SETTINGS, **settings}, {}))
    try:
        yield memory
    finally:
        memory.close()


def child(folder: Path, seed: int) -> None:
    """The program that is killed: each line that it prints is something that it was told is done."""
    speak = Lock()

    def tell(*words: object) -> None:
        with speak:
            os.write(1, (" ".join(map(str, words)) + "\n").encode())

    with opened(SqliteStore(folder / "memory.db"), turn_ttl="24h") as memory:
        workers = [
            lambda: _talk(memory, tell, f"talker-{seed}-a"),
            lambda: _talk(memory, tell, f"talker-{seed}-b"),
            lambda: _erase(memory, tell, seed),
            lambda: _back_up(memory, tell, folder, seed),
            lambda: _clean_up(memory, seed),
        ]
        tell("ready")
        for worker in workers:
            Thread(target=worker, daemon=True).start()
        sleep(60)


def _talk(memory: ricordo.Memory, tell: Callable[..., None], user: str) -> None:
    session = memory.session(f"talk-{user}", user_id=user)
    for n in range(1_000_000):
        word = WORDS[n // 4 % len(WORDS)]
        turn = session.add_turn(f"Parlami di {word} {n}", f"Su {word} si può dire questo: {n}.")
        tell("said", user, turn.id, turn.turn_number)
        if n % 6 == 5:
            session.topics()  # organises and archives


def _erase(memory: ricordo.Memory, tell: Callable[..., None], seed: int) -> None:
    for n in range(1_000_000):
        user = f"gone-{seed}-{n}"
        memory.session("s", user_id=user).add_turn(f"Mi chiamo {SECRET}-{user}.", "Piacere.")
        while True:
            try:
                memory.erase(user)
            except ricordo.StoreUnavailable:  # a backup holds the bytes: erasing again removes them
                sleep(0.02)
            else:
                tell("erased", user)
                break


def _back_up(memory: ricordo.Memory, tell: Callable[..., None], folder: Path, seed: int) -> None:
    for n in range(1_000_000):
        memory.backup(folder / f"backup-{seed}-{n}.db")
        tell("backup", f"backup-{seed}-{n}.db")
        sleep(0.2)


def _clean_up(memory: ricordo.Memory, seed: int) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=3)
    for n in range(1_000_000):
        turn_id, owner = f"old-{seed}-{n}", Owner(TENANT, "old")
        asked = Message(message_id(turn_id, "query"), "user", "Una vecchia domanda", long_ago)
        memory.store.turns.append(Turn(turn_id, owner, "agent", "old", 0, long_ago, asked, None))
        memory.cleanup()


if __name__ == "__main__":
    child(Path(sys.argv[1]), int(sys.argv[2]))

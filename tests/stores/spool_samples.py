"""What the tests of the spool share: a database with a switch, and spooled stores that notice everything quickly."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

from ricordo.errors import StoreUnavailable
from ricordo.stores.memory import MemoryStore
from ricordo.stores.protocols import Store
from ricordo.stores.spool import SpooledStore, SpoolTimeouts

QUICK = SpoolTimeouts(
    interval=0.01, first_pause=0.002, longest_pause=0.02, silence=2.0, doubt=2.0, suspicion=0.05, patience=10.0
)


# As QUICK, and whoever can do without the database does so at once; it is never found to be away for being silent.
HASTY = replace(QUICK, suspicion=0.002, doubt=0.005, silence=600.0, longest=0.25)


class Switched:
    """A store that can be away (`up = False`), and that can lose its answers: a write is done and nobody is told.

    It can also fall silent, before it does what it is told to or after it (`late`), until it speaks again.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.up = True
        self.loses_answers = False
        self.late = False
        self.speaks = Event()
        self.speaks.set()

    def hush(self, *, late: bool = False) -> None:
        """Answer nobody from now on."""
        self.late = late
        self.speaks.clear()

    def speak(self) -> None:
        """Answer everybody again."""
        self.speaks.set()

    def close(self) -> None:
        """What is kept stays, as in a database that a client leaves."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.late:
                assert self.speaks.wait(60)
            if not self.up:
                raise StoreUnavailable("switched off")
            result = found(*args, **kwargs)
            assert self.speaks.wait(60)
            if self.loses_answers:
                self.up = False
                raise StoreUnavailable("the answer was lost")
            return result

        return call


def spooled(open_store: Callable[[], Any], directory: Path, pace: SpoolTimeouts = QUICK) -> SpooledStore:
    """A spooled store before whatever is opened."""
    return SpooledStore(open_store, directory, scratch=MemoryStore(), pace=pace)

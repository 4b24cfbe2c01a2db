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
from ricordo.testing.fakes import StoreProxy

QUICK = SpoolTimeouts(
    probe_interval=0.01,
    first_pause=0.002,
    longest_pause=0.02,
    open_after=2.0,
    fallback_after=2.0,
    probe_after=0.05,
    drain=10.0,
)


# As QUICK, and whoever can do without the database does so at once; it is never found to be away for being silent.
HASTY = replace(QUICK, probe_after=0.002, fallback_after=0.005, open_after=600.0, call=0.25)


class Switched(StoreProxy):
    """A store that can be away, and that can lose its answers: a write is done and nobody is told.

    It can also fall silent, before it does what it is told to or after it (`late`), until it speaks again.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
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

    def through(self, call: str, method: Any) -> Any:
        def switched(*args: Any, **kwargs: Any) -> Any:
            if not self.late:
                assert self.speaks.wait(60)
            if not self.up:
                raise StoreUnavailable("switched off")
            result = method(*args, **kwargs)
            assert self.speaks.wait(60)
            if self.loses_answers:
                self.up = False
                raise StoreUnavailable("the answer was lost")
            return result

        return switched


def spooled(open_store: Callable[[], Any], directory: Path, timeouts: SpoolTimeouts = QUICK) -> SpooledStore:
    """A spooled store before whatever is opened."""
    return SpooledStore(open_store, directory, scratch=MemoryStore(), timeouts=timeouts)

"""Forking while stores are open: connections are closed before the fork and opened again after it, on both sides.

A child does not inherit SQLite's locks, and the library's cached state of a file would be wrong there. So no connection
may be open during a fork: the current write is finished, readers are waited for, everything is closed, and the next
caller opens it again. A store that stays in use is left as it is; the child refuses to use it.
"""

import os
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import Protocol
from weakref import WeakSet

from ricordo.errors import StoreError

PATIENCE = 5.0  # seconds that a fork waits for reads and writes of other threads

REFUSAL = (
    "was being read or written while this process was forked; fork at a quiet moment, or start the child with spawn"
)


class Forkable(Protocol):
    """What an open store does about a fork."""

    path: Path

    def put_down(self, deadline: float) -> bool:
        """Close everything and hold all callers; False, with nothing changed, if it stays in use."""
        ...

    def take_up(self) -> None:
        """In the parent: let callers go on."""
        ...

    def begin_anew(self) -> None:
        """In the child: forget the parent's threads and let callers in."""
        ...

    def forbid(self, why: str) -> None:
        """In the child, where it could not be put down: never touch it again, not even to close it."""
        ...


_enrolled: "WeakSet[Forkable]" = WeakSet()
_inherited: set[Path] = set()
_put_down: list[Forkable] = []
_in_use: list[Forkable] = []
_guard = RLock()  # held from before a fork until after it, so that nothing is opened meanwhile


def enrol(store: Forkable) -> None:
    """Take care of a store from now on; it is opened after this and not before."""
    with _guard:
        if store.path.resolve() in _inherited:
            raise StoreError(f"{store.path} {REFUSAL}")
        _enrolled.add(store)


def dismiss(store: Forkable) -> None:
    """The store is closed."""
    with _guard:
        _enrolled.discard(store)


def _before() -> None:
    _guard.acquire()
    deadline = monotonic() + PATIENCE
    for store in list(_enrolled):
        (_put_down if store.put_down(deadline) else _in_use).append(store)


def _after_in_parent() -> None:
    for store in _put_down:
        store.take_up()
    _put_down.clear()
    _in_use.clear()
    _guard.release()


def _after_in_child() -> None:
    global _guard
    _inherited.update(store.path.resolve() for store in _in_use)
    for store in (*_put_down, *_in_use):
        if store.path.resolve() in _inherited:
            store.forbid(REFUSAL)
        else:
            store.begin_anew()
    _put_down.clear()
    _in_use.clear()
    _guard = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)

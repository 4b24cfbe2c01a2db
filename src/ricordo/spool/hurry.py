"""Being in a hurry: whoever can go on without what it asks for says so for a while, and is not kept waiting for it.

A chat is: without recall it answers all the same. While the database is in doubt, calls made in a hurry are told at
once that it does not answer, and nothing is waited for that only time would bring; what is known of a person, where it
is not at hand, is nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_hurry: ContextVar[bool] = ContextVar("ricordo_hurry", default=False)


@contextmanager
def hurried() -> Iterator[None]:
    """For what is done within, in this thread."""
    before = _hurry.set(True)
    try:
        yield
    finally:
        _hurry.reset(before)


def in_a_hurry() -> bool:
    """Whether the caller is."""
    return _hurry.get()

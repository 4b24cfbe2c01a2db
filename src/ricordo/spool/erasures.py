"""Who was erased and when, for all processes that spool into one directory: what waits from before must not come back.

In: an owner. Out: whether a write is older than the owner's erasure. A file per erasure, named by the owner's key,
which says nothing of the person; they go when no spool is left that could need them.
"""

import os
from pathlib import Path

from ricordo.records import Owner
from ricordo.spool.segments import replace_file


class Erasures:
    """The erasures of a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        if not any(directory.glob("*.spool")):
            for path in directory.glob("*.erased"):
                path.unlink(missing_ok=True)

    def note(self, owner: Owner, at: float) -> None:
        """The owner is erased at this moment."""
        replace_file(self._path(owner), repr(at).encode())

    def after(self, owner: Owner, at: float) -> bool:
        """Whether the owner was erased at that moment or later."""
        path = self._path(owner)
        return os.path.exists(path) and at <= float(path.read_bytes())

    def _path(self, owner: Owner) -> Path:
        return self._directory / f"{owner.key}.erased"

"""What the database would not have, kept in a file beside the spool: never lost, never in the way of the rest.

In: a write and the reason. Out: a count, and the writes again for whoever looks into it. All processes of a directory
share the one file, `refused.spool`, behind a lock of its own.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ricordo.records import Owner
from ricordo.spool.codec import Entry, encode, owner_of
from ricordo.spool.frames import frame, read_frames
from ricordo.spool.segments import replace_file, sync_directory


class Refused:
    """The file of refused writes of a directory."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "refused.spool"
        self._lock = directory / "refused.lock"

    def add(self, entry: Entry, cause: str) -> None:
        """Keep a write that was refused; it is on disk when this returns."""
        self.keep(encode(entry, cause=cause))

    def keep(self, record: bytes) -> None:
        """Keep bytes as they are, also such as cannot be read."""
        with self._alone():
            new = not self._path.exists()
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "ab") as file:
                file.write(frame(record))
                file.flush()
                os.fsync(file.fileno())
            if new:
                sync_directory(self._path.parent)

    def records(self) -> tuple[bytes, ...]:
        """Everything that was refused, as it lies there: JSON with `cause`."""
        return read_frames(self._path.read_bytes()).records if self._path.exists() else ()

    def forget(self, owner: Owner) -> int:
        """Remove what is an owner's, and what cannot be read and may be; how many went."""
        with self._alone():
            if not self._path.exists():
                return 0
            found = read_frames(self._path.read_bytes())
            staying = [record for record in found.records if owner_of(record) not in (owner, None)]
            if staying:
                replace_file(self._path, b"".join(map(frame, staying)))
            else:
                self._path.unlink()
                sync_directory(self._path.parent)
            return len(found.records) - len(staying)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

"""The spool on disk: append-only segment files of one process, each deleted when all its records are stored.

In: records. Out: the segment that contains them, once they are on disk; concurrent writers share one fsync. Each record
has its length and checksum, so that a record that a crash cut off is detected. A process locks its files, so that
another process can tell when it has died, and adopt them.
"""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Lock
from uuid import uuid4
from weakref import WeakSet

from ricordo.errors import StoreUnavailable


class SpoolWriteError(StoreUnavailable):
    """A record cannot be written: the disk is full, or the folder cannot be used."""


MARK = b"RSP1"
_HEAD = len(MARK) + 4 + 8


@dataclass(frozen=True, slots=True)
class SegmentContents:
    """The content of a file. `damaged` are bytes between whole records; `torn` are those after the last one."""

    records: tuple[bytes, ...]
    damaged: tuple[bytes, ...]
    torn: bytes


def frame(record: bytes) -> bytes:
    return MARK + len(record).to_bytes(4, "big") + _digest(record) + record


def read_frames(data: bytes) -> SegmentContents:
    """Every whole record, in order. What cannot be read is skipped, up to the next mark of a whole record."""
    records: list[bytes] = []
    damaged: list[bytes] = []
    position = good = 0
    while True:
        start = data.find(MARK, position)
        if start < 0:
            return SegmentContents(tuple(records), tuple(damaged), data[good:])
        record = _record_at(data, start)
        if record is None:
            position = start + 1
            continue
        if start > good:
            damaged.append(data[good:start])
        records.append(record)
        position = good = start + _HEAD + len(record)


def _record_at(data: bytes, start: int) -> bytes | None:
    length = int.from_bytes(data[start + len(MARK) : start + len(MARK) + 4], "big")
    record = data[start + _HEAD : start + _HEAD + length]
    whole = len(record) == length and _digest(record) == data[start + len(MARK) + 4 : start + _HEAD]
    return record if whole else None


def _digest(record: bytes) -> bytes:
    return hashlib.blake2b(record, digest_size=8).digest()


SEGMENT_BYTES = 64 * 2**10  # size from which a new segment starts; a stored segment frees so much of a full disk
_sync = getattr(os, "fdatasync", os.fsync)


@dataclass(eq=False)
class Segment:
    """One file, and how many of its records are still pending."""

    path: Path
    file: int
    size: int = 0
    left: int = 0


@dataclass(eq=False)
class _QueuedRecord:
    """One caller's record, until it is on disk."""

    record: bytes
    segment: Segment | None = None
    error: OSError | None = None


class Segments:
    """The files of one process in a directory that several processes share."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._name, self._lock_file = _new_lock(directory)
        self._orphans: dict[str, int] = {}
        self._number = 0
        self._segments: list[Segment] = []
        self._active: Segment | None = None
        self._files = Lock()  # around every change of a file
        self._queue_changed = Condition()
        self._queue: list[_QueuedRecord] = []
        self._writing = False
        _open.add(self)

    @property
    def size(self) -> int:
        return sum(segment.size for segment in list(self._segments))

    def append(self, record: bytes) -> Segment:
        """Write a record. It is on disk when this returns; StoreUnavailable if it cannot be written."""
        mine = _QueuedRecord(record)
        with self._queue_changed:
            self._queue.append(mine)
            while self._writing and mine.segment is None and mine.error is None:
                self._queue_changed.wait()
            leads = mine.segment is None and mine.error is None
            if leads:
                self._writing = True
                batch, self._queue = self._queue, []
        if leads:
            try:
                self._put(batch)
            finally:
                with self._queue_changed:
                    self._writing = False
                    self._queue_changed.notify_all()
        if mine.segment is None:
            raise SpoolWriteError(
                f"the database is away and the spool in {self._directory} cannot be written "
                f"({mine.error.strerror if mine.error else 'interrupted'}); free disk space or repair the folder"
            ) from mine.error
        return mine.segment

    def done(self, segment: Segment) -> None:
        """One record of a segment is stored; with the last one the file is deleted."""
        with self._files:
            segment.left -= 1
            if segment.left == 0:
                self._drop(segment)

    def remove(self, is_erased: Callable[[bytes], bool], pending: Mapping[Path, int]) -> None:
        """Rewrite all files without erased records; `pending` is how many of these were pending in each file."""
        with self._files:
            for segment in list(self._segments):
                records = read_frames(segment.path.read_bytes()).records
                staying = [record for record in records if not is_erased(record)]
                segment.left -= pending.get(segment.path, 0)
                if segment.left <= 0:
                    self._drop(segment)
                elif len(staying) < len(records):
                    self._rewrite(segment, b"".join(map(frame, staying)))

    def adopt(self) -> Iterator[tuple[Segment, SegmentContents]]:
        """Take over the files of processes that have died."""
        for path in sorted(self._directory.glob("*.lock")):
            name = path.stem
            if name == self._name or name in self._orphans or name == "refused":
                continue
            lock = _locked(path)
            if lock is None:
                continue
            self._orphans[name] = lock
            for file in sorted(self._directory.glob(f"{name}-*.spool")):
                found = read_frames(file.read_bytes())
                handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
                segment = Segment(file, handle, file.stat().st_size, len(found.records))
                with self._files:
                    self._segments.append(segment)
                    if segment.left == 0 and not found.damaged:
                        self._drop(segment)
                        continue
                yield segment, found
            self._release(name)

    def drop(self, segment: Segment) -> None:
        """Delete a segment without pending records."""
        with self._files:
            self._drop(segment)

    def close(self) -> None:
        """Close the files. Pending records stay on disk, for the next process that opens the directory."""
        with self._files:
            for segment in self._segments:
                os.close(segment.file)
            names = {segment.path.name.rpartition("-")[0] for segment in self._segments}
            self._segments, self._active = [], None
            for name, lock in {**self._orphans, self._name: self._lock_file}.items():
                if name not in names:
                    (self._directory / f"{name}.lock").unlink(missing_ok=True)
                os.close(lock)
            self._orphans = {}
        _open.discard(self)

    def leave_to_parent(self) -> None:
        """In a forked child: close the files, which belong to the parent."""
        for handle in (*self._orphans.values(), self._lock_file, *(segment.file for segment in self._segments)):
            with suppress(OSError):  # the parent was closing it at that moment
                os.close(handle)
        self._segments, self._orphans = [], {}

    def _put(self, batch: list[_QueuedRecord]) -> None:
        """Write and sync a batch, all of it or nothing."""
        with self._files:
            try:
                segment = self._writable()
                data = memoryview(b"".join(frame(each.record) for each in batch))
                while data:
                    data = data[os.write(segment.file, data) :]
                _sync(segment.file)
            except OSError as error:
                self._undo()
                for each in batch:
                    each.error = error
                return
            segment.size = os.fstat(segment.file).st_size
            segment.left += len(batch)
            for each in batch:
                each.segment = segment

    def _undo(self) -> None:
        """After a failed write: cut it off, and never write to this file again."""
        segment, self._active = self._active, None
        if segment is None:
            return
        with suppress(OSError):  # else it is read as a torn tail
            os.ftruncate(segment.file, segment.size)
        if segment.left == 0:
            self._drop(segment)

    def _writable(self) -> Segment:
        if self._active is None or self._active.size >= SEGMENT_BYTES:
            self._number += 1
            path = self._directory / f"{self._name}-{self._number:06}.spool"
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            self._active = Segment(path, handle)
            self._segments.append(self._active)
            sync_directory(self._directory)
        return self._active

    def _drop(self, segment: Segment) -> None:
        if segment not in self._segments:
            return
        self._segments.remove(segment)
        if segment is self._active:
            self._active = None
        os.close(segment.file)
        segment.path.unlink(missing_ok=True)
        sync_directory(self._directory)
        self._release(segment.path.name.rpartition("-")[0])

    def _rewrite(self, segment: Segment, content: bytes) -> None:
        replace_file(segment.path, content)
        os.close(segment.file)
        segment.file = os.open(segment.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        segment.size = len(content)

    def _release(self, name: str) -> None:
        """Release the lock of an adopted process without segments left."""
        if name in self._orphans and not any(self._directory.glob(f"{name}-*.spool")):
            (self._directory / f"{name}.lock").unlink(missing_ok=True)
            os.close(self._orphans.pop(name))


_open: "WeakSet[Segments]" = WeakSet()


def _after_fork() -> None:
    for segments in list(_open):
        segments.leave_to_parent()
    _open.clear()


os.register_at_fork(after_in_child=_after_fork)


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file's content atomically."""
    beside = path.with_suffix(".new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make created and deleted names durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _new_lock(directory: Path) -> tuple[str, int]:
    while True:
        name = uuid4().hex
        path = directory / f"{name}.lock"
        path.touch(0o600)
        lock = _locked(path)
        if lock is not None:  # else another process adopted it before it was locked
            return name, lock


def _locked(path: Path) -> int | None:
    """The lock, if it is free and the file still has this name."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.exists() and os.stat(path).st_ino == os.fstat(handle).st_ino:
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(handle)
    return None

"""Where conversations lie: a file, a folder of files, or a zip archive, opened part by part and never unpacked to disk.

In: a path. Out: its parts, each a stream that counts what is read of it. Names in an archive only choose and describe
parts, nothing is ever written under them; an archive that swells beyond reason is refused while it is read.
"""

import codecs
import fnmatch
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from ricordo.errors import ValidationError
from ricordo.imports.conversation import ImportProblem

SQLITE = b"SQLite format 3\x00"
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
MOST_PARTS = 10_000
MOST_BYTES = 16 * 1024**3  # of an archive, unpacked
FREE_BYTES = 64 * 1024**2  # up to here nobody asks how well a part was packed
MOST_RATIO = 200  # JSON packs ten to thirty times smaller; beyond this nobody wrote it
_CONVERSATIONS = "conversations*.json"
_TEXTS = (".json", ".jsonl", ".ndjson")
# Parts of known exports that hold no conversations.
_BESIDE = frozenset(
    {
        "export_manifest.json",
        "group_chats.json",
        "message_feedback.json",
        "model_comparisons.json",
        "projects.json",
        "shared_conversations.json",
        "shopping.json",
        "sora.json",
        "user.json",
        "user_settings.json",
        "users.json",
    }
)
Progress = Callable[[int, int], None]


class Swollen(Exception):  # noqa: N818 - a finding, turned into a Problem where it is found
    """An archive that unpacks to more than may be."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of conversations. `path` is where it lies if it is a file of its own."""

    name: str
    size: int
    open: Callable[[], AbstractContextManager[BinaryIO]]
    path: Path | None = None

    def head(self, size: int = 16) -> bytes:
        """How it begins."""
        with self.open() as stream:
            return stream.read(size)


def parts(path: Path, name: str | None = None) -> Iterator[SourceFile | ImportProblem]:
    """The parts of a path that may hold conversations, in the order of their names. `name` is what to call a file."""
    if path.is_dir():
        yield from _of_folder(path)
    elif not path.is_file():
        raise ValidationError("file", f"{path} is not there; name a file or a folder")
    elif _begins(path).startswith(ZIP):
        yield from _of_archive(path)
    else:
        yield _file(path, name or path.name)


def _begins(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(16)


def _file(path: Path, name: str) -> SourceFile:
    return SourceFile(name, path.stat().st_size, lambda: path.open("rb"), path)


def _of_folder(folder: Path) -> Iterator[SourceFile | ImportProblem]:
    """What looks like an export; otherwise every JSON file and database that lies in the folder itself."""
    files = sorted(each for each in folder.iterdir() if each.is_file())
    chosen = [each for each in files if fnmatch.fnmatchcase(each.name, _CONVERSATIONS)]
    if not chosen:
        chosen = [each for each in files if each.name not in _BESIDE]
        chosen = [each for each in chosen if each.suffix.lower() in _TEXTS or _begins(each) == SQLITE]
    if not chosen:
        yield ImportProblem(folder.name, "holds no file of conversations; name the file itself")
    for each in chosen:
        yield _file(each, each.name)


def _of_archive(path: Path) -> Iterator[SourceFile | ImportProblem]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        yield ImportProblem(path.name, f"is a damaged archive ({error}); export it again")
        return
    if len(members) > MOST_PARTS:
        yield ImportProblem(path.name, f"holds more than {MOST_PARTS} files; unpack it and name the folder")
        return
    if sum(each.file_size for each in members if _is_text(each)) > MOST_BYTES:
        yield ImportProblem(path.name, f"unpacks to more than {MOST_BYTES} bytes; unpack it and name the folder")
        return
    chosen = [each for each in members if fnmatch.fnmatchcase(_base(each), _CONVERSATIONS)]
    chosen = chosen or [each for each in members if _is_text(each) and _base(each) not in _BESIDE]
    if not chosen:
        yield ImportProblem(path.name, "holds no file of conversations; name the file itself")
    for each in sorted(chosen, key=lambda member: member.filename):
        if each.flag_bits & 1:
            yield ImportProblem(_base(each), "is encrypted; unpack it first")
        else:
            yield _member(path, each)


def _base(member: zipfile.ZipInfo) -> str:
    return member.filename.replace("\\", "/").rpartition("/")[2]


def _is_text(member: zipfile.ZipInfo) -> bool:
    return os.path.splitext(_base(member))[1].lower() in _TEXTS


def _member(path: Path, member: zipfile.ZipInfo) -> SourceFile:
    def opened() -> AbstractContextManager[BinaryIO]:
        archive = zipfile.ZipFile(path)
        try:
            packed: IO[bytes] = archive.open(member)
        except BaseException:
            archive.close()
            raise
        most = max(FREE_BYTES, MOST_RATIO * max(member.compress_size, 1))
        return closing(io.BufferedReader(_Bounded(packed, archive, min(most, MOST_BYTES)), 256 * 1024))

    return SourceFile(_base(member), member.file_size, opened)


# What reading a part may meet: a disk that fails, an archive that lies, bytes that do not unpack, a name that is none.
FAILURES = (OSError, zipfile.BadZipFile, zlib.error, EOFError, Swollen, NotImplementedError, RuntimeError, UnicodeError)


class _Bounded(io.RawIOBase):
    """A member of an archive that stops when it gives more than it may."""

    def __init__(self, packed: IO[bytes], archive: zipfile.ZipFile, most: int) -> None:
        self._packed, self._archive, self._left = packed, archive, most

    def readable(self) -> bool:
        return True

    def readinto(self, target: "bytearray | memoryview[int]") -> int:  # type: ignore[override]
        try:
            read = self._packed.read(len(target))
        except Exception as error:  # each way of packing has errors of its own, and not every Python has every way
            raise zipfile.BadZipFile(f"it does not unpack: {error}") from error
        self._left -= len(read)
        if self._left < 0:
            raise Swollen("unpacks to far more than such a file should hold; it is not read")
        target[: len(read)] = read
        return len(read)

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
            self._archive.close()
        super().close()


class Metered:
    """The text of a binary stream, which tells how many bytes were read."""

    def __init__(self, stream: BinaryIO, told: Callable[[int], None]) -> None:
        start = stream.read(4)
        encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        self._stream, self._told, self._bytes, self._start = stream, told, 0, start
        # A stray byte becomes a lone surrogate, which is found and mended where it is said.
        errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)

    def read(self, size: int, /) -> str:
        """The next characters; empty at the end."""
        while True:
            raw = self._start + self._stream.read(size)
            self._start = b""
            self._bytes += len(raw)
            self._told(self._bytes)
            found = self._decoder.decode(raw, final=not raw)
            if found or not raw:
                return found

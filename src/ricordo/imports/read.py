"""Reads a file, a folder or an archive into session documents, one at a time.

Out: documents for `Memory.import_documents`, and a problem with its place for everything that cannot be read. No file
is loaded whole, nothing is written, and no content raises: a damaged part becomes a problem and the rest is read.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ricordo.errors import ValidationError
from ricordo.imports import chat_messages
from ricordo.imports.chat_apps import chatgpt, claude, librechat, open_webui
from ricordo.imports.chat_messages import chatbot_ui
from ricordo.imports.conversation import Conversation, Imported, ImportProblem, mapping
from ricordo.imports.json_stream import (
    FACT_FORMAT,
    FORMATS,
    ITEM_FORMAT,
    OWN,
    Format,
    JsonEntry,
    Shape,
    describe_path,
    detect_shape,
    entries,
)
from ricordo.imports.messengers import telegram, whatsapp
from ricordo.imports.session_documents import DocumentOptions, documents
from ricordo.imports.sources import (
    FAILURES,
    SQLITE,
    CountingReader,
    Progress,
    SourceFile,
    detect_database,
    read_database,
    source_files,
)
from ricordo.imports.transcripts import TranscriptFormat, read_transcript, transcripts
from ricordo.limits import Limits

Found = Iterator[Conversation | ImportProblem]
_GIVE = "give JSON as UTF-8 text, a zip or an SQLite file, or name its format: " + ", ".join(FORMATS)
Reader = Callable[[Any, str, str], Conversation | ImportProblem | None]
LINE_CHUNK = 64 * 1024
_EACH: dict[str, Reader] = {
    "chatgpt": chatgpt,
    "claude": claude,
    "open-webui": open_webui,
    "librechat": librechat,
    "chatbot-ui": chatbot_ui,
    "sharegpt": chat_messages.sharegpt,
    "messages": chat_messages.message_list,
    "telegram": telegram,
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read: the agent of the sessions, the limits of what is stored, the file's name, a progress callback.

    `now` is the time of messages without one; by default the file's modification time. `me` is the user's
    name in a chat with others.
    """

    agent_id: str = "default"
    limits: Limits = field(default_factory=Limits)
    name: str | None = None
    now: datetime | None = None
    me: str | None = None
    progress: Progress = lambda done, total: None


def detect(source: str | os.PathLike[str] | bytes) -> Format | None:
    """The format of a file, a folder, an archive, or of the first bytes of a text; None if it is unknown."""
    if isinstance(source, bytes):
        shape = detect_shape(_HeadStream(source))
        return shape.format if shape else None
    if known := transcripts(Path(source)):
        return known[0][1]
    for part in source_files(Path(source)):
        found = None if isinstance(part, ImportProblem) else _shape_of(part)
        if isinstance(found, Shape):
            return found.format
    return None


def read(
    source: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the public name
    reading: ReadOptions | None = None,
) -> Iterator[Imported | ImportProblem]:
    """The documents of a file, a folder or an archive; the format is detected file by file unless it is given."""
    path, options = Path(source), reading or ReadOptions()
    if format not in (None, "auto", *FORMATS):
        raise ValidationError("format", f"{format!r} is unknown; use auto or one of {', '.join(FORMATS)}")
    if (format in (None, "auto", "claude-code", "codex")) and (known := transcripts(path)):
        yield from _read_transcripts(known, options)
        return
    found = list(source_files(path, options.name))
    total = sum(part.size for part in found if isinstance(part, SourceFile))
    before = 0
    for part in found:
        if isinstance(part, ImportProblem):
            yield part
            continue
        meter = _ProgressMeter(options.progress, before, part.size, total)
        shape = _shape_of(part)
        if format not in (None, "auto") and not isinstance(shape, ImportProblem):
            shape = shape if shape and shape.format == format else Shape(format)  # type: ignore[arg-type]
        if isinstance(shape, Shape):
            now = options.now or datetime.fromtimestamp(path.stat().st_mtime, UTC)
            stored_as = DocumentOptions(shape.format, options.agent_id, options.limits, now)
            yield from _read_part(part, shape, stored_as, meter, options.me)
        else:
            yield shape or ImportProblem(part.name, _refusal(part))
        before += part.size


def _read_transcripts(
    known: list[tuple[Path, TranscriptFormat]], options: ReadOptions
) -> Iterator[Imported | ImportProblem]:
    """The conversations of transcripts, each a file of its own."""
    for done, (path, form) in enumerate(known):
        options.progress(done, len(known))
        found = read_transcript(path, form)
        now = options.now or datetime.fromtimestamp(path.stat().st_mtime, UTC)
        if found is not None:
            yield from _to_documents(found, DocumentOptions(form, options.agent_id, options.limits, now))
    options.progress(len(known), len(known))


def _shape_of(part: SourceFile) -> Shape | ImportProblem | None:
    """The shape of a file, or the problem with reading it."""
    try:
        if part.head() == SQLITE:
            found = detect_database(part.path) if part.path else None
            return Shape(found) if found else None  # type: ignore[arg-type]
        with part.open() as stream:
            return detect_shape(CountingReader(stream, lambda done: None))
    except FAILURES as error:
        return ImportProblem(part.name, f"cannot be read ({error})")


def _refusal(part: SourceFile) -> str:
    """Why a file of unknown format is refused, and what can be read."""
    try:
        if part.size == 0 or not part.head(1024).strip():
            return f"is empty; {_GIVE}"
    except FAILURES:
        return f"cannot be read; {_GIVE}"
    return f"is in no known format; {_GIVE}{_first_problem(part)}"


def _first_problem(part: SourceFile) -> str:
    """The problem with the first value of a text of unknown format, if there is one."""
    try:
        with part.open() as stream:
            first = next(entries(CountingReader(stream, lambda done: None)), None)
    except FAILURES:
        return ""
    return f" (it {first.problem})" if isinstance(first, ImportProblem) else ""


def _read_part(
    part: SourceFile, shape: Shape, options: DocumentOptions, meter: "_ProgressMeter", me: str | None
) -> Iterator[Imported | ImportProblem]:
    try:
        if part.head() == SQLITE:
            if part.path is None:
                yield ImportProblem(part.name, "is a database inside an archive; unpack it first")
                return
            for found in read_database(part.path, shape.format, part.name, meter.rows):
                yield from _to_documents(found, options)
            return
        with part.open() as stream:
            if shape.format == "whatsapp":
                for found in whatsapp(_lines(CountingReader(stream, meter.bytes)), part.name, me):
                    yield from _to_documents(found, options)
                return
            listed = entries(CountingReader(stream, meter.bytes), part.name, shape.into)
            if shape.format == OWN:
                yield from _own_documents(listed, part.name)
                return
            for found in _conversations(listed, shape, part.name, me):
                yield from _to_documents(found, options)
    except FAILURES as error:
        yield ImportProblem(part.name, f"cannot be read further ({error})")


def _to_documents(found: Conversation | ImportProblem, options: DocumentOptions) -> Iterator[Imported | ImportProblem]:
    if isinstance(found, ImportProblem):
        yield found
    else:
        yield from found.problems
        yield from documents(found, options)


def _own_documents(listed: Iterable[JsonEntry | ImportProblem], name: str) -> Iterator[Imported | ImportProblem]:
    """Ricordo's own documents, unchanged."""
    for each in listed:
        if isinstance(each, ImportProblem):
            yield each
        elif mapping(each.value).get("format") == FACT_FORMAT:
            continue  # no conversation: `ricordo import FILE` imports it
        elif mapping(each.value).get("format") == ITEM_FORMAT:
            where = describe_path(name, each.path)
            yield ImportProblem(where, "is an item of an adapter; `ricordo import FILE` imports those")
        elif mapping(each.value):
            yield Imported(OWN, describe_path(name, each.path), each.value)
        else:
            yield ImportProblem(describe_path(name, each.path), "is not a session: expected a JSON object")


def own_documents(lines: Iterable[str], read: Callable[[int], None]) -> Iterator[dict[str, Any] | Exception]:
    """Ricordo's own documents from JSON lines, one at a time, or from one JSON text over many lines.

    A line that is not JSON yields an error in its place, and reading continues. `read` is called with the bytes read.
    """
    taken = 0
    source = iter(lines)
    try:
        first = next(source, "")
        if _is_json(first):
            source = chain([first], source)
        else:  # one text over many lines, or damaged
            whole = first + "".join(source)
            source = iter([whole] if _is_json(whole) else whole.splitlines(keepends=True))
        for number, line in enumerate(source, start=1):
            taken += len(line.encode(errors="replace"))
            read(taken)
            if line.strip():
                yield from _parsed(line, f"line {number}")
    except UnicodeDecodeError as error:
        yield ValidationError("file", f"is not text ({error}); give UTF-8")


def _parsed(text: str, where: str) -> Iterator[dict[str, Any] | Exception]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield ValidationError(where, f"is not JSON ({error})")
        return
    for each in value if isinstance(value, list) else [value]:
        yield each if isinstance(each, dict) else ValidationError(where, "expected a session as a JSON object")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(text: CountingReader) -> Iterator[str]:
    """The lines of a text; only LF ends one, as messengers write them."""
    rest = ""
    while read := text.read(LINE_CHUNK):
        *whole, rest = (rest + read).split("\n")
        yield from whole
    yield rest


def _conversations(
    listed: Iterable[JsonEntry | ImportProblem], shape: Shape, name: str, me: str | None = None
) -> Found:
    """The conversations among the entries of a text."""
    filtered = _EntryFilter(listed, shape, name)
    if shape.format == "mem0":
        yield from chat_messages.memories(filtered.pairs(), name)
    elif shape.format == "llamaindex":
        for entry in filtered.each():
            found = chat_messages.chat_store(str(entry.path[-1]), entry.value, describe_path(name, entry.path))
            yield from _one(found)
    elif shape.format == "langchain":
        yield from chat_messages.collect_messages(filtered.pairs(), name, chat_messages.langchain_message)
    elif shape.format in _EACH:
        reader = partial(telegram, me=me) if shape.format == "telegram" else _EACH[shape.format]
        yield from _each(filtered, shape.format, name, reader)
    else:
        yield ImportProblem(name, f"is not a database of {shape.format}; give the database file")
    yield from filtered.problems


def _each(filtered: "_EntryFilter", form: str, name: str, reader: Reader) -> Found:
    """One conversation per entry; messages outside a list form one conversation."""
    pairs = filtered.pairs()
    first = next(pairs, None)
    if first is None:
        return
    everything = chain([first], pairs)
    if chat_messages.is_message(first[0]) and form == "messages":
        yield from chat_messages.collect_messages(everything, name, chat_messages.bare_message)
    elif form == "sharegpt" and "from" in mapping(first[0]):
        yield from chat_messages.collect_messages(everything, name, chat_messages.sharegpt_message)
    else:
        for number, (value, place) in enumerate(everything):
            yield from filtered.take_problems()
            yield from _one(reader(value, place, f"{name}#{number}"))


def _one(found: Conversation | ImportProblem | None) -> Found:
    if found is not None:
        yield found


class _EntryFilter:
    """The entries at the paths of conversations; problems among them are collected in order."""

    def __init__(self, listed: Iterable[JsonEntry | ImportProblem], shape: Shape, name: str) -> None:
        self._listed, self._name = listed, name
        # Conversations are in the innermost of the entered paths.
        entered = {path[:-1] for path in shape.into if path}
        self._holders = shape.into - entered
        self.problems: list[ImportProblem] = []

    def each(self) -> Iterator[JsonEntry]:
        """The entries themselves."""
        for found in self._listed:
            if isinstance(found, ImportProblem):
                self.problems.append(found)
            elif not self._holders or found.path[:-1] in self._holders:
                yield found

    def pairs(self) -> Iterator[tuple[Any, str]]:
        """Their values and places."""
        for entry in self.each():
            yield entry.value, describe_path(self._name, entry.path)

    def take_problems(self) -> Iterator[ImportProblem]:
        """The problems collected since the last call."""
        taken, self.problems = self.problems, []
        yield from taken


class _ProgressMeter:
    """Reports the progress of one file as bytes of all files."""

    def __init__(self, progress: Progress, before: int, size: int, total: int) -> None:
        self._progress, self._before, self._size, self._total = progress, before, size, max(total, 1)

    def bytes(self, done: int) -> None:
        """Report the bytes read of this file."""
        self._progress(min(self._before + done, self._total), self._total)

    def rows(self, done: int, of: int) -> None:
        """Report the rows read of a database."""
        self.bytes(self._size * done // max(of, 1))


class _HeadStream:
    """The first bytes of a text as a stream."""

    def __init__(self, head: bytes) -> None:
        self._left = head.decode("utf-8-sig", errors="surrogateescape")

    def read(self, size: int, /) -> str:
        """The next characters."""
        taken, self._left = self._left[:size], self._left[size:]
        return taken

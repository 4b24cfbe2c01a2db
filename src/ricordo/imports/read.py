"""Reading what other programs kept: from a path to session documents, one at a time.

In: a file, a folder or an archive. Out: documents that `Memory.import_documents` takes, and a problem for everything
that cannot be read, with its place. Nothing is loaded whole, nothing is written, and nothing that a file holds can
raise: a damaged part is a problem and the rest is read.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from ricordo.errors import ValidationError
from ricordo.imports import chat_messages, mem0
from ricordo.imports.chatgpt import chatgpt
from ricordo.imports.claude import claude
from ricordo.imports.conversation import Conversation, Imported, ImportProblem
from ricordo.imports.databases import detect_database, read_database
from ricordo.imports.document import Terms, documents
from ricordo.imports.formats import FORMATS, ITEM_FORMAT, OWN, Format, Shape, shape_of
from ricordo.imports.json_stream import JsonEntry, entries, place_of
from ricordo.imports.sources import FAILURES, SQLITE, Metered, Progress, SourceFile, parts
from ricordo.imports.values import mapping
from ricordo.imports.webui import chatbot_ui, librechat, open_webui
from ricordo.limits import Limits

Found = Iterator[Conversation | ImportProblem]
_UNKNOWN = (
    "is of no format that is known here; give JSON as UTF-8 text, a zip or an SQLite file, or name its format: "
    + ", ".join(FORMATS)
)
_EACH: dict[str, Callable[[Any, str, str], Conversation | ImportProblem | None]] = {
    "chatgpt": chatgpt,
    "claude": claude,
    "open-webui": open_webui,
    "librechat": librechat,
    "chatbot-ui": chatbot_ui,
    "sharegpt": chat_messages.sharegpt,
    "messages": chat_messages.message_list,
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read: whose words they become, what may be stored, what to call the file, and who hears of progress.

    `now` dates what has no date; left out, it is when the file was written.
    """

    agent_id: str = "default"
    limits: Limits = field(default_factory=Limits)
    name: str | None = None
    now: datetime | None = None
    progress: Progress = lambda done, total: None


def detect(source: str | os.PathLike[str] | bytes) -> Format | None:
    """The format of a file, a folder, an archive, or of the first bytes of a text; None if it is not known."""
    if isinstance(source, bytes):
        return _form(shape_of(_Bytes(source)))
    for part in parts(Path(source)):
        found = None if isinstance(part, ImportProblem) else _looked_at(part)
        if isinstance(found, Shape):
            return found.format
    return None


def read(
    source: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the public name
    reading: ReadOptions | None = None,
) -> Iterator[Imported | ImportProblem]:
    """What a file, a folder or an archive holds; the format is detected part by part unless it is named."""
    path, how = Path(source), reading or ReadOptions()
    if format not in (None, "auto", *FORMATS):
        raise ValidationError("format", f"{format!r} is unknown; use auto or one of {', '.join(FORMATS)}")
    found = list(parts(path, how.name))
    total = sum(part.size for part in found if isinstance(part, SourceFile))
    before = 0
    for part in found:
        if isinstance(part, ImportProblem):
            yield part
            continue
        meter = _Meter(how.progress, before, part.size, total)
        shape = _looked_at(part)
        if format not in (None, "auto") and not isinstance(shape, ImportProblem):
            shape = shape if shape and shape.format == format else Shape(format)  # type: ignore[arg-type]
        if isinstance(shape, Shape):
            now = how.now or datetime.fromtimestamp(path.stat().st_mtime, UTC)
            yield from _read_part(part, shape, Terms(shape.format, how.agent_id, how.limits, now), meter)
        else:
            yield shape or ImportProblem(part.name, _UNKNOWN + _why(part))
        before += part.size


def _looked_at(part: SourceFile) -> Shape | ImportProblem | None:
    """The shape of a part, or why it cannot be told."""
    try:
        if part.head() == SQLITE:
            found = detect_database(part.path) if part.path else None
            return Shape(found) if found else None  # type: ignore[arg-type]
        with part.open() as stream:
            return shape_of(Metered(stream, lambda done: None))
    except FAILURES as error:
        return ImportProblem(part.name, f"cannot be read ({error})")


def _why(part: SourceFile) -> str:
    """What is wrong with the first value of a text whose format is not known, if anything is."""
    try:
        with part.open() as stream:
            first = next(entries(Metered(stream, lambda done: None)), None)
    except FAILURES:
        return ""
    return f" (it {first.problem})" if isinstance(first, ImportProblem) else ""


def _read_part(part: SourceFile, shape: Shape, terms: Terms, meter: "_Meter") -> Iterator[Imported | ImportProblem]:
    try:
        if part.head() == SQLITE:
            if part.path is None:
                yield ImportProblem(part.name, "is a database inside an archive; unpack it first")
                return
            for found in read_database(part.path, shape.format, part.name, meter.rows):
                yield from _written(found, terms)
            return
        with part.open() as stream:
            listed = entries(Metered(stream, meter.bytes), part.name, shape.into)
            if shape.format == OWN:
                yield from _own(listed, part.name)
                return
            for found in _conversations(listed, shape, part.name):
                yield from _written(found, terms)
    except FAILURES as error:
        yield ImportProblem(part.name, f"cannot be read further ({error})")


def _written(found: Conversation | ImportProblem, terms: Terms) -> Iterator[Imported | ImportProblem]:
    if isinstance(found, ImportProblem):
        yield found
    else:
        yield from found.unread
        yield from documents(found, terms)


def _own(listed: Iterable[JsonEntry | ImportProblem], name: str) -> Iterator[Imported | ImportProblem]:
    """Our own documents as they are."""
    for each in listed:
        if isinstance(each, ImportProblem):
            yield each
        elif mapping(each.value).get("format") == ITEM_FORMAT:
            yield ImportProblem(
                place_of(name, each.path), "is an item of an adapter; `ricordo import FILE` imports those"
            )
        elif mapping(each.value):
            yield Imported(OWN, place_of(name, each.path), each.value)
        else:
            yield ImportProblem(place_of(name, each.path), "is not a session: expected a JSON object")


def _conversations(listed: Iterable[JsonEntry | ImportProblem], shape: Shape, name: str) -> Found:
    """The conversations among the entries of a text."""
    sifted = _Sifted(listed, shape, name)
    if shape.format == "mem0":
        yield from mem0.memories(sifted.pairs(), name)
    elif shape.format == "llamaindex":
        for entry in sifted.each():
            found = chat_messages.chat_store(str(entry.path[-1]), entry.value, place_of(name, entry.path))
            yield from _one(found)
    elif shape.format == "langchain":
        yield from chat_messages.gathered(sifted.pairs(), name, chat_messages.langchain_said)
    elif shape.format in _EACH:
        yield from _each(sifted, shape.format, name)
    else:
        yield ImportProblem(name, f"is not a database of {shape.format}; name the database file")
    yield from sifted.problems


def _each(sifted: "_Sifted", form: str, name: str) -> Found:
    """One conversation an entry; messages that stand alone are one conversation together."""
    pairs = sifted.pairs()
    first = next(pairs, None)
    if first is None:
        return
    everything = chain([first], pairs)
    if chat_messages.is_message(first[0]) and form == "messages":
        yield from chat_messages.gathered(everything, name, chat_messages.api_said)
    elif form == "sharegpt" and "from" in mapping(first[0]):
        yield from chat_messages.gathered(everything, name, chat_messages.sharegpt_said)
    else:
        for number, (value, place) in enumerate(everything):
            yield from sifted.told()
            yield from _one(_EACH[form](value, place, f"{name}#{number}"))


def _one(found: Conversation | ImportProblem | None) -> Found:
    if found is not None:
        yield found


class _Sifted:
    """The entries that stand where conversations do; problems among them are put aside in their order."""

    def __init__(self, listed: Iterable[JsonEntry | ImportProblem], shape: Shape, name: str) -> None:
        self._listed, self._name = listed, name
        # Conversations stand in the innermost of what is entered.
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
            yield entry.value, place_of(self._name, entry.path)

    def told(self) -> Iterator[ImportProblem]:
        """What was put aside, once."""
        told, self.problems = self.problems, []
        yield from told


def _form(shape: Shape | None) -> Format | None:
    return shape.format if shape else None


class _Meter:
    """How far the reading of one part is, as bytes of all parts."""

    def __init__(self, progress: Progress, before: int, size: int, total: int) -> None:
        self._progress, self._before, self._size, self._total = progress, before, size, max(total, 1)

    def bytes(self, done: int) -> None:
        """So many bytes were read."""
        self._progress(min(self._before + done, self._total), self._total)

    def rows(self, done: int, of: int) -> None:
        """So many rows of a database."""
        self.bytes(self._size * done // max(of, 1))


class _Bytes:
    """The beginning of a text, as bytes."""

    def __init__(self, head: bytes) -> None:
        self._left = head.decode("utf-8-sig", errors="surrogateescape")

    def read(self, size: int, /) -> str:
        """The next characters."""
        taken, self._left = self._left[:size], self._left[size:]
        return taken

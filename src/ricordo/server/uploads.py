"""Uploaded files: the file of a form, and the import of conversations from a file.

In: the file, the user to import for, whether it is a dry run. Out: what was, or would be, imported. Ricordo's own
export is read here, session by session; `ricordo.imports.run` reads the formats of other programs.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from ricordo.errors import RicordoError, ValidationError
from ricordo.imports.run import as_import, bring_in
from ricordo.imports.sources import ITEM_FORMAT
from ricordo.memory import Memory
from ricordo.records.service import ImportResult
from ricordo.records.turns import Turn
from ricordo.stores.memory import MemoryStore

OWN_FORMAT = "ricordo"
MAX_FORM_FIELDS = 8
Documents = Iterable[Mapping[str, Any] | Exception]
Progress = Callable[[Mapping[str, int]], None]


@dataclass(frozen=True, slots=True)
class FileImport:
    """A file to import: for one user, or for the users that it names. `name` is the original file name."""

    path: Path
    name: str = ""
    format: str = "auto"
    user_id: str | None = None
    dry_run: bool = False

    def run(self, memory: Memory, progress: Progress) -> dict[str, Any]:
        """Import every session; one that cannot be imported is reported in `errors`."""
        if self.format == OWN_FORMAT or (self.format == "auto" and _is_own_export(self.path)):
            return self._run_own(memory, progress)
        return self._run_other(memory, progress)

    def _run_own(self, memory: Memory, progress: Progress) -> dict[str, Any]:
        documents: Documents = read_export(self.path)
        if self.user_id is not None:  # the claims of a file that a user sends are not trusted
            documents = (each if isinstance(each, Exception) else as_import(each) for each in documents)

        def step(done: int) -> None:
            progress({"documents": done})

        if self.dry_run:
            result = _dry_run(memory, documents, self.user_id, step)
        else:
            result = memory.import_documents(documents, user_id=self.user_id, progress=step)
        return self._report(OWN_FORMAT, result)

    def _run_other(self, memory: Memory, progress: Progress) -> dict[str, Any]:
        result = bring_in(
            memory,
            self.path,
            user_id=self.user_id,
            format=self.format,
            dry_run=self.dry_run,
            name=self.name or "the file",
            progress=lambda done, total: progress({"documents": 0, "bytes": done, "total_bytes": total}),
        )
        if result.format == "unknown":
            raise ValidationError("format", result.errors[0] if result.errors else "the file holds no conversations")
        return self._report(result.format, result)

    def _report(self, format: str, result: Any) -> dict[str, Any]:  # noqa: A002 - the public name
        return {
            "format": format,
            "sessions_added": result.sessions_added,
            "turns_added": result.turns_added,
            "turns_known": result.turns_known,
            "errors": list(result.errors),
            "dry_run": self.dry_run,
        }


def read_export(path: Path) -> Iterator[Mapping[str, Any] | Exception]:
    """The sessions of Ricordo's own export: JSON lines, or one JSON text."""
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            value = _parse_json(line)
            if isinstance(value, ValueError) and number == 1:
                yield from _sessions_in(_parse_json(line + lines.read()), "file")
                return
            yield from _sessions_in(value, f"line {number}")


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return ValueError(f"is not JSON ({type(error).__name__})")


def _sessions_in(value: Any, where: str) -> Iterator[Mapping[str, Any] | Exception]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, ValueError):
            yield ValidationError(where, str(each))
        else:
            # Items are for the operator to import: an adapter may unpickle what it finds there.
            is_session = isinstance(each, dict) and each.get("format") != ITEM_FORMAT
            yield each if is_session else ValidationError(where, "expected a session as a JSON object")


def _is_own_export(path: Path) -> bool:
    """Whether the first document has a session and turns."""
    first = next(iter(read_export(path)), None)
    return isinstance(first, Mapping) and isinstance(first.get("session"), Mapping) and "turns" in first


def _dry_run(
    memory: Memory, documents: Documents, user_id: str | None, progress: Callable[[int], None]
) -> ImportResult:
    """The result of an import, done in a temporary store and compared with the real one."""
    with Memory(MemoryStore(), memory.settings, clock=memory.clock, counter=memory.counter, llm=memory.llm) as scratch:
        result = scratch.import_documents(documents, user_id=user_id, progress=progress)
        sessions = known = 0
        errors = list(result.errors)
        for owner in list(scratch.store.owners(memory.settings.tenant_id)):
            for document in scratch.store.sessions.page(owner, limit=10**9):
                sessions += memory.store.sessions.get(owner, document.id) is None
                for turn in scratch.store.turns.page(owner, document.id):
                    try:
                        known += _is_known(turn, memory.store.turns.get(owner, turn.id))
                    except RicordoError as error:
                        errors.append(f"session {document.id!r}: {error}")
    return ImportResult(sessions, result.turns_added - known, known, tuple(errors))


def _is_known(turn: Turn, stored: Turn | None) -> bool:
    if stored is not None and not turn.repeats(stored):
        raise ValidationError("turn", f"{turn.id!r} is stored with other content")
    return stored is not None


@asynccontextmanager
async def uploaded_file(request: Request) -> AsyncIterator[tuple[UploadFile, FormData]]:
    """The file in the form field `file`, and the form."""
    try:
        form = await request.form(max_files=1, max_fields=MAX_FORM_FIELDS)
    except HTTPException as error:
        if error.status_code != 400:
            raise
        raise ValidationError("file", f"the form cannot be read: {error.detail}") from error
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise ValidationError("file", "send the file in a form field named 'file'")
        yield file, form
    finally:
        await form.close()

"""Routes of documents and their passages, and imports of conversations from an uploaded file.

Ricordo's own export is read here, session by session; `ricordo.imports.run` reads the formats of other programs.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError as ShapeError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from ricordo.documents.chunks import Kind, kind_of
from ricordo.engine.core import new_id
from ricordo.errors import NotFoundError, ValidationError
from ricordo.imports.json_stream import ITEM_FORMAT, OWN
from ricordo.imports.read import own_documents
from ricordo.imports.run import as_import, import_path
from ricordo.imports.sources import LOCKED
from ricordo.memory import Memory
from ricordo.records.service import Document
from ricordo.records.turns import Owner, library_of
from ricordo.server import tenant_schemas as schemas
from ricordo.server.presenters import chunk_out, decode_cursor, document_out, encode_cursor
from ricordo.server.problems import error_body
from ricordo.server.service import Limit, Project, RequestUser, UserDep, path_id
from ricordo.server.streams import SSE_MEDIA_TYPE, SSE_RESPONSES, AnswerStream, sse_response

router = APIRouter()

MAX_FORM_FIELDS = 8
Documents = Iterable[Mapping[str, Any] | Exception]
Progress = Callable[[Mapping[str, int]], None]
DOCUMENTS: list[str | Enum] = ["documents"]
Shared = Annotated[bool, Query(description="Add it to the library that all users of the tenant read")]
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": schemas.DocumentIn.model_json_schema()},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}, "title": {"type": "string"}},
                }
            },
        },
    }
}

_FILE = {"type": "string", "format": "binary"}
_IMPORT_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {"schema": {"type": "string"}},
            "application/json": {"schema": {}},
            "multipart/form-data": {
                "schema": {"type": "object", "required": ["file"], "properties": {"file": _FILE}},
            },
        },
    }
}


@dataclass(frozen=True, slots=True)
class SentDocument:
    """A document of a request."""

    title: str
    content: str | bytes
    kind: Kind
    id: str | None = None


@router.post(
    "/documents",
    tags=DOCUMENTS,
    status_code=201,
    response_model=schemas.DocumentOut,
    responses={200: {"model": schemas.DocumentOut, "description": "It exists already"}},
    openapi_extra=_BODY,
)
async def add(request: Request, response: Response, user: UserDep, shared: Shared = False) -> dict[str, Any]:
    """Add a text or Markdown as JSON, or upload a file: text, Markdown or PDF, by its name.

    The same content again changes nothing, and the status is 200.
    """
    if shared and user.caller.authenticated:
        user.caller.require_admin()
    owner = library_of(user.caller.tenant_id) if shared else user.owner
    sent = await _sent_document(request)
    library = await run_in_threadpool(user.service.library, user.caller.tenant_id)
    document, new = await run_in_threadpool(library.add, owner, sent.title, sent.content, sent.kind, sent.id)
    response.status_code = 201 if new else 200
    return document_out(document, owner)


async def _sent_document(request: Request) -> SentDocument:
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with uploaded_file(request) as (file, form):
            name, title = file.filename or "document.txt", form.get("title")
            return SentDocument(title if isinstance(title, str) and title else name, await file.read(), kind_of(name))
    try:
        body = schemas.DocumentIn.model_validate(json.loads(await request.body()))
    except ShapeError as error:
        errors = [{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_url=False)]
        raise RequestValidationError(errors) from error
    except (ValueError, RecursionError) as error:
        raise ValidationError("body", "is not JSON; send a JSON object or a form with a file") from error
    return SentDocument(body.title, body.text, body.kind, body.id)


@router.get("/documents", response_model=schemas.DocumentsOut, tags=DOCUMENTS)
def listing(
    user: UserDep,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(description="The next_cursor of the page before")] = None,
) -> dict[str, Any]:
    """The documents that the user may read: their own and the tenant's library, newest first."""
    before = None if cursor is None else _cursor_document(cursor)
    library = user.service.library(user.caller.tenant_id)
    found = library.documents(user.owner, limit + 1, before)
    last = found[limit - 1][0] if len(found) > limit else None
    return {
        "items": [document_out(each, owner) for each, owner in found[:limit]],
        "next_cursor": encode_cursor(last.id, last.created_at) if last else None,
    }


@router.get("/documents/{document_id}", response_model=schemas.DocumentOut, tags=DOCUMENTS)
def read(document_id: str, user: UserDep) -> dict[str, Any]:
    """One document."""
    return document_out(*_document(user, document_id))


@router.get("/documents/{document_id}/chunks", response_model=schemas.ChunksOut, tags=DOCUMENTS)
def chunks(document_id: str, user: UserDep) -> dict[str, Any]:
    """The passages of a document in order."""
    document, owner = _document(user, document_id)
    found = user.service.store.documents.chunks(owner, [document.id])
    return {"items": [chunk_out(each, document) for each in found]}


@router.delete("/documents/{document_id}", status_code=204, tags=DOCUMENTS)
def delete(document_id: str, user: UserDep) -> None:
    """Delete a document with its passages; one of the library needs an admin credential of the tenant."""
    document, owner = _document(user, document_id)
    if owner.is_reserved and user.caller.authenticated:
        user.caller.require_admin()
    if not user.service.store.documents.delete(owner, document.id):
        raise NotFoundError("there is no such document for this user")


@router.get("/chunks/{chunk_id:path}", response_model=schemas.PassageOut, tags=DOCUMENTS)
def chunk(chunk_id: str, user: UserDep) -> dict[str, Any]:
    """One passage, with the text before and after it."""
    library = user.service.library(user.caller.tenant_id)
    found, document, owner = library.chunk(user.owner, path_id("chunk", chunk_id))
    around = {each.position: each for each in user.service.store.documents.chunks(owner, [document.id])}
    before, after = around.get(found.position - 1), around.get(found.position + 1)
    return chunk_out(found, document) | {
        "before": before.text if before else "",
        "after": after.text if after else "",
    }


def _document(user: RequestUser, document_id: str) -> tuple[Document, Owner]:
    library = user.service.library(user.caller.tenant_id)
    return library.document(user.owner, path_id("document", document_id))


def _cursor_document(cursor: str) -> Document:
    """The document before the page, as far as the store needs it."""
    document_id, created_at = decode_cursor(cursor)
    return Document(document_id, "", "text", "", created_at, 0, 0)


@router.post(
    "/import",
    response_model=schemas.ImportOut,
    responses=SSE_RESPONSES,
    openapi_extra=_IMPORT_BODY,
    tags=["import"],
)
async def bring(
    request: Request,
    user: UserDep,
    format: Annotated[str, Query(min_length=1, max_length=64)] = "auto",  # noqa: A002 - the public name
    dry_run: bool = False,
    project: Project = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Any:
    """Import conversations: a form with a `file`, or the file itself as the body. Repeating an import adds nothing.

    They are imported for the user of the credential or of the request, else for the users that the file names. If the
    client accepts server-sent events, `progress` events report the progress, and `done` the result.
    """
    path, name = await _save_upload(request)
    file_import = FileImport(path, name, format, user.explicit_id, dry_run, project)
    if SSE_MEDIA_TYPE not in accept:
        try:
            return await run_in_threadpool(file_import.run, user.memory, lambda progress: None)
        finally:
            path.unlink(missing_ok=True)
    answer = AnswerStream(user.owner, new_id(user.memory.clock.now()))

    def work() -> None:
        try:
            result = file_import.run(user.memory, lambda progress: answer.add("progress", dict(progress)))
            answer.add("done", result)
        except Exception as error:
            answer.add("error", error_body(error))
        finally:
            path.unlink(missing_ok=True)
            answer.finish()

    user.service.spawn(work)
    response: Response = sse_response(answer)
    return response


async def _save_upload(request: Request) -> tuple[Path, str]:
    """The uploaded file as a temporary file that only this process's user can read, and its original name."""
    name = ""
    with tempfile.NamedTemporaryFile(prefix="ricordo-import-", delete=False) as target:
        path = Path(target.name)
        try:
            if request.headers.get("content-type", "").startswith("multipart/form-data"):
                name = await _copy_form(request, target)
            else:
                async for part in request.stream():
                    target.write(part)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return path, name


async def _copy_form(request: Request, target: IO[bytes]) -> str:
    async with uploaded_file(request) as (file, _):
        while part := await file.read(1024 * 1024):
            target.write(part)
        return file.filename or ""


@dataclass(frozen=True, slots=True)
class FileImport:
    """A file to import: for one user, or for the users that it names. `name` is the original file name."""

    path: Path
    name: str = ""
    format: str = "auto"
    user_id: str | None = None
    dry_run: bool = False
    project: str | None = None

    def run(self, memory: Memory, progress: Progress) -> dict[str, Any]:
        """Import every session; one that cannot be imported is reported in `errors`."""
        own = self.format == OWN or (self.format == "auto" and _is_own_export(self.path))
        if own and not self.dry_run:
            return self._run_own(memory, progress)
        return self._run_other(memory, OWN if own else self.format, progress)

    def _run_own(self, memory: Memory, progress: Progress) -> dict[str, Any]:
        documents: Documents = _own_documents(self.path)
        if self.user_id is not None:  # what a file from a user claims is not trusted
            documents = (each if isinstance(each, Exception) else as_import(each) for each in documents)
        result = memory.import_documents(
            documents,
            user_id=self.user_id,
            progress=lambda done: progress({"documents": done}),
            project=self.project,
        )
        return self._report(OWN, result)

    def _run_other(self, memory: Memory, form: str, progress: Progress) -> dict[str, Any]:
        result = import_path(
            memory,
            self.path,
            user_id=self.user_id,
            format=form,
            dry_run=self.dry_run,
            name=self.name or "the file",
            project=self.project,
            progress=lambda done, total: progress({"documents": 0, "bytes": done, "total_bytes": total}),
        )
        if result.format == "unknown":
            first = result.problems[0] if result.problems else None
            code = "file_locked" if first and first.problem == LOCKED else "import_unknown"
            raise ValidationError("format", str(first or "the file holds no conversations"), code=code)
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


def _own_documents(path: Path) -> Iterator[Mapping[str, Any] | Exception]:
    """The documents of Ricordo's own export, without adapter items, because an adapter may unpickle them."""
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for each in own_documents(lines, lambda done: None):
            is_item = isinstance(each, Mapping) and each.get("format") == ITEM_FORMAT
            refused = ValidationError("file", "contains an adapter item, which only the operator may import")
            yield refused if is_item else each


def _is_own_export(path: Path) -> bool:
    """Whether the first document has a session and turns."""
    first = next(_own_documents(path), None)
    return isinstance(first, Mapping) and isinstance(first.get("session"), Mapping) and "turns" in first


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

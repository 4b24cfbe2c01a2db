"""Documents: add, list, read, remove; and one passage with what stands around it."""

import base64
import binascii
import json
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError as ShapeError
from starlette.concurrency import run_in_threadpool

from ricordo.documents.chunks import Kind, kind_of
from ricordo.engine.clock import new_id
from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id, check_time
from ricordo.records.service import Document, StoredChunk
from ricordo.records.turns import Owner, library_of
from ricordo.server.dependencies import Asking, Limit, RequestUser, known_id
from ricordo.server.problems import told_of
from ricordo.server.schemas import people
from ricordo.server.schemas.people import ImportOut
from ricordo.server.schemas.requests import DocumentIn
from ricordo.server.streams import SHOWN, STREAM, AnswerStream, streamed
from ricordo.server.uploads import Bringing, Progress, uploaded

documents_router = APIRouter(tags=["documents"])

Shared = Annotated[bool, Query(description="Into the library that all users of the tenant read")]
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": DocumentIn.model_json_schema()},
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


@dataclass(frozen=True, slots=True)
class SentDocument:
    """A document as it was sent."""

    title: str
    content: str | bytes
    kind: Kind
    id: str | None = None


@documents_router.post(
    "/documents",
    status_code=201,
    response_model=people.DocumentOut,
    responses={200: {"model": people.DocumentOut, "description": "It was there already"}},
    openapi_extra=_BODY,
)
async def add(request: Request, response: Response, person: Asking, shared: Shared = False) -> dict[str, Any]:
    """Add a text or Markdown as JSON, or upload a file: text, Markdown or PDF, told by its name.

    The same content again changes nothing, and is answered with 200.
    """
    if shared and person.caller.authenticated:
        person.caller.must_rule()
    owner = library_of(person.caller.tenant_id) if shared else person.owner
    given = await _given(request)
    library = await run_in_threadpool(person.service.library, person.caller.tenant_id)
    document, new = await run_in_threadpool(library.add, owner, given.title, given.content, given.kind, given.id)
    response.status_code = 201 if new else 200
    return document_out(document, owner)


async def _given(request: Request) -> SentDocument:
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with uploaded(request) as (file, form):
            name, title = file.filename or "document.txt", form.get("title")
            return SentDocument(title if isinstance(title, str) and title else name, await file.read(), kind_of(name))
    try:
        body = DocumentIn.model_validate(json.loads(await request.body()))
    except ShapeError as error:
        wrong = [{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_url=False)]
        raise RequestValidationError(wrong) from error
    except (ValueError, RecursionError) as error:
        raise ValidationError("body", "is not JSON; send a JSON object or a form with a file") from error
    return SentDocument(body.title, body.text, body.kind, body.id)


@documents_router.get("/documents", response_model=people.DocumentsOut)
def listing(
    person: Asking,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(description="The next_cursor of the page before")] = None,
) -> dict[str, Any]:
    """What the user may read: their own documents and the tenant's library, newest first."""
    before = None if cursor is None else _document_at(cursor)
    library = person.service.library(person.caller.tenant_id)
    found = library.documents(person.owner, limit + 1, before)
    more = _cursor_of(found[limit - 1][0]) if len(found) > limit else None
    return {"items": [document_out(each, whose) for each, whose in found[:limit]], "next_cursor": more}


@documents_router.get("/documents/{document_id}", response_model=people.DocumentOut)
def read(document_id: str, person: Asking) -> dict[str, Any]:
    """One document."""
    return document_out(*_document(person, document_id))


@documents_router.get("/documents/{document_id}/chunks", response_model=people.ChunksOut)
def chunks(document_id: str, person: Asking) -> dict[str, Any]:
    """The passages of a document in order."""
    document, whose = _document(person, document_id)
    found = person.service.store.documents.chunks(whose, [document.id])
    return {"items": [chunk_out(each, document) for each in found]}


@documents_router.delete("/documents/{document_id}", status_code=204)
def delete(document_id: str, person: Asking) -> None:
    """Remove a document with its passages; one of the library needs a credential of the whole tenant."""
    document, whose = _document(person, document_id)
    if whose.is_reserved and person.caller.authenticated:
        person.caller.must_rule()
    if not person.service.store.documents.delete(whose, document.id):
        raise NotFoundError("there is no such document for this user")


@documents_router.get("/chunks/{chunk_id:path}", response_model=people.PassageOut)
def chunk(chunk_id: str, person: Asking) -> dict[str, Any]:
    """One passage, with what stands before and after it."""
    library = person.service.library(person.caller.tenant_id)
    found, document, whose = library.chunk(person.owner, known_id("chunk", chunk_id))
    around = {each.position: each for each in person.service.store.documents.chunks(whose, [document.id])}
    before, after = around.get(found.position - 1), around.get(found.position + 1)
    return chunk_out(found, document) | {
        "before": before.text if before else "",
        "after": after.text if after else "",
    }


def _document(person: RequestUser, document_id: str) -> tuple[Document, Owner]:
    library = person.service.library(person.caller.tenant_id)
    return library.document(person.owner, known_id("document", document_id))


def document_out(document: Document, owner: Owner) -> dict[str, Any]:
    """A document as it goes out."""
    return {
        "id": document.id,
        "title": document.title,
        "kind": document.kind,
        "created_at": document.created_at,
        "chunk_count": document.chunk_count,
        "bytes": document.bytes,
        "shared": owner.is_reserved,
    }


def chunk_out(chunk: StoredChunk, document: Document) -> dict[str, Any]:
    """A passage as it goes out."""
    return {
        "id": chunk.id,
        "document_id": document.id,
        "title": document.title,
        "heading": chunk.heading,
        "text": chunk.text,
        "page": chunk.page,
        "start": chunk.start,
        "end": chunk.end,
        "position": chunk.position,
    }


def _cursor_of(document: Document) -> str:
    place = json.dumps([document.id, document.created_at.isoformat()])
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _document_at(cursor: str) -> Document:
    try:
        document_id, created = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        moment = check_time("cursor", datetime.fromisoformat(created))
        return Document(check_id("cursor", document_id), "", "text", "", moment, 0, 0)
    except (ValueError, TypeError, RecursionError, ValidationError, binascii.Error) as error:
        raise ValidationError("cursor", "give the next_cursor of the page before") from error


# Importing: a file of conversations comes in, with its progress told as it goes.

imports_router = APIRouter(tags=["import"])

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


@imports_router.post("/import", response_model=ImportOut, responses=SHOWN, openapi_extra=_IMPORT_BODY)
async def bring(
    request: Request,
    person: Asking,
    format: Annotated[str, Query(min_length=1, max_length=64)] = "auto",  # noqa: A002 - the public name
    dry_run: bool = False,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Any:
    """Bring conversations in: a form with a `file`, or the file itself as the body. Sent twice, it is brought in once.

    They become those of the user that the credential is bound to or that is named, else of the users they name. When
    server-sent events are asked for, `progress` tells how far it has come, and `done` what came of it.
    """
    path, name = await _received(request)
    bringing = Bringing(path, name, format, person.named_user, dry_run)
    if STREAM not in accept:
        try:
            return await run_in_threadpool(_run, person, bringing, lambda far: None)
        finally:
            path.unlink(missing_ok=True)
    answer = AnswerStream(person.owner, new_id(person.memory.clock.now()))

    def work() -> None:
        try:
            result = _run(person, bringing, lambda far: answer.add("progress", dict(far)))
            answer.add("done", result)
        except Exception as error:
            answer.add("error", told_of(error))
        finally:
            path.unlink(missing_ok=True)
            answer.finish()

    person.service.spawn(work)
    response: Response = streamed(answer)
    return response


def _run(person: RequestUser, bringing: Bringing, progress: Progress) -> dict[str, Any]:
    return bringing.run(person.memory, progress)


async def _received(request: Request) -> tuple[Path, str]:
    """The file that was sent, on disk, readable by nobody else; and what its sender called it."""
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
    async with uploaded(request) as (file, _):
        while part := await file.read(1024 * 1024):
            target.write(part)
        return file.filename or ""

"""Routes of documents and their passages, search over past messages, and imports of conversations."""

import json
import tempfile
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import IO, Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError as ShapeError
from starlette.concurrency import run_in_threadpool

from ricordo.documents.chunks import Kind, kind_of
from ricordo.engine.core import new_id
from ricordo.errors import NotFoundError, ValidationError
from ricordo.recall.evidence import stems
from ricordo.records.service import Document
from ricordo.records.turns import Owner, library_of
from ricordo.server.presenters import chunk_out, decode_cursor, document_out, encode_cursor, hit_out
from ricordo.server.problems import error_body
from ricordo.server.schemas import people
from ricordo.server.service import Limit, RequestUser, UserDep, path_id
from ricordo.server.streams import SSE_MEDIA_TYPE, SSE_RESPONSES, AnswerStream, sse_response
from ricordo.server.uploads import FileImport, uploaded_file

router = APIRouter()

DOCUMENTS: list[str | Enum] = ["documents"]
INDEX_WAIT_SECONDS = 5.0  # for an index that is behind
Filter = Annotated[str | None, Query(min_length=1, max_length=255)]
Shared = Annotated[bool, Query(description="Add it to the library that all users of the tenant read")]
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": people.DocumentIn.model_json_schema()},
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
    response_model=people.DocumentOut,
    responses={200: {"model": people.DocumentOut, "description": "It exists already"}},
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
        body = people.DocumentIn.model_validate(json.loads(await request.body()))
    except ShapeError as error:
        errors = [{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_url=False)]
        raise RequestValidationError(errors) from error
    except (ValueError, RecursionError) as error:
        raise ValidationError("body", "is not JSON; send a JSON object or a form with a file") from error
    return SentDocument(body.title, body.text, body.kind, body.id)


@router.get("/documents", response_model=people.DocumentsOut, tags=DOCUMENTS)
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


@router.get("/documents/{document_id}", response_model=people.DocumentOut, tags=DOCUMENTS)
def read(document_id: str, user: UserDep) -> dict[str, Any]:
    """One document."""
    return document_out(*_document(user, document_id))


@router.get("/documents/{document_id}/chunks", response_model=people.ChunksOut, tags=DOCUMENTS)
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


@router.get("/chunks/{chunk_id:path}", response_model=people.PassageOut, tags=DOCUMENTS)
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


@router.get("/search", response_model=people.HitsOut, tags=["search"])
def search(
    user: UserDep,
    q: Annotated[str, Query(min_length=1, max_length=2_000, examples=["ustione di secondo grado"])],
    limit: Limit = 20,
    session_id: Filter = None,
    agent_id: Filter = None,
    topic_id: Filter = None,
    role: Filter = None,
    after: datetime | None = None,
    before: datetime | None = None,
    tags: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
) -> dict[str, Any]:
    """Past messages that match the query, best first, each with the reasons for its rank."""
    hits = user.memory.search(
        q,
        user_id=user.id,
        limit=limit,
        session_id=session_id,
        agent_id=agent_id,
        topic_id=topic_id,
        role=role,
        after=after,
        before=before,
        tags=tags,
        patience=INDEX_WAIT_SECONDS,
    )
    query_stems = set(stems(q))
    items = [hit_out(user.memory.store, user.owner, hit, query_stems) for hit in hits]
    return {"items": items, "degraded": list(hits.degraded)}


@router.post(
    "/import", response_model=people.ImportOut, responses=SSE_RESPONSES, openapi_extra=_IMPORT_BODY, tags=["import"]
)
async def bring(
    request: Request,
    user: UserDep,
    format: Annotated[str, Query(min_length=1, max_length=64)] = "auto",  # noqa: A002 - the public name
    dry_run: bool = False,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Any:
    """Import conversations: a form with a `file`, or the file itself as the body. Repeating an import adds nothing.

    They are imported for the user of the credential or of the request, else for the users that the file names. If the
    client accepts server-sent events, `progress` events report the progress, and `done` the result.
    """
    path, name = await _save_upload(request)
    file_import = FileImport(path, name, format, user.explicit_id, dry_run)
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

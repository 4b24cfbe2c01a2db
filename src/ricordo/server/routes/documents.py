"""Documents: add, list, read, remove; and one passage with what stands around it."""

from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Query, UploadFile
from fastapi.responses import JSONResponse

from ricordo.documents.piece import kind_of
from ricordo.errors import NotFoundError
from ricordo.records import Owner, library_of
from ricordo.server import models
from ricordo.server.asking import Asking, Person
from ricordo.server.routes.sessions import Limit
from ricordo.service import Document, StoredChunk

router = APIRouter(tags=["documents"])

Shared = Annotated[bool, Query(description="Into the library that all users of the tenant read")]


@router.post("/documents", status_code=201)
def add(body: models.DocumentIn, person: Asking, shared: Shared = False) -> JSONResponse:
    """Add a text or Markdown; the same content again changes nothing."""
    return _added(person, body.title, body.text, body.kind, body.id, shared)


@router.post("/documents/upload", status_code=201)
def upload(
    file: Annotated[UploadFile, File()],
    person: Asking,
    title: Annotated[str | None, Form()] = None,
    shared: Shared = False,
) -> JSONResponse:
    """Add a file: text, Markdown or PDF, told by its name."""
    name = file.filename or "document.txt"
    return _added(person, title or name, file.file.read(), kind_of(name), None, shared)


def _added(person: Person, title: str, content: Any, kind: Any, name: str | None, shared: bool) -> JSONResponse:
    person.caller.must("admin" if shared and person.caller.authenticated else "write")
    owner = library_of(person.caller.tenant_id) if shared else person.owner
    library = person.service.library(person.caller.tenant_id)
    document, new = library.add(owner, title, content, kind, name)
    return JSONResponse(document_out(document, owner), 201 if new else 200)


@router.get("/documents")
def listing(person: Asking, limit: Limit = 200) -> dict[str, Any]:
    """What the user may read: their own documents and the tenant's library, newest first."""
    found = person.service.library(person.caller.tenant_id).documents(person.owner, limit)
    return {"items": [document_out(each, whose) for each, whose in found], "next_cursor": None}


@router.get("/documents/{document_id}")
def read(document_id: str, person: Asking) -> dict[str, Any]:
    """One document."""
    return document_out(*_document(person, document_id))


@router.get("/documents/{document_id}/chunks")
def chunks(document_id: str, person: Asking) -> dict[str, Any]:
    """The passages of a document in order."""
    document, whose = _document(person, document_id)
    found = person.service.store.chunks(whose, [document.id])
    return {"items": [chunk_out(each, document) for each in found]}


@router.delete("/documents/{document_id}", status_code=204)
def delete(document_id: str, person: Asking) -> None:
    """Remove a document with its passages."""
    _, whose = _document(person, document_id)
    person.caller.must("admin" if whose.is_reserved and person.caller.authenticated else "write")
    if not person.service.store.delete_document(whose, document_id):
        raise NotFoundError("there is no such document for this user")


@router.get("/chunks/{chunk_id:path}")
def chunk(chunk_id: str, person: Asking) -> dict[str, Any]:
    """One passage, with what stands before and after it."""
    found, document, whose = person.service.library(person.caller.tenant_id).chunk(person.owner, chunk_id)
    around = {each.position: each for each in person.service.store.chunks(whose, [document.id])}
    before, after = around.get(found.position - 1), around.get(found.position + 1)
    return chunk_out(found, document) | {
        "before": before.text if before else "",
        "after": after.text if after else "",
    }


def _document(person: Person, document_id: str) -> tuple[Document, Owner]:
    return person.service.library(person.caller.tenant_id).document(person.owner, document_id)


def document_out(document: Document, owner: Owner) -> dict[str, Any]:
    """A document as it goes out."""
    return {
        "id": document.id,
        "title": document.title,
        "kind": document.kind,
        "created_at": document.created_at.isoformat(),
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

"""`ricordo documents`: add, list and delete the documents of a user or of the tenant's shared library.

Adding the same content again changes nothing; other content under the same id replaces it.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ricordo.cli.arguments import Command, Options, add_user, open_memory, user_of
from ricordo.cli.output import Output, one_line, printable, table
from ricordo.cli.sessions import local_time
from ricordo.errors import NotFoundError, ValidationError
from ricordo.memory import Memory
from ricordo.records.service import Document, as_json
from ricordo.records.turns import Owner, library_of

if TYPE_CHECKING:
    from ricordo.documents.chunks import Kind
    from ricordo.documents.library import Library


def documents(options: Options, output: Output) -> int:
    """Add, list or delete documents."""
    if (options.action == "list") == bool(options.what):
        raise ValidationError("documents", f"{options.action} takes {_OPERANDS[options.action]}")
    run = {"add": _add, "list": _list, "delete": _delete}[options.action]
    return run(options, output)


def _add(options: Options, output: Output) -> int:
    if options.id is not None and len(options.what) > 1:
        raise ValidationError("id", "names one document; add the files one by one")
    with open_memory(options, create=True) as memory, output.progress("adding") as step:
        library, owner = library_for(memory), _owner(memory, options)
        added = []
        for number, path in enumerate(options.what, start=1):
            added.append(add_file(library, owner, path, title=options.title, document_id=options.id, kind=options.kind))
            step(number, len(options.what))
    plain = [document_json(document, owner) | {"new": new} for document, new in added]
    lines = [
        f"{'added' if new else 'there already:'} {each.id} ({one_line(each.title, 60)}, {each.chunk_count} chunks)"
        for each, new in added
    ]
    output.lines(plain, *lines)
    return 0


def _list(options: Options, output: Output) -> int:
    with open_memory(options) as memory:
        owner = _owner(memory, options)
        library = library_for(memory)
        found = library.documents(owner, options.limit) if not options.shared else _shared(memory, owner, options.limit)
    rows = table("document", "title", "kind", "chunks", "bytes", "of", "since", right=("chunks", "bytes"))
    rows.columns[0].no_wrap = True  # an id must stay in one piece to be copied
    for document, document_owner in found:
        rows.add_row(
            Text(printable(document.id)),
            Text(one_line(document.title, 40)),
            document.kind,
            f"{document.chunk_count:,}",
            f"{document.bytes:,}",
            "all" if document_owner.is_reserved else Text(printable(document_owner.user_id)),
            local_time(document.created_at),
        )
    output.lines((document_json(*each) for each in found), rows if found else "there are no documents")
    return 0


def _delete(options: Options, output: Output) -> int:
    with open_memory(options) as memory:
        owner, store = _owner(memory, options), memory.store
        for document_id in options.what:
            if not store.documents.delete(owner, document_id):
                where = "the shared library" if options.shared else f"the documents of user {owner.user_id!r}"
                raise NotFoundError(f"there is no document {document_id!r} in {where}; `ricordo documents` lists them")
    plain = [{"document_id": each, "deleted": True} for each in options.what]
    output.lines(plain, *[f"deleted {each}" for each in options.what])
    return 0


def library_for(memory: Memory) -> "Library":
    """The documents behind a memory."""
    from ricordo.documents.library import Library

    return Library(memory, memory.store.documents)


def add_file(
    library: "Library",
    owner: Owner,
    path: str,
    *,
    title: str | None = None,
    document_id: str | None = None,
    kind: "Kind | None" = None,
) -> tuple[Document, bool]:
    """Add a text, Markdown or PDF file; without `kind`, by the extension of its name."""
    from ricordo.documents.chunks import kind_of

    file = Path(path)
    return library.add(owner, title or file.name, file.read_bytes(), kind or kind_of(file.name), document_id)


def document_json(document: Document, owner: Owner) -> dict[str, Any]:
    """A document as JSON values."""
    plain = as_json(document)
    return {"document_id": plain.pop("id"), **plain, "shared": owner.is_reserved}


def _shared(memory: Memory, owner: Owner, limit: int) -> list[tuple[Document, Owner]]:
    return [(each, owner) for each in memory.store.documents.page(owner, limit=limit)]


def _owner(memory: Memory, options: Options) -> Owner:
    tenant = memory.settings.tenant_id
    return library_of(tenant) if options.shared else Owner(tenant, user_of(options))


_OPERANDS = {"add": "one file or more", "list": "no names", "delete": "one id or more"}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=list(_OPERANDS), default="list", help="default: %(default)s")
    parser.add_argument("what", nargs="*", help="for add: files (.txt, .md, .pdf); for delete: ids")
    add_user(parser)
    parser.add_argument("--shared", action="store_true", help="the library that all users of the tenant read")
    parser.add_argument("--title", metavar="TEXT", help="for add; default: the file's name")
    parser.add_argument("--id", metavar="ID", help="for add; default: derived from the content")
    parser.add_argument("--kind", choices=("text", "markdown", "pdf"), help="for add; default: by the file's name")
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=200, help="for list; default: %(default)s")


COMMANDS = (
    Command(
        "documents",
        "add, list or delete the documents that answers come from",
        documents,
        _arguments,
        "ricordo documents add course.md notes.pdf --shared",
    ),
)

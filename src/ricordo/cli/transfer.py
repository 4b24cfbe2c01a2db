"""Export to JSON lines or Markdown, import of Ricordo's own export and of other programs' exports, and documents.

An export has one JSON document per session, then one per item of an adapter, each on a line; importing it again changes
nothing. The format of other programs' exports (file, folder or archive) is detected from their content.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich.text import Text

from ricordo.cli.arguments import FAILED, OK, Options, add_agent, add_user, command, has_database, open_memory, user_of
from ricordo.cli.hook import database, personal_user
from ricordo.cli.output import Output, counted, local_time, one_line, printable, table
from ricordo.errors import ConflictError, NotFoundError, ValidationError
from ricordo.memory import Memory
from ricordo.records.service import Document, as_json
from ricordo.records.turns import Owner, library_of

if TYPE_CHECKING:
    from ricordo.documents.chunks import Kind
    from ricordo.documents.library import Library


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    parser.add_argument("-s", "--session", metavar="ID", help="default: all of the user's sessions")
    parser.add_argument("--format", choices=("jsonl", "markdown"), default="jsonl", help="default: %(default)s")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


@command("write sessions as JSON lines or Markdown", _export_arguments, "ricordo export -u anna -o anna.jsonl")
def export(options: Options, output: Output) -> None:
    with open_memory(options) as memory, _target(options) as target, output.progress("exporting") as step:
        number = 0
        for is_session, text in _exported_texts(memory, options):
            target.write(text + "\n")
            number += is_session
            step(number, 0)
    if options.output is not None:
        plain = {"output": options.output, "format": options.format, "sessions": number}
        output.document(plain, f"wrote {counted(number, 'session')} to {options.output}")


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="an export of Ricordo or another program; - reads Ricordo's own from stdin")
    parser.add_argument("-u", "--user", metavar="ID", help="import for this user instead of those in the file")
    add_agent(parser)
    parser.add_argument("--format", metavar="NAME", help="chatgpt, claude, langchain, mem0…; default: detected")
    parser.add_argument("--me", metavar="NAME", help="what the user is called in a chat of WhatsApp or Telegram")
    parser.add_argument("--dry-run", action="store_true", help="only report what would be imported")


@command(
    "import sessions that Ricordo or another program exported; importing again changes nothing",
    _import_arguments,
    "ricordo import conversations.zip --user anna --dry-run",
)
def import_(options: Options, output: Output) -> int:
    if options.file != "-" and not Path(options.file).exists():  # before a database is created
        raise ValidationError("file", f"there is no {options.file}; give the exported file")
    if options.file != "-" and (options.dry_run or options.format or not _is_own(options.file)):
        return _import_foreign(options, output)
    from ricordo.imports.read import own_documents

    with open_memory(options, create=True) as memory, output.progress("importing") as step:
        if options.file == "-":
            documents = own_documents(sys.stdin, lambda read: step(read, 0))
            result = memory.import_documents(documents, user_id=options.user)
        else:
            size = Path(options.file).stat().st_size
            with open(options.file, encoding="utf-8") as source:
                documents = own_documents(source, lambda read: step(min(read, size), size))
                result = memory.import_documents(documents, user_id=options.user)
    added = f"{counted(result.sessions_added, 'session')} and {counted(result.turns_added, 'turn')} added"
    line = f"{added}, {counted(result.turns_known, 'turn')} known"
    plain = as_json(result)
    if result.items_added:
        line += f", {result.items_added} items added"
    else:
        del plain["items_added"]  # most memories have no adapter
    output.document(plain, line, *[Text(f"refused: {printable(each)}", "red") for each in result.errors])
    return FAILED if result.errors else OK


def _import_foreign(options: Options, output: Output) -> int:
    """Import what another program exported, or with --dry-run only report it."""
    from ricordo.imports.json_stream import OWN
    from ricordo.imports.run import import_path

    form = options.format or detected_format(options.file)
    if form in ("claude-code", "codex"):  # of this machine's user: into the database of `ricordo hook`
        options.db = database({"db": options.db or ""})
        options.user = options.user or personal_user()
        if "://" not in options.db:
            Path(options.db).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    whose = "give --user ID for the user these conversations belong to"
    user_id = options.user if form in (None, OWN) else user_of(options, whose)
    if (options.dry_run or form is None) and not has_database(options):
        options.db = "memory:"  # a dry run, and a file that will be refused, must create no database
    with open_memory(options, create=True) as memory, output.progress("importing") as step:
        report = import_path(
            memory,
            options.file,
            user_id=user_id,
            agent_id=options.agent,
            format=options.format,
            dry_run=options.dry_run,
            project=options.project,
            me=options.me,
            progress=step,
        )
    would = "would come" if report.dry_run else "added"
    line = f"{report.format}: {counted(report.sessions_added, 'session')} and {counted(report.turns_added, 'turn')}"
    line += f" {would}, {report.turns_completed} completed, {report.turns_known} known"
    output.document(as_json(report), line, *[Text(f"refused: {printable(each)}", "red") for each in report.errors])
    return FAILED if report.problem_count else OK


def _is_own(path: str) -> bool:
    """Whether a file is an export of Ricordo; a folder is not, and neither is a file that is in no known format."""
    from ricordo.imports.json_stream import FACT_FORMAT, ITEM_FORMAT, OWN

    if Path(path).is_dir():
        return False
    if (found := detected_format(path)) is None:  # an export may hold nothing but facts or items
        with open(path, encoding="utf-8", errors="replace") as source:
            first = source.readline()
            return ITEM_FORMAT in first or FACT_FORMAT in first
    return found == OWN


def detected_format(path: str) -> str | None:
    """The format of a file or folder; None if it is unknown or unreadable."""
    from ricordo.imports.read import detect

    return detect(path) if Path(path).exists() else None


def _exported_texts(memory: Memory, options: Options) -> Iterator[tuple[bool, str]]:
    """The text of each session and, in JSON, of each item of an adapter; whether it is a session."""
    user_id = user_of(options)
    if options.session is not None:
        session = memory.session(options.session, user_id=user_id)
        if options.format == "markdown":
            yield True, session.export("markdown")
        else:
            yield True, json.dumps(session.export("json"), ensure_ascii=False)
        return
    for document in memory.export(user_id):
        is_session = "session" in document
        if options.format == "jsonl":
            yield is_session, json.dumps(document, ensure_ascii=False)
        elif is_session:
            yield True, memory.session(document["session"]["id"], user_id=user_id).export("markdown")


@contextmanager
def _target(options: Options) -> Iterator[TextIO]:
    """Stdout, or a new file that gets its name when it is complete."""
    if options.output is None:
        yield sys.stdout
        return
    path = Path(options.output)
    if path.exists() and not options.force:
        raise ConflictError(f"{path} exists already; name a new file or add --force")
    if not path.parent.is_dir():
        raise ValidationError("output", f"the folder {path.parent} does not exist; make it first")
    partial = path.with_name(f".{path.name}.partial")
    try:
        # Conversations are private: readable only by their owner.
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            yield file
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _documents_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=list(_OPERANDS), default="list", help="default: %(default)s")
    parser.add_argument("what", nargs="*", help="for add: files (.txt, .md, .pdf); for delete: ids")
    add_user(parser)
    parser.add_argument("--shared", action="store_true", help="the library that all users of the tenant read")
    parser.add_argument("--title", metavar="TEXT", help="for add; default: the file's name")
    parser.add_argument("--id", metavar="ID", help="for add; default: derived from the content")
    parser.add_argument("--kind", choices=("text", "markdown", "pdf"), help="for add; default: by the file's name")
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=200, help="for list; default: %(default)s")


@command(
    "add, list or delete the documents that answers come from",
    _documents_arguments,
    "ricordo documents add course.md notes.pdf --shared",
)
def documents(options: Options, output: Output) -> None:
    if (options.action == "list") == bool(options.what):
        raise ValidationError("documents", f"{options.action} takes {_OPERANDS[options.action]}")
    run = {"add": _add, "list": _list, "delete": _delete}[options.action]
    run(options, output)


def _add(options: Options, output: Output) -> None:
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


def _list(options: Options, output: Output) -> None:
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


def _delete(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        owner, store = _owner(memory, options), memory.store
        for document_id in options.what:
            if not store.documents.delete(owner, document_id):
                where = "the shared library" if options.shared else f"the documents of user {owner.user_id!r}"
                raise NotFoundError(f"there is no document {document_id!r} in {where}; `ricordo documents` lists them")
    plain = [{"document_id": each, "deleted": True} for each in options.what]
    output.lines(plain, *[f"deleted {each}" for each in options.what])


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
    plain = as_json(document)
    return {"document_id": plain.pop("id"), **plain, "shared": owner.is_reserved}


def _shared(memory: Memory, owner: Owner, limit: int) -> list[tuple[Document, Owner]]:
    return [(each, owner) for each in memory.store.documents.page(owner, limit=limit)]


def _owner(memory: Memory, options: Options) -> Owner:
    tenant = memory.settings.tenant_id
    return library_of(tenant) if options.shared else Owner(tenant, user_of(options))


_OPERANDS = {"add": "one file or more", "list": "no names", "delete": "one id or more"}

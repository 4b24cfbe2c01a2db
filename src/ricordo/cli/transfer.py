"""Commands that carry sessions out and in: export to JSON lines or Markdown, import of such JSON lines and of others'.

An export is one JSON document a session, one session a line; importing it again changes nothing. What other programs
exported is told by its form, file, folder or archive alike.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rich.text import Text

from ricordo.cli.arguments import FAILED, OK, Command, Options, add_agent, add_user, has_database, open_memory, user_of
from ricordo.cli.output import Output, shown
from ricordo.errors import ConflictError, ValidationError
from ricordo.memory import Memory
from ricordo.records.reports import as_json


def export(options: Options, output: Output) -> int:
    """Write sessions to a file or to stdout."""
    with open_memory(options) as memory, _target(options) as target, output.progress("exporting") as step:
        number = 0
        for is_session, text in _exported(memory, options):
            target.write(text + "\n")
            number += is_session
            step(number, 0)
    if options.output is not None:
        plain = {"output": options.output, "format": options.format, "sessions": number}
        output.document(plain, f"wrote {number} sessions to {options.output}")
    return OK


def import_(options: Options, output: Output) -> int:
    """Bring exported sessions in."""
    if options.file != "-" and not Path(options.file).exists():  # before a database is made for nothing
        raise ValidationError("file", f"there is no {options.file}; name what was exported")
    if options.file != "-" and (options.dry_run or options.format or _is_foreign(options.file)):
        return _bring_in(options, output)
    with open_memory(options, create=True) as memory, output.progress("importing") as step:
        if options.file == "-":
            result = memory.import_documents(documents_in(sys.stdin, lambda read: step(read, 0)), user_id=options.user)
        else:
            size = Path(options.file).stat().st_size
            with open(options.file, encoding="utf-8") as source:
                documents = documents_in(source, lambda read: step(min(read, size), size))
                result = memory.import_documents(documents, user_id=options.user)
    said = f"{result.sessions_added} sessions and {result.turns_added} turns added, {result.turns_known} turns known"
    plain = as_json(result)
    if result.items_added:
        said += f", {result.items_added} items added"
    else:
        del plain["items_added"]  # most memories have no adapter
    output.document(plain, said, *[Text(f"refused: {shown(each)}", "red") for each in result.errors])
    return FAILED if result.errors else OK


def _bring_in(options: Options, output: Output) -> int:
    """Bring in what another program exported, or only say what would come."""
    from ricordo.imports.formats import OWN
    from ricordo.imports.run import bring_in

    own = (options.format or detected(options.file)) == OWN
    user_id = options.user if own else _user_for(options)
    if options.dry_run and not has_database(options):
        options.db = "memory:"  # a look makes no file
    with open_memory(options, create=True) as memory, output.progress("importing") as step:
        report = bring_in(
            memory,
            options.file,
            user_id=user_id,
            agent_id=options.agent,
            format=options.format,
            dry_run=options.dry_run,
            progress=step,
        )
    would = "would come" if report.dry_run else "added"
    said = f"{report.format}: {report.sessions_added} sessions and {report.turns_added} turns {would}"
    said += f", {report.turns_completed} completed, {report.turns_known} known"
    output.document(as_json(report), said, *[Text(f"refused: {shown(each)}", "red") for each in report.errors])
    return FAILED if report.problem_count else OK


def _user_for(options: Options) -> str:
    if options.user is None:
        raise ValidationError("user", "is missing: whose conversations are they? give --user ID")
    return str(options.user)


def _is_foreign(path: str) -> bool:
    """Whether something is not plainly ours: a folder, an archive, or a form of somebody else's."""
    from ricordo.imports.formats import OWN

    return Path(path).is_dir() or detected(path) not in (None, OWN)


def detected(path: str) -> str | None:
    """The format of what lies at a path; None if it is not known, or cannot be read."""
    from ricordo.imports import detect

    return detect(path) if Path(path).exists() else None


def documents_in(lines: Iterable[str], read: Callable[[int], None]) -> Iterator[dict[str, Any] | Exception]:
    """The documents of JSON lines, one at a time, or of one JSON text spread over many lines.

    A line that is not JSON comes as an error in its place, and the rest goes on. `read` hears how many
    bytes have been read.
    """
    taken = 0
    source = iter(lines)
    try:
        for number, line in enumerate(source, start=1):
            taken += len(line.encode(errors="replace"))
            read(taken)
            if not line.strip():
                continue
            if number == 1 and not _is_json(line):
                yield from _whole(line + "".join(source))
                return
            yield from _parsed(line, f"line {number}")
    except UnicodeDecodeError as error:
        yield ValidationError("file", f"is not text ({error}); give UTF-8")


def _whole(text: str) -> Iterator[dict[str, Any] | Exception]:
    """One JSON text over many lines; if it is not one, its lines are judged one by one."""
    if _is_json(text):
        yield from _parsed(text, "file")
    else:
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield from _parsed(line, f"line {number}")


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


def _exported(memory: Memory, options: Options) -> Iterator[tuple[bool, str]]:
    """Each session, and in JSON each item of an adapter, as the text that is written; whether it is a session."""
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
    """Stdout, or a new file that appears under its name when it is whole."""
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
        # Conversations are private: readable by their owner alone.
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            yield file
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    parser.add_argument("-s", "--session", metavar="ID", help="default: all of the user's sessions")
    parser.add_argument("--format", choices=("jsonl", "markdown"), default="jsonl", help="default: %(default)s")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="what `ricordo export` or another program wrote; - reads our own from stdin")
    parser.add_argument("-u", "--user", metavar="ID", help="import for this user instead of those in the file")
    add_agent(parser)
    parser.add_argument("--format", metavar="NAME", help="chatgpt, claude, langchain, mem0…; default: by its form")
    parser.add_argument("--dry-run", action="store_true", help="only say what would come")


COMMANDS = (
    Command(
        "export",
        "write sessions as JSON lines or Markdown",
        export,
        _export_arguments,
        "ricordo export -u anna -o anna.jsonl",
    ),
    Command(
        "import",
        "bring sessions in that Ricordo or another program exported; repeating changes nothing",
        import_,
        _import_arguments,
        "ricordo import conversations.zip --user anna --dry-run",
    ),
)

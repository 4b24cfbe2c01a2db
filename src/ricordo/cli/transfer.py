"""Export to JSON lines or Markdown; import of Ricordo's own JSON lines and of other programs' exports.

An export has one JSON document per session, then one per item of an adapter, each on a line; importing it again changes
nothing. The format of other programs' exports (file, folder or archive) is detected from their content.
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
from ricordo.cli.output import Output, printable
from ricordo.errors import ConflictError, ValidationError
from ricordo.memory import Memory
from ricordo.records.service import as_json


def export(options: Options, output: Output) -> int:
    """Write sessions to a file or to stdout."""
    with open_memory(options) as memory, _target(options) as target, output.progress("exporting") as step:
        number = 0
        for is_session, text in _exported_texts(memory, options):
            target.write(text + "\n")
            number += is_session
            step(number, 0)
    if options.output is not None:
        plain = {"output": options.output, "format": options.format, "sessions": number}
        output.document(plain, f"wrote {number} sessions to {options.output}")
    return OK


def import_(options: Options, output: Output) -> int:
    """Import exported sessions."""
    if options.file != "-" and not Path(options.file).exists():  # before a database is created
        raise ValidationError("file", f"there is no {options.file}; give the exported file")
    if options.file != "-" and (options.dry_run or options.format or _is_foreign(options.file)):
        return _import_foreign(options, output)
    with open_memory(options, create=True) as memory, output.progress("importing") as step:
        if options.file == "-":
            result = memory.import_documents(
                read_documents(sys.stdin, lambda read: step(read, 0)), user_id=options.user
            )
        else:
            size = Path(options.file).stat().st_size
            with open(options.file, encoding="utf-8") as source:
                documents = read_documents(source, lambda read: step(min(read, size), size))
                result = memory.import_documents(documents, user_id=options.user)
    line = f"{result.sessions_added} sessions and {result.turns_added} turns added, {result.turns_known} turns known"
    plain = as_json(result)
    if result.items_added:
        line += f", {result.items_added} items added"
    else:
        del plain["items_added"]  # most memories have no adapter
    output.document(plain, line, *[Text(f"refused: {printable(each)}", "red") for each in result.errors])
    return FAILED if result.errors else OK


def _import_foreign(options: Options, output: Output) -> int:
    """Import what another program exported, or with --dry-run only report it."""
    from ricordo.imports.run import bring_in
    from ricordo.imports.sources import OWN

    own = (options.format or detected_format(options.file)) == OWN
    user_id = options.user if own else _required_user(options)
    if options.dry_run and not has_database(options):
        options.db = "memory:"  # a dry run creates no file
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
    line = f"{report.format}: {report.sessions_added} sessions and {report.turns_added} turns {would}"
    line += f", {report.turns_completed} completed, {report.turns_known} known"
    output.document(as_json(report), line, *[Text(f"refused: {printable(each)}", "red") for each in report.errors])
    return FAILED if report.problem_count else OK


def _required_user(options: Options) -> str:
    if options.user is None:
        raise ValidationError("user", "is missing; give --user ID for the user these conversations belong to")
    return str(options.user)


def _is_foreign(path: str) -> bool:
    """Whether a path is a folder, or in the format of another program."""
    from ricordo.imports.sources import OWN

    return Path(path).is_dir() or detected_format(path) not in (None, OWN)


def detected_format(path: str) -> str | None:
    """The format of a file or folder; None if it is unknown or unreadable."""
    from ricordo.imports import detect

    return detect(path) if Path(path).exists() else None


def read_documents(lines: Iterable[str], read: Callable[[int], None]) -> Iterator[dict[str, Any] | Exception]:
    """The documents of JSON lines, one at a time, or of one JSON text over many lines.

    A line that is not JSON yields an error in its place, and reading continues. `read` is called with the bytes read.
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
                yield from _parse_whole(line + "".join(source))
                return
            yield from _parse(line, f"line {number}")
    except UnicodeDecodeError as error:
        yield ValidationError("file", f"is not text ({error}); give UTF-8")


def _parse_whole(text: str) -> Iterator[dict[str, Any] | Exception]:
    """One JSON text over many lines; if it is not JSON, each line by itself."""
    if _is_json(text):
        yield from _parse(text, "file")
    else:
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield from _parse(line, f"line {number}")


def _parse(text: str, where: str) -> Iterator[dict[str, Any] | Exception]:
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


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    parser.add_argument("-s", "--session", metavar="ID", help="default: all of the user's sessions")
    parser.add_argument("--format", choices=("jsonl", "markdown"), default="jsonl", help="default: %(default)s")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="an export of Ricordo or another program; - reads Ricordo's own from stdin")
    parser.add_argument("-u", "--user", metavar="ID", help="import for this user instead of those in the file")
    add_agent(parser)
    parser.add_argument("--format", metavar="NAME", help="chatgpt, claude, langchain, mem0…; default: detected")
    parser.add_argument("--dry-run", action="store_true", help="only report what would be imported")


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
        "import sessions that Ricordo or another program exported; importing again changes nothing",
        import_,
        _import_arguments,
        "ricordo import conversations.zip --user anna --dry-run",
    ),
)

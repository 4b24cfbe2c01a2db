"""The command that brings conversations in, from our own export and from other programs.

A file, a folder, an archive or a pipe goes in; what came of it is told, each problem with its place. Repeating changes
nothing, and a dry run writes nothing, not even an empty database.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.text import Text

import ricordo
from ricordo.cli.exits import FAILED, OK
from ricordo.cli.options import Command, Options, add_agent, open_memory
from ricordo.cli.output import Output, shown
from ricordo.errors import NotFoundError
from ricordo.importing import ImportReport, bring_in
from ricordo.imports import FORMATS
from ricordo.memory import Memory

_UNSOUND = ("damaged", "changed")  # what makes the command fail; the rest is only told


def import_(options: Options, output: Output) -> int:
    """Bring conversations in."""
    with _memory(options) as memory, output.progress("importing") as step, _source(options.file) as path:
        report = bring_in(
            memory,
            path,
            user_id=options.user,
            agent_id=options.agent,
            format=options.format,
            dry_run=options.dry_run,
            trusted=True,  # whoever may run this may write the database itself
            name=None if options.file == "-" else Path(options.file).name,
            progress=step,
        )
    output.document(_as_json(report), _sentence(report), *_refused(report))
    return FAILED if any(report.problem_count.get(kind) for kind in _UNSOUND) else OK


def _memory(options: Options) -> Memory:
    """The memory; on a dry run one that may not exist yet counts as empty."""
    try:
        return open_memory(options, create=not options.dry_run)
    except NotFoundError:
        return ricordo.open("memory:")


@contextmanager
def _source(file: str) -> Iterator[Path]:
    """The file that was named; a pipe is put on disk first, readable by nobody else."""
    if file != "-":
        yield Path(file)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standard input"
        piped = getattr(sys.stdin, "buffer", None)
        with path.open("wb") as target:
            while part := piped.read(1024 * 1024) if piped else sys.stdin.read(1024 * 1024).encode():
                target.write(part)
        yield path


def _as_json(report: ImportReport) -> dict[str, object]:
    return {
        "format": report.format,
        "dry_run": report.dry_run,
        "sessions_added": report.sessions_added,
        "turns_added": report.turns_added,
        "turns_completed": report.turns_completed,
        "turns_known": report.turns_known,
        "problem_count": dict(report.problem_count),
        "errors": list(report.errors),
    }


def _sentence(report: ImportReport) -> str:
    verb = "would be added" if report.dry_run else "added"
    completed = f", {report.turns_completed} turns completed" if report.turns_completed else ""
    added = f"{report.sessions_added} sessions and {report.turns_added} turns {verb}"
    return f"{added}{completed}, {report.turns_known} turns known ({report.format})"


def _refused(report: ImportReport) -> list[Text]:
    told = []
    for each in report.problems:
        word, colour = ("refused", "red") if each.kind == "damaged" else (each.kind, "yellow")
        told.append(Text(f"{word}: {shown(str(each))}", colour))
    more = sum(report.problem_count.values()) - len(report.problems)
    return [*told, Text(f"and {more} more", "red")] if more else told


def import_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("file", help="an export (file, folder or zip) or an SQLite database; - reads standard input")
    parser.add_argument("-u", "--user", metavar="ID", help="whose they become; our own export names its users")
    add_agent(parser)
    parser.add_argument("--format", choices=("auto", *FORMATS), default="auto", help="default: told by the content")
    parser.add_argument("--dry-run", action="store_true", help="tell what would come, write nothing")


COMMANDS = (
    Command(
        "import",
        "bring in conversations: ours, or those of ChatGPT, Claude and other programs; repeating changes nothing",
        import_,
        import_arguments,
        "ricordo import chatgpt-export.zip -u anna",
    ),
)

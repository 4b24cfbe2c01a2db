"""The arguments: options that every command has, and how commands are declared.

In: the commands. Out: one parser. Common options may stand before or after the command, so that
`ricordo --db a.db stats` and `ricordo stats --db a.db` are the same.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import ricordo
from ricordo.cli.output import Output
from ricordo.errors import (
    BudgetError,
    ConflictError,
    DamageError,
    LLMError,
    NotFoundError,
    ReceiptError,
    RicordoError,
    SchemaError,
    SettingsError,
    StoreError,
    StoreUnavailable,
    ValidationError,
)
from ricordo.memory import DEFAULT_AGENT, Memory
from ricordo.presets import PRESETS
from ricordo.records.turns import Chunk
from ricordo.stores.open import DEFAULT_PATH

# Each command is a process of its own: a question that one of them asks back is answered by the next.
OWN_DEFAULTS = {"clarifications": "shared"}

Options = argparse.Namespace
Run = Callable[[Options, Output], int]


@dataclass(frozen=True, slots=True)
class Command:
    """One word of the command line: what it does, its own arguments, and how it runs."""

    name: str
    summary: str
    run: Run
    arguments: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    example: str = ""


class _Parser(argparse.ArgumentParser):
    """Wrong usage is an error like any other: one line, JSON with --json, exit code 2."""

    def error(self, message: str) -> NoReturn:
        raise ValidationError(self.prog, f"{message}; see `{self.prog} --help`")


def build_parser(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """The whole command line."""
    parser = _Parser(
        prog="ricordo",
        description="Conversational memory: keeps every turn, fits the window, explains every prompt.",
        epilog="Start with `ricordo demo`. Each command explains itself: `ricordo COMMAND --help`.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"ricordo {ricordo.__version__}")
    _add_common(parser, before=True)
    rows = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in commands:
        row = rows.add_parser(
            command.name,
            help=command.summary,
            description=command.summary[:1].upper() + command.summary[1:] + ".",
            epilog=f"example:\n  {command.example}" if command.example else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.arguments(row)
        _add_common(row, before=False)
        row.set_defaults(run=command.run)
    return parser


def read_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> Options:
    """Parse; settings given before and after the command are joined, the later ones win."""
    options = parser.parse_args(arguments)
    options.set = [*options.set_before, *getattr(options, "set_after", [])]
    return options


def _add_common(parser: argparse.ArgumentParser, *, before: bool) -> None:
    """Before the command the options have defaults; after it they speak only when they are given."""
    unset: Any = None if before else argparse.SUPPRESS
    group = parser.add_argument_group("common options")
    group.add_argument("--db", metavar="URL_OR_PATH", default=unset, help="default: RICORDO_URL, else ricordo.db")
    group.add_argument("--tenant", metavar="ID", default=unset, help="which application's memory")
    group.add_argument("--preset", choices=list(PRESETS), default=unset, help="a named set of settings")
    group.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        dest="set_before" if before else "set_after",
        default=[] if before else argparse.SUPPRESS,
        help="any setting, repeatable; `ricordo settings` lists them",
    )
    group.add_argument("--json", action="store_true", default=False if before else argparse.SUPPRESS, help="print JSON")


def add_user(parser: argparse.ArgumentParser) -> None:
    """Whose memory it is."""
    parser.add_argument("-u", "--user", metavar="ID", default=os.environ.get("RICORDO_USER"), help="or RICORDO_USER")


def add_session(parser: argparse.ArgumentParser) -> None:
    """Which session to look at."""
    parser.add_argument("-s", "--session", metavar="ID", help="default: the user's most recent one")


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Who answers."""
    parser.add_argument("--agent", metavar="ID", default=DEFAULT_AGENT, help="who answers (default: %(default)s)")


def add_llm(parser: argparse.ArgumentParser) -> None:
    """Which language model answers; the setting in short."""
    parser.add_argument("--llm", metavar="MODEL", help="none, URL#MODEL or gguf:PATH; short for --set llm=MODEL")


def user_of(options: Options) -> str:
    """The user that was named, or an error that says how to name one."""
    if options.user is None:
        raise ValidationError("user", "is missing; give --user ID or set RICORDO_USER")
    return str(options.user)


def keywords_of(options: Options) -> dict[str, Any]:
    """Settings that the command line names."""
    chosen: dict[str, Any] = {}
    for pair in options.set:
        key, equals, value = pair.partition("=")
        if not equals:
            raise SettingsError(pair, "expected KEY=VALUE")
        chosen[key.strip()] = value
    if options.preset is not None:
        chosen["preset"] = options.preset
    if options.tenant is not None:
        chosen["tenant_id"] = options.tenant
    if getattr(options, "llm", None) is not None:
        chosen["llm"] = options.llm
    return chosen


def own_defaults(environment: Mapping[str, str]) -> dict[str, Any]:
    """What the command line sets unless the environment does."""
    return {name: value for name, value in OWN_DEFAULTS.items() if f"RICORDO_{name.upper()}" not in environment}


def open_memory(options: Options, *, create: bool = False) -> Memory:
    """The memory behind --db. Commands that only look do not leave an empty file where a name was mistyped."""
    place = place_of(options)
    if not create and not has_database(options):
        where = _file_of(place)
        raise NotFoundError(f"there is no database at {where}; name one with --db, or begin with `ricordo add`")
    return ricordo.open(place, **{**own_defaults(os.environ), **keywords_of(options)})


def has_database(options: Options) -> bool:
    """Whether the file behind --db is there; a server's database is taken at its word."""
    file = _file_of(place_of(options))
    return file is None or file.exists()


def place_of(options: Options) -> str:
    """Where the data lies: --db, else RICORDO_URL, else a file in this folder."""
    return str(options.db) if options.db is not None else os.environ.get("RICORDO_URL") or DEFAULT_PATH


def _file_of(place: str) -> Path | None:
    if place in ("memory:", ":memory:"):
        return None
    if "://" not in place:
        return Path(place)
    return Path(place.removeprefix("sqlite:///")) if place.startswith("sqlite:///") else None


# Failures as exit codes: one table, and one line on stderr without a traceback.

OK = 0
FAILED = 1  # the command ran and found something wrong: damage, refused documents, a failed batch
USAGE = 2
BROKEN_PIPE = 141  # as a shell reports a program that wrote to a closed pipe
INTERRUPTED = 130  # as a shell reports Ctrl-C

# The most particular class first; the first match counts.
EXIT_CODES: tuple[tuple[type[Exception], int], ...] = (
    (ValidationError, USAGE),
    (SettingsError, USAGE),
    (BudgetError, USAGE),
    (NotFoundError, 3),
    (ConflictError, 4),
    (StoreUnavailable, 5),
    (SchemaError, 5),
    (DamageError, 6),
    (ReceiptError, 6),
    (StoreError, 5),
    (LLMError, 7),
    (RicordoError, FAILED),
    (OSError, USAGE),
)


def exit_code(error: Exception) -> int:
    """The code of the first class in the table that fits."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), FAILED)


def report(error: Exception, *, as_json: bool) -> None:
    """One line on stderr."""
    if as_json:
        plain = {"error": type(error).__name__, "message": str(error), "exit_code": exit_code(error)}
        line = json.dumps(plain, ensure_ascii=False)
    else:
        line = "ricordo: " + " ".join(str(error).split())
    print(line, file=sys.stderr)


# Chunks and the budget on the command line: a file of passages in, chunks out.


def add_chunks(parser: argparse.ArgumentParser) -> None:
    """--chunks."""
    parser.add_argument("--chunks", metavar="FILE", help="passages: JSON, JSON lines or paragraphs; - for stdin")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """--budget."""
    parser.add_argument("--budget", metavar="TOKENS", type=int, help="limit for the whole prompt")


def read_chunks(options: Options) -> list[Chunk]:
    """The passages of --chunks, in their order."""
    if options.chunks is None:
        return []
    try:
        text = sys.stdin.read() if options.chunks == "-" else Path(options.chunks).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValidationError("chunks", f"{options.chunks} is not text ({error}); give UTF-8") from error
    return parse_chunks(text)


def parse_chunks(text: str) -> list[Chunk]:
    """Chunks from any of the three shapes; those without an id are numbered."""
    if text.lstrip()[:1] not in ("[", "{"):
        paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text)]
        return [_chunk(number, part) for number, part in enumerate(filter(None, paragraphs), start=1)]
    try:
        listed = json.loads(text)
    except ValueError:
        listed = [_json_line(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if isinstance(listed, dict):
        listed = [listed]
    return [_chunk(number, each) for number, each in enumerate(listed, start=1)]


def _json_line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValidationError("chunks", f"line {number} is not JSON ({error})") from error


def _chunk(number: int, value: Any) -> Chunk:
    if isinstance(value, str):
        return Chunk(f"chunk-{number}", value)
    if isinstance(value, dict):
        identity, text = value.get("id", f"chunk-{number}"), value.get("text", value.get("content"))
        if isinstance(identity, str) and isinstance(text, str):
            return Chunk(identity, text)
    raise ValidationError("chunks", f"passage {number}: expected text, or an object with id and text")

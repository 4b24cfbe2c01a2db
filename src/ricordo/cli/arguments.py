"""The argument parser, what commands share to read their options and open the database, and the exit codes.

In: the commands. Out: one parser. Common options may stand before or after the command, so that
`ricordo --db a.db stats` and `ricordo stats --db a.db` are the same.
"""

import argparse
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

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
from ricordo.memory import Memory
from ricordo.memory import open as open_database
from ricordo.presets import PRESETS
from ricordo.records.turns import DEFAULT_AGENT, Chunk
from ricordo.session import Session
from ricordo.stores.open import DEFAULT_PATH

# Each command is a process of its own: a clarification that one command asks is answered by a later command.
CLI_DEFAULTS = {"clarifications": "shared"}

OK = 0
FAILED = 1  # the command ran and found a problem: damage, refused documents, a failed batch
USAGE = 2
BROKEN_PIPE = 141  # as a shell reports SIGPIPE
INTERRUPTED = 130  # as a shell reports Ctrl-C

# Subclasses before their bases: the first match counts.
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

Options = argparse.Namespace
Run = Callable[[Options, Output], int | None]  # the exit code; None is OK
Arguments = Callable[[argparse.ArgumentParser], object]


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its name, its help, its own arguments, and the function that runs it."""

    name: str
    summary: str
    run: Run
    arguments: Arguments
    example: str


def command(
    summary: str, arguments: Arguments = lambda parser: None, example: str = "", *, name: str = ""
) -> Callable[[Run], Command]:
    """Makes a command of the function that runs it. It has the name of the function, unless another is given."""
    return lambda run: Command(name or run.__name__.rstrip("_"), summary, run, arguments, example)


class _Parser(argparse.ArgumentParser):
    """A parser that raises ValidationError on wrong usage, so that it is reported like every other error."""

    def error(self, message: str) -> NoReturn:
        raise ValidationError(self.prog.partition(" ")[2] or "command line", f"{message}; see `{self.prog} --help`")


def build_parser(commands: Sequence[Command]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="ricordo",
        description="Conversational memory: keeps every turn, fits the window, explains every prompt.",
        epilog="Start with `ricordo demo`. For help on one command: `ricordo COMMAND --help`.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"ricordo {version('ricordo')}")
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
    """Parse the arguments. Settings before and after the command are joined; the later one wins."""
    options = parser.parse_args(arguments)
    options.set = [*options.set_before, *getattr(options, "set_after", [])]
    return options


def _add_common(parser: argparse.ArgumentParser, *, before: bool) -> None:
    """Add the options of every command; only those before the command have defaults, so neither hides the other."""
    unset: Any = None if before else argparse.SUPPRESS
    group = parser.add_argument_group("common options")
    group.add_argument("--db", metavar="URL_OR_PATH", default=unset, help="default: RICORDO_URL, else ricordo.db")
    group.add_argument("--tenant", metavar="ID", default=unset, help="the tenant (application) to work on")
    group.add_argument("--project", metavar="NAME", default=unset, help="the project to work in; or RICORDO_PROJECT")
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
    parser.add_argument("-u", "--user", metavar="ID", default=os.environ.get("RICORDO_USER"), help="or RICORDO_USER")


def add_session(parser: argparse.ArgumentParser) -> None:
    """--session, for commands that read one."""
    parser.add_argument("-s", "--session", metavar="ID", help="default: the user's most recent one")


def add_talk(parser: argparse.ArgumentParser) -> None:
    """--user and --session, for commands that read one session."""
    add_user(parser)
    add_session(parser)


def add_session_choice(parser: argparse.ArgumentParser) -> None:
    """--session and --continue, for commands that otherwise start a session."""
    parser.add_argument("-s", "--session", metavar="ID", help="default: a new session")
    description = "continue the most recent session"
    parser.add_argument("-c", "--continue", dest="continue_session", action="store_true", help=description)


def add_agent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agent", metavar="ID", default=DEFAULT_AGENT, help="the answering agent (default: %(default)s)"
    )


def add_llm(parser: argparse.ArgumentParser) -> None:
    """--llm, short for the setting."""
    parser.add_argument(
        "--llm", metavar="MODEL", help="none, URL#MODEL or gguf:PATH, several with commas; short for --set llm=MODEL"
    )


def add_address(parser: argparse.ArgumentParser) -> None:
    """--host and --port."""
    parser.add_argument("--host", metavar="ADDRESS", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", metavar="N", type=int, help="default: 8377; 0 for any free port")


def user_of(options: Options, remedy: str = "give --user ID or set RICORDO_USER") -> str:
    """The user that was given; an error if there is none."""
    if options.user is None:
        raise ValidationError("user", f"is missing; {remedy}")
    return str(options.user)


def chosen_settings(options: Options) -> dict[str, Any]:
    """The settings given on the command line."""
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
    if options.project is not None:
        chosen["project"] = options.project
    if getattr(options, "llm", None) is not None:
        chosen["llm"] = options.llm
    return chosen


def cli_defaults(environment: Mapping[str, str]) -> dict[str, Any]:
    """The command line's own defaults, less those that the environment sets."""
    return {name: value for name, value in CLI_DEFAULTS.items() if f"RICORDO_{name.upper()}" not in environment}


def open_memory(options: Options, *, create: bool = False) -> Memory:
    """Open the memory behind --db. Without `create` the file must exist: a mistyped name must not make an empty one."""
    database = database_of(options)
    if not create and not has_database(options):
        where = _file_of(database)
        raise NotFoundError(f"there is no database at {where}; name one with --db, or create one with `ricordo add`")
    return open_database(database, **{**cli_defaults(os.environ), **chosen_settings(options)})


def has_database(options: Options) -> bool:
    """Whether the file behind --db exists; a database server is assumed to."""
    file = _file_of(database_of(options))
    return file is None or file.exists()


def database_of(options: Options) -> str:
    """The database: --db, else RICORDO_URL, else a file in the current folder."""
    return str(options.db) if options.db is not None else os.environ.get("RICORDO_URL") or DEFAULT_PATH


def _file_of(database: str) -> Path | None:
    if database in ("memory:", ":memory:"):
        return None
    if "://" not in database:
        return Path(database)
    return Path(database.removeprefix("sqlite:///")) if database.startswith("sqlite:///") else None


def session_of(memory: Memory, options: Options) -> Session:
    """The session of --session, or the most recent one; it must exist."""
    user_id = user_of(options)
    if options.session is None:
        newest = memory.sessions(user_id=user_id, limit=1)
        if not newest:
            raise NotFoundError(f"user {user_id!r} has no sessions; begin one with `ricordo add`")
        return memory.session(newest[0].id, user_id=user_id, agent_id=newest[0].agent_id)
    session = memory.session(options.session, user_id=user_id)
    return memory.session(options.session, user_id=user_id, agent_id=session.info().agent_id)


def read_text(given: str) -> str:
    """The text itself; for `-`, standard input without its last line break."""
    if given != "-":
        return given
    try:
        return sys.stdin.read().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise ValidationError("standard input", f"is not text ({error}); give UTF-8") from error


def parse_time(name: str, given: str | None) -> datetime | None:
    """A day or a time in ISO format; without a zone it is local time."""
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
        return found if found.tzinfo else found.astimezone()
    except (ValueError, OverflowError, OSError) as error:
        expected = "a day or a time such as 2026-05-01 or 2026-05-01T10:00:00+02:00"
        raise ValidationError(name, f"expected {expected}, got {given!r}") from error


def resolve_id(given: str, known: list[str], what: str = "topic", where: str = "`ricordo topics` lists them") -> str:
    """The known id that equals `given`, or the only one that begins or ends with it."""
    found = [each for each in known if each == given]
    found = found or [each for each in known if given and (each.startswith(given) or each.endswith(given))]
    if len(found) > 1:
        raise ValidationError(what, f"{given!r} is a part of {len(found)} ids; give more of it")
    if not found:
        raise NotFoundError(f"there is no {what} {given!r} here; {where}")
    return found[0]


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Raise SettingsError if the block imports a package that is not installed; an extra brings it."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("ricordo"):
            raise
        remedy = f"pip install 'ricordo[{extra}]'"
        raise SettingsError(extra, f"needs packages that are not installed ({error}): {remedy}") from error


@contextmanager
def stop_on_signal() -> Iterator[None]:
    """End the block without an error on SIGINT or SIGTERM; the server handles them first and raises them again."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_code(error: Exception) -> int:
    """The code of the first class in the table that matches."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), FAILED)


def report(error: Exception, *, as_json: bool) -> None:
    """Print one line on stderr, without a traceback."""
    shown = f"{error.shown} ({error})" if isinstance(error, LLMError) and error.shown else str(error)
    if as_json:
        plain = {"error": type(error).__name__, "message": shown, "exit_code": exit_code(error)}
        line = json.dumps(plain, ensure_ascii=False)
    else:
        line = "ricordo: " + " ".join(shown.split())
    print(line, file=sys.stderr)


def add_chunks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chunks", metavar="FILE", help="passages: JSON, JSON lines or paragraphs; - for stdin")


def add_budget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--budget", metavar="TOKENS", type=int, help="limit for the whole prompt")


def read_chunks(options: Options) -> list[Chunk]:
    """The passages in the file of --chunks."""
    if options.chunks is None:
        return []
    try:
        text = sys.stdin.read() if options.chunks == "-" else Path(options.chunks).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValidationError("chunks", f"{options.chunks} is not text ({error}); give UTF-8") from error
    return parse_chunks(text)


def parse_chunks(text: str) -> list[Chunk]:
    """Chunks from JSON, JSON lines or paragraphs; those without an id are numbered."""
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

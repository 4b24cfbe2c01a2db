"""`ricordo demo`: the server on a database seeded with a small course and three past sessions; no key, no network.

It runs what an application team would deploy, in a temporary folder or the one given, on loopback only and without
authentication, and prints the address. `--terminal` prints a story instead, and ends.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from ricordo.cli.arguments import OK, Options, add_address, add_llm, chosen_settings, command, needs, stop_on_signal
from ricordo.cli.output import Output, Step, printable
from ricordo.cli.story import LANGUAGES, SETTLE_SECONDS, lessons, past_sessions, run_story, suggestions
from ricordo.errors import SettingsError, ValidationError
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.records.turns import library_of
from ricordo.stores.open import store_for

if TYPE_CHECKING:
    from ricordo.settings import Settings
    from ricordo.stores.protocols import Store

BUDGET = 420  # tokens of the story's prompt
FILE = "demo.db"
PORT = 8377
MINUTES_BETWEEN_TURNS = 3
LATEST_SESSION_MINUTES = 25  # age of the last session, which is still open


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--language", choices=LANGUAGES, default="it", help="of labels (default: %(default)s)")
    parser.add_argument("--folder", metavar="DIR", help="keep the database in this folder; default: a temporary one")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    add_address(parser)
    add_llm(parser)
    parser.add_argument("--terminal", action="store_true", help="print a story on the terminal instead of serving")
    parser.add_argument(
        "--budget", metavar="TOKENS", type=int, default=BUDGET, help="with --terminal (default: %(default)s)"
    )


@command(
    "serve a small course and some days of conversation, or print a story; no key, no network",
    _arguments,
    "ricordo demo --open",
)
def demo(options: Options, output: Output) -> int:
    if options.folder is not None and options.db is not None:
        raise ValidationError("folder", "give either --folder or --db")
    with _database(options) as database:
        if options.terminal:
            return run_story(database, options, output)
        with stop_on_signal():
            _serve(database, options, output)
    return OK


def _serve(database: str, options: Options, output: Output) -> None:
    with needs("server"):
        from ricordo.server.app import has_page, run
        from ricordo.server.credentials import ANONYMOUS
        from ricordo.server.options import load_options, url_of

    server = load_options(
        {"host": options.host, "port": _port(options), "auth": False, "log_level": "warning"}, environment={}
    )
    settings = settings_from({"locale": options.language, **chosen_settings(options)}, os.environ)
    with output.progress("seeding six days of sessions") as step:
        _open_and_seed(database, settings, ANONYMOUS, step)

    def started(port: int) -> None:
        address = url_of(server.host, port)
        plain = {"url": address, "port": port, "db": database, "user_id": ANONYMOUS, "page": has_page()}
        output.document(plain, *_welcome(address, database, options, page=has_page()))
        if options.open:
            import webbrowser

            webbrowser.open(address)

    run(database, settings, server, started=started)


def _open_and_seed(database: str, settings: "Settings", user_id: str, step: Step) -> None:
    with closing(store_for(database)) as store:
        seed(store, settings, user_id, step)


class _FixedClock:
    """A clock with a time that is set."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment


def seed(store: "Store", settings: "Settings", user_id: str, step: Step) -> int:
    """Add the lessons, and the past sessions unless this user has sessions already; returns the turns added.

    Turns without a response in the sample data are answered by the chat pipeline, at the time they were asked.
    """
    from ricordo.chat import Chat, ChatRequest
    from ricordo.documents.library import Library

    began = datetime.now(UTC)
    clock = _FixedClock(began)
    memory = Memory(store, settings, clock=clock)
    try:
        library = Library(memory, store.documents)
        for lesson in lessons():
            library.add(library_of(settings.tenant_id), lesson.title, lesson.text, "markdown", lesson.id)
        if memory.sessions(user_id=user_id, limit=1):
            return 0
        chat = Chat(memory, passages=library)
        done, total = 0, sum(len(past.turns) for past in past_sessions())
        for past in past_sessions():
            first = clock.moment = began - timedelta(days=past.days_ago, minutes=LATEST_SESSION_MINUTES)
            session = memory.session(user_id=user_id)
            session.create()
            for number, turn in enumerate(past.turns):
                clock.moment = first + timedelta(minutes=MINUTES_BETWEEN_TURNS * number)
                if turn.response:
                    session.add_turn(turn.query, turn.response)
                else:
                    chat.ask(ChatRequest(turn.query, user_id, session_id=session.id))
                done += 1
                step(done, total)
            memory.settle(SETTLE_SECONDS)
        clock.moment = began
        memory.end_idle(user_id=user_id)
        return done
    finally:
        memory.rest()


def _welcome(address: str, database: str, options: Options, *, page: bool) -> Iterator[RenderableType]:
    """The address, what is there, and what to try."""
    what = Text.assemble(
        ("Ricordo", "bold"),
        " answers from six short lessons, remembers a talk of the last six days, and shows what it knows and why it "
        "says what it says. No key, no network, no language model.",
    )
    where = Text.assemble("\n", (address, "bold blue underline"), "" if page else f"  (API: {address}/openapi.json)")
    yield Panel(Group(what, where), border_style="blue")
    yield Text("Try, in the talk about burns: " + " · ".join(suggestions()), "dim")
    kept = options.db is not None or options.folder is not None
    file = printable(database)
    yield Text(f"The database is {file}" + (", deleted when the demo ends" if not kept else ""), "dim")
    yield Text("Ctrl-C ends the demo; `ricordo demo --terminal` prints a story in the terminal", "dim")


def _port(options: Options) -> int:
    """The port that was given; else the default one, or any free one if that is taken."""
    from ricordo.server.options import check_port

    if options.port is not None:
        return int(options.port)
    try:
        check_port(options.host or "127.0.0.1", PORT)
    except SettingsError:
        return 0
    return PORT


@contextmanager
def _database(options: Options) -> Iterator[str]:
    """The database that was given, or one that is deleted when the demo ends."""
    if options.db is not None:
        yield options.db
    elif options.folder is not None:
        Path(options.folder).mkdir(parents=True, exist_ok=True)
        yield str(Path(options.folder) / FILE)
    else:
        with tempfile.TemporaryDirectory(prefix="ricordo-demo-") as folder:
            yield str(Path(folder) / FILE)

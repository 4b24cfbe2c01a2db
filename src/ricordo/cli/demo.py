"""`ricordo demo`: the server with a small course and a talk that has been going on for days; no key, no network.

It runs what an application team would deploy, on a temporary folder or on the one given, on loopback alone and without
authentication, and prints the address. `--terminal` tells a story on the screen instead, and ends.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

import ricordo
from ricordo.cli.arguments import FAILED, OK, Command, Options, add_llm, keywords_of
from ricordo.cli.demo_course import SAMPLES, Sample, SampleTurn
from ricordo.cli.demo_talk import TO_TRY, live
from ricordo.cli.output import Output, Step, context_json, shown, topic_json, turn_json
from ricordo.cli.receipts import item_names
from ricordo.cli.search import hits_json
from ricordo.cli.serve import add_address, check_free, ended_by_signal, has_page, run_server, url_of
from ricordo.cli.story import Shown, screen
from ricordo.errors import SettingsError, ValidationError
from ricordo.presets import settings_from
from ricordo.records.turns import Owner, Turn
from ricordo.session import Session
from ricordo.stores.open import store_for

if TYPE_CHECKING:
    from ricordo.settings import Settings

# `ricordo demo --terminal`: a talk over some days, a follow-up, a memory from another session, topics.

USER = "anna"
AGENT = "tutor"
BUDGET = 420
BROUGHT_BACK = 2  # hits that are shown
PATIENCE = 120.0  # seconds for the work beside the chat; it takes a few


def tell(place: str, options: Options, output: Output) -> int:
    """Live the story and print it."""
    sample = SAMPLES[options.language]
    settings = {"locale": options.language, **keywords_of(options)}
    with output.progress("remembering"):
        done = play(place, sample, settings, options.budget)
    output.document(plain(done), *screen(done, sample, kept=options.db, user=USER))
    return OK if done.same else FAILED


def play(place: str, sample: Sample, settings: dict[str, Any], budget: int) -> Shown:
    """The whole story, as an application would live it."""
    with ricordo.open(place, **settings) as memory:
        began = datetime.now(UTC)
        earlier = memory.session(user_id=USER, agent_id=AGENT)
        long_ago = _say(earlier, sample.earlier, began)
        session = memory.session(user_id=USER, agent_id=AGENT)
        talk = [_say(session, each, began, after=minute) for minute, each in enumerate(sample.talk)]
        session.update(title=sample.title)
        memory.settle(PATIENCE)  # an application has it done beside the chat

        context = session.context(
            sample.follow_up.query, chunks=sample.found, budget=budget, safety=sample.safety, system=sample.system
        )
        names = item_names(memory.store, Owner(memory.settings.tenant_id, USER), context.receipt)
        asked = session.ask(sample.follow_up.query)
        answered = asked.answer(sample.follow_up.response, chunk_ids=sample.follow_up.chunk_ids)

        remembered = session.context(sample.remember.query)
        hits = memory.search(sample.remember.query, user_id=USER, limit=BROUGHT_BACK)
        session.add_turn(sample.remember.query, sample.remember.response)

        session.add_turn(sample.choice.query, sample.choice.response, chunk_ids=sample.choice.chunk_ids)
        unclear = session.context(sample.unclear)
        chosen = session.context(sample.which)

        topics = [topic_json(session.topic(topic.id)) for topic in session.topics()]
        again = session.rebuild(asked.turn_number) if place == "memory:" else None
        embedder = memory.stats().embedder
    return Shown(
        session_id=session.id,
        long_ago=long_ago,
        talk=tuple(talk),
        context=context,
        names=names,
        answered=answered,
        remembered=remembered,
        hits=hits,
        unclear=unclear,
        chosen=chosen,
        topics=topics,
        embedder=embedder,
        rebuilt=again or _reopened(place, settings, session.id, asked.turn_number),
    )


def plain(done: Shown) -> dict[str, Any]:
    """Everything on the screen, for a program."""
    return {
        "session_id": done.session_id,
        "turns": [turn_json(turn) for turn in (*done.talk, done.answered)],
        "context": context_json(done.context),
        "recalled": hits_json(done.remembered.question, done.hits),
        "asked_back": context_json(done.unclear)["clarification"],
        "understood_after": done.chosen.question,
        "topics": done.topics,
        "embedder": done.embedder,
        "rebuilt_is_identical": done.same,
    }


def _say(session: Session, each: SampleTurn, began: datetime, *, after: int = 0) -> Turn:
    """Keep a turn at the time it belongs to, always before now."""
    moment = began - timedelta(days=each.days_ago, minutes=30 - after)
    return session.add_turn(each.query, each.response, chunk_ids=each.chunk_ids, created_at=moment)


def _reopened(place: str, settings: dict[str, Any], session_id: str, turn_number: int) -> ricordo.Context:
    with ricordo.open(place, **settings) as memory:
        return memory.session(session_id, user_id=USER).rebuild(turn_number)


FILE = "demo.db"


def demo(options: Options, output: Output) -> int:
    """Show what it does: in a browser, or on the screen."""
    if options.folder is not None and options.db is not None:
        raise ValidationError("folder", "give either --folder or --db")
    with _place(options) as place:
        if options.terminal:
            return tell(place, options, output)
        with ended_by_signal():
            _serve(place, options, output)
    return OK


def _serve(place: str, options: Options, output: Output) -> None:
    from ricordo.server.caller import ANONYMOUS
    from ricordo.server.options import options_from

    listening = options_from(
        {"host": options.host, "port": _port(options), "auth": False, "log_level": "warning"}, environment={}
    )
    settings = settings_from({"locale": options.language, **keywords_of(options)}, os.environ)
    with output.progress("living six days again") as step:
        _seed(place, settings, ANONYMOUS, step)

    def started(port: int) -> None:
        address = url_of(listening.host, port)
        plain = {"url": address, "port": port, "db": place, "user_id": ANONYMOUS, "page": has_page()}
        output.document(plain, *_told(address, place, options, page=has_page()))
        if options.open:
            import webbrowser

            webbrowser.open(address)

    run_server(place, settings, listening, started)


def _seed(place: str, settings: "Settings", user_id: str, step: Step) -> None:
    store = store_for(place)
    try:
        live(store, settings, user_id, step)
    finally:
        store.close()


def _told(address: str, place: str, options: Options, *, page: bool) -> Iterator[RenderableType]:
    """The address, what is there, and what to try."""
    what = Text.assemble(
        ("Ricordo", "bold"),
        " answers from six short lessons, remembers a talk of the last six days, and shows what it knows and why it "
        "says what it says. No key, no network, no language model.",
    )
    where = Text.assemble("\n", (address, "bold blue underline"), "" if page else f"  (API: {address}/docs)")
    yield Panel(Group(what, where), border_style="blue")
    yield Text("Try, in the talk about burns: " + " · ".join(TO_TRY), "dim")
    kept = options.db is not None or options.folder is not None
    yield Text(f"It is kept in {shown(place)}" if kept else f"It lies in {shown(place)} and goes when this ends", "dim")
    yield Text("Ctrl-C ends it; `ricordo demo --terminal` tells a story right here", "dim")


def _port(options: Options) -> int:
    """The port that was asked for; else the usual one, or any if that is taken."""
    if options.port is not None:
        return int(options.port)
    try:
        check_free(options.host or "127.0.0.1", 8377)
    except SettingsError:
        return 0
    return 8377


@contextmanager
def _place(options: Options) -> Iterator[str]:
    """The database that was given, or one that goes when the demo ends."""
    if options.db is not None:
        yield options.db
    elif options.folder is not None:
        Path(options.folder).mkdir(parents=True, exist_ok=True)
        yield str(Path(options.folder) / FILE)
    else:
        with tempfile.TemporaryDirectory(prefix="ricordo-demo-") as folder:
            yield str(Path(folder) / FILE)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--language", choices=sorted(SAMPLES), default="it", help="of labels (default: %(default)s)")
    parser.add_argument("--folder", metavar="DIR", help="keep it there; default: a temporary folder")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    add_address(parser)
    add_llm(parser)
    parser.add_argument("--terminal", action="store_true", help="a story on the screen instead of a server")
    parser.add_argument(
        "--budget", metavar="TOKENS", type=int, default=BUDGET, help="with --terminal (default: %(default)s)"
    )


COMMANDS = (
    Command(
        "demo",
        "a server with a small course and a talk of some days, or a story on the screen; no key, no network",
        demo,
        _arguments,
        "ricordo demo --open",
    ),
)

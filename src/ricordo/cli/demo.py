"""`ricordo demo`: a talk, a follow-up, and the prompt for it with its receipt; no key, no network.

It runs the same calls as any application, on a temporary file or on the one given, and prints what they
gave. Everything that is claimed on the screen is checked there: the limit, the reopening, the rebuilt bytes.
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

import ricordo
from ricordo.cli.account import budget_bar, items_table, messages_view, sections_table, turn_names
from ricordo.cli.options import Command, Options, keywords_of
from ricordo.cli.output import Output, shown
from ricordo.cli.plain import context_json, turn_json
from ricordo.cli.sample import SAMPLES, Sample
from ricordo.context import Context
from ricordo.records import Turn

USER = "anna"
AGENT = "tutor"
BUDGET = 360


@dataclass(frozen=True, slots=True)
class Shown:
    """What the demo did, as its calls gave it back."""

    session_id: str
    talk: tuple[Turn, ...]
    context: Context
    answered: Turn
    reopened: Context
    place: str


def demo(options: Options, output: Output) -> int:
    """Run the talk and print it."""
    sample = SAMPLES[options.language]
    with _place(options.db) as place:
        done = play(
            place, sample, {"preset": "tutor", "locale": options.language, **keywords_of(options)}, options.budget
        )
    same = done.reopened.messages == done.context.messages and done.reopened.prompt == done.context.prompt
    plain = {
        "session_id": done.session_id,
        "turns": [turn_json(turn) for turn in (*done.talk, done.answered)],
        "context": context_json(done.context),
        "rebuilt_is_identical": same,
    }
    output.document(plain, *_screen(done, sample, same=same, kept=options.db))
    return 0 if same else 1


def play(place: str, sample: Sample, settings: dict[str, object], budget: int) -> Shown:
    """The whole story, as an application would live it."""
    with ricordo.open(place, **settings) as memory:
        session = memory.session(user_id=USER, agent_id=AGENT)
        talk = [session.add_turn(each.query, each.response, chunk_ids=each.chunk_ids) for each in sample.talk]
        session.update(title=sample.title)
        context = session.context(
            sample.follow_up.query, chunks=sample.found, budget=budget, safety=sample.safety, system=sample.system
        )
        asked = session.ask(sample.follow_up.query)
        answered = asked.answer(sample.follow_up.response, chunk_ids=sample.follow_up.chunk_ids)
        if place == "memory:":
            return Shown(session.id, tuple(talk), context, answered, session.rebuild(asked.turn_number), place)
    with ricordo.open(place, **settings) as memory:
        rebuilt = memory.session(session.id, user_id=USER).rebuild(asked.turn_number)
        return Shown(session.id, tuple(talk), context, answered, rebuilt, memory.store.location)


def _screen(done: Shown, sample: Sample, *, same: bool, kept: str | None) -> Iterator[RenderableType]:
    """Everything the demo prints, top to bottom."""
    receipt = done.context.receipt
    names = turn_names(done.talk)
    yield _title()
    yield _step(1, f"A conversation, kept on disk turn by turn ({len(done.talk)} turns)")
    yield _talk(done.talk)
    yield _step(2, "A follow-up, and what the retriever found for it")
    yield Text.assemble(("user  ", "bold green"), sample.follow_up.query, "\n")
    yield Text(
        f"{len(sample.found)} passages of the course, best first: {', '.join(c.id for c in sample.found)}", "dim"
    )
    yield _step(3, f"One budget for the whole prompt: never over {receipt.limit:,} tokens")
    yield budget_bar(receipt)
    yield ""
    yield sections_table(receipt)
    yield _step(4, "The receipt: every item, kept or dropped, and why")
    yield items_table(receipt, names)
    yield _step(5, "The messages, exactly as they go to the model")
    yield messages_view(done.context)
    yield _step(6, "The file closed and opened again: the same prompt, rebuilt from its receipt")
    verdict = ("✓ identical, byte for byte", "bold green") if same else ("✗ different", "bold red")
    yield Text.assemble(
        verdict, f"   sha256 {receipt.messages_digest[:16]}… of turn {done.answered.turn_number}, kept with its receipt"
    )
    yield ""
    yield _next(sample, kept)


def _title() -> RenderableType:
    words = Text.assemble(
        ("Ricordo", "bold"),
        " keeps every turn of a conversation, fits the best of it into the model's window, "
        "and gives a receipt for every prompt. No key, no network, no model here: this is the memory alone.",
    )
    return Panel(words, border_style="blue")


def _step(number: int, words: str) -> RenderableType:
    return Group("", Rule(Text(f"{number}. {words}", "bold"), align="left", style="dim"))


def _talk(turns: tuple[Turn, ...]) -> RenderableType:
    rows = Table.grid(padding=(0, 2, 0, 0))
    for turn in turns:
        cites = f"  [{', '.join(turn.chunk_ids)}]"
        rows.add_row(Text(str(turn.turn_number), "dim"), Text("user", "bold green"), Text(shown(turn.query)))
        rows.add_row("", Text("tutor", "bold blue"), Text.assemble(shown(turn.response or ""), (cites, "dim")))
    return rows


def _next(sample: Sample, kept: str | None) -> RenderableType:
    """Commands to type; a URL may hold a password, so it is not repeated."""
    lasting = kept is not None and kept != "memory:"
    where = f"--db {'URL' if '://' in str(kept) else kept if lasting else 'demo.db'} --user {USER}"
    rows = [
        *([] if lasting else ["ricordo demo --db demo.db"]),
        f"ricordo show {where}",
        f'ricordo context "{sample.another}" {where} --budget 300',
        f'ricordo ask "{sample.another}" {where} --continue --prompt',
        f"ricordo receipts {where}",
        "ricordo demo --language en",
        "ricordo --help",
    ]
    head = "Try next" if lasting else "Try next (this file was temporary; the first line makes one to keep)"
    return Panel(Text("\n".join(rows)), title=head, title_align="left", border_style="green")


@contextmanager
def _place(given: str | None) -> Iterator[str]:
    """The database that was given, or one that goes when the demo ends."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="ricordo-demo-") as folder:
        yield str(Path(folder) / "demo.db")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--language", choices=sorted(SAMPLES), default="it", help="of the talk (default: %(default)s)")
    parser.add_argument("--budget", metavar="TOKENS", type=int, default=BUDGET, help="default: %(default)s")


COMMANDS = (
    Command(
        "demo",
        "a conversation, a follow-up, and the prompt for it with its receipt; no key, no network",
        demo,
        _arguments,
        "ricordo demo --language en --budget 400",
    ),
)

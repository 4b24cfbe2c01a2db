"""The demo on a screen: what its calls gave, drawn top to bottom in numbered steps.

In: what was lived (`Shown`) and the material. Out: rich parts. Colours only repeat what words and numbers say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ricordo.cli.demo_course import Sample
from ricordo.cli.output import meaning_view, shown
from ricordo.cli.receipts import budget_bar, items_table, messages_view, sections_table
from ricordo.cli.search import hits_view
from ricordo.cli.topics import topics_table
from ricordo.prompt.context import Context
from ricordo.records.turns import Turn

if TYPE_CHECKING:
    from ricordo.recall.search import Hits


@dataclass(frozen=True, slots=True)
class Shown:
    """What the demo did, as its calls gave it back."""

    session_id: str
    long_ago: Turn
    talk: tuple[Turn, ...]
    context: Context
    names: Mapping[str, str]
    answered: Turn
    remembered: Context
    hits: "Hits"
    unclear: Context
    chosen: Context
    topics: list[dict[str, Any]]
    embedder: str
    rebuilt: Context

    @property
    def same(self) -> bool:
        """Whether the rebuilt context is the one that was built, byte for byte."""
        return self.rebuilt.messages == self.context.messages and self.rebuilt.prompt == self.context.prompt


def screen(done: Shown, sample: Sample, *, kept: str | None, user: str) -> Iterator[RenderableType]:
    """Everything the demo prints."""
    receipt = done.context.receipt
    yield _title()
    yield _step(1, "A conversation over some days, kept on disk turn by turn")
    yield _talk(done)
    yield _step(2, "A follow-up, understood without a model")
    yield _asked(sample.follow_up.query, done.context)
    found = ", ".join(chunk.id for chunk in sample.found)
    yield Text("What it points at has left the window of three turns; it comes back in full.", "dim")
    yield Text(f"The retriever found for it: {found}", "dim")
    yield _step(3, f"One budget for the whole prompt: never over {receipt.limit:,} tokens")
    yield budget_bar(receipt)
    yield ""
    yield sections_table(receipt)
    yield _step(4, "The receipt: every item, kept or dropped, and why")
    yield items_table(receipt, done.names)
    yield _step(5, "The messages, exactly as they go to the model")
    yield messages_view(done.context)
    yield _step(6, "Something said three weeks ago, in another session, comes back")
    yield _asked(sample.remember.query, done.remembered)
    yield from hits_view(done.hits)
    yield _step(7, "When two things fit equally well, it asks back")
    yield _asked(sample.unclear, done.unclear)
    yield _asked(sample.which, done.chosen)
    yield _step(8, "What the talk was about: topics that fade like human memory")
    yield topics_table(done.topics)
    yield Text("What fades goes to the archive, compressed without loss, and comes back when talked about.", "dim")
    yield _step(9, "Closed and opened again: the same prompt, rebuilt from its receipt")
    verdict = ("✓ identical, byte for byte", "bold green") if done.same else ("✗ different", "bold red")
    digest = f"   sha256 {receipt.messages_digest[:12]}…, turn {done.answered.turn_number}"
    yield Text.assemble(verdict, digest)
    yield ""
    yield _next(sample, kept, user)


def _title() -> RenderableType:
    words = Text.assemble(
        ("Ricordo", "bold"),
        " keeps every turn of a conversation, understands what a follow-up points at, brings back what was said long "
        "ago, fits the best of it into the model's window, and gives a receipt for every prompt. "
        "No key, no network, no language model here: this is the memory alone.",
    )
    return Panel(words, border_style="blue")


def _step(number: int, words: str) -> RenderableType:
    return Group("", Rule(Text(f"{number}. {words}", "bold"), align="left", style="dim"))


def _asked(question: str, context: Context) -> RenderableType:
    """A question as it was put, and what it was understood as."""
    meaning = meaning_view(context)
    said = Text.assemble(("user  ", "bold green"), shown(question))
    return Group(said, Padding(meaning, (0, 0, 1, 6))) if meaning else Group(said, "")


def _talk(done: Shown) -> RenderableType:
    rows = Table.grid(padding=(0, 2, 0, 0))
    for turn in (done.long_ago, *done.talk):
        cites = f"  [{', '.join(turn.chunk_ids)}]" if turn.chunk_ids else ""
        number = "" if turn is done.long_ago else str(turn.turn_number)
        rows.add_row(
            Text(f"{turn.created_at.astimezone():%d %b}", "dim"),
            Text(number, "dim"),
            Text("user", "bold green"),
            Text(shown(turn.query)),
        )
        words = Text.assemble(shown(turn.response or ""), (cites, "dim"))
        rows.add_row("", "", Text("tutor", "bold blue"), words)
        if turn is done.long_ago:
            rows.add_row("", "", "", Text("· · · (another session, three weeks ago)", "dim"))
    return rows


def _next(sample: Sample, kept: str | None, user: str) -> RenderableType:
    """Commands to type; a URL may hold a password, so it is not repeated."""
    lasting = kept is not None and kept != "memory:"
    where = f"--db {'URL' if '://' in str(kept) else kept if lasting else 'demo.db'} --user {user}"
    rows = [
        *([] if lasting else ["ricordo demo --db demo.db"]),
        f"ricordo show {where}",
        f'ricordo context "{sample.another}" {where} --budget 300',
        f'ricordo search "{sample.remember.query}" {where}',
        f"ricordo topics {where}",
        f"ricordo receipts {where}",
        "ricordo demo --language en",
        "ricordo --help",
    ]
    head = "Try next" if lasting else "Try next (this file was temporary; the first line makes one to keep)"
    return Panel(Text("\n".join(rows)), title=head, title_align="left", border_style="green")

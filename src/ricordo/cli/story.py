"""`ricordo demo --terminal`: a conversation over some days is played through the public API, then printed in steps.

A follow-up, a budget with its receipt, recall from another session, a clarification and topics are shown; at the end a
context is rebuilt from its receipt and compared byte for byte. Colours only repeat what words and numbers say.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

import ricordo
from ricordo.cli.arguments import FAILED, OK, Options, chosen_settings
from ricordo.cli.output import Output, context_json, meaning_view, printable, topic_json, turn_json
from ricordo.cli.views import (
    budget_bar,
    hits_json,
    hits_view,
    item_names,
    items_table,
    messages_view,
    sections_table,
    topics_table,
)
from ricordo.prompt.context import Context
from ricordo.records.turns import Chunk, Owner, Turn
from ricordo.session import Session

if TYPE_CHECKING:
    from ricordo.recall.search import Hits

Language = Literal["it", "en"]

_FOLDER = files("ricordo.cli").joinpath("sample")
_LESSONS: dict[Language, tuple[str, ...]] = {
    "it": ("ustioni", "fotosintesi", "chimica-in-cucina"),
    "en": ("sleep-and-memory", "bread", "back-pain"),
}
LANGUAGES = sorted(_LESSONS)


@dataclass(frozen=True, slots=True)
class SampleTurn:
    """A question, its answer, what the answer cites, and its age. Without a response the reader answers it."""

    query: str
    response: str = ""
    chunk_ids: tuple[str, ...] = ()
    days_ago: int = 0


@dataclass(frozen=True, slots=True)
class SampleStory:
    """A conversation about a course, and questions that only make sense after it."""

    title: str
    safety: str
    system: str
    earlier: SampleTurn  # in another session
    talk: tuple[SampleTurn, ...]
    follow_up: SampleTurn
    found: tuple[Chunk, ...]  # chunks for the follow-up, best first
    remember: SampleTurn  # needs what was said in the other session
    choice: SampleTurn
    unclear: str  # after `choice`, refers to either of two things
    which: str  # answers the clarification
    another: str  # a follow-up for the reader to try


@dataclass(frozen=True, slots=True)
class PastSession:
    """A session that began some days ago."""

    days_ago: int
    turns: tuple[SampleTurn, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One document of the course: `id` is the name of its file, `text` is Markdown."""

    id: str
    language: Language
    title: str
    text: str


@cache
def story(language: str) -> SampleStory:
    """The story of the terminal demo in one language."""
    found = json.loads(_read(language, "story.json"))
    turns = {name: _turn(found[name]) for name in ("earlier", "follow_up", "remember", "choice")}
    talk = tuple(_turn(each) for each in found["talk"])
    return SampleStory(**{**found, **turns, "talk": talk, "found": tuple(Chunk(**each) for each in found["found"])})


@cache
def past_sessions() -> tuple[PastSession, ...]:
    """The sessions that the served demo starts with, oldest first."""
    listed = json.loads(_read("past_sessions.json"))["sessions"]
    return tuple(PastSession(each["days_ago"], tuple(_turn(turn) for turn in each["turns"])) for each in listed)


@cache
def suggestions(language: str) -> tuple[str, ...]:
    """Questions to try in the last of the past sessions, on lessons of the language."""
    return tuple(json.loads(_read("past_sessions.json"))["suggestions"][language])


@cache
def lessons(language: Language | None = None) -> tuple[Lesson, ...]:
    """The lessons of one language, or all of them, always in the same order."""
    return tuple(_lesson(code, name) for code, names in _LESSONS.items() if language in (code, None) for name in names)


def _lesson(code: Language, name: str) -> Lesson:
    text = _read(code, f"{name}.md")
    return Lesson(name, code, text.partition("\n")[0].lstrip("# ").strip(), text)


def _turn(found: dict[str, Any]) -> SampleTurn:
    return SampleTurn(**{**found, "chunk_ids": tuple(found.get("chunk_ids", ()))})


def _read(*path: str) -> str:
    return _FOLDER.joinpath(*path).read_text("utf-8")


USER = "anna"
AGENT = "tutor"
HITS = 2  # hits to print
SETTLE_SECONDS = 120.0  # limit for the background work, which takes a few seconds


@dataclass(frozen=True, slots=True)
class StoryResult:
    """What each call of the story returned."""

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
    def identical(self) -> bool:
        """Whether the rebuilt context equals the original byte for byte."""
        return self.rebuilt.messages == self.context.messages and self.rebuilt.prompt == self.context.prompt

    def as_json(self) -> dict[str, Any]:
        """Everything that the screen shows, for a program."""
        return {
            "session_id": self.session_id,
            "turns": [turn_json(turn) for turn in (*self.talk, self.answered)],
            "context": context_json(self.context),
            "recalled": hits_json(self.remembered.question, self.hits),
            "asked_back": context_json(self.unclear)["clarification"],
            "understood_after": self.chosen.question,
            "topics": self.topics,
            "embedder": self.embedder,
            "rebuilt_is_identical": self.identical,
        }


def run_story(database: str, options: Options, output: Output) -> int:
    """Play the story and print it."""
    sample = story(options.language)
    settings = {"locale": options.language, **chosen_settings(options)}
    with output.progress("remembering"):
        result = play(database, sample, settings, options.budget)
    output.document(result.as_json(), *screen(result, sample, kept=options.db))
    return OK if result.identical else FAILED


def play(database: str, sample: SampleStory, settings: dict[str, Any], budget: int) -> StoryResult:
    """Make the calls that an application would make."""
    with ricordo.open(database, **settings) as memory:
        began = datetime.now(UTC)
        earlier = memory.session(user_id=USER, agent_id=AGENT)
        long_ago = _add_turn(earlier, sample.earlier, began)
        session = memory.session(user_id=USER, agent_id=AGENT)
        talk = [_add_turn(session, each, began, after=minute) for minute, each in enumerate(sample.talk)]
        session.update(title=sample.title)
        memory.settle(SETTLE_SECONDS)

        context = session.context(
            sample.follow_up.query, chunks=sample.found, budget=budget, safety=sample.safety, system=sample.system
        )
        names = item_names(memory.store, Owner(memory.settings.tenant_id, USER), context.receipt)
        asked = session.ask(sample.follow_up.query)
        answered = asked.answer(sample.follow_up.response, chunk_ids=sample.follow_up.chunk_ids)

        remembered = session.context(sample.remember.query)
        hits = memory.search(sample.remember.query, user_id=USER, limit=HITS)
        session.add_turn(sample.remember.query, sample.remember.response)

        session.add_turn(sample.choice.query, sample.choice.response, chunk_ids=sample.choice.chunk_ids)
        unclear = session.context(sample.unclear)
        chosen = session.context(sample.which)

        topics = [topic_json(session.topic(topic.id)) for topic in session.topics()]
        again = session.rebuild(asked.turn_number) if database == "memory:" else None
        embedder = memory.stats().embedder
    return StoryResult(
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
        rebuilt=again or _reopened(database, settings, session.id, asked.turn_number),
    )


def _add_turn(session: Session, each: SampleTurn, began: datetime, *, after: int = 0) -> Turn:
    """Store a turn with its own time, which is always before now."""
    moment = began - timedelta(days=each.days_ago, minutes=30 - after)
    return session.add_turn(each.query, each.response, chunk_ids=each.chunk_ids, created_at=moment)


def _reopened(database: str, settings: dict[str, Any], session_id: str, turn_number: int) -> Context:
    with ricordo.open(database, **settings) as memory:
        return memory.session(session_id, user_id=USER).rebuild(turn_number)


def screen(result: StoryResult, sample: SampleStory, *, kept: str | None) -> Iterator[RenderableType]:
    """Everything the demo prints."""
    receipt = result.context.receipt
    yield _title()
    yield _step(1, "A conversation over some days, kept on disk turn by turn")
    yield _talk(result)
    yield _step(2, "A follow-up, understood without a model")
    yield _asked(sample.follow_up.query, result.context)
    found = ", ".join(chunk.id for chunk in sample.found)
    yield Text("What it points at has left the window of three turns; it comes back in full.", "dim")
    yield Text(f"The retriever found for it: {found}", "dim")
    yield _step(3, f"One budget for the whole prompt: never over {receipt.limit:,} tokens")
    yield budget_bar(receipt)
    yield ""
    yield sections_table(receipt)
    yield _step(4, "The receipt: every item, kept or dropped, and why")
    yield items_table(receipt, result.names)
    yield _step(5, "The messages, exactly as they go to the model")
    yield messages_view(result.context)
    yield _step(6, "Something said three weeks ago, in another session, comes back")
    yield _asked(sample.remember.query, result.remembered)
    yield from hits_view(result.hits)
    yield _step(7, "When two things fit equally well, it asks back")
    yield _asked(sample.unclear, result.unclear)
    yield _asked(sample.which, result.chosen)
    yield _step(8, "What the talk was about: topics that fade like human memory")
    yield topics_table(result.topics)
    yield Text("What fades goes to the archive, compressed without loss, and comes back when talked about.", "dim")
    yield _step(9, "Closed and opened again: the same prompt, rebuilt from its receipt")
    verdict = ("✓ identical, byte for byte", "bold green") if result.identical else ("✗ different", "bold red")
    digest = f"   sha256 {receipt.messages_digest[:12]}…, turn {result.answered.turn_number}"
    yield Text.assemble(verdict, digest)
    yield ""
    yield _next(sample, kept)


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
    """A question, and how it was understood."""
    meaning = meaning_view(context)
    asked = Text.assemble(("user  ", "bold green"), printable(question))
    return Group(asked, Padding(meaning, (0, 0, 1, 6))) if meaning else Group(asked, "")


def _talk(result: StoryResult) -> RenderableType:
    rows = Table.grid(padding=(0, 2, 0, 0))
    for turn in (result.long_ago, *result.talk):
        cites = f"  [{', '.join(turn.chunk_ids)}]" if turn.chunk_ids else ""
        number = "" if turn is result.long_ago else str(turn.turn_number)
        rows.add_row(
            Text(f"{turn.created_at.astimezone():%d %b}", "dim"),
            Text(number, "dim"),
            Text("user", "bold green"),
            Text(printable(turn.query)),
        )
        words = Text.assemble(printable(turn.response or ""), (cites, "dim"))
        rows.add_row("", "", Text("tutor", "bold blue"), words)
        if turn is result.long_ago:
            rows.add_row("", "", "", Text("· · · (another session, three weeks ago)", "dim"))
    return rows


def _next(sample: SampleStory, kept: str | None) -> RenderableType:
    """Commands to try next; a database URL may hold a password, so it is not printed."""
    lasting = kept is not None and kept != "memory:"
    where = f"--db {'URL' if '://' in str(kept) else kept if lasting else 'demo.db'} --user {USER}"
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

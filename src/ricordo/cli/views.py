"""What commands show as tables and bars: receipts, contexts, search hits and topics.

Colours only repeat what words and numbers say. `*_json` is the same for `--json`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ricordo.cli.output import ROLE_COLOURS, SHORT_ID, local_time, message_json, one_line, printable, table
from ricordo.prompt.context import Context
from ricordo.prompt.receipt import Receipt, ReceiptItem
from ricordo.prompt.window import Section
from ricordo.records.turns import Owner, Turn, turn_id_of
from ricordo.stores.protocols import Store

if TYPE_CHECKING:
    from ricordo.recall.search import Hit, Hits

BAR = 60
SMALL_BAR = 16
SECTION_COLOURS = {
    Section.SAFETY: "red",
    Section.SYSTEM: "magenta",
    Section.PROFILE: "bright_magenta",
    Section.SUMMARY: "bright_blue",
    Section.TOPIC: "bright_green",
    Section.HISTORY: "blue",
    Section.RECALLED: "bright_cyan",
    Section.CHUNKS: "cyan",
    Section.QUESTION: "green",
    Section.FORMAT: "yellow",
}

TURN_SECTIONS = (Section.HISTORY.value, Section.TOPIC.value)
Names = Mapping[str, str]
MAX_MESSAGE = 240  # characters of a message in a row; --json has all of them
SCORE_BAR = 8
PRIORITY_BAR = 10
KIND_COLOURS = {"short-term": "yellow", "transitioning": "cyan", "long-term": "green"}


def receipt_view(receipt: Receipt, names: Names | None = None) -> RenderableType:
    parts: list[RenderableType] = [budget_bar(receipt), "", sections_table(receipt), "", items_table(receipt, names)]
    if receipt.embedder:
        parts += ["", Text(f"recalled with {printable(receipt.embedder)}", "dim")]
    parts += [Text(f"! {printable(note)}", style="yellow") for note in receipt.degraded]
    return Group(*parts)


def budget_bar(receipt: Receipt) -> RenderableType:
    """One bar for the whole limit: each section in its colour, the reserve for the answer, the free rest."""
    counted = "exact" if receipt.counter_exact else "approximate"
    bar = Text()
    for section in Section:
        tokens = receipt.sections.get(section.value, 0)
        bar.append("█" * _cells(tokens, receipt.limit), style=SECTION_COLOURS[section])
    bar.append("▒" * min(_cells(receipt.answer_reserve, receipt.limit), BAR - len(bar)), style="dim")
    bar.append("░" * (BAR - len(bar)), style="dim")
    share = f"{receipt.total_tokens / receipt.limit:.0%}" if receipt.limit else "–"
    line = Text.assemble(
        (f"{receipt.total_tokens:,}", "bold"),
        f" of {receipt.limit:,} tokens ({share}) · ",
        f"{counted}, {receipt.counter} · as one prompt {receipt.prompt_tokens:,}",
    )
    if receipt.stable_tokens is not None:
        line.append(f" · {receipt.stable_tokens:,} as in the turn before")
    if receipt.answer_reserve:
        line.append(f" · {receipt.answer_reserve:,} kept for the answer")
    return Group(bar, line)


def sections_table(receipt: Receipt) -> Table:
    """Each section with items: its share, the tokens used, the items kept and dropped."""
    rows = table("section", "share", "used", "", "kept", "dropped", right=("share", "used", "kept", "dropped"))
    for section in Section:
        share, used = receipt.shares.get(section.value, 0), receipt.sections.get(section.value, 0)
        fates = [item.kept for item in receipt.items if item.section == section.value]
        if not fates:
            continue
        filled = min(SMALL_BAR, -(-used * SMALL_BAR // share)) if share else 0
        bar = Text("━" * filled, style=SECTION_COLOURS[section]) + Text("─" * (SMALL_BAR - filled), style="dim")
        rows.add_row(
            Text(section.value, style=SECTION_COLOURS[section]),
            f"{share:,}",
            f"{used:,}",
            bar,
            str(sum(fates)),
            str(len(fates) - sum(fates)),
        )
    around = receipt.total_tokens - sum(receipt.sections.values())
    rows.add_row(Text("around messages", style="dim"), "", f"{around:,}", "", "", "")
    return rows


def items_table(receipt: Receipt, names: Names | None = None) -> Table:
    """Every item: kept or dropped, its tokens and the reason."""
    rows = table("", "item", "section", "tokens", "why", right=("tokens",))
    for column in (rows.columns[0], *rows.columns[2:]):
        column.no_wrap = True  # on a narrow terminal only the names are cut
    for item in receipt.items:
        fate = Text("✓ kept", style="green") if item.kept else Text("✗ dropped", style="red")
        why = item.reason + (", shortened" if item.shortened else "")
        name = Text(printable(item.id))
        if names and item.id in names:
            name = Text(one_line(names[item.id], 44), no_wrap=True, overflow="ellipsis")
        cost = f"{item.tokens:,}" if item.tokens else "–"
        rows.add_row(fate, name, Text(item.section, style="dim"), cost, Text(printable(why)))
    return rows


def messages_view(context: Context) -> RenderableType:
    """The messages as sent to a chat API, each in a frame titled with its role."""
    frames: list[RenderableType] = []
    for message in context.messages:
        role = str(message["role"])
        words = printable(message["content"]) or f"→ {len(message.get('tool_calls', ()))} tool calls"
        frames.append(
            Panel(Text(words), title=printable(role), title_align="left", border_style=ROLE_COLOURS.get(role, "white"))
        )
    return Group(*frames)


def turn_names(turns: Sequence[Turn]) -> dict[str, str]:
    """Names of turns: their number and their beginning."""
    return {turn.id: f"turn {turn.turn_number}: {turn.query or turn.response or ''}" for turn in turns}


def item_names(store: Store, owner: Owner, receipt: Receipt) -> dict[str, str]:
    """Names of a receipt's items: turns by number, references by their place, recalled messages by their text."""
    names: dict[str, str] = {}
    for item in receipt.items:
        if match := re.fullmatch(r"turn-(\d+):(.+)", item.id):
            names[item.id] = f"turn {match[1]}, {'its answer' if match[2] == 'answer' else 'point ' + match[2]}"
            continue
        turn = _turn_behind(store, owner, item)
        if turn is None:
            continue
        if item.section in TURN_SECTIONS:
            names |= turn_names([turn])
        else:
            message = next((each for each in turn.messages if each.id == item.id), None)
            names |= {item.id: f"{turn.created_at:%Y-%m-%d}: {message.content}"} if message else {}
    return names


def _turn_behind(store: Store, owner: Owner, item: ReceiptItem) -> Turn | None:
    """The stored turn that an item is, or comes from."""
    if item.section in TURN_SECTIONS:
        return store.turns.get(owner, item.id)
    return store.turns.get(owner, turn_id_of(item.id)) if item.section == Section.RECALLED.value else None


def section_view(title: str, body: RenderableType) -> RenderableType:
    return Group(Text(title, style="bold"), Padding(body, (0, 0, 0, 2)))


def _cells(tokens: int, limit: int) -> int:
    """The cells of the bar for so many tokens; at least one unless there are none."""
    if not tokens or not limit:
        return 0
    return max(1, tokens * BAR // limit)


def hits_view(hits: "Hits") -> list[RenderableType]:
    """Every hit with its score, time, speaker, text and reasons."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    for hit in hits:
        filled = round(hit.score * SCORE_BAR)
        bar = Text("━" * filled, "bright_cyan") + Text("─" * (SCORE_BAR - filled), "dim")
        who = Text(printable(hit.message.name or hit.message.role), f"bold {ROLE_COLOURS[hit.message.role]}")
        said = Group(Text(one_line(hit.text, MAX_MESSAGE)), Text(printable(" · ".join(hit.reasons)), "dim cyan"))
        rows.add_row(f"{hit.score:.2f}", bar, Text(local_time(hit.message.created_at), "dim"), who, said)
    if not hits:
        return ["nothing was found", *_notes(hits)]
    return [rows, *_notes(hits), Text(f"searched with {printable(hits.embedder)}", "dim")]


def hits_json(query: str, hits: "Hits") -> dict[str, Any]:
    return {
        "query": query,
        "embedder": hits.embedder,
        "degraded": list(hits.degraded),
        "hits": [hit_json(hit) for hit in hits],
    }


def hit_json(hit: "Hit") -> dict[str, Any]:
    """One hit: its score, reasons, place and whole message."""
    return {
        "score": round(hit.score, 6),
        "reasons": list(hit.reasons),
        "session_id": hit.session_id,
        "turn_number": hit.turn_number,
        "topic_id": hit.topic_id,
        **message_json(hit.message),
    }


def _notes(hits: "Hits") -> list[RenderableType]:
    return [Text(f"! {printable(note)}", "yellow") for note in hits.degraded]


def topics_table(topics: list[dict[str, Any]]) -> Table:
    """Each topic with its priority, half-life, kind and messages."""
    rows = table("topic", "title", "worth now", "half-life", "kind", "messages", right=("half-life", "messages"))
    if any(each["tags"] for each in topics):
        rows.add_column("tags")
    for column in (rows.columns[0], *rows.columns[2:]):
        column.no_wrap = True  # on a narrow terminal only the titles are cut
    for each in topics:
        title = Text(one_line(each["topic_title"], 80), no_wrap=True, overflow="ellipsis")
        cells: list[RenderableType] = [
            Text(printable(each["topic_id"][:SHORT_ID])),
            title,
            _priority(each["priority"], KIND_COLOURS[each["memory_type"]]),
            f"{each['half_life_days']:g} d",
            Text(each["memory_type"], KIND_COLOURS[each["memory_type"]]),
            _messages(each),
            Text(printable(", ".join(each["tags"])), "dim"),
        ]
        rows.add_row(*cells[: len(rows.columns)])
    return rows


def _priority(priority: float, colour: str) -> Text:
    filled = max(round(priority * PRIORITY_BAR), 1 if priority >= 0.005 else 0)
    return Text.assemble(f"{priority:.2f} ", ("█" * filled, colour), ("░" * (PRIORITY_BAR - filled), "dim"))


def _messages(topic: dict[str, Any]) -> str:
    archived = topic["compressed_messages"]
    return f"{topic['active_messages']}" + (f" + {archived} archived" if archived else "")


def stats_table(topics: list[dict[str, Any]]) -> Table:
    """Every figure of every topic, one column per topic."""
    names = [name for name in topics[0] if name not in ("tags", "state", "summary")] if topics else []
    rows = table("", *[str(number) for number in range(1, len(topics) + 1)])
    for name in names:
        rows.add_row(Text(name, "dim"), *[Text(one_line(_figure(each[name]), 24)) for each in topics])
    return rows


def _figure(value: Any) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)

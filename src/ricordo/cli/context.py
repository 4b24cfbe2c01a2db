"""Commands on prompts: the context of a question, the receipts of past turns, a past context rebuilt.

A receipt is shown as a bar of the budget, a table of sections and a table of items. `--prompt` prints only the prompt
on stdout and its receipt on stderr, ready for a pipe to a model.
"""

import argparse
import re
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ricordo.cli.arguments import (
    Command,
    Options,
    add_budget,
    add_chunks,
    add_session,
    add_user,
    open_memory,
    read_chunks,
    read_text,
    session_of,
    user_of,
)
from ricordo.cli.output import ROLE_COLOURS, Output, context_json, meaning_view, one_line, printable, table
from ricordo.prompt.context import Context
from ricordo.prompt.receipt import Receipt, ReceiptItem
from ricordo.prompt.window import Section
from ricordo.records.turns import Owner, Turn, turn_id_of
from ricordo.stores.protocols import Store

BAR = 60
SMALL_BAR = 16
SECTION_COLOURS = {
    Section.SAFETY: "red",
    Section.SYSTEM: "magenta",
    Section.PROFILE: "bright_magenta",
    Section.SUMMARY: "bright_blue",
    Section.HISTORY: "blue",
    Section.RECALLED: "bright_cyan",
    Section.CHUNKS: "cyan",
    Section.QUESTION: "green",
    Section.FORMAT: "yellow",
}

Names = Mapping[str, str]


def receipt_view(receipt: Receipt, names: Names | None = None) -> RenderableType:
    """The whole receipt."""
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
        if item.section == "history":
            names |= turn_names([turn])
        else:
            message = next((each for each in turn.messages if each.id == item.id), None)
            names |= {item.id: f"{turn.created_at:%Y-%m-%d}: {message.content}"} if message else {}
    return names


def _turn_behind(store: Store, owner: Owner, item: ReceiptItem) -> Turn | None:
    """The stored turn that an item is, or comes from."""
    if item.section == Section.HISTORY.value:
        return store.turns.get(owner, item.id)
    return store.turns.get(owner, turn_id_of(item.id)) if item.section == Section.RECALLED.value else None


def section_view(title: str, body: RenderableType) -> RenderableType:
    """A body under a title."""
    return Group(Text(title, style="bold"), Padding(body, (0, 0, 0, 2)))


def _cells(tokens: int, limit: int) -> int:
    """The cells of the bar for so many tokens; at least one unless there are none."""
    if not tokens or not limit:
        return 0
    return max(1, tokens * BAR // limit)


def context(options: Options, output: Output) -> int:
    """Build the context of a question; nothing is written."""
    question = read_text(options.question)
    with open_memory(options) as memory:
        if options.session is None and not memory.sessions(user_id=user_of(options), limit=1):
            session = memory.session(user_id=user_of(options))
        else:
            session = session_of(memory, options)
        built = session.context(
            question,
            chunks=read_chunks(options),
            budget=options.budget,
            system=options.system,
            profile=options.profile,
            summary=options.summary,
        )
        names = item_names(memory.store, Owner(memory.settings.tenant_id, session.user_id), built.receipt)
    print_context(built, names, options, output)
    return 0


def receipts(options: Options, output: Output) -> int:
    """List the receipts of past turns."""
    with open_memory(options) as memory:
        found = session_of(memory, options).receipts(options.limit)
    rows = table(
        "turn", "question", "tokens", "limit", "kept", "dropped", right=("turn", "tokens", "limit", "kept", "dropped")
    )
    for each in found:
        numbers = (f"{each.total_tokens:,}", f"{each.limit:,}", str(len(each.kept)), str(len(each.dropped)))
        rows.add_row(str(each.turn_number), Text(one_line(each.question, 50)), *numbers)
    empty = "no receipts: they are stored with turns whose context was built first (`ricordo ask`)"
    output.lines((each.as_json() for each in found), rows if found else empty)
    return 0


def rebuild(options: Options, output: Output) -> int:
    """Rebuild the context of a past turn, byte for byte."""
    with open_memory(options) as memory:
        session = session_of(memory, options)
        built = session.rebuild(options.turn_number)
        names = item_names(memory.store, Owner(memory.settings.tenant_id, session.user_id), built.receipt)
    print_context(built, names, options, output)
    return 0


def print_context(built: Context, names: dict[str, str], options: Options, output: Output) -> None:
    """Print the standalone question, the messages and the receipt; or only the prompt."""
    receipt: RenderableType = receipt_view(built.receipt, names)
    meaning = meaning_view(built)
    understood: list[RenderableType] = [section_view("question", meaning), ""] if meaning else []
    if options.prompt and not output.as_json:
        output.raw(built.prompt)
        output.note("", *understood, receipt)
        return
    shown_as = (*understood, section_view("messages", messages_view(built)), "", section_view("receipt", receipt))
    output.document(context_json(built), *shown_as)


def _context_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", help="the next question; - reads it from standard input")
    add_user(parser)
    add_session(parser)
    add_chunks(parser)
    add_budget(parser)
    parser.add_argument("--system", metavar="TEXT", help="the base prompt; default: the setting system_prompt")
    parser.add_argument("--profile", metavar="TEXT", default="", help="what is known of the user")
    parser.add_argument("--summary", metavar="TEXT", default="", help="a summary of earlier turns")
    _add_form(parser)


def _receipts_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    add_session(parser)
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=50, help="default: %(default)s")


def _rebuild_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("turn_number", type=int, help="the number of the turn")
    add_user(parser)
    add_session(parser)
    _add_form(parser)


def _add_form(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prompt", action="store_true", help="only the prompt on stdout, the receipt on stderr")


COMMANDS = (
    Command(
        "context",
        "build the next prompt under one budget and explain it",
        context,
        _context_arguments,
        'ricordo context "And the second point?" --user anna --chunks course.jsonl --budget 1000',
    ),
    Command(
        "receipts", "list the receipts of past prompts", receipts, _receipts_arguments, "ricordo receipts --user anna"
    ),
    Command(
        "rebuild",
        "rebuild the context of a past turn, byte for byte",
        rebuild,
        _rebuild_arguments,
        "ricordo rebuild 3 --user anna --prompt",
    ),
)

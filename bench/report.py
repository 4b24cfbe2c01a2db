"""What was measured, on screen, as Markdown and as JSON: ratios to Ricordo first, then the figures themselves."""

import json
import re
from dataclasses import asdict
from io import StringIO
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from bench.results import Row, Rows
from bench.systems import ALL
from bench.targets import Verdict

TITLES = {
    "append": "Append one durable turn, by turns in the session",
    "append to a new file": "Append one durable turn to a file whose log still grows, every turn in a new session",
    "append beside peers": "The same beside other libraries",
    "window": "The window (last 3 turns in 2,000 tokens), by turns in the session",
    "window by length": "The same window, the sizes taking turns, up to the longest session",
    "context": "A whole context (system prompt, history, 8 chunks, question), by turns in the session",
    "context with recall": "A whole context with recall and topics, its index complete, by turns of the user",
    "append as shipped": "Append with recall and topics at work beside it, by turns in the session",
    "context and append with receipt": "A whole exchange: the context, then the turn with its receipt",
    "writers": "16 writers at once",
    "open": "Open in a fresh process, by turns in the file",
    "import": "A process that only imports",
    "cleanup": "Cleanup with a tenth past its time, two writers beside it",
    "disk": "Disk, with every index, after closing",
}
MAIN = {"writers": "turns_per_s", "open": "open_ms", "import": "process_ms", "cleanup": "seconds", "disk": "kb"}
UNITS = {"ms": "ms", "mb": "MB", "s": "/s", "seconds": "s", "kb": "KB", "percent": "%", "errors": "errors"}
OTHERS = {"text": "the text itself", "nothing": "nothing"}


def show(console: Console, rows: Rows, verdicts: list[Verdict], machine: dict[str, Any], *, markdown: bool) -> None:
    """Print verdicts and tables. A cell is the ratio to Ricordo's figure, then the figure."""
    style = box.MARKDOWN if markdown else box.SIMPLE_HEAD
    console.print("; ".join(f"{name} {value}" for name, value in machine.items()) + "\n", style="dim", highlight=False)
    console.print(_verdict_table(verdicts, style))
    for workload, title in TITLES.items():
        found = rows.of(workload)
        if found:
            console.print(f"\n{'### ' if markdown else ''}{title}\n", style="bold", highlight=False)
            console.print(_table(rows, found, style))


def as_markdown(rows: Rows, verdicts: list[Verdict], machine: dict[str, Any]) -> str:
    """The same tables for a page, without the padding that a terminal needs."""
    page = StringIO()
    show(Console(file=page, width=4_000), rows, verdicts, machine, markdown=True)
    lines = (re.sub(r"-{3,}", "---", re.sub(r" {2,}", " ", line)).rstrip() for line in page.getvalue().splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def as_json(rows: Rows, verdicts: list[Verdict], machine: dict[str, Any]) -> str:
    """Everything, for programs."""
    listed = [{**asdict(row), "ratio": rows.ratio(row, main_figure(row.workload))} for row in rows]
    return json.dumps({"machine": machine, "verdicts": [asdict(each) for each in verdicts], "rows": listed}, indent=1)


def main_figure(workload: str) -> str:
    """The figure that ratios are made of."""
    return MAIN.get(workload, "p50_ms")


def _verdict_table(verdicts: list[Verdict], style: box.Box) -> Table:
    table = Table("figure to reach", "", "measured", box=style)
    for each in verdicts:
        word = {True: "reached", False: "NOT REACHED", None: "not judged"}[each.reached]
        table.add_row(each.what, word, each.measured, style=None if each.reached else "yellow")
    return table


def _table(rows: Rows, found: Rows, style: box.Box) -> Table:
    sizes = list(dict.fromkeys(row.size for row in found))
    table = Table("", *sizes, box=style)
    for system in dict.fromkeys(row.system for row in found):
        cells = {row.size: _cell(rows, row) for row in found if row.system == system}
        name = ALL[system].title if system in ALL else OTHERS[system]
        table.add_row(name, *(cells.get(size, "–") for size in sizes))
    return table


def _cell(rows: Rows, row: Row) -> str:
    ratio = rows.ratio(row, main_figure(row.workload))
    said = [f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.2f}×"] if ratio else []
    said += [_figure(name, value) for name, value in row.figures.items() if name != "n"]
    if row.check != "ok":
        said.append(f"[{row.check}]".replace("[", r"\["))
    return ", ".join(said)


def _figure(name: str, value: float) -> str:
    what, _, unit = name.rpartition("_")
    number = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    if unit in ("errors", "s", "seconds", "kb"):
        what = ""
    return f"{what.replace('_', ' ')} {number} {UNITS[unit]}".strip()

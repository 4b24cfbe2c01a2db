"""The speed figures in one run: measure every workload, judge, print. Usage: scripts/bench speed [--quick] [--peers]"""

import argparse
import os
import platform
import sqlite3
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.status import Status

import ricordo
from bench import cleaning, disk, latencies, opening, writers
from bench.report import as_json, as_markdown, show
from bench.rows import Row, Rows
from bench.scale import FULL, QUICK, TINY, Setup
from bench.systems import BY_HAND, OURS, PEERS
from bench.verdicts import judge

MARK = "<!-- figures -->\n"

WORKLOADS: dict[str, Callable[[Setup], Iterator[Row]]] = {
    "latencies": latencies.measure,
    "opening": opening.measure,
    "writers": writers.measure,
    "cleanup": cleaning.measure,
    "disk": disk.measure,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bench speed`."""
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="scale", action="store_const", const=QUICK, default=FULL, help="small sizes")
    size.add_argument("--tiny", dest="scale", action="store_const", const=TINY, help="only show that it works")
    parser.add_argument("--peers", action="store_true", help="measure other libraries beside it (installs them)")
    parser.add_argument("--only", choices=WORKLOADS, action="append", help="this workload; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything as JSON")
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="write the tables as Markdown, below the mark <!-- figures --> if the file has it",
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; the exit code tells whether anything was answered wrongly, never whether it was slow."""
    console = Console()
    machine = describe_machine()
    with console.status("") as status:
        systems = (OURS, *BY_HAND, *(PEERS if arguments.peers else ()))
        setup = Setup(arguments.scale, systems, _teller(status))
        names = arguments.only or WORKLOADS
        rows = Rows(row for name in names for row in WORKLOADS[name](setup))
    machine["load after"] = _load()
    verdicts = judge(rows)
    show(console, rows, verdicts, machine, markdown=False)
    if arguments.markdown:
        _write_page(arguments.markdown, as_markdown(rows, verdicts, machine))
    if arguments.json:
        arguments.json.write_text(as_json(rows, verdicts, machine))
    return int(any(row.check != "ok" for row in rows if row.system == OURS.name))


def _write_page(page: Path, figures: str) -> None:
    """A page keeps its words and gets new figures below its mark."""
    words, mark, _ = page.read_text().partition(MARK) if page.exists() else ("", "", "")
    page.write_text(f"{words}{mark}\n{figures}" if mark else figures)


def describe_machine() -> dict[str, Any]:
    """What a reader must know of the machine to read absolute figures."""
    return {
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "ricordo": ricordo.__version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "cores": os.cpu_count(),
        "load before": _load(),
    }


def _load() -> str:
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


def _teller(status: Status) -> Callable[[str], None]:
    """Tell what is going on: in the status line of a terminal, else as lines on standard error."""
    if status.console.is_terminal:
        return lambda doing: status.update(doing)
    return lambda doing: print(f"{datetime.now(UTC):%H:%M:%S} {doing}", file=sys.stderr, flush=True)

"""Speed beside hand-written SQL and other libraries: append, window, context, open, writers, cleanup, disk.

Every workload is measured in one run, judged against its target and printed as ratios to Ricordo's own figure.
"""

import argparse
import os
import platform
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.status import Status

import ricordo
from bench import cleanup, disk, latencies, startup, writers
from bench.report import as_json, as_markdown, show
from bench.results import Row, Rows
from bench.scale import FULL, QUICK, TINY, Setup
from bench.systems import BY_HAND, OURS, PEERS
from bench.targets import judge

MARK = "<!-- figures -->\n"

WORKLOADS: dict[str, Callable[[Setup], Iterator[Row]]] = {
    "latencies": latencies.measure,
    "opening": startup.measure,
    "writers": writers.measure,
    "cleanup": cleanup.measure,
    "disk": disk.measure,
}


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench speed`: the exit code says whether a result was wrong, never whether it was slow."""
    parser = argparse.ArgumentParser(prog="ricordo bench speed", description=__doc__.split("\n")[0])
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
    return run(parser.parse_args(argv))


def run(arguments: argparse.Namespace) -> int:
    """Measure every workload and print the tables; 1 if a result of Ricordo was wrong."""
    console = Console()
    machine = describe_machine()
    with console.status("") as status:
        systems = (OURS, *BY_HAND, *(PEERS if arguments.peers else ()))
        setup = Setup(arguments.scale, systems, _reporter(status))
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
    """Replace what stands below the mark of a page; a page without a mark is replaced whole."""
    words, mark, _ = page.read_text().partition(MARK) if page.exists() else ("", "", "")
    page.write_text(f"{words}{mark}\n{figures}" if mark else figures)


def describe_machine() -> dict[str, Any]:
    """The machine and the versions that absolute figures depend on."""
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


def _reporter(status: Status) -> Callable[[str], None]:
    """Progress messages: in the status line of a terminal, else as lines on standard error."""
    if status.console.is_terminal:
        return lambda doing: status.update(doing)
    return lambda doing: print(f"{datetime.now(UTC):%H:%M:%S} {doing}", file=sys.stderr, flush=True)

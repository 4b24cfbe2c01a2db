"""Ricordo beside what one would pick instead, in one run: recall, times, writers, a restart, size.

Every system runs in processes of its own, one after the other, with its own folder; the peers with the Python of
`.venv-compare`, which `scripts/compare` makes. Raw outputs go to a folder as JSON, the table to `compare.md` there.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import Any

from bench.sample_turns import turn
from ricordo.engine.tokens import counter_for

ROOT = Path(__file__).resolve().parents[1]
TITLES = {
    "ricordo": "Ricordo",
    "mem0": "mem0, `infer=False`, Qdrant in a folder",
    "llamaindex": "LlamaIndex VectorMemory (recall), Memory over SQLite (turns)",
    "langgraph": "LangGraph InMemoryStore (recall), SqliteStore (turns)",
    "bm25": "SQLite FTS5 BM25 and a table, by hand",
}
BUDGET = 2_000
Found = dict[str, Any]


class Runner:
    """Runs tasks of systems and keeps what they said."""

    def __init__(self, peers: Path, model: str, out: Path, patience: float) -> None:
        self._pythons = {name: str(peers) for name in TITLES}
        self._pythons["ricordo"] = self._pythons["bm25"] = sys.executable
        self._model, self._out, self._patience = model, out, patience

    def task(self, system: str, task: str, folder: str = "", given: Found | None = None, kept_as: str = "") -> Found:
        """What a task found, or {"failed": why}."""
        command = [self._pythons[system], str(ROOT / "bench/compare_systems.py"), system, task, folder, self._model]
        try:
            done = subprocess.run(
                command,
                input=json.dumps(given or {}),
                capture_output=True,
                text=True,
                timeout=self._patience,
                check=False,
            )
            found: Found = json.loads(done.stdout) if done.returncode == 0 else {}
            if not found:
                found = {"failed": (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1][:200]}
        except subprocess.TimeoutExpired:
            found = {"failed": f"not done in {self._patience:.0f} s"}
        except (OSError, ValueError) as error:
            found = {"failed": str(error)[:200]}
        (self._out / f"{system}-{kept_as or task}.json").write_text(
            json.dumps(found, ensure_ascii=False), encoding="utf-8"
        )
        return found


def talks(data: Path, count: int) -> list[Found]:
    """The first labelled conversations of a folder, with the questions that have evidence."""
    rows: list[Found] = []
    for path in sorted(data.glob("*.jsonl")):
        found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        rows += [row for row in found if {"conv_id", "units", "queries"} <= row.keys()]
    return rows[:count]


def shortened(row: Found, messages: int) -> Found:
    """The beginning of a talk, with the questions whose evidence lies in it."""
    units = row["units"][:messages]
    held = {unit["id"] for unit in units}
    return {**row, "units": units, "queries": [query for query in row["queries"] if held.issuperset(query["gold"])]}


def recall(runner: Runner, system: str, rows: Sequence[Found], questions: int) -> Found:
    """Shares of the evidence among the first hits and within the budget, averaged over all questions."""
    counter = counter_for("o200k")
    shares: dict[str, list[float]] = {"R@5": [], "R@10": [], "R@2000t": []}
    times: list[float] = []
    taken_in = messages = 0.0
    for row in rows:
        asked = [query for query in row["queries"] if query["gold"]][:questions]
        given = {"owner": row["conv_id"], "units": row["units"], "questions": asked}
        with tempfile.TemporaryDirectory() as folder:
            found = runner.task(system, "recall", folder, given)
        if "failed" in found:
            return found
        size = {str(unit["id"]): counter.count(f"{unit['role']}: {unit['text']}") for unit in row["units"]}
        for query in asked:
            hits = list(dict.fromkeys(map(str, found["found"][query["id"]])))
            gold = set(map(str, query["gold"]))
            fitting, left = 0, BUDGET
            while fitting < len(hits) and size[hits[fitting]] <= left:
                left -= size[hits[fitting]]
                fitting += 1
            for name, cut in (("R@5", 5), ("R@10", 10), ("R@2000t", fitting)):
                shares[name].append(len(gold & set(hits[:cut])) / len(gold))
        times += found["ms"]
        taken_in += found["taken_in_s"]
        messages += len(row["units"])
    scores = {name: mean(each) for name, each in shares.items()}
    return {**scores, "questions": len(times), "query_ms": median(times), "message_ms": 1000 * taken_in / messages}


def turns_of(runner: Runner, system: str, appends: int, writers: int, each: int) -> Found:
    """Append and window times, turns lost by many writers, and what a process that just ends leaves behind."""
    turns = [turn("s", number) for number in range(appends)]
    found: Found = {}
    with tempfile.TemporaryDirectory() as folder:
        timed = runner.task(system, "times", folder, {"turns": turns, "windows": 50})
        if "failed" in timed:
            found["times"] = timed["failed"]
        else:
            late = timed["append_ms"][len(turns) // 2 :]  # the second half: everything is loaded
            found |= {"append_ms": median(late), "window_ms": median(timed["window_ms"]), "right": timed["right"]}
    for task, given in (
        ("writers", {"writers": writers, "turns": each}),
        ("stop", {"turns": turns[:20]}),
    ):
        with tempfile.TemporaryDirectory() as folder:
            written = runner.task(system, task, folder, given)
            later = written if "failed" in written else runner.task(system, "history", folder, kept_as=f"{task}-later")
        if "failed" in later:
            found[task] = later["failed"]
            continue
        kept = set(written["kept"])
        found[task] = {
            "acknowledged": len(kept),
            "lost": len(kept - set(later["asked"])),
            "errors": len(written.get("errors", ())),
            "per_s": len(kept) / written["seconds"] if "seconds" in written else None,
        }
    return found


def table(results: dict[str, Found], attempted: int) -> str:
    """The results as a table in Markdown."""
    head = "system | version | R@5 | R@10 | R@2000t | taking in, ms a message | question, ms | append, ms | window, ms"
    head += f" | turns lost of {attempted} (errors) | kept of 20 turns after an abrupt end | packages, MB"
    columns = head.split(" | ")
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for name, each in results.items():
        recalled, written, about = each["recall"], each["turns"], each["about"]
        cells = [TITLES[name], str(about.get("version", "–"))]
        cells += [_number(recalled, key, 3) for key in ("R@5", "R@10", "R@2000t")]
        cells += [_number(recalled, key, 1) for key in ("message_ms", "query_ms")]
        cells += [_number(written, key, 2) for key in ("append_ms", "window_ms")]
        many, ended = written.get("writers"), written.get("stop")
        lost = attempted - many["acknowledged"] + many["lost"] if isinstance(many, dict) else None
        cells.append(f"{lost} ({many['errors']})" if isinstance(many, dict) else f"failed: {many}" if many else "–")
        stayed = str(ended["acknowledged"] - ended["lost"]) if isinstance(ended, dict) else None
        cells.append(stayed or (f"failed: {ended}" if ended else "–"))
        cells.append(f"{about['packages']}, {about['bytes'] / 1e6:.0f}" if "bytes" in about else "–")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _number(found: Found, key: str, digits: int) -> str:
    if key in found:
        return f"{found[key]:.{digits}f}"
    why = found.get("failed", found.get("times"))
    return f"failed: {why}" if why else "–"


def main(argv: Sequence[str] | None = None) -> int:
    """`scripts/compare --data DIR`: measure, print the table, keep the raw outputs."""
    parser = argparse.ArgumentParser(prog="scripts/compare", description=main.__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT / "tests/data", help="folder with labelled *.jsonl (docs/compare.md)"
    )
    parser.add_argument(
        "--model", default="sentence-transformers/all-MiniLM-L6-v2", help="the peers' embedder: name or folder"
    )
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-compare/bin/python", help="the Python of the peers")
    parser.add_argument("--systems", nargs="+", choices=TITLES, default=list(TITLES))
    parser.add_argument("--talks", type=int, default=1)
    parser.add_argument("--messages", type=int, default=100_000, help="of each talk, the first ones")
    parser.add_argument("--questions", type=int, default=1_000, help="of each talk")
    parser.add_argument("--parts", nargs="+", choices=("recall", "turns"), default=["recall", "turns"])
    parser.add_argument("--appends", type=int, default=200)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--writer-turns", type=int, default=25)
    parser.add_argument("--patience", type=float, default=900, help="seconds for one task of one system")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/.cache/compare")
    asked = parser.parse_args(argv)
    asked.out.mkdir(parents=True, exist_ok=True)
    folder = asked.data / "recall" if (asked.data / "recall").is_dir() else asked.data
    rows = [shortened(row, asked.messages) for row in talks(folder, asked.talks)]
    if not rows:
        parser.error(f"{folder} has no labelled talks: lines with conv_id, units and queries")
    runner = Runner(asked.peers, asked.model, asked.out, asked.patience)
    results: dict[str, Found] = {}
    for system in asked.systems:
        print(f"measuring {TITLES[system]}", file=sys.stderr, flush=True)
        found: Found = {"about": runner.task(system, "about"), "recall": {}, "turns": {}}
        if "turns" in asked.parts:
            found["turns"] = turns_of(runner, system, asked.appends, asked.writers, asked.writer_turns)
        if "recall" in asked.parts:
            found["recall"] = recall(runner, system, rows, asked.questions)
        results[system] = found
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    sizes = {name: getattr(asked, name) for name in ("talks", "questions", "appends", "writers", "writer_turns")}
    written = {"date": when, "python": platform.python_version(), "model": Path(asked.model).name, **sizes}
    (asked.out / "results.json").write_text(json.dumps({**written, "results": results}, indent=1), encoding="utf-8")
    text = table(results, asked.writers * asked.writer_turns)
    (asked.out / "compare.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

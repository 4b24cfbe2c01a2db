"""The speed benchmark runs, covers every workload, and is right about what it claims; how fast it is, is no test."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.results import Row, Rows, percentile  # noqa: E402
from bench.systems.trim import TOKENS, tokens, trim  # noqa: E402
from bench.targets import judge  # noqa: E402

from bench import sample_turns  # noqa: E402


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One tiny run of the real command, as JSON."""
    file = tmp_path_factory.mktemp("bench") / "speed.json"
    command: list[str | Path] = [ROOT / "scripts" / "bench", "speed", "--tiny", "--json", file]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_every_workload_is_measured(report: dict[str, Any]) -> None:
    """A run gives rows for all workloads, each of them with Ricordo in it."""
    ours = {row["workload"] for row in report["rows"] if row["system"] == "ours" and row["figures"]}
    appends = {"append", "append to a new file", "context and append with receipt"}
    assert ours == appends | {"window", "window by length", "context", "open", "import", "writers", "cleanup", "disk"}


def test_bare_sqlite_stands_beside_it(report: dict[str, Any]) -> None:
    """Append and window are compared with hand-written SQL at every size, as a ratio to Ricordo's median."""
    for workload in ("append", "window"):
        rows = [row for row in report["rows"] if row["workload"] == workload]
        ours = {row["size"]: row["figures"]["p50_ms"] for row in rows if row["system"] == "ours"}
        bare = {row["size"]: row for row in rows if row["system"] == "plain"}
        assert bare.keys() == ours.keys()
        for size, row in bare.items():
            assert row["ratio"] == pytest.approx(row["figures"]["p50_ms"] / ours[size])


def test_both_bare_inserts_are_judged(report: dict[str, Any]) -> None:
    """An append is held against the plainest single row and against question and answer as two rows, each by itself."""
    judged = {each["what"]: each["measured"] for each in report["verdicts"]}
    for workload in ("append", "append to a new file", "append as shipped"):
        for bare in ("a bare insert of question and answer", "the plainest insert, one row"):
            assert judged[f"{workload}: at least 0.5 × {bare}"]


def test_recall_and_topics_are_measured_by_themselves(report: dict[str, Any]) -> None:
    """What is done beside a chat disturbs no other system's figures, and has figures of its own."""
    shipped = {row["workload"] for row in report["rows"] if row["system"] == "shipped" and row["figures"]}
    assert shipped == {"context with recall", "append as shipped"}


def test_every_answer_was_right(report: dict[str, Any]) -> None:
    """Windows hold the expected text, writers leave no gap, cleanup removes exactly what is past its time."""
    assert {row["check"] for row in report["rows"]} == {"ok"}


def test_every_figure_has_a_verdict(report: dict[str, Any]) -> None:
    """Each figure to reach is judged, or says that peers were not asked for."""
    assert len(report["verdicts"]) >= 15
    unjudged = [each for each in report["verdicts"] if each["reached"] is None]
    assert all("--peers" in each["measured"] for each in unjudged)


@given(st.text(min_size=1, max_size=20).filter(lambda name: "]" not in name), st.integers(0, 10**6))
def test_texts_say_where_they_belong(session: str, index: int) -> None:
    """The same turn is made every time, and the marks of its two texts are its own."""
    assert sample_turns.turn(session, index) == sample_turns.turn(session, index)
    question, answer = sample_turns.turn(session, index)
    assert sample_turns.mark(question) == f"[{session} {index} u]"
    assert sample_turns.mark(answer) == f"[{session} {index} a]"


@given(st.integers(0, 10**6))
def test_three_turns_fit_the_window(start: int) -> None:
    """Ordinary turns never exceed the window's tokens, so that every system must return the same messages."""
    said = [(role, each) for turn in sample_turns.turns("s", 3, start) for role, each in zip("ua", turn, strict=True)]
    assert sum(tokens(each) for _, each in said) <= TOKENS


def test_the_tight_session_binds() -> None:
    """Of the tight session two turns fit and three do not."""
    pairs = [
        (role, each)
        for turn in sample_turns.turns(sample_turns.TIGHT, 5)
        for role, each in zip(("user", "assistant"), turn, strict=True)
    ]
    assert trim(pairs) == pairs[-4:]


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 100))
def test_percentiles_are_observed_values(values: list[float], percent: float) -> None:
    """A percentile is one of the values, and lies between the smallest and the largest."""
    found = percentile(values, percent)
    assert found in values
    assert percentile(values, 0) == min(values) <= found <= max(values) == percentile(values, 100)


@pytest.mark.parametrize(("bare", "reached"), [(0.5, True), (0.49, False)])
def test_append_is_judged_by_its_ratio(bare: float, reached: bool) -> None:
    """Half the speed of a bare insert is enough, anything less is not."""
    rows = Rows([Row("append", "0", "ours", {"p50_ms": 1.0}), Row("append", "0", "plain", {"p50_ms": bare})])
    assert judge(rows)[0].reached is reached


def test_one_slower_size_is_not_flat() -> None:
    """A median that grows with the session is told, whatever its size."""
    medians = {"10": 0.1, "1,000": 0.2}
    rows = Rows(Row("window by length", size, "ours", {"p50_ms": median}) for size, median in medians.items())
    assert [each.reached for each in judge(rows) if "flat" in each.what] == [False]


def test_the_fastest_peer_counts() -> None:
    """Being faster than one peer is not being faster than every peer."""
    rows = Rows(
        [
            Row("append beside peers", "0", "ours", {"p50_ms": 1.0}),
            Row("append beside peers", "0", "langchain", {"p50_ms": 2.0}),
            Row("append beside peers", "0", "openai_agents", {"p50_ms": 0.9}),
        ]
    )
    (verdict,) = [each for each in judge(rows) if "peer" in each.what]
    assert verdict.reached is False
    assert "OpenAI" in verdict.measured

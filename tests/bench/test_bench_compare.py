"""The comparison with other systems: what can be run is measured, and what cannot says why."""

import json
from pathlib import Path

from bench.compare import main, shortened

ROOT = Path(__file__).resolve().parents[2]


def test_a_system_is_measured_and_a_missing_one_says_why(tmp_path: Path) -> None:
    """The one that needs nothing is measured in full; the peer that is not installed fails alone."""
    few = ["--questions", "5", "--appends", "6", "--writers", "4", "--writer-turns", "2"]
    nowhere = ["--peers", str(tmp_path / "no-python")]
    asked = ["--data", str(ROOT / "tests/data"), "--systems", "mem0", "bm25", "--out", str(tmp_path), *few, *nowhere]
    assert main(asked) == 0
    results = json.loads((tmp_path / "results.json").read_text())["results"]
    ours, missing = results["bm25"], results["mem0"]
    assert ours["recall"]["questions"] == 5
    assert 0 <= ours["recall"]["R@5"] <= ours["recall"]["R@10"] <= 1
    assert ours["turns"]["right"] is True
    assert ours["turns"]["writers"] == {**ours["turns"]["writers"], "acknowledged": 8, "lost": 0, "errors": 0}
    assert ours["turns"]["stop"]["lost"] == 0
    assert "no-python" in missing["recall"]["failed"]
    assert "failed" in (tmp_path / "compare.md").read_text()


def test_a_shortened_talk_keeps_the_questions_it_answers() -> None:
    """A question whose evidence was cut off is left out."""
    row = {"units": [{"id": 1}, {"id": 2}], "queries": [{"gold": [1]}, {"gold": [1, 2]}]}
    assert shortened(row, 1) == {"units": [{"id": 1}], "queries": [{"gold": [1]}]}

"""The recall bench on the Italian set: it runs, its arithmetic is right, and fusion beats its parts."""

import json
import shutil
from pathlib import Path

import pytest
from bench.recall import Report, _ndcg, _share, main, run, tables
from bench.recall_data import read_conversations
from bench.recall_speed import measure_speed

from ricordo.recall.embedders import EmbedderError
from ricordo.recall.embedders.light import LightEmbedder
from ricordo.recall.embedders.selection import choose

ITALIAN = Path(__file__).parent.parent / "data" / "recall_italian.jsonl"


@pytest.fixture(scope="module")
def report() -> Report:
    """The Italian set with the light embedder."""
    return run([ITALIAN], {"light": LightEmbedder()})


def test_the_italian_set_is_whole() -> None:
    """Every question has its evidence among the messages, and messages follow each other in time."""
    conversations = list(read_conversations(ITALIAN))
    assert sum(len(each.units) for each in conversations) >= 100
    assert sum(len(each.questions) for each in conversations) >= 40
    for conversation in conversations:
        moments = [unit.created_at for unit in conversation.units]
        assert moments == sorted(moments)
        assert conversation.now > moments[-1]


def test_scores_by_hand() -> None:
    """Evidence at the first and the twelfth place: half of it among the first ten."""
    assert _share((0, 11), 10) == 0.5
    assert _ndcg((0,)) == 1.0
    assert _ndcg((0, 1)) == 1.0
    assert 0.6 < _ndcg((0, 11)) < 0.62


def test_every_system_answers_every_question(report: Report) -> None:
    """Each system has one result a question, and the tables name them all."""
    systems = {each.system for each in report.found}
    assert {"random", "newest first", "BM25", "light alone", "ricordo (light)", "ricordo (words only)"} == systems
    assert len(report.found) == len(systems) * len({each.question for each in report.found})
    assert len(list(tables(report))) == 2


def test_fusion_beats_its_parts_in_italian(report: Report) -> None:
    """Words and light meaning together find more among the first ten than BM25 or the light embedder alone."""
    ours = report.mean(ITALIAN.stem, "ricordo (light)")["R@10"]
    assert ours > report.mean(ITALIAN.stem, "BM25")["R@10"]
    assert ours > report.mean(ITALIAN.stem, "light alone")["R@10"]


def test_the_default_embedder_serves_italian() -> None:
    """With weights here, four in five Italian questions find their evidence among the first ten."""
    try:
        bilingual = choose("bilingual").embedder
    except EmbedderError as reason:
        pytest.skip(f"the default embedder cannot be tried here: {reason}")
    assert run([ITALIAN], {"bilingual": bilingual}).mean(ITALIAN.stem, "ricordo (bilingual)")["R@10"] >= 0.8


def test_raw_results_can_be_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints its tables and keeps one JSON line a question and system."""
    saved = tmp_path / "raw.jsonl"
    shutil.copy(ITALIAN, tmp_path)
    asked = ["--data", str(tmp_path), "--embedder", "light", "--embedder", "nonsense", "--speed", "50"]
    assert main([*asked, "--save", str(saved)]) == 0
    printed = capsys.readouterr().out
    assert "nonsense is left out" in printed
    assert "R@10" in printed
    lines = [json.loads(line) for line in saved.read_text().splitlines()]
    assert lines[0]["scores"].keys() >= {"R@5", "R@10", "R@20", "NDCG@10", "R@2000t"}


def test_a_folder_without_data_is_said(tmp_path: Path) -> None:
    """Nothing to measure is an exit code, not a crash."""
    assert main(["--data", str(tmp_path), "--embedder", "light"]) == 1


def test_speed_is_measured_on_the_size_asked_for() -> None:
    """The speed test builds what it says and reports positive times."""
    speed = measure_speed(300, 32, questions=3)
    assert (speed.messages, speed.dimensions) == (300, 32)
    assert min(speed.p50_ms, speed.p99_ms, speed.build_ms, speed.add_and_find_p50_ms) > 0

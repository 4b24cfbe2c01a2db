"""The measures of segmentation, and the bench over a folder."""

import json
from pathlib import Path

import pytest
from bench.topics import even_split, lexical_tiling, main, pk, run, window_diff
from hypothesis import given
from hypothesis import strategies as st

from ricordo.recall.embedders.light import LightEmbedder

marks = st.lists(st.booleans(), min_size=2, max_size=40)


@given(marks)
def test_a_perfect_split_has_no_error(true: list[bool]) -> None:
    """Both measures are 0 for the true boundaries themselves."""
    assert pk(true, true) == window_diff(true, true) == 0


@given(marks, st.data())
def test_window_diff_is_the_stricter(true: list[bool], data: st.DataObject) -> None:
    """A window that errs for Pk errs for WindowDiff too; both are shares."""
    found = data.draw(st.lists(st.booleans(), min_size=len(true), max_size=len(true)))
    assert 0 <= pk(true, found) <= window_diff(true, found) <= 1


@given(st.integers(min_value=1, max_value=60), st.integers(min_value=0, max_value=20))
def test_an_even_split_cuts_as_often_as_told(size: int, cuts: int) -> None:
    """An even split has the number of boundaries it was told, where there is room for them."""
    found = even_split(size, cuts)
    assert len(found) == size
    assert sum(found) == cuts or cuts >= size


@given(st.lists(st.text(max_size=30), max_size=12))
def test_tiling_gives_one_mark_per_utterance(utterances: list[str]) -> None:
    """Lexical tiling marks each utterance, never the first."""
    found = lexical_tiling(utterances)
    assert len(found) == len(utterances)
    assert not any(found[:1])


def test_pk_by_hand() -> None:
    """One missed boundary in the middle of eight: with windows of two, two of six windows disagree."""
    true = [False, False, False, False, True, False, False, False]
    assert pk(true, [False] * 8) == pytest.approx(2 / 6)


def test_tiling_finds_the_obvious_boundary() -> None:
    """Two blocks without a common word are told apart."""
    talk = [
        "the cat sleeps",
        "the cat eats",
        "the cat plays",
        "soccer match tonight",
        "soccer match lost",
        "soccer match",
    ]
    assert lexical_tiling(talk)[3]


def test_a_run_reports_every_splitter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bench reads segment/*.jsonl and prints one row per splitter, with the density beside."""
    folder = tmp_path / "segment"
    folder.mkdir()
    rows = [{"utterances": ["ciao", "come stai?", "bene", "che ore sono?"], "boundaries": [0, 0, 0, 1]}] * 3
    (folder / "mine.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    report = run(tmp_path, LightEmbedder())
    assert [row.splitter for row in report.figures] == ["none", "even split", "lexical tiling", "by message", "topics"]
    assert all(row.true_density == 0.25 for row in report.figures)
    assert main(["--data", str(tmp_path), "--embedder", "light", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"][4]["splitter"] == "topics"
    assert main(["--data", str(tmp_path), "--embedder", "light"]) == 0
    assert "lexical" in capsys.readouterr().out


def test_raw_results_can_be_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON line a dialogue and splitter says where it was cut; their means are the figures of the report."""
    folder = tmp_path / "segment"
    folder.mkdir()
    rows = [{"utterances": ["ciao", "come stai?", "bene", "che ore sono?"], "boundaries": [0, 0, 0, 1]}] * 3
    (folder / "mine.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    arguments = ["--data", str(tmp_path), "--embedder", "light", "--json", "--save", str(tmp_path / "raw")]
    assert main(arguments) == 0
    report = json.loads(capsys.readouterr().out)
    raw = [json.loads(line) for line in (tmp_path / "raw").read_text(encoding="utf-8").splitlines()]
    assert [(each["splitter"], each["dialogue"]) for each in raw[:4]] == [
        ("none", 0), ("none", 1), ("none", 2), ("even split", 0),
    ]  # fmt: skip
    assert all(each["true"] == [3] for each in raw)
    assert [each["found"] for each in raw[:4]] == [[], [], [], [2]]
    for row in report["figures"]:
        mine = [each["pk"] for each in raw if each["splitter"] == row["splitter"]]
        assert row["pk"] == pytest.approx(100 * sum(mine) / len(mine))

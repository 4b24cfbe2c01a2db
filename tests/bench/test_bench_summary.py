"""The benchmark of summaries."""

import json
from pathlib import Path

import pytest
from bench.summary import generated, main, run

from ricordo.people.summaries.key_details import contains_verbatim


def test_generated_talks() -> None:
    """A generated talk has as many messages as asked, holds all that was planted, and is always the same."""
    turns, planted = generated(40)
    said = "\n".join(message.content for turn in turns for message in turn.messages)
    assert sum(len(turn.messages) for turn in turns) == 40
    assert len(planted) == 10
    assert all(contains_verbatim(thing, said) for thing in planted)
    assert generated(40) == (turns, planted)


def test_run() -> None:
    """With room enough all that was planted survives, at once and in steps; truncation keeps less."""
    report = run(sizes=[80], limits=[60, 2_000], rounds=1)
    assert [(row.limit, row.way) for row in report] == [
        (60, "at once"),
        (60, "in 5 steps"),
        (2_000, "at once"),
        (2_000, "in 5 steps"),
    ]
    assert all(row.tokens <= row.limit for row in report)
    assert [row.survive for row in report[2:]] == [100.0, 100.0]
    assert report[0].truncated < report[0].survive < 100


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints a table or JSON, and measures the conversations of a folder too."""
    (tmp_path / "recall").mkdir()
    units = [{"text": "We met Zorro Vega in Lisbon."}, {"text": "On 3 May 2021, I think."}]
    (tmp_path / "recall" / "talks.jsonl").write_text(json.dumps({"units": units}) + "\n")
    asked = ["--data", str(tmp_path), "--sizes", "8", "--limits", "100", "--rounds", "1"]
    assert main([*asked, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["data"] for row in rows] == ["generated 8", "generated 8", "talks"]
    assert rows[-1]["survive"] == 100.0
    assert main(asked) == 0
    assert "talks" in capsys.readouterr().out


def test_missing_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without conversations is refused by name."""
    with pytest.raises(SystemExit):
        main(["--data", str(tmp_path)])
    assert "recall" in capsys.readouterr().err

"""The archive bench over a folder."""

import json
from pathlib import Path

import pytest
from bench.archive import main, run


def test_a_run_reports_each_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bench reads recall/*.jsonl, reports each block size that it fills, and can keep a line for each block."""
    folder = tmp_path / "recall"
    folder.mkdir()
    units = [{"text": f"Ciao, questo è il messaggio {number}, che cosa ne pensi?"} for number in range(25)]
    (folder / "mine.jsonl").write_text(json.dumps({"units": units}), encoding="utf-8")
    figures = run(tmp_path)
    assert [(row.messages, row.blocks) for row in figures] == [(10, 2), (20, 1)]
    assert all(row.block > row.block_without_dictionary for row in figures)
    assert main(["--data", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["data"] == "mine"
    assert main(["--data", str(tmp_path)]) == 0
    assert "restore" in capsys.readouterr().out
    assert main(["--data", str(tmp_path), "--json", "--save", str(tmp_path / "raw")]) == 0
    told = json.loads(capsys.readouterr().out)
    raw = [json.loads(line) for line in (tmp_path / "raw").read_text(encoding="utf-8").splitlines()]
    assert [(each["messages"], each["block"]) for each in raw] == [(10, 0), (10, 1), (20, 0)]
    assert told[0]["block"] == pytest.approx(
        (raw[0]["yardstick_bytes"] + raw[1]["yardstick_bytes"]) / (raw[0]["block_bytes"] + raw[1]["block_bytes"])
    )

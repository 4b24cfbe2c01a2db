"""The archive bench over a folder."""

import json
from pathlib import Path

import pytest

from ricordo.bench.archive import main, run


def test_a_run_reports_each_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bench reads recall/*.jsonl and reports each block size that the data fills."""
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

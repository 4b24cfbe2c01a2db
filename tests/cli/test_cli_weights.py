"""The embedders' weights from the command line: looked at by hash, never fetched unless told."""

from pathlib import Path

import pytest
from cli_runs import Cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for weights."""
    monkeypatch.setenv("RICORDO_WEIGHTS", str(tmp_path / "weights"))
    return tmp_path / "weights"


def test_missing_weights_are_named_with_the_remedy(bare: Cli, folder: Path) -> None:
    """Without weights the exit code is 1, each set is missing, and nothing is fetched or made."""
    ran = bare("weights", "--json")
    assert ran.code == 1
    assert ran.document["folder"] == str(folder)
    assert {each["state"] for each in ran.document["weights"]} == {"missing"}
    assert "fetch" in bare("weights").out
    assert not folder.exists()


def test_other_bytes_are_refused(bare: Cli, folder: Path) -> None:
    """A file that is not the promised one is refused by its hash."""
    name = bare("weights", "--json").document["weights"][0]["name"]
    (folder / name).mkdir(parents=True)
    (folder / name / "model.onnx").write_bytes(b"not a model")
    (folder / name / "tokenizer.json").write_bytes(b"{}")
    ran = bare("weights", name, "--json")
    assert ran.code == 1
    assert [each["state"] for each in ran.document["weights"]] == ["refused"]
    assert "sha256" in ran.document["weights"][0]["problem"]


def test_unknown_weights_are_wrong_usage(bare: Cli, folder: Path) -> None:
    """A name that is no set of weights is refused with those that are."""
    ran = bare("weights", "heavy")
    assert ran.code == 2
    assert "heavy" in ran.err

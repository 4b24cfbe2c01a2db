"""Benchmarks over a folder of data: a folder that is not there is said, and is an error of use."""

from pathlib import Path
from types import ModuleType

import pytest

from bench import archive, recall, topics


@pytest.mark.parametrize("bench", [archive, recall, topics], ids=lambda each: each.__name__)
def test_a_missing_folder_is_said(bench: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and the path that was given, before anything is loaded or measured."""
    missing = tmp_path / "nowhere"
    with pytest.raises(SystemExit) as left:
        bench.main(["--data", str(missing)])
    assert left.value.code == 2
    assert str(missing) in "".join(capsys.readouterr().err.split("\n"))

"""`ricordo bench`: lists the benchmarks of the checkout and runs one."""

from pathlib import Path

import bench.catalogue  # before the folder is another
import pytest
from cli_runs import Cli

import bench


def test_bench_lists_what_is_there(bare: Cli) -> None:
    """The benchmarks of the package are found by name."""
    listed = bare("bench", "--json").lines
    names = {each["name"] for each in listed}
    assert {"answers", "archive", "facts", "followups", "outage", "recall", "safety", "summary", "topics"} <= names
    assert {"disk", "load", "speed", "walk"} <= names
    assert all(each["measures"] and each["arguments"] for each in listed)
    assert "topics" in bare("bench").out
    assert bare("bench", "nothing").code == 3


def test_bench_dispatches_lazily(bare: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark gets its own arguments and gives the exit code; only the one that runs is imported."""
    (tmp_path / "good.py").write_text('"""Measures well."""\n\ndef main(argv):\n    print(argv)\n    return 7\n')
    needs = '"""Needs more."""\nimport no_such_package\n\ndef main(argv):\n    parser = no_such_package.Parser()\n'
    needs += (
        '    parser.add_argument("--data", required=True)\n    parser.add_argument("--quick", action="store_true")\n'
    )
    (tmp_path / "needy.py").write_text(needs)
    alone = '"""A program of its own."""\nimport sys\n\ndef main():\n    print(sys.argv)\n'
    (tmp_path / "alone.py").write_text(alone)
    (tmp_path / "part.py").write_text('"""Not a benchmark."""\n')
    monkeypatch.setattr(bench, "__path__", [str(tmp_path)])
    assert bare("bench", "--json").lines == [
        {"name": "alone", "measures": "A program of its own.", "arguments": ""},
        {"name": "good", "measures": "Measures well.", "arguments": ""},
        {"name": "needy", "measures": "Needs more.", "arguments": "--data DATA [--quick]"},
    ]
    ran = bare("bench", "good", "--data", "x", "--json")
    assert (ran.code, ran.out) == (7, "['--json']\n")
    assert bare("bench", "alone", "--calls", "3", "--data", "x").out == "['ricordo bench alone', '--calls', '3']\n"
    needy = bare("bench", "needy")
    assert needy.code == 2
    assert "no_such_package" in needy.err

"""Size: an export of many megabytes is read and brought in without being held."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BIG = Path(__file__).with_name("large_export.py")
MEGABYTES = 64
MOST_GROWTH = 100 * 1024 * 1024


def run(what: str, megabytes: int, folder: Path) -> dict[str, Any]:
    """What the program tells of one of its tasks."""
    command = [sys.executable, str(BIG), what, str(megabytes), str(folder)]
    environment = {**os.environ, "RICORDO_EMBEDDER": "light"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_large_export_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """Reading grows the memory of the process by less than the file, however many conversations it holds."""
    assert run("write", MEGABYTES, tmp_path)["bytes"] >= MEGABYTES * 1024 * 1024
    told = run("read", MEGABYTES, tmp_path)
    assert told["conversations"] > 500
    # Twice the turns of its largest conversation are no reason to hold the others.
    assert told["growth"] < MEGABYTES * 1024 * 1024 / 2


def test_a_large_export_is_brought_in_in_bounded_memory(tmp_path: Path) -> None:
    """Bringing in grows it by what a database at work takes."""
    run("write", 24, tmp_path)
    told = run("bring", 24, tmp_path)
    assert told["turns"] > 10_000
    assert told["growth"] < MOST_GROWTH

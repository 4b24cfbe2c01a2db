"""The demo tells its whole story without a terminal, a key or a network."""

from pathlib import Path

import pytest
from cli_runs import Cli


@pytest.mark.parametrize(("language", "follow_up"), [("it", "Approfondisci il punto 2"), ("en", "about point 2")])
def test_the_demo_shows_keeping_dropping_and_rebuilding(bare: Cli, language: str, follow_up: str) -> None:
    """Talk, follow-up, budget, receipt with a dropped turn and a dropped passage, messages, proof."""
    ran = bare("demo", "--language", language)
    assert ran.code == 0
    assert ran.err == ""
    words = " ".join(ran.out.split())
    assert follow_up in words
    assert "of 360 tokens" in words
    assert "✗ dropped turn 1" in words
    assert "over the limit of 6 chunks" in words
    assert "✓ identical, byte for byte" in words
    assert max(map(len, ran.out.splitlines())) <= 110


def test_the_demo_leaves_nothing_behind(bare: Cli, tmp_path: Path) -> None:
    """Without --db its file is temporary, whatever RICORDO_URL says."""
    bare("demo")
    assert list(tmp_path.iterdir()) == []


def test_the_demo_keeps_what_it_is_told_to_keep(cli: Cli) -> None:
    """With --db the talk can be explored with the other commands, and again after a second run."""
    assert cli("demo").code == 0
    assert cli("demo").code == 0
    assert [turn["turn_number"] for turn in cli("show", "-u", "anna", "--json").lines] == [1, 2, 3, 4]
    assert len(cli("sessions", "-u", "anna", "--json").lines) == 2
    assert cli("verify").code == 0


def test_the_demo_as_json(bare: Cli) -> None:
    """Everything on the screen is there for a program."""
    told = bare("demo", "--json").document
    assert told["rebuilt_is_identical"] is True
    assert len(told["turns"]) == 4
    assert told["context"]["receipt"]["total_tokens"] <= 360


def test_the_demo_in_memory(bare: Cli) -> None:
    """It runs on the in-memory store too."""
    assert bare("demo", "--db", "memory:", "--budget", "1000").code == 0

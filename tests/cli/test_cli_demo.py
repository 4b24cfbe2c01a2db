"""The demo tells its whole story without a terminal, a key or a network."""

from pathlib import Path

import pytest
from cli_runs import Cli

STORIES = {
    "it": [
        "Approfondisci il punto 2",
        "understood as Approfondisci il punto 2 (Puntata, pane)",
        "points at turn 4, point 2: Puntata: l'impasto lievita in massa",
        "ask back Quale: pietra refrattaria o pentola di ghisa?",
        "understood as Dove la compro (pentola di ghisa)?",
    ],
    "en": [
        "Tell me more about point 2",
        "understood as Tell me more about point 2 (Bulk rise, bread)",
        "points at turn 4, point 2: Bulk rise: the whole dough ferments",
        "ask back Which one: baking stone or cast iron pot?",
        "understood as Where can I buy it (cast iron pot)?",
    ],
}


@pytest.mark.parametrize("language", STORIES)
def test_the_demo_tells_the_whole_story(bare: Cli, language: str) -> None:
    """Follow-up, budget, receipt with a dropped passage, recall, clarification, topics, proof."""
    ran = bare("demo", "--language", language)
    assert ran.code == 0
    assert ran.err == ""
    words = " ".join(ran.out.split())
    assert [each for each in STORIES[language] if each not in words] == []
    assert "of 420 tokens" in words
    assert "✓ kept turn 4, point 2 recalled" in words
    assert "over the limit of 6 chunks" in words
    assert "searched with light-256@1" in words
    assert "0.02 █░░░░░░░░░ 1 d short-term" in words
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
    assert [turn["turn_number"] for turn in cli("show", "-u", "anna", "--json").lines] == list(range(1, 11))
    assert len(cli("sessions", "-u", "anna", "--json").lines) == 4
    assert cli("verify").code == 0


def test_the_demo_as_json(bare: Cli) -> None:
    """Everything on the screen is there for a program."""
    told = bare("demo", "--json").document
    assert told["rebuilt_is_identical"] is True
    assert len(told["turns"]) == 8
    assert told["context"]["receipt"]["total_tokens"] <= 420
    assert told["context"]["references"][0]["turn_number"] == 4
    best = told["recalled"]["hits"][0]
    assert "220" in best["content"]
    assert best["session_id"] != told["session_id"]
    assert [option["name"] for option in told["asked_back"]["options"]] == ["pietra refrattaria", "pentola di ghisa"]
    assert told["topics"][0]["priority"] < 0.05 < told["topics"][-1]["priority"]


def test_the_demo_in_memory(bare: Cli) -> None:
    """It runs on the in-memory store too."""
    assert bare("demo", "--db", "memory:", "--budget", "1000").code == 0

"""Contexts, receipts and rebuilt prompts from the command line."""

import io
import json
from pathlib import Path

import pytest
from cli_runs import Cli

from ricordo.cli.arguments import parse_chunks
from ricordo.errors import ValidationError


def test_context_prints_messages_and_the_receipt(cli: Cli, talk: str) -> None:
    """People see the messages, the budget per section, and the fate of every item."""
    out = cli("context", "And how often?", "-u", "anna", "--budget", "300").out
    words = " ".join(out.split())
    assert "A culture of flour and water." in out
    assert "of 300 tokens" in words
    assert "section share used kept dropped" in words
    assert "✓ kept turn 2: How is it fed? history" in words


def test_context_says_what_was_dropped_and_why(cli: Cli, talk: str, tmp_path: Path) -> None:
    """A tight budget leaves items out and gives the reason."""
    (tmp_path / "chunks.jsonl").write_text(
        "\n".join(json.dumps({"id": f"c{n}", "text": f"passage {n} " * 20}) for n in range(9))
    )
    arguments = ("context", "And?", "-u", "anna", "--budget", "200", "--chunks", "chunks.jsonl")
    receipt = cli(*arguments, "--json").document["receipt"]
    assert receipt["total_tokens"] <= 200
    dropped = {item["id"]: item["reason"] for item in receipt["items"] if not item["kept"]}
    assert dropped["c8"] == "over the limit of 6 chunks"
    assert dropped["c5"].startswith("over the share of ")
    out = cli(*arguments).out
    assert "✗ dropped" in out
    assert "over the limit of 6 chunks" in out


def test_context_prompt_is_alone_on_stdout(cli: Cli, talk: str) -> None:
    """--prompt gives stdout to the prompt, byte for byte, and stderr to the receipt."""
    built = cli("context", "And?", "-u", "anna", "--json").document
    ran = cli("context", "And?", "-u", "anna", "--prompt")
    assert ran.out == built["prompt"] + "\n"
    assert "tokens" in ran.err


def test_context_takes_the_other_sections(cli: Cli, talk: str) -> None:
    """System text, profile and summary go into the system message."""
    built = cli(
        "context", "And?", "-u", "anna", "--system", "Be kind.", "--profile", "Bakes.", "--summary", "Flour.", "--json"
    ).document
    system = built["messages"][0]
    assert system["role"] == "system"
    assert [word in system["content"] for word in ("Be kind.", "Bakes.", "Flour.")] == [True] * 3


def test_context_before_anything_was_said(cli: Cli, talk: str) -> None:
    """A user without sessions gets a context of the question alone."""
    built = cli("context", "Hello?", "-u", "zoe", "--json").document
    assert built["messages"] == [{"role": "user", "content": "Hello?"}]


def test_context_writes_nothing(cli: Cli, talk: str) -> None:
    """Asking for a context adds no turn and no receipt."""
    before = cli("stats", "--json").document["holds"]
    cli("context", "And?", "-u", "anna")
    after = cli("stats", "--json").document["holds"]
    assert (after["turns"], after["receipts"]) == (before["turns"], before["receipts"])


def test_a_budget_too_small_for_safety_is_refused(cli: Cli, talk: str) -> None:
    """Safety rules are never cut: a limit below them is exit code 2."""
    ran = cli("context", "And?", "-u", "anna", "--budget", "5", "--set", f"safety_rules={'never ' * 50}")
    assert ran.code == 2
    assert "safety" in ran.err


def test_receipts_and_rebuild(cli: Cli, talk: str) -> None:
    """A past prompt comes back byte for byte, also after the talk went on."""
    asked = cli("ask", "And how often?", "-u", "anna", "-s", talk, "--json").document
    cli("answer", asked["turn"]["turn_id"], "Daily.", "-u", "anna")
    cli("add", "More?", "No.", "-u", "anna", "-s", talk)
    rebuilt = cli("rebuild", "3", "-u", "anna", "-s", talk, "--json").document
    assert rebuilt["messages"] == asked["context"]["messages"]
    assert rebuilt["prompt"] == asked["context"]["prompt"]
    assert rebuilt["receipt"]["turn_number"] == 3
    assert cli("rebuild", "3", "-u", "anna", "--prompt").out == asked["context"]["prompt"] + "\n"
    assert "And how often?" in cli("receipts", "-u", "anna").out
    assert cli("rebuild", "1", "-u", "anna").code == 3


def test_receipts_explains_why_there_are_none(cli: Cli, talk: str) -> None:
    """Turns that were added without a context have no receipt."""
    assert "no receipts" in cli("receipts", "-u", "anna").out
    assert cli("receipts", "-u", "anna", "--json").out == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\n\ntwo\nlines\n\n\n", [("chunk-1", "one"), ("chunk-2", "two\nlines")]),
        ('["a", {"id": "x", "text": "b"}]', [("chunk-1", "a"), ("x", "b")]),
        ('{"id": "x", "content": "b"}\n\n{"text": "c"}\n', [("x", "b"), ("chunk-2", "c")]),
        ('{"id": "x", "text": "b"}', [("x", "b")]),
        ("", []),
    ],
)
def test_chunks_in_three_shapes(text: str, expected: list[tuple[str, str]]) -> None:
    """A file of passages is JSON, JSON lines or paragraphs."""
    assert [(chunk.id, chunk.text) for chunk in parse_chunks(text)] == expected


@pytest.mark.parametrize("text", ['{"id": 3, "text": "x"}', "[1]", '{"id": "x"}\nnot json', '{"text": null}'])
def test_broken_chunks_are_refused(text: str) -> None:
    """A passage that is none of the shapes is named by its place."""
    with pytest.raises(ValidationError, match=r"chunks: (passage|line) \d"):
        parse_chunks(text)


def test_chunks_from_standard_input(cli: Cli, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--chunks -` reads the passages of a pipe."""
    monkeypatch.setattr("sys.stdin", io.StringIO("Flour is ground grain.\n"))
    built = cli("context", "What is flour?", "-u", "anna", "--chunks", "-", "--json").document
    assert "[chunk-1] Flour is ground grain." in built["messages"][-1]["content"]


def test_context_shows_what_the_chat_would_send(cli: Cli, talk: str, tmp_path: Path) -> None:
    """Passages of the user's documents are in it, as in the chat; a chat over a file is a session limited to it."""
    (tmp_path / "bread.md").write_text("# Feeding\n\nA sourdough culture is fed with flour twice a day.")
    cli("documents", "add", "bread.md", "-u", "anna")
    receipt = cli("context", "How often is a sourdough culture fed?", "-u", "anna", "--json").document["receipt"]
    assert any(item["section"] == "chunks" and item["kept"] for item in receipt["items"])
    told = cli("chat", "How is it fed?", "-u", "bruno", "--document", "bread.md", "--json").document
    (shown,) = cli("sessions", "-u", "bruno", "--json").lines
    assert (shown["session_id"], len(shown["document_ids"])) == (told["session_id"], 1)

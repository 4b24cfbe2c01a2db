"""Commands on sessions: list, show, window; end, clear, delete, erase, cleanup."""

import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli_runs import Cli


def test_sessions_lists_most_recent_first(cli: Cli, talk: str) -> None:
    """Each session is one row, or one JSON line."""
    newer = cli("add", "x", "y", "-u", "anna", "--agent", "maestro", "--json").document["session_id"]
    found = cli("sessions", "-u", "anna", "--json").lines
    assert [each["session_id"] for each in found] == [newer, talk]
    assert [each["turn_count"] for each in found] == [1, 2]
    shown = cli("sessions", "-u", "anna").out
    assert newer in shown
    assert "maestro" in shown
    assert [each["session_id"] for each in cli("sessions", "-u", "anna", "-n", "1", "--json").lines] == [newer]
    only = cli("sessions", "-u", "anna", "--agent", "default", "--json").lines
    assert [each["session_id"] for each in only] == [talk]


def test_sessions_fit_a_terminal(cli: Cli, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 80 columns no heading is broken, a date is in one piece, and the agent is told where there are several."""
    monkeypatch.setenv("COLUMNS", "80")
    heading, first = cli("sessions", "-u", "anna").out.splitlines()[:2]
    assert heading.split() == ["session", "title", "turns", "last", "active"]
    assert first.startswith(talk)
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d$", first.rstrip())


def test_sessions_of_nobody_is_empty(cli: Cli, talk: str) -> None:
    """A user without sessions is no error."""
    assert cli("sessions", "-u", "zoe", "--json").out == ""
    assert cli("sessions", "-u", "zoe").out == "user 'zoe' has no sessions\n"


def test_show_prints_the_history_in_order(cli: Cli, talk: str) -> None:
    """Turns come in their order, with their sources."""
    turns = cli("show", "-u", "anna", "-s", talk, "--json").lines
    assert [turn["query"] for turn in turns] == ["What is a levain?", "How is it fed?"]
    text = cli("show", "-u", "anna").out
    assert text.index("What is a levain?") < text.index("How is it fed?")
    assert "cites c1" in text
    assert [turn["turn_number"] for turn in cli("show", "-u", "anna", "-n", "1", "--json").lines] == [2]
    assert [turn["turn_number"] for turn in cli("show", "-u", "anna", "--before", "2", "--json").lines] == [1]


def test_show_says_which_turn_is_open(cli: Cli, talk: str) -> None:
    """An open turn is marked with the way to answer it."""
    cli("ask", "And?", "-u", "anna", "-c")
    assert "open: ricordo answer " in cli("show", "-u", "anna").out


def test_show_of_an_unknown_session_is_not_found(cli: Cli, talk: str) -> None:
    """Unknown sessions and other users' sessions look the same."""
    assert cli("show", "-u", "anna", "-s", "nope").code == 3
    assert cli("show", "-u", "bruno", "-s", talk).code == 3
    assert cli("show", "-u", "bruno").code == 3


def test_stored_text_cannot_drive_the_terminal(cli: Cli) -> None:
    """Control characters of a message are shown as pictures."""
    cli("add", "clear \x1b[2J screen", "bell \x07 and \x9b31m", "-u", "anna")
    for command in (("show",), ("window",), ("context", "next?")):
        out = cli(*command, "-u", "anna").out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "\x9b" not in out
        assert "␛[2J" in out


def test_stored_text_is_not_markup(cli: Cli) -> None:
    """Square brackets in a message are printed as they are."""
    cli("add", "[bold]loud[/bold] [/]", "[link=x]y", "-u", "anna")
    out = cli("show", "-u", "anna").out
    assert "[bold]loud[/bold] [/]" in out
    assert "[link=x]y" in out


def test_window_is_what_a_prompt_takes(cli: Cli, talk: str) -> None:
    """The window comes as compact lines with its cost and bounds."""
    plain = cli("window", "-u", "anna", "--json").document
    assert plain["session_id"] == talk
    assert [turn["turn_number"] for turn in plain["turns"]] == [1, 2]
    assert plain["total_tokens"] > 0
    assert (plain["max_turns"], plain["max_tokens"], plain["shortened"]) == (3, 2000, False)
    out = cli("window", "-u", "anna", "--sources", "--preset", "tutor").out
    assert out.startswith("=== CRONOLOGIA CONVERSAZIONE (ultimi 2 turni) ===\nSTUDENTE: What is a levain?\n")
    assert "[fonti: c1]" in out
    small = cli("window", "-u", "anna", "--set", "max_turns=1", "--json").document
    assert [turn["turn_number"] for turn in small["turns"]] == [2]


def test_a_message_stays_on_its_line_in_a_pipe(cli: Cli) -> None:
    """A compact message is one line, however long: nothing is broken where no terminal has a width."""
    question = "why does dough rise " * 6
    cli("add", question, "Yeast.", "-u", "anna")
    assert any(question.strip() in line for line in cli("window", "-u", "anna").out.splitlines())


def test_looking_leaves_no_file_behind(bare: Cli, tmp_path: Path) -> None:
    """A mistyped database name is not found, and no empty database appears there."""
    for command in (("stats",), ("sessions", "-u", "a"), ("verify",), ("cleanup",), ("erase", "a", "--yes")):
        ran = bare(*command, "--db", "typo.db")
        assert ran.code == 3
        assert "typo.db" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_end_closes_a_session(cli: Cli, talk: str) -> None:
    """An ended session is marked in the list."""
    assert cli("end", talk, "-u", "anna", "--json").document["ended_at"] is not None
    assert "(ended)" in cli("sessions", "-u", "anna").out
    assert cli("end", "nope", "-u", "anna").code == 3


def test_clear_keeps_the_session(cli: Cli, talk: str) -> None:
    """The turns go, the session stays, and numbering starts again."""
    assert cli("clear", talk, "-u", "anna", "--json").document == {"session_id": talk, "turns_deleted": 2}
    assert cli("sessions", "-u", "anna", "--json").lines[0]["turn_count"] == 0
    assert cli("add", "a", "b", "-u", "anna", "-s", talk, "--json").document["turn_number"] == 1
    assert cli("clear", "nope", "-u", "anna").code == 3


def test_delete_removes_the_session(cli: Cli, talk: str) -> None:
    """A deleted session is gone; another user cannot delete it."""
    assert cli("delete", talk, "-u", "bruno").code == 3
    assert cli("delete", talk, "-u", "anna").out == f"deleted session {talk} with 2 turns\n"
    assert cli("delete", talk, "-u", "anna").code == 3


def test_erase_prints_its_receipt_and_leaves_no_byte(cli: Cli, db: Path, talk: str) -> None:
    """After erase the words of the user are in none of the files."""
    cli("add", "keep me", "kept", "-u", "bruno")
    receipt = cli("erase", "anna", "--yes", "--json").document
    assert (receipt["user_id"], receipt["removed"]["turns"], receipt["removed"]["sessions"]) == ("anna", 2, 1)
    left = b"".join(path.read_bytes() for path in db.parent.glob("test.db*"))
    assert b"levain" not in left
    assert b"keep me" in left
    assert "erased user 'anna'" in cli("erase", "anna", "--yes").out


class Terminal(io.StringIO):
    """Standard input with a person at it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "code", "turns"), [("anna\n", 0, 0), ("yes\n", 1, 2), ("", 1, 2)])
def test_erase_asks_for_the_user_id(
    cli: Cli, talk: str, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, turns: int
) -> None:
    """Only the user's id, typed, erases."""
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    ran = cli("erase", "anna")
    assert ran.code == code
    assert "Type the user id" in ran.err
    assert cli("stats", "--json").document["holds"]["turns"] == turns


def test_erase_without_a_person_needs_yes(cli: Cli, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a script nobody can confirm, so nothing goes without --yes."""
    monkeypatch.setattr("sys.stdin", io.StringIO("anna\n"))
    ran = cli("erase", "anna")
    assert ran.code == 2
    assert "--yes" in ran.err
    assert cli("stats", "--json").document["holds"]["turns"] == 2


def test_cleanup_removes_what_is_past_its_time(cli: Cli, talk: str) -> None:
    """Exactly the turns older than the retention go."""
    old = (datetime.now(UTC) - timedelta(hours=30)).isoformat()
    cli("add", "old", "older", "-u", "anna", "--at", old)
    result = cli("cleanup", "--preset", "chat24h", "--json").document
    assert (result["sessions_deleted"], result["turns_deleted"], result["errors"]) == (1, 1, [])
    assert cli("cleanup", "--set", "turn_ttl=1d").out.startswith("deleted 0 sessions and 0 turns in ")


def test_cleanup_says_when_nothing_expires(cli: Cli, talk: str) -> None:
    """The default preset keeps everything, and the command says so."""
    assert "keeps everything" in cli("cleanup").out


def test_a_project_limits_every_command(cli: Cli) -> None:
    """`--project` puts what is added into a project, and lists, searches and exports that project alone."""
    cli("add", "We deploy with Ansible.", "Ok.", "--user", "anna", "--project", "blue")
    cli("--project", "red", "add", "We deploy with Helm.", "Ok.", "--user", "anna")
    (session,) = cli("sessions", "--user", "anna", "--project", "blue", "--json").lines
    assert session["project"] == "blue"
    found = cli("search", "deploy", "--user", "anna", "--project", "red", "--json").document
    assert {hit["session_id"] for hit in found["hits"]}.isdisjoint({session["session_id"]})
    assert len(cli("export", "--user", "anna", "--project", "blue").out.splitlines()) == 1
    assert len(cli("sessions", "--user", "anna", "--json").lines) == 2

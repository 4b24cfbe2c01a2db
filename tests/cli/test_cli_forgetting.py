"""Letting go from the command line."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli_runs import Cli


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
    assert cli("cleanup", "--set", "turn_ttl=1d").out.startswith("0 sessions and 0 turns went in ")


def test_cleanup_says_when_nothing_expires(cli: Cli, talk: str) -> None:
    """The default preset keeps everything, and the command says so."""
    assert "keeps everything" in cli("cleanup").out

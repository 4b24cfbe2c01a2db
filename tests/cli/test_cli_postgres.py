"""The command line on PostgreSQL: the same commands behind a URL."""

import json

from cli_runs import Cli

pytest_plugins = ["ricordo.testing.postgres"]


def test_a_conversation_on_postgresql(bare: Cli, own_postgres_url: str) -> None:
    """Add, ask, answer, rebuild, export, verify, backup and erase work as on a file."""
    place = ("--db", own_postgres_url, "--json")
    session_id = bare("add", "Perché?", "Perché sì 🍞", "-u", "anna", *place).document["session_id"]
    asked = bare("ask", "E poi?", "-u", "anna", "--continue", *place).document
    assert bare("answer", asked["turn"]["turn_id"], "Basta.", "-u", "anna", *place).code == 0
    rebuilt = bare("rebuild", "2", "-u", "anna", *place).document
    assert rebuilt["messages"] == asked["context"]["messages"]
    exported = bare("export", "-u", "anna", *place).document
    assert exported["session"]["id"] == session_id
    assert bare("verify", *place).document == {"sessions": 1, "turns": 2, "damages": [], "ok": True}
    assert bare("backup", "copy.db", *place).code == 0
    assert json.loads(bare("export", "-u", "anna", "--db", "copy.db").out) == exported
    assert bare("erase", "anna", "--yes", *place).document["removed"]["turns"] == 2
    assert bare("sessions", "-u", "anna", *place).out == ""


def test_a_server_that_is_away_is_exit_code_5(bare: Cli) -> None:
    """Nobody listening is one line, without the password."""
    ran = bare("stats", "--db", "postgresql://app:hidden@127.0.0.1:1/chat?connect_timeout=1")
    assert ran.code == 5
    assert ran.err.count("\n") == 1
    assert "hidden" not in ran.err

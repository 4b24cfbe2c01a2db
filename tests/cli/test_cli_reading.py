"""Reading from the command line: sessions, history, window."""

from pathlib import Path

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

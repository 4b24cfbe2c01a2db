"""The command line as a whole: help, versions, exit codes, and real processes with real pipes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_runs import Cli

import ricordo
from ricordo import errors
from ricordo.cli import COMMANDS, main
from ricordo.cli.arguments import EXIT_CODES, build_parser, exit_code

RICORDO = [sys.executable, "-c", "import sys; from ricordo.cli import main; sys.exit(main())"]


def start(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    """A real process."""
    return subprocess.run([*RICORDO, *arguments], capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` works everywhere, with an example."""
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"usage: ricordo {command}" in out
    assert "example:" in out
    assert "--json" in out


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The overview names all of them."""
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert [command.name for command in COMMANDS if command.name not in out] == []


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """--version is the package's."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ricordo {ricordo.__version__}\n"


@pytest.mark.parametrize("arguments", [["fly"], ["add"], ["stats", "--wrong"], ["--preset", "none", "stats"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage is one line that says what was expected and where to read on."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "--help`" in captured.err
    assert not captured.err.startswith("ricordo: ricordo")
    assert main([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["exit_code"] == 2


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """`ricordo` alone explains itself, and scripts see that nothing was done."""
    assert main([]) == 2
    assert "usage: ricordo" in capsys.readouterr().err


def test_every_error_has_an_exit_code() -> None:
    """Each class of the error tree is in the table, and the most particular entry is found."""
    tree = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.RicordoError)}
    table = dict(EXIT_CODES)
    assert tree <= set(table)
    made = {
        kind: kind("field", "problem") if kind in (errors.ValidationError, errors.SettingsError) else kind("problem")
        for kind in tree
    }
    assert {kind: exit_code(error) for kind, error in made.items()} == {kind: table[kind] for kind in tree}


def test_common_options_stand_before_or_after(cli: Cli, bare: Cli, db: Path, talk: str) -> None:
    """`--db` and the others mean the same on both sides of the command, and --set adds up."""
    after = bare("stats", "--db", str(db), "--json", "--tenant", "default").document
    before = bare("--db", str(db), "--json", "--tenant", "default", "stats").document
    assert before == after
    both = bare("--set", "max_turns=1", "settings", "--set", "max_tokens=7", "--json").document
    assert (both["max_turns"]["value"], both["max_tokens"]["value"]) == (1, 7)
    later = bare("--set", "max_turns=1", "settings", "--set", "max_turns=2", "--json").document
    assert later["max_turns"]["value"] == 2


def test_the_environment_names_database_and_user(bare: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """RICORDO_URL and RICORDO_USER stand in for --db and --user; else it is ricordo.db here."""
    monkeypatch.setenv("RICORDO_USER", "anna")
    assert bare("add", "a", "b").code == 0
    assert (tmp_path / "ricordo.db").exists()
    monkeypatch.setenv("RICORDO_URL", f"sqlite:///{tmp_path}/elsewhere.db")
    assert bare("sessions").code == 3
    assert bare("add", "a", "b").code == 0
    assert (tmp_path / "elsewhere.db").exists()


def test_errors_as_json(cli: Cli, talk: str) -> None:
    """With --json an error is a JSON object on stderr."""
    ran = cli("show", "-u", "anna", "-s", "nope", "--json")
    told = json.loads(ran.err)
    assert (told["error"], told["exit_code"], ran.code) == ("NotFoundError", 3, 3)
    assert "nope" in told["message"]


def test_an_unreadable_database_is_one_line(bare: Cli, tmp_path: Path) -> None:
    """A file that is no database is refused without a traceback."""
    (tmp_path / "not.db").write_bytes(b"this is not a database, not at all" * 100)
    ran = bare("stats", "--db", "not.db")
    assert ran.code in (5, 6)
    assert ran.err.count("\n") == 1
    assert bare("stats", "--db", "mysql://host/db").code == 2


def test_parsers_are_built_anew_each_time() -> None:
    """Two runs in one process do not share lists of options."""
    first, second = build_parser(COMMANDS), build_parser(COMMANDS)
    assert first.parse_args(["--set", "a=1", "stats"]).set_before == ["a=1"]
    assert second.parse_args(["stats"]).set_before == []


# Real processes


def test_a_conversation_through_processes(tmp_path: Path) -> None:
    """Each command is a process of its own; what one wrote the next one reads."""
    db = str(tmp_path / "p.db")
    assert start("add", "Perché?", "Perché sì 🍞", "-u", "anna", "--db", db).returncode == 0
    asked = json.loads(start("ask", "E poi?", "-c", "-u", "anna", "--db", db, "--json").stdout)
    answered = start("answer", asked["turn"]["turn_id"], "-", "-u", "anna", "--db", db, input="Basta.\n")
    assert answered.returncode == 0
    shown = start("show", "-u", "anna", "--db", db)
    assert "Perché sì 🍞" in shown.stdout
    assert "Basta." in shown.stdout
    failed = start("show", "-u", "zoe", "--db", db)
    assert (failed.returncode, failed.stdout) == (3, "")
    assert failed.stderr == "ricordo: user 'zoe' has no sessions; begin one with `ricordo add`\n"


@pytest.mark.parametrize("command", ["export", "show"])
def test_a_closed_pipe_is_no_traceback(tmp_path: Path, command: str) -> None:
    """A reader that leaves early ends the command quietly, with the code that shells know."""
    db = str(tmp_path / "p.db")
    with ricordo.open(db) as memory:
        for number in range(20):  # together more than a pipe holds
            memory.session(f"s{number}", user_id="anna").add_turn("Why?", "a long answer " * 2_000)
            memory.session("last", user_id="anna").add_turn("Why?", "a long answer " * 2_000)
    process = subprocess.Popen(
        [*RICORDO, command, "-u", "anna", "--db", db], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert said == b""


def test_ctrl_c_is_no_traceback(tmp_path: Path) -> None:
    """An interrupted command ends with 130 and says nothing alarming."""
    process = subprocess.Popen(
        [*RICORDO, "add", "Why?", "-", "-u", "anna", "--db", str(tmp_path / "p.db")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a runner in the background ignores it
    )
    while not (tmp_path / "p.db").exists():  # the command is past its imports and waits for its input
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said


def test_a_narrow_plain_terminal(tmp_path: Path) -> None:
    """An old terminal without Unicode and with few columns still gets the demo."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "60", "NO_COLOR": "1"}
    ran = start("demo", "--terminal", env=environment)
    assert ran.returncode == 0
    assert "identical, byte for byte" in ran.stdout

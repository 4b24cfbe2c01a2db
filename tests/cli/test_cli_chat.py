"""`ricordo chat`: the pipeline in a terminal and in a pipe."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import RICORDO, Cli

LESSON = (
    "# Burns\n\n## Degrees\n\nBurns are of three degrees:\n\n"
    "1. **First degree**: the skin is red and dry.\n"
    "2. **Second degree**: blisters appear and the pain is strong.\n"
    "3. **Third degree**: the whole skin is destroyed.\n"
)


@pytest.fixture
def lesson(tmp_path: Path) -> str:
    """A document to talk about."""
    file = tmp_path / "burns.md"
    file.write_text(LESSON)
    return str(file)


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Standard input as a pipe."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))


def test_a_talk_through_a_pipe(cli: Cli, lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is a question of one session; answers alone are on stdout, what was understood on stderr."""
    piped(monkeypatch, "What are the degrees of burns?\n\nTell me more about point 2\n")
    ran = cli("chat", "-u", "anna", "--document", lesson)
    assert ran.code == 0
    assert "blisters appear" in ran.out
    assert "understood as" not in ran.out
    assert "understood as: Tell me more about point 2 (Second degree" in ran.err
    assert "burns.md" in ran.err
    assert len(cli("sessions", "-u", "anna", "--json").lines) == 1
    kept = cli("show", "-u", "anna", "--json").lines
    assert [turn["open"] for turn in kept] == [False, False]
    assert kept[1]["chunk_ids"]


def test_one_question_as_json(cli: Cli, lesson: str) -> None:
    """With --json an answer is one document, with its citations and its session."""
    told = cli("chat", "What are the degrees of burns?", "-u", "anna", "--document", lesson, "--json").document
    assert told["metadata"]["answerer"] == "reader"
    assert set(told["metadata"]["citations"]) <= {each["chunk_id"] for each in told["data"]}
    again = cli("chat", "Tell me more about point 3", "-u", "anna", "--continue", "--json").document
    assert again["session_id"] == told["session_id"]
    assert "Third degree" in again["metadata"]["standalone"]
    new = cli("chat", "What are the degrees of burns?", "-u", "anna", "--json").document
    assert new["session_id"] != told["session_id"]


def test_a_whole_text_from_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """With - all of stdin is one question."""
    piped(monkeypatch, "What are\nthe degrees?\n")
    assert cli("chat", "-", "-u", "anna", "--json").document["query"] == "What are\nthe degrees?"


def test_words_to_the_program(cli: Cli, lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """/new begins another session, /receipt explains the last prompt; neither is said to anybody."""
    piped(monkeypatch, "/receipt\nWhat are the degrees of burns?\n/receipt\n/help\n/new\nAnd now?\n")
    ran = cli("chat", "-u", "anna", "--document", lesson)
    assert "no question was asked yet" in ran.err
    assert "✓ kept" in ran.out
    assert "/quit ends" in ran.err
    sessions = cli("sessions", "-u", "anna", "--json").lines
    assert [each["turn_count"] for each in sessions] == [1, 1]


def test_a_crisis_is_answered_with_the_fixed_reply(cli: Cli) -> None:
    """The helplines are in the answer, and stderr says that no model was asked."""
    ran = cli("chat", "mi voglio uccidere", "-u", "anna", "--llm", "http://127.0.0.1:9/v1#none")
    assert ran.code == 0
    assert "112" in ran.out
    assert "no model is asked" in ran.err


def test_options_of_a_question_asked_back(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two things fit equally well the options are numbered, and a number answers."""
    cli("add", "Which is better, the baking stone or the cast iron pot?", "Both work.", "-u", "anna")
    piped(monkeypatch, "Where can I buy it?\n2\n")
    ran = cli("chat", "-u", "anna", "--continue")
    assert "2. cast iron pot" in ran.err
    assert "understood as: Where can I buy it (cast iron pot)?" in ran.err


def test_a_model_that_is_away_is_an_error(cli: Cli, lesson: str) -> None:
    """The exit code says that the model failed, and no answer is printed or stored."""
    arguments = ("chat", "What are the degrees of burns?", "-u", "anna", "--document", lesson)
    ran = cli(*arguments, "--llm", "http://127.0.0.1:9/v1#none")
    assert ran.code == 7
    assert "First degree" not in ran.out


def test_a_failing_model_does_not_end_a_talk(cli: Cli, lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line that fails says why; the next lines are asked, both questions wait in one session, the code tells."""
    piped(monkeypatch, "What are the degrees of burns?\nPerché la pelle è rossa?\n")
    ran = cli("chat", "-u", "anna", "--document", lesson, "--llm", "http://127.0.0.1:9/v1#none")
    assert (ran.code, ran.out) == (7, "")
    assert [line[:22] for line in ran.err.splitlines() if "ricordo:" in line] == [
        "ricordo: The model can", "ricordo: Il modello no",
    ]  # fmt: skip
    (session,) = cli("sessions", "-u", "anna", "--json").lines
    assert (session["turn_count"], session["message_count"], session["condensation_count"]) == (2, 2, 0)


def test_a_failing_model_logs_nothing_between_the_answers(lesson: str, tmp_path: Path) -> None:
    """Only the sentence of the failure is on stderr, and the logger is as it was."""
    arguments = ["chat", "What?", "-u", "anna", "--db", str(tmp_path / "m.db"), "--llm", "http://127.0.0.1:9/v1#none"]
    ran = subprocess.run([sys.executable, "-m", "ricordo", *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 7
    assert [line for line in ran.stderr.splitlines() if not line.startswith("ricordo:")] == []


def test_the_reader_answers_for_a_model_that_is_away(cli: Cli, lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the settings allow it, and its answer says so."""
    monkeypatch.setenv("RICORDO_MODEL_FALLBACK", "reader")
    arguments = ("chat", "What are the degrees of burns?", "-u", "anna", "--document", lesson)
    ran = cli(*arguments, "--llm", "http://127.0.0.1:9/v1#none")
    assert ran.code == 0
    assert "First degree" in ran.out
    assert "the model failed" in ran.err


def test_wrong_usage_of_chat(cli: Cli, talk: str) -> None:
    """A session that the user does not have, a missing file, a missing user."""
    assert cli("chat", "x", "-u", "anna", "-s", "nope").code == 3
    assert cli("chat", "x", "-u", "anna", "--document", "none.md").code == 2
    assert cli("chat", "x").code == 2


SLOW = """
import sys, threading
from ricordo.cli import main
from ricordo.chat import pipeline
from ricordo.chat.answerers import Answered

class Slow:
    name = "slow"
    def answer(self, task):
        yield "one "
        sys.stderr.write("said\\n"); sys.stderr.flush()
        while True:
            threading.Event().wait(0.01)
            yield "more "

pipeline.Reader = Slow
sys.exit(main())
"""


def test_ctrl_c_stops_an_answer_and_keeps_what_was_said(cli: Cli, db: Path) -> None:
    """The first Ctrl-C ends the answer, not the talk: the turn is kept, marked as stopped, and exit code is 0."""
    command = [sys.executable, "-c", SLOW, "chat", "Tell me more", "-u", "anna", "--db", str(db)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    assert process.stderr is not None
    while "said" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.startswith("one more")
    assert "stopped" in err
    kept = cli("show", "-u", "anna", "--json").lines[0]
    assert kept["response"].startswith("one more")
    assert kept["metadata"]["stopped"] is True


SILENT = SLOW.replace('yield "one "', "").replace("wait(0.01)", "wait(60)")


def test_ctrl_c_stops_an_answer_before_its_first_word(cli: Cli, db: Path) -> None:
    """A model that says nothing is not waited for: the question stays open, with the cause; exit code 7."""
    command = [sys.executable, "-c", SILENT, "chat", "Tell me more", "-u", "anna", "--db", str(db)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    assert process.stderr is not None
    while "said" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=40)
    assert (process.returncode, out) == (7, "")
    assert "stopped the answer before its first word" in err
    (kept,) = cli("show", "-u", "anna", "--json").lines
    assert (kept["response"], kept["failure"]["cause"]) == (None, "stopped")


HALF = SLOW.replace("threading.Event().wait(0.01)", "raise LLMError('broke off', cause='cut')").replace(
    "import Answered", "import Answered, LLMError"
)


def test_a_half_answer_has_a_line_of_its_own(db: Path) -> None:
    """What came before a stream broke off ends with its line, so that the next answer begins on another."""
    command = [sys.executable, "-c", HALF, "chat", "-u", "anna", "--db", str(db)]
    ran = subprocess.run(command, input="Why?\nHow?\n", capture_output=True, text=True, timeout=120, env=os.environ)
    assert (ran.returncode, ran.stdout) == (7, "one \none \n")


STUCK = SLOW.replace("threading.Event().wait(0.01)", "threading.Event().wait(60)")


def test_a_second_ctrl_c_ends_the_program_and_keeps_what_was_said(cli: Cli, db: Path) -> None:
    """An answerer that does not come back is left; exit code 130, and the words are kept all the same."""
    command = [sys.executable, "-c", STUCK, "chat", "Tell me more", "-u", "anna", "--db", str(db)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    assert process.stderr is not None
    while "said" not in process.stderr.readline():
        assert process.poll() is None
    pause = 0.5  # so that the first and the second are two
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(pause)
        except subprocess.TimeoutExpired:
            pause = 20.0  # whatever the machine is busy with, the end is not interrupted by a third
    process.communicate(timeout=60)
    assert process.returncode == 130
    kept = cli("show", "-u", "anna", "--json").lines[0]
    assert kept["response"] == "one "
    assert kept["metadata"]["stopped"] is True


def test_a_real_pipe(db: Path) -> None:
    """`echo question | ricordo chat` works in a process of its own."""
    command = [*RICORDO, "chat", "--user", "anna", "--json", "--db", str(db)]
    ran = subprocess.run(command, input="What is bread?\n", capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["query"] == "What is bread?"

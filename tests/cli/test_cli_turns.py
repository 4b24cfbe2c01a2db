"""Keeping what is said from the command line."""

import io

import pytest
from cli_runs import Cli


def test_add_keeps_a_turn_and_tells_where(cli: Cli) -> None:
    """`add` makes a session, numbers the turn and prints both."""
    ran = cli("add", "What is it?", "A memory.", "--user", "anna")
    assert ran.code == 0
    assert ran.out.startswith("kept turn 1 (")
    assert ran.err == ""


def test_add_as_json_is_the_whole_turn(cli: Cli) -> None:
    """With --json the turn comes back with every field."""
    ran = cli(
        "add",
        "Che cos'è?",
        "Un ricordo.",
        "-u",
        "anna",
        "--agent",
        "tutor",
        "--chunk",
        "c1",
        "--chunk",
        "c2",
        "--metadata",
        '{"intent": "define"}',
        "--at",
        "2026-05-01T10:00:00+02:00",
        "--turn-id",
        "t-1",
        "--json",
    )
    turn = ran.document
    assert turn["turn_id"] == "t-1"
    assert (turn["user_id"], turn["agent_id"], turn["turn_number"]) == ("anna", "tutor", 1)
    assert (turn["query"], turn["response"], turn["open"]) == ("Che cos'è?", "Un ricordo.", False)
    assert turn["chunk_ids"] == ["c1", "c2"]
    assert turn["metadata"] == {"intent": "define"}
    assert turn["created_at"] == "2026-05-01T08:00:00+00:00"
    assert [message["role"] for message in turn["messages"]] == ["user", "assistant"]
    assert turn["tokens"] == sum(message["tokens"] for message in turn["messages"])


def test_importance_is_given_with_a_turn(cli: Cli) -> None:
    """--importance is that of the topic which the turn joins; out of range it is refused by name."""
    added = cli("add", "Che cos'è una fuga?", "Un brano a più voci.", "-u", "anna", "--importance", "0.3", "--json")
    assert added.document["metadata"] == {"importance": 0.3}
    assert cli("topics", "-u", "anna", "--json").document["importance_score"] == 0.3
    refused = cli("ask", "E poi?", "-u", "anna", "--importance", "3")
    assert refused.code == 2
    assert "importance" in refused.err


def test_add_goes_on_with_a_session(cli: Cli, talk: str) -> None:
    """--session and --continue add to the same session; without either a new one begins."""
    named = cli("add", "a", "b", "-u", "anna", "-s", talk, "--json").document
    latest = cli("add", "c", "d", "-u", "anna", "-c", "--json").document
    fresh = cli("add", "e", "f", "-u", "anna", "--json").document
    assert [named["turn_number"], latest["turn_number"], fresh["turn_number"]] == [3, 4, 1]
    assert named["session_id"] == latest["session_id"] == talk != fresh["session_id"]


def test_continue_without_a_session_is_not_found(cli: Cli) -> None:
    """There is nothing to continue for a user who never spoke."""
    ran = cli("add", "a", "b", "-u", "nobody", "--continue")
    assert (ran.code, ran.out) == (3, "")
    assert "nobody" in ran.err


def test_add_reads_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` takes the text from standard input without its last line break."""
    monkeypatch.setattr("sys.stdin", io.StringIO("1. one\n2. two\n"))
    assert cli("add", "List them", "-", "-u", "anna", "--json").document["response"] == "1. one\n2. two"


def test_the_same_turn_id_is_written_once(cli: Cli) -> None:
    """Repeating a command with its turn id changes nothing; other content is a conflict."""
    arguments = ("add", "a", "b", "-u", "anna", "-s", "s", "--turn-id", "t")
    assert cli(*arguments, "--json").document["turn_number"] == 1
    assert cli(*arguments, "--json").document["turn_number"] == 1
    ran = cli("add", "a", "other", "-u", "anna", "-s", "s", "--turn-id", "t")
    assert ran.code == 4
    assert ran.err.startswith("ricordo: ")


def test_a_turn_id_is_written_once_without_naming_the_session(cli: Cli) -> None:
    """A command that made its session and is repeated finds its turn again, also behind a newer session."""
    first = cli("add", "a", "b", "-u", "anna", "--turn-id", "t", "--json").document
    cli("add", "c", "d", "-u", "anna")
    for place in ((), ("--continue",)):
        assert cli("add", "a", "b", "-u", "anna", "--turn-id", "t", *place, "--json").document == first
    assert cli("add", "a", "other", "-u", "anna", "--turn-id", "t").code == 4
    assert len(cli("sessions", "-u", "anna", "--json").out.splitlines()) == 2


def test_ask_then_answer(cli: Cli, talk: str) -> None:
    """`ask` keeps the question with the receipt of its context, `answer` closes it."""
    asked = cli("ask", "And how often?", "-u", "anna", "--continue", "--json").document
    assert asked["turn"]["open"] is True
    assert "And how often?" in asked["context"]["messages"][-1]["content"]
    answered = cli("answer", asked["turn"]["turn_id"], "Once a day.", "-u", "anna", "--json").document
    assert (answered["turn_number"], answered["response"], answered["session_id"]) == (3, "Once a day.", talk)
    receipts = cli("receipts", "-u", "anna", "--json").lines
    assert [receipt["question"] for receipt in receipts] == ["And how often?"]


def test_ask_for_people_explains_and_says_how_to_answer(cli: Cli, talk: str) -> None:
    """Without --json the receipt is drawn and the next command is named."""
    ran = cli("ask", "And how often?", "-u", "anna", "--continue")
    assert "kept open turn 3" in ran.out
    assert "turn 2: How is it fed?" in " ".join(ran.out.split())
    assert "ricordo answer " in ran.out


def test_ask_prompt_prints_the_prompt_alone(cli: Cli, talk: str) -> None:
    """--prompt leaves stdout to the prompt, for a pipe."""
    ran = cli("ask", "And how often?", "-u", "anna", "--continue", "--prompt")
    assert ran.out.startswith("<<DATA ")
    assert ran.out.splitlines()[1] == "=== CONVERSATION HISTORY (last 2 turns) ==="
    assert "And how often (levain fed)?" in ran.out
    assert ran.out.endswith("=== QUESTION ===\nAnd how often?\n")
    assert "kept open turn 3" in ran.err
    assert "understood as" in ran.err


def test_ask_shows_what_was_understood(cli: Cli) -> None:
    """A follow-up is shown as it reads alone, with what it points at, in words and as JSON."""
    cli("add", "What are the stages of bread?", "1. Autolyse: a rest\n2. Bulk rise: the dough ferments", "-u", "anna")
    words = " ".join(cli("ask", "Tell me more about point 2", "-u", "anna", "-c").out.split())
    assert "understood as Tell me more about point 2 (Bulk rise, bread)" in words
    assert "points at turn 1, point 2: Bulk rise: the dough ferments" in words
    built = cli("context", "And the first one?", "-u", "anna", "--json").document
    assert built["references"][0]["item"] == "1"
    assert built["references"][0]["text"] == "Autolyse: a rest"
    assert built["question"] == built["receipt"]["standalone"] != built["receipt"]["question"]
    assert built["clarification"] is None
    complete = cli("context", "Who wrote the Divine Comedy?", "-u", "anna")
    assert "understood as" not in complete.out


def test_a_question_asked_back_is_answered_by_the_next_command(cli: Cli) -> None:
    """What one command asks back, another process of the same user understands the answer to."""
    cli("add", "Which is better, the baking stone or the cast iron pot?", "Both work.", "-u", "anna")
    asked = cli("ask", "Where can I buy it?", "-u", "anna", "-c")
    assert "Which one: baking stone or cast iron pot?" in " ".join(asked.out.split())
    answered = cli("ask", "the second", "-u", "anna", "-c", "--json").document["context"]
    assert answered["question"] == "Where can I buy it (cast iron pot)?"


def test_answer_of_an_unknown_turn_is_not_found(cli: Cli, talk: str) -> None:
    """An id that was never asked is refused."""
    assert cli("answer", "no-such-turn", "x", "-u", "anna").code == 3


def test_message_keeps_a_speaker_by_name(cli: Cli, talk: str) -> None:
    """Any other role is the name of a speaker."""
    ran = cli("message", "Paolo", "See you on Monday.", "-u", "anna", "-s", talk, "--json")
    message = ran.document
    assert (message["role"], message["name"], message["content"]) == ("user", "Paolo", "See you on Monday.")
    assert message["session_id"] == talk
    assert "kept message" in cli("message", "user", "Hello", "-u", "anna", "-c").out


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("add", " ", "b", "-u", "anna"), "query"),
        (("add", "a", "", "-u", "anna"), "response"),
        (("add", "a\x00", "b", "-u", "anna"), "query"),
        (("add", "a", "\udce9", "-u", "anna"), "response"),
        (("add", "a", "b"), "user"),
        (("add", "a", "b", "-u", ""), "user_id"),
        (("add", "a", "b", "-u", "anna", "--metadata", "{"), "metadata"),
        (("add", "a", "b", "-u", "anna", "--metadata", "[]"), "metadata"),
        (("add", "a", "b", "-u", "anna", "--at", "yesterday"), "at"),
        (("add", "a", "b", "-u", "anna", "--at", "2026-05-01"), "created_at"),
        (("add", "a", "b", "-u", "anna", "--set", "max_turn=3"), "max_turn"),
        (("add", "a", "b", "-u", "anna", "--set", "max_turns"), "KEY=VALUE"),
        (("add", "a", "b", "-u", "anna", "--set", "max_turns=many"), "max_turns"),
        (("ask", "a", "-u", "anna", "--chunks", "missing.txt"), "missing.txt"),
    ],
)
def test_bad_input_is_one_line_that_names_the_culprit(cli: Cli, arguments: tuple[str, ...], names: str) -> None:
    """Bad input is exit code 2 and one line on stderr, without a traceback."""
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert names in ran.err
    assert "Traceback" not in ran.err

"""Topics from the command line."""

import base64
import gzip
import json

import pytest
from cli_runs import Cli

HELLO = "Hello! How do I keep my sourdough starter alive when I am on holiday for two weeks?"


@pytest.fixture
def subjects(cli: Cli) -> list[str]:
    """A session of user anna on two subjects; the ids of its topics."""
    arguments = ("-u", "anna", "-s", "talk")
    cli("add", "When is the final exam of the course, and in which room?", "On Saturday, in room 3.", *arguments)
    cli("add", "How does one register?", "On the school's site.", *arguments)
    cli("add", HELLO, "In the fridge, in a closed jar.", *arguments)
    found = [each["topic_id"] for each in cli("topics", "-u", "anna", "--json").lines]
    assert len(found) == 2
    return found


def test_topics_lists_what_was_talked_about(cli: Cli, subjects: list[str]) -> None:
    """Each topic has its figures, under the names that programs rely on, and what it is worth now."""
    first = cli("topics", "-u", "anna", "--json").lines[0]
    assert first["topic_title"] == "final exam of the course"
    assert (first["active_messages"], first["compressed_messages"], first["total_messages"]) == (4, 0, 4)
    assert (first["access_count"], first["memory_type"], first["half_life_days"]) == (2, "short-term", 1.0)
    assert 0.9 < first["priority"] <= 1
    words = cli("topics", "-u", "anna").out
    assert subjects[0][:8] in words
    assert "short-term" in words
    assert "importance_score" in cli("topics", "-u", "anna", "--stats").out


def test_a_topic_shows_its_turns(cli: Cli, subjects: list[str]) -> None:
    """A topic is named by the beginning of its id and shows its own turns only."""
    told = cli("topic", subjects[1][:8], "-u", "anna", "--json").document
    assert [turn["query"] for turn in told["turns"]] == [HELLO]
    words = " ".join(cli("topic", subjects[0], "-u", "anna").out.split())
    assert "How does one register?" in words
    assert "fridge" not in words


def test_a_topic_is_tagged_weighed_and_learns(cli: Cli, subjects: list[str]) -> None:
    """--tag, --weigh and --feedback change it, and the change is kept."""
    arguments = ("topic", subjects[0], "-u", "anna")
    assert cli(*arguments, "--tag", "exam", "--tag", "school", "--json").document["tags"] == ["exam", "school"]
    assert cli(*arguments, "--weigh", "0.5", "--json").document["importance_score"] == 0.5
    assert cli(*arguments, "--feedback", "-1", "--json").document["importance_score"] == pytest.approx(0.4)
    assert cli(*arguments, "--json").document["tags"] == ["exam", "school"]
    assert "exam, school" in cli("topics", "-u", "anna").out
    assert cli(*arguments, "--tag", "", "--json").document["tags"] == []


def test_a_topic_takes_in_another(cli: Cli, subjects: list[str]) -> None:
    """--merge makes one of two."""
    told = cli("topic", subjects[0], "-u", "anna", "--merge", subjects[1][:12], "--json").document
    assert len(told["turns"]) == 3
    assert [each["topic_id"] for each in cli("topics", "-u", "anna", "--json").lines] == [subjects[0]]


def test_a_topic_is_exported(cli: Cli, subjects: list[str]) -> None:
    """--export prints base64 of gzip of JSON and nothing else."""
    ran = cli("topic", subjects[1], "-u", "anna", "--export")
    messages = json.loads(gzip.decompress(base64.b64decode(ran.out)))
    assert [message["content"] for message in messages] == [HELLO, "In the fridge, in a closed jar."]
    assert cli("topic", subjects[1], "-u", "anna", "--export", "--json").document["export"] == ran.out.strip()


def test_topics_that_cannot_be_made_are_not_taken_for_silence(cli: Cli) -> None:
    """Where the embedder is away, the list says why there is nothing on it, and never that nothing was said."""
    cli("add", HELLO, "In the fridge, in a closed jar.", "-u", "anna", "-s", "talk", "--set", "organise=off")
    away = ("--set", "embedder=http://127.0.0.1:9/v1#small")
    words = " ".join(cli("topics", "-u", "anna", *away).out.split())
    assert "nothing was said" not in words
    assert "! topics are not up to date" in words
    assert "check the URL" in words


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        (("topic", "no-such-topic"), 3, "no-such-topic"),
        (("topic", ""), 3, "topics"),
        (("topic", "FIRST", "--weigh", "2"), 2, "importance"),
        (("topic", "FIRST", "--feedback", "7"), 2, "feedback"),
        (("topic", "FIRST", "--merge", "FIRST"), 2, "other_id"),
    ],
)
def test_bad_topics_are_one_line(
    cli: Cli, subjects: list[str], arguments: tuple[str, ...], code: int, names: str
) -> None:
    """What cannot be done is one line that names the culprit."""
    ran = cli(*(subjects[0] if each == "FIRST" else each for each in arguments), "-u", "anna")
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert names in ran.err


@pytest.mark.parametrize(
    "wrong", [("--weigh", "2"), ("--feedback", "-7"), ("--merge", "no-such-topic"), ("--merge", "FIRST")]
)
def test_a_wrong_change_among_others_changes_nothing(cli: Cli, subjects: list[str], wrong: tuple[str, ...]) -> None:
    """Several changes of one command are all made or none."""
    arguments = ("topic", subjects[0], "-u", "anna")
    given = [subjects[0] if each == "FIRST" else each for each in wrong]
    before = cli(*arguments, "--json").document
    assert cli(*arguments, "--tag", "exam", *(("--weigh", "0.5") if "--weigh" not in wrong else ()), *given).code != 0
    after = cli(*arguments, "--json").document
    told = ("tags", "importance_score", "total_messages")
    assert [after[name] for name in told] == [before[name] for name in told]

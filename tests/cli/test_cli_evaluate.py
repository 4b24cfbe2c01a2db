"""`ricordo eval`: questions from a history or a file, variants side by side, and what is refused."""

import json
from pathlib import Path

import pytest
from cli_runs import Cli

from ricordo.memory import Memory
from ricordo.memory import open as open_path

LIGHT = ("--set", "embedder=light")


@pytest.fixture
def past(db: Path) -> Path:
    """Anna moves house; later an answer quotes what she said, and a follow-up points at an answer."""
    with open_path(db, embedder="light") as memory:
        session = memory.session("one", user_id="anna")
        session.add_turn("I live in Ghent.", "Nice.")
        session.add_turn("How do I prune roses?", "In March, above a bud.")
        session.add_turn("I live in Bruges now.", "Noted.")
        memory.settle(60)
        _ask_again(memory)
    return db


def _ask_again(memory: Memory) -> None:
    turns = memory.session("one", user_id="anna").history()
    source = {"message_id": turns[1].messages[1].id, "session_id": "one", "turn_number": 2, "role": "assistant"}
    later = memory.session("two", user_id="anna")
    later.add_turn("When do I prune roses?", "You heard: in March.", metadata={"memory_sources": [source]})
    pointing = [{"turn_number": 1, "kind": "pronoun", "label": "", "text": "", "chunk_ids": [], "confidence": 0.8}]
    later.add_turn(
        "Why then?", "Because.", metadata={"references": pointing, "standalone": "Why prune roses in March?"}
    )


def test_a_history_makes_its_own_questions(cli: Cli, past: Path) -> None:
    """Quotes, follow-ups and facts that replaced others become questions, and the database is only read."""
    before = past.read_bytes()
    ran = cli("eval", "-u", "anna", *LIGHT, "--json")
    assert ran.code == 0, ran.err
    kinds = {each["kind"] for each in ran.document["questions"]}
    assert kinds == {"quoted", "follow-up", "correction"}
    [figures] = ran.document["variants"]
    assert figures["R@10"] == 1.0
    assert figures["outdated first"].endswith("of 1")
    assert past.read_bytes() == before


def test_two_variants_are_compared_question_by_question(cli: Cli, past: Path, tmp_path: Path) -> None:
    """A table, a JSON file, a picture, and the questions that moved."""
    assert past.exists()
    picture, written = tmp_path / "recall.svg", tmp_path / "all.json"
    arguments = ("--variant", "embedder=light", "--variant", "embedder=light recall_messages=3", "--compare")
    ran = cli("eval", "-u", "anna", *arguments, "--plot", str(picture), "-o", str(written))
    assert ran.code == 0, ran.err
    assert "recall_messages=3" in ran.out
    assert picture.read_text().count("<rect") == 6
    assert json.loads(written.read_text())["compared"] == []


def test_a_file_of_questions_names_messages_by_id_or_words(cli: Cli, past: Path, tmp_path: Path) -> None:
    """A question without an expected message must be refused by the reader."""
    assert past.exists()
    rows = [
        {"question": "When are roses cut?", "expected": "above a bud"},
        {"question": "Who is Zeno?", "expected": []},
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    ran = cli("eval", "-u", "anna", *LIGHT, "--questions", str(file), "--json")
    assert ran.code == 0, ran.err
    [figures] = ran.document["variants"]
    assert (figures["R@10"], figures["refused rightly"]) == (1.0, "1 of 1")


def test_labelled_conversations_are_read(cli: Cli, tmp_path: Path) -> None:
    """Conversations with units and queries need no database."""
    units = [
        {"id": "D1", "role": "Caro", "session": 1, "time": "1:56 pm on 8 May, 2023", "text": "I bought a red kayak."},
        {"id": "D2", "role": "Mel", "session": 1, "time": "1:56 pm on 8 May, 2023", "text": "I am baking bread."},
    ]
    queries = [{"id": 1, "text": "What did Caro buy?", "cat": "1", "gold": ["D1"]}]
    file = tmp_path / "set.jsonl"
    file.write_text(json.dumps({"conv_id": "c", "units": units, "queries": queries}))
    ran = cli("eval", *LIGHT, "--questions", str(file), "--json")
    assert ran.code == 0, ran.err
    assert [each["rank"] for each in ran.document["questions"]] == [1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not json", "line 1 is no JSON"),
        ('{"a": 1}', "no known format"),
        ('{"question": "q", "expected": "moon cheese"}', "no message"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(cli: Cli, past: Path, tmp_path: Path, text: str, says: str) -> None:
    """The error names the line and the known formats, or the message that is missing."""
    assert past.exists()
    file = tmp_path / "questions.jsonl"
    file.write_text(text)
    ran = cli("eval", "-u", "anna", *LIGHT, "--questions", str(file))
    assert ran.code != 0
    assert says in ran.err


def test_a_variant_that_cannot_be_is_refused_first(cli: Cli, past: Path) -> None:
    """An unknown embedder and a setting without a value are named before anything is measured."""
    assert past.exists()
    assert "moon" in cli("eval", "-u", "anna", "--variant", "embedder=light", "--variant", "embedder=moon").err
    assert "name=value" in cli("eval", "-u", "anna", "--variant", "light").err


def test_what_cannot_be_measured_is_said(cli: Cli, talk: str) -> None:
    """No questions, a missing file: each names the remedy."""
    assert talk
    assert "--questions" in cli("eval", "-u", "anna", *LIGHT).err
    assert "there is no" in cli("eval", "-u", "anna", "--questions", "nowhere.jsonl").err

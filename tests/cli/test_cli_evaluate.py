"""`ricordo eval`: questions from a history or a file, variants side by side, and what is refused."""

import json
from pathlib import Path

import pytest
from cli_runs import Cli

from ricordo.cli.evaluate import moment_of
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
    ran = cli("eval", "-u", "anna", *LIGHT, "--json", "--answers")
    assert ran.code == 0, ran.err
    refused = {each["kind"]: each["refused"] for each in ran.document["questions"]}
    assert refused["correction"] is None
    assert refused["quoted"] is not None
    kinds = {each["kind"] for each in ran.document["questions"]}
    assert kinds == {"quoted", "follow-up", "correction"}
    [figures] = ran.document["variants"]
    assert figures["R@10"] == 1.0
    assert figures["outdated first"].endswith("of 1")
    assert figures["quoted (1), R@10"] == 1.0
    assert past.read_bytes() == before


def test_two_variants_are_compared_question_by_question(cli: Cli, past: Path, tmp_path: Path) -> None:
    """A table, a JSON file, a picture, and the questions that moved."""
    assert past.exists()
    picture, written = tmp_path / "recall.svg", tmp_path / "all.json"
    arguments = ("--variant", "embedder=light", "--variant", "embedder=light recall_messages=3", "--compare")
    ran = cli("eval", "-u", "anna", *arguments, "--plot", str(picture), "-o", str(written))
    assert ran.code == 0, ran.err
    assert "recall_messages=3" in ran.out
    assert "kept its place" in ran.out
    assert "refused" not in ran.out
    assert "wrote" in ran.err
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


LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Caro",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Caro", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a photo of a red kayak"},
                {"speaker": "Mel", "dia_id": "D1:2", "text": "I am baking bread."},
            ],
        },
        "qa": [
            {"question": "Who has a kayak?", "answer": "Caro", "evidence": ["D1:1"], "category": 4},
            {"question": "Who has a yacht?", "category": 5},
        ],
    }
]
LONGMEMEVAL = [
    {
        "question_id": "q_abs",
        "question_type": "single-session-user",
        "question": "Where do I keep the kayak?",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/22 (Mon) 07:00"],
        "haystack_sessions": [
            [{"role": "user", "content": "I keep the kayak in the barn.", "has_answer": True}],
            [{"role": "user", "content": "Bread, please."}, {"role": "assistant", "content": "Flour and water."}],
        ],
    }
]
_BEAM_BATCH = [
    {"id": 0, "role": "user", "content": "My kayak is red.", "time_anchor": "March-15-2024"},
    {"id": 1, "role": "assistant", "content": "Nice.", "time_anchor": None},
]
_BEAM_ASKED = {"information_extraction": [{"question": "What colour is my kayak?", "source_chat_ids": {"first": [0]}}]}
BEAM = {"conversation_id": "1", "chat": [_BEAM_BATCH], "probing_questions": str(_BEAM_ASKED)}
BEAM_BATCHES = {"chat": [{"batch_number": 1, "turns": [_BEAM_BATCH]}], "probing_questions": _BEAM_ASKED}


@pytest.mark.parametrize(
    ("published", "kind"),
    [
        (LOCOMO, "4"),
        (LONGMEMEVAL, "single-session-user"),
        (BEAM, "information_extraction"),
        (BEAM_BATCHES, "information_extraction"),
    ],
    ids=["LoCoMo", "LongMemEval", "BEAM", "BEAM by batches"],
)
def test_published_sets_are_read_as_they_are(cli: Cli, tmp_path: Path, published: object, kind: str) -> None:
    """The files of LoCoMo, LongMemEval and BEAM need no conversion; questions without evidence are left out."""
    file = tmp_path / "set.json"
    file.write_text(json.dumps(published, indent=1 if isinstance(published, list) else None))
    ran = cli("eval", *LIGHT, "--questions", str(file), "--json")
    assert ran.code == 0, ran.err
    assert [(each["rank"], each["kind"]) for each in ran.document["questions"]] == [(1, kind)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("1:56 pm on 8 May, 2023", (2023, 5, 8)),
        ("2023/05/20 (Sat) 02:21", (2023, 5, 20)),
        ("March-15-2024", (2024, 3, 15)),
        ("2025-12-15 (Monday)", (2025, 12, 15)),
        ("2024-01-31", (2024, 1, 31)),
    ],
)
def test_times_of_published_sets_are_read(text: str, day: tuple[int, int, int]) -> None:
    """Each set writes times in a form of its own; another text is no time."""
    moment = moment_of(text)
    assert moment is not None
    assert (moment.year, moment.month, moment.day) == day
    assert moment_of(f"about {text}") is None


def test_receipts_make_questions(cli: Cli, db: Path) -> None:
    """An answer that uses a recalled message, as its receipt says, asks for that message again."""
    with open_path(db, embedder="light") as memory:
        memory.session("one", user_id="anna").add_turn("Our kayak hangs in the barn behind the mill.", "Good.")
        memory.settle(60)
        later = memory.session("two", user_id="anna")
        context = later.context("Where does our kayak hang?")
        later.add_turn("Where does our kayak hang?", "In the barn behind the mill.", receipt=context.receipt)
        memory.settle(60)
    ran = cli("eval", "-u", "anna", *LIGHT, "--json")
    assert ran.code == 0, ran.err
    assert [(each["kind"], each["rank"]) for each in ran.document["questions"] if each["kind"] == "receipt"] == [
        ("receipt", 1)
    ]


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
    assert "give --variant twice" in cli("eval", "-u", "anna", *LIGHT, "--compare").err
    assert "name=value" in cli("eval", "-u", "anna", "--variant", "light").err


def test_what_cannot_be_measured_is_said(cli: Cli, talk: str) -> None:
    """No questions, a missing file: each names the remedy."""
    assert talk
    assert "--questions" in cli("eval", "-u", "anna", *LIGHT).err
    assert "there is no" in cli("eval", "-u", "anna", "--questions", "nowhere.jsonl").err

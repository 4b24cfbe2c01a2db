"""Search, new vectors, and the embedders' weights, which are downloaded only on request."""

import io
from pathlib import Path

import pytest
from cli_runs import Cli


@pytest.fixture
def past(cli: Cli) -> list[str]:
    """Two sessions of user anna, one in spring and one in autumn; their ids."""
    spring = cli(
        "add",
        "My oven only reaches 220 degrees",
        "A hot stone helps.",
        "-u",
        "anna",
        "--agent",
        "tutor",
        "--at",
        "2026-04-10T10:00:00+00:00",
        "--json",
    ).document
    autumn = cli(
        "add",
        "Where does the Danube end?",
        "In the Black Sea, far from any oven.",
        "-u",
        "anna",
        "--at",
        "2026-10-10T10:00:00+00:00",
        "--json",
    ).document
    return [spring["session_id"], autumn["session_id"]]


def test_search_finds_across_sessions_with_reasons(cli: Cli, past: list[str]) -> None:
    """The best message comes first, with its score, its place and why."""
    found = cli("search", "which oven do I have?", "-u", "anna", "--json").document
    assert (found["query"], found["embedder"], found["degraded"]) == ("which oven do I have?", "light-256@1", [])
    best = found["hits"][0]
    assert best["content"] == "My oven only reaches 220 degrees"
    assert (best["session_id"], best["turn_number"], best["role"]) == (past[0], 1, "user")
    assert any("oven" in reason for reason in best["reasons"])
    assert 0 < best["score"] <= 1


def test_search_for_people(cli: Cli, past: list[str]) -> None:
    """People see score, time, speaker, words and reasons."""
    words = " ".join(cli("search", "which oven do I have?", "-u", "anna", "-n", "1").out.split())
    assert "2026-04-10" in words
    assert "user" in words
    assert "words: oven" in words
    assert "searched with light-256@1" in words
    assert "nothing was found" in cli("search", "oven", "-u", "zoe").out


@pytest.mark.parametrize(
    ("option", "value", "left"),
    [
        ("--role", "assistant", "In the Black Sea, far from any oven."),
        ("--agent", "tutor", "My oven only reaches 220 degrees"),
        ("--after", "2026-06-01", "In the Black Sea, far from any oven."),
        ("--before", "2026-06-01T00:00:00+02:00", "My oven only reaches 220 degrees"),
    ],
)
def test_search_filters(cli: Cli, past: list[str], option: str, value: str, left: str) -> None:
    """Each filter leaves only what it allows."""
    hits = cli("search", "oven", "-u", "anna", option, value, "--json").document["hits"]
    assert hits[0]["content"] == left
    assert len(hits) < len(cli("search", "oven", "-u", "anna", "--json").document["hits"])


def test_search_in_a_session_and_by_topic(cli: Cli, past: list[str]) -> None:
    """--session and --topic look nowhere else."""
    hits = cli("search", "oven", "-u", "anna", "-s", past[1], "--json").document["hits"]
    assert {hit["session_id"] for hit in hits} == {past[1]}
    topic = cli("topics", "-u", "anna", "-s", past[0], "--json").lines[0]["topic_id"]
    for name in (topic, topic[:8]):
        hits = cli("search", "oven", "-u", "anna", "--topic", name, "--json").document["hits"]
        assert {hit["session_id"] for hit in hits} == {past[0]}
    assert cli("search", "oven", "-u", "anna", "--topic", "nowhere").code == 3


def test_search_reads_a_pipe_and_refuses_bad_times(cli: Cli, past: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads the query; a time that is none is one line that names it."""
    monkeypatch.setattr("sys.stdin", io.StringIO("oven\n"))
    assert cli("search", "-", "-u", "anna", "--json").document["query"] == "oven"
    ran = cli("search", "oven", "-u", "anna", "--after", "spring")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "after" in ran.err


def test_a_written_turn_is_found_at_once(cli: Cli, past: list[str]) -> None:
    """What one command keeps, the next one finds."""
    cli("add", "I prefer rye flour", "Noted.", "-u", "anna", "-c")
    hits = cli("search", "rye", "-u", "anna", "-n", "1", "--json").document["hits"]
    assert hits[0]["content"] == "I prefer rye flour"


def test_embed_after_a_change_of_embedder(cli: Cli, past: list[str]) -> None:
    """`embed` makes the vectors of the embedder that is set, once."""
    assert cli("embed", "--json").document["turns"] in (0, 1, 2)  # what the work beside the talk has left
    assert cli("embed", "--json").document["turns"] == 0
    other = cli("embed", "--set", "embedder=deterministic", "--json").document
    assert other["turns"] == 2
    assert other["embedder"].startswith("deterministic")
    assert cli("embed", "--set", "embedder=deterministic", "--json").document["turns"] == 0
    assert "embedded 2 turns with light-256@1" in cli("embed").out


def test_an_embedder_that_cannot_work_is_one_line(cli: Cli, past: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A named embedder without its weights takes the meaning away, never the words, and names the remedy."""
    monkeypatch.setenv("RICORDO_WEIGHTS", "no-such-folder")
    ran = cli("search", "oven", "-u", "anna", "--set", "embedder=arctic", "--json")
    assert ran.code == 0
    assert any("weights" in note for note in ran.document["degraded"])
    cli("add", "I prefer rye flour", "Noted.", "-u", "anna")
    built = cli("context", "And my oven?", "-u", "anna", "--set", "embedder=arctic", "--json")
    assert built.code == 0
    assert any("weights" in note for note in built.document["receipt"]["degraded"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for weights."""
    monkeypatch.setenv("RICORDO_WEIGHTS", str(tmp_path / "weights"))
    return tmp_path / "weights"


def test_missing_weights_are_named_with_the_remedy(bare: Cli, folder: Path) -> None:
    """Without weights the exit code is 1, each set is missing, and nothing is fetched or made."""
    ran = bare("weights", "--json")
    assert ran.code == 1
    assert ran.document["folder"] == str(folder)
    assert {each["state"] for each in ran.document["weights"]} == {"missing"}
    assert "fetch" in bare("weights").out
    assert not folder.exists()


def test_other_bytes_are_refused(bare: Cli, folder: Path) -> None:
    """A file that is not the promised one is refused by its hash."""
    name = bare("weights", "--json").document["weights"][0]["name"]
    (folder / name).mkdir(parents=True)
    (folder / name / "model.onnx").write_bytes(b"not a model")
    (folder / name / "tokenizer.json").write_bytes(b"{}")
    ran = bare("weights", name, "--json")
    assert ran.code == 1
    assert [each["state"] for each in ran.document["weights"]] == ["refused"]
    assert "sha256" in ran.document["weights"][0]["problem"]


def test_unknown_weights_are_wrong_usage(bare: Cli, folder: Path) -> None:
    """A name that is no set of weights is refused with those that are."""
    ran = bare("weights", "heavy")
    assert ran.code == 2
    assert "heavy" in ran.err


def test_a_search_for_nothing_that_was_said_tells_so(cli: Cli, past: list[str]) -> None:
    """The reasons tell the cosine, not the share of the best: what is nearest to nonsense is not near."""
    nonsense = ("search", "nonsense xyzzy", "-u", "anna")
    hits = cli(*nonsense, "--json").document["hits"]
    assert not any(hit["near"] or "meaning: 1.00" in hit["reasons"] for hit in hits)
    assert not hits or "nothing matches well" in cli(*nonsense).out
    oven = ("search", "which oven do I have?", "-u", "anna")
    assert cli(*oven, "--json").document["hits"][0]["near"]
    assert "nothing matches well" not in cli(*oven).out

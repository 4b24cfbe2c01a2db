"""The benchmark of live talks: messages go to a chat with an empty memory, and broken labels are named."""

import json
import zlib
from pathlib import Path

import pytest
from bench.live import DATA, main

TALK = {
    "lang": "en",
    "voice": "test",
    "turns": [
        {"say": "My dog is called Biscuit.", "any": [["Biscuit"]], "none": [], "what": "statement", "same": True},
        {"say": "What is my dog called?", "any": [["Biscuit"]], "none": ["Rex"], "what": "question", "same": True},
        {"say": "What is my dog called?", "any": [["Rex"]], "none": ["Biscuit"], "what": "question"},
    ],
}


def ids(*, third: bool) -> list[str]:
    """Ids of two talks that are, or are not, in the untouched third."""
    return [name for name in map("t{}".format, range(50)) if (zlib.crc32(name.encode()) % 3 == 0) == third][:2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two talks that are read and two that are only counted."""
    rows = [{**TALK, "id": name} for name in (*ids(third=False), *ids(third=True))]
    (tmp_path / "live_en.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def test_two_talks_are_held(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels that are kept are counted; one that is not is printed with what it lacks and what it must not say."""
    saved = tmp_path / "replies.jsonl"
    assert main(["--data", str(folder), "--embedder", "light", "--save", str(saved)]) == 0
    out = capsys.readouterr().out
    replies = [json.loads(line) for line in saved.read_text(encoding="utf-8").splitlines()]
    assert [each["id"] for each in replies] == [f"{name}.{n}" for name in ids(third=False) for n in (1, 2, 3)]
    assert [each["broken"] for each in replies[:3]] == [[], [], ["lacks Rex", "says Biscuit"]]
    assert "4/6" in out
    assert "lacks Rex" in out


def test_the_untouched_third_is_only_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --third the other talks are held, and nothing of them is printed but figures."""
    assert main(["--data", str(folder), "--embedder", "light", "--third"]) == 0
    out = capsys.readouterr().out
    assert "4/6" in out
    assert "Biscuit" not in out


def test_the_talks_are_complete() -> None:
    """Forty talks a language, each message with a kind and a label."""
    for lang in ("en", "it"):
        talks = [json.loads(line) for line in (DATA / f"live_{lang}.jsonl").read_text(encoding="utf-8").splitlines()]
        assert len({talk["id"] for talk in talks}) == 40
        for turn in (turn for talk in talks for turn in talk["turns"]):
            assert turn["say"]
            assert turn["what"]
            assert turn["any"] or turn["none"]

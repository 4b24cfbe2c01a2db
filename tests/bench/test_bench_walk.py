"""The benchmark of source files: what one context and one chat run through."""

import json

import pytest

pytest.importorskip("fastapi")

from bench.walk import MOST_FILES, PACKAGE, Recorder, main

from ricordo.limits import check_id


def test_a_context_and_a_chat_are_walked(capsys: pytest.CaptureFixture[str]) -> None:
    """Both calls are reported with files that exist, and the exit code says whether either is above its target."""
    code = main(["--json"])
    walks = {walk["call"]: walk for walk in json.loads(capsys.readouterr().out)}
    assert set(walks) == {"context", "chat"}
    for walk in walks.values():
        assert all((PACKAGE / name).is_file() for name in walk["files"])
        assert walk["functions"] > len(walk["files"])
        assert "session.py" in walk["files"]
    assert any(name.startswith("server/") for name in walks["chat"]["files"])
    assert not any(name.startswith("server/") for name in walks["context"]["files"])
    assert code == int(any(len(walk["files"]) > MOST_FILES[call] for call, walk in walks.items()))


def test_only_the_recorded_call_counts() -> None:
    """What ran before the call is not in its walk."""
    recorder = Recorder()
    with recorder.installed():
        check_id("user_id", "before")
        assert recorder.record("context", lambda: None).files == ()
        assert recorder.record("context", lambda: check_id("user_id", "anna")).files == ("limits.py",)

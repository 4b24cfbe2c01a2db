"""`ricordo hook install` and `ricordo mcp config`: the configuration of hosts, written, taken back and printed."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Cli
from hook_samples import a_repository, claude_transcript, codex_transcript

FOREIGN = {
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}],
    },
}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home of its own."""
    home = tmp_path / "home"
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "RICORDO_URL", "RICORDO_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USER", "anna")
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name))
    return home


def commands(path: Path) -> dict[str, list[str]]:
    """The commands of each event."""
    hooks: dict[str, list[Any]] = json.loads(path.read_text())["hooks"]
    return {event: [each["command"] for group in groups for each in group["hooks"]] for event, groups in hooks.items()}


def test_hooks_are_shown_first_and_written_beside_others(bare: Cli, home: Path) -> None:
    """Without --yes nothing is written; with it our commands join those that are there, once however often."""
    path = home / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(FOREIGN, indent=4))
    shown = bare("hook", "install", "claude-code")
    assert (shown.code, json.loads(path.read_text())) == (0, FOREIGN)
    assert '+                        "command"' in shown.err + shown.out
    for _ in range(2):
        assert bare("hook", "install", "claude-code", "--yes").code == 0
    written = commands(path)
    assert set(written) == {"Stop", "PreToolUse", "SessionStart", "UserPromptSubmit", "SessionEnd"}
    assert written["PreToolUse"] == ["check"]
    assert written["Stop"][0] == "say done"
    (ours,) = written["SessionStart"]
    assert ours.endswith(" hook --host claude-code")
    assert ours.startswith("/")
    assert json.loads(path.read_text())["model"] == "opus"


def test_remove_takes_back_exactly_what_was_written(bare: Cli, home: Path) -> None:
    """Byte for byte where nothing else changed, by our entries alone where it did; a file that we made goes."""
    path = home / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    odd = '{"hooks": {"Stop": []},\n\n   "model":"opus"}'
    path.write_text(odd)
    bare("hook", "install", "claude-code", "--yes")
    bare("hook", "install", "claude-code", "--yes", "--user", "bruno")
    bare("hook", "install", "claude-code", "--remove", "--yes")
    assert path.read_text() == odd
    bare("hook", "install", "claude-code", "--yes")
    path.write_text(json.dumps({**json.loads(path.read_text()), "theme": "dark"}))
    bare("hook", "install", "claude-code", "--remove", "--yes")
    assert json.loads(path.read_text()) == {"model": "opus", "theme": "dark"}
    codex = home / ".codex" / "hooks.json"
    bare("hook", "install", "codex", "--yes")
    assert set(commands(codex)) == {"SessionStart", "UserPromptSubmit", "Stop"}
    bare("hook", "install", "codex", "--remove", "--yes")
    assert not codex.exists()
    assert bare("hook", "install", "codex", "--remove", "--yes").code == 0


@pytest.mark.parametrize("broken", ['{"hooks": ', '{"hooks": []}', '{"hooks": {"Stop": {}}}', "[]", '// x\n{"a": 1}'])
def test_a_broken_file_is_refused_with_the_remedy(bare: Cli, home: Path, broken: str) -> None:
    """What cannot be read is not written over."""
    path = home / ".codex" / "hooks.json"
    path.parent.mkdir(parents=True)
    path.write_text(broken)
    ran = bare("hook", "install", "codex", "--yes")
    assert ran.code == 2
    assert "move it away" in ran.err
    assert path.read_text() == broken


def test_a_link_to_the_file_stays_a_link(bare: Cli, home: Path, tmp_path: Path) -> None:
    """Settings that live elsewhere are written there."""
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    path = home / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    bare("hook", "install", "claude-code", "--yes")
    assert path.is_symlink()
    assert "Stop" in commands(real)


@pytest.mark.parametrize("host", ["claude-desktop", "claude-code", "cursor", "codex", "vscode", "librechat"])
def test_the_configuration_of_a_host_is_absolute(bare: Cli, home: Path, host: str) -> None:
    """A program with a bare PATH and any working folder finds the command and the database."""
    printed = bare("mcp", "config", host)
    assert printed.code == 0
    if host == "codex":
        server = tomllib.loads(printed.out)["mcp_servers"]["ricordo"]
    elif host == "librechat":
        assert f'- "{home}/DATA/ricordo/ricordo.db"' in printed.out
        return
    else:
        server = next(iter(json.loads(printed.out).values()))["ricordo"]
    assert Path(server["command"]).is_absolute()
    assert server["args"][-4:] == ["--db", f"{home}/DATA/ricordo/ricordo.db", "--user", "anna"]


def test_an_unknown_host_is_refused(bare: Cli) -> None:
    """With the names that are known."""
    assert "cursor" in bare("mcp", "config", "emacs").err
    assert bare("mcp", "config").code == 2
    assert "codex" in bare("hook", "install", "vim").err


def test_transcripts_are_imported_with_their_dates_and_once(bare: Cli, home: Path, tmp_path: Path) -> None:
    """`ricordo import ~/.claude/projects` reads all below, into the database of the hook, for the login name."""
    shop = a_repository(tmp_path / "shop")
    folder = home / ".claude" / "projects"
    claude_transcript(folder / "-shop" / "a.jsonl", shop, ("One?", "1."), ("Two?", "2."), session="a")
    claude_transcript(folder / "-shop" / "b.jsonl", shop, ("Three?", ""), session="b", day=2)
    (folder / "-shop" / "empty.jsonl").write_text("")
    codex_transcript(home / ".codex" / "sessions" / "2026" / "05" / "rollout-x.jsonl", shop, ("Four?", "4."))
    first = bare("import", str(folder), "--json").document
    assert (first["format"], first["sessions_added"], first["turns_added"]) == ("claude-code", 2, 3)
    again = bare("import", str(folder), "--json").document
    assert (again["turns_added"], again["turns_known"]) == (0, 3)
    claude_transcript(folder / "-shop" / "b.jsonl", shop, ("Three?", "3."), ("More?", "Yes."), session="b", day=2)
    grown = bare("import", str(folder), "--json").document
    assert (grown["turns_added"], grown["turns_completed"], grown["problem_count"]) == (1, 1, {})
    codex = bare("import", str(home / ".codex" / "sessions"), "--json").document
    assert (codex["format"], codex["turns_added"]) == ("codex", 1)
    database = str(home / "DATA" / "ricordo" / "ricordo.db")
    listed = bare("sessions", "--db", database, "--user", "anna", "--json", "--limit", "9").lines
    assert {each["project"] for each in listed} == {str(shop)}
    told = bare("search", "two", "--db", database, "--user", "anna", "--json").document["hits"]
    assert told[0]["created_at"].startswith("2026-05-01T10:01")


def test_what_is_no_transcript_is_still_what_it_was(bare: Cli, tmp_path: Path) -> None:
    """JSON lines of messages are not taken for a transcript."""
    path = tmp_path / "talk.jsonl"
    path.write_text('{"role": "user", "content": "Hello?"}\n{"role": "assistant", "content": "Hi."}\n')
    assert bare("import", str(path), "--user", "anna", "--json").document["format"] == "messages"

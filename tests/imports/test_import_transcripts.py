"""Transcripts of coding agents, read whatever state they are in."""

import json
from pathlib import Path

from ricordo.imports.conversation import Conversation
from ricordo.imports.transcripts import read_transcript, transcript_format, transcripts

BASE = {"sessionId": "s", "cwd": "/nowhere", "timestamp": "2026-05-01T10:00:00Z"}


def line(kind: str, content: object, **more: object) -> str:
    """A line of Claude Code."""
    return json.dumps({**BASE, "type": kind, "message": {"role": kind, "content": content}, **more})


def said(path: Path) -> list[tuple[str, str]]:
    """Roles and words of a transcript."""
    found = read_transcript(path, "claude-code")
    assert isinstance(found, Conversation)
    return [(each.role, each.content) for each in found.paths[0]]


def test_a_half_written_line_and_damage_do_not_hide_the_rest(tmp_path: Path) -> None:
    """The host writes while it is read; a line that is no JSON, or no object, is passed over."""
    path = tmp_path / "a.jsonl"
    whole = [line("user", "One?"), "{broken", "[1, 2]", "", line("assistant", "1."), line("user", "Two?")]
    path.write_bytes("\n".join(whole).encode() + b'\n\xff\xfe\x00\n{"type": "assistant", "mess')
    assert transcript_format(path) == "claude-code"
    assert said(path) == [("user", "One?"), ("assistant", "1."), ("user", "Two?")]


def test_only_what_a_person_typed_is_a_prompt(tmp_path: Path) -> None:
    """Notes of the host, local commands, interruptions, summaries and helpers' prompts are none."""
    path = tmp_path / "a.jsonl"
    path.write_text(
        "\n".join(
            [
                line("user", "<command-name>/clear</command-name>"),
                line("user", "<local-command-stdout>ok</local-command-stdout>"),
                line("user", "[Request interrupted by user]"),
                line("user", "A summary of the talk", isCompactSummary=True),
                line("user", "For a helper", isSidechain=True),
                line("user", "Real<system-reminder>x</system-reminder> question?"),
                line("assistant", [{"type": "text", "text": "Part one."}], uuid="a"),
                line("assistant", "Nothing", isSidechain=True),
            ]
        )
    )
    assert said(path) == [("user", "Real question?"), ("assistant", "Part one.")]


def test_an_answer_that_is_still_being_worked_on_is_none(tmp_path: Path) -> None:
    """Words before a tool call are no answer, unless the person has gone on since."""
    path = tmp_path / "a.jsonl"
    working = [
        line("user", "Fix it."),
        line("assistant", "Let me look."),
        line("assistant", [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]),
        line("user", [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]),
    ]
    path.write_text("\n".join(working))
    assert said(path) == [("user", "Fix it.")]
    path.write_text("\n".join([*working, line("user", "Never mind.")]))
    assert said(path) == [("user", "Fix it."), ("assistant", "Let me look."), ("user", "Never mind.")]


def test_other_files_are_no_transcripts(tmp_path: Path) -> None:
    """Binary files, other JSON lines and empty files are left to the other readers."""
    (tmp_path / "a.jsonl").write_bytes(b"\x00\x01\xff" * 100)
    (tmp_path / "b.jsonl").write_text('{"role": "user", "content": "x"}\n{"type": "user"}\n')
    (tmp_path / "c.jsonl").write_text("")
    (tmp_path / "d.json").write_text(line("user", "x"))
    assert transcripts(tmp_path) == []
    assert transcripts(tmp_path / "d.json") == []

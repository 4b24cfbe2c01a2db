"""Events as the hosts send them, by their documentation, and transcripts as they write them."""

import json
from pathlib import Path
from typing import Any

EVENTS = Path(__file__).parent.parent / "data" / "hooks"


def events(host: str, **fields: Any) -> dict[str, dict[str, Any]]:
    """The recorded events of a host, by name (and source), with these values in the places of the capital words."""
    found = {}
    for line in (EVENTS / f"{host}.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        for name, value in event.items():
            if isinstance(value, str) and value.isupper() and value.lower() in fields:
                event[name] = fields[value.lower()]
        key = event["hook_event_name"] if event.get("source") != "compact" else "compact"
        found[key] = event
    return found


def a_repository(folder: Path, remote: str = "") -> Path:
    """A folder that is a repository, as far as its files tell."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    if remote:
        (folder / ".git" / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {remote}\n')
    return folder


def claude_transcript(path: Path, cwd: Path, *turns: tuple[str, str], session: str = "s-1", day: int = 1) -> Path:
    """A transcript of Claude Code: each answer after a thought and a tool call, with the host's own lines between."""
    base = {"sessionId": session, "cwd": str(cwd), "isSidechain": False, "version": "2.1.12", "gitBranch": "main"}
    lines: list[dict[str, Any]] = [
        {"type": "queue-operation", "operation": "dequeue", "sessionId": session},
        {"type": "file-history-snapshot", "messageId": "m0", "snapshot": {}},
        {
            **base,
            "type": "user",
            "isMeta": True,
            "uuid": "meta",
            "message": {"role": "user", "content": "Caveat: hidden"},
        },
    ]
    for n, (prompt, answer) in enumerate(turns):
        at = {"timestamp": f"2026-05-{day:02}T10:{n:02}:00.000Z"}
        asked = [{"type": "text", "text": f"{prompt}<system-reminder>be brief</system-reminder>"}]
        result = [{"type": "tool_result", "tool_use_id": "t", "content": "file text"}]
        said = [
            [{"type": "thinking", "thinking": "secret thoughts"}],
            [{"type": "text", "text": "Let me look."}],
            [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}],
        ]
        lines.append({**base, **at, "type": "user", "uuid": f"u{n}", "message": {"role": "user", "content": asked}})
        lines += [
            {**base, **at, "type": "assistant", "uuid": f"a{n}{m}", "message": {"id": f"msg-{n}", "content": blocks}}
            for m, blocks in enumerate(said)
        ]
        lines.append({**base, **at, "type": "user", "uuid": f"r{n}", "message": {"role": "user", "content": result}})
        side = {"role": "user", "content": "A prompt for a helper"}
        lines.append({**base, **at, "isSidechain": True, "type": "user", "uuid": f"x{n}", "message": side})
        if answer:
            final = {"id": f"end-{n}", "role": "assistant", "content": [{"type": "text", "text": answer}]}
            lines.append({**base, **at, "type": "assistant", "uuid": f"e{n}", "message": final})
    return _written(path, lines)


def codex_transcript(path: Path, cwd: Path, *turns: tuple[str, str], session: str = "c-1") -> Path:
    """A rollout of Codex: items and events, the first item injected by the host."""
    at = {"timestamp": "2026-05-01T10:00:00.000Z"}

    def item(role: str, words: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}
        return {**at, "type": "response_item", "payload": payload}

    lines: list[dict[str, Any]] = [
        {**at, "type": "session_meta", "payload": {"id": session, "cwd": str(cwd), "cli_version": "0.140.0"}},
        item("user", "<environment_context><cwd>/x</cwd></environment_context>"),
        item("user", "Instructions of a plugin that nobody typed"),
    ]
    for prompt, answer in turns:
        lines.append(item("user", prompt))
        lines.append({**at, "type": "event_msg", "payload": {"type": "user_message", "message": prompt}})
        lines.append({**at, "type": "event_msg", "payload": {"type": "agent_message", "message": "Looking."}})
        lines.append({**at, "type": "response_item", "payload": {"type": "function_call", "name": "shell"}})
        if answer:
            lines.append({**at, "type": "event_msg", "payload": {"type": "agent_message", "message": answer}})
            lines.append(item("assistant", answer))
    return _written(path, lines)


def _written(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path

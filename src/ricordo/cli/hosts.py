"""The configuration of hosts: `ricordo hook install HOST` writes it, `ricordo mcp config HOST` prints it.

A host may be started in any folder, so a configuration has the absolute command and the database. The change is shown
as a difference first; other entries stay. `--remove` undoes exactly what was written.
"""

import argparse
import difflib
import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from rich.text import Text

from ricordo.cli.arguments import Options, command
from ricordo.cli.hook import database, personal_user, state_folder
from ricordo.cli.output import Output, printable
from ricordo.errors import ValidationError

HOOK_SECONDS = 5  # after which a host gives up; the command itself gives up sooner
HOOK_EVENTS = {
    "claude-code": ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"),
    "codex": ("SessionStart", "UserPromptSubmit", "Stop"),
}
MCP_HOSTS = ("claude-desktop", "claude-code", "cursor", "codex", "vscode", "librechat")


def program() -> list[str]:
    """The absolute command of this installation."""
    script = Path(sys.executable).parent / "ricordo"
    return [str(script)] if os.access(script, os.X_OK) else [sys.executable, "-m", "ricordo"]


def _hook_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["install"], help="without it, the event of a host is read from stdin")
    parser.add_argument("host_name", metavar="HOST", choices=list(HOOK_EVENTS), help=", ".join(HOOK_EVENTS))
    parser.add_argument("-u", "--user", metavar="ID", help="the user (default: RICORDO_USER or the login name)")
    parser.add_argument("--remove", action="store_true", help="take back what was written")
    parser.add_argument("--yes", action="store_true", help="write without asking")


@command(
    "memory for coding agents: answer an event of Claude Code or Codex; `install` writes their configuration",
    _hook_arguments,
    "ricordo hook install claude-code",
)
def hook(options: Options, output: Output) -> None:
    path, command = hook_file(options.host_name), hook_command(options)
    before = _read(path)
    known = _noted(path) if options.remove else None  # the earlier file, unless another program has changed it since
    after = known["before"] if known and known["after"] == before else None
    if after is None:
        after = _edited(
            path, before, options.host_name, [] if options.remove else HOOK_EVENTS[options.host_name], command
        )
    changed = before != after
    plain = {"host": options.host_name, "file": str(path), "changed": changed, "written": False}
    if not changed:
        output.document(plain, f"{path} needs no change")
        return
    shown = _difference(path, before, after)
    if not output.as_json:
        output.note("".join(shown))
    if not (options.yes or _agreed(path, output)):
        output.document(plain | {"diff": "".join(shown)}, f"nothing was written; add --yes to write {path}")
        return
    _write(path, after)
    if options.remove:
        _record(path).unlink(missing_ok=True)
    else:
        _remember(path, before, after)
    line = f"removed the hooks from {path}" if options.remove else f"wrote the hooks to {path}"
    more = (
        "Codex asks you to trust them with its next start"
        if options.host_name == "codex" and not options.remove
        else ""
    )
    output.document(plain | {"written": True}, line, *[Text(more, "dim")] if more else [])


def hook_file(host: str) -> Path:
    """The file in which a host reads its hooks, behind a link too."""
    if host == "codex":
        folder = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
        return (folder / "hooks.json").resolve()
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    return (folder / "settings.json").resolve()


def hook_command(options: Options) -> str:
    """The command that a host calls, without options that are the default there."""
    chosen = [*program(), "hook", "--host", options.host_name]
    chosen += ["--db", database({"db": options.db})] if options.db else []
    chosen += ["--user", options.user] if options.user else []
    chosen += ["--project", options.project] if options.project else []
    return shlex.join(chosen)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") if path.exists() else ""
    except UnicodeDecodeError as error:
        raise ValidationError(
            str(path), f"is not text ({error}); mend it or move it away, then run this again"
        ) from None


def _edited(path: Path, before: str, host: str, events: Any, command: str) -> str:
    """The file with our hooks at these events, and at no other."""
    try:
        root = json.loads(before) if before.strip() else {}
    except ValueError as error:
        raise ValidationError(
            str(path), f"is not JSON ({error}); mend it or move it away, then run this again"
        ) from None
    hooks = root.get("hooks", {}) if isinstance(root, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise ValidationError(
            str(path), 'expected {"hooks": {EVENT: […]}}; mend it or move it away, then run this again'
        )
    kept = {event: left for event, groups in hooks.items() if (left := _without_ours(groups, host)) or not groups}
    entry = {"hooks": [{"type": "command", "command": command, "timeout": HOOK_SECONDS}]}
    for event in events:
        kept[event] = [*kept.get(event, []), entry]
    changed = {**root, "hooks": kept}
    if (not kept and "hooks" not in root) or (not kept and hooks):
        del changed["hooks"]
    indented = re.search(r"\n([ \t]+)\S", before)
    text = json.dumps(changed, ensure_ascii=False, indent=indented[1] if indented else 2)
    return text + ("\n" if not before or before.endswith("\n") else "")


def _without_ours(groups: list[Any], host: str) -> list[Any]:
    """The groups of an event without our commands; a group with only ours is removed."""
    left = []
    for group in groups:
        listed = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(listed, list):
            left.append(group)
            continue
        others = [each for each in listed if not _is_ours(each, host)]
        if others or not listed:
            left.append(group if len(others) == len(listed) else {**group, "hooks": others})
    return left


def _is_ours(entry: Any, host: str) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and "ricordo" in command and f" hook --host {host}" in command


def _difference(path: Path, before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"{path} (now)", f"{path} (then)"
    )
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]


def _agreed(path: Path, output: Output) -> bool:
    """Whether the user confirms at the terminal; False without a terminal."""
    if output.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return input(f"write {path}? [y/N] ").strip().lower() in ("y", "yes", "s", "sì")


def _write(path: Path, text: str) -> None:
    """Replace a file in one step, with the rights it had; an empty text removes it."""
    if not text:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    partial = path.with_name(f".{path.name}.ricordo")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)


def _record(path: Path) -> Path:
    """The file with the earlier content of a configuration file."""
    return Path(state_folder()) / f"before-{sha256(str(path).encode()).hexdigest()[:12]}.json"


def _remember(path: Path, before: str, after: str) -> None:
    known = _noted(path)
    # After a second installation this is the content before both.
    first = known["before"] if known and known["after"] == before else before
    _write(_record(path), json.dumps({"before": first, "after": after}))


def _noted(path: Path) -> dict[str, str] | None:
    try:
        found = json.loads(_record(path).read_text(encoding="utf-8"))
        return found if {"before", "after"} <= found.keys() else None
    except (OSError, ValueError, AttributeError):
        return None


def mcp_config(options: Options, output: Output) -> None:
    """Print the configuration with which a host starts `ricordo mcp`."""
    command, *arguments = program()
    arguments += ["mcp", "--db", database({"db": options.db or ""}), "--user", options.user or personal_user()]
    arguments += ["--project", options.project] if options.project else []
    where, text = _MCP_CONFIGS[options.host_name](command, arguments)
    if not output.as_json:
        output.note(f"put this into {printable(where)}")
    output.raw(text)


def _json_config(
    where: str, key: str, extra: dict[str, str] | None = None
) -> Callable[[str, list[str]], tuple[str, str]]:
    def config(command: str, arguments: list[str]) -> tuple[str, str]:
        server = {**(extra or {}), "command": command, "args": arguments}
        return where, json.dumps({key: {"ricordo": server}}, ensure_ascii=False, indent=2)

    return config


def _codex_config(command: str, arguments: list[str]) -> tuple[str, str]:
    listed = json.dumps(arguments, ensure_ascii=False)
    return "~/.codex/config.toml", f"[mcp_servers.ricordo]\ncommand = {json.dumps(command)}\nargs = {listed}"


def _librechat_config(command: str, arguments: list[str]) -> tuple[str, str]:
    listed = "".join(f"\n      - {json.dumps(each, ensure_ascii=False)}" for each in arguments)
    return (
        "librechat.yaml",
        f"mcpServers:\n  ricordo:\n    type: stdio\n    command: {json.dumps(command)}\n    args:{listed}",
    )


_DESKTOP = "claude_desktop_config.json (Settings, Developer, Edit Config), and restart Claude Desktop"
_MCP_CONFIGS: dict[str, Callable[[str, list[str]], tuple[str, str]]] = {
    "claude-desktop": _json_config(_DESKTOP, "mcpServers"),
    "claude-code": _json_config(
        ".mcp.json in the project, or `claude mcp add-json --scope user ricordo …`", "mcpServers"
    ),
    "cursor": _json_config("~/.cursor/mcp.json", "mcpServers"),
    "codex": _codex_config,
    "vscode": _json_config(".vscode/mcp.json", "servers", {"type": "stdio"}),
    "librechat": _librechat_config,
}

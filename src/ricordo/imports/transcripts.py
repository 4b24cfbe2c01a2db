"""Transcripts of coding agents: the JSON lines of Claude Code and of Codex, and the project they belong to.

In: a transcript, or a folder of them at any depth. Out: one conversation each, with a turn for each prompt and the last
answer to it, without tool calls, thoughts, injected context and side chains. Secrets are masked here, before anything
else reads the text. A turn stays open while the agent still works on its answer.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from ricordo.imports.conversation import (
    Conversation,
    ImportedMessage,
    ImportProblem,
    identifier,
    listed,
    mapping,
    parse_time,
    text,
)
from ricordo.limits import PROJECT_LENGTH
from ricordo.records.turns import Json, with_project
from ricordo.safety.pii import mask_secrets

TranscriptFormat = Literal["claude-code", "codex"]
SNIFFED_LINES = 20
MAX_LINE = 32 * 1024 * 1024  # bytes; a tool result may be long, a longer line is left out
_CLAUDE_TYPES = frozenset(
    {"user", "assistant", "system", "summary", "queue-operation", "file-history-snapshot", "attachment", "progress"}
)
_CODEX_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
# What a host puts into a user's message: notes of the system, the output of local commands, files that are open.
_INJECTED = re.compile(
    r"<(system-reminder|local-command-\w+|command-(?:name|message|args|contents)|ide_\w+|bash-(?:input|stdout|stderr)"
    r"|user-prompt-submit-hook|environment_context|user_instructions|permissions instructions|turn_aborted"
    r"|task-notification|skill|INSTRUCTIONS)>.*?</\1>",
    re.DOTALL,
)
_NOT_PROMPTS = ("[Request interrupted by user", "Caveat: The messages below were generated", "# AGENTS.md instructions")


@dataclass(slots=True)
class _Turn:
    """A prompt and its last answer so far; `busy` while tools run after that answer."""

    id: str
    prompt: str
    said_at: datetime | None
    answer: str = ""
    answer_id: str = ""
    answered_at: datetime | None = None
    busy: bool = False


@dataclass(slots=True)
class _Transcript:
    """The part of a transcript that was read."""

    session_id: str = ""
    cwd: str = ""
    repository: str = ""
    title: str = ""
    turns: list[_Turn] = field(default_factory=list)
    has_events: bool = False  # Codex writes a prompt twice: as an item, among injected ones, and as an event

    def ask(self, prompt_id: str, prompt: str, at: datetime | None) -> None:
        """Begin a turn; the answer before it is the last one."""
        shown = _INJECTED.sub("", prompt).strip()
        if shown and not shown.startswith(_NOT_PROMPTS):
            if self.turns:
                self.turns[-1].busy = False
            self.turns.append(_Turn(prompt_id or f"#{len(self.turns)}", shown, at))

    def answer(self, answer_id: str, words: str, at: datetime | None) -> None:
        """Set the answer. Texts of one message are joined; a later message replaces them."""
        if not self.turns or not words.strip():
            return
        turn = self.turns[-1]
        joined = f"{turn.answer}\n\n{words}" if answer_id and answer_id == turn.answer_id else words
        turn.answer, turn.answer_id, turn.answered_at, turn.busy = joined.strip(), answer_id, at, False

    def work(self) -> None:
        """Note that a tool runs: the text before it was not the answer yet."""
        if self.turns:
            self.turns[-1].busy = True


def transcript_format(path: Path) -> TranscriptFormat | None:
    """The format of a transcript, by its first lines; None for any other file."""
    if path.suffix != ".jsonl" or not path.is_file():
        return None
    for line in _lines(path, SNIFFED_LINES):
        kind = line.get("type")
        if kind in _CODEX_TYPES and "payload" in line:
            return "codex"
        if kind in _CLAUDE_TYPES and ("sessionId" in line or "leafUuid" in line or "messageId" in line):
            return "claude-code"
    return None


def transcripts(path: Path) -> list[tuple[Path, TranscriptFormat]]:
    """The transcripts at a path: the file itself, or all below a folder, oldest first; none for anything else."""
    found = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    known = [(each, form) for each in found if (form := transcript_format(each))]
    return sorted(known, key=lambda each: (each[0].stat().st_mtime, str(each[0])))


def read_transcript(path: Path, form: TranscriptFormat) -> Conversation | ImportProblem | None:
    """A transcript as a conversation; None if the user said nothing."""
    read = _Transcript()
    add: Callable[[_Transcript, Json], None] = _claude_line if form == "claude-code" else _codex_line
    try:
        for line in _lines(path):
            add(read, line)
    except OSError as error:
        return ImportProblem(path.name, f"cannot be read ({error.strerror})")
    if not read.turns:
        return None
    project = project_of(read.cwd, read.repository)
    return Conversation(
        id=read.session_id or path.stem,
        place=path.name,
        paths=(tuple(_messages(read.turns)),),
        title=read.title or None,
        tags=with_project((), project),
        metadata={"host": form, "cwd": read.cwd or None},
    )


def _messages(turns: list[_Turn]) -> Iterator[ImportedMessage]:
    for turn in turns:
        yield ImportedMessage(turn.id, "user", mask_secrets(turn.prompt), turn.said_at)
        if turn.answer and not turn.busy:
            said = turn.answered_at or turn.said_at
            yield ImportedMessage(f"{turn.id}:answer", "assistant", mask_secrets(turn.answer), said)


def _lines(path: Path, most: int | None = None) -> Iterator[Json]:
    """The objects of a file of JSON lines. The last line may be half written; a damaged one is skipped."""
    with path.open("rb") as stream:
        number = 0
        while (most is None or number < most) and (line := stream.readline(MAX_LINE)):
            number += 1
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value


def _claude_line(read: _Transcript, line: Json) -> None:
    """Add a line of Claude Code: prompts, answers and tool calls; side chains and notes of the host are skipped."""
    if line.get("isSidechain") or line.get("isMeta") or line.get("isCompactSummary"):
        return
    read.session_id = read.session_id or text(line.get("sessionId"))
    read.cwd = read.cwd or text(line.get("cwd"))
    if line.get("type") == "summary":
        read.title = text(line.get("summary"))
    message, at = mapping(line.get("message")), parse_time(line.get("timestamp"))
    blocks = message.get("content")
    if line.get("type") == "user":
        parts = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else [mapping(b) for b in listed(blocks)]
        if any(part.get("type") == "tool_result" for part in parts):
            read.work()
            return
        read.ask(identifier(line.get("uuid")), _joined(parts), at)
    elif line.get("type") == "assistant" and message.get("model") != "<synthetic>":
        parts = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else [mapping(b) for b in listed(blocks)]
        read.answer(identifier(message.get("id"), line.get("uuid")), _joined(parts), at)
        if any(part.get("type") == "tool_use" for part in parts):
            read.work()


def _codex_line(read: _Transcript, line: Json) -> None:
    """Add a line of Codex: its events have the prompts and the answers."""
    payload, at = mapping(line.get("payload")), parse_time(line.get("timestamp"))
    kind, inner = line.get("type"), payload.get("type")
    if kind == "session_meta":
        read.session_id = read.session_id or identifier(payload.get("id"))
        read.cwd = read.cwd or text(payload.get("cwd"))
        read.repository = read.repository or text(mapping(payload.get("git")).get("repository_url"))
    elif kind == "event_msg" and inner == "user_message":
        if not read.has_events:
            read.turns = [turn for turn in read.turns if turn.answer]
            read.has_events = True
        read.ask("", text(payload.get("message")), at)
    elif kind == "event_msg" and inner == "agent_message":
        read.answer("", text(payload.get("message")), at)
    elif kind == "event_msg" and inner in ("task_complete", "turn_complete"):
        read.answer("", text(payload.get("last_agent_message")), at)
    elif kind == "response_item" and inner in ("function_call", "custom_tool_call", "local_shell_call"):
        read.work()
    elif kind == "response_item" and inner == "message":
        words = _joined([mapping(part) for part in listed(payload.get("content"))])
        if payload.get("role") == "user" and not read.has_events:
            read.ask("", words, at)
        elif payload.get("role") == "assistant":
            read.answer("", words, at)


def _joined(parts: list[Any]) -> str:
    kinds = ("text", "input_text", "output_text")
    return "\n\n".join(text(part.get("text")) for part in parts if part.get("type") in kinds and part.get("text"))


def project_of(cwd: str, repository: str = "") -> str:
    """The name of the project of a working folder: its repository's address, or the path of its top folder.

    Clones and work trees of one repository are one project. No program is run and no credential is part of the name.
    """
    if repository and (named := _address(repository)):
        return _short(named)
    if not cwd:
        return ""
    folder = Path(cwd)
    for top in (folder, *folder.parents):
        git = top / ".git"
        try:
            if git.is_file():  # a work tree: its file names the folder of the repository
                linked = git.read_text(errors="replace").removeprefix("gitdir:").strip()
                common = (top / linked).resolve()
                git = common.parent.parent if common.parent.name == "worktrees" else common
            if (git / "HEAD").exists():
                remote = _origin(git / "config")
                main = git.parent if git.name == ".git" else top
                return _short(_address(remote) or str(main))
        except OSError:
            continue
    return _short(str(folder))


def _origin(config: Path) -> str:
    """The address of the remote `origin`, or of the first remote."""
    found: dict[str, str] = {}
    section = ""
    for line in config.read_text(errors="replace").splitlines() if config.exists() else ():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section.startswith('[remote "') and line.partition("=")[0].strip() == "url":
            found.setdefault(section, line.partition("=")[2].strip())
    return found.get('[remote "origin"]') or next(iter(found.values()), "")


def _address(remote: str) -> str:
    """Host and path of a remote, the same for all ways to reach it; empty for a path on this machine."""
    found = re.fullmatch(r"(?:\w+://)?(?:[^@/]*@)?([\w.-]+\.\w+|localhost)(?::\d+)?[:/]/?(.+?)(?:\.git)?/?", remote)
    return f"{found[1].lower()}/{found[2]}" if found else ""


def _short(name: str) -> str:
    if len(name) <= PROJECT_LENGTH:
        return name
    return f"{blake2b(name.encode(errors='replace'), digest_size=8).hexdigest()}…{name[-(PROJECT_LENGTH - 17) :]}"

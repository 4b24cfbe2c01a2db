"""The local process behind `ricordo hook`: one for each database, started by the first event, ended when idle.

In: events of coding agents, over a socket that only this user can use. Out: at the start of a session, what is known
about the project and the user; for a prompt, what is recalled; at the end of a turn, nothing, but the turn is stored. A
lock file ensures that there is one process; a socket that a killed process left behind is replaced.
"""

import fcntl
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.cli.hook import (
    MAX_BYTES,
    OPTIONS,
    PROTOCOL,
    database,
    keep_for_later,
    log,
    personal_user,
    socket_path,
    state_folder,
)
from ricordo.safety.pii import mask_secrets

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.recall.search import Hit
    from ricordo.records.derived import Fact
    from ricordo.session import Session

IDLE_SECONDS = 900.0
READ_SECONDS = 5.0
START_TOKENS, PROMPT_TOKENS = 800, 500
RECALLED = 8
LAST_TURNS = 6
LINE_CHARACTERS = 400
QUERY_CHARACTERS = 2_000
FENCE_TOKENS = 60
MOST_PROMPTS = 100  # prompts that wait for their answer
WARMING_QUESTION = "What did we decide about the database yesterday?"  # also loads the rules for dates
NO_EVENT = (ValueError, TypeError, AttributeError)  # errors for a body that is not an event
KEEPING = ("Stop", "SessionEnd", "PreCompact")


def main(place: str) -> int:
    """Serve a database until there is no event for a while; return at once if another process serves it."""
    os.chdir("/")
    os.closerange(3, 64)  # files of the host that this process inherited
    path = socket_path(place)
    with _only_one(f"{path}.lock") as first:
        if not first:
            return 0
        listener = _listen(path)
        try:
            Daemon(place, listener).serve(float(os.environ.get("RICORDO_HOOK_IDLE") or IDLE_SECONDS))
        finally:
            os.unlink(path)
            listener.close()
    return 0


@contextmanager
def _only_one(path: str) -> Iterator[bool]:
    """Whether this process has the lock. The lock ends with the process, even if it is killed."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
        return
    yield True


def _listen(path: str) -> socket.socket:
    """A socket at this path; one that a killed process left there is replaced."""
    if os.path.lexists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    listener.listen(64)
    return listener


class Daemon:
    """Takes events from the socket, and from the folder of those that came while no process ran."""

    def __init__(self, place: str, listener: socket.socket) -> None:
        self._place, self._listener = place, listener
        self._busy = threading.BoundedSemaphore(16)
        self._running = 0
        self._count, self._taking = threading.Lock(), threading.Lock()

    def serve(self, idle: float) -> None:
        """Answer events until there is none for `idle` seconds."""
        from ricordo.memory import open as open_memory

        if "://" not in self._place:
            Path(self._place).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open_memory(self._place) as memory:
            if "://" not in self._place and Path(self._place).exists():
                os.chmod(self._place, 0o600)
            events = Events(memory)
            threading.Thread(target=self._warm, args=(events,), daemon=True).start()
            self._listener.settimeout(idle)
            while True:
                try:
                    connection, _ = self._listener.accept()
                except TimeoutError:
                    if self._running:
                        continue
                    break
                with self._count:
                    self._running += 1
                self._busy.acquire()
                threading.Thread(target=self._answer, args=(connection, events), daemon=True).start()
            self._take_late(events)
            memory.settle(30)

    def _answer(self, connection: socket.socket, events: "Events") -> None:
        message = b""
        try:
            connection.settimeout(READ_SECONDS)
            message = _read(connection)
            reply = events.handle(message, self._place)
            connection.sendall(b"+" + reply)
        except Exception as error:  # one event must not stop the process
            log(f"an event failed: {type(error).__name__}")
            with _quiet():
                if message and not isinstance(error, (*NO_EVENT, OSError)):
                    keep_for_later(message)
                connection.sendall(b"+")
        finally:
            connection.close()
            self._take_late(events)
            with self._count:
                self._running -= 1
            self._busy.release()

    def _warm(self, events: "Events") -> None:
        """Handle the waiting events, and load what the first recall needs."""
        self._take_late(events)
        with _quiet():
            events.warm()

    def _take_late(self, events: "Events") -> None:
        """Store the events that no process answered in time."""
        with self._taking:
            folder = Path(state_folder()) / "inbox"
            for path in sorted(folder.glob("*.event")) if folder.is_dir() else ():
                with _quiet():
                    message = path.read_bytes()
                    try:
                        if database(_split(message)[0]) != self._place:
                            continue
                        events.handle(message, self._place, late=True)
                    except NO_EVENT:
                        log("a waiting file is not an event; it is deleted")
                    path.unlink(missing_ok=True)


@contextmanager
def _quiet() -> Iterator[None]:
    """Log the class of a failure, and continue."""
    try:
        yield
    except Exception as error:
        log(f"in the background: {type(error).__name__}")


def _read(connection: socket.socket) -> bytes:
    parts, size = [], 0
    while part := connection.recv(65536):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES + 65536:
            raise ValueError("too large")
    return b"".join(parts)


def _split(message: bytes) -> tuple[dict[str, str], bytes]:
    """The options and the host's bytes of an event."""
    protocol, *fields, body = message.split(b"\0", len(OPTIONS) + 1)
    if protocol != PROTOCOL or len(fields) != len(OPTIONS):
        raise ValueError("not an event")
    values = (field.decode("utf-8", "surrogateescape") for field in fields)
    return {name[2:]: value for name, value in zip(OPTIONS, values, strict=True) if value}, body


class Events:
    """Handles each event of a host. Thread-safe."""

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory
        self._keeping = threading.Lock()
        self._is_warm = False
        self._prompts: dict[str, str] = {}  # by session, for a host that writes no transcript

    def warm(self) -> None:
        """Load the embedder and the index of the user, the vocabulary, and the rules that rank facts."""
        from ricordo.people import profile

        user = personal_user()
        profile.key_facts(self._memory.facts(user), self._memory.clock.now())
        self._memory.search(WARMING_QUESTION, user_id=user, limit=1)
        self._is_warm = True
        self._composed([("Known", [f"[2026-01-01] user, <b>{WARMING_QUESTION}</b> è x=[secret]"])], PROMPT_TOKENS)

    def handle(self, message: bytes, place: str, *, late: bool = False) -> bytes:
        """The reply to one event, as the host reads it; a late event is only stored."""
        asked, body = _split(message)
        if database(asked) != place:
            raise ValueError("another database")
        event = json.loads(body)
        name = str(event.get("hook_event_name", ""))
        scope = _Scope(self._memory, event, asked)
        if name in KEEPING:
            self._keep(scope, event)
            return b""
        prompt = mask_secrets(str(event.get("prompt", "")))
        if name == "UserPromptSubmit" and event.get("transcript_path"):
            self._prompts[scope.session.id] = prompt
            while len(self._prompts) > MOST_PROMPTS:
                self._prompts.pop(next(iter(self._prompts)))
        elif name == "UserPromptSubmit":
            scope.ask(prompt, str(event.get("turn_id") or ""))
        if late:
            return b""
        text = ""
        if name == "SessionStart":
            text = self._briefing(scope, str(event.get("source", "startup")))
        elif name == "UserPromptSubmit":
            text = self._recalled(scope, prompt)
        if not text:
            return b""
        output = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
        return json.dumps(output, ensure_ascii=False).encode("utf-8", "replace") + b"\n"

    def _briefing(self, scope: "_Scope", source: str) -> str:
        """What is known about the user and the project; after a compaction also the newest turns of this session."""
        memory = self._memory
        known = self._ranked(memory.facts(scope.user_id, project=scope.project))
        away = {flag.subject_id for flag in memory.flags(scope.user_id, state="quarantined")}
        blocks = [("Known of the user", [fact.text for fact in known if fact.id not in away])]
        sessions = memory.sessions(user_id=scope.user_id, project=scope.project, limit=5)
        own = scope.session.id
        if source == "compact":
            blocks.append(("Earlier in this session", list(scope.talk(scope.session, away))))
        else:
            others = [each for each in sessions if each.id != own]
            titles = [f"{each.last_active_at:%Y-%m-%d}: {each.title}" for each in others if each.title]
            if others:
                last = memory.session(others[0].id, user_id=scope.user_id, agent_id=others[0].agent_id)
                blocks.append((f"Last session here, {others[0].last_active_at:%Y-%m-%d}", list(scope.talk(last, away))))
            blocks.append(("Earlier sessions here", titles[1:]))
        return self._composed(blocks, _tokens("START", START_TOKENS))

    def _ranked(self, facts: "list[Fact]") -> "Sequence[Fact]":
        """Facts by importance; until the rules for that are loaded, instructions, the name, then the newest."""
        if self._is_warm:
            from ricordo.people.profile import key_facts

            return key_facts(facts, self._memory.clock.now())
        newest = sorted(facts, key=lambda fact: fact.valid_from, reverse=True)
        return sorted(newest, key=lambda fact: (not fact.is_instruction, fact.kind != "name"))

    def _recalled(self, scope: "_Scope", prompt: str) -> str:
        """Messages of other sessions of the project that match the prompt."""
        memory = self._memory
        query = prompt[:QUERY_CHARACTERS]
        if not query.strip() or prompt.lstrip().startswith("/") or not self._is_warm:
            return ""
        hits = memory.search(
            query, user_id=scope.user_id, project=scope.project, limit=2 * RECALLED, relevant=True, patience=0.0
        )
        away = {flag.subject_id for flag in memory.flags(scope.user_id, state="quarantined")}
        here, asked = scope.session.id, prompt.strip()  # the host knows this session and the prompt
        news = [hit for hit in hits if hit.session_id != here and hit.text.strip() != asked]
        lines = [_line(hit) for hit in news if hit.message_id not in away]
        return self._composed([("From earlier sessions", lines[:RECALLED])], _tokens("PROMPT", PROMPT_TOKENS))

    def _composed(self, blocks: list[tuple[str, list[str]]], budget: int) -> str:
        """The blocks as fenced text within the budget, each line whole; an earlier block comes before a later one.

        Until the vocabulary is loaded, tokens are counted by characters, on the safe side.
        """
        from ricordo.safety.fence import close_fence, defuse, marker, open_fence

        count: Callable[[str], int] = self._memory.counter.count if self._is_warm else _at_most
        code = self._memory.settings.locale.code
        chosen: list[str] = []
        left = budget - FENCE_TOKENS
        for title, lines in blocks:
            taken: list[str] = []
            for line in lines:
                safe = f"- {defuse(' '.join(defuse(line).split()))}"
                cost = count(f"{safe}\n") + (0 if taken else count(f"{title}:\n"))
                if cost > left:
                    break
                left -= cost
                taken.append(safe)
            if taken:
                chosen += [f"{title}:", *taken]
        if not chosen:
            return ""
        body = "\n".join(chosen)
        word = marker((body,))
        return "\n".join((open_fence(word, code), body, close_fence(word, code)))

    def _keep(self, scope: "_Scope", event: Mapping[str, Any]) -> None:
        """Store what was said: from the transcript, which has everything, else from the event."""
        with self._keeping:
            scope.read_transcript()
            answer = mask_secrets(str(event.get("last_assistant_message") or ""))
            prompt = self._prompts.pop(scope.session.id, "")
            if answer.strip() and event.get("hook_event_name") == "Stop":
                scope.answer(answer, prompt)
            if event.get("hook_event_name") == "SessionEnd" and scope.exists():
                scope.session.end()


class _Scope:
    """The session, the user and the project of an event."""

    def __init__(self, memory: "Memory", event: Mapping[str, Any], asked: Mapping[str, str]) -> None:
        from ricordo.imports.session_documents import session_id_of
        from ricordo.imports.transcripts import TranscriptFormat, project_of, transcript_format

        self._memory = memory
        self.user_id = asked.get("user") or personal_user()
        self.project = asked.get("project") or memory.settings.project or project_of(str(event.get("cwd") or ""))
        self._transcript = Path(str(event.get("transcript_path") or "")).expanduser()
        found = transcript_format(self._transcript) if event.get("transcript_path") else None
        self._format: TranscriptFormat = found or ("codex" if asked.get("host") == "codex" else "claude-code")
        name = session_id_of(self._format, str(event.get("session_id") or "unknown"))
        self.session: Session = memory.session(name, user_id=self.user_id, project=self.project)

    def exists(self) -> bool:
        """Whether the session is stored."""
        return bool(self._memory.store.sessions.marks(self._owner).get(self.session.id))

    @property
    def _owner(self) -> Any:
        from ricordo.records.turns import Owner

        return Owner(self._memory.settings.tenant_id, self.user_id)

    def read_transcript(self) -> None:
        """Import what the transcript has and the memory does not."""
        from ricordo.imports.run import import_path

        if self._transcript.is_file():
            import_path(self._memory, self._transcript, user_id=self.user_id, project=self.project, live=True)

    def ask(self, prompt: str, turn_id: str) -> None:
        """Store a prompt of a host that writes no transcript."""
        if prompt.strip():
            self.session.ask(prompt, turn_id=f"{self.session.id}:{turn_id}" if turn_id else None)

    def answer(self, answer: str, prompt: str) -> None:
        """Answer the last turn if it is open: the transcript may be written after the event, or never."""
        last = self.session.history(1)
        if last and last[0].is_open:
            self.session.answer(last[0], answer)
        elif prompt.strip() and not self._transcript.is_file():
            self.session.add_turn(prompt, answer)

    def talk(self, session: "Session", away: set[str]) -> Iterator[str]:
        """The newest turns of a session, one line a message, in order."""
        for turn in session.history(LAST_TURNS):
            for message in (turn.question, turn.answer):
                if message is not None and message.id not in away:
                    yield f"{message.role}, {' '.join(message.content.split())[:LINE_CHARACTERS]}"


def _line(hit: "Hit") -> str:
    words = " ".join(hit.text.split())
    short = words if len(words) <= LINE_CHARACTERS else words[: LINE_CHARACTERS - 1] + "…"
    return f"[{hit.message.created_at:%Y-%m-%d}] {hit.message.role}, {short}"


def _at_most(text: str) -> int:
    """An upper bound of a text's tokens in the common vocabularies, for the shipped languages."""
    return len(text) // 3 + 1


def _tokens(which: str, default: int) -> int:
    given = os.environ.get(f"RICORDO_HOOK_{which}_TOKENS", "")
    return int(given) if given.isdigit() else default


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except Exception as error:  # nothing waits for this process
        log(f"the process ended: {type(error).__name__}: {error}")
        sys.exit(1)

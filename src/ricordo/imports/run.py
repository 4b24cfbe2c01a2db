"""Imports the conversations of other programs into a memory, or reports on a dry run what an import would do.

In: a path and the user the conversations belong to. Out: a report of what is new, what was known, and every problem
with its place. Of a conversation that has grown only the new turns are added; changed messages are reported and never
overwritten.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import RicordoError, ValidationError
from ricordo.imports.conversation import Imported, ImportProblem
from ricordo.imports.json_stream import FACT_FORMAT, OWN
from ricordo.imports.read import ReadOptions, read
from ricordo.imports.session_documents import session_id_of
from ricordo.limits import check_id, check_project
from ricordo.records.turns import DEFAULT_AGENT, Message, Owner, SessionInfo, Turn, with_project
from ricordo.turns.export import from_document, to_document

if TYPE_CHECKING:
    from ricordo.memory import Memory

MAX_PROBLEMS = 1_000  # in a report; all are counted
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import added, or on a dry run would have added.

    `turns_completed` are turns that were stored unanswered and now have an answer. `problem_count` counts all problems
    by kind, also those beyond MAX_PROBLEMS.
    """

    format: str
    dry_run: bool = False
    sessions_added: int = 0
    turns_added: int = 0
    turns_completed: int = 0
    turns_known: int = 0
    problems: tuple[ImportProblem, ...] = ()
    problem_count: Mapping[str, int] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[str, ...]:
        """The problems as sentences."""
        return tuple(str(problem) for problem in self.problems)


def import_path(
    memory: "Memory",
    path: str | os.PathLike[str],
    *,
    user_id: str | None,
    agent_id: str = DEFAULT_AGENT,
    format: str | None = None,  # noqa: A002 - the public name
    dry_run: bool = False,
    trusted: bool = False,
    name: str | None = None,
    project: str | None = None,
    live: bool = False,
    me: str | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Import a file, a folder or an archive; importing it again changes nothing.

    `user_id` may be None only for Ricordo's own export, whose documents name their users. `trusted` keeps the origins
    of such a document; otherwise the origin of every turn is `import`. `name` is the file's name where the path does
    not have it. Conversations are put into `project`, if it is given. With `live` the text is that of this machine's
    user, read during the conversation, and trusted like a chat. `me` is the user's name in a chat of a messenger.
    `progress` is called with the bytes done and in all.
    """
    if user_id is not None and Owner("", check_id("user_id", user_id)).is_reserved:
        raise ValidationError("user_id", f"{user_id!r} has a reserved prefix; choose another")
    reading = ReadOptions(
        agent_id=check_id("agent_id", agent_id),
        limits=memory.settings.limits,
        name=name,
        now=_written_at(memory, Path(path)),
        me=me,
        progress=progress or (lambda done, total: None),
    )
    importer = _Import(memory, user_id, dry_run=dry_run, trusted=trusted)
    placed = check_project(project)
    for found in read(path, format, reading):
        if isinstance(found, ImportProblem):
            importer.note(found)
            continue
        if user_id is None and found.format != OWN:
            raise ValidationError("user_id", f"{found.format} does not name a user; give one")
        try:
            importer.add(_adapted(found, placed, live=live))
        except RicordoError as error:
            importer.note(ImportProblem(found.place, str(error)))
    return importer.report(format)


def _adapted(found: Imported, project: str, *, live: bool) -> Imported:
    """A document in its project, and with the origin of its turns."""
    if found.format == OWN or not (project or live):
        return found
    document = dict(found.document)
    if project:
        session = document["session"]
        document["session"] = {**session, "tags": list(with_project(session["tags"], project))}
    if live:
        document["turns"] = [{**turn, "origin": "chat"} for turn in document["turns"]]
    return replace(found, document=document)


def _written_at(memory: "Memory", path: Path) -> datetime | None:
    """The time for a conversation without dates: that of its file, but not in the future."""
    now = memory.clock.now()
    return min(now, datetime.fromtimestamp(path.stat().st_mtime, UTC)) if path.exists() else now


class _Import:
    """One import: its counts, and how each document is compared and written."""

    def __init__(self, memory: "Memory", user_id: str | None, *, dry_run: bool, trusted: bool) -> None:
        self._memory, self._user, self._dry, self._trusted = memory, user_id, dry_run, trusted
        self._format = ""
        self._sessions = self._added = self._completed = self._known = 0
        self._kinds: dict[str, int] = {}
        self._problems: list[ImportProblem] = []
        self._planned: dict[str, int] = {}  # on a dry run: the turns that each session would have

    def note(self, problem: ImportProblem) -> None:
        """Count a problem, and keep the first MAX_PROBLEMS."""
        self._kinds[problem.kind] = self._kinds.get(problem.kind, 0) + 1
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(problem)

    def report(self, format: str | None) -> ImportReport:  # noqa: A002
        """The report of what was done."""
        named = format if format not in (None, "auto") else "unknown"
        return ImportReport(
            format=self._format or named or "unknown",
            dry_run=self._dry,
            sessions_added=self._sessions,
            turns_added=self._added,
            turns_completed=self._completed,
            turns_known=self._known,
            problems=tuple(self._problems),
            problem_count=dict(self._kinds),
        )

    def add(self, found: Imported) -> None:
        self._format = self._format or found.format
        if found.format == OWN:
            self._add_own(found)
            return
        owner = Owner(self._memory.settings.tenant_id, self._user or "")
        fields = found.document["session"]
        is_new = not self._dry and not found.notes and "branch_of" not in fields["metadata"]
        if is_new and self._memory.store.sessions.get(owner, fields["id"]) is None:
            self._write(found.document)  # the usual case of a first import: nothing to compare
            return
        session, turns = from_document(found.document, owner.tenant_id, self._user, self._memory.settings.limits)
        if found.notes:
            self._add_notes(session, turns)
        else:
            self._add_conversation(found.place, session, turns)

    def _add_own(self, found: Imported) -> None:
        """Import a document of Ricordo itself; unless it is trusted, its turns get the origin `import`."""
        document = dict(found.document) if self._trusted else as_import(found.document)
        if self._dry:
            self._plan(found.place, document)
            return
        result = self._memory.import_documents([document], user_id=self._user)
        self._sessions += result.sessions_added
        self._added += result.turns_added
        self._known += result.turns_known
        for error in result.errors:
            self.note(ImportProblem(found.place, error.removeprefix("document 1: ")))

    def _plan(self, place: str, document: dict[str, Any]) -> None:
        settings, store = self._memory.settings, self._memory.store
        session, turns = from_document(document, settings.tenant_id, self._user, settings.limits)
        self._count_session(session)
        for turn in turns:
            stored = store.turns.get(session.owner, turn.id)
            self._added += stored is None
            self._known += stored is not None and _same_messages(turn, stored)
            if stored is not None and not _same_messages(turn, stored):
                self.note(ImportProblem(place, f"turn {turn.turn_number} has changed since it was stored", "changed"))

    def _add_notes(self, session: SessionInfo, turns: list[Turn]) -> None:
        """Append the notes that are new."""
        store = self._memory.store
        stored = store.sessions.get(session.owner, session.id)
        fresh = [turn for turn in turns if store.turns.get(session.owner, turn.id) is None]
        self._known += len(turns) - len(fresh)
        last = stored.last_turn if stored else self._planned.get(session.id, 0)
        self._load(session, fresh, session.id, last)

    def _add_conversation(self, place: str, session: SessionInfo, turns: list[Turn]) -> None:
        """Keep the stored turns, append those that follow the last of them, and store the others as a branch."""
        stored = self._memory.store.sessions.get(session.owner, session.id)
        again = self._planned.get(session.id, 0)  # on a dry run: the same conversation twice in one file
        if stored is None and (again or "branch_of" not in session.metadata):
            self._known += min(again, len(turns))
            self._load(session, turns[again:], session.id, again)
            return
        there = _StoredConversation(self._memory, session, [] if stored is None else None)
        fresh: list[Turn] = []
        for turn in turns:
            found = there.find(turn)
            if found is None:
                fresh.append(turn)
                continue
            # New turns are appended to the session of the turn before them, so they are written before that changes.
            self._append_turns(session, there, fresh)
            fresh = []
            there.at = found
            self._compare(place, turn, found, there)
        self._append_turns(session, there, fresh)

    def _compare(self, place: str, turn: Turn, stored: Turn, there: "_StoredConversation") -> None:
        """Count a stored turn as known, completed or changed."""
        if _same_messages(turn, stored):
            self._known += 1
            return
        if stored.answer is None and _is_prefix(stored, turn) and there.is_last(stored):
            self._completed += 1
            if not self._dry:
                self._append_messages(stored, turn.messages[len(stored.messages) :])
            return
        where = f"{place}, turn {turn.turn_number}"
        self.note(ImportProblem(where, "is different from the stored turn, which stays as it is", "changed"))

    def _append_messages(self, stored: Turn, messages: tuple[Message, ...]) -> None:
        session = self._memory.session(stored.session_id, user_id=stored.owner.user_id, agent_id=stored.agent_id)
        for message in messages:
            session.add_message(
                message.role,
                message.content,
                created_at=message.created_at,
                metadata=dict(message.metadata),
                tool_calls=message.tool_calls,
                tool_call_id=message.tool_call_id,
                name=message.name,
            )

    def _append_turns(self, session: SessionInfo, there: "_StoredConversation", fresh: list[Turn]) -> None:
        """Write new turns after the last one that was found."""
        if not fresh:
            return
        before = there.at
        if before is None and there.is_empty:
            self._load(session, fresh, session.id, 0)
        elif before is not None and there.is_last(before):
            self._load(session, fresh, before.session_id, before.turn_number)
        else:
            name = session_id_of("branch", session.id, fresh[0].id)
            branch = replace(session, metadata={**session.metadata, "branch_of": session.id})
            self._load(branch, fresh, name, 0)
        there.forget_ends()

    def _load(self, session: SessionInfo, turns: list[Turn], session_id: str, after: int) -> None:
        """Append turns to a session, numbered from its end."""
        if not turns:
            return
        named = replace(session, id=session_id)
        numbered = [replace(turn, session_id=session_id, turn_number=after + n) for n, turn in enumerate(turns, 1)]
        if self._dry:
            self._count_session(named)
            self._added += len(turns)
            self._planned[session_id] = after + len(turns)
            return
        self._write(to_document(named, numbered))

    def _write(self, document: Mapping[str, Any]) -> None:
        result = self._memory.import_documents([document], user_id=self._user)
        if result.errors:
            raise ValidationError("session", result.errors[0].removeprefix("document 1: "))
        self._sessions += result.sessions_added
        self._added += result.turns_added
        self._known += result.turns_known

    def _count_session(self, session: SessionInfo) -> None:
        if session.id not in self._planned and self._memory.store.sessions.get(session.owner, session.id) is None:
            self._sessions += 1
        self._planned.setdefault(session.id, 0)


class _StoredConversation:
    """The stored turns of one conversation, found by number, by id in any session, or by their messages."""

    def __init__(self, memory: "Memory", session: SessionInfo, turns: list[Turn] | None) -> None:
        self._store, self._session = memory.store, session
        stored = self._store.turns.page(session.owner, session.id) if turns is None else turns
        self._by_number = {turn.turn_number: turn for turn in stored}
        self._by_words = {_words(turn): turn for turn in stored}
        self._ends: dict[str, int] = {}
        self.at: Turn | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the conversation's own session has no turns."""
        return not self._by_number

    def find(self, turn: Turn) -> Turn | None:
        """The stored version of a turn, which may have other messages."""
        here = self._by_number.get(turn.turn_number)
        if here is not None:
            grows = here.answer is None and _is_prefix(here, turn) and self.is_last(here)
            if grows or here.id == turn.id or _same_messages(turn, here):
                return here
        return self._store.turns.get(self._session.owner, turn.id) or self._by_words.get(_words(turn))

    def is_last(self, turn: Turn) -> bool:
        """Whether nothing follows a stored turn in its session."""
        if turn.session_id not in self._ends:
            found = self._store.sessions.get(self._session.owner, turn.session_id)
            self._ends[turn.session_id] = found.last_turn if found else 0
        return turn.turn_number == self._ends[turn.session_id]

    def forget_ends(self) -> None:
        """Forget the cached ends of sessions after a write."""
        self._ends.clear()


def _is_prefix(stored: Turn, turn: Turn) -> bool:
    """Whether a turn begins with all messages of the stored one and has more."""
    return len(stored.messages) < len(turn.messages) and all(map(_same, turn.messages, stored.messages))


def _same_messages(turn: Turn, stored: Turn) -> bool:
    """Whether the messages are the same; their metadata may differ."""
    return len(turn.messages) == len(stored.messages) and all(map(_same, turn.messages, stored.messages))


def _same(one: Message, other: Message) -> bool:
    return _comparable(one) == _comparable(other)


def _comparable(message: Message) -> tuple[Any, ...]:
    return message.role, message.content, message.name, message.tool_call_id, list(message.tool_calls)


def _words(turn: Turn) -> tuple[Any, ...]:
    return turn.created_at, *((message.role, message.content) for message in turn.messages)


def as_import(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document of Ricordo itself with the origin `import` for all turns: a file must not declare their origin.

    A fact becomes one by hand, which is what its user may write anyway.
    """
    if document.get("format") == FACT_FORMAT:
        return {**document, "origin": "user_edit"}
    turns = document.get("turns")
    if not isinstance(turns, list):
        return dict(document)
    imported = [{**turn, "origin": "import"} if isinstance(turn, Mapping) else turn for turn in turns]
    return {**document, "turns": imported}

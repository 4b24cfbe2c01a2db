"""Makes session documents of a conversation of any format: messages become turns, and are checked and dated.

In: a conversation as it was read. Out: one document for each branch, and a problem for everything that was repaired or
left out. Ids are derived from the format and the ids of the export, a turn's from its messages: reading the same
conversation again, or a longer one, gives the same turns the same ids.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid5

from ricordo.errors import ValidationError
from ricordo.imports.conversation import Conversation, Imported, ImportedMessage, ImportProblem, ProblemKind, text
from ricordo.limits import ID_LENGTH, Limits, check_id, check_metadata, check_text, check_tool_calls
from ricordo.records.turns import Json, Message, Owner, SessionInfo, Turn, add_step, open_turn, place
from ricordo.records.values import canonical
from ricordo.turns.export import to_document

RAW_BYTES = 16 * 1024  # of unknown fields stored with one message or session
PLACEHOLDER_OWNER = Owner("import", "import")  # of a document, until it is imported for a user
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_IDS = UUID("6f9c1d53-0f0b-5c1e-8a51-3d3d0d0b7c9e")


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """What all documents of one import share. `now` is the time of conversations without any."""

    format: str
    agent_id: str
    limits: Limits
    now: datetime


def session_id_of(form: str, conversation_id: str, *branch: str) -> str:
    """The id of the session of a conversation, or of one of its branches."""
    return _derived("session", form, conversation_id, *branch)


def turn_id_of(form: str, conversation_id: str, *parts: str) -> str:
    """The id of the turn of some messages."""
    return _derived("turn", form, conversation_id, *parts)


def _derived(*parts: str) -> str:
    """The same id for the same names; lone surrogates are escaped."""
    return str(uuid5(_IDS, canonical(parts).encode(errors="backslashreplace").decode()))


def documents(conversation: Conversation, options: DocumentOptions) -> Iterator[Imported | ImportProblem]:
    """The conversation as session documents, the current branch first; none for an empty one."""
    writer = _DocumentWriter(conversation, options)
    taken: set[str] = set()
    main = session_id_of(options.format, conversation.id)
    for number, path in enumerate(conversation.paths):
        turns = writer.turns(path)
        fresh = _from_fork(turns, taken) if number else turns
        taken.update(turn.id for turn in fresh)
        yield from writer.new_problems()
        if not fresh:
            continue
        name = main if number == 0 else session_id_of(options.format, conversation.id, fresh[0].id)
        session = writer.session(name, None if number == 0 else main, fresh)
        yield from writer.new_problems()
        renumbered = [replace(turn, session_id=name, turn_number=n) for n, turn in enumerate(fresh, start=1)]
        yield Imported(options.format, conversation.place, to_document(session, renumbered), conversation.notes)


def _from_fork(turns: list[Turn], taken: set[str]) -> list[Turn]:
    """The turns of a branch from the first that is in no earlier branch."""
    for index, turn in enumerate(turns):
        if turn.id not in taken:
            return [each for each in turns[index:] if each.id not in taken]
    return []


class _DocumentWriter:
    """Writes one conversation; each problem is reported once."""

    def __init__(self, conversation: Conversation, options: DocumentOptions) -> None:
        self._conversation, self._options = conversation, options
        self._problems: dict[ImportProblem, None] = {}  # an ordered set: branches share messages
        self._reported: set[ImportProblem] = set()
        self._has_dates = _has_dates(conversation)

    def new_problems(self) -> Iterator[ImportProblem]:
        """The problems that were not reported yet."""
        fresh = [each for each in self._problems if each not in self._reported]
        self._reported.update(fresh)
        yield from fresh

    def turns(self, path: tuple[ImportedMessage, ...]) -> list[Turn]:
        """The path as turns, divided as in a live conversation, so that a longer path begins with the same turns."""
        turns: list[Turn] = []
        ids: list[list[str]] = []
        moment = self._start(path)
        for said in path:
            moment = said.created_at or moment
            message = self._message(said, moment)
            if message is None:
                continue
            where = place(message, turns[-1] if turns else None)
            if where == "new":
                blank = Turn("", PLACEHOLDER_OWNER, self._options.agent_id, "", 0, moment, None, None, origin="import")
                turns.append(open_turn(blank, message))
                ids.append([said.id])
                continue
            turns[-1] = replace(turns[-1], answer=message) if where == "answer" else add_step(turns[-1], message)
            ids[-1].append(said.id)
        return self._named(turns, ids)

    def session(self, name: str, branch_of: str | None, turns: list[Turn]) -> SessionInfo:
        conversation = self._conversation
        said = [message.created_at for turn in turns for message in turn.messages]
        begun = conversation.created_at if branch_of is None and conversation.created_at else min(said)
        return SessionInfo(
            id=name,
            owner=PLACEHOLDER_OWNER,
            agent_id=self._options.agent_id,
            created_at=begun,
            last_active_at=max([*said, begun]),
            title=self._title(),
            tags=tuple(dict.fromkeys(tag for each in self._conversation.tags if (tag := self._id(each)))),
            metadata=self._session_metadata(branch_of),
        )

    def _named(self, turns: list[Turn], ids: list[list[str]]) -> list[Turn]:
        """The turns with ids derived from their first and last message; a regenerated answer gives another id."""
        seen: dict[str, int] = {}
        named = []
        for turn, said in zip(turns, ids, strict=True):
            key = (said[0], said[-1])
            name = turn_id_of(self._options.format, self._conversation.id, *key)
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:  # the export has an id twice
                name = turn_id_of(self._options.format, self._conversation.id, *key, str(seen[name]))
            named.append(replace(turn, id=name))
        return named

    def _start(self, path: tuple[ImportedMessage, ...]) -> datetime:
        """The time of the messages before the first that has one."""
        first = next((said.created_at for said in path if said.created_at), None)
        known = [each for each in (self._conversation.created_at, first) if each]
        return min(known) if known else self._conversation.updated_at or self._options.now

    def _message(self, said: ImportedMessage, moment: datetime) -> Message | None:
        """The checked message; None if it is empty or cannot be stored."""
        where = f"message {said.id!r}"
        content = self._storable(where, said.content)
        calls = self._calls(where, said)
        if not content.strip() and not calls:
            return None
        try:
            if content.strip():
                check_text("content", content, self._options.limits)
        except ValidationError as error:
            self._note(where, f"left out: its content {error.problem}", "left out")
            return None
        return Message(
            id="",
            role=said.role,
            content=content if content.strip() else "",
            created_at=moment,
            metadata=self._metadata(where, said.metadata, said.raw),
            tool_calls=calls,
            tool_call_id=self._id(said.tool_call_id),
            name=self._id(said.name),
        )

    def _calls(self, where: str, said: ImportedMessage) -> tuple[Json, ...]:
        if said.role != "assistant":
            return ()
        try:
            return check_tool_calls("tool_calls", said.tool_calls, said.role, self._options.limits)
        except ValidationError as error:
            self._note(where, f"its tool calls are left out: {error}", "left out")
            return ()

    def _metadata(self, where: str, known: Json, raw: Json) -> Json:
        """The known metadata of a message or session, and its unknown fields if they fit."""
        fitting: Json = {}
        try:
            fitting = check_metadata(
                "metadata", {k: v for k, v in known.items() if v is not None}, self._options.limits
            )
        except ValidationError as error:
            self._note(where, f"its {error}; left out", "left out")
        most = min(RAW_BYTES, self._options.limits.metadata_bytes - len(json.dumps(fitting).encode()) - 16)
        try:
            kept = check_metadata("raw", raw, Limits(metadata_bytes=most))
        except ValidationError as error:
            self._note(where, f"its other fields are left out: {error.problem}", "left out")
            return fitting
        return {**fitting, "raw": kept} if kept else fitting

    def _session_metadata(self, branch_of: str | None) -> Json:
        source = {"format": self._options.format, "id": self._storable("id", self._conversation.id)[:ID_LENGTH]}
        known = {"import": source, "undated": None if self._has_dates else True, "branch_of": branch_of}
        return self._metadata("session", {**self._conversation.metadata, **known}, self._conversation.raw)

    def _title(self) -> str | None:
        title = self._storable("title", " ".join(text(self._conversation.title).split()))
        return title[:500] or None

    def _id(self, value: str | None) -> str | None:
        """An id that can be stored; a longer one is cut, which keeps a tool call and its result together."""
        if value is None:
            return None
        try:
            return check_id("id", self._storable("id", value, silent=True)[:ID_LENGTH])
        except ValidationError:
            return None

    def _storable(self, where: str, value: str, *, silent: bool = False) -> str:
        """Text that can be stored: NUL and lone surrogates become the replacement character."""
        try:
            if "\x00" not in value:
                value.encode()
                return value
        except UnicodeEncodeError:
            pass
        if not silent:
            self._note(where, f"holds NUL or invalid bytes; each was replaced by {_REPLACEMENT}", "mended")
        return "".join(_REPLACEMENT if c == "\x00" or "\ud800" <= c <= "\udfff" else c for c in value)

    def _note(self, where: str, problem: str, kind: ProblemKind) -> None:
        self._problems[ImportProblem(f"{self._conversation.place}, {where}", problem, kind)] = None


def _has_dates(conversation: Conversation) -> bool:
    """Whether a conversation holds any time."""
    return bool(
        conversation.created_at
        or conversation.updated_at
        or any(said.created_at for path in conversation.paths for said in path)
    )

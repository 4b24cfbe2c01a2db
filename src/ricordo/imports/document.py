"""From a conversation of any format to session documents: messages become turns, everything is checked and dated.

In: a conversation as a reader found it. Out: one document for each of its branches, and a problem for everything that
was mended or left out. Ids are derived from the format and the ids over there, and a turn's from the messages it holds:
reading the same conversation again, or a longer one, gives the same turns the same ids.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid5

from ricordo.errors import ValidationError
from ricordo.imports.conversation import Conversation, Imported, ImportedMessage, ImportProblem, ProblemKind
from ricordo.imports.values import text
from ricordo.limits import ID_LENGTH, Limits, check_id, check_metadata, check_text, check_tool_calls
from ricordo.records.turns import Json, Message, Owner, SessionInfo, Turn, add_step, canonical, open_turn, place
from ricordo.turns.export import to_document

RAW_BYTES = 16 * 1024  # of unknown fields that are kept with one message or session
NOBODY = Owner("import", "import")  # whose a document is, until somebody brings it in
_NO_CHARACTER = "\N{REPLACEMENT CHARACTER}"
_IDS = UUID("6f9c1d53-0f0b-5c1e-8a51-3d3d0d0b7c9e")


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for all documents of one import. `now` dates what has no date at all."""

    format: str
    agent_id: str
    limits: Limits
    now: datetime


def session_id_of(form: str, conversation_id: str, *branch: str) -> str:
    """The id of the session that a conversation becomes, or one of its branches."""
    return _derived("session", form, conversation_id, *branch)


def turn_id_of(form: str, conversation_id: str, *parts: str) -> str:
    """The id of the turn that some messages make."""
    return _derived("turn", form, conversation_id, *parts)


def _derived(*parts: str) -> str:
    """One id for the same names; what is no character in them has to be named too."""
    return str(uuid5(_IDS, canonical(parts).encode(errors="backslashreplace").decode()))


def documents(conversation: Conversation, terms: Terms) -> Iterator[Imported | ImportProblem]:
    """The conversation as session documents, the current branch first; nothing for one that says nothing."""
    writer = _Writer(conversation, terms)
    taken: set[str] = set()
    main = session_id_of(terms.format, conversation.id)
    for number, path in enumerate(conversation.paths):
        turns = writer.turns(path)
        fresh = _from_fork(turns, taken) if number else turns
        taken.update(turn.id for turn in fresh)
        yield from writer.told()
        if not fresh:
            continue
        name = main if number == 0 else session_id_of(terms.format, conversation.id, fresh[0].id)
        session = writer.session(name, None if number == 0 else main, fresh)
        yield from writer.told()
        renumbered = [replace(turn, session_id=name, turn_number=n) for n, turn in enumerate(fresh, start=1)]
        yield Imported(terms.format, conversation.place, to_document(session, renumbered), conversation.notes)


def _from_fork(turns: list[Turn], taken: set[str]) -> list[Turn]:
    """The turns of a branch from the first that is on no branch yet."""
    for index, turn in enumerate(turns):
        if turn.id not in taken:
            return [each for each in turns[index:] if each.id not in taken]
    return []


class _Writer:
    """One conversation being written; what is mended or left out on the way is told once."""

    def __init__(self, conversation: Conversation, terms: Terms) -> None:
        self._conversation, self._terms = conversation, terms
        self._problems: dict[ImportProblem, None] = {}  # in order, each once, though branches share messages
        self._told: set[ImportProblem] = set()
        self._dates = _dates(conversation)

    def told(self) -> Iterator[ImportProblem]:
        """What was noted since the last time."""
        fresh = [each for each in self._problems if each not in self._told]
        self._told.update(fresh)
        yield from fresh

    def turns(self, path: tuple[ImportedMessage, ...]) -> list[Turn]:
        """The path as turns, placed as a live talk would place them; so a longer path begins with the same turns."""
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
                turns.append(open_turn(self._blank(moment), message))
                ids.append([said.id])
                continue
            turns[-1] = replace(turns[-1], answer=message) if where == "answer" else add_step(turns[-1], message)
            ids[-1].append(said.id)
        return self._named(turns, ids)

    def session(self, name: str, branch_of: str | None, turns: list[Turn]) -> SessionInfo:
        """The session around some turns."""
        conversation = self._conversation
        said = [message.created_at for turn in turns for message in turn.messages]
        begun = conversation.created_at if branch_of is None and conversation.created_at else min(said)
        return SessionInfo(
            id=name,
            owner=NOBODY,
            agent_id=self._terms.agent_id,
            created_at=begun,
            last_active_at=max([*said, begun]),
            title=self._title(),
            tags=self._tags(),
            metadata=self._session_metadata(branch_of),
        )

    def _named(self, turns: list[Turn], ids: list[list[str]]) -> list[Turn]:
        """The turns with their ids: by their first and their last message, which is what asking again changes."""
        seen: dict[str, int] = {}
        named = []
        for turn, said in zip(turns, ids, strict=True):
            key = (said[0], said[-1])
            name = turn_id_of(self._terms.format, self._conversation.id, *key)
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:  # ids that were given twice over there
                name = turn_id_of(self._terms.format, self._conversation.id, *key, str(seen[name]))
            named.append(replace(turn, id=name))
        return named

    def _blank(self, moment: datetime) -> Turn:
        return Turn("", NOBODY, self._terms.agent_id, "", 0, moment, None, None, origin="import")

    def _start(self, path: tuple[ImportedMessage, ...]) -> datetime:
        """What dates messages before the first that has a date."""
        first = next((said.created_at for said in path if said.created_at), None)
        known = [each for each in (self._conversation.created_at, first) if each]
        return min(known) if known else self._conversation.updated_at or self._terms.now

    def _message(self, said: ImportedMessage, moment: datetime) -> Message | None:
        """The checked message; None for one that says nothing or cannot be kept."""
        where = f"message {said.id!r}"
        content = self._mended(where, said.content)
        calls = self._calls(where, said)
        if not content.strip() and not calls:
            return None
        try:
            if content.strip():
                check_text("content", content, self._terms.limits)
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
            return check_tool_calls("tool_calls", said.tool_calls, said.role, self._terms.limits)
        except ValidationError as error:
            self._note(where, f"its tool calls are left out: {error}", "left out")
            return ()

    def _metadata(self, where: str, known: Json, raw: Json) -> Json:
        """What is known of a message or session, and its unknown fields as far as they fit."""
        fitting: Json = {}
        try:
            fitting = check_metadata("metadata", {k: v for k, v in known.items() if v is not None}, self._terms.limits)
        except ValidationError as error:
            self._note(where, f"its {error}; left out", "left out")
        most = min(RAW_BYTES, self._terms.limits.metadata_bytes - len(json.dumps(fitting).encode()) - 16)
        try:
            kept = check_metadata("raw", raw, Limits(metadata_bytes=most))
        except ValidationError as error:
            self._note(where, f"its other fields are left out: {error.problem}", "left out")
            return fitting
        return {**fitting, "raw": kept} if kept else fitting

    def _session_metadata(self, branch_of: str | None) -> Json:
        source = {"format": self._terms.format, "id": self._mended("id", self._conversation.id)[:ID_LENGTH]}
        known = {"import": source, "undated": None if self._dates else True, "branch_of": branch_of}
        return self._metadata("session", {**self._conversation.metadata, **known}, self._conversation.raw)

    def _title(self) -> str | None:
        title = self._mended("title", " ".join(text(self._conversation.title).split()))
        return title[:500] or None

    def _tags(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tag for each in self._conversation.tags if (tag := self._id(each))))

    def _id(self, value: str | None) -> str | None:
        """An id as it may be stored; a longer one is cut, so that both ends of a tool call are cut alike."""
        if value is None:
            return None
        try:
            return check_id("id", self._mended("id", value, silent=True)[:ID_LENGTH])
        except ValidationError:
            return None

    def _mended(self, where: str, value: str, *, silent: bool = False) -> str:
        """Text that can be stored: NUL and what is no character become the sign for that."""
        try:
            if "\x00" not in value:
                value.encode()
                return value
        except UnicodeEncodeError:
            pass
        if not silent:
            self._note(where, f"holds NUL or bytes that are no text; each became {_NO_CHARACTER}", "mended")
        return "".join(_NO_CHARACTER if c == "\x00" or "\ud800" <= c <= "\udfff" else c for c in value)

    def _note(self, where: str, problem: str, kind: ProblemKind) -> None:
        self._problems[ImportProblem(f"{self._conversation.place}, {where}", problem, kind)] = None


def _dates(conversation: Conversation) -> bool:
    """Whether anything in a conversation is dated."""
    return bool(
        conversation.created_at
        or conversation.updated_at
        or any(said.created_at for path in conversation.paths for said in path)
    )

"""The messages that a client sends, and where its question belongs in what is stored.

The last user message is the question. If the client names no session, it is the session whose turns are the whole
history that the client sends; an equal beginning is not enough.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ricordo.errors import ValidationError
from ricordo.records.turns import Owner, SessionInfo, Turn

if TYPE_CHECKING:
    from ricordo.memory import Memory

SESSIONS_SEARCHED = 100  # most recently active ones, for the history of a client
CONVERSATION = (
    "conversation"  # key in the metadata of a session that a client made as a conversation and adds to itself
)
INSTRUCTIONS = ("system", "developer")  # roles

Json = Mapping[str, Any]
Pair = tuple[str, str]  # a question and its answer


@dataclass(frozen=True, slots=True)
class SentMessages:
    """The messages of a client: the question, and those before and after it."""

    messages: tuple[Json, ...]
    asked_at: int

    @classmethod
    def of(cls, messages: Sequence[Json]) -> "SentMessages":
        """Split messages. If all are instructions, the last one is the question; ValidationError without a question."""
        asked = [at for at, each in enumerate(messages) if each.get("role") == "user"]
        if not asked and all(each.get("role") in INSTRUCTIONS for each in messages):
            asked = list(range(len(messages)))
        if not asked:
            raise ValidationError("messages", "there is no user message to answer")
        return cls(tuple(dict(each) for each in messages), asked[-1])

    @property
    def question(self) -> str:
        """The text of the question; a mark such as `(image_url)` if it has no text."""
        message = self.messages[self.asked_at]
        return text_of(message) or marks_of(message)

    @property
    def system(self) -> str:
        """The client's own instructions."""
        given = (
            each for at, each in enumerate(self.messages) if each.get("role") in INSTRUCTIONS and at != self.asked_at
        )
        return "\n\n".join(map(text_of, given))

    @property
    def history(self) -> tuple[Json, ...]:
        """The messages before the question, without instructions."""
        return tuple(each for each in self.messages[: self.asked_at] if each.get("role") not in INSTRUCTIONS)

    @property
    def steps(self) -> tuple[Json, ...]:
        """The tool calls and results since the question."""
        return tuple(each for each in self.messages[self.asked_at + 1 :] if each.get("role") not in INSTRUCTIONS)

    @property
    def pairs(self) -> list[Pair]:
        """The earlier questions with their answers."""
        found: list[Pair] = []
        asked = ""
        for each in self.history:
            if each.get("role") == "user":
                asked = (text_of(each) or marks_of(each)).strip()
            elif each.get("role") == "assistant" and not each.get("tool_calls") and asked:
                found.append((asked, text_of(each).strip()))
                asked = ""
        return found


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where a question belongs: in a session, in a turn that has no answer yet, or in place of an answered one.

    With `by_client` the client has put the question there and will put the answer there too.
    """

    session_id: str | None = None
    turn: Turn | None = None
    replaces: Turn | None = None
    branch_of: str | None = None
    by_client: bool = False
    earlier: Sequence[Turn] = ()


class TurnFinder:
    """Finds the place of a question by the history that the client sends with it."""

    def __init__(
        self, memory: "Memory", owner: Owner, sent: SentMessages, *, agent_id: str, session_id: str | None
    ) -> None:
        self._store = memory.store
        self._owner = owner
        self._named = session_id
        self._agent_id = agent_id
        self._sent = sent
        self._pairs = sent.pairs

    def find(self) -> TurnPlace:
        """The place in the named session, else in the session with this history, else in a new session.

        The same question after the same history again asks for a new version of its turn. Another question there is
        an edit, and begins a branch: a session with a copy of the turns before it.
        """
        if self._named is not None:
            info = self._store.sessions.get(self._owner, self._named)
            return (info and self._in_session(info)) or TurnPlace(self._named)
        branch: TurnPlace | None = None
        for info in self._store.sessions.page(self._owner, limit=SESSIONS_SEARCHED, agent_id=self._agent_id):
            found = self._by_client(info) if CONVERSATION in info.metadata else self._in_session(info)
            if found is not None and found.branch_of is None:
                return found
            branch = branch or found
        return branch or TurnPlace()

    def _by_client(self, info: SessionInfo) -> TurnPlace | None:
        """The open turn of a conversation, if the client has put this question after this history there."""
        turns = self._store.turns.page(self._owner, info.id, last=2 * len(self._pairs) + 2)
        if not turns or not turns[-1].is_open or turns[-1].query != self._sent.question:
            return None
        said = [pair_of(turn) for turn in turns[:-1] if turn.query and turn.answer]
        same = said[-len(self._pairs) :] == self._pairs if self._pairs else not said
        return TurnPlace(info.id, turns[-1], by_client=True) if same else None

    def _in_session(self, info: SessionInfo) -> TurnPlace | None:
        """The place in a session; None if it is not the named one and its turns are not the history."""
        length, elsewhere = len(self._pairs), TurnPlace(info.id) if self._named is not None else None
        if self._named is None and (info.turn_count < length or (length < 2 and info.turn_count > length + 2)):
            return None
        recent = self._store.turns.page(self._owner, info.id, last=3)
        again = recent[-1] if recent and self._is_asked_again(recent[-1]) else None
        if self._named is not None and again:
            return TurnPlace(info.id, again)
        if length and self._pairs[-1] not in map(pair_of, recent):
            return elsewhere
        turns = self._store.turns.page(self._owner, info.id, last=length + 2)
        answered = [turn for turn in turns if turn.answer is not None]
        said, whole = list(map(pair_of, answered)), info.turn_count - len(turns) + len(answered)
        if self._is_end(said, whole) and (again or length):
            return TurnPlace(info.id, again)
        if length and said and self._is_end(said[:-1], whole - 1):
            if answered[-1].query == self._sent.question:
                return TurnPlace(info.id, replaces=answered[-1])
            if self._named is None:
                return TurnPlace(branch_of=info.id, earlier=answered[:-1])
        return elsewhere

    def _is_asked_again(self, turn: Turn) -> bool:
        """Whether the request repeats this open turn: it failed, or the client sends the results of its tools."""
        if not turn.is_open or turn.query != self._sent.question:
            return False
        return turn.failure is not None or self._continues(turn)

    def _is_end(self, said: Sequence[Pair], whole: int) -> bool:
        """Whether the turns of a session end with the history.

        A short history must be all `whole` turns of an unnamed session; a longer one may lack its beginning.
        """
        length = len(self._pairs)
        if self._named is None and length < 2 and whole != length:
            return False
        return length == 0 or list(said[-length:]) == self._pairs

    def _continues(self, turn: Turn) -> bool:
        """Whether the client sends the results of the tools that this turn has called."""
        calls = call_ids(step.tool_calls for step in turn.steps)
        results = {step.get("tool_call_id") for step in self._sent.steps if step.get("role") == "tool"}
        return bool(calls) and bool(results) and results <= calls


def pair_of(turn: Turn) -> Pair:
    return turn.query.strip(), (turn.response or "").strip()


def call_ids(calls: Any) -> set[Any]:
    """The ids of tool calls, given as lists of calls."""
    return {call.get("id") for each in calls for call in each or () if isinstance(call, Mapping)}


def text_of(message: Json) -> str:
    """The text of a message; of several parts, the text parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def marks_of(message: Json) -> str:
    """The types of the parts that are not text, such as `(image_url)`."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return " ".join(
        f"({part['type']})" for part in parts if isinstance(part, dict) and isinstance(part.get("type"), str)
    )

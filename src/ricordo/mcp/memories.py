"""The memories of one user as MCP tools see them: the user of a call, memory ids, filters, and JSON models.

A memory is a fact (`fact:…`) or a message (`message:…`). The user comes from the credential or the command line, never
from an argument of a tool: a user id in an argument is only compared.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer

from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id, check_ids, check_project
from ricordo.records.derived import Fact
from ricordo.records.turns import DEFAULT_AGENT, Message, Owner, SessionInfo, Turn, turn_id_of

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.session import Session

NOTES_SESSION = "notes"
MAX_TITLE = 80
FILTER_FIELDS = (
    "user_id", "agent_id", "run_id", "session_id", "kind", "role", "topic_id", "tags", "project", "created_at",
)  # fmt: skip


Kind = Literal["fact", "message"]


class ToolSource(BaseModel):
    """Where a fact was said."""

    memory_id: str
    session_id: str
    quote: str


class ToolMemory(BaseModel):
    """A fact or a message. `score` and `reasons` are those of a search; `valid_to` is set on a fact that is past."""

    id: str
    kind: Kind
    memory: str = Field(description="The words")
    agent_id: str = ""
    created_at: datetime
    session_id: str | None = None
    role: str | None = None
    fact_kind: str | None = None
    pinned: bool | None = None
    confidence: float | None = None
    valid_to: datetime | None = None
    sources: list[ToolSource] = []
    metadata: dict[str, Any] = {}
    score: float | None = None
    reasons: list[str] = []

    @model_serializer(mode="wrap")
    def _without_blanks(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out empty fields, because a model pays for every token."""
        return {name: value for name, value in written(self).items() if value not in (None, "", [], {})}


class ToolSession(BaseModel):
    """A session as the list shows it."""

    id: str
    agent_id: str
    title: str | None
    created_at: datetime
    last_active_at: datetime
    ended_at: datetime | None
    turn_count: int
    tags: list[str]


class SpokenOut(BaseModel):
    """A message in its session."""

    id: str
    turn_number: int
    role: str
    content: str
    created_at: datetime
    name: str | None = None
    tool_calls: list[dict[str, Any]] = []
    tool_call_id: str | None = None
    metadata: dict[str, Any] = {}


class McpUser:
    """The user of a call, with the memory. Subclasses override `on_message` and `on_delete` to keep their own state."""

    def __init__(self, memory: "Memory", user_id: str, agent_id: str = DEFAULT_AGENT) -> None:
        self.memory = memory
        self.user_id = user_id
        self.agent_id = agent_id
        self.owner = Owner(memory.settings.tenant_id, user_id)

    def require_user(self, field: str, user_id: object) -> None:
        """Raise ValidationError if a call names another user."""
        if user_id is not None and user_id != self.user_id:
            raise ValidationError(field, f"these are the memories of {self.user_id!r}; leave the field out")

    def agent(self, agent_id: str | None) -> str:
        """The agent that a call names, or the default one. A user may read the memories of all their agents."""
        return self.agent_id if agent_id is None else check_id("agent_id", agent_id)

    def notes_session(self, agent_id: str) -> str:
        """The id of the session with an agent's notes; each agent learns from its own."""
        return NOTES_SESSION if agent_id == DEFAULT_AGENT else f"{NOTES_SESSION}-{agent_id}"

    def session_info(self, session_id: str, field: str = "session_id") -> SessionInfo:
        """The record of a session of this user, or NotFoundError."""
        found = self.memory.store.sessions.get(self.owner, check_id(field, session_id))
        if found is None:
            raise NotFoundError(f"{field}: there is no session {session_id!r} for this user; see list_sessions")
        return found

    def session(self, session_id: str, field: str = "session_id") -> "Session":
        """A session of this user, or NotFoundError."""
        info = self.session_info(session_id, field)
        return self.memory.session(info.id, user_id=self.user_id, agent_id=info.agent_id)

    def session_for_writing(self, session_id: str | None, agent_id: str) -> "Session":
        """The existing session with its own agent, or a new one of this agent."""
        if session_id is not None:
            info = self.memory.store.sessions.get(self.owner, check_id("session_id", session_id))
            agent_id = info.agent_id if info else agent_id
        return self.memory.session(session_id, user_id=self.user_id, agent_id=agent_id)

    def turn(self, turn_id: str) -> Turn | None:
        return self.memory.store.turns.get(self.owner, turn_id)

    def quarantined_ids(self) -> frozenset[str]:
        """The ids of quarantined messages and facts, which no model gets."""
        return frozenset(flag.subject_id for flag in self.memory.flags(self.user_id, state="quarantined"))

    def on_message(self, session_id: str) -> None:
        """Called after messages were stored in a session."""

    def on_delete(self, session_id: str | None = None) -> None:
        """Called before a session, or everything of the user, is deleted."""


def find_fact(user: McpUser, fact_id: str) -> Fact:
    """A fact of this user, valid or superseded, of any agent; or NotFoundError."""
    for agent in user.memory.store.people.agents(user.owner):
        for fact in user.memory.facts(user.user_id, agent, superseded=True):
            if fact.id == fact_id:
                return fact
    raise NotFoundError(f"memory_id: there is no fact {fact_id[:255]!r} for this user; see get_memories")


def find_message(user: McpUser, message_id: str) -> tuple[Turn, Message]:
    """A message of this user with its turn, or NotFoundError."""
    turn = user.turn(check_id("memory_id", turn_id_of(message_id) or message_id))
    found = next((each for each in turn.messages if each.id == message_id), None) if turn else None
    if turn is None or found is None:
        raise NotFoundError(f"memory_id: there is no message {message_id[:255]!r} for this user; see search_memories")
    return turn, found


def memory_id(kind: Kind, own: str) -> str:
    return f"{kind}:{own}"


def parse_memory_id(memory: str) -> tuple[Kind, str]:
    """The kind and the record's own id of a memory id."""
    kind, _, own = memory.partition(":")
    if own and kind == "fact":
        return "fact", own
    if own and kind == "message":
        return "message", own
    raise NotFoundError(f"memory_id: {memory[:80]!r} is not a memory id; ids begin with fact: or message:")


def fact_memory(fact: Fact, score: float | None = None, reasons: tuple[str, ...] = ()) -> ToolMemory:
    sources = [
        ToolSource(memory_id=memory_id("message", each.message_id), session_id=each.session_id, quote=each.quote)
        for each in fact.sources
    ]
    return ToolMemory(
        id=memory_id("fact", fact.id),
        kind="fact",
        memory=fact.text,
        agent_id=fact.agent_id,
        created_at=fact.valid_from,
        session_id=fact.sources[0].session_id if fact.sources else None,
        fact_kind=fact.shown_kind,
        pinned=fact.pinned or None,
        confidence=fact.confidence if fact.confidence < 1 else None,
        valid_to=fact.valid_to,
        sources=sources,
        score=score,
        reasons=list(reasons),
    )


def message_memory(
    turn: Turn, message: Message, score: float | None = None, reasons: tuple[str, ...] = ()
) -> ToolMemory:
    return ToolMemory(
        id=memory_id("message", message.id),
        kind="message",
        memory=message.content,
        agent_id=turn.agent_id,
        created_at=message.created_at,
        session_id=turn.session_id,
        role=message.name or message.role,
        metadata=dict(message.metadata),
        score=score,
        reasons=list(reasons),
    )


def session_message(turn: Turn, message: Message) -> SpokenOut:
    placed = {"id": memory_id("message", message.id), "turn_number": turn.turn_number}
    return SpokenOut.model_validate(asdict(message) | placed)


def session_summary(info: SessionInfo) -> ToolSession:
    return ToolSession.model_validate(info, from_attributes=True)


def title_of(memory: ToolMemory) -> str:
    words = " ".join(memory.memory.split())
    short = words if len(words) <= MAX_TITLE else words[: MAX_TITLE - 1] + "…"
    who = "known" if memory.kind == "fact" else memory.role
    return f"{memory.created_at:%Y-%m-%d}, {who}: {short}"


@dataclass(frozen=True, slots=True)
class Filter:
    """The conditions that memories must meet; None is no condition."""

    agent_id: str | None = None
    session_id: str | None = None
    kind: str | None = None
    role: str | None = None
    topic_id: str | None = None
    tags: tuple[str, ...] = ()
    project: str | None = None
    after: datetime | None = None
    before: datetime | None = None

    @property
    def facts(self) -> bool:
        """Whether facts can match: they have no role, topic or tags."""
        return self.kind != "message" and not (self.role or self.topic_id or self.tags)

    @property
    def messages(self) -> bool:
        """Whether messages can match."""
        return self.kind != "fact"

    def covers(self, moment: datetime) -> bool:
        """Whether a time is within the period of the filter."""
        return (self.after is None or moment >= self.after) and (self.before is None or moment < self.before)


def parse_filters(given: Mapping[str, Any] | None, require_user: Callable[[str, object], None]) -> Filter:
    """A filter from plain fields, or a list of them under AND; `require_user` refuses another user."""
    values: dict[str, Any] = {}
    for field, value in _conditions(given or {}):
        where = f"filters.{field}"
        if field == "user_id":
            require_user(where, value)
            continue
        name = "session_id" if field == "run_id" else field
        read = _time_range(where, value) if field == "created_at" else {name: _checked_value(where, field, value)}
        for key, wanted in read.items():
            if values.setdefault(key, wanted) != wanted:
                raise ValidationError(where, "is given twice, with two values")
    return Filter(**values)


def _conditions(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for field, value in given.items():
        if field == "AND":
            if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
                raise ValidationError("filters.AND", "expected a list of conditions")
            for each in value:
                if "AND" in each:
                    raise ValidationError("filters.AND", "only one level of AND is supported")
                yield from _conditions(each)
        elif field in FILTER_FIELDS:
            yield field, value
        else:
            raise ValidationError(f"filters.{field[:40]}", f"is not supported; use AND, {', '.join(FILTER_FIELDS)}")


def _checked_value(where: str, field: str, value: Any) -> Any:
    if field == "tags":
        return check_ids(where, value)
    if field == "project":
        return check_project(value, field=where)
    if field == "kind" and value not in ("fact", "message"):
        raise ValidationError(where, "expected fact or message")
    return check_id(where, value)


def _time_range(where: str, value: Any) -> dict[str, datetime]:
    if not isinstance(value, Mapping) or not value or set(value) - {"gte", "lt"}:
        raise ValidationError(where, 'expected {"gte": TIME} or {"lt": TIME}, or both')
    return {{"gte": "after", "lt": "before"}[key]: _parse_time(f"{where}.{key}", text) for key, text in value.items()}


def _parse_time(where: str, text: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValidationError(where, "expected a time such as 2026-05-01T10:00:00Z") from None

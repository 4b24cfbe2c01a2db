"""Tools that find memories: search, list, read one; and the two that connectors look for, `search` and `fetch`.

What is in quarantine is left out of all of them, because what they give goes into a prompt.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id, check_ids
from ricordo.mcp.caller import McpUser
from ricordo.mcp.memories import as_memory, as_said, parted, title_of
from ricordo.mcp.schemas import FoundOut, MemoriesOut, PageOut, ResultOut, ResultsOut, ToolMemory
from ricordo.records.people import Fact
from ricordo.records.turns import Message, Turn, turn_id_of

# Which memories a call is about, from `filters`: plain fields, or a list of them under AND. Pure.

FIELDS = ("user_id", "agent_id", "run_id", "session_id", "kind", "role", "topic_id", "tags", "created_at")


@dataclass(frozen=True, slots=True)
class Filter:
    """What memories must be; None leaves a field open."""

    agent_id: str | None = None
    session_id: str | None = None
    kind: str | None = None
    role: str | None = None
    topic_id: str | None = None
    tags: tuple[str, ...] = ()
    after: datetime | None = None
    before: datetime | None = None

    @property
    def facts(self) -> bool:
        """Whether facts can be meant: they have no role, topic or tags."""
        return self.kind != "message" and not (self.role or self.topic_id or self.tags)

    @property
    def messages(self) -> bool:
        """Whether messages can be meant."""
        return self.kind != "fact"

    def covers(self, moment: datetime) -> bool:
        """Whether a moment lies in the time that is asked for."""
        return (self.after is None or moment >= self.after) and (self.before is None or moment < self.before)


def read_filters(given: Mapping[str, Any] | None, must_be: Callable[[str, object], None]) -> Filter:
    """The filter that is meant; `must_be` refuses a user that is not the one."""
    values: dict[str, Any] = {}
    for field, value in _conditions(given or {}):
        where = f"filters.{field}"
        if field == "user_id":
            must_be(where, value)
            continue
        name = "session_id" if field == "run_id" else field
        read = _times(where, value) if field == "created_at" else {name: _checked(where, field, value)}
        for key, wanted in read.items():
            if values.setdefault(key, wanted) != wanted:
                raise ValidationError(where, "is asked for twice, with two values")
    return Filter(**values)


def _conditions(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for field, value in given.items():
        if field == "AND":
            if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
                raise ValidationError("filters.AND", "expected a list of conditions")
            for each in value:
                if "AND" in each:
                    raise ValidationError("filters.AND", "one level is understood")
                yield from _conditions(each)
        elif field in FIELDS:
            yield field, value
        else:
            raise ValidationError(f"filters.{field[:40]}", f"is not understood; use AND, {', '.join(FIELDS)}")


def _checked(where: str, field: str, value: Any) -> Any:
    if field == "tags":
        return check_ids(where, value)
    if field == "kind" and value not in ("fact", "message"):
        raise ValidationError(where, "expected fact or message")
    return check_id(where, value)


def _times(where: str, value: Any) -> dict[str, datetime]:
    if not isinstance(value, Mapping) or not value or set(value) - {"gte", "lt"}:
        raise ValidationError(where, 'expected {"gte": TIME} or {"lt": TIME}, or both')
    return {{"gte": "after", "lt": "before"}[key]: _time(f"{where}.{key}", text) for key, text in value.items()}


def _time(where: str, text: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValidationError(where, "expected a time such as 2026-05-01T10:00:00Z") from None


PATIENCE = 5.0  # seconds to wait for an index that is behind
CONNECTOR_LIMIT = 10

Filters = Annotated[
    dict[str, Any] | None,
    Field(
        description="Any of kind (fact or message), run_id, agent_id, role, topic_id, tags, "
        'created_at ({"gte": TIME, "lt": TIME}); alone or in a list under AND'
    ),
]
Query = Annotated[str, Field(min_length=1, description="What to look for, in plain words")]


def search_memories(
    person: McpUser,
    query: Query,
    filters: Filters = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
) -> FoundOut:
    """Find facts about the user and past messages that speak to a question, by words and by meaning, best first."""
    wanted = read_filters(filters, person.must_be)
    withheld = person.withheld()
    hits = person.memory.search(
        query,
        user_id=person.user_id,
        limit=limit + len(withheld),
        session_id=wanted.session_id,
        agent_id=wanted.agent_id,
        topic_id=wanted.topic_id,
        role=wanted.role,
        after=wanted.after,
        before=wanted.before,
        tags=wanted.tags,
        patience=PATIENCE,
    )
    said = {hit.message_id: hit for hit in hits if hit.message_id not in withheld}
    found: list[ToolMemory] = []
    for fact in _facts(person, wanted, withheld):
        heard = [said[source.message_id] for source in fact.sources if source.message_id in said]
        best = max(heard, key=lambda hit: hit.score, default=None)
        share = _shared(query, fact)
        if best and best.score >= share:
            found.append(as_memory(fact, best.score, best.reasons))
        elif share > 0:
            found.append(as_memory(fact, share, ("words",)))
    if wanted.messages:
        for hit in said.values():
            turn = person.turn(turn_id_of(hit.message_id))
            if turn:
                found.append(as_said(turn, hit.message, hit.score, hit.reasons))
    found.sort(key=lambda each: (-(each.score or 0.0), each.kind, each.id))
    return FoundOut(results=found[:limit], degraded=list(hits.degraded))


def get_memories(
    person: McpUser,
    filters: Filters = None,
    page: Annotated[int, Field(ge=1, le=10_000)] = 1,
    page_size: Annotated[int, Field(ge=1, le=100)] = 50,
) -> MemoriesOut:
    """List what is remembered, newest first: facts that are known now, then notes.

    Notes are what add_memory kept; with a run_id, the messages of that session.
    """
    wanted = read_filters(filters, person.must_be)
    withheld = person.withheld()
    facts = [as_memory(fact) for fact in _facts(person, wanted, withheld)]
    facts.sort(key=lambda each: (each.created_at, each.id), reverse=True)
    listed = facts + [as_said(turn, message) for turn, message in _notes(person, wanted, withheld)]
    begin = (page - 1) * page_size
    return MemoriesOut(results=listed[begin : begin + page_size], page=page, page_size=page_size, total=len(listed))


def get_memory(person: McpUser, memory_id: str) -> ToolMemory:
    """Read one memory whole: a fact with the words it was taken from, or a message."""
    kind, own = parted(memory_id)
    if own in person.withheld():
        raise NotFoundError(f"memory_id: {memory_id!r} is in quarantine; an operator can release it")
    if kind == "fact":
        return as_memory(fact_of(person, own))
    return as_said(*message_of(person, own))


def search(person: McpUser, query: Query) -> ResultsOut:
    """Search the user's memory; give an id of the results to fetch."""
    found = search_memories(person, query, limit=CONNECTOR_LIMIT).results
    return ResultsOut(results=[ResultOut(id=each.id, title=title_of(each), url=_url(each)) for each in found])


def fetch(person: McpUser, id: str) -> PageOut:  # noqa: A002 - the name that connectors use
    """Read one result of search whole; for a message, with what was said around it in its turn."""
    memory = get_memory(person, id)
    text = memory.memory
    if memory.kind == "message":
        turn, _ = message_of(person, parted(id)[1])
        withheld = person.withheld()
        text = "\n\n".join(
            f"{each.name or each.role}: {each.content}" for each in turn.messages if each.id not in withheld
        )
    details = {"kind": memory.kind, "created_at": memory.created_at.isoformat(), "session_id": memory.session_id}
    known = {name: value for name, value in details.items() if value is not None}
    return PageOut(id=id, title=title_of(memory), text=text, url=_url(memory), metadata=known)


def fact_of(person: McpUser, fact_id: str) -> Fact:
    """A fact of this user, true now or once, by any agent; or NotFoundError."""
    for agent in person.memory.store.people.agents(person.owner):
        for fact in person.memory.facts(person.user_id, agent, superseded=True):
            if fact.id == fact_id:
                return fact
    raise NotFoundError(f"memory_id: there is no fact {fact_id[:255]!r} for this user; see get_memories")


def message_of(person: McpUser, message_id: str) -> tuple[Turn, Message]:
    """A message of this user with its turn, or NotFoundError."""
    turn = person.turn(check_id("memory_id", turn_id_of(message_id) or message_id))
    found = next((each for each in turn.messages if each.id == message_id), None) if turn else None
    if turn is None or found is None:
        raise NotFoundError(f"memory_id: there is no message {message_id[:255]!r} for this user; see search_memories")
    return turn, found


def _facts(person: McpUser, wanted: Filter, withheld: frozenset[str]) -> list[Fact]:
    if not wanted.facts:
        return []
    known = person.memory.facts(person.user_id, person.agent(wanted.agent_id))
    return [
        fact
        for fact in known
        if fact.id not in withheld
        and wanted.covers(fact.valid_from)
        and (wanted.session_id is None or any(each.session_id == wanted.session_id for each in fact.sources))
    ]


def _notes(person: McpUser, wanted: Filter, withheld: frozenset[str]) -> list[tuple[Turn, Message]]:
    """The messages of a session, newest first; nothing where there is no such session."""
    if not wanted.messages:
        return []
    session_id = wanted.session_id or person.notes(person.agent(wanted.agent_id))
    tagged = _tagged(person, session_id, wanted.tags)
    turns = person.memory.store.turns.page(person.owner, session_id)
    return [
        (turn, message)
        for turn in reversed(turns)
        if wanted.topic_id in (None, turn.topic_id) and (tagged is None or turn.topic_id in tagged)
        for message in reversed(turn.messages)
        if message.id not in withheld
        and wanted.role in (None, message.role, message.name)
        and wanted.covers(message.created_at)
    ]


def _tagged(person: McpUser, session_id: str, tags: tuple[str, ...]) -> frozenset[str | None] | None:
    """The topics with any of the tags; None where no tags are asked for, or the session itself has them."""
    info = person.memory.store.sessions.get(person.owner, session_id)
    if not tags or (info and set(tags) & set(info.tags)):
        return None
    topics = person.memory.store.topics.load(person.owner, session_id).topics
    return frozenset(topic.id for topic in topics if set(tags) & set(topic.tags))


def _shared(query: str, fact: Fact) -> float:
    """How much of the question's words a fact says, 0 to 1."""
    from ricordo.recall.terms import stems

    asked = set(stems(query))
    return len(asked & set(stems(fact.text))) / len(asked) if asked else 0.0


def _url(memory: ToolMemory) -> str:
    return f"session://{memory.session_id}" if memory.session_id else f"memory://{memory.id}"

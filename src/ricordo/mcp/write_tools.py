"""MCP tools that write: store notes and messages, correct and delete memories.

Every text is validated before the first one is stored. Messages of a conversation are deleted by the turn, and never
rewritten.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ricordo.errors import ValidationError
from ricordo.limits import check_text
from ricordo.mcp.memories import NOTES_SESSION, McpUser, find_fact, find_message, parse_memory_id
from ricordo.mcp.memories import memory_id as make_id
from ricordo.records.turns import SessionInfo, Turn

if TYPE_CHECKING:
    from ricordo.session import Session

PAGE = 200

UserId = Annotated[str | None, Field(description="Only the user that you speak for")]
RunId = Annotated[str | None, Field(description="One session")]
AgentId = Annotated[str | None, Field(description="All that one agent has")]


class ToolMessage(BaseModel):
    """A message to keep. Roles are user, assistant, system and tool; any other is the name of a speaker."""

    model_config = ConfigDict(extra="forbid")

    role: str = "user"
    content: str
    name: str | None = None
    created_at: datetime | None = Field(default=None, description="When it was said, with a time zone; default: now")
    metadata: dict[str, Any] | None = None
    tool_calls: list[dict[str, Any]] = []
    tool_call_id: str | None = None


Messages = Annotated[list[ToolMessage], Field(min_length=1, max_length=200)]


class KeptOut(BaseModel):
    """What was kept. Facts are learned from it in the background: get_memories shows them a moment later."""

    session_id: str
    ids: list[str]


class UpdatedOut(BaseModel):
    """A memory that took the place of another."""

    id: str
    replaced: str
    session_id: str


class DeletedOut(BaseModel):
    """What went, by kind and by id."""

    removed: dict[str, int]
    ids: list[str] = []
    notes: list[str] = []


class EntityOut(BaseModel):
    """An owner of memories: the user, an agent, a session (`run`)."""

    type: Literal["user", "agent", "run"]
    id: str
    name: str | None = None


class EntitiesOut(BaseModel):
    """The owners of memories; the only user is the caller."""

    results: list[EntityOut]


def add_memory(
    user: McpUser,
    text: Annotated[str | None, Field(description="In the user's words")] = None,
    messages: Annotated[list[ToolMessage] | None, Field(max_length=200, description="Or a piece of talk")] = None,
    agent_id: str | None = None,
    run_id: Annotated[str | None, Field(description="The session; default: the user's notes")] = None,
    metadata: dict[str, Any] | None = None,
) -> KeptOut:
    """Remember something: it is kept word for word, and facts are learned from it."""
    if (text is None) == (not messages):
        raise ValidationError("text", "give either text or messages")
    given = list(messages or [])
    if text is not None:
        given = [ToolMessage(content=text, metadata=metadata)]
    elif metadata is not None:
        given = [each.model_copy(update={"metadata": {**metadata, **(each.metadata or {})}}) for each in given]
    agent = user.agent(agent_id)
    session = user.session_for_writing(user.notes_session(agent) if run_id is None else run_id, agent)
    return store_messages(user, session, given, "messages" if text is None else "")


def append_messages(
    user: McpUser,
    messages: Messages,
    session_id: Annotated[
        str | None, Field(description="A session, known or new; without one a new id is made")
    ] = None,
) -> KeptOut:
    """Keep messages of a talk, in order: questions, answers, tool calls and their results."""
    return store_messages(user, user.session_for_writing(session_id, user.agent_id), messages, "messages")


def store_messages(user: McpUser, session: "Session", messages: Sequence[ToolMessage], field: str) -> KeptOut:
    """Store messages in a session; `field` is the name of the list in errors."""
    limits = user.memory.settings.limits
    for index, each in enumerate(messages):
        check_text(_field_path(field, index, "content"), each.content, limits, may_be_blank=bool(each.tool_calls))
    ids: list[str] = []
    for index, each in enumerate(messages):
        try:
            kept = session.add_message(**dict(each))
        except ValidationError as error:
            before = f"; the {index} before it are stored" if index else ""
            raise ValidationError(_field_path(field, index, error.field), error.problem + before) from error
        ids.append(make_id("message", kept.id))
    user.on_message(session.id)
    return KeptOut(session_id=session.id, ids=ids)


def _field_path(field: str, index: int, part: str) -> str:
    if field:
        return f"{field}[{index}].{part}"
    return "text" if part == "content" else part


def update_memory(
    user: McpUser, memory_id: str, text: Annotated[str, Field(description="What is right, whole")]
) -> UpdatedOut:
    """Correct a fact or a note; the old words are forgotten.

    The new words are kept and learned from. What was said in a talk stays as it was said; use add_memory to correct it.
    """
    kind, own = parse_memory_id(memory_id)
    check_text("text", text, user.memory.settings.limits)
    if kind == "fact":
        agent = find_fact(user, own).agent_id
        session = user.session_for_writing(user.notes_session(agent), agent)
        kept = store_messages(user, session, [ToolMessage(content=text)], "")
        user.memory.forget_fact(own, user_id=user.user_id, agent_id=agent)
        return UpdatedOut(id=kept.ids[0], replaced=memory_id, session_id=session.id)
    turn, message = find_message(user, own)
    is_note = turn.session_id == NOTES_SESSION or turn.session_id.startswith(f"{NOTES_SESSION}-")
    if len(turn.messages) > 1 or not is_note:
        raise ValidationError("memory_id", "was said in a talk, which is not rewritten; use add_memory to correct it")
    session = user.session(turn.session_id)
    correction = ToolMessage(role=message.name or message.role, content=text, metadata=dict(message.metadata) or None)
    kept = store_messages(user, session, [correction], "")
    # Learn from the new text first: a fact that is forgotten with the old text would not be learned again.
    user.memory.catch_up(session.id, user_id=user.user_id)
    _forget_turn(user, turn)
    return UpdatedOut(id=kept.ids[0], replaced=memory_id, session_id=session.id)


def delete_memory(user: McpUser, memory_id: str) -> DeletedOut:
    """Forget one memory for good: a fact, or a message with its turn.

    With a turn go the facts that were said only there.
    """
    kind, own = parse_memory_id(memory_id)
    if kind == "fact":
        agent = find_fact(user, own).agent_id
        user.memory.forget_fact(own, user_id=user.user_id, agent_id=agent)
        return DeletedOut(removed={"facts": 1}, ids=[memory_id])
    turn, _ = find_message(user, own)
    facts = _forget_turn(user, turn)
    messages = [make_id("message", each.id) for each in turn.messages]
    return DeletedOut(removed={"facts": len(facts), "turns": 1}, ids=messages + facts)


def delete_all_memories(user: McpUser, run_id: RunId = None, agent_id: AgentId = None) -> DeletedOut:
    """Forget everything that was said and learned: of a session, of an agent, or, with neither, of the user.

    Documents and credentials stay; delete_entities removes a user with those too.
    """
    if run_id is not None:
        return _delete_session(user, user.session_info(run_id, "run_id"))
    agent = None if agent_id is None else user.agent(agent_id)
    sessions = turns = 0
    while page := user.memory.sessions(user_id=user.user_id, agent_id=agent, limit=PAGE):
        for info in page:
            sessions += 1
            turns += _delete_session(user, info).removed["turns"]
    facts = 0  # of sessions that expired
    for each in user.memory.store.people.agents(user.owner) if agent is None else [agent]:
        for fact in user.memory.facts(user.user_id, each, superseded=True):
            user.memory.forget_fact(fact.id, user_id=user.user_id, agent_id=each)
            facts += 1
    return DeletedOut(removed={"sessions": sessions, "turns": turns, "facts": facts})


def list_entities(user: McpUser) -> EntitiesOut:
    """List what has memories: the user, the agents that know them, and the most recent sessions (`run`)."""
    sessions = user.memory.sessions(user_id=user.user_id, limit=PAGE)
    agents = {*user.memory.store.people.agents(user.owner), *(info.agent_id for info in sessions)}
    return EntitiesOut(
        results=[
            EntityOut(type="user", id=user.user_id),
            *(EntityOut(type="agent", id=agent) for agent in sorted(agents)),
            *(EntityOut(type="run", id=info.id, name=info.title) for info in sessions),
        ]
    )


def delete_entities(
    user: McpUser, user_id: UserId = None, agent_id: AgentId = None, run_id: RunId = None
) -> DeletedOut:
    """Remove a session, all that an agent has, or the whole user with every document and key that is theirs.

    Name exactly one. A user is removed to the last byte, and the key that was used for it no longer works.
    """
    if sum(each is not None for each in (user_id, agent_id, run_id)) != 1:
        raise ValidationError("user_id", "name exactly one of user_id, agent_id and run_id")
    if user_id is None:
        return delete_all_memories(user, run_id=run_id, agent_id=agent_id)
    user.require_user("user_id", user_id)
    user.on_delete()
    receipt = user.memory.erase(user.user_id)
    user.on_delete()  # answers that were running meanwhile
    return DeletedOut(removed=dict(receipt.removed), notes=list(receipt.notes))


def _delete_session(user: McpUser, info: SessionInfo) -> DeletedOut:
    user.on_delete(info.id)
    return DeletedOut(
        removed={"sessions": 1, "turns": user.memory.delete_session(info.id, user_id=user.user_id)}, ids=[info.id]
    )


def _forget_turn(user: McpUser, turn: Turn) -> list[str]:
    """Delete a turn, and forget the facts whose sources are all in it; returns the ids of the facts."""
    own = {message.id for message in turn.messages}
    forgotten: list[str] = []
    for fact in user.memory.facts(user.user_id, turn.agent_id, superseded=True):
        if fact.sources and all(source.message_id in own for source in fact.sources):
            user.memory.forget_fact(fact.id, user_id=user.user_id, agent_id=turn.agent_id)
            forgotten.append(make_id("fact", fact.id))
    user.on_delete(turn.session_id)
    user.memory.store.turns.delete(user.owner, turn.session_id, [turn.turn_number])
    return forgotten

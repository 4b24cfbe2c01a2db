"""Tools that keep what is said: a note, or messages of a talk. Every text is checked before the first is kept."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from ricordo.errors import ValidationError
from ricordo.limits import check_text
from ricordo.mcp.caller import NOTES, McpUser
from ricordo.mcp.memories import memory_id, parted
from ricordo.mcp.memories import memory_id as named
from ricordo.mcp.schemas import DeletedOut, EntitiesOut, EntityOut, KeptOut, ToolMessage, UpdatedOut
from ricordo.mcp.search import fact_of, message_of
from ricordo.records.turns import SessionInfo, Turn
from ricordo.session import Session

Messages = Annotated[list[ToolMessage], Field(min_length=1, max_length=200)]


def add_memory(
    person: McpUser,
    text: Annotated[str | None, Field(description="What the user said or wants remembered, in their words")] = None,
    messages: Annotated[list[ToolMessage] | None, Field(max_length=200, description="Or a piece of talk")] = None,
    agent_id: str | None = None,
    run_id: Annotated[str | None, Field(description="The session; default: the user's notes")] = None,
    metadata: dict[str, Any] | None = None,
) -> KeptOut:
    """Remember something: it is kept word for word, and facts about the user are learned from it."""
    if (text is None) == (not messages):
        raise ValidationError("text", "give either text or messages")
    said = list(messages or [])
    if text is not None:
        said = [ToolMessage(content=text, metadata=metadata)]
    elif metadata is not None:
        said = [each.model_copy(update={"metadata": {**metadata, **(each.metadata or {})}}) for each in said]
    agent = person.agent(agent_id)
    session = person.opened(person.notes(agent) if run_id is None else run_id, agent)
    return keep(person, session, said, "messages" if text is None else "")


def append_messages(
    person: McpUser,
    messages: Messages,
    session_id: Annotated[
        str | None, Field(description="A session, known or new; without one a new id is made")
    ] = None,
) -> KeptOut:
    """Keep messages of a talk, in order: questions, answers, tool calls and their results."""
    return keep(person, person.opened(session_id, person.agent_id), messages, "messages")


def keep(person: McpUser, session: Session, messages: Sequence[ToolMessage], field: str) -> KeptOut:
    """Keep messages in a session; `field` is what a refusal calls the list."""
    limits = person.memory.settings.limits
    for index, each in enumerate(messages):
        check_text(_place(field, index, "content"), each.content, limits, may_be_blank=bool(each.tool_calls))
    ids: list[str] = []
    for index, each in enumerate(messages):
        try:
            kept = session.add_message(
                each.role,
                each.content,
                created_at=each.created_at,
                metadata=each.metadata,
                tool_calls=each.tool_calls,
                tool_call_id=each.tool_call_id,
                name=each.name,
            )
        except ValidationError as error:
            before = f"; the {index} before it are kept" if index else ""
            raise ValidationError(_place(field, index, error.field), error.problem + before) from error
        ids.append(memory_id("message", kept.id))
    person.said(session.id)
    return KeptOut(session_id=session.id, ids=ids)


def _place(field: str, index: int, part: str) -> str:
    if field:
        return f"{field}[{index}].{part}"
    return "text" if part == "content" else part


# Tools that change or remove memories. What was said in a talk is removed by the turn, never rewritten.

PAGE = 200

UserId = Annotated[str | None, Field(description="Only the user that you speak for")]
RunId = Annotated[str | None, Field(description="One session")]
AgentId = Annotated[str | None, Field(description="All that one agent has")]


def update_memory(
    person: McpUser, memory_id: str, text: Annotated[str, Field(description="What is right, whole")]
) -> UpdatedOut:
    """Correct a fact or a note: the new words are kept and learned from, the old ones are forgotten.

    What was said in a talk stays as it was said; keep a correction with add_memory.
    """
    kind, own = parted(memory_id)
    check_text("text", text, person.memory.settings.limits)
    if kind == "fact":
        agent = fact_of(person, own).agent_id
        session = person.opened(person.notes(agent), agent)
        kept = keep(person, session, [ToolMessage(content=text)], "")
        person.memory.forget_fact(own, user_id=person.user_id, agent_id=agent)
        return UpdatedOut(id=kept.ids[0], replaced=memory_id, session_id=session.id)
    turn, message = message_of(person, own)
    if len(turn.messages) > 1 or not _is_note(turn):
        raise ValidationError("memory_id", "was said in a talk, which is not rewritten; use add_memory to correct it")
    session = person.session(turn.session_id)
    correction = ToolMessage(role=message.name or message.role, content=text, metadata=dict(message.metadata) or None)
    kept = keep(person, session, [correction], "")
    # Facts that the new words say too are learned from them first: what is forgotten would not be learned again.
    person.memory.catch_up(session.id, user_id=person.user_id)
    _forget_turn(person, turn)
    return UpdatedOut(id=kept.ids[0], replaced=memory_id, session_id=session.id)


def delete_memory(person: McpUser, memory_id: str) -> DeletedOut:
    """Forget one memory for good: a fact, or a message with its whole turn and the facts that were said only there."""
    kind, own = parted(memory_id)
    if kind == "fact":
        agent = fact_of(person, own).agent_id
        person.memory.forget_fact(own, user_id=person.user_id, agent_id=agent)
        return DeletedOut(removed={"facts": 1}, ids=[memory_id])
    turn, _ = message_of(person, own)
    facts = _forget_turn(person, turn)
    messages = [named("message", each.id) for each in turn.messages]
    return DeletedOut(removed={"facts": len(facts), "turns": 1}, ids=messages + facts)


def delete_all_memories(person: McpUser, run_id: RunId = None, agent_id: AgentId = None) -> DeletedOut:
    """Forget everything that was said and learned: of a session, of an agent, or, with neither, of the user.

    Documents and credentials stay; delete_entities removes a user with those too.
    """
    if run_id is not None:
        return _delete_session(person, person.info(run_id, "run_id"))
    agent = None if agent_id is None else person.agent(agent_id)
    sessions = turns = 0
    while page := person.memory.sessions(user_id=person.user_id, agent_id=agent, limit=PAGE):
        for info in page:
            sessions += 1
            turns += _delete_session(person, info).removed["turns"]
    facts = 0  # those of sessions that had expired
    for each in person.memory.store.people.agents(person.owner) if agent is None else [agent]:
        for fact in person.memory.facts(person.user_id, each, superseded=True):
            person.memory.forget_fact(fact.id, user_id=person.user_id, agent_id=each)
            facts += 1
    return DeletedOut(removed={"sessions": sessions, "turns": turns, "facts": facts})


def list_entities(person: McpUser) -> EntitiesOut:
    """List what has memories: the user, the agents that know them, and the most recent sessions (`run`)."""
    sessions = person.memory.sessions(user_id=person.user_id, limit=PAGE)
    agents = {*person.memory.store.people.agents(person.owner), *(info.agent_id for info in sessions)}
    return EntitiesOut(
        results=[
            EntityOut(type="user", id=person.user_id),
            *(EntityOut(type="agent", id=agent) for agent in sorted(agents)),
            *(EntityOut(type="run", id=info.id, name=info.title) for info in sessions),
        ]
    )


def delete_entities(
    person: McpUser, user_id: UserId = None, agent_id: AgentId = None, run_id: RunId = None
) -> DeletedOut:
    """Remove a session, all that an agent has, or the whole user with every document and key that is theirs.

    Name exactly one. A user is removed to the last byte, and the key that was used for it no longer works.
    """
    if sum(each is not None for each in (user_id, agent_id, run_id)) != 1:
        raise ValidationError("user_id", "name exactly one of user_id, agent_id and run_id")
    if user_id is None:
        return delete_all_memories(person, run_id=run_id, agent_id=agent_id)
    person.must_be("user_id", user_id)
    person.forgets()
    receipt = person.memory.erase(person.user_id)
    person.forgets()  # what was answered in between
    return DeletedOut(removed=dict(receipt.removed), notes=list(receipt.notes))


def _is_note(turn: Turn) -> bool:
    return turn.session_id == NOTES or turn.session_id.startswith(f"{NOTES}-")


def _delete_session(person: McpUser, info: SessionInfo) -> DeletedOut:
    person.forgets(info.id)
    return DeletedOut(
        removed={"sessions": 1, "turns": person.memory.delete_session(info.id, user_id=person.user_id)}, ids=[info.id]
    )


def _forget_turn(person: McpUser, turn: Turn) -> list[str]:
    """Remove a turn, and forget the facts that were said in it alone; their ids."""
    said = {message.id for message in turn.messages}
    gone: list[str] = []
    for fact in person.memory.facts(person.user_id, turn.agent_id, superseded=True):
        if fact.sources and all(source.message_id in said for source in fact.sources):
            person.memory.forget_fact(fact.id, user_id=person.user_id, agent_id=turn.agent_id)
            gone.append(named("fact", fact.id))
    person.forgets(turn.session_id)
    person.memory.store.turns.delete(person.owner, turn.session_id, [turn.turn_number])
    return gone

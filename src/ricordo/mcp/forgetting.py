"""Tools that change or remove memories. What was said in a talk is removed by the turn, never rewritten."""

from typing import Annotated

from pydantic import Field

from ricordo.errors import ValidationError
from ricordo.limits import check_text
from ricordo.mcp.finding import fact_of, message_of
from ricordo.mcp.keeping import keep
from ricordo.mcp.naming import memory_id as named
from ricordo.mcp.naming import parted
from ricordo.mcp.person import NOTES, Person
from ricordo.mcp.shapes import DeletedOut, EntitiesOut, EntityOut, MessageIn, UpdatedOut
from ricordo.records import SessionInfo, Turn

PAGE = 200

UserId = Annotated[str | None, Field(description="Only the user that you speak for")]
RunId = Annotated[str | None, Field(description="One session")]
AgentId = Annotated[str | None, Field(description="All that one agent has")]


def update_memory(
    person: Person, memory_id: str, text: Annotated[str, Field(description="What is right, whole")]
) -> UpdatedOut:
    """Correct a fact or a note: the new words are kept and learned from, the old ones are forgotten.

    What was said in a talk stays as it was said; keep a correction with add_memory.
    """
    kind, own = parted(memory_id)
    check_text("text", text, person.memory.settings.limits)
    if kind == "fact":
        agent = fact_of(person, own).agent_id
        session = person.opened(person.notes(agent), agent)
        kept = keep(person, session, [MessageIn(content=text)], "")
        person.memory.forget_fact(own, user_id=person.user_id, agent_id=agent)
        return UpdatedOut(id=kept.ids[0], replaced=memory_id, session_id=session.id)
    turn, message = message_of(person, own)
    if len(turn.messages) > 1 or not _is_note(turn):
        raise ValidationError("memory_id", "was said in a talk, which is not rewritten; use add_memory to correct it")
    session = person.session(turn.session_id)
    correction = MessageIn(role=message.name or message.role, content=text, metadata=dict(message.metadata) or None)
    kept = keep(person, session, [correction], "")
    # Facts that the new words say too are learned from them first: what is forgotten would not be learned again.
    person.memory.catch_up(session.id, user_id=person.user_id)
    _forget_turn(person, turn)
    return UpdatedOut(id=kept.ids[0], replaced=memory_id, session_id=session.id)


def delete_memory(person: Person, memory_id: str) -> DeletedOut:
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


def delete_all_memories(person: Person, run_id: RunId = None, agent_id: AgentId = None) -> DeletedOut:
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
    for each in person.memory.store.agents(person.owner) if agent is None else [agent]:
        for fact in person.memory.facts(person.user_id, each, superseded=True):
            person.memory.forget_fact(fact.id, user_id=person.user_id, agent_id=each)
            facts += 1
    return DeletedOut(removed={"sessions": sessions, "turns": turns, "facts": facts})


def list_entities(person: Person) -> EntitiesOut:
    """List what has memories: the user, the agents that know them, and the most recent sessions (`run`)."""
    sessions = person.memory.sessions(user_id=person.user_id, limit=PAGE)
    agents = {*person.memory.store.agents(person.owner), *(info.agent_id for info in sessions)}
    return EntitiesOut(
        results=[
            EntityOut(type="user", id=person.user_id),
            *(EntityOut(type="agent", id=agent) for agent in sorted(agents)),
            *(EntityOut(type="run", id=info.id, name=info.title) for info in sessions),
        ]
    )


def delete_entities(
    person: Person, user_id: UserId = None, agent_id: AgentId = None, run_id: RunId = None
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


def _delete_session(person: Person, info: SessionInfo) -> DeletedOut:
    person.forgets(info.id)
    return DeletedOut(
        removed={"sessions": 1, "turns": person.memory.delete_session(info.id, user_id=person.user_id)}, ids=[info.id]
    )


def _forget_turn(person: Person, turn: Turn) -> list[str]:
    """Remove a turn, and forget the facts that were said in it alone; their ids."""
    said = {message.id for message in turn.messages}
    gone: list[str] = []
    for fact in person.memory.facts(person.user_id, turn.agent_id, superseded=True):
        if fact.sources and all(source.message_id in said for source in fact.sources):
            person.memory.forget_fact(fact.id, user_id=person.user_id, agent_id=turn.agent_id)
            gone.append(named("fact", fact.id))
    person.forgets(turn.session_id)
    person.memory.store.delete_turns(person.owner, turn.session_id, [turn.turn_number])
    return gone

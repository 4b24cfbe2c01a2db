"""Tools around sessions: the context of a question, the list, a talk page by page, its topics, its export."""

from typing import Annotated, Literal

from pydantic import Field

from ricordo.mcp.caller import McpUser
from ricordo.mcp.memories import as_session, as_spoken
from ricordo.mcp.schemas import ExportOut, TalkOut, ToolContext, ToolSessions, ToolTopic, ToolTopics


def get_context(
    person: McpUser,
    query: Annotated[str, Field(min_length=1, description="The user's next question")],
    session_id: Annotated[
        str | None, Field(description="The talk it belongs to; without one, only what is known")
    ] = None,
    token_budget: Annotated[int | None, Field(ge=1, description="Tokens for the whole prompt")] = None,
) -> ToolContext:
    """Everything a model needs for a question, within a token budget: what is known of the user, the talk so far,
    and past messages that matter. Nothing is kept."""
    if session_id is None:
        session = person.memory.session(user_id=person.user_id, agent_id=person.agent_id)
    else:
        session = person.session(session_id)
    built = session.context(query, budget=token_budget)
    receipt = built.receipt
    return ToolContext(
        prompt=built.prompt,
        messages=[dict(each) for each in built.messages],
        question=built.question,
        notice=built.crisis.notice if built.crisis else None,
        clarification=built.clarification.prompt if built.clarification else None,
        tokens=receipt.total_tokens,
        token_budget=receipt.limit,
        sections=dict(receipt.sections),
        dropped=len(receipt.dropped),
        degraded=list(receipt.degraded),
    )


def list_sessions(
    person: McpUser,
    limit: Annotated[int, Field(ge=1, le=200)] = 20,
    before: Annotated[str | None, Field(description="The next_before of the page before")] = None,
    agent_id: str | None = None,
) -> ToolSessions:
    """List the user's sessions, most recently active first."""
    last = None if before is None else person.info(before, "before")
    agent = None if agent_id is None else person.agent(agent_id)
    found = person.memory.sessions(user_id=person.user_id, limit=limit, agent_id=agent, before=last)
    more = found[-1].id if len(found) == limit else None
    return ToolSessions(sessions=[as_session(info) for info in found], next_before=more)


def get_session(
    person: McpUser,
    session_id: str,
    limit: Annotated[int, Field(ge=1, le=200, description="Turns")] = 50,
    before: Annotated[int | None, Field(ge=1, description="Only turns before this number")] = None,
) -> TalkOut:
    """Read a session: its newest messages in order, archived ones included, or a page of older ones."""
    session = person.session(session_id)
    withheld = person.withheld()
    turns = session.history(limit, before=before)
    older = turns[0].turn_number if len(turns) == limit and turns[0].turn_number > 1 else None
    said = [as_spoken(turn, each) for turn in turns for each in turn.messages if each.id not in withheld]
    return TalkOut(session=as_session(session.info()), messages=said, next_before=older)


def as_markdown(person: McpUser, session_id: str) -> str:
    """A session for a model to read, without what is in quarantine."""
    session = person.session(session_id)
    withheld = person.withheld()
    said = [each for turn in session.history() for each in turn.messages if each.id not in withheld]
    lines = [f"**{each.name or each.role}** ({each.created_at:%Y-%m-%d %H:%M} UTC)\n\n{each.content}" for each in said]
    return "\n\n".join([f"# {session.info().title or session.id}", *lines]) + "\n"


def list_topics(person: McpUser, session_id: str) -> ToolTopics:
    """What a session has been about, with what each topic is worth now."""
    session = person.session(session_id)
    found = session.topics()
    topics = [
        ToolTopic(
            id=each.id,
            title=each.title,
            priority=session.topic(each.id).priority(),
            importance=each.importance,
            state=each.state,
            message_count=each.message_count,
            tags=list(each.tags),
            summary=each.summary,
            created_at=each.created_at,
            last_active_at=each.last_active_at,
        )
        for each in found
    ]
    return ToolTopics(topics=topics, degraded=list(found.degraded))


def export_session(
    person: McpUser,
    session_id: str,
    format: Literal["json", "markdown"] = "json",  # noqa: A002 - the public name
) -> ExportOut:
    """Take a session along: as a JSON document that can be imported again, or as Markdown to read."""
    session = person.session(session_id)
    if format == "markdown":
        return ExportOut(session_id=session.id, format=format, markdown=session.export("markdown"))
    return ExportOut(session_id=session.id, format=format, document=session.export("json"))

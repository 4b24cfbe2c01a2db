"""Tools that keep what is said: a note, or messages of a talk. Every text is checked before the first is kept."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from ricordo.errors import ValidationError
from ricordo.limits import check_text
from ricordo.mcp.naming import memory_id
from ricordo.mcp.person import Person
from ricordo.mcp.shapes import KeptOut, MessageIn
from ricordo.session import Session

Messages = Annotated[list[MessageIn], Field(min_length=1, max_length=200)]


def add_memory(
    person: Person,
    text: Annotated[str | None, Field(description="What the user said or wants remembered, in their words")] = None,
    messages: Annotated[list[MessageIn] | None, Field(max_length=200, description="Or a piece of talk")] = None,
    agent_id: str | None = None,
    run_id: Annotated[str | None, Field(description="The session; default: the user's notes")] = None,
    metadata: dict[str, Any] | None = None,
) -> KeptOut:
    """Remember something: it is kept word for word, and facts about the user are learned from it."""
    if (text is None) == (not messages):
        raise ValidationError("text", "give either text or messages")
    said = list(messages or [])
    if text is not None:
        said = [MessageIn(content=text, metadata=metadata)]
    elif metadata is not None:
        said = [each.model_copy(update={"metadata": {**metadata, **(each.metadata or {})}}) for each in said]
    agent = person.agent(agent_id)
    session = person.opened(person.notes(agent) if run_id is None else run_id, agent)
    return keep(person, session, said, "messages" if text is None else "")


def append_messages(
    person: Person,
    messages: Messages,
    session_id: Annotated[
        str | None, Field(description="A session, known or new; without one a new id is made")
    ] = None,
) -> KeptOut:
    """Keep messages of a talk, in order: questions, answers, tool calls and their results."""
    return keep(person, person.opened(session_id, person.agent_id), messages, "messages")


def keep(person: Person, session: Session, messages: Sequence[MessageIn], field: str) -> KeptOut:
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

"""Facts and messages as memories: their ids (`fact:…`, `message:…`), and the shape that a client sees. Pure."""

from ricordo.errors import NotFoundError
from ricordo.mcp.schemas import Kind, SpokenOut, ToolMemory, ToolSession, ToolSource
from ricordo.records.people import Fact
from ricordo.records.turns import Message, SessionInfo, Turn

LONGEST_TITLE = 80


def memory_id(kind: Kind, own: str) -> str:
    """The id of a memory."""
    return f"{kind}:{own}"


def parted(memory: str) -> tuple[Kind, str]:
    """What a memory id names: a fact or a message, and its own id."""
    kind, _, own = memory.partition(":")
    if own and kind == "fact":
        return "fact", own
    if own and kind == "message":
        return "message", own
    raise NotFoundError(f"memory_id: {memory[:80]!r} is no memory; ids begin with fact: or message:")


def as_memory(fact: Fact, score: float | None = None, reasons: tuple[str, ...] = ()) -> ToolMemory:
    """A fact as a memory."""
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
        fact_kind=fact.kind,
        valid_to=fact.valid_to,
        sources=sources,
        score=score,
        reasons=list(reasons),
    )


def as_said(turn: Turn, message: Message, score: float | None = None, reasons: tuple[str, ...] = ()) -> ToolMemory:
    """A message as a memory."""
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


def as_spoken(turn: Turn, message: Message) -> SpokenOut:
    """A message in its session."""
    return SpokenOut(
        id=memory_id("message", message.id),
        turn_number=turn.turn_number,
        role=message.role,
        content=message.content,
        created_at=message.created_at,
        name=message.name,
        tool_calls=[dict(call) for call in message.tool_calls],
        tool_call_id=message.tool_call_id,
        metadata=dict(message.metadata),
    )


def as_session(info: SessionInfo) -> ToolSession:
    """A session as the list shows it."""
    return ToolSession(
        id=info.id,
        agent_id=info.agent_id,
        title=info.title,
        created_at=info.created_at,
        last_active_at=info.last_active_at,
        ended_at=info.ended_at,
        turn_count=info.turn_count,
        tags=list(info.tags),
    )


def title_of(memory: ToolMemory) -> str:
    """A line that tells what a memory is."""
    words = " ".join(memory.memory.split())
    short = words if len(words) <= LONGEST_TITLE else words[: LONGEST_TITLE - 1] + "…"
    who = "known" if memory.kind == "fact" else memory.role
    return f"{memory.created_at:%Y-%m-%d}, {who}: {short}"

"""MCP tools that read: search and list memories, read one, `search` and `fetch` for connectors, and sessions.

Quarantined messages and facts are left out, because the results go into a prompt.
"""

import json
import logging
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ricordo.errors import NotFoundError, RicordoError
from ricordo.mcp.memories import (
    Filter,
    McpUser,
    SpokenOut,
    ToolMemory,
    ToolSession,
    fact_memory,
    find_fact,
    find_message,
    message_memory,
    parse_filters,
    parse_memory_id,
    session_message,
    session_summary,
    title_of,
)
from ricordo.recall.evidence import snowball_stems
from ricordo.records.derived import Fact
from ricordo.records.turns import DEFAULT_AGENT, Message, Turn, turn_id_of

log = logging.getLogger("ricordo.mcp")

INDEX_WAIT_SECONDS = 5.0  # for an index that is behind
CONNECTOR_LIMIT = 10
ANSWER_CHARACTERS = 1_500  # of all results of a search, because a model pays for every token
SHOWN_CHARACTERS = 300  # of one memory in a search
OWN_SHARE = 0.6  # share of a fact's score from its own words; the rest is the score of its message
MOST_COMPARED = 64  # facts whose meaning is compared with a query

Filters = Annotated[
    dict[str, Any] | None,
    Field(
        description="kind (fact, message), run_id, agent_id, role, topic_id, tags, project, "
        'created_at ({"gte": TIME, "lt": TIME})'
    ),
]
Query = Annotated[str, Field(min_length=1, description="What to look for, in plain words")]


class FoundOut(BaseModel):
    """Memories that were found, best first; `degraded` says what the answer does not cover."""

    results: list[ToolMemory]
    degraded: list[str] = []


class MemoriesOut(BaseModel):
    """A page of memories."""

    results: list[ToolMemory]
    page: int
    page_size: int
    total: int


class ToolSessions(BaseModel):
    """Sessions, most recently active first. `next_before` is the `before` of the next page."""

    sessions: list[ToolSession]
    next_before: str | None = None


class TalkOut(BaseModel):
    """A session with its messages in order. `next_before` is the `before` of the page of older ones."""

    session: ToolSession
    messages: list[SpokenOut]
    next_before: int | None = None


class ToolContext(BaseModel):
    """All that a model needs for a question, within the budget, and what went into it."""

    prompt: str
    messages: list[dict[str, Any]]
    question: str = Field(description="The question as it reads without the talk")
    notice: str | None = Field(default=None, description="Say this first: the user may be in distress or danger")
    clarification: str | None = Field(default=None, description="What is better asked back before answering")
    tokens: int
    token_budget: int
    sections: dict[str, int]
    dropped: int = Field(description="How many items did not fit")
    degraded: list[str] = []


class ToolTopic(BaseModel):
    """What a session has been about."""

    id: str
    title: str
    priority: float
    importance: float
    state: str
    message_count: int
    tags: list[str]
    summary: str | None
    created_at: datetime
    last_active_at: datetime


class ToolTopics(BaseModel):
    """The topics of a session, in the order they began."""

    topics: list[ToolTopic]
    degraded: list[str] = []


class ExportOut(BaseModel):
    """A session to take along: `document` can be imported again, `markdown` is for reading."""

    session_id: str
    format: Literal["json", "markdown"]
    document: dict[str, Any] | None = None
    markdown: str | None = None


class ResultOut(BaseModel):
    """A result of `search`."""

    id: str
    title: str
    url: str


class ResultsOut(BaseModel):
    """What `search` finds."""

    results: list[ResultOut]


class PageOut(BaseModel):
    """What `fetch` gives."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str] = {}


def search_memories(
    user: McpUser,
    query: Query,
    filters: Filters = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
    max_characters: Annotated[int, Field(ge=200, le=100_000, description="Of the answer")] = ANSWER_CHARACTERS,
) -> FoundOut:
    """Find facts about the user and past messages for a question, best first; get_memory reads one whole."""
    wanted = parse_filters(filters, user.require_user)
    quarantined = user.quarantined_ids()
    hits = user.memory.search(
        query,
        user_id=user.user_id,
        limit=limit + len(quarantined),
        session_id=wanted.session_id,
        agent_id=wanted.agent_id,
        topic_id=wanted.topic_id,
        role=wanted.role,
        after=wanted.after,
        before=wanted.before,
        tags=wanted.tags,
        project=wanted.project,
        patience=INDEX_WAIT_SECONDS,
    )
    by_message = {hit.message_id: hit for hit in hits if hit.message_id not in quarantined}
    found: list[ToolMemory] = []
    facts = _matching_facts(user, wanted, quarantined)
    for fact, fit in zip(facts, _fits(user, query, facts), strict=True):
        sources = [by_message[each.message_id].score for each in fact.sources if each.message_id in by_message]
        score = max(max(sources, default=0.0) * (OWN_SHARE * fit + 1 - OWN_SHARE), _word_overlap(query, fact.text))
        if score > 0:
            found.append(fact_memory(fact, score))
    if wanted.messages:
        for hit in by_message.values():
            turn = user.turn(turn_id_of(hit.message_id))
            if turn:
                found.append(message_memory(turn, hit.message, hit.score, hit.reasons))
    found.sort(key=lambda each: (-(each.score or 0.0), each.kind, each.id))
    return _within(
        FoundOut(results=[_brief(each) for each in found[:limit]], degraded=list(hits.degraded)), max_characters
    )


def _brief(memory: ToolMemory) -> ToolMemory:
    """A memory as a search shows it: its text, shortened if it is long, and its most important fields."""
    words = " ".join(memory.memory.split())
    short = words if len(words) <= SHOWN_CHARACTERS else words[: SHOWN_CHARACTERS - 1] + "…"
    agent = "" if memory.agent_id == DEFAULT_AGENT else memory.agent_id
    score = None if memory.score is None else round(memory.score, 3)
    return memory.model_copy(
        update={"memory": short, "agent_id": agent, "sources": [], "reasons": [], "metadata": {}, "score": score}
    )


def _within(found: FoundOut, most: int) -> FoundOut:
    """The best results that fit into `most` characters, at least the first one."""
    kept = found
    while len(kept.results) > 1 and len(as_text(kept)) > most:
        kept = kept.model_copy(update={"results": kept.results[:-1]})
    if kept.results and (over := len(as_text(kept)) - most) > 0:
        first = kept.results[0]
        cut = first.memory[: max(len(first.memory) - over - 1, 20)] + "…"
        kept = kept.model_copy(update={"results": [first.model_copy(update={"memory": cut})]})
    return kept


def as_text(result: BaseModel) -> str:
    """A result as a model reads it: JSON on one line, without what is empty."""
    return json.dumps(result.model_dump(mode="json", by_alias=True), ensure_ascii=False, separators=(",", ":"))


def _fits(user: McpUser, query: str, facts: list[Fact]) -> list[float]:
    """How well each fact matches a query, 0 to 1, so that several facts of one message are ranked.

    The words of the fact and of its quotes count; its meaning counts if it shares no word with the query.
    """
    told = [" ".join([fact.text, *(source.quote for source in fact.sources)]) for fact in facts]
    shared = [_word_overlap(query, each) for each in told]
    meant = [0.0] * len(facts)
    if 1 < len(facts) <= MOST_COMPARED:
        try:
            embedder = user.memory.embedder
            meant = [float(each) for each in embedder.embed_passages(told) @ embedder.embed_query(query)]
        except RicordoError as error:
            log.warning("facts are compared by their words: %s", error, extra={"operation": "mcp"})
    return [words + (1 - words) * min(max(cosine, 0.0), 1.0) for words, cosine in zip(shared, meant, strict=True)]


def get_memories(
    user: McpUser,
    filters: Filters = None,
    page: Annotated[int, Field(ge=1, le=10_000)] = 1,
    page_size: Annotated[int, Field(ge=1, le=100)] = 50,
) -> MemoriesOut:
    """List what is remembered, newest first: facts that are known now, then notes.

    Notes are what add_memory kept; with a run_id, the messages of that session.
    """
    wanted = parse_filters(filters, user.require_user)
    quarantined = user.quarantined_ids()
    facts = [fact_memory(fact) for fact in _matching_facts(user, wanted, quarantined)]
    facts.sort(key=lambda each: (each.created_at, each.id), reverse=True)
    listed = facts + [message_memory(turn, message) for turn, message in _matching_messages(user, wanted, quarantined)]
    start = (page - 1) * page_size
    return MemoriesOut(results=listed[start : start + page_size], page=page, page_size=page_size, total=len(listed))


def get_memory(user: McpUser, memory_id: str) -> ToolMemory:
    """Read one memory whole: a fact with the words it was taken from, or a message."""
    kind, own = parse_memory_id(memory_id)
    if own in user.quarantined_ids():
        raise NotFoundError(f"memory_id: {memory_id!r} is in quarantine; an operator can release it")
    if kind == "fact":
        return fact_memory(find_fact(user, own))
    return message_memory(*find_message(user, own))


def search(user: McpUser, query: Query) -> ResultsOut:
    """Search the user's memory; give an id of the results to fetch."""
    found = search_memories(user, query, limit=CONNECTOR_LIMIT).results
    return ResultsOut(results=[ResultOut(id=each.id, title=title_of(each), url=_url(each)) for each in found])


def fetch(user: McpUser, id: str) -> PageOut:  # noqa: A002 - the name that connectors use
    """Read one result of search whole.

    A message comes with what was said around it in its turn.
    """
    memory = get_memory(user, id)
    text = memory.memory
    if memory.kind == "message":
        turn, _ = find_message(user, parse_memory_id(id)[1])
        quarantined = user.quarantined_ids()
        text = "\n\n".join(
            f"{each.name or each.role}: {each.content}" for each in turn.messages if each.id not in quarantined
        )
    details = {"kind": memory.kind, "created_at": memory.created_at.isoformat(), "session_id": memory.session_id}
    known = {name: value for name, value in details.items() if value is not None}
    return PageOut(id=id, title=title_of(memory), text=text, url=_url(memory), metadata=known)


def get_context(
    user: McpUser,
    query: Annotated[str, Field(min_length=1, description="The user's next question")],
    session_id: Annotated[str | None, Field(description="The talk it belongs to, if any")] = None,
    token_budget: Annotated[int | None, Field(ge=1, description="Tokens for the whole prompt")] = None,
) -> ToolContext:
    """What is known for a question, within a token budget: the user, the talk so far, past messages.

    All that a model needs, as a prompt and as messages. Nothing is kept.
    """
    if session_id is None:
        session = user.memory.session(user_id=user.user_id, agent_id=user.agent_id)
    else:
        session = user.session(session_id)
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
    user: McpUser,
    limit: Annotated[int, Field(ge=1, le=200)] = 20,
    before: Annotated[str | None, Field(description="The next_before of the page before")] = None,
    agent_id: str | None = None,
) -> ToolSessions:
    """List the user's sessions, most recently active first."""
    last = None if before is None else user.session_info(before, "before")
    agent = None if agent_id is None else user.agent(agent_id)
    found = user.memory.sessions(user_id=user.user_id, limit=limit, agent_id=agent, before=last)
    more = found[-1].id if len(found) == limit else None
    return ToolSessions(sessions=[session_summary(info) for info in found], next_before=more)


def get_session(
    user: McpUser,
    session_id: str,
    limit: Annotated[int, Field(ge=1, le=200, description="Turns")] = 50,
    before: Annotated[int | None, Field(ge=1, description="Only turns before this number")] = None,
) -> TalkOut:
    """Read a session: its newest messages in order, or a page of older ones.

    Archived messages are included.
    """
    session = user.session(session_id)
    quarantined = user.quarantined_ids()
    turns = session.history(limit, before=before)
    older = turns[0].turn_number if len(turns) == limit and turns[0].turn_number > 1 else None
    messages = [session_message(turn, each) for turn in turns for each in turn.messages if each.id not in quarantined]
    return TalkOut(session=session_summary(session.info()), messages=messages, next_before=older)


def session_markdown(user: McpUser, session_id: str) -> str:
    """A session as Markdown for a model, without quarantined messages."""
    session = user.session(session_id)
    quarantined = user.quarantined_ids()
    messages = [each for turn in session.history() for each in turn.messages if each.id not in quarantined]
    lines = [
        f"**{each.name or each.role}** ({each.created_at:%Y-%m-%d %H:%M} UTC)\n\n{each.content}" for each in messages
    ]
    return "\n\n".join([f"# {session.info().title or session.id}", *lines]) + "\n"


def list_topics(user: McpUser, session_id: str) -> ToolTopics:
    """What a session has been about, with what each topic is worth now."""
    session = user.session(session_id)
    found = session.topics()
    topics = [ToolTopic(**asdict(each), priority=session.topic(each.id).priority()) for each in found]
    return ToolTopics(topics=topics, degraded=list(found.degraded))


def export_session(
    user: McpUser,
    session_id: str,
    format: Literal["json", "markdown"] = "json",  # noqa: A002 - the public name
) -> ExportOut:
    """Take a session along: as a JSON document that can be imported again, or as Markdown to read."""
    session = user.session(session_id)
    if format == "markdown":
        return ExportOut(session_id=session.id, format=format, markdown=session.export("markdown"))
    return ExportOut(session_id=session.id, format=format, document=session.export("json"))


def _matching_facts(user: McpUser, wanted: Filter, quarantined: frozenset[str]) -> list[Fact]:
    if not wanted.facts:
        return []
    known = user.memory.facts(user.user_id, user.agent(wanted.agent_id), project=wanted.project)
    return [
        fact
        for fact in known
        if fact.id not in quarantined
        and wanted.covers(fact.valid_from)
        and (wanted.session_id is None or any(each.session_id == wanted.session_id for each in fact.sources))
    ]


def _matching_messages(user: McpUser, wanted: Filter, quarantined: frozenset[str]) -> list[tuple[Turn, Message]]:
    """The matching messages of a session, newest first; none if there is no such session."""
    if not wanted.messages:
        return []
    session_id = wanted.session_id or user.notes_session(user.agent(wanted.agent_id))
    tagged = _topics_with_tags(user, session_id, wanted.tags)
    turns = user.memory.store.turns.page(user.owner, session_id)
    return [
        (turn, message)
        for turn in reversed(turns)
        if wanted.topic_id in (None, turn.topic_id) and (tagged is None or turn.topic_id in tagged)
        for message in reversed(turn.messages)
        if message.id not in quarantined
        and wanted.role in (None, message.role, message.name)
        and wanted.covers(message.created_at)
    ]


def _topics_with_tags(user: McpUser, session_id: str, tags: tuple[str, ...]) -> frozenset[str | None] | None:
    """The ids of topics with any of the tags; None if there are no tags, or the session itself has one."""
    info = user.memory.store.sessions.get(user.owner, session_id)
    if not tags or (info and set(tags) & set(info.tags)):
        return None
    topics = user.memory.store.topics.load(user.owner, session_id).topics
    return frozenset(topic.id for topic in topics if set(tags) & set(topic.tags))


def _word_overlap(query: str, text: str) -> float:
    """The share of the query's word stems that a text contains, 0 to 1."""
    wanted = set(snowball_stems(query))
    return len(wanted & set(snowball_stems(text))) / len(wanted) if wanted else 0.0


def _url(memory: ToolMemory) -> str:
    return f"session://{memory.session_id}" if memory.session_id else f"memory://{memory.id}"

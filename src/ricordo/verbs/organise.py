"""Organising a session into topics: assign new turns, let faded topics go, pack what is cold.

Runs beside the chat, never in it. Each pass reads a shelf, decides with pure functions, and writes the change back
only if nobody else has written meanwhile; if somebody has, the next pass decides again from what is there then.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from ricordo.followups.parse import parse
from ricordo.recall.embedder import Embedder
from ricordo.records import Owner, Turn
from ricordo.topics.following import following
from ricordo.topics.forgetting import leaving
from ricordo.topics.joining import (
    RECENT_MESSAGES,
    Closeness,
    Said,
    Talk,
    decide,
    first_centre,
    moved_centre,
    title_of,
)
from ricordo.topics.shelf import TopicChange, TopicShelf
from ricordo.topics.thresholds import DEFAULT_THRESHOLD, Scale, scale_for
from ricordo.topics.topic import Topic
from ricordo.verbs.compaction import bring_back, compact, fading_of, pack_all
from ricordo.verbs.tools import Tools

PASS = 32  # turns assigned in one pass
BEFORE = 16  # turns read back to know what is being talked about


@dataclass
class _Pass:
    """One walk over new turns: the shelf as it becomes, and the talk so far."""

    scale: Scale
    embedder: str
    topics: dict[str, Topic]
    active: str | None = None
    said: dict[str, list[Said]] = field(default_factory=dict)
    last: Said | None = None
    closeness: Closeness = field(default_factory=Closeness)
    changed: set[str] = field(default_factory=set)
    returned: set[str] = field(default_factory=set)
    assigned: dict[int, str] = field(default_factory=dict)

    def hear(self, topic_id: str | None, message: Said) -> None:
        """Take a message into the talk."""
        if self.last is not None and message.role == "user":
            self.closeness = self.closeness.after(self.last.vector, message.vector)
        self.last = message
        if topic_id is not None:
            self.active = topic_id
            self.said.setdefault(topic_id, []).append(message)

    def talk(self) -> Talk | None:
        """What is being talked about, for the next decision."""
        topic = self.topics.get(self.active) if self.active else None
        if topic is None:
            return None
        recent = tuple(self.said.get(topic.id, [])[-RECENT_MESSAGES:])
        return Talk(topic.id, recent, topic.message_count, self.closeness)


def organise(tools: Tools, embedder: Embedder, owner: Owner, session_id: str) -> bool:
    """One pass over a session; whether there is more to do."""
    session = tools.store.session(owner, session_id)
    shelf = tools.store.topics(owner, session_id)
    if session is None or shelf.through >= session.last_turn:
        return False
    new = tools.store.turns(owner, session_id, after=shelf.through, before=shelf.through + PASS + 1)
    walk = _begin(tools, embedder, owner, session_id, shelf)
    for turn, messages in zip(new, _said(embedder, new), strict=True):
        _assign(walk, turn, messages)
    through = min(shelf.through + PASS, session.last_turn)
    changed = tuple(topic for topic in walk.topics.values() if topic.id in walk.changed)
    change = TopicChange(shelf.revision, put=changed, assigned=walk.assigned, through=through)
    if not tools.store.put_topics(owner, session_id, change):
        return True
    for topic_id in walk.returned:
        bring_back(tools, owner, session_id, topic_id)
    _let_go(tools, owner, session_id, walk.active)
    for topic_id in walk.changed:
        compact(tools, owner, session_id, topic_id)
    return through < session.last_turn


def _begin(tools: Tools, embedder: Embedder, owner: Owner, session_id: str, shelf: TopicShelf) -> _Pass:
    """The walk as it stands before the first new turn."""
    scale = scale_for(embedder.name)
    wished = tools.settings.topics.similarity_threshold
    if wished != DEFAULT_THRESHOLD:
        scale = scale.at(wished)
    walk = _Pass(scale, embedder.name, {topic.id: topic for topic in shelf.topics})
    before = tools.store.turns(owner, session_id, before=shelf.through + 1, last=BEFORE)
    for turn, messages in zip(before, _said(embedder, before), strict=True):
        for message in messages:
            walk.hear(turn.topic_id, message)
    return walk


def _said(embedder: Embedder, turns: Sequence[Turn]) -> list[list[Said]]:
    """The question and the answer of each turn with their vectors, embedded together."""
    spoken = [[each for each in (turn.question, turn.answer) if each] for turn in turns]
    vectors = iter(embedder.embed_passages([message.content for messages in spoken for message in messages]))
    return [[Said(message.content, next(vectors), message.role) for message in messages] for messages in spoken]


def _assign(walk: _Pass, turn: Turn, messages: list[Said]) -> None:
    """Find the topic of a turn by its first message; the answer follows the question."""
    if not messages:
        return
    first = messages[0]
    leans = following(turn.query, parse(turn.query)) if turn.question else "no"
    decision = decide(first, walk.talk(), tuple(walk.topics.values()), walk.scale, following=leans)
    if decision.topic_id is None:
        topic = Topic(
            id=str(uuid4()),
            title=title_of(first.text),
            centre=first_centre(first.vector),
            created_at=turn.created_at,
            last_active_at=turn.created_at,
            embedder=walk.embedder,
        )
    else:
        topic = walk.topics[decision.topic_id]
        if decision.reason == "returns" and topic.archived_count:
            walk.returned.add(topic.id)
    for said in messages:
        centre = (
            topic.centre if topic.message_count == 0 else moved_centre(topic.centre, topic.message_count, said.vector)
        )
        topic = replace(topic, centre=centre, message_count=topic.message_count + 1)
        walk.hear(topic.id, said)
    used = topic.used(turn.created_at, messages=0)
    walk.topics[topic.id] = replace(used, hot=(*used.hot, turn.turn_number))
    walk.changed.add(topic.id)
    walk.assigned[turn.turn_number] = topic.id


def _let_go(tools: Tools, owner: Owner, session_id: str, active: str | None) -> None:
    """Topics that have faded leave working memory: into the archive, or for good."""
    settings = tools.settings.topics
    shelf = tools.store.topics(owner, session_id)
    gone = leaving(
        shelf.topics,
        tools.clock.now(),
        active_id=active,
        max_topics=settings.max_topics,
        fading=fading_of(settings),
    )
    for topic_id in gone:
        if settings.forget == "delete":
            tools.store.delete_turns(owner, session_id, tools.store.turns_of(owner, session_id, topic_id))
        else:
            pack_all(tools, owner, session_id, topic_id)

"""Organising a session into topics: assign new turns, archive faded topics, compact large ones.

Runs in the background, never in a chat. Each pass reads the topics of a session, decides with pure functions, and
writes the change only if the revision is unchanged; otherwise the next pass decides again. A chat asks which topic its
question belongs to; that is decided in the same way, changes nothing and waits for nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from threading import Lock
from uuid import uuid4

from ricordo.engine.core import LRU, Engine, Scope, cause_of, log_failure, quarantined, turns_by_number
from ricordo.errors import StoreError
from ricordo.followups.parse import parse
from ricordo.people.summaries.layout import without_reader_phrases
from ricordo.recall.indexes import Indexes, indexes_of
from ricordo.recall.quantization import Vectors, dimensions_of
from ricordo.records.derived import IMPORTANCE, Topic, TopicChange, TopicShelf
from ricordo.records.turns import Owner, Turn, turn_id_of
from ricordo.topics.archive import change_topic, compact, messages_in, pack_all, recount, restore
from ricordo.topics.assign import RECENT_MESSAGES, Closeness, Decision, TalkState, TopicMessage, decide, follow_up_kind
from ricordo.topics.decay import faded_topics, fading_of
from ricordo.topics.session_topic import title_of
from ricordo.topics.subjects import KnownTopic, TopicTurn, decide_turn, turns_compared
from ricordo.topics.thresholds import DEFAULT_THRESHOLD, Scale, first_centre, moved_centre, scale_for

# A lock per session (striped), because two threads that organise one session would do the same work.
_ORGANISING = [Lock() for _ in range(64)]
PASS = 32  # turns assigned in one pass, unless the caller wants fewer
ANSWERED_WITHIN = timedelta(hours=1)  # an open turn is assigned without its answer after this time
LATEST = datetime.max.replace(tzinfo=UTC)
BEFORE = 16  # earlier turns read to know the active topic
MOST_TOPIC_TURNS = 20  # turns of a topic that a prompt may tell
MOST_SESSIONS, MOST_TURNS = 512, 8_192  # whose recent turns are kept in memory, 10 KB a turn at 896 dimensions


@dataclass
class _Pass:
    """The state of one pass over new turns: the topics with their changes, and the conversation so far."""

    scale: Scale
    embedder: str
    vectors: Mapping[str, Vectors]
    topics: dict[str, Topic]
    active: str | None = None
    said: dict[str, list[TopicMessage]] = field(default_factory=dict)
    turns: dict[str, list[TopicTurn]] = field(default_factory=dict)
    last: TopicMessage | None = None
    closeness: Closeness = field(default_factory=Closeness)
    changed: set[str] = field(default_factory=set)
    returned: set[str] = field(default_factory=set)
    assigned: dict[int, str] = field(default_factory=dict)

    def turn_of(self, turn: Turn) -> TopicTurn | None:
        """A turn of a chat with an assistant; None for other messages, and for an embedder that was never measured."""
        if self.scale.subjects is None or turn.question is None or not (turn.answer or self.turns):
            return None
        messages = {message.role: message for message in self.messages_of(turn)}
        answer = messages.get("assistant")
        if answer and not without_reader_phrases(answer.text).strip():  # a refusal has no subject
            answer = None
        return TopicTurn(messages["user"], answer) if "user" in messages else None

    def known(self) -> tuple[KnownTopic, ...]:
        """Every topic with the turns of it that were read."""
        return tuple(KnownTopic(topic, tuple(self.turns.get(topic.id, ()))) for topic in self.topics.values())

    def messages_of(self, turn: Turn) -> list[TopicMessage]:
        """The question and the answer of a turn, with their vectors."""
        said = [each for each in (turn.question, turn.answer) if each]
        return [TopicMessage(message.content, self.vectors[message.id], message.role) for message in said]

    def add(self, topic_id: str | None, message: TopicMessage) -> None:
        """Add a message to the conversation."""
        if self.last is not None and message.role == "user":
            self.closeness = self.closeness.after(self.last.vector, message.vector)
        self.last = message
        if topic_id is not None:
            self.active = topic_id
            self.said.setdefault(topic_id, []).append(message)

    def unique_start(self, moment: datetime) -> datetime:
        """The moment, or the next one at which no topic began, because topics are ordered by when they began."""
        taken = {topic.created_at for topic in self.topics.values()}
        while moment in taken and moment < LATEST:
            moment += timedelta(microseconds=1)
        return moment

    def talk(self) -> TalkState | None:
        """The active topic and its recent messages, for the next decision."""
        topic = self.topics.get(self.active) if self.active else None
        if topic is None:
            return None
        recent = tuple(self.said.get(topic.id, [])[-RECENT_MESSAGES:])
        return TalkState(topic.id, recent, topic.message_count, self.closeness)


class RecentTopicTurns:
    """The last turns of each topic, of the sessions that were organised in this process. Thread-safe."""

    def __init__(self, _: Engine) -> None:
        self._sessions: LRU[tuple[Owner, str], dict[str, list[TopicTurn]]] = LRU(MOST_SESSIONS, MOST_TURNS)
        self._lock = Lock()

    def of(self, owner: Owner, session_id: str) -> dict[str, list[TopicTurn]]:
        """Topic id to turns, oldest first; empty for a session that is not known here."""
        with self._lock:
            return self._sessions.get((owner, session_id)) or {}

    def keep(self, owner: Owner, session_id: str, turns: Mapping[str, list[TopicTurn]]) -> None:
        """Keep the last turns of each topic of a session."""
        last = {topic_id: turns_compared(each) for topic_id, each in turns.items()}
        with self._lock:
            self._sessions.put((owner, session_id), last, sum(map(len, last.values())))

    def forget(self, owner: Owner) -> None:
        """Drop the turns of an owner."""
        with self._lock:
            self._sessions.remove_where(lambda key: key[0] == owner)


def topic_of_question(
    engine: Engine, owner: Owner, session_id: str, question: str, newest: int
) -> tuple[Topic | None, tuple[str, ...]]:
    """The topic that a question belongs to before it is answered, and notes; None for a new subject.

    `newest` is the number of the last turn that the chat knows. If topics are behind it, a follow-up belongs to none of
    them yet. Where the embedder fails the active topic is taken, and the note says so.
    """
    shelf = engine.store.topics.load(owner, session_id)
    active = shelf.active
    if active is None:
        return None, ()
    indexes = indexes_of(engine)
    try:
        vector = indexes.quick_vector(question)
    except Exception as error:
        log_failure("topics", "the topic of a question is unknown", owner, session_id, error)
        return active, (f"the active topic is taken: {cause_of(error)}",)
    name = indexes.embedder.name
    walk = _Pass(_scale(engine, name), name, {}, dict(shelf.by_id), active.id)
    walk.turns = engine.part(RecentTopicTurns).of(owner, session_id)
    walk.said = {active.id: [each for turn in walk.turns.get(active.id, ()) for each in turn.messages]}
    asked = TopicMessage(question, vector)
    decision = _decide(walk, asked, TopicTurn(asked) if walk.scale.subjects else None, question)
    if decision.reason == "follow-up" and newest > shelf.through:
        return None, ()
    return active if decision.reason == "small talk" else walk.topics.get(decision.topic_id or ""), ()


def topic_for_context(
    engine: Engine, scope: Scope, question: str, window: Sequence[Turn]
) -> tuple[Topic | None, list[Turn], tuple[str, ...]]:
    """The topic of a question, its newest turns beyond the window, oldest first, and notes.

    What is quarantined is left out, and title and summary that may have been made of it too.
    """
    owner, session_id = scope.owner, scope.session_id
    newest = max((turn.turn_number for turn in window), default=0)
    topic, notes = topic_of_question(engine, owner, session_id, question, newest)
    if topic is None:
        return None, [], notes
    shown = {turn.turn_number for turn in window}
    numbers = [number for number in engine.store.topics.turns_of(owner, session_id, topic.id) if number not in shown]
    turns = turns_by_number(engine, owner, session_id, numbers[-MOST_TOPIC_TURNS:])
    hidden = {turn_id_of(each) for each in quarantined(engine, owner)}
    if hidden and any(turn.topic_id == topic.id for turn in engine.store.turns.by_ids(owner, list(hidden))):
        topic = replace(topic, title="", summary=None)
    damaged = tuple(dict.fromkeys(turn.damage for turn in turns if turn.damage))
    asking = [turn.id for turn in turns if turn.is_open and turn.query == question]
    shown_turns = [turn for turn in turns if turn.id not in {*hidden, *asking} and not turn.damage]
    return topic, shown_turns, (*notes, *damaged)


def bring_up_to_date(engine: Engine, owner: Owner, session_id: str) -> tuple[str, ...]:
    """Organise all new turns of a session now; returns notes on what failed. Store errors are raised."""
    try:
        while _organise_alone(engine, owner, session_id, PASS):
            pass
    except StoreError:
        raise
    except Exception as error:  # the embedder failed: the existing topics can still be read
        log_failure("topics", "topics are not up to date", owner, session_id, error)
        return (f"topics are not up to date: {cause_of(error)}",)
    return ()


def organise_some(engine: Engine, owner: Owner, session_id: str, late: Iterable[str] = ()) -> bool:
    """One slice of the work that is due; `late` are topics of turns that were answered after they were assigned."""
    for topic_id in late:
        recount(engine, owner, session_id, topic_id)
    return engine.settings.recall.organise == "on" and _organise_alone(engine, owner, session_id, 1)


def _organise_alone(engine: Engine, owner: Owner, session_id: str, most: int) -> bool:
    with _ORGANISING[hash((owner, session_id)) % len(_ORGANISING)]:
        return organise(engine, indexes_of(engine), owner, session_id, most)


def organise(engine: Engine, indexes: Indexes, owner: Owner, session_id: str, most: int = PASS) -> bool:
    """One pass over at most `most` new turns of a session; True if there is more to do."""
    session = engine.store.sessions.get(owner, session_id)
    shelf = engine.store.topics.load(owner, session_id)
    if session is None or shelf.through >= session.last_turn:
        return False
    through = min(shelf.through + most, session.last_turn)
    new = list(engine.store.turns.page(owner, session_id, after=shelf.through, before=through + 1))
    open_since = engine.clock.now() - new[-1].created_at if new and new[-1].is_open else ANSWERED_WITHIN
    waiting = through == session.last_turn and timedelta(0) <= open_since < ANSWERED_WITHIN
    if waiting:
        through -= 1
        new.pop()
    if through == shelf.through:
        return False
    walk = _begin(engine, indexes, owner, session_id, shelf, new)
    for turn in new:
        if not indexes.crises.within(turn):
            _assign(walk, turn)
    changed = tuple(topic for topic in walk.topics.values() if topic.id in walk.changed)
    counted = {turn.turn_number: messages_in(turn) for turn in new if turn.turn_number in walk.assigned}
    change = TopicChange(shelf.revision, put=changed, assigned=walk.assigned, through=through, counted=counted)
    if not engine.store.topics.put(owner, session_id, change):
        return True
    engine.part(RecentTopicTurns).keep(owner, session_id, walk.turns)
    _recount_changed(engine, owner, session_id, walk, new)
    for topic_id in walk.returned:
        restore(engine, owner, session_id, topic_id, shelf.through + 1)
    _archive_faded(engine, owner, session_id, walk.active)
    _compact_large(engine, owner, session_id)
    return not waiting and through < session.last_turn


def _begin(
    engine: Engine, indexes: Indexes, owner: Owner, session_id: str, shelf: TopicShelf, new: Sequence[Turn]
) -> _Pass:
    """The state before the first new turn."""
    name = indexes.embedder.name
    before = engine.store.turns.page(owner, session_id, before=shelf.through + 1, last=BEFORE)
    older = _older_turns(engine, owner, session_id, shelf, before)
    vectors = indexes.vectors(owner, [*older, *before, *new])
    walk = _Pass(_scale(engine, name), name, vectors, dict(shelf.by_id))
    _recentre(walk, indexes)
    for turn in older:
        if (said := walk.turn_of(turn)) and turn.topic_id:
            walk.turns.setdefault(turn.topic_id, []).append(said)
    for turn in before:
        if (said := walk.turn_of(turn)) and turn.topic_id:
            walk.turns.setdefault(turn.topic_id, []).append(said)
        for message in walk.messages_of(turn):
            walk.add(turn.topic_id, message)
    return walk


def _scale(engine: Engine, embedder: str) -> Scale:
    """The scale of an embedder, with the threshold that is set."""
    configured = engine.settings.topics.similarity_threshold
    scale = scale_for(embedder)
    return scale if configured == DEFAULT_THRESHOLD else scale.at(configured)


def _older_turns(
    engine: Engine, owner: Owner, session_id: str, shelf: TopicShelf, before: Sequence[Turn]
) -> list[Turn]:
    """The last turns of the topics that have none in `before`, so that a return finds them."""
    read = {turn.topic_id for turn in before}
    numbers = [number for topic in shelf.topics if topic.id not in read for number in turns_compared(topic.hot)]
    return turns_by_number(engine, owner, session_id, sorted(numbers)) if numbers else []


def _recentre(walk: _Pass, indexes: Indexes) -> None:
    """Compute new centres, from title and summary, for topics whose centre comes from another embedder.

    The model of a remote embedder may have changed under the same name; then the dimensions differ.
    """
    here = walk.embedder, indexes.embedder.dimensions
    foreign = [topic for topic in walk.topics.values() if (topic.embedder, dimensions_of(topic.centre)) != here]
    if not foreign:
        return
    centres = indexes.embedder.embed_passages([f"{topic.title} {topic.summary or ''}".strip() for topic in foreign])
    for topic, centre in zip(foreign, centres, strict=True):
        walk.topics[topic.id] = replace(topic, centre=first_centre(centre), embedder=walk.embedder)
        walk.changed.add(topic.id)


def _assign(walk: _Pass, turn: Turn) -> None:
    """Find the topic of a turn by its first message; the answer follows the question."""
    messages = walk.messages_of(turn)
    if not messages:
        return
    first = messages[0]
    whole = walk.turn_of(turn)
    decision = _decide(walk, first, whole, turn.query if turn.question else "")
    if decision.reason == "small talk":
        return
    if decision.topic_id is None:
        began = walk.unique_start(turn.created_at)
        topic = Topic(
            # Random, because users name a topic by the beginning of its id; short, because every turn repeats it.
            id=uuid4().hex[:16],
            title=title_of(first.text),
            centre=first_centre(first.vector),
            created_at=began,
            last_active_at=began,
            embedder=walk.embedder,
        )
    else:
        topic = walk.topics[decision.topic_id]
        if topic.archived_count and topic.id != walk.active:
            walk.returned.add(topic.id)
    for said in messages:
        centre = (
            topic.centre if topic.message_count == 0 else moved_centre(topic.centre, topic.message_count, said.vector)
        )
        topic = replace(topic, centre=centre, message_count=topic.message_count + 1)
        walk.add(topic.id, said)
    used = topic.used(turn.created_at, messages=0)
    importance = turn.metadata.get(IMPORTANCE)
    if isinstance(importance, int | float) and not isinstance(importance, bool) and 0 <= importance <= 1:
        used = used.weighed(importance)
    walk.topics[topic.id] = replace(used, hot=(*used.hot, turn.turn_number))
    walk.changed.add(topic.id)
    walk.assigned[turn.turn_number] = topic.id
    if whole is not None:
        walk.turns.setdefault(topic.id, []).append(whole)


def _decide(walk: _Pass, first: TopicMessage, whole: TopicTurn | None, query: str) -> Decision:
    """The topic of a turn by its question and answer or, without a measured scale, by its first message."""
    if whole is not None and walk.scale.subjects is not None:
        return decide_turn(whole, walk.active, walk.known(), walk.scale.subjects)
    follow_up = follow_up_kind(query, parse(query)) if query else "no"
    return decide(first, walk.talk(), tuple(walk.topics.values()), walk.scale, follow_up=follow_up)


def _recount_changed(engine: Engine, owner: Owner, session_id: str, walk: _Pass, new: Sequence[Turn]) -> None:
    """Recount topics of turns that were deleted or answered between reading the turns and writing their topics."""
    stale: set[str] = set()
    for topic_id in set(walk.assigned.values()):
        there = set(engine.store.topics.turns_of(owner, session_id, topic_id))
        if not there.issuperset(number for number, topic in walk.assigned.items() if topic == topic_id):
            stale.add(topic_id)
    unanswered = [turn.turn_number for turn in new if turn.is_open]
    for turn in turns_by_number(engine, owner, session_id, unanswered):
        if not turn.is_open and turn.topic_id:
            stale.add(turn.topic_id)
    for topic_id in stale:
        recount(engine, owner, session_id, topic_id)


def _archive_faded(engine: Engine, owner: Owner, session_id: str, active: str | None) -> None:
    """Archive or delete the topics that have faded, as the settings say."""
    settings, now = engine.settings.topics, engine.clock.now()
    fading = fading_of(settings)
    shelf = engine.store.topics.load(owner, session_id)
    gone = faded_topics(shelf.topics, now, active_id=active, max_topics=settings.max_topics, fading=fading)
    if settings.forget == "delete":
        _delete_faded(engine, owner, session_id, shelf, gone)
        return

    def faded(topic: Topic) -> Topic:  # unless it was used again in the meantime
        return topic.moved("archived") if topic.priority(now, fading) < fading.forget_below else topic

    for topic_id in gone:
        change_topic(engine, owner, session_id, topic_id, faded)
    for topic in engine.store.topics.load(owner, session_id).topics:
        if topic.state == "archived" and topic.hot:  # also turns that were open before and are answered now
            pack_all(engine, owner, session_id, topic.id)


def _compact_large(engine: Engine, owner: Owner, session_id: str) -> None:
    """Compact every topic that exceeds its limit."""
    most = engine.settings.topics.max_messages_per_topic
    for topic in engine.store.topics.load(owner, session_id).topics:
        if topic.message_count - topic.archived_count - topic.restored_count > most:
            compact(engine, owner, session_id, topic.id)


def _delete_faded(engine: Engine, owner: Owner, session_id: str, shelf: TopicShelf, gone: Sequence[str]) -> None:
    """Delete topics with their turns: a topic goes with its last turn, in the same transaction.

    Not if the revision has changed: then a turn may have joined one of them, and the next pass decides again. After a
    failure all of them are still there, and the next pass deletes them.
    """
    numbers = [n for topic_id in gone for n in engine.store.topics.turns_of(owner, session_id, topic_id)]
    if not gone or engine.store.topics.load(owner, session_id).revision != shelf.revision:
        return
    engine.store.turns.delete(owner, session_id, numbers)
    left = engine.store.topics.load(owner, session_id)
    empty = tuple(topic.id for topic in left.topics if topic.id in gone and not topic.message_count)
    if empty:
        engine.store.topics.put(owner, session_id, TopicChange(left.revision, removed=empty))

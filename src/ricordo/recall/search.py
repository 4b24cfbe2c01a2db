"""Recall: past messages that are relevant to a question, from all sessions of one user, with the reasons.

An explicit search completes the index first. The context of a chat must not wait: it uses what is indexed, adds the
newest turns, and notes in the receipt when the index is behind. If the embedder fails, messages are found by words.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ricordo.engine.core import Engine, Scope, cause_of, local_time, quarantined
from ricordo.errors import StoreError
from ricordo.limits import readable
from ricordo.recall.indexes import QUERY_TIMEOUT, Indexes, indexes_of
from ricordo.recall.ranking import Filters, RecallQuestion, is_relevant, rank, weights_for
from ricordo.recall.ranking import RankedMessage as Ranked
from ricordo.records.turns import Excerpt, Message, Owner, Remembered, SessionMark, Turn, project_tag, turn_id_of
from ricordo.records.values import record

if TYPE_CHECKING:
    from ricordo.recall.index_state import Progress
    from ricordo.recall.quantization import Vectors

log = logging.getLogger("ricordo")

PATIENCE = 120.0  # seconds that a search waits for a complete index
MAX_UNREAD = 512  # turns that a context may index; a longer backlog is left to the background
TOKENS_RECALLED = 128  # of a prompt for one recalled message
LEAST_RECALLED, MOST_RECALLED = 20, 128
RELEVANT_AMONG = 3  # times the limit that are looked at for relevant ones
QUOTED = 3  # past turns returned when a question quotes something


@record
class Hit:
    """A past message that was found, with its score (0 to 1, relative to the others) and the reasons.

    `cosine` is the similarity by the embedder; `near` whether that or the words speak for the message by themselves.
    """

    message_id: str
    score: float
    reasons: tuple[str, ...]
    message: Message
    session_id: str
    turn_number: int
    topic_id: str | None = None
    cosine: float | None = None
    near: bool = True

    @property
    def text(self) -> str:
        """The text of the message."""
        return self.message.content


class Hits(list[Hit]):
    """Hits, best first; `embedder` was used, `degraded` says what could not be done."""

    def __init__(self, hits: Iterable[Hit] = (), *, embedder: str = "", degraded: tuple[str, ...] = ()) -> None:
        super().__init__(hits)
        self.embedder = embedder
        self.degraded = degraded


@dataclass(frozen=True, slots=True)
class Search:
    """A query with its limit and filters."""

    query: str
    limit: int = 10
    filters: Filters = field(default_factory=Filters)
    relevant: bool = False  # only what is worth room in a prompt


def search(engine: Engine, owner: Owner, wanted: Search, *, patience: float = PATIENCE) -> Hits:
    """Everything an owner has said, ranked for a question, from a complete index."""
    indexes = indexes_of(engine)
    notes: tuple[str, ...] = ()
    try:
        progress = indexes.complete(owner, patience)
    except StoreError:
        raise
    except Exception as error:  # the embedder failed: search by words
        progress = indexes.read(owner)
        notes = (_failed(indexes, owner, error),)
    wanted = replace(wanted, filters=_with_current_topics(engine, indexes, owner, wanted.filters))
    notes += _behind(indexes, progress) + _damaged(indexes, owner, wanted.filters)
    if not wanted.relevant:
        return ranked(engine, indexes, owner, wanted, notes)
    # One pass over a few more: looking further down for what is relevant would rank everything again and again.
    name, wide = indexes.embedder.name, replace(wanted, limit=RELEVANT_AMONG * wanted.limit)
    return ranked(engine, indexes, owner, wide, notes, lambda hit: is_relevant(hit, name), enough=wanted.limit)


def _most_recalled(engine: Engine) -> int:
    """How many past messages a context may bring back: the number that is set, or what a prompt could hold."""
    chosen = engine.settings.recall.recall_messages
    if chosen is not None:
        return chosen
    return max(LEAST_RECALLED, min(engine.settings.budget.model_limit // TOKENS_RECALLED, MOST_RECALLED))


def recall_for_context(
    engine: Engine, scope: Scope, question: str, known: Sequence[Turn], standalone: str = ""
) -> tuple[tuple[Remembered, ...], tuple[str, ...], str]:
    """Past messages for a context beyond the turns it has, what could not be done, and the embedder's name."""
    limit = _most_recalled(engine)
    if not limit:
        return (), (), ""
    marks = engine.store.sessions.marks(scope.owner)
    older = sum(mark.turn_count for mark in marks.values()) - len(known)
    if older <= 0 or (older == 1 and _is_stored(engine, scope, question)):
        return (), (), ""
    indexes = indexes_of(engine)
    found, notes = recall_from_index(engine, indexes, scope, ContextQuestion(question, standalone, known, marks), limit)
    return found, notes, indexes.embedder.name


def turns_that_said(engine: Engine, scope: Scope, words: str) -> Sequence[Turn]:
    """Turns of the session whose answers may have said these words."""
    indexes = indexes_of(engine)
    indexes.catch_up(scope.owner, engine.store.sessions.marks(scope.owner), most=MAX_UNREAD)
    wanted = Search(words, QUOTED, Filters(session_id=scope.session_id, role="assistant"))
    hits = ranked(engine, indexes, scope.owner, wanted, (), quick=True)
    found = [engine.store.turns.get(scope.owner, turn_id_of(hit.message_id)) for hit in hits]
    return [turn for turn in found if turn]


def _is_stored(engine: Engine, scope: Scope, question: str) -> bool:
    """Whether the question itself is stored already and not answered yet."""
    newest = engine.store.turns.page(scope.owner, scope.session_id, last=1)
    return any(turn.is_open and turn.query == question for turn in newest)


@dataclass(frozen=True, slots=True)
class ContextQuestion:
    """The question of a context: as asked, as a standalone question, and the turns that the context already has."""

    question: str
    standalone: str
    known: Sequence[Turn]
    marks: Mapping[str, SessionMark]


def recall_from_index(
    engine: Engine, indexes: Indexes, scope: Scope, asked: ContextQuestion, limit: int
) -> tuple[tuple[Remembered, ...], tuple[str, ...]]:
    """Messages for the context of a chat, beyond the turns it already has, and notes on what is missing."""
    wanted_text = readable(asked.standalone or asked.question)
    failure: tuple[str, ...] = ()
    if not indexes.embedder.dimensions:  # dimensions are unknown before the first vector
        _, failure = _question_vector(indexes, scope.owner, wanted_text, quick=True)
    progress = indexes.catch_up(scope.owner, asked.marks, most=MAX_UNREAD)
    shown = {turn.id for turn in asked.known}
    away = quarantined(engine, scope.owner)
    room = limit + 1 + sum(len(turn.messages) for turn in asked.known)
    # Quarantined messages must not use up the limit.
    wanted = Search(wanted_text, room, Filters(without=away, session_tag=project_tag(scope.project)))

    name = indexes.embedder.name

    def accept(found: Ranked) -> bool:
        return turn_id_of(found.message_id) not in shown and is_relevant(found, name)

    notes = failure + _damaged(indexes, scope.owner, wanted.filters)
    hits = ranked(engine, indexes, scope.owner, wanted, notes, accept, enough=limit + 1, quick=True)
    others = [hit for hit in hits if not _is_open_question(hit, scope, asked.question, engine)]
    unread = (f"recall does not know {progress.unread} turns yet",) if progress.unread else ()
    return _remembered(others[:limit], engine), unread + hits.degraded


def ranked(
    engine: Engine,
    indexes: Indexes,
    owner: Owner,
    wanted: Search,
    notes: tuple[str, ...],
    accept: Callable[[Ranked], bool] = lambda _: True,
    *,
    enough: int | None = None,
    quick: bool = False,
) -> Hits:
    """The indexed messages ranked for a question, with their texts.

    Only messages that pass `accept` are read from the store, at most `enough` of them. If `quick`, the embedder gets
    one attempt with a short timeout.
    """
    index, query = indexes.state(owner).index, readable(wanted.query)
    vector: Vectors | None = None
    failure: tuple[str, ...] = ()
    if index.has_vector.any():
        vector, failure = _question_vector(indexes, owner, query, quick=quick)
    question = RecallQuestion(query, local_time(engine, engine.clock.now()), vector)
    weights = weights_for(indexes.embedder.name)
    room = wanted.limit
    while True:
        found = rank(index, question, filters=wanted.filters, limit=room, weights=weights, accept=accept)
        hits, damaged = _read(engine, indexes, owner, wanted.filters, found, enough)
        if enough or len(hits) >= wanted.limit or len(found) < room:
            break
        room *= 2  # some of them cannot be shown: look further down
    said = dict.fromkeys((*notes, *failure, *damaged))
    return Hits(hits[: enough or wanted.limit], embedder=indexes.embedder.name, degraded=tuple(said))


def _read(
    engine: Engine, indexes: Indexes, owner: Owner, filters: Filters, promising: Sequence[Ranked], enough: int | None
) -> tuple[list[Hit], list[str]]:
    """The messages that were found and may be shown, and which damaged blocks hold others."""
    hits: list[Hit] = []
    damaged: list[str] = []
    step = enough or max(1, len(promising))
    for start in range(0, len(promising), step):
        some = [(each, turn_id_of(each.message_id)) for each in promising[start : start + step]]
        turns = {turn.id: turn for turn in engine.store.turns.by_ids(owner, [turn_id for _, turn_id in some])}
        for each, turn_id in some:
            turn = turns.get(turn_id)
            if turn is None or filters.topic_id not in (None, turn.topic_id) or indexes.crises.within(turn):
                continue
            if turn.damage:
                damaged.append(turn.damage)
                continue
            for message in [said for said in turn.messages if said.id == each.message_id]:
                # An answer that only repeats what was said is left out: what it quotes is found itself.
                quotes = message is turn.answer and turn.metadata.get("memory_sources") and not turn.chunk_ids
                if not (filters.role is None and quotes):
                    place = (turn.session_id, turn.turn_number, turn.topic_id)
                    near = is_relevant(each, indexes.embedder.name)
                    hits.append(Hit(each.message_id, each.score, each.reasons, message, *place, each.cosine, near))
        if len(hits) >= step:
            break
    return hits, damaged


def _question_vector(
    indexes: Indexes, owner: Owner, question: str, *, quick: bool
) -> tuple["Vectors | None", tuple[str, ...]]:
    """The vector of the question, or a note that says why there is none."""
    if quick and indexes.cooldown.reason:
        return None, (indexes.cooldown.reason,)
    timed = indexes.choice.timed if quick else None
    try:
        vector = timed.embed_query_within(question, QUERY_TIMEOUT) if timed else indexes.embedder.embed_query(question)
    except Exception as error:
        return None, (_failed(indexes, owner, error),)
    indexes.cooldown.clear()
    return vector, ()


def _failed(indexes: Indexes, owner: Owner, error: Exception) -> str:
    """Log that the embedder failed, start its cooldown, and return the note; never with text of a message."""
    cause = cause_of(error)
    note = f"found by words only: the embedder {indexes.embedder.name} failed ({cause})"
    details = {"operation": "recall", "tenant_id": owner.tenant_id, "user_id": owner.user_id}
    log.warning(note, extra=details)
    indexes.cooldown.start(note)
    return note


def _with_current_topics(engine: Engine, indexes: Indexes, owner: Owner, filters: Filters) -> Filters:
    """The filters with the tags of topics; the messages of these topics are updated in the index.

    Topics and their tags change without a new turn, so they are read for each search.
    """
    if filters.topic_id is None and not filters.tags:
        return filters
    sessions = [filters.session_id] if filters.session_id else list(engine.store.sessions.marks(owner))
    tagged: dict[str, frozenset[str]] = {}
    for session_id in sessions if filters.tags else ():
        topics = engine.store.topics.load(owner, session_id).topics
        tagged |= {topic.id: frozenset(topic.tags) for topic in topics if filters.tags & set(topic.tags)}
    wanted = list(tagged) if filters.topic_id is None else [filters.topic_id]
    index = indexes.state(owner).index
    with index.lock:
        before = [index.message_ids[row] for row in np.flatnonzero(index.topics.among(wanted))]
    index.set_topics(dict.fromkeys(before))
    for session_id in sessions:
        for topic_id in wanted:
            index.set_topics(dict.fromkeys(_messages_of(engine, owner, session_id, topic_id), topic_id))
    return replace(filters, topic_tags=tagged)


def _messages_of(engine: Engine, owner: Owner, session_id: str, topic_id: str) -> list[str]:
    """The ids of a topic's messages in one session."""
    numbers = set(engine.store.topics.turns_of(owner, session_id, topic_id))
    if not numbers:
        return []
    turns = engine.store.turns.page(owner, session_id, after=min(numbers) - 1, before=max(numbers) + 1)
    return [message.id for turn in turns if turn.turn_number in numbers for message in turn.messages]


def _behind(indexes: Indexes, progress: "Progress") -> tuple[str, ...]:
    notes = []
    if progress.unread:
        notes.append(f"{progress.unread} turns are not in the index yet")
    if progress.unembedded:
        notes.append(f"{progress.unembedded} turns are found by their words only: {indexes.embedder.name} is behind")
    return tuple(notes)


def _damaged(indexes: Indexes, owner: Owner, filters: Filters) -> tuple[str, ...]:
    """Which archive blocks in the searched sessions could not be read."""
    state = indexes.state(owner)
    with state.lock:
        return tuple(
            dict.fromkeys(
                damage for (session, _), damage in state.damaged.items() if filters.session_id in (None, session)
            )
        )


def _is_open_question(hit: Hit, scope: Scope, question: str, engine: Engine) -> bool:
    """Whether a hit is the question that the context is built for: stored already and not answered."""
    if hit.session_id != scope.session_id or hit.message.content != question or hit.message.role != "user":
        return False
    turn = engine.store.turns.get(scope.owner, turn_id_of(hit.message_id))
    return turn is not None and turn.is_open


def _remembered(hits: Sequence[Hit], engine: Engine) -> tuple[Remembered, ...]:
    """Hits as lines of the prompt: date, speaker, text."""
    labels = {role: engine.labels.label(role).rstrip(": ") for role in {hit.message.role for hit in hits}}
    found = []
    for hit in hits:
        said = hit.message
        label = f"[{local_time(engine, said.created_at).date()}] {said.name or labels[said.role]}: "
        excerpt = Excerpt(said, label)
        found.append(Remembered(hit.message_id, excerpt.text, "recalled", excerpt, round(hit.score, 3), hit.reasons))
    return tuple(found)

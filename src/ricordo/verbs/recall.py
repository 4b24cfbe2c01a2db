"""Recalling: past messages that speak to a question, from all of one user's sessions, with the reasons.

A search that somebody waits for completes the index first. The context of a chat must not wait: it takes what the
index holds, tops it up with the newest turns, and says in the receipt when the index is still behind.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from ricordo.context import Remembered
from ricordo.errors import StoreError
from ricordo.recall.ranking import Filters, Question, rank
from ricordo.records import Message, Owner, Turn, turn_id_of
from ricordo.verbs.indexing import Indexes, Progress
from ricordo.verbs.tools import Scope, Tools

PATIENCE = 120.0  # seconds that a search waits for its index
IN_PASSING = 64  # turns that a context reads on its way
LEAST_SCORE = 0.3  # below this a message has too little to do with the question to take room in a prompt


@dataclass(frozen=True, slots=True)
class Hit:
    """A past message that was found: how sure (0 to 1), and why."""

    message_id: str
    score: float
    reasons: tuple[str, ...]
    message: Message
    session_id: str
    turn_number: int
    topic_id: str | None = None

    @property
    def text(self) -> str:
        """The words that were found."""
        return self.message.content


class Hits(list[Hit]):
    """Hits, best first, with the embedder that was used and what could not be done, if anything."""

    def __init__(self, hits: Iterable[Hit] = (), *, embedder: str = "", degraded: tuple[str, ...] = ()) -> None:
        super().__init__(hits)
        self.embedder = embedder
        self.degraded = degraded


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for, and among what."""

    query: str
    limit: int = 10
    filters: Filters = field(default_factory=Filters)


def search(tools: Tools, indexes: Indexes, owner: Owner, wanted: Search, *, patience: float = PATIENCE) -> Hits:
    """Everything an owner has said, ranked for a question."""
    progress = indexes.complete(owner, patience)
    notes = _notes(indexes, progress)
    if wanted.filters.topic_id is not None:
        _refresh_topic(tools, indexes, owner, wanted.filters)
    return ranked(tools, indexes, owner, wanted, notes)


def recall_in_passing(
    tools: Tools, indexes: Indexes, scope: Scope, question: str, known: Iterable[Turn], limit: int
) -> tuple[tuple[Remembered, ...], tuple[str, ...]]:
    """What the context of a chat gets: messages beyond the turns it has anyway, and notes on what is missing."""
    try:
        progress = indexes.read(scope.owner, most=IN_PASSING)
        shown = {turn.id for turn in known}
        wanted = Search(question, limit + 4 * len(shown))
        hits = ranked(tools, indexes, scope.owner, wanted, ())
    except StoreError as error:
        return (), (f"recall is unavailable: {error}",)
    chosen = [hit for hit in hits if turn_id_of(hit.message_id) not in shown and hit.score >= LEAST_SCORE]
    unread = (f"recall does not know the newest {progress.unread} turns yet",) if progress.unread else ()
    return tuple(_remembered(hit, tools) for hit in chosen[:limit]), unread + hits.degraded


def ranked(tools: Tools, indexes: Indexes, owner: Owner, wanted: Search, notes: tuple[str, ...]) -> Hits:
    """What the index holds now, ranked for a question, with the words that were found."""
    index = indexes.shelf(owner).index
    vector = indexes.embedder.embed_query(wanted.query) if index.has_vector.any() else None
    question = Question(wanted.query, tools.clock.now(), vector)
    found = rank(index, question, filters=wanted.filters, limit=wanted.limit)
    hits: list[Hit] = []
    damaged: list[str] = []
    turns: dict[str, Turn | None] = {}
    for each in found:
        turn_id = turn_id_of(each.message_id)
        if turn_id not in turns:
            turns[turn_id] = tools.store.turn(owner, turn_id)
        turn = turns[turn_id]
        if turn is None:
            continue
        if turn.damage:
            damaged.append(turn.damage)
            continue
        message = next((message for message in turn.messages if message.id == each.message_id), None)
        if message:
            place = (turn.session_id, turn.turn_number, turn.topic_id)
            hits.append(Hit(each.message_id, each.score, each.reasons, message, *place))
    return Hits(hits, embedder=indexes.embedder.name, degraded=(*notes, *dict.fromkeys(damaged)))


def _refresh_topic(tools: Tools, indexes: Indexes, owner: Owner, filters: Filters) -> None:
    """Tell the index which messages belong to the topic that is asked for: topics change without a new turn."""
    sessions = [filters.session_id] if filters.session_id else list(tools.store.marks(owner))
    for session_id in sessions:
        numbers = tools.store.turns_of(owner, session_id, filters.topic_id or "")
        if not numbers:
            continue
        wanted = set(numbers)
        turns = tools.store.turns(owner, session_id, after=numbers[0] - 1, before=numbers[-1] + 1)
        of_topic = {m.id: filters.topic_id for turn in turns if turn.turn_number in wanted for m in turn.messages}
        indexes.shelf(owner).index.set_topics(of_topic)


def _notes(indexes: Indexes, progress: Progress) -> tuple[str, ...]:
    notes = []
    if progress.unread:
        notes.append(f"{progress.unread} turns are not in the index yet")
    if progress.unembedded:
        notes.append(f"{progress.unembedded} turns are found by their words only: {indexes.embedder.name} is behind")
    return tuple(notes)


def _remembered(hit: Hit, tools: Tools) -> Remembered:
    """A found message as a line of the prompt: when, who, what."""
    who = hit.message.name or tools.settings.locale.label(hit.message.role).rstrip(": ")
    return Remembered(hit.message_id, f"[{_day(hit.message.created_at)}] {who}: {hit.message.content}")


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"

"""The handle on one topic of a session: read it, tag it, set its importance, merge it, export it."""

from collections.abc import Callable, Iterable

from ricordo.engine.core import Engine, Scope
from ricordo.errors import DamageError, NotFoundError, StoreUnavailable, ValidationError
from ricordo.limits import check_id, check_ids, check_within
from ricordo.records.topics import Topic, TopicChange, TopicShelf, TopicStats
from ricordo.records.turns import Turn
from ricordo.stores.archive.export import export_messages
from ricordo.topics.archive import attempts, change_topic, turns_by_number
from ricordo.topics.decay import fading_of
from ricordo.topics.merge import importance_after, merged, near_topics
from ricordo.topics.thresholds import scale_for


class Topics(list[Topic]):
    """The topics of a session; `degraded` says why they may not be up to date."""

    def __init__(self, topics: Iterable[Topic] = (), *, degraded: tuple[str, ...] = ()) -> None:
        super().__init__(topics)
        self.degraded = degraded


def active_topic_id(topics: Iterable[Topic], session_id: str) -> str:
    """The topic that holds the newest turn; small talk after it does not count. NotFoundError if there is none."""
    newest = max(topics, key=lambda topic: (max(topic.hot, default=0), topic.last_active_at), default=None)
    if newest is None:
        raise NotFoundError(f"session {session_id!r} has no topic yet; add a turn that is about something")
    return newest.id


class SessionTopic:
    """A handle on a topic; every call reads it from the store."""

    def __init__(self, engine: Engine, scope: Scope, topic_id: str) -> None:
        self._engine = engine
        self._scope = scope
        self.id = topic_id
        self.read()

    def read(self) -> Topic:
        """The topic as it is now; NotFoundError if it is gone."""
        return self._on(self._engine.store.topics.load(self._scope.owner, self._scope.session_id), self.id)

    def stats(self) -> TopicStats:
        """The topic in figures."""
        return self.read().stats(self._engine.clock.now(), fading_of(self._engine.settings.topics))

    def priority(self) -> float:
        """Its priority now: importance, faded by the time since it was used."""
        return self.read().priority(self._engine.clock.now(), fading_of(self._engine.settings.topics))

    def history(self) -> list[Turn]:
        """All of its turns in order, archived ones included."""
        owner, session_id = self._scope.owner, self._scope.session_id
        numbers = self._engine.store.topics.turns_of(owner, session_id, self.id)
        return turns_by_number(self._engine, owner, session_id, numbers)

    def tag(self, *tags: str) -> Topic:
        """Set its tags."""
        wanted = check_ids("tags", tags)
        return self._change(lambda topic: topic.tagged(wanted))

    def weigh(self, importance: float) -> Topic:
        """Set its importance by hand, from 0 to 1."""
        wanted = check_within("importance", importance, 0, 1)
        return self._change(lambda topic: topic.weighed(wanted))

    def feedback(self, value: float) -> Topic:
        """Learn its importance from feedback, from -1 (useless) to 1 (valuable)."""
        given = check_within("feedback", value, -1, 1)
        return self._change(lambda topic: topic.weighed(importance_after(topic.importance, given)))

    def near(self) -> list[tuple[str, float]]:
        """Similar topics of this session, with their similarity."""
        shelf = self._engine.store.topics.load(self._scope.owner, self._scope.session_id)
        scale = scale_for(self.read().embedder)
        found = near_topics(shelf.topics, scale)
        pairs = [(each.keep if each.absorb == self.id else each.absorb, each.similarity, each) for each in found]
        return [(other, similarity) for other, similarity, each in pairs if self.id in (each.keep, each.absorb)]

    def merge(self, other_id: str) -> Topic:
        """Make another topic of this session part of this one."""
        owner, session_id = self._scope.owner, self._scope.session_id
        if check_id("other_id", other_id) == self.id:
            raise ValidationError("other_id", "a topic cannot be merged with itself")
        for _ in attempts():
            shelf = self._engine.store.topics.load(owner, session_id)
            keep, other = (self._on(shelf, topic_id) for topic_id in (self.id, other_id))
            try:
                joined = merged(keep, other)
            except ValueError as error:
                raise ValidationError("other_id", str(error)) from error
            moving = dict.fromkeys(self._engine.store.topics.turns_of(owner, session_id, other_id), self.id)
            change = TopicChange(shelf.revision, put=(joined,), removed=(other_id,), assigned=moving)
            if self._engine.store.topics.put(owner, session_id, change):
                return joined
        raise StoreUnavailable(f"topic {self.id!r} keeps being changed by others; try again")

    def export(self) -> str:
        """Its messages as base64 of gzip of JSON: role, content, timestamp; DamageError if any of them is lost."""
        turns = self.history()
        damages = dict.fromkeys(turn.damage for turn in turns if turn.damage)
        if damages:  # the format cannot mark what is missing
            raise DamageError(f"topic {self.id!r} cannot be exported whole: {'; '.join(damages)}")
        return export_messages([message for turn in turns for message in turn.messages])

    def _on(self, shelf: TopicShelf, topic_id: str) -> Topic:
        topic = shelf.topic(topic_id)
        if topic is None:
            session_id = self._scope.session_id
            raise NotFoundError(f"topic {topic_id!r} does not exist in session {session_id!r}; list the topics")
        return topic

    def _change(self, change: Callable[[Topic], Topic]) -> Topic:
        changed = change_topic(self._engine, self._scope.owner, self._scope.session_id, self.id, change)
        return changed or self.read()
